//! Memory and disk plan of a training: how much it takes, and what is kept where. Integer
//! arithmetic only, so that it can be tested with a table of cases.
//!
//! Every component states its own bytes: an algorithm (`algorithms/memory.rs`), the store
//! (`store/memory.rs`) and the corpus. The plan adds them up and knows no data structure itself.
//! What must be in memory is the minimum, known before any work; a 28th of the limit stays free.
//! What remains goes in this order to phi, deltas up to their typical size, pieces in flight, and
//! documents with their state; what does not fit is on disk. If memory is left after that, half of
//! it goes to more deltas, up to their maximum, and the rest stays available for documents and
//! their state, whose size is an estimate. Should the overhead of the allocator then exceed the
//! limit, deltas and pieces in flight are reduced to their minimum. Without a folder for files,
//! everything must fit in memory. `docs/MEMORY.md` has the formulas beside measured figures. Start
//! reading at [`Plan::new`].

use crate::algorithms::memory::{AlgorithmMemory, FlexibleSize, MemoryInput, WordStatistics, saturating_sum};
use crate::algorithms::piece::StateKind;
use crate::corpus::{PieceSizes, Shape};
use crate::error::{Error, Result};
use crate::memory::{BYTES_PER_THREAD, SLACK_DIVISOR, allocator_overhead};
use crate::priors::EDGES;
use crate::settings::{Active, Algorithm};
use crate::store::memory as store;

/// Input of a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanInput {
    pub(crate) shape: Shape,
    pub(crate) sizes: PieceSizes,
    pub(crate) words: WordStatistics,
    pub(crate) corpus: CorpusBytes,
    pub(crate) algorithm: AlgorithmChoice,
    /// Algorithm to suggest if the chosen one does not fit, with its piece sizes.
    pub(crate) alternative: Option<(AlgorithmChoice, PieceSizes)>,
    pub(crate) active: Active,
    pub(crate) threads: u64,
    /// Number of pieces between two updates of the topics.
    pub(crate) step: u64,
    /// Bytes that the process holds already, besides the planned ones.
    pub(crate) in_use: u64,
    /// Whether there is a folder for data that does not fit in memory. Not every algorithm can use
    /// it.
    pub(crate) disk: bool,
    pub(crate) result: ResultKind,
    /// Number of histograms of counts; 0 unless alpha is learned.
    pub(crate) histograms: u64,
}

/// Algorithm with the choices that its memory depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AlgorithmChoice {
    pub(crate) algorithm: Algorithm,
    /// State kept per document between visits.
    pub(crate) state: StateKind,
    /// Number of W x K matrices besides those that the algorithm always has.
    pub(crate) more_matrices: u64,
}

/// Sizes of the parts of a corpus, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CorpusBytes {
    /// Bytes of the packed documents in the corpus file.
    pub(crate) packed: u64,
    /// Bytes of the vocabulary in memory.
    pub(crate) vocabulary: u64,
    /// Bytes of the opened corpus: its index, or all of it if it is not in a file.
    pub(crate) index: u64,
}

/// Form of the result of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// A file, written after the last pass.
    File,
    /// Files, written between passes and after the last one.
    Snapshots,
    /// A model in memory.
    Model,
}

/// Memory and disk space of a training, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// Maximum resident size of the process; `None` if no limit is set.
    pub ceiling: Option<u64>,
    /// Program and threads.
    pub program: u64,
    /// Word totals, topic samples and the index of the corpus.
    pub words: u64,
    /// Part of phi in memory.
    pub phi: u64,
    /// Part of phi in a file.
    pub phi_on_disk: u64,
    /// Per-thread buffers and deltas of phi, plus what writing the model needs beyond the buffers
    /// that are freed before.
    pub work: u64,
    /// Pieces of the corpus that are being read, processed or written.
    pub buffers: u64,
    /// Documents and their state in memory, as much as fits.
    pub kept: u64,
    /// Documents and their state in files. This is an estimate, since it depends on how many topics
    /// documents use.
    pub kept_on_disk: u64,
    /// Maximum of `kept`. If it is `None`, `kept` is an estimate.
    pub limit: Option<u64>,
    /// Estimated bytes read per pass.
    pub read: u64,
    /// Estimated bytes written per pass.
    pub written: u64,
    /// Estimated maximum disk space: two copies of the document state, and checkpoints.
    pub disk: u64,
    /// Maximum bytes of the deltas of a step in memory; `None` if there is no limit.
    pub(crate) deltas: Option<u64>,
    /// Number of pieces in flight between files and memory.
    pub(crate) depth: u64,
    /// Maximum bytes of a piece in flight.
    pub(crate) piece: u64,
}

