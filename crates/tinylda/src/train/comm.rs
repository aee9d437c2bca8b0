//! Communication between the ranks of a training, as bytes.
//!
//! A rank is a process (in tests, a thread) that takes part in a training. The library itself only
//! has [`Solo`]; other transports implement [`Comm`]. Nothing here knows what the bytes mean.

use crate::error::Result;

/// Exchange of messages between ranks.
pub(crate) trait Comm: Send + std::fmt::Debug {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Sends `own` to every rank and receives the messages of all ranks, in the order of ranks. All
    /// ranks must call it the same number of times.
    fn all_gather(&mut self, own: &[u8], into: &mut Vec<Vec<u8>>) -> Result<()>;
}

/// The only rank of a training.
#[derive(Debug)]
pub(crate) struct Solo;

impl Comm for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn all_gather(&mut self, own: &[u8], into: &mut Vec<Vec<u8>>) -> Result<()> {
        into.resize(1, Vec::new());
        into[0].clear();
        into[0].extend_from_slice(own);
        Ok(())
    }
}

/// Ranks that are threads of one process, for tests.
#[cfg(test)]
pub(crate) mod in_process {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use super::Comm;
    use crate::error::{Error, Result};

    /// Time to wait for a message of another rank.
    const PATIENCE: Duration = Duration::from_secs(120);

    /// A rank with a channel to and from every other rank.
    #[derive(Debug)]
    pub(crate) struct InProcess {
        rank: usize,
        to: Vec<Sender<Vec<u8>>>,
        from: Vec<Receiver<Vec<u8>>>,
    }

    impl InProcess {
        /// Creates the ranks of a training.
        pub(crate) fn ranks(count: usize) -> Vec<InProcess> {
            let mut ranks: Vec<InProcess> =
                (0..count).map(|rank| InProcess { rank, to: Vec::new(), from: Vec::new() }).collect();
            for from in 0..count {
                for to in 0..count {
                    let (sender, receiver) = channel();
                    ranks[from].to.push(sender);
                    ranks[to].from.push(receiver);
                }
            }
            ranks
        }
    }

    impl Comm for InProcess {
        fn rank(&self) -> usize {
            self.rank
        }

        fn ranks(&self) -> usize {
            self.to.len()
        }

        fn all_gather(&mut self, own: &[u8], into: &mut Vec<Vec<u8>>) -> Result<()> {
            for to in &self.to {
                to.send(own.to_vec()).map_err(|_| Error::Interrupted)?;
            }
            into.clear();
            for from in &self.from {
                // A test that would wait forever fails instead.
                into.push(from.recv_timeout(PATIENCE).map_err(|_| Error::Interrupted)?);
            }
            Ok(())
        }
    }

    #[test]
    fn all_gather_delivers_every_message() {
        let ranks = InProcess::ranks(3);
        std::thread::scope(|scope| {
            for mut rank in ranks {
                scope.spawn(move || {
                    let mut into = Vec::new();
                    for round in 0..10u8 {
                        let own = vec![rank.rank() as u8; usize::from(round)];
                        rank.all_gather(&own, &mut into).unwrap();
                        assert!((0..3u8).map(|r| vec![r; usize::from(round)]).eq(into.iter().cloned()));
                    }
                });
            }
        });
    }
}
