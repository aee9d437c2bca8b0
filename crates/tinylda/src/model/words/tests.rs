use super::*;
use proptest::prelude::*;

#[test]
fn equal_ranks_are_shared() {
    assert_eq!(ranks(vec![3.0, 1.0, 3.0, 2.0]), [3.5 / 4.0, 0.25, 3.5 / 4.0, 0.5]);
    assert_eq!(ranks(Vec::new()), [0.0; 0]);
}

proptest! {
    #[test]
    fn the_best_are_those_of_sorting(scores in prop::collection::vec(0u8..20, 0..300), wanted in 0usize..40) {
        let mut best = TopWordList::new(wanted);
        let all: Vec<(f64, u32)> = scores.iter().map(|&s| f64::from(s)).zip(0..).collect();
        for &(score, word) in &all {
            best.offer(score, word);
        }
        let mut sorted = all;
        sorted.sort_by(best_first);
        sorted.truncate(wanted);
        prop_assert_eq!(best.sorted(), sorted);
    }
}