/// Bytes of freed buffers that lie between other allocations, so that the allocator cannot return
/// them to the system.
const NOT_RETURNED: u64 = 512 << 10;
/// Bytes of such buffers per thread.
const NOT_RETURNED_PER_THREAD: u64 = 256 << 10;

/// Memory of the components of a training, in bytes.
#[derive(Debug, Clone, Copy)]
struct PlanComponents {
    program: u64,
    words: u64,
    algorithm: AlgorithmMemory,
    /// Histograms for learning alpha.
    histograms: u64,
    /// Data that is only in memory while the model is created.
    at_end: u64,
    /// Freed buffers of threads that the allocator does not return to the system.
    not_returned: u64,
    /// Whether the data of `at_end` is also in memory between passes.
    between_passes: bool,
    reader: u64,
    /// Bytes of a piece in flight.
    piece: u64,
    /// Maximum number of pieces in flight that is useful.
    max_in_flight: u64,
    /// Packed documents. They take up to a quarter more than in the file, since they are packed
    /// piece by piece.
    packed: u64,
    disk: bool,
}

impl PlanComponents {
    fn new(input: &PlanInput, topics: u32) -> PlanComponents {
        let AlgorithmChoice { algorithm, state, more_matrices } = input.algorithm;
        let memory = algorithm.memory(&MemoryInput {
            shape: input.shape,
            sizes: &input.sizes,
            words: &input.words,
            topics,
            threads: input.threads,
            state,
            active: input.active,
            more_matrices,
            step: input.step,
            disk: input.disk,
        });
        let model = if input.result == ResultKind::Model { memory.model } else { 0 };
        PlanComponents {
            program: input.in_use.saturating_add(input.threads.saturating_mul(BYTES_PER_THREAD)),
            words: saturating_sum(&[memory.words, input.corpus.index, store::index_bytes(&input.sizes)]),
            algorithm: memory,
            histograms: input.histograms.saturating_mul(8 * EDGES as u64),
            at_end: with_overhead(input.corpus.vocabulary).saturating_add(model),
            not_returned: input.threads.saturating_mul(NOT_RETURNED_PER_THREAD).saturating_add(NOT_RETURNED),
            between_passes: input.result == ResultKind::Snapshots,
            reader: store::reader_bytes(&input.sizes),
            piece: store::piece_bytes(&input.sizes, memory.piece_state),
            max_in_flight: store::max_in_flight(&input.sizes),
            packed: input.corpus.packed.saturating_add(input.corpus.packed / 4),
            disk: input.disk && memory.state_on_disk,
        }
    }

    /// Returns the bytes of buffers and deltas, and of pieces in flight, for `deltas` bytes of
    /// deltas and `depth` pieces in flight.
    fn work(&self, deltas: u64, depth: u64) -> (u64, u64) {
        let work = saturating_sum(&[self.algorithm.scratch, deltas, self.histograms]);
        // If nothing leaves the memory, pieces stay after reading and are counted there.
        let pieces = if self.disk { self.piece.saturating_mul(depth) } else { 0 };
        let buffers = self.reader.saturating_add(pieces);
        let work = work.saturating_add(allocator_overhead(work.saturating_add(buffers)));
        if self.between_passes {
            return (work.saturating_add(self.at_end), buffers);
        }
        // Buffers are freed before the model is created, as far as the algorithm states it.
        let freed = if self.algorithm.freed_at_end { work.saturating_sub(self.not_returned) } else { 0 };
        let freed = buffers.saturating_add(freed);
        let work = work.max(self.algorithm.at_start);
        (work.saturating_add(self.at_end.saturating_sub(freed)), buffers)
    }

