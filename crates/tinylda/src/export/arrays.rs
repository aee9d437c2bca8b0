//! A model as arrays in the shape that gensim and scikit-learn give them: topics are rows, words are columns.

use std::path::Path;

use crate::error::Result;
use crate::model::{Model, Npz};

/// So many topics are turned from columns into rows at once: a cache line of phi, and W x 16 numbers to hold.
const AT_ONCE: u32 = 16;

/// Writes K rows of W numbers.
fn topic_rows(
    npz: &mut Npz<'_>,
    name: &str,
    model: &Model,
    value: impl Fn(u32, u32) -> f32,
) -> zip::result::ZipResult<()> {
    let (words, topics) = (model.words(), model.topics());
    npz.begin(name, "<f4", &format!("({topics}, {words})"))?;
    let mut rows: Vec<Vec<f32>> = vec![Vec::with_capacity(words as usize); AT_ONCE as usize];
    for from in (0..topics).step_by(AT_ONCE as usize) {
        let some = from..(from + AT_ONCE).min(topics);
        rows.iter_mut().for_each(Vec::clear);
        for w in 0..words {
            for (row, k) in rows.iter_mut().zip(some.clone()) {
                row.push(value(w, k));
            }
        }
        for row in rows.iter().take(some.len()) {
            for part in row.chunks(1 << 16) {
                npz.floats(part.iter().copied())?;
            }
        }
    }
    Ok(())
}

/// Writes what gensim's `LdaModel` has: `topics` float32 \[K, W\] as of `get_topics()`, rows that add up to 1; `alpha` \[K\], `eta` \[W\] and
/// `id2word` \[W\].
pub fn save_gensim(model: &Model, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    Npz::save(path, |npz| {
        topic_rows(npz, "topics", model, |w, k| model.probability(w, k) as f32)?;
        npz.begin("alpha", "<f4", &format!("({},)", model.topics()))?;
        npz.floats(model.alpha().iter().copied())?;
        npz.begin("eta", "<f4", &format!("({},)", model.words()))?;
        npz.floats((0..model.words()).map(|_| model.beta()))?;
        npz.words("id2word", model)
    })
}

/// Writes what scikit-learn's `LatentDirichletAllocation` has: `components_` float32 \[K, W\], counts with the prior in them, not normalised;
/// `doc_topic_prior` (a number, or \[K\] where topics differ), `topic_word_prior` and `feature_names` \[W\].
pub fn save_sklearn(model: &Model, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    Npz::save(path, |npz| {
        topic_rows(npz, "components_", model, |w, k| model.phi(w)[k as usize] + model.beta())?;
        let alpha = model.alpha();
        if alpha.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits()) {
            npz.begin("doc_topic_prior", "<f4", "()")?;
            npz.floats(alpha.first().copied())?;
        } else {
            npz.begin("doc_topic_prior", "<f4", &format!("({},)", alpha.len()))?;
            npz.floats(alpha.iter().copied())?;
        }
        npz.begin("topic_word_prior", "<f4", "()")?;
        npz.floats([model.beta()])?;
        npz.words("feature_names", model)
    })
}
