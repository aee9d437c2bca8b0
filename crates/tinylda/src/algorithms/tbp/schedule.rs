//! Pass schedule of `tbp`: warm-up on growing subsets, alternating over-relaxed and plain passes,
//! final refinement.
//!
//! This module has the numbers only. The formulas they enter are in `cpu/documents.rs`, and the
//! measurements behind them in `bench/record/2026-11-14-tbp-experiments.md`.

use crate::algorithms::schedule::{PassKind, Schedule, ScheduleInput, ScheduleState, WarmUpStage};
use crate::priors;

/// The schedule of a training with `tbp`.
#[derive(Debug)]
pub(crate) struct TbpSchedule {
    stages: Vec<WarmUpStage>,
    passes: u32,
    optimize: bool,
    state: ScheduleState,
}

impl TbpSchedule {
    /// Creates the schedule of a training.
    pub(crate) fn new(of: ScheduleInput) -> TbpSchedule {
        let stages = if of.given_start { Vec::new() } else { stages(of.pieces, of.tokens, of.topics) };
        let state = ScheduleState::start(of.passes);
        TbpSchedule { stages, passes: of.passes, optimize: of.optimize, state }
    }

    /// Returns the number of passes of the final refinement.
    fn refine_passes(&self) -> u32 {
        refine_passes(self.passes, self.optimize)
    }
}

impl Schedule for TbpSchedule {
    fn warm_up(&self) -> &[WarmUpStage] {
        &self.stages
    }

    fn next(&mut self, done: u32) -> Option<PassKind> {
        let (left, refine_passes) = (self.state.left(done), self.refine_passes());
        if left == 0 {
            return None;
        }
        self.state.refining |= left <= refine_passes;
        Some(if self.state.refining {
            refine(left, self.passes, self.optimize)
        } else {
            let left = (!self.optimize).then_some(left - refine_passes);
            PassKind::Search { pass: done + 1, left }
        })
    }

    fn converge(&mut self, done: u32) -> bool {
        if self.state.refining {
            return false;
        }
        // A period of over-relaxed passes is completed before the refinement.
        let more = passes_until_plain(done) + self.refine_passes();
        self.state.last = self.state.last.min(done + more);
        true
    }

    fn learns_after(&self, done: u32) -> bool {
        !self.state.refining || self.state.left(done) >= after_learning(self.passes)
    }

    fn state(&self) -> ScheduleState {
        self.state
    }

    fn restore(&mut self, state: ScheduleState) {
        self.state = state;
    }
}

/// Number of passes after which the kinds of passes repeat.
pub(crate) const PERIOD: u32 = priors::PASS_INTERVAL;

/// Over-relaxation while topics form: how far a message moves beyond its new value, as a multiple
/// of the distance from the old one. Over-relaxed passes reach the same perplexity in a third of
/// the passes, and then better ones; see docs/tbp.md.
const OVER_RELAXATION_FIRST: f32 = 1.5;
/// Over-relaxation once there are topics.
const OVER_RELAXATION: f32 = 4.0;
/// Number of plain passes before priors are learned. Topics come to rest in them and are moved
/// again afterwards. While messages oscillate, documents seem to have more topics than they have.
const PLAIN: u32 = 2;
/// Number of over-relaxed passes between two runs of plain passes.
const OVER_RELAXED: u32 = PERIOD - PLAIN;

/// Returns the number of consecutive plain passes from this one on.
fn plain_run(pass: u32) -> u32 {
    (0..PLAIN).find(|&ahead| priors::is_due(pass + ahead)).map_or(0, |ahead| ahead + 1)
}

/// Returns the over-relaxation of a pass; 0 for plain passes.
pub(crate) fn over_relaxation(kind: PassKind) -> f32 {
    match kind {
        PassKind::Plain | PassKind::Load | PassKind::Learn | PassKind::Refine { .. } => 0.0,
        PassKind::Perturb => OVER_RELAXATION,
        // Plain passes are used only if over-relaxed ones fit in after them. Topics that are moved
        // only once or twice more are worse than before.
        PassKind::Search { pass, left }
            if plain_run(pass) > 0 && left.is_none_or(|left| left >= plain_run(pass) + OVER_RELAXED) =>
        {
            0.0
        }
        PassKind::Search { pass, .. } if pass >= priors::FIRST_PASS => OVER_RELAXATION,
        PassKind::Search { .. } | PassKind::WarmUp => OVER_RELAXATION_FIRST,
    }
}

