//! How much memory and disk a training takes, and what stays where: integer arithmetic only, so that a table can test it.
//!
//! Every component states its own bytes: an algorithm (`algorithms/memory.rs`), the store (`store/memory.rs`), the corpus. The
//! plan adds them up. What must be in memory is known before any work; what is left of the ceiling is shared out in this order:
//! phi, deltas, pieces in flight, documents and their state. `docs/MEMORY.md` has the formulas beside measured figures.

use crate::algorithms::memory::{AlgorithmMemory, Flexible, MemoryInput, WordStatistics, sum};
use crate::algorithms::piece::StateKind;
use crate::corpus::{PieceSizes, Shape};
use crate::error::{Error, Result};
use crate::memory::{SLACK, THREAD, allocator_overhead};
use crate::priors::EDGES;
use crate::settings::{Active, Algorithm};
use crate::store::memory as store;

/// What a plan is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) shape: Shape,
    pub(crate) sizes: PieceSizes,
    pub(crate) words: WordStatistics,
    pub(crate) strings: StringBytes,
    pub(crate) algorithm: AlgorithmChoice,
    /// The algorithm that is proposed where the chosen one does not fit.
    pub(crate) alternative: Option<(AlgorithmChoice, PieceSizes)>,
    pub(crate) active: Active,
    pub(crate) threads: u64,
    /// Number of pieces between two updates of the topics.
    pub(crate) step: u64,
    /// Bytes that the process holds already, apart from what is planned here.
    pub(crate) in_use: u64,
    /// Whether there is a folder for what does not fit; not every algorithm can use it.
    pub(crate) disk: bool,
    pub(crate) result: ResultKind,
    /// Histograms of counts, where alpha is learned.
    pub(crate) histograms: u64,
}

/// What is trained with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AlgorithmChoice {
    pub(crate) algorithm: Algorithm,
    /// What is kept of documents between two visits.
    pub(crate) state: StateKind,
    /// Matrices of W x K besides those that the algorithm always has.
    pub(crate) more_matrices: u64,
}

/// Bytes of what a corpus holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StringBytes {
    /// The documents in the file.
    pub(crate) packed: u64,
    /// The vocabulary in memory.
    pub(crate) vocabulary: u64,
    /// The open corpus: its index, and all of it where it is not in a file.
    pub(crate) index: u64,
}

/// What becomes of the topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// A file, written after the last pass.
    File,
    /// Files that are written between passes, too.
    Snapshots,
    /// A model in memory.
    Model,
}

/// What a training takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// Largest resident size of the process. No limit was set where it is none.
    pub ceiling: Option<u64>,
    /// The program and its threads.
    pub program: u64,
    /// Word totals, topic samples, the index of the corpus.
    pub words: u64,
    /// phi in memory.
    pub phi: u64,
    /// phi in a file.
    pub phi_on_disk: u64,
    /// Per-thread buffers and deltas of phi; at the end, the vocabulary.
    pub work: u64,
    /// Pieces of the corpus that are read, worked on or written.
    pub buffers: u64,
    /// Documents and their state in memory: as much as fits.
    pub kept: u64,
    /// Documents and their state in files. An estimate: it depends on how many topics documents use.
    pub kept_on_disk: u64,
    /// The most of `kept`. Where there is no limit `kept` is an estimate.
    pub limit: Option<u64>,
    /// Bytes that a pass reads, about.
    pub read: u64,
    /// Bytes that a pass writes, about.
    pub written: u64,
    /// Largest size on disk, about: the state of documents, twice, and checkpoints.
    pub disk: u64,
    /// The most of the deltas of a step in memory, where there is a limit.
    pub(crate) deltas: Option<u64>,
    /// Pieces in flight between files and memory.
    pub(crate) depth: u64,
    /// Bytes of one of them, at most.
    pub(crate) piece: u64,
}

/// Bytes of a thread's freed buffers that lie between others, so that the allocator cannot return them.
const NOT_RETURNED: u64 = 256 << 10;

