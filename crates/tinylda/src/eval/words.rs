//! What a topic's words alone tell: no documents are read.

use crate::model::{Model, Probabilities};

/// Measures of the topics' words.
#[derive(Debug, Clone, PartialEq)]
pub struct WordMeasures {
    /// How many different words there are among all topics' top words, as a share of them: 1 where no two topics share one, 1/K where
    /// all are the same (Dieng et al. 2020).
    pub diversity: f64,
    /// Each topic's mean over its top words of `p(w|k) / sum_j p(w|j)`, as in MALLET's diagnostics: 1 where the words are found in no other
    /// topic.
    pub exclusivity: Vec<f64>,
    /// Each topic's effective number of words, `1 / sum_w p(w|k)^2`: how many equally frequent words would be as spread out.
    pub effective_words: Vec<f64>,
}

/// Measures the topics' words; `topics` are the top words of each, as in [`Model::top_words`].
pub fn word_measures(model: &Model, topics: &[Vec<u32>]) -> WordMeasures {
    let p = Probabilities::of(model);
    let mut squares = vec![0f64; model.topics() as usize];
    for w in 0..model.words() {
        squares.iter_mut().zip(p.row(w)).for_each(|(sum, p)| *sum += p * p);
    }
    let known = |word: &u32| *word < model.words();
    let exclusivity = |(k, words): (usize, &Vec<u32>)| {
        let shares: Vec<f64> =
            words.iter().filter(|&w| known(w)).map(|&w| p.in_topic(w, k) / p.across(w)).collect();
        shares.iter().sum::<f64>() / shares.len() as f64
    };
    let mut all: Vec<u32> = topics.iter().flatten().copied().collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    WordMeasures {
        diversity: all.len() as f64 / count as f64,
        exclusivity: topics.iter().take(model.topics() as usize).enumerate().map(exclusivity).collect(),
        effective_words: squares.into_iter().map(|sum| 1.0 / sum).collect(),
    }
}
