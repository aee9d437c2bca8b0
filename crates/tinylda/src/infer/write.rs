//! Writes the topic proportions of documents as tab-separated or comma-separated text, JSON lines,
//! a NumPy array or a Parquet table.
//!
//! Start reading at [`ProportionsWriter`]. Text is formatted on the threads that infer the
//! proportions, since formatting takes about as long as inference.

use std::io::Write;
use std::path::Path;

use super::{Mixture, Mixtures};
use crate::corpus::{MetadataColumns, text_cell};
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::model::Model;
use crate::npy::npy_header;
use crate::numbers::{push_number, push_share};
use crate::progress::ProgressCallback;
use crate::table::{Cell, Column, Table, TableFormat};

/// File format of the proportions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProportionsFormat {
    /// Tab-separated values: a header, then a line per document with its number from 1, its name,
    /// its labels and date if they were [requested](Mixtures::with_labels), and its proportions.
    Tsv,
    /// Comma-separated values with the columns of [`Tsv`](ProportionsFormat::Tsv), quoted where
    /// necessary.
    Csv,
    /// A JSON object per line.
    JsonLines,
    /// A NumPy array of float32 of shape (D, K).
    Npy,
    /// A Parquet table with the columns of [`Tsv`](ProportionsFormat::Tsv). It cannot be written to
    /// a stream.
    Parquet,
}

/// Writes the topic proportions of documents, all of them or the largest only.
#[derive(Debug, Clone, PartialEq)]
pub struct ProportionsWriter {
    /// File format.
    pub format: ProportionsFormat,
    /// If set, writes only this number of the largest proportions, as pairs of topic and
    /// proportion.
    pub top: Option<usize>,
    /// If set, writes only proportions of at least this value, as pairs of topic and proportion.
    pub min_proportion: Option<f64>,
}

/// Statistics of the documents that were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InferenceSummary {
    /// Number of documents.
    pub documents: u64,
    /// Number of documents without a word that the model knows. They get the proportions of the
    /// prior.
    pub documents_unknown: u64,
    /// Numbers (from 0) of the first few documents without known words.
    pub examples: Vec<u64>,
    /// Number of tokens of words that the model does not know.
    pub tokens_unknown: u64,
}

impl InferenceSummary {
    fn count(&mut self, mixture: &Mixture<'_>) {
        self.documents += 1;
        self.tokens_unknown += mixture.tokens_unknown;
        if mixture.tokens == 0 {
            self.documents_unknown += 1;
            if self.examples.len() < MAX_EXAMPLES {
                self.examples.push(mixture.number);
            }
        }
    }

    /// Adds the statistics of later documents.
    fn add(&mut self, later: InferenceSummary) {
        self.documents += later.documents;
        self.documents_unknown += later.documents_unknown;
        self.tokens_unknown += later.tokens_unknown;
        self.examples.extend(later.examples);
        self.examples.truncate(MAX_EXAMPLES);
    }
}

/// Maximum number of documents without known words that are reported.
const MAX_EXAMPLES: usize = 5;

/// The output bytes and statistics of a chunk of documents.
#[derive(Debug, Default)]
struct TextChunk {
    bytes: Vec<u8>,
    summary: InferenceSummary,
    pairs: Vec<(f32, u32)>,
}

/// A row of a Parquet table. Either `proportions` or `pairs` is empty.
#[derive(Debug, Default)]
struct ProportionsRow {
    number: u64,
    name: String,
    /// Texts of the columns with labels and dates.
    metadata: Vec<String>,
    proportions: Vec<f32>,
    pairs: Vec<(f32, u32)>,
}

impl ProportionsWriter {
    /// Checks whether the options fit the format. [`write`](ProportionsWriter::write) and
    /// [`save`](ProportionsWriter::save) do this first.
    pub fn check(&self) -> Result<()> {
        let name = match (self.top, self.min_proportion) {
            _ if self.format != ProportionsFormat::Npy => return Ok(()),
            (Some(_), _) => "top",
            (None, Some(least)) if least > 0.0 => "min_proportion",
            (None, _) => return Ok(()),
        };
        Err(Error::conflict(name, "{to=npy}")
            .with_remedy("an npy file contains all proportions; for the largest, write TSV or JSON lines"))
    }