/// What the components of a training state.
#[derive(Debug, Clone, Copy)]
struct Components {
    program: u64,
    words: u64,
    algorithm: AlgorithmMemory,
    /// Learning alpha.
    histograms: u64,
    /// What is only in memory when the model is made.
    at_end: u64,
    /// Freed buffers of threads that the allocator does not return to the system.
    not_returned: u64,
    /// Whether what is in memory at the end is so between passes, too.
    between_passes: bool,
    reader: u64,
    /// A piece in flight, and the most that are of use.
    piece: u64,
    most_in_flight: u64,
    /// The documents, packed in shorter runs than in the file.
    packed: u64,
    disk: bool,
}

impl Components {
    fn new(needs: &Needs, topics: u32) -> Components {
        let AlgorithmChoice { algorithm, state, more_matrices } = needs.algorithm;
        let memory = algorithm.memory(&MemoryInput {
            shape: needs.shape,
            sizes: &needs.sizes,
            words: &needs.words,
            topics,
            threads: needs.threads,
            state,
            active: needs.active,
            more_matrices,
            step: needs.step,
            disk: needs.disk,
        });
        let model = if needs.result == ResultKind::Model { memory.model } else { 0 };
        Components {
            program: needs.in_use.saturating_add(needs.threads.saturating_mul(THREAD)),
            words: sum(&[memory.words, needs.strings.index, store::index_bytes(&needs.sizes)]),
            algorithm: memory,
            histograms: needs.histograms.saturating_mul(8 * EDGES as u64),
            at_end: with_overhead(needs.strings.vocabulary).saturating_add(model),
            not_returned: needs.threads.saturating_mul(NOT_RETURNED),
            between_passes: needs.result == ResultKind::Snapshots,
            reader: store::reader_bytes(&needs.sizes),
            piece: store::piece_bytes(&needs.sizes, memory.piece_state),
            most_in_flight: store::most_in_flight(&needs.sizes),
            packed: needs.strings.packed.saturating_add(needs.strings.packed / 4),
            disk: needs.disk && memory.state_on_disk,
        }
    }

    /// Per-thread buffers and deltas with so many bytes for deltas, and pieces in flight.
    fn work(&self, deltas: u64, depth: u64) -> (u64, u64) {
        let work = sum(&[self.algorithm.scratch, deltas, self.histograms]);
        // Where nothing leaves the memory pieces that were read stay, and are counted there.
        let pieces = if self.disk { self.piece.saturating_mul(depth) } else { 0 };
        let buffers = self.reader.saturating_add(pieces);
        let work = work.saturating_add(allocator_overhead(work.saturating_add(buffers)));
        if self.between_passes {
            return (work.saturating_add(self.at_end), buffers);
        }
        // Buffers are freed before the model is made; other algorithms than `tbp` hold on to the rest.
        let freed = if self.algorithm.freed_at_end { work.saturating_sub(self.not_returned) } else { 0 };
        let freed = buffers.saturating_add(freed);
        let work = work.max(self.algorithm.at_start);
        (work.saturating_add(self.at_end.saturating_sub(freed)), buffers)
    }

    /// Documents and their state, all of them.
    fn kept(&self) -> u64 {
        self.packed.saturating_add(self.algorithm.state)
    }

    /// What must be in memory: all that cannot be in files.
    fn least(&self) -> u64 {
        let (work, buffers) = self.work(self.algorithm.deltas.least, 1);
        let kept = if self.disk { 0 } else { self.kept() };
        sum(&[self.program, self.words, work, buffers, self.algorithm.least_phi, kept])
    }

    /// Everything in memory.
    fn everything(&self) -> Plan {
        let depth = self.most_in_flight;
        let (work, buffers) = self.work(self.algorithm.deltas.usual, depth);
        Plan {
            program: self.program,
            words: self.words,
            phi: self.algorithm.phi,
            work,
            buffers,
            kept: self.kept(),
            // Of what is kept, and of phi in a checkpoint, there is one more while the next is written.
            disk: self.algorithm.state.saturating_add(self.algorithm.phi).saturating_mul(2),
            depth,
            piece: self.piece,
            ..Plan::default()
        }
    }