/// Returns the number of consecutive over-relaxed passes after this one.
fn passes_until_plain(pass: u32) -> u32 {
    (1..=PERIOD).take_while(|more| plain_run(pass + more) == 0).count() as u32
}

/// Number of plain passes at the end. More would overfit the training documents; see docs/tbp.md.
const REFINING: u32 = 4;
/// Number of the last passes in which messages are quantized finely and documents keep to the
/// topics they use.
const FINE_PASSES: u32 = 2;
/// Number of plain and fine passes in which priors are learned. From coarse messages they would
/// become too large.
const LEARNING: u32 = 15;
/// Number of passes after the learning passes. The learning passes overfit, so topics are
/// over-relaxed and refined once more with the learned priors.
const AFTER_LEARNING: u32 = OVER_RELAXED + REFINING;
/// Smallest number of passes for which topics are moved after learning. In a shorter training,
/// learning comes last.
const LONG: u32 = 2 * (LEARNING + AFTER_LEARNING);

/// Returns the number of passes at the end, of `passes`, in which priors are no longer learned.
fn after_learning(passes: u32) -> u32 {
    if passes < LONG { 0 } else { AFTER_LEARNING }
}

/// Returns the number of passes of the final refinement, of `passes`: at most a quarter, or 22 if
/// priors are learned and there are at least [`LONG`] passes.
fn refine_passes(passes: u32, optimize: bool) -> u32 {
    match optimize {
        false => REFINING.min(passes / 4),
        true if passes < LONG => LEARNING.min(passes / 4),
        true => LEARNING + AFTER_LEARNING,
    }
}

/// Returns the kind of a pass of the final refinement, with `left` passes from this one on.
fn refine(left: u32, passes: u32, optimize: bool) -> PassKind {
    if optimize && left > after_learning(passes) {
        PassKind::Learn
    } else if optimize && left > REFINING {
        PassKind::Perturb
    } else {
        PassKind::Refine { left }
    }
}

/// Returns whether messages are quantized finely and documents keep to the topics they use.
pub(crate) fn is_fine(kind: PassKind) -> bool {
    match kind {
        PassKind::Learn => true,
        PassKind::Refine { left } => left <= FINE_PASSES,
        _ => false,
    }
}

/// Repeats of the stages of the warm-up: one piece in every 2, 4, 8, 16, and 32 or more.
const STAGE_REPEATS: [u32; 5] = [1, 1, 2, 3, 5];
/// Smallest number of tokens per topic in a stage.
const MIN_TOKENS_PER_TOPIC: u64 = 50;

/// Returns the stages of the warm-up. A small subset of the documents, spread over the corpus,
/// starts at random and is visited until it has topics. Twice as many documents start from these
/// topics, and so on up to the whole corpus.
fn stages(pieces: u64, tokens: u64, topics: u32) -> Vec<WarmUpStage> {
    let enough = |every: u64| {
        every <= pieces && tokens / every >= u64::from(topics).saturating_mul(MIN_TOKENS_PER_TOPIC)
    };
    let stage = |power: usize| WarmUpStage {
        every: 1 << power,
        repeats: STAGE_REPEATS[(power - 1).min(STAGE_REPEATS.len() - 1)],
    };
    let mut stages: Vec<WarmUpStage> = (1..63).map(stage).take_while(|stage| enough(stage.every)).collect();
    stages.reverse();
    stages
}

#[cfg(test)]
mod tests {
    use super::{
        OVER_RELAXATION, OVER_RELAXATION_FIRST, PassKind, TbpSchedule, after_learning, is_fine,
        over_relaxation, passes_until_plain, refine, refine_passes,
    };
    use crate::algorithms::schedule::{Schedule, ScheduleInput};
    use crate::priors;

    fn schedule(passes: u32, optimize: bool) -> TbpSchedule {
        let (pieces, tokens, topics) = (32, 1_000_000, 100);
        TbpSchedule::new(ScheduleInput { pieces, tokens, topics, passes, optimize, given_start: false })
    }

    /// Without convergence all passes are made. With it, the period of over-relaxed passes is
    /// completed and the refinement follows, once. A restored schedule continues in the same way.
    #[test]
    fn convergence_leads_to_the_refinement() {
        let mut whole = schedule(40, false);
        let kinds: Vec<PassKind> = (0..).map_while(|done| whole.next(done)).collect();
        assert_eq!(kinds.len(), 40);
        assert_eq!(kinds[35], PassKind::Search { pass: 36, left: Some(1) });
        assert_eq!(kinds[36], PassKind::Refine { left: 4 });
        assert!(!whole.converge(40));
        let mut early = schedule(40, false);
        assert!((0..21).all(|done| early.next(done).is_some()) && early.converge(21));
        let mut restored = schedule(40, false);
        restored.restore(early.state());
        let rest: Vec<PassKind> = (21..).map_while(|done| restored.next(done)).collect();
        assert_eq!(rest.len(), 2 + 4);
        assert_eq!(rest[1], PassKind::Search { pass: 23, left: Some(1) });
        assert_eq!(rest[5], PassKind::Refine { left: 1 });
        assert!(!restored.converge(27));
    }

