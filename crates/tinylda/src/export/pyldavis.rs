//! pyLDAvis's five inputs as one JSON object, so that `pyLDAvis.prepare(**json.load(file))` takes them as they are.

use std::ops::ControlFlow;
use std::path::Path;

use super::{Sink, push_float};
use crate::corpus::Block;
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::infer::Mixtures;
use crate::numbers::push_number;

/// Writes `topic_term_dists` (K rows), `doc_topic_dists` (D rows), `doc_lengths`, `vocab` and `term_frequency`: the model's words, and
/// how often the corpus has them.
///
/// Rows add up to 1 within 1e-6. Documents with no word that the model knows are left out: they have no length.
pub fn save_pyldavis(
    mixtures: &Mixtures<'_>,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    let mut out = Sink { out: &mut file, path };
    let (model, corpus, known) = (mixtures.model(), mixtures.corpus(), mixtures.known());
    let mut text = b"{\"topic_term_dists\":[".to_vec();
    for k in 0..model.topics() {
        text.extend_from_slice(if k == 0 { b"[" } else { b",\n[" });
        for w in 0..model.words() {
            if w > 0 {
                text.push(b',');
            }
            push_float(&mut text, model.probability(w, k) as f32);
            out.drain(&mut text)?;
        }
        text.push(b']');
    }
    text.extend_from_slice(b"],\n\"doc_topic_dists\":[");
    out.put(&text)?;
    let mut first = true;
    mixtures.each(
        |mixture, rows: &mut Vec<u8>| {
            if mixture.tokens > 0 {
                for (k, &p) in mixture.proportions.iter().enumerate() {
                    rows.extend_from_slice(if k == 0 { b",\n[" } else { b"," });
                    push_float(rows, p);
                }
                rows.push(b']');
            }
            Ok(())
        },
        |rows| {
            let skip = usize::from(first && !rows.is_empty());
            first &= rows.is_empty();
            out.put(&rows[skip..])
        },
        progress,
    )?;
    // A pass of its own for the lengths, rather than a list that grows with the documents.
    text.clear();
    text.extend_from_slice(b"],\n\"doc_lengths\":[");
    let (mut reader, mut block) = (corpus.reader(), Block::default());
    let mut begun = false;
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block)?;
        for document in block.iter() {
            let known_tokens =
                document.words.iter().zip(document.counts).filter(|&(&w, _)| known.id(w).is_some());
            let length: u64 = known_tokens.map(|(_, &x)| u64::from(x)).sum();
            if length > 0 {
                if begun {
                    text.push(b',');
                }
                begun = true;
                push_number(&mut text, length);
            }
        }
        out.drain(&mut text)?;
    }
    if !begun {
        return Err(Error::Input {
            path: corpus.origin().to_path_buf(),
            position: crate::error::Position::Whole,
            found: "no document with a word that the model knows".into(),
            expected: "documents like those that the model was trained on".into(),
            remedy: "use the corpus that the model was trained on, or one with the same vocabulary".into(),
        });
    }
    text.extend_from_slice(b"],\n\"vocab\":[");
    for w in 0..model.words() {
        if w > 0 {
            text.push(b',');
        }
        text.extend_from_slice(serde_json::Value::from(&*model.word_name(w)).to_string().as_bytes());
        out.drain(&mut text)?;
    }
    text.extend_from_slice(b"],\n\"term_frequency\":[");
    let mut frequencies = vec![0u64; model.words() as usize];
    for (w, n) in (0..).zip(corpus.word_totals()?.tokens) {
        if let Some(id) = known.id(w) {
            frequencies[id as usize] += n;
        }
    }
    for (w, n) in frequencies.into_iter().enumerate() {
        if w > 0 {
            text.push(b',');
        }
        push_number(&mut text, n);
        out.drain(&mut text)?;
    }
    text.extend_from_slice(b"]}\n");
    out.put(&text)?;
    file.commit()
}
