//! What `tbp` goes through documents for, pass by pass: the start on parts of the corpus, stirred and calm passes in turn, and the end. No
//! formulas here; what the numbers do is in `tbp`, and the figures that chose them in docs/ENGINE.md.

use crate::priors;

/// What documents are gone through for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim {
    /// Before the first pass, a part of them.
    Start,
    /// Topics are sought. `left`: in so many passes from this one on; none where priors are learned, which want all calm passes.
    Seek { pass: u32, left: Option<u32> },
    /// Priors are learned from what was found.
    Learn,
    /// Topics are moved once more, before they settle.
    Stir,
    /// What was found is refined, in so many passes from this one on.
    Settle { left: u32 },
}

/// How far a message goes beyond z while topics are sought, as a share of the way from the old message to z: over-relaxation.
/// It leads to the same place in a third of the passes, and on to better ones. See docs/ENGINE.md. While topics form,
const BEYOND_FIRST: f32 = 1.5;
/// and once there are some.
const BEYOND: f32 = 2.5;
/// The last so many passes before priors are learned go without it: topics come to rest, and are stirred again. While they swing,
/// documents seem to have more topics than they have.
const CALM: u32 = 2;
/// So many others come between.
const STIRRED: u32 = priors::EVERY - CALM;

/// How many calm passes there are from this one on, one after the other.
fn calm(pass: u32) -> u32 {
    (0..CALM).find(|&ahead| priors::due(pass + ahead)).map_or(0, |ahead| ahead + 1)
}

/// How far messages go beyond z.
pub(crate) fn beyond(aim: Aim) -> f32 {
    match aim {
        Aim::Learn | Aim::Settle { .. } => 0.0,
        Aim::Stir => BEYOND,
        // Calm passes come if others fit in behind them: topics that are stirred only once or twice more are worse than before.
        Aim::Seek { pass, left }
            if calm(pass) > 0 && left.is_none_or(|left| left >= calm(pass) + STIRRED) =>
        {
            0.0
        }
        Aim::Seek { pass, .. } if pass >= priors::FIRST => BEYOND,
        _ => BEYOND_FIRST,
    }
}

/// How many passes after this one are not calm, one after the other.
pub(crate) fn until_calm(pass: u32) -> u32 {
    (1..=priors::EVERY).take_while(|more| calm(pass + more) == 0).count() as u32
}

/// So many passes are there to settle: messages go to z and not beyond. More would lead on to where training documents are fitted
/// too well: see docs/ENGINE.md.
const SETTLING: u32 = 4;
/// In so many of them, the last, messages are cut finely, and topics do not come back to documents.
const FINE_PASSES: u32 = 2;
/// Where priors are learned so many passes come first that are all calm and fine: from what is coarse they become too large.
const LEARNING: u32 = 15;
/// They fit training documents too well, and so topics are stirred once more before they settle, with the priors that were learned,
const AFTER_LEARNING: u32 = STIRRED + SETTLING;
/// if there are so many passes. In a shorter training, learning is the last.
const LONG: u32 = 2 * (LEARNING + AFTER_LEARNING);

/// How many passes are left, of so many, when priors are learned no more.
pub(crate) fn after_learning(passes: u32) -> u32 {
    if passes < LONG { 0 } else { AFTER_LEARNING }
}

/// How many passes there are in the end, of so many: a quarter at the most, or half where priors are learned.
pub(crate) fn settling(passes: u32, optimize: bool) -> u32 {
    match optimize {
        false => SETTLING.min(passes / 4),
        true if passes < LONG => LEARNING.min(passes / 4),
        true => LEARNING + AFTER_LEARNING,
    }
}

/// What these are for, with so many from this one on.
pub(crate) fn settle(left: u32, passes: u32, optimize: bool) -> Aim {
    if optimize && left > after_learning(passes) {
        Aim::Learn
    } else if optimize && left > SETTLING {
        Aim::Stir
    } else {
        Aim::Settle { left }
    }
}

/// Whether messages are cut finely, and topics do not come back to documents.
pub(crate) fn fine(aim: Aim) -> bool {
    match aim {
        Aim::Learn => true,
        Aim::Settle { left } => left <= FINE_PASSES,
        Aim::Start | Aim::Seek { .. } | Aim::Stir => false,
    }
}