    /// The plan within so many bytes, which are enough for [`least`](Components::least).
    fn within(&self, usable: u64) -> Plan {
        let Flexible { least, usual, most } = self.algorithm.deltas;
        let mut left = usable.saturating_sub(self.least());
        let phi = self.algorithm.least_phi + take(&mut left, self.algorithm.phi - self.algorithm.least_phi);
        let mut deltas = least + take(&mut left, usual - least);
        let more = if self.disk { (left / self.piece.max(1)).min(self.most_in_flight - 1) } else { 0 };
        left -= more.saturating_mul(self.piece);
        let mut depth = if self.disk { 1 + more } else { self.most_in_flight };
        let mut kept = if self.disk { self.kept().min(left) } else { self.kept() };
        let mut limit = if self.disk { left } else { u64::MAX };
        // Half of what nobody needs is for deltas: the state of documents is only an estimate.
        if self.disk {
            let mut spare = (left - kept) / 2;
            let more = take(&mut spare, most - deltas);
            (deltas, limit) = (deltas + more, limit - more);
        }
        let fixed = |deltas: u64, depth: u64| {
            let (work, buffers) = self.work(deltas, depth);
            (work, buffers, sum(&[self.program, self.words, work, buffers, phi]))
        };
        // What the allocator adds grows with the buffers: less is left than they take themselves.
        let (mut work, mut buffers, mut taken) = fixed(deltas, depth);
        if self.disk && taken > usable {
            (deltas, depth) = (least, 1);
            (work, buffers, taken) = fixed(deltas, depth);
        }
        if self.disk {
            let left = usable.saturating_sub(taken);
            (kept, limit) = (kept.min(left), limit.min(left));
        }
        Plan {
            phi,
            phi_on_disk: self.algorithm.phi - phi,
            work,
            buffers,
            kept,
            kept_on_disk: self.kept() - kept,
            limit: Some(limit),
            deltas: (deltas < most).then_some(deltas),
            depth,
            ..self.everything()
        }
    }
}

/// Takes as much of `wanted` as is left.
fn take(left: &mut u64, wanted: u64) -> u64 {
    let taken = wanted.min(*left);
    *left -= taken;
    taken
}

impl Plan {
    /// The plan for K topics within a ceiling, or what would have to change.
    pub(crate) fn new(needs: &Needs, topics: u32, ceiling: Option<u64>) -> Result<Plan> {
        let components = Components::new(needs, topics);
        let Some(have) = ceiling else { return Ok(components.everything()) };
        let (usable, least) = (have - have / SLACK, components.least());
        if least > usable {
            return Err(too_little(needs, topics, least.saturating_add(least / (SLACK - 1)), have));
        }
        let mut plan = Plan { ceiling, ..components.within(usable) };
        if plan.kept_on_disk > 0 {
            // Of a piece on disk the documents are in the corpus.
            let (part, whole) = (u128::from(plan.kept_on_disk), u128::from(components.kept().max(1)));
            let share = |bytes: u64| (u128::from(bytes) * part / whole) as u64;
            let records = share(components.algorithm.state);
            plan.kept_on_disk = records;
            plan.read = sum(&[share(needs.strings.packed), records]);
            plan.written = records;
        }
        // The rows of rare words: each is read a few times for every time it is renewed.
        plan.read = plan.read.saturating_add(plan.phi_on_disk.saturating_mul(2));
        plan.written = plan.written.saturating_add(plan.phi_on_disk);
        plan.disk = plan.disk.saturating_add(plan.phi_on_disk);
        Ok(plan)
    }

    /// Whether so many topics fit.
    fn fits(needs: &Needs, topics: u32, have: u64) -> bool {
        Components::new(needs, topics).least() <= have - have / SLACK
    }

    /// What must be in memory besides phi, documents and their state.
    fn fixed(&self) -> u64 {
        sum(&[self.program, self.words, self.work, self.buffers])
    }