    /// Returns the bytes of all documents and their state.
    fn kept(&self) -> u64 {
        self.packed.saturating_add(self.algorithm.state)
    }

    /// Returns the minimum memory: everything that cannot be in files.
    fn minimum(&self) -> u64 {
        let (work, buffers) = self.work(self.algorithm.deltas.min, 1);
        let kept = if self.disk { 0 } else { self.kept() };
        saturating_sum(&[self.program, self.words, work, buffers, self.algorithm.min_phi, kept])
    }

    /// Returns the plan with everything in memory.
    fn all_in_memory(&self) -> Plan {
        let depth = self.max_in_flight;
        let (work, buffers) = self.work(self.algorithm.deltas.typical, depth);
        Plan {
            program: self.program,
            words: self.words,
            phi: self.algorithm.phi,
            work,
            buffers,
            kept: self.kept(),
            // A second copy of the document state and of phi exists while a checkpoint is written.
            disk: self.algorithm.state.saturating_add(self.algorithm.phi).saturating_mul(2),
            depth,
            piece: self.piece,
            ..Plan::default()
        }
    }

    /// Returns the plan within `usable` bytes, which must be at least
    /// [`minimum`](PlanComponents::minimum).
    fn within(&self, usable: u64) -> Plan {
        let FlexibleSize { min: least, typical, max: most } = self.algorithm.deltas;
        let mut left = usable.saturating_sub(self.minimum());
        let phi = self.algorithm.min_phi + take(&mut left, self.algorithm.phi - self.algorithm.min_phi);
        let mut deltas = least + take(&mut left, typical - least);
        let more = if self.disk { (left / self.piece.max(1)).min(self.max_in_flight - 1) } else { 0 };
        left -= more.saturating_mul(self.piece);
        let mut depth = if self.disk { 1 + more } else { self.max_in_flight };
        let mut kept = if self.disk { self.kept().min(left) } else { self.kept() };
        let mut limit = if self.disk { left } else { u64::MAX };
        // The size of the document state is only an estimate, so half of the unused memory is
        // reserved for deltas.
        if self.disk {
            let mut spare = (left - kept) / 2;
            let more = take(&mut spare, most - deltas);
            (deltas, limit) = (deltas + more, limit - more);
        }
        let fixed = |deltas: u64, depth: u64| {
            let (work, buffers) = self.work(deltas, depth);
            (work, buffers, saturating_sum(&[self.program, self.words, work, buffers, phi]))
        };
        // The overhead of the allocator grows with the buffers, so less may be left than they take
        // themselves.
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
            ..self.all_in_memory()
        }
    }
}

/// Subtracts as much of `wanted` from `left` as possible and returns that amount.
fn take(left: &mut u64, wanted: u64) -> u64 {
    let taken = wanted.min(*left);
    *left -= taken;
    taken
}

impl Plan {
    /// Returns the plan for `topics` topics within a memory limit, or an error that says what would
    /// fit.
    pub(crate) fn new(input: &PlanInput, topics: u32, ceiling: Option<u64>) -> Result<Plan> {
        let components = PlanComponents::new(input, topics);
        let Some(have) = ceiling else { return Ok(components.all_in_memory()) };
        let (usable, least) = (have - have / SLACK_DIVISOR, components.minimum());
        if least > usable {
            return Err(memory_error(input, topics, least.saturating_add(least / (SLACK_DIVISOR - 1)), have));
        }
        let mut plan = Plan { ceiling, ..components.within(usable) };
        if plan.kept_on_disk > 0 {
            // For a piece on disk, the documents are read from the corpus and only the state is in
            // scratch files.
            let (part, whole) = (u128::from(plan.kept_on_disk), u128::from(components.kept().max(1)));
            let share = |bytes: u64| (u128::from(bytes) * part / whole) as u64;
            let records = share(components.algorithm.state);
            plan.kept_on_disk = records;
            plan.read = saturating_sum(&[share(input.corpus.packed), records]);
            plan.written = records;
        }
        // Rows of rare words are read a few times per update; the plan assumes two.
        plan.read = plan.read.saturating_add(plan.phi_on_disk.saturating_mul(2));
        plan.written = plan.written.saturating_add(plan.phi_on_disk);
        plan.disk = plan.disk.saturating_add(plan.phi_on_disk);
        Ok(plan)
    }

