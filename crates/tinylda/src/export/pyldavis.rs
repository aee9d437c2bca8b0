//! Exports the five inputs of pyLDAvis as one JSON object, for
//! `pyLDAvis.prepare(**json.load(file))`.

use std::path::Path;

use super::{PathWriter, push_float};
use crate::corpus::Block;
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::infer::Mixtures;
use crate::model::Model;
use crate::numbers::push_number;
use crate::progress::ProgressCallback;

/// Writes `topic_term_dists` (K rows), `doc_topic_dists` (D rows), `doc_lengths`, `vocab` (the
/// model's words) and `term_frequency` (their frequencies in the corpus).
///
/// Rows add up to 1 within 1e-6. Documents without a word that the model knows are omitted, since
/// their length is 0.
pub fn save_pyldavis(
    mixtures: &Mixtures<'_>,
    path: impl AsRef<Path>,
    progress: ProgressCallback<'_>,
) -> Result<()> {
    let path = path.as_ref();
    let mut file = AtomicFile::create(path)?;
    let mut out = PathWriter { out: &mut file, path };
    put_topics(&mut out, mixtures.model())?;
    put_documents(&mut out, mixtures, progress)?;
    put_lengths(&mut out, mixtures)?;
    put_words(&mut out, mixtures)?;
    file.commit()
}

/// Writes one row of word probabilities per topic.
fn put_topics(out: &mut PathWriter<'_>, model: &Model) -> Result<()> {
    let mut text = b"{\"topic_term_dists\":[".to_vec();
    for k in 0..model.topics() {
        text.extend_from_slice(if k == 0 { b"[" } else { b",\n[" });
        for w in 0..model.words() {
            if w > 0 {
                text.push(b',');
            }
            push_float(&mut text, model.probability(w, k) as f32);
            out.flush_if_large(&mut text)?;
        }
        text.push(b']');
    }
    out.write(&text)
}

/// Writes one row of topic proportions per document that has a known word.
fn put_documents(
    out: &mut PathWriter<'_>,
    mixtures: &Mixtures<'_>,
    progress: ProgressCallback<'_>,
) -> Result<()> {
    out.write(b"],\n\"doc_topic_dists\":[")?;
    let mut first = true;
    mixtures.for_each(
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
            out.write(&rows[skip..])
        },
        progress,
    )
}

/// Writes the number of known tokens of every document that has any. This reads the corpus a second
/// time, so that memory does not grow with the number of documents.
fn put_lengths(out: &mut PathWriter<'_>, mixtures: &Mixtures<'_>) -> Result<()> {
    let (corpus, known) = (mixtures.corpus(), mixtures.known());
    let mut text = b"],\n\"doc_lengths\":[".to_vec();
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
        out.flush_if_large(&mut text)?;
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
    out.write(&text)
}

/// Writes the model's words and their frequencies in the corpus.
fn put_words(out: &mut PathWriter<'_>, mixtures: &Mixtures<'_>) -> Result<()> {
    let (model, corpus, known) = (mixtures.model(), mixtures.corpus(), mixtures.known());
    let mut text = b"],\n\"vocab\":[".to_vec();
    for w in 0..model.words() {
        if w > 0 {
            text.push(b',');
        }
        text.extend_from_slice(serde_json::Value::from(&*model.word_name(w)).to_string().as_bytes());
        out.flush_if_large(&mut text)?;
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
        out.flush_if_large(&mut text)?;
    }
    text.extend_from_slice(b"]}\n");
    out.write(&text)
}