    /// All that is in memory.
    pub fn memory(&self) -> u64 {
        sum(&[self.fixed(), self.phi, self.kept])
    }

    /// Whether anything is in files.
    pub fn on_disk(&self) -> bool {
        self.kept_on_disk > 0 || self.phi_on_disk > 0 || self.read > 0
    }
}

/// Returns the bytes of a list and what the allocator adds to it; nothing if there is no list.
fn with_overhead(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { bytes.saturating_add(allocator_overhead(bytes / 4)) }
}

/// The error that names what would make it fit, the cheapest first.
fn too_little(needs: &Needs, topics: u32, need: u64, have: u64) -> Error {
    let mut ways = Vec::new();
    let one = Needs { threads: 1, ..*needs };
    if needs.threads > 1 && Plan::fits(&one, topics, have) {
        ways.push("{threads=1}".to_owned());
    }
    // The most topics that fit: a plan grows with them.
    let (mut fit, mut too_many) = (0, topics);
    while too_many - fit > 1 {
        let middle = fit + (too_many - fit) / 2;
        if Plan::fits(needs, middle, have) { fit = middle } else { too_many = middle }
    }
    if fit >= 2 {
        ways.push(format!("{{topics={fit}}}"));
    }
    ways.push(format!("{{memory={}}}", round_up(need)));
    if let Some((algorithm, sizes)) = needs.alternative {
        let other = Needs { sizes, algorithm, ..*needs };
        if Plan::fits(&other, topics, have) {
            ways.push(format!("{{algorithm={}}}", algorithm.algorithm.name()));
        }
    }
    Error::Memory { need, have, remedy: format!("it would fit with {}", ways.join(" or with ")).into() }
}