    /// Returns whether `topics` topics fit within `have` bytes.
    fn fits(input: &PlanInput, topics: u32, have: u64) -> bool {
        PlanComponents::new(input, topics).minimum() <= have - have / SLACK_DIVISOR
    }

    /// Returns the bytes that must be in memory besides phi, documents and their state.
    fn fixed(&self) -> u64 {
        saturating_sum(&[self.program, self.words, self.work, self.buffers])
    }

    /// Returns the total memory in bytes.
    pub fn memory(&self) -> u64 {
        saturating_sum(&[self.fixed(), self.phi, self.kept])
    }

    /// Returns whether any data is kept in files.
    pub fn on_disk(&self) -> bool {
        self.kept_on_disk > 0 || self.phi_on_disk > 0 || self.read > 0
    }
}

/// Returns the bytes of a list and its allocator overhead; 0 for an empty list.
fn with_overhead(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { bytes.saturating_add(allocator_overhead(bytes / 4)) }
}

/// Returns the error that suggests what would fit, cheapest first.
fn memory_error(input: &PlanInput, topics: u32, need: u64, have: u64) -> Error {
    let mut ways = Vec::new();
    let one = PlanInput { threads: 1, ..*input };
    if input.threads > 1 && Plan::fits(&one, topics, have) {
        ways.push("{threads=1}".to_owned());
    }
    // Binary search for the largest number of topics that fits: the plan grows with it.
    let (mut fit, mut too_many) = (0, topics);
    while too_many - fit > 1 {
        let middle = fit + (too_many - fit) / 2;
        if Plan::fits(input, middle, have) { fit = middle } else { too_many = middle }
    }
    if fit >= 2 {
        ways.push(format!("{{topics={fit}}}"));
    }
    ways.push(format!("{{memory={}}}", round_up(need)));
    if let Some((algorithm, sizes)) = input.alternative {
        let other = PlanInput { sizes, algorithm, ..*input };
        if Plan::fits(&other, topics, have) {
            ways.push(format!("{{algorithm={}}}", algorithm.algorithm.name()));
        }
    }
    Error::Memory { need, have, remedy: format!("it would fit with {}", ways.join(" or with ")).into() }
}

