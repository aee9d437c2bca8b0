//! How much memory and disk a training takes, and what stays where: integer arithmetic only, so that a table can test it.
//!
//! What must be in memory is known before any work: phi or a part of it, what threads need, and a few pieces of the corpus
//! that go round. What is left of the ceiling is for documents and what is kept of them; those that do not fit are in files.
//! `docs/MEMORY.md` has the formulas beside measured figures.

use crate::algorithms::dense::phases;
use crate::algorithms::piece::{OPEN_NONZERO, StateKind};
use crate::algorithms::tbp::counts;
use crate::algorithms::tbp::delta::MAX_CELLS;
use crate::algorithms::tbp::messages::{MAX_DOCUMENT_TOPICS, UNITS_PER_TOKEN};
use crate::corpus::Shape;
use crate::error::{Error, Result};
use crate::memory::SLACK;
use crate::priors::EDGES;
use crate::settings::{Active, Algorithm};
use crate::simd::{Halves, LANES, Lanes};
use crate::store::PIPELINE_DEPTH;

/// The program itself, and each of its threads.
const PROGRAM: u64 = 10 << 20;
const THREAD: u64 = 1 << 20;
/// Parts of a message on average, in memory and on disk, once the first rounds are over.
const USUAL_PARTS: u64 = 16;

/// What a plan is made for.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub(crate) struct Needs {
    pub(crate) shape: Shape,
    /// Bytes of the documents in the corpus file, and of vocabulary and names.
    pub(crate) packed: u64,
    pub(crate) strings: u64,
    /// Blocks of the corpus file; the most documents, non-zeros and bytes that one has.
    pub(crate) blocks: u64,
    pub(crate) block: (u64, u64, u64),
    /// How many pieces they are cut into; the most documents and non-zeros that one has.
    pub(crate) pieces: u64,
    pub(crate) piece: (u64, u64),
    /// The same two, if it were `tbp`.
    pub(crate) of_tbp: (u64, (u64, u64)),
    /// The most tokens that one may have, where tokens are labelled.
    pub(crate) tokens: u64,
    /// Heavy words, whose rows are summed in f64.
    pub(crate) heavy: u64,
    /// Whether models are written on the way.
    pub(crate) snapshots: bool,
    /// Words by the number of their tokens, and topics drawn for them.
    pub(crate) words: Classes,
    pub(crate) samples: u64,
    pub(crate) algorithm: Algorithm,
    pub(crate) active: Active,
    pub(crate) threads: u64,
    /// Whether theta is kept between visits.
    pub(crate) kept: bool,
    /// Whether the model is wanted in memory, and not just in a file.
    pub(crate) model: bool,
    /// Matrices of W x K besides those that the algorithm always has.
    pub(crate) matrices: u64,
    /// Histograms of counts, where alpha is learned.
    pub(crate) histograms: u64,
    /// Whether there is a folder for what does not fit; not every algorithm can use it.
    pub(crate) disk: bool,
}

/// How many words have less than two tokens, two or three, four to seven, and so on; the last class has no end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Classes([u64; 24]);

impl Classes {
    pub(crate) fn new(word_tokens: &[u64]) -> Classes {
        let mut classes = [0; 24];
        for &n in word_tokens {
            classes[(n.max(1).ilog2() as usize).min(23)] += 1;
        }
        Classes(classes)
    }

    /// The most bytes of phi in memory, as `tbp` has it.
    fn phi(&self, topics: u32) -> u64 {
        let of_class = |(class, &words): (usize, &u64)| {
            let tokens = if class == 0 { (0, 1) } else { (1 << class, (2 << class) - 1) };
            words.saturating_mul(counts::row_bytes(tokens, topics, UNITS_PER_TOKEN))
        };
        self.0.iter().enumerate().map(of_class).fold(0, u64::saturating_add)
    }
}

/// What a training takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    /// The most memory that the process may have; none was set where this is nothing.
    pub ceiling: Option<u64>,
    /// The program and its threads.
    pub program: u64,
    /// Word totals, draws, the index of the corpus.
    pub words: u64,
    /// phi in memory,
    pub phi: u64,
    /// and in a file.
    pub phi_on_disk: u64,
    /// What the threads work with: changes of phi, rows of K numbers.
    pub work: u64,
    /// Pieces of the corpus that are read, at work or written.
    pub buffers: u64,
    /// Documents and what is kept of them, in memory: as much as fits,
    pub kept: u64,
    /// and in files (an estimate: it depends on how many topics documents use).
    pub kept_on_disk: u64,
    /// The most of `kept`; where there is no limit it is an estimate.
    pub limit: Option<u64>,
    /// What a pass reads and writes, about.
    pub read: u64,
    /// See `read`.
    pub written: u64,
    /// The most that is on disk at a time, about: what is kept, twice, and checkpoints.
    pub disk: u64,
}

fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
}

impl Plan {
    /// The plan for K topics within a ceiling, or what would have to change.
    pub(crate) fn new(needs: &Needs, topics: u32, ceiling: Option<u64>) -> Result<Plan> {
        let wanted = Plan::without_limit(needs, topics);
        let Some(have) = ceiling else { return Ok(wanted) };
        let usable = have - have / SLACK;
        let fixed = wanted.fixed();
        let least = wanted.least(needs);
        if least > usable {
            return Err(too_little(needs, topics, least.saturating_add(least / (SLACK - 1)), have));
        }
        let phi = wanted.phi.min(usable - fixed);
        let left = usable - fixed - phi;
        let mut plan = Plan { ceiling, phi, phi_on_disk: wanted.phi - phi, limit: Some(left), ..wanted };
        plan.kept = wanted.kept.min(left);
        plan.kept_on_disk = wanted.kept - plan.kept;
        if plan.kept_on_disk > 0 {
            // Of a piece on disk the documents are in the corpus.
            let (part, whole) = (u128::from(plan.kept_on_disk), u128::from(wanted.kept.max(1)));
            let share = |bytes: u64| (u128::from(bytes) * part / whole) as u64;
            let records = if needs.kept { share(wanted.kept.saturating_sub(packed(needs))) } else { 0 };
            plan.kept_on_disk = records;
            plan.read = sum(&[share(needs.packed), records]);
            plan.written = records;
        }
        // The rows of rare words: each is read a few times for every time it is renewed.
        plan.read = plan.read.saturating_add(plan.phi_on_disk.saturating_mul(2));
        plan.written = plan.written.saturating_add(plan.phi_on_disk);
        plan.disk = plan.disk.saturating_add(plan.phi_on_disk);
        Ok(plan)
    }

    /// Everything in memory.
    fn without_limit(needs: &Needs, topics: u32) -> Plan {
        let Needs { shape, algorithm, threads, .. } = *needs;
        let words = u64::from(shape.words);
        let width = u64::from(topics).div_ceil(LANES as u64).saturating_mul(LANES as u64);
        let row = width.saturating_mul(size_of::<Lanes>() as u64 / LANES as u64);
        let small = algorithm == Algorithm::Tbp;
        // The most parts of a message: as many as it has grains.
        let most = u64::from(topics)
            .min(u64::from(UNITS_PER_TOKEN) / if needs.active == Active::All { 1 } else { 2 });
        let list = u64::from(topics).min(MAX_DOCUMENT_TOPICS as u64);
        let (documents, nonzeros) = needs.piece;
        let record = if small {
            sum(&[
                nonzeros.saturating_mul(1 + 2 * most),
                documents.saturating_mul(2),
                documents.saturating_mul(list).min(nonzeros.saturating_mul(most)).saturating_mul(2),
            ])
        } else {
            Plan::kept_rows(algorithm, topics, (documents, nonzeros, needs.tokens))
        };
        let open = sum(&[nonzeros.saturating_mul(8), documents.saturating_mul(4)]);
        let buffers = sum(&[
            open.saturating_mul(PIPELINE_DEPTH as u64),
            // Where nothing leaves the memory pieces that were read stay, and are counted there.
            record.saturating_mul(if algorithm.capabilities().disk { PIPELINE_DEPTH as u64 + 2 } else { 1 }),
            // A block of the file, as it is and decoded.
            needs.block.2,
            needs.block.1.saturating_add(needs.block.0).saturating_mul(8),
        ]);
        // What a piece changes of phi: an old message and a new one, eight bytes a part, in lists that grow by quarters.
        let changes = if small { nonzeros.saturating_mul(most * 2 * 8 * 5 / 4) } else { 0 };
        // And what lists are never without, where words are in very many groups.
        let groups = words.saturating_mul(width) / MAX_CELLS as u64;
        let changes = changes.saturating_add(if small {
            threads.saturating_mul(groups).saturating_mul(3 << 10)
        } else {
            0
        });
        let vocabulary = needs.strings.saturating_mul(2).saturating_add(words.saturating_mul(16));
        let phi = if small {
            // What a round makes and what it is made from are two, where nothing is kept of documents.
            needs.words.phi(topics).saturating_mul(if needs.kept { 1 } else { 2 })
        } else {
            let rows = words.saturating_mul(algorithm.capabilities().matrices + needs.matrices);
            rows.saturating_add(needs.heavy.saturating_mul(2)).saturating_mul(row)
        };
        // The vocabulary is read for the model, when `tbp` has let its scratch go.
        let alone = small && !needs.snapshots;
        let model = if needs.model && small { words.saturating_mul(row) } else { 0 };
        let records = if !needs.kept {
            0
        } else if small {
            let usual = u64::from(topics).min(USUAL_PARTS);
            let lists = shape.documents.saturating_mul(2 * list.min(64));
            shape.nonzeros.saturating_mul(1 + 2 * usual).saturating_add(lists)
        } else {
            Plan::kept_rows(algorithm, topics, (shape.documents, shape.nonzeros, shape.tokens))
        };
        // What documents at work leave for words: a row for each, a number and an entry of a list for each non-zero.
        let together = documents.min(phases::DOCS_PER_BATCH as u64);
        let at_work = if small || !algorithm.threads() {
            0
        } else {
            let entries = nonzeros.saturating_mul(4 + size_of::<phases::Entry>() as u64);
            let entries = entries.saturating_add((phases::GROUPS * phases::GROUPS * 4) as u64);
            sum(&[together.saturating_mul(row), entries, row.saturating_mul(4 * phases::GROUPS as u64)])
        };
        Plan {
            ceiling: None,
            program: PROGRAM.saturating_add(threads.saturating_mul(THREAD)),
            words: sum(&[
                words.saturating_mul(32),
                needs.samples.saturating_mul(if needs.kept { 2 } else { 4 }),
                needs.blocks.saturating_mul(96),
                needs.pieces.saturating_mul(160),
            ]),
            phi,
            phi_on_disk: 0,
            // And the changes of lambda: 8 K for every thread.
            work: sum(&[
                threads.saturating_mul(row).saturating_mul(20),
                row.saturating_mul(8),
                changes,
                at_work,
                needs.histograms.saturating_mul(8 * EDGES as u64),
            ])
            .max(model)
            .max(if alone { vocabulary } else { 0 })
            .saturating_add(if alone { 0 } else { vocabulary }),
            buffers,
            kept: packed(needs).saturating_add(records),
            kept_on_disk: 0,
            limit: None,
            read: 0,
            written: 0,
            // Of what is kept, and of phi in a checkpoint, there is one more while the next is written.
            disk: records.saturating_add(phi).saturating_mul(2),
        }
    }