/// A size as the option takes it, not less than so many bytes.
fn round_up(bytes: u64) -> String {
    if bytes > 8 << 30 {
        format!("{}GiB", bytes.div_ceil(1 << 30))
    } else {
        format!("{}MiB", bytes.div_ceil(1 << 20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Longest;

    /// So many words with 512 tokens and with 1024.
    fn words(narrow: u64, wide: u64) -> WordStatistics {
        let mut words = WordStatistics::new(&[], |_| 0, 0);
        (words.classes[9], words.classes[10], words.samples) = (narrow, wide, 4_000_000);
        words
    }

    fn choice(algorithm: Algorithm) -> AlgorithmChoice {
        AlgorithmChoice { algorithm, state: algorithm.capabilities().state, more_matrices: 0 }
    }

    /// Blocks of 131,072 non-zeros, which are pieces too.
    fn sizes() -> PieceSizes {
        PieceSizes {
            blocks: 3800,
            block_documents: 2300,
            block_nonzeros: 131_072,
            block_bytes: 300_000,
            pieces: 3800,
            documents: 2300,
            nonzeros: 131_072,
            tokens: 300_000,
            longest: Longest::of(500),
            batch: 65_536,
        }
    }

    /// PUBMED, K to be chosen, two threads, a folder for files.
    fn pubmed() -> Needs {
        Needs {
            shape: Shape { documents: 8_200_000, words: 141_043, nonzeros: 483_450_157, tokens: 737_869_083 },
            sizes: sizes(),
            words: words(100_000, 41_043),
            strings: StringBytes { packed: 1 << 30, vocabulary: 4 << 20, index: 3800 * 96 },
            algorithm: choice(Algorithm::Tbp),
            alternative: None,
            active: Active::Auto,
            threads: 2,
            step: 1,
            in_use: 10 << 20,
            disk: true,
            result: ResultKind::File,
            histograms: 0,
        }
    }

    /// The same with another algorithm.
    fn pubmed_with(algorithm: Algorithm) -> Needs {
        let alternative = Some((choice(Algorithm::Tbp), sizes()));
        Needs { algorithm: choice(algorithm), alternative, ..pubmed() }
    }

    fn least(needs: &Needs, topics: u32) -> u64 {
        Components::new(needs, topics).least()
    }

    #[test]
    fn the_table() {
        for (topics, ceiling) in [(10, 256 << 20), (100, 768 << 20), (1000, 2u64 << 30), (10_000, 8 << 30)] {
            let plan = Plan::new(&pubmed(), topics, Some(ceiling)).unwrap();
            let width = u64::from(topics).next_multiple_of(16);
            assert_eq!(plan.phi, (2 * 100_000 + 4 * 41_043) * width);
            assert_eq!(plan.phi_on_disk, 0);
            assert!(plan.memory() <= ceiling, "{topics}: {plan:?}");
            assert!(plan.on_disk() && plan.disk >= 2 * plan.kept_on_disk);
            assert_eq!(plan.depth, 4);
        }
        // All in memory where there is enough of it.
        let plan = Plan::new(&pubmed(), 100, Some(64 << 30)).unwrap();
        assert!(!plan.on_disk() && plan.disk < 2 * (plan.kept + plan.phi));
        let messages = 483_450_157 * (1 + 2 * 16) + 8_200_000 * 2 * (1 + 64);
        assert_eq!(plan.kept, (1 << 30) + (1 << 28) + messages);
        assert_eq!(plan.deltas, None);
        assert_eq!(Plan::new(&pubmed(), 100, None).unwrap().kept, plan.kept);
    }

    /// Every byte of the ceiling above the least is given to something: phi, deltas, pieces in flight, documents.
    #[test]
    fn memory_is_shared_out_in_order() {
        let needs = pubmed();
        let least = least(&needs, 100);
        let ceiling = |more: u64| {
            let usable = least + more;
            Some(usable + usable.div_ceil(SLACK - 1) + 1)
        };
        let plan = |more: u64| Plan::new(&needs, 100, ceiling(more)).unwrap();
        let phi = (2 * 100_000 + 4 * 41_043) * 112;
        let (none, some) = (plan(0), plan(phi));
        assert!(none.phi < 64 && none.depth == 1 && none.deltas.is_some(), "{none:?}");
        assert_eq!((some.phi, some.depth), (phi, 1));
        let more = plan(phi + (128 << 20));
        assert!(more.depth == 4 && more.deltas > some.deltas && more.limit > Some(0), "{more:?}");
        assert!(Plan::new(&needs, 100, Some(least)).is_err());
        for more in (0..60).map(|step| 1u64 << (step / 2)) {
            let plan = plan(more);
            assert!(plan.memory() <= plan.ceiling.unwrap(), "{more}: {plan:?}");
        }
    }

    #[test]
    fn phi_goes_to_disk_last() {
        let plan = Plan::new(&pubmed(), 10_000, Some(2 << 30)).unwrap();
        assert!(plan.phi > 0 && plan.phi_on_disk > 0 && plan.memory() <= 2 << 30, "{plan:?}");
        assert_eq!(plan.phi + plan.phi_on_disk, (2 * 100_000 + 4 * 41_043) * 10_000);
        assert_eq!(plan.limit, Some(0));
    }

    /// What the least grows with: K, threads, documents of a piece, long documents, what is in use, the vocabulary.
    #[test]
    fn what_counts() {
        let usual = least(&pubmed(), 100);
        assert_eq!(least(&Needs { in_use: 11 << 20, ..pubmed() }, 100), usual + (1 << 20));
        assert!(least(&Needs { threads: 3, ..pubmed() }, 100) > usual);
        assert!(least(&pubmed(), 200) > usual);
        let short = Needs { sizes: PieceSizes { documents: 131_072, ..sizes() }, ..pubmed() };
        assert!(least(&short, 100) >= usual + (131_072 - 2300) * (4 + 2));
        let long = Needs { sizes: PieceSizes { longest: Longest::of(131_072), ..sizes() }, ..pubmed() };
        assert!(least(&long, 100) > usual + (4 << 20));
        let strings = StringBytes { vocabulary: 1 << 30, ..pubmed().strings };
        assert!((1 << 30..(1 << 30) + usual).contains(&least(&Needs { strings, ..pubmed() }, 100)));
        // Between passes the vocabulary is there besides all the rest.
        let snapshots = Needs { strings, result: ResultKind::Snapshots, ..pubmed() };
        assert_eq!(least(&snapshots, 100), usual + with_overhead(1 << 30));
        // Steps of many pieces have more deltas, which can be in a file or not.
        let steps = Needs { step: 8, ..pubmed() };
        assert!(least(&steps, 100) > usual && least(&steps, 100) < 3 * usual);
        let whole =
            |step: u64| Components::new(&Needs { step, disk: false, ..pubmed() }, 100).algorithm.deltas;
        assert!(whole(8).least > 7 * whole(1).least && whole(8).least == whole(8).most);
    }

    /// The value that the remedy proposes for a parameter.
    fn proposed(error: &Error, name: &str) -> Option<String> {
        let remedy = error.remedy()?;
        remedy.suggestions().find(|&(other, _)| other == name)?.1.map(str::to_owned)
    }

    #[test]
    fn what_would_fit_is_said() {
        let have = least(&pubmed(), 60);
        let error = Plan::new(&pubmed(), 100, Some(have)).unwrap_err();
        let k: u32 = proposed(&error, "topics").unwrap().parse().unwrap();
        assert!(Plan::new(&pubmed(), k, Some(have)).is_ok());
        assert!(Plan::new(&pubmed(), k + 1, Some(have)).is_err());
        let size = proposed(&error, "memory").unwrap();
        let size = size.strip_suffix("MiB").unwrap();
        assert!(Plan::new(&pubmed(), 100, Some(size.parse::<u64>().unwrap() << 20)).is_ok());
        let many = Needs { threads: 1000, ..pubmed() };
        let error = Plan::new(&many, 1000, Some(128 << 20)).unwrap_err();
        assert_eq!(proposed(&error, "threads").as_deref(), Some("1"));
        // Without a folder for files everything must fit; with the paper's algorithms, phi.
        let text = Plan::new(&Needs { disk: false, ..pubmed() }, 100, Some(4 << 30)).unwrap_err().to_string();
        assert!(text.contains("GiB"), "{text}");
        let error = Plan::new(&pubmed_with(Algorithm::Stbp), 10_000, Some(4 << 30)).unwrap_err();
        assert_eq!(proposed(&error, "algorithm").as_deref(), Some("tbp"));
        // Messages that must be in memory; those of tbp need not.
        let error = Plan::new(&pubmed_with(Algorithm::Bp), 100, Some(1 << 30)).unwrap_err();
        assert_eq!(proposed(&error, "memory").as_deref(), Some("113GiB"));
        assert_eq!(proposed(&error, "algorithm").as_deref(), Some("tbp"));
    }

    #[test]
    fn sizes_past_32_and_64_bits_do_not_wrap() {
        let shape = Shape { documents: 1 << 34, words: u32::MAX, nonzeros: 1 << 40, tokens: 1 << 45 };
        let strings = StringBytes { packed: 1 << 41, ..pubmed().strings };
        let sizes = PieceSizes { blocks: 1 << 23, pieces: 1 << 23, ..sizes() };
        let large = Needs { shape, strings, sizes, words: words(1 << 31, 1 << 31), ..pubmed() };
        let plan = Plan::new(&large, 1000, Some(1 << 40)).unwrap();
        assert_eq!(plan.phi + plan.phi_on_disk, (6 << 31) * 1008);
        assert!(plan.kept_on_disk > 1 << 44 && plan.disk > plan.kept_on_disk);
        let huge = Shape { documents: 1 << 62, words: u32::MAX, nonzeros: 1 << 63, tokens: u64::MAX };
        let strings = StringBytes { packed: u64::MAX, vocabulary: u64::MAX, index: u64::MAX };
        for algorithm in Algorithm::ALL {
            let needs = Needs { shape: huge, strings, disk: false, ..pubmed_with(algorithm) };
            assert_eq!(Plan::new(&needs, u32::MAX, None).unwrap().memory(), u64::MAX);
            assert!(Plan::new(&needs, u32::MAX, Some(1 << 40)).is_err());
        }
    }
}
