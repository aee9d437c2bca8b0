//! Measures that depend on the words of the topics only. No documents are read.

use crate::model::{Model, Probabilities};

/// Diversity, exclusivity and concentration of the topics' words.
#[derive(Debug, Clone, PartialEq)]
pub struct WordMeasures {
    /// Topic diversity (Dieng et al. 2020): distinct words as a share of all top words of all
    /// topics. It is 1 if no two topics share a word, and 1/K if all topics have the same words.
    pub diversity: f64,
    /// Mean of `p(w|k) / sum_j p(w|j)` over the top words of each topic, as in MALLET's
    /// diagnostics. It is 1 if the words occur in no other topic.
    pub exclusivity: Vec<f64>,
    /// Effective number of words of each topic, `1 / sum_w p(w|k)^2`: the number of equally
    /// frequent words with the same concentration.
    pub effective_words: Vec<f64>,
}

/// Computes the measures. `topics` contains the ids of the top words of each topic, as returned by
/// [`Model::top_words`].
pub fn word_measures(model: &Model, topics: &[Vec<u32>]) -> WordMeasures {
    let p = Probabilities::new(model);
    let mut squares = vec![0f64; model.topics() as usize];
    for w in 0..model.words() {
        squares.iter_mut().zip(p.row(w)).for_each(|(sum, p)| *sum += p * p);
    }
    let known = |word: &u32| *word < model.words();
    let exclusivity = |(k, words): (usize, &Vec<u32>)| {
        let shares: Vec<f64> =
            words.iter().filter(|&w| known(w)).map(|&w| p.in_topic(w, k) / p.sum_over_topics(w)).collect();
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