    /// Bytes of what is kept for so many documents, non-zeros and tokens, where documents are visited one by one.
    fn kept_rows(algorithm: Algorithm, topics: u32, (documents, nonzeros, tokens): (u64, u64, u64)) -> u64 {
        let theta = documents.saturating_mul(4).saturating_mul(u64::from(topics));
        let message = u64::from(topics).div_ceil(LANES as u64).saturating_mul(size_of::<Halves>() as u64);
        match algorithm.capabilities().state {
            StateKind::Theta => theta,
            StateKind::Messages => {
                theta.saturating_add(nonzeros.saturating_mul(message.saturating_add(OPEN_NONZERO)))
            }
            StateKind::Labels => tokens.saturating_mul(2),
            StateKind::Nothing | StateKind::QuantizedMessages | StateKind::Chunks => 0,
        }
    }

    /// What must be in memory besides phi, documents and what is kept of them.
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

/// The documents packed, in shorter runs than in the file.
fn packed(needs: &Needs) -> u64 {
    needs.packed.saturating_add(needs.packed / 4)
}

/// What would make it fit, the cheapest first.
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
    let (pieces, piece) = needs.of_tbp;
    let ours = Needs { algorithm: Algorithm::Tbp, matrices: 0, pieces, piece, ..*needs };
    if needs.algorithm != Algorithm::Tbp && Plan::fits(&ours, topics, have) {
        ways.push("{algorithm=tbp}".to_owned());
    }
    Error::Memory { need, have, remedy: format!("it would fit with {}", ways.join(" or with ")).into() }
}

impl Plan {
    /// Whether so many topics fit.
    fn fits(needs: &Needs, topics: u32, have: u64) -> bool {
        Plan::without_limit(needs, topics).least(needs) <= have - have / SLACK
    }

    /// What must be in memory: all that cannot be in files.
    fn least(&self, needs: &Needs) -> u64 {
        let disk = needs.disk && needs.algorithm.capabilities().disk;
        let kept = if disk { 0 } else { self.kept };
        let phi = if disk && (needs.algorithm == Algorithm::Tbp) { 0 } else { self.phi };
        sum(&[self.fixed(), kept, phi])
    }
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

    /// So many words with 512 tokens and with 1024.
    fn words(narrow: u64, wide: u64) -> Classes {
        let mut classes = Classes::new(&[]);
        (classes.0[9], classes.0[10]) = (narrow, wide);
        classes
    }