/// Formats a size for the memory option, rounded up.
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
    use crate::corpus::LongestDocuments;

    /// Returns statistics of `narrow` words with 512 tokens and `wide` words with 1024 tokens.
    fn words(narrow: u64, wide: u64) -> WordStatistics {
        let mut words = WordStatistics::new(&[]);
        (words.classes[9], words.classes[10], words.samples) = (narrow, wide, 4_000_000);
        words
    }

    fn choice(algorithm: Algorithm) -> AlgorithmChoice {
        AlgorithmChoice { algorithm, state: algorithm.capabilities().state, more_matrices: 0 }
    }

    /// Returns the sizes of blocks of 131,072 non-zeros, each of which is one piece.
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
            longest: LongestDocuments::of(500),
            batch: 65_536,
        }
    }

    /// Returns the input for PUBMED with two threads and a folder for files.
    fn pubmed() -> PlanInput {
        PlanInput {
            shape: Shape { documents: 8_200_000, words: 141_043, nonzeros: 483_450_157, tokens: 737_869_083 },
            sizes: sizes(),
            words: words(100_000, 41_043),
            corpus: CorpusBytes { packed: 1 << 30, vocabulary: 4 << 20, index: 3800 * 96 },
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

    /// Returns the input for PUBMED with another algorithm.
    fn pubmed_with(algorithm: Algorithm) -> PlanInput {
        let alternative = Some((choice(Algorithm::Tbp), sizes()));
        PlanInput { algorithm: choice(algorithm), alternative, ..pubmed() }
    }

    fn least(input: &PlanInput, topics: u32) -> u64 {
        PlanComponents::new(input, topics).minimum()
    }

    #[test]
    fn plans_for_pubmed_fit() {
        for (topics, ceiling) in [(10, 256 << 20), (100, 768 << 20), (1000, 2u64 << 30), (10_000, 8 << 30)] {
            let plan = Plan::new(&pubmed(), topics, Some(ceiling)).unwrap();
            let width = u64::from(topics).next_multiple_of(16);
            assert_eq!(plan.phi, (2 * 100_000 + 4 * 41_043) * width);
            assert_eq!(plan.phi_on_disk, 0);
            assert!(plan.memory() <= ceiling, "{topics}: {plan:?}");
            assert!(plan.on_disk() && plan.disk >= 2 * plan.kept_on_disk);
            assert_eq!(plan.depth, 4);
        }
        // Everything is in memory if there is enough of it.
        let plan = Plan::new(&pubmed(), 100, Some(64 << 30)).unwrap();
        assert!(!plan.on_disk() && plan.disk < 2 * (plan.kept + plan.phi));
        let messages = 483_450_157 * (1 + 2 * 16) + 8_200_000 * 2 * (1 + 64);
        assert_eq!(plan.kept, (1 << 30) + (1 << 28) + messages);
        assert_eq!(plan.deltas, None);
        assert_eq!(Plan::new(&pubmed(), 100, None).unwrap().kept, plan.kept);
    }

    /// Every byte of the limit above the minimum is used for something: phi, deltas, pieces in
    /// flight, documents.
    #[test]
    fn memory_is_shared_out_in_order() {
        let input = pubmed();
        let least = least(&input, 100);
        let ceiling = |more: u64| {
            let usable = least + more;
            Some(usable + usable.div_ceil(SLACK_DIVISOR - 1) + 1)
        };
        let plan = |more: u64| Plan::new(&input, 100, ceiling(more)).unwrap();
        let phi = (2 * 100_000 + 4 * 41_043) * 112;
        let (none, some) = (plan(0), plan(phi));
        assert!(none.phi < 64 && none.depth == 1 && none.deltas.is_some(), "{none:?}");
        assert_eq!((some.phi, some.depth), (phi, 1));
        let more = plan(phi + (128 << 20));
        assert!(more.depth == 4 && more.deltas > some.deltas && more.limit > Some(0), "{more:?}");
        assert!(Plan::new(&input, 100, Some(least)).is_err());
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

    /// The minimum grows with K, threads, documents per piece, document length, memory in use and
    /// the vocabulary.
    #[test]
    fn minimum_grows_with_its_inputs() {
        let usual = least(&pubmed(), 100);
        assert_eq!(least(&PlanInput { in_use: 11 << 20, ..pubmed() }, 100), usual + (1 << 20));
        assert!(least(&PlanInput { threads: 3, ..pubmed() }, 100) > usual);
        assert!(least(&pubmed(), 200) > usual);
        let short = PlanInput { sizes: PieceSizes { documents: 131_072, ..sizes() }, ..pubmed() };
        assert!(least(&short, 100) >= usual + (131_072 - 2300) * (4 + 2));
        let long =
            PlanInput { sizes: PieceSizes { longest: LongestDocuments::of(131_072), ..sizes() }, ..pubmed() };
        assert!(least(&long, 100) > usual + (4 << 20));
        let corpus = CorpusBytes { vocabulary: 1 << 30, ..pubmed().corpus };
        assert!((1 << 30..(1 << 30) + usual).contains(&least(&PlanInput { corpus, ..pubmed() }, 100)));
        // Between passes the vocabulary is in memory besides everything else.
        let snapshots = PlanInput { corpus, result: ResultKind::Snapshots, ..pubmed() };
        assert_eq!(least(&snapshots, 100), usual + with_overhead(1 << 30));
        // Steps of many pieces have more deltas, which may be in a file.
        let steps = PlanInput { step: 8, ..pubmed() };
        assert!(least(&steps, 100) > usual && least(&steps, 100) < 3 * usual);
        let whole = |step: u64| {
            PlanComponents::new(&PlanInput { step, disk: false, ..pubmed() }, 100).algorithm.deltas
        };
        assert!(whole(8).min > 7 * whole(1).min && whole(8).min == whole(8).max);
    }

    /// Returns the value that the remedy suggests for a parameter.
    fn proposed(error: &Error, name: &str) -> Option<String> {
        let remedy = error.remedy()?;
        remedy.suggestions().find(|&(other, _)| other == name)?.1.map(str::to_owned)
    }

    #[test]
    fn error_suggests_what_fits() {
        let have = least(&pubmed(), 60);
        let error = Plan::new(&pubmed(), 100, Some(have)).unwrap_err();
        let k: u32 = proposed(&error, "topics").unwrap().parse().unwrap();
        assert!(Plan::new(&pubmed(), k, Some(have)).is_ok());
        assert!(Plan::new(&pubmed(), k + 1, Some(have)).is_err());
        let size = proposed(&error, "memory").unwrap();
        let size = size.strip_suffix("MiB").unwrap();
        assert!(Plan::new(&pubmed(), 100, Some(size.parse::<u64>().unwrap() << 20)).is_ok());
        let many = PlanInput { threads: 1000, ..pubmed() };
        let error = Plan::new(&many, 1000, Some(128 << 20)).unwrap_err();
        assert_eq!(proposed(&error, "threads").as_deref(), Some("1"));
        // Without a folder for files, everything must fit in memory; with the paper's algorithms,
        // phi must.
        let text =
            Plan::new(&PlanInput { disk: false, ..pubmed() }, 100, Some(4 << 30)).unwrap_err().to_string();
        assert!(text.contains("GiB"), "{text}");
        let error = Plan::new(&pubmed_with(Algorithm::Stbp), 10_000, Some(4 << 30)).unwrap_err();
        assert_eq!(proposed(&error, "algorithm").as_deref(), Some("tbp"));
        // Messages of `bp` must be in memory; those of `tbp` need not.
        let error = Plan::new(&pubmed_with(Algorithm::Bp), 100, Some(1 << 30)).unwrap_err();
        assert_eq!(proposed(&error, "memory").as_deref(), Some("113GiB"));
        assert_eq!(proposed(&error, "algorithm").as_deref(), Some("tbp"));
    }

    #[test]
    fn sizes_past_32_and_64_bits_do_not_wrap() {
        let shape = Shape { documents: 1 << 34, words: u32::MAX, nonzeros: 1 << 40, tokens: 1 << 45 };
        let corpus = CorpusBytes { packed: 1 << 41, ..pubmed().corpus };
        let sizes = PieceSizes { blocks: 1 << 23, pieces: 1 << 23, ..sizes() };
        let large = PlanInput { shape, corpus, sizes, words: words(1 << 31, 1 << 31), ..pubmed() };
        let plan = Plan::new(&large, 1000, Some(1 << 40)).unwrap();
        assert_eq!(plan.phi + plan.phi_on_disk, (6 << 31) * 1008);
        assert!(plan.kept_on_disk > 1 << 44 && plan.disk > plan.kept_on_disk);
        let huge = Shape { documents: 1 << 62, words: u32::MAX, nonzeros: 1 << 63, tokens: u64::MAX };
        let corpus = CorpusBytes { packed: u64::MAX, vocabulary: u64::MAX, index: u64::MAX };
        for algorithm in Algorithm::ALL {
            let input = PlanInput { shape: huge, corpus, disk: false, ..pubmed_with(algorithm) };
            assert_eq!(Plan::new(&input, u32::MAX, None).unwrap().memory(), u64::MAX);
            assert!(Plan::new(&input, u32::MAX, Some(1 << 40)).is_err());
        }
    }
}