/// The start, in stages: how often one piece in every 2, 4, 8, 16, and 32 or more is gone through before the first pass over
/// all.
const STAGE_ROUNDS: [u32; 5] = [1, 1, 2, 3, 5];
/// The smallest stage has so many tokens for each topic.
const LEAST_TOKENS_PER_TOPIC: u64 = 50;
/// What comes before the first pass: one piece in every so many, and how often.
pub(crate) fn stages(pieces: u64, tokens: u64, topics: u32) -> Vec<(u64, u32)> {
    let enough = |every: u64| {
        every <= pieces && tokens / every >= u64::from(topics).saturating_mul(LEAST_TOKENS_PER_TOPIC)
    };
    let stage = |power: usize| (1 << power, STAGE_ROUNDS[(power - 1).min(STAGE_ROUNDS.len() - 1)]);
    let mut stages: Vec<(u64, u32)> = (1..63).map(stage).take_while(|&(every, _)| enough(every)).collect();
    stages.reverse();
    stages
}

#[cfg(test)]
mod tests {
    use super::{
        Aim, BEYOND, BEYOND_FIRST, after_learning, beyond, fine, settle, settling, stages, until_calm,
    };
    use crate::priors;

    #[test]
    fn calm_passes_lead_up_to_learning() {
        let of = |pass| beyond(Aim::Seek { pass, left: None });
        assert_eq!([beyond(Aim::Start), of(1), of(8)], [BEYOND_FIRST; 3]);
        let expected = [0.0, 0.0, BEYOND, BEYOND, BEYOND, 0.0, 0.0, BEYOND];
        assert_eq!([9, 10, 11, 12, 13, 14, 15, 16].map(of), expected);
        for pass in (1..200).filter(|&pass| priors::due(pass)) {
            assert_eq!(of(pass), 0.0);
        }
        assert_eq!([21, 22, 23, 24, 25].map(until_calm), [2, 1, 0, 0, 3]);
    }

    /// However many passes are wanted, priors are learned in the end, from fine messages; if there are enough topics are stirred again.
    #[test]
    fn the_end_where_priors_are_learned() {
        for passes in 1..500 {
            let count = settling(passes, true);
            let way: Vec<Aim> = (1..=count).rev().map(|left| settle(left, passes, true)).collect();
            let learning = way.iter().take_while(|aim| matches!(aim, Aim::Learn)).count() as u32;
            assert_eq!(learning, if passes < 44 { passes / 4 } else { 15 });
            assert_eq!(count - learning, after_learning(passes));
            assert!(way.iter().take(learning as usize).all(|&aim| fine(aim) && beyond(aim) == 0.0));
            let stirred = way.iter().filter(|aim| matches!(aim, Aim::Stir)).count();
            assert_eq!(stirred, if passes < 44 { 0 } else { 3 });
            assert!(
                way.iter().filter(|aim| matches!(aim, Aim::Stir)).all(|&aim| !fine(aim) && beyond(aim) > 0.0)
            );
        }
        assert!(matches!(settle(4, 40, false), Aim::Settle { left: 4 }));
    }

    /// However many passes are wanted, the last ones before settling are stirred, three at the least.
    #[test]
    fn what_is_stirred_is_stirred_to_the_end() {
        for passes in 11..60 {
            let way: Vec<bool> = (1..=passes)
                .map(|pass| beyond(Aim::Seek { pass, left: Some(passes + 1 - pass) }) > 0.0)
                .collect();
            let end = way.iter().rev().take_while(|&&stirred| stirred).count();
            assert!((3..=13).contains(&end), "{passes}: {way:?}");
            assert!(passes < 16 || end < 8, "{passes}: {way:?}");
        }
    }

    #[test]
    fn stages_double_and_are_large_enough() {
        assert_eq!(stages(32, 1_000_000, 100), [(32, 5), (16, 3), (8, 2), (4, 1), (2, 1)]);
        // Never less than a piece, nor too few tokens for the topics.
        assert_eq!(stages(7, 1_000_000, 100), [(4, 1), (2, 1)]);
        assert_eq!(stages(32, 1_000_000, 5000), [(4, 1), (2, 1)]);
        assert_eq!(stages(1, 1_000_000, 100), []);
        assert_eq!(stages(1000, 10, 100), []);
        assert_eq!(stages(u64::MAX, u64::MAX, 1)[0], (1 << 58, 5));
    }
}