    /// Writes all documents in order to `out`, which error messages call `path`. `progress`
    /// receives the number of finished documents and can cancel.
    pub fn write(
        &self,
        mixtures: &Mixtures<'_>,
        out: &mut dyn Write,
        path: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<InferenceSummary> {
        self.check()?;
        let topics = mixtures.model().topics() as usize;
        let (columns, min_proportion) = self.columns(topics);
        if self.format == ProportionsFormat::Parquet {
            return Err(Error::unsupported_value("to", "parquet", "it cannot be written to a stream")
                .with_remedy("write to a file, or write TSV or JSON lines"));
        }
        let metadata = mixtures.metadata_columns();
        out.write_all(&self.header(mixtures, &metadata, columns)).map_err(Error::io("write", path))?;
        let mut summary = InferenceSummary::default();
        mixtures.for_each(
            |mixture, chunk: &mut TextChunk| {
                chunk.summary.count(mixture);
                if let Some(columns) = columns {
                    largest_proportions(
                        mixture.proportions,
                        columns,
                        min_proportion as f32,
                        &mut chunk.pairs,
                    );
                }
                match self.format {
                    ProportionsFormat::Tsv => {
                        push_line(mixtures.model(), mixture, &metadata, columns, b'\t', chunk);
                    }
                    ProportionsFormat::Csv => {
                        push_line(mixtures.model(), mixture, &metadata, columns, b',', chunk);
                    }
                    ProportionsFormat::JsonLines => push_json_line(mixtures, mixture, columns, chunk),
                    ProportionsFormat::Npy | ProportionsFormat::Parquet => {
                        chunk.bytes.extend(mixture.proportions.iter().flat_map(|p| p.to_le_bytes()));
                    }
                }
                Ok(())
            },
            |chunk| {
                summary.add(chunk.summary);
                out.write_all(&chunk.bytes).map_err(Error::io("write", path))
            },
            progress,
        )?;
        out.flush().map_err(Error::io("write", path))?;
        Ok(summary)
    }

    /// Returns the maximum number of pairs of a document, or `None` if all proportions are written,
    /// and the smallest proportion that is written.
    fn columns(&self, topics: usize) -> (Option<usize>, f64) {
        // At most 1/p proportions can be p or more.
        let min_proportion = self.min_proportion.unwrap_or(0.0);
        let fit = if min_proportion > 0.0 { (1.000_001 / min_proportion) as usize } else { topics };
        let columns = (self.top.is_some() || min_proportion > 0.0)
            .then(|| self.top.unwrap_or(topics).min(fit).min(topics).max(1));
        (columns, min_proportion)
    }

    /// Writes to a file atomically: it appears under its name only when it is complete.
    pub fn save(
        &self,
        mixtures: &Mixtures<'_>,
        path: impl AsRef<Path>,
        progress: ProgressCallback<'_>,
    ) -> Result<InferenceSummary> {
        let path = path.as_ref();
        if self.format == ProportionsFormat::Parquet {
            return self.save_parquet(mixtures, path, progress);
        }
        let mut out = AtomicFile::create(path)?;
        let summary = self.write(mixtures, &mut out, path, progress)?;
        out.commit()?;
        Ok(summary)
    }

    fn save_parquet(
        &self,
        mixtures: &Mixtures<'_>,
        path: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<InferenceSummary> {
        let topics = mixtures.model().topics();
        let (pairs, min_proportion) = self.columns(topics as usize);
        let mut columns = vec![Column::whole("document"), Column::text("name").optional()];
        let metadata = mixtures.metadata_columns();
        columns.extend(metadata.columns());
        if let Some(n) = pairs {
            let names = mixtures.model().has_topic_names();
            columns.extend((1..=n).flat_map(|i| {
                let topic = Column::whole(format!("topic_{i}")).optional();
                let name = names.then(|| Column::text(format!("topic_name_{i}")).optional());
                let proportion = Column::float(format!("proportion_{i}")).optional();
                std::iter::once(topic).chain(name).chain([proportion])
            }));
        } else {
            let model = mixtures.model();
            columns.extend((0..topics).map(|k| Column::float(model.topic_column("p", k))));
        }
        let mut table = Table::create(path, TableFormat::Parquet, &columns)?;
        let mut summary = InferenceSummary::default();
        mixtures.for_each(
            |mixture, (rows, summary): &mut (Vec<ProportionsRow>, InferenceSummary)| {
                summary.count(mixture);
                let mut row = ProportionsRow {
                    number: mixture.number,
                    name: mixture.name.to_owned(),
                    metadata: metadata.texts(mixture.labels, mixture.date),
                    ..ProportionsRow::default()
                };
                match pairs {
                    Some(max_count) => largest_proportions(
                        mixture.proportions,
                        max_count,
                        min_proportion as f32,
                        &mut row.pairs,
                    ),
                    None => row.proportions.extend_from_slice(mixture.proportions),
                }
                rows.push(row);
                Ok(())
            },
            |(rows, chunk_summary)| {
                summary.add(chunk_summary);
                for row in rows {
                    let mut cells = vec![Cell::Whole(row.number + 1), text_cell(&row.name)];
                    cells.extend(row.metadata.iter().map(|text| text_cell(text)));
                    cells.extend(row.proportions.iter().map(|&p| Cell::Float(p)));
                    let model = mixtures.model();
                    cells.extend(row.pairs.iter().flat_map(|&(p, k)| {
                        let name = model.topic_name(k).unwrap_or_default();
                        let name = model.has_topic_names().then(|| text_cell(name));
                        std::iter::once(Cell::Whole(u64::from(k))).chain(name).chain([Cell::Float(p)])
                    }));
                    cells.resize(columns.len(), Cell::Missing);
                    table.row(&cells)?;
                }
                Ok(())
            },
            progress,
        )?;
        table.finish()?;
        Ok(summary)
    }

    fn header(&self, mixtures: &Mixtures<'_>, metadata: &MetadataColumns, columns: Option<usize>) -> Vec<u8> {
        let topics = mixtures.model().topics();
        match self.format {
            ProportionsFormat::JsonLines | ProportionsFormat::Parquet => Vec::new(),
            ProportionsFormat::Npy => {
                npy_header("<f4", &format!("({}, {topics})", mixtures.corpus().shape().documents))
            }
            ProportionsFormat::Tsv | ProportionsFormat::Csv => {
                let delimiter = if self.format == ProportionsFormat::Tsv { b'\t' } else { b',' };
                let mut header = b"document".to_vec();
                let mut push = |title: &str| {
                    header.push(delimiter);
                    push_cell(&mut header, title, delimiter);
                };
                push("name");
                metadata.titles().for_each(&mut push);
                match columns {
                    Some(n) => (1..=n).for_each(|i| {
                        push(&format!("topic_{i}"));
                        if mixtures.model().has_topic_names() {
                            push(&format!("topic_name_{i}"));
                        }
                        push(&format!("proportion_{i}"));
                    }),
                    None => (0..topics).for_each(|k| push(&mixtures.model().topic_column("p", k))),
                }
                header.push(b'\n');
                header
            }
        }
    }
}

/// Collects the largest proportions as (proportion, topic), largest first, ties by topic number.
fn largest_proportions(
    proportions: &[f32],
    max_count: usize,
    min_proportion: f32,
    pairs: &mut Vec<(f32, u32)>,
) {
    pairs.clear();
    pairs.extend(proportions.iter().copied().zip(0..).filter(|&(p, _)| p >= min_proportion));
    let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if max_count < pairs.len() {
        pairs.select_nth_unstable_by(max_count, order);
        pairs.truncate(max_count);
    }
    pairs.sort_unstable_by(order);
}

/// Appends a line of fields with a delimiter between them.
fn push_line(
    model: &Model,
    mixture: &Mixture<'_>,
    metadata: &MetadataColumns,
    columns: Option<usize>,
    delimiter: u8,
    chunk: &mut TextChunk,
) {
    let TextChunk { bytes, pairs, .. } = chunk;
    push_number(bytes, mixture.number + 1);
    bytes.push(delimiter);
    push_cell(bytes, mixture.name, delimiter);
    for text in metadata.texts(mixture.labels, mixture.date) {
        bytes.push(delimiter);
        push_cell(bytes, &text, delimiter);
    }
    match columns {
        None => {
            for &p in mixture.proportions {
                bytes.push(delimiter);
                push_share(bytes, p);
            }
        }
        Some(columns) => {
            for i in 0..columns {
                bytes.push(delimiter);
                // Missing pairs become empty fields, so that all lines have the same number of
                // fields.
                let pair = pairs.get(i);
                if let Some(&(_, k)) = pair {
                    push_number(bytes, u64::from(k));
                }
                if model.has_topic_names() {
                    bytes.push(delimiter);
                    let name = pair.and_then(|&(_, k)| model.topic_name(k));
                    push_cell(bytes, name.unwrap_or_default(), delimiter);
                }
                bytes.push(delimiter);
                if let Some(&(p, _)) = pair {
                    push_share(bytes, p);
                }
            }
        }
    }
    bytes.push(b'\n');
}

fn push_json_line(
    mixtures: &Mixtures<'_>,
    mixture: &Mixture<'_>,
    columns: Option<usize>,
    chunk: &mut TextChunk,
) {
    let (model, label_columns) = (mixtures.model(), mixtures.corpus().label_columns());
    let TextChunk { bytes, pairs, .. } = chunk;
    bytes.extend_from_slice(b"{\"document\":");
    push_number(bytes, mixture.number + 1);
    if !mixture.name.is_empty() {
        bytes.extend_from_slice(b",\"name\":");
        bytes.extend_from_slice(serde_json::Value::from(mixture.name).to_string().as_bytes());
    }
    if !mixture.labels.is_empty() {
        let named = label_columns.iter().zip(mixture.labels);
        let labels: serde_json::Map<_, _> =
            named.map(|(column, values)| (column.clone(), values.clone().into())).collect();
        bytes.extend_from_slice(b",\"labels\":");
        bytes.extend_from_slice(serde_json::Value::from(labels).to_string().as_bytes());
    }
    if !mixture.date.is_empty() {
        bytes.extend_from_slice(b",\"date\":");
        bytes.extend_from_slice(serde_json::Value::from(mixture.date).to_string().as_bytes());
    }
    bytes.extend_from_slice(b",\"tokens\":");
    push_number(bytes, mixture.tokens);
    bytes.extend_from_slice(b",\"tokens_unknown\":");
    push_number(bytes, mixture.tokens_unknown);
    if columns.is_some() {
        bytes.extend_from_slice(b",\"topics\":[");
        for (i, &(p, k)) in pairs.iter().enumerate() {
            bytes.extend_from_slice(if i == 0 { b"[" } else { b",[" });
            push_number(bytes, u64::from(k));
            bytes.push(b',');
            push_share(bytes, p);
            bytes.push(b']');
        }
        if model.has_topic_names() {
            // In the same order as the topics.
            let names: Vec<Option<&str>> = pairs.iter().map(|&(_, k)| model.topic_name(k)).collect();
            bytes.extend_from_slice(b"],\"names\":");
            bytes.extend_from_slice(serde_json::json!(names).to_string().as_bytes());
            bytes.extend_from_slice(b"}\n");
            return;
        }
    } else {
        bytes.extend_from_slice(b",\"proportions\":[");
        for (i, &p) in mixture.proportions.iter().enumerate() {
            if i > 0 {
                bytes.push(b',');
            }
            push_share(bytes, p);
        }
    }
    bytes.extend_from_slice(b"]}\n");
}

/// Appends a text as one field of tab-separated or comma-separated values.
fn push_cell(out: &mut Vec<u8>, text: &str, delimiter: u8) {
    if delimiter == b'\t' {
        push_field(out, text);
    } else if text.contains(['"', ',', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Appends a text as one field: control characters, which could end the field or line, become
/// spaces.
pub(crate) fn push_field(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().map(|b| if b < b' ' { b' ' } else { b }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_equal_ones_in_order() {
        let mut pairs = Vec::new();
        largest_proportions(&[0.1, 0.3, 0.1, 0.3, 0.2], 3, 0.0, &mut pairs);
        assert_eq!(pairs, [(0.3, 1), (0.3, 3), (0.2, 4)]);
        largest_proportions(&[0.1, 0.3, 0.1, 0.3, 0.2], 3, 0.25, &mut pairs);
        assert_eq!(pairs, [(0.3, 1), (0.3, 3)]);
        largest_proportions(&[0.5, 0.5], 9, 0.0, &mut pairs);
        assert_eq!(pairs, [(0.5, 0), (0.5, 1)]);
    }
}