    /// PUBMED, K to be chosen, two threads, a folder for files.
    fn pubmed() -> Needs {
        Needs {
            shape: Shape { documents: 8_200_000, words: 141_043, nonzeros: 483_450_157, tokens: 737_869_083 },
            packed: 1 << 30,
            strings: 1 << 20,
            blocks: 3800,
            block: (2300, 131_072, 300_000),
            pieces: 3800,
            piece: (2300, 131_072),
            of_tbp: (3800, (2300, 131_072)),
            words: words(100_000, 41_043),
            samples: 4_000_000,
            algorithm: Algorithm::Tbp,
            active: Active::Auto,
            threads: 2,
            kept: true,
            model: false,
            matrices: 0,
            histograms: 0,
            tokens: 300_000,
            heavy: 0,
            snapshots: false,
            disk: true,
        }
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
        }
        // All in memory where there is enough of it.
        let plan = Plan::new(&pubmed(), 100, Some(64 << 30)).unwrap();
        assert!(!plan.on_disk() && plan.disk < 2 * (plan.kept + plan.phi));
        assert_eq!(plan.kept, (1 << 30) + (1 << 28) + 33 * 483_450_157 + 8_200_000 * 2 * 64);
        assert_eq!(Plan::new(&pubmed(), 100, None).unwrap().kept, plan.kept);
    }

    #[test]
    fn phi_goes_to_disk_last() {
        let plan = Plan::new(&pubmed(), 10_000, Some(2 << 30)).unwrap();
        assert!(plan.phi > 0 && plan.phi_on_disk > 0 && plan.memory() <= 2 << 30, "{plan:?}");
        assert_eq!(plan.phi + plan.phi_on_disk, (2 * 100_000 + 4 * 41_043) * 10_000);
        assert_eq!(plan.limit, Some(0));
    }

    /// The value that the remedy proposes for a parameter.
    fn proposed(error: &Error, name: &str) -> Option<String> {
        let remedy = error.remedy()?;
        remedy.suggestions().find(|&(other, _)| other == name)?.1.map(str::to_owned)
    }

    #[test]
    fn what_would_fit_is_said() {
        let error = Plan::new(&pubmed(), 100, Some(100 << 20)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("100.0 MiB"), "{text}");
        let k: u32 = proposed(&error, "topics").unwrap().parse().unwrap();
        assert!(Plan::new(&pubmed(), k, Some(100 << 20)).is_ok());
        assert!(Plan::new(&pubmed(), k + 1, Some(100 << 20)).is_err());
        let size = proposed(&error, "memory").unwrap();
        let size = size.strip_suffix("MiB").unwrap();
        assert!(Plan::new(&pubmed(), 100, Some(size.parse::<u64>().unwrap() << 20)).is_ok());
        let many = Needs { threads: 1000, ..pubmed() };
        let error = Plan::new(&many, 1000, Some(1 << 30)).unwrap_err();
        assert_eq!(proposed(&error, "threads").as_deref(), Some("1"));
        // Without a folder for files everything must fit; with the paper's algorithms, phi.
        let text = Plan::new(&Needs { disk: false, ..pubmed() }, 100, Some(4 << 30)).unwrap_err().to_string();
        assert!(text.contains("GiB"), "{text}");
        let paper = Needs { algorithm: Algorithm::Stbp, ..pubmed() };
        let error = Plan::new(&paper, 10_000, Some(4 << 30)).unwrap_err();
        assert_eq!(proposed(&error, "algorithm").as_deref(), Some("tbp"));
        // Messages that must be in memory; those of tbp need not.
        let messages = Needs { algorithm: Algorithm::Bp, ..pubmed() };
        let error = Plan::new(&messages, 100, Some(1 << 30)).unwrap_err();
        assert_eq!(proposed(&error, "memory").as_deref(), Some("113GiB"));
        assert_eq!(proposed(&error, "algorithm").as_deref(), Some("tbp"));
    }

    #[test]
    fn sizes_past_32_and_64_bits_do_not_wrap() {
        let shape = Shape { documents: 1 << 34, words: u32::MAX, nonzeros: 1 << 40, tokens: 1 << 45 };
        let large = Needs {
            shape,
            packed: 1 << 41,
            blocks: 1 << 23,
            pieces: 1 << 23,
            words: words(1 << 31, 1 << 31),
            ..pubmed()
        };
        let plan = Plan::new(&large, 1000, Some(1 << 40)).unwrap();
        assert_eq!(plan.phi + plan.phi_on_disk, (6 << 31) * 1008);
        assert!(plan.kept_on_disk > 1 << 44 && plan.disk > plan.kept_on_disk);
        let huge = Shape { documents: 1 << 62, words: u32::MAX, nonzeros: 1 << 63, tokens: u64::MAX };
        for algorithm in Algorithm::ALL {
            let needs = Needs {
                shape: huge,
                packed: u64::MAX,
                strings: u64::MAX,
                algorithm,
                disk: false,
                ..pubmed()
            };
            assert_eq!(Plan::new(&needs, u32::MAX, None).unwrap().memory(), u64::MAX);
            assert!(Plan::new(&needs, u32::MAX, Some(1 << 40)).is_err());
        }
    }
}