    /// Priors are learned until the end of the learning passes.
    #[test]
    fn learning_ends_before_the_last_passes() {
        let mut schedule = schedule(100, true);
        let learns: Vec<bool> = (1..=100)
            .map(|done| {
                assert!(schedule.next(done - 1).is_some());
                schedule.learns_after(done)
            })
            .collect();
        assert_eq!(learns.iter().filter(|&&learns| learns).count(), 93);
        assert!(learns[92] && !learns[93]);
    }

    #[test]
    fn plain_passes_lead_up_to_learning() {
        let of = |pass| over_relaxation(PassKind::Search { pass, left: None });
        assert_eq!([over_relaxation(PassKind::WarmUp), of(1), of(8)], [OVER_RELAXATION_FIRST; 3]);
        let expected =
            [0.0, 0.0, OVER_RELAXATION, OVER_RELAXATION, OVER_RELAXATION, 0.0, 0.0, OVER_RELAXATION];
        assert_eq!([9, 10, 11, 12, 13, 14, 15, 16].map(of), expected);
        for pass in (1..200).filter(|&pass| priors::is_due(pass)) {
            assert_eq!(of(pass), 0.0);
        }
        assert_eq!([21, 22, 23, 24, 25].map(passes_until_plain), [2, 1, 0, 0, 3]);
    }

    /// For any number of passes, priors are learned at the end, from fine messages. If there are
    /// enough passes, topics are moved again afterwards.
    #[test]
    fn the_end_where_priors_are_learned() {
        for passes in 1..500 {
            let count = refine_passes(passes, true);
            let way: Vec<PassKind> = (1..=count).rev().map(|left| refine(left, passes, true)).collect();
            let learning = way.iter().take_while(|kind| matches!(kind, PassKind::Learn)).count() as u32;
            assert_eq!(learning, if passes < 44 { passes / 4 } else { 15 });
            assert_eq!(count - learning, after_learning(passes));
            assert!(
                way.iter().take(learning as usize).all(|&kind| is_fine(kind) && over_relaxation(kind) == 0.0)
            );
            let moved = way.iter().filter(|kind| matches!(kind, PassKind::Perturb)).count();
            assert_eq!(moved, if passes < 44 { 0 } else { 3 });
            assert!(
                way.iter()
                    .filter(|kind| matches!(kind, PassKind::Perturb))
                    .all(|&kind| !is_fine(kind) && over_relaxation(kind) > 0.0)
            );
        }
        assert!(matches!(refine(4, 40, false), PassKind::Refine { left: 4 }));
    }

    /// For any number of passes, at least the last three before the refinement are over-relaxed.
    #[test]
    fn over_relaxed_passes_come_before_the_refinement() {
        for passes in 11..60 {
            let way: Vec<bool> = (1..=passes)
                .map(|pass| over_relaxation(PassKind::Search { pass, left: Some(passes + 1 - pass) }) > 0.0)
                .collect();
            let end = way.iter().rev().take_while(|&&moved| moved).count();
            assert!((3..=13).contains(&end), "{passes}: {way:?}");
            assert!(passes < 16 || end < 8, "{passes}: {way:?}");
        }
    }

    #[test]
    fn stages_double_and_are_large_enough() {
        let stages = |pieces, tokens, topics| -> Vec<(u64, u32)> {
            super::stages(pieces, tokens, topics).iter().map(|stage| (stage.every, stage.repeats)).collect()
        };
        assert_eq!(stages(32, 1_000_000, 100), [(32, 5), (16, 3), (8, 2), (4, 1), (2, 1)]);
        // A stage has at least one piece, and enough tokens for the topics.
        assert_eq!(stages(7, 1_000_000, 100), [(4, 1), (2, 1)]);
        assert_eq!(stages(32, 1_000_000, 5000), [(4, 1), (2, 1)]);
        assert_eq!(stages(1, 1_000_000, 100), []);
        assert_eq!(stages(1000, 10, 100), []);
        assert_eq!(stages(u64::MAX, u64::MAX, 1)[0], (1 << 58, 5));
    }
}
