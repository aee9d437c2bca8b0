//! Exports a model as arrays in the layout of gensim and scikit-learn: topics are rows, words are
//! columns.

use std::path::Path;

use crate::error::Result;
use crate::model::{Model, NpzWriter};

/// Number of topics that are transposed at once: a cache line of phi. The buffer has W x 16 values.
const TOPICS_PER_BAND: u32 = 16;

/// Writes an array of K rows with W values each.
fn write_topic_rows(
    npz: &mut NpzWriter<'_>,
    name: &str,
    model: &Model,
    value: impl Fn(u32, u32) -> f32,
) -> zip::result::ZipResult<()> {
    let (words, topics) = (model.words(), model.topics());
    npz.begin(name, "<f4", &format!("({topics}, {words})"))?;
    let mut rows: Vec<Vec<f32>> = vec![Vec::with_capacity(words as usize); TOPICS_PER_BAND as usize];
    for from in (0..topics).step_by(TOPICS_PER_BAND as usize) {
        let band = from..(from + TOPICS_PER_BAND).min(topics);
        rows.iter_mut().for_each(Vec::clear);
        for w in 0..words {
            for (row, k) in rows.iter_mut().zip(band.clone()) {
                row.push(value(w, k));
            }
        }
        for row in rows.iter().take(band.len()) {
            for values in row.chunks(1 << 16) {
                npz.write_floats(values.iter().copied())?;
            }
        }
    }
    Ok(())
}

/// Writes the arrays of gensim's `LdaModel`: `topics` float32 \[K, W\] as returned by
/// `get_topics()`, with rows that add up to 1; `alpha` \[K\], `eta` \[W\] and `id2word` \[W\].
/// If topics have names, they are in `topic_names` \[K\].
pub fn save_gensim(model: &Model, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    NpzWriter::save(path, |npz| {
        write_topic_rows(npz, "topics", model, |w, k| model.probability(w, k) as f32)?;
        npz.begin("alpha", "<f4", &format!("({},)", model.topics()))?;
        npz.write_floats(model.alpha().iter().copied())?;
        npz.begin("eta", "<f4", &format!("({},)", model.words()))?;
        npz.write_floats((0..model.words()).map(|_| model.beta()))?;
        npz.write_words("id2word", model)?;
        npz.write_topic_names(model)
    })
}

/// Writes the arrays of scikit-learn's `LatentDirichletAllocation`: `components_` float32 \[K, W\],
/// counts plus the prior, not normalized; `doc_topic_prior` (a scalar, or \[K\] if the topics have
/// different priors), `topic_word_prior` and `feature_names` \[W\]. If topics have names, they are
/// in `topic_names` \[K\].
pub fn save_sklearn(model: &Model, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    NpzWriter::save(path, |npz| {
        write_topic_rows(npz, "components_", model, |w, k| model.phi(w)[k as usize] + model.beta())?;
        let alpha = model.alpha();
        if alpha.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits()) {
            npz.begin("doc_topic_prior", "<f4", "()")?;
            npz.write_floats(alpha.first().copied())?;
        } else {
            npz.begin("doc_topic_prior", "<f4", &format!("({},)", alpha.len()))?;
            npz.write_floats(alpha.iter().copied())?;
        }
        npz.begin("topic_word_prior", "<f4", "()")?;
        npz.write_floats([model.beta()])?;
        npz.write_words("feature_names", model)?;
        npz.write_topic_names(model)
    })
}
