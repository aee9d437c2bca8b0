//! The topic proportions of documents as files: tab-separated text, JSON lines, an array for numpy, or a Parquet table.
//!
//! Text is made on the threads that find the proportions: it takes about as long as finding them.

use std::io::Write;
use std::path::Path;

use super::{Mixture, Mixtures};
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::npy::npy_header;
use crate::numbers::{push_number, push_share};
use crate::progress::ProgressCallback;
use crate::table::{Cell, Column, Table, TableFormat};

/// How proportions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProportionsFormat {
    /// A header, then a line per document: its number from 1, its name, its proportions; between tabs.
    Tsv,
    /// A JSON object per line.
    JsonLines,
    /// A D x K array of float32 for numpy.
    Npy,
    /// The columns of [`Tsv`](ProportionsFormat::Tsv) as a Parquet table; in a file only.
    Parquet,
}

/// What is written of the proportions.
#[derive(Debug, Clone, PartialEq)]
pub struct Proportions {
    /// In which form.
    pub format: ProportionsFormat,
    /// Only so many of the largest, as pairs of topic and proportion.
    pub top: Option<usize>,
    /// Only those from this on, as pairs.
    pub min_proportion: Option<f64>,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inferred {
    /// Documents.
    pub documents: u64,
    /// Documents with no word that the model knows: theirs are the prior's proportions.
    pub documents_unknown: u64,
    /// The numbers of the first few of them, from 0.
    pub examples: Vec<u64>,
}

impl Inferred {
    fn count(&mut self, mixture: &Mixture<'_>) {
        self.documents += 1;
        if mixture.tokens == 0 {
            self.documents_unknown += 1;
            if self.examples.len() < EXAMPLES {
                self.examples.push(mixture.number);
            }
        }
    }

    fn add(&mut self, later: Inferred) {
        self.documents += later.documents;
        self.documents_unknown += later.documents_unknown;
        self.examples.extend(later.examples);
        self.examples.truncate(EXAMPLES);
    }
}

/// So many documents without known words are named.
const EXAMPLES: usize = 5;

/// Text of some documents, and what is to be told of them.
#[derive(Debug, Default)]
struct Part {
    bytes: Vec<u8>,
    told: Inferred,
    pairs: Vec<(f32, u32)>,
}

/// A row of a table.
#[derive(Debug, Default)]
struct Row {
    number: u64,
    name: String,
    proportions: Vec<f32>,
    pairs: Vec<(f32, u32)>,
}

impl Proportions {
    /// Writes all documents in order; errors of `out` name `path`. `progress` is told the documents done and may ask to stop.
    pub fn write(
        &self,
        mixtures: &Mixtures<'_>,
        out: &mut dyn Write,
        path: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<Inferred> {
        let topics = mixtures.model().topics() as usize;
        let (columns, least) = self.columns(topics);
        if self.format == ProportionsFormat::Npy && columns.is_some() {
            let name = if self.top.is_some() { "top" } else { "min_proportion" };
            return Err(Error::conflict(name, "{to=npy}").with_remedy(
                "an npy file contains all proportions; for the largest, write TSV or JSON lines",
            ));
        }
        if self.format == ProportionsFormat::Parquet {
            return Err(Error::unsupported_value("to", "parquet", "it cannot be written to a stream")
                .with_remedy("write to a file, or write TSV or JSON lines"));
        }
        out.write_all(&self.head(mixtures, columns)).map_err(Error::io("write", path))?;
        let mut told = Inferred::default();
        mixtures.each(
            |mixture, part: &mut Part| {
                part.told.count(mixture);
                if let Some(columns) = columns {
                    largest(mixture.proportions, columns, least as f32, &mut part.pairs);
                }
                match self.format {
                    ProportionsFormat::Tsv => tsv(mixture, columns, part),
                    ProportionsFormat::JsonLines => json_line(mixture, columns, part),
                    ProportionsFormat::Npy | ProportionsFormat::Parquet => {
                        part.bytes.extend(mixture.proportions.iter().flat_map(|p| p.to_le_bytes()));
                    }
                }
                Ok(())
            },
            |part| {
                told.add(part.told);
                out.write_all(&part.bytes).map_err(Error::io("write", path))
            },
            progress,
        )?;
        out.flush().map_err(Error::io("write", path))?;
        Ok(told)
    }

    /// How many pairs a document may have, where pairs are wanted, and the least proportion.
    fn columns(&self, topics: usize) -> (Option<usize>, f64) {
        // No more than 1/p proportions can be p or more.
        let least = self.min_proportion.unwrap_or(0.0);
        let fit = if least > 0.0 { (1.000_001 / least) as usize } else { topics };
        let columns = (self.top.is_some() || least > 0.0)
            .then(|| self.top.unwrap_or(topics).min(fit).min(topics).max(1));
        (columns, least)
    }

    /// Writes to a file, which appears when it is whole.
    pub fn save(
        &self,
        mixtures: &Mixtures<'_>,
        path: impl AsRef<Path>,
        progress: ProgressCallback<'_>,
    ) -> Result<Inferred> {
        let path = path.as_ref();
        if self.format == ProportionsFormat::Parquet {
            return self.save_parquet(mixtures, path, progress);
        }
        let mut out = AtomicFile::create(path)?;
        let told = self.write(mixtures, &mut out, path, progress)?;
        out.commit()?;
        Ok(told)
    }

    fn save_parquet(
        &self,
        mixtures: &Mixtures<'_>,
        path: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<Inferred> {
        let topics = mixtures.model().topics();
        let (pairs, least) = self.columns(topics as usize);
        let mut columns = vec![Column::whole("document"), Column::text("name").optional()];
        match pairs {
            Some(n) => columns.extend((1..=n).flat_map(|i| {
                let topic = Column::whole(format!("topic_{i}")).optional();
                [topic, Column::float(format!("proportion_{i}")).optional()]
            })),
            None => columns.extend((0..topics).map(|k| Column::float(format!("p_{k}")))),
        }
        let mut table = Table::create(path, TableFormat::Parquet, &columns)?;
        let mut told = Inferred::default();
        mixtures.each(
            |mixture, (rows, told): &mut (Vec<Row>, Inferred)| {
                told.count(mixture);
                let mut row = Row { number: mixture.number, name: mixture.name.to_owned(), ..Row::default() };
                match pairs {
                    Some(most) => largest(mixture.proportions, most, least as f32, &mut row.pairs),
                    None => row.proportions.extend_from_slice(mixture.proportions),
                }
                rows.push(row);
                Ok(())
            },
            |(rows, part)| {
                told.add(part);
                for row in rows {
                    let name = if row.name.is_empty() { Cell::Missing } else { Cell::Text(&row.name) };
                    let mut cells = vec![Cell::Whole(row.number + 1), name];
                    cells.extend(row.proportions.iter().map(|&p| Cell::Float(p)));
                    cells.extend(
                        row.pairs.iter().flat_map(|&(p, k)| [Cell::Whole(u64::from(k)), Cell::Float(p)]),
                    );
                    cells.resize(columns.len(), Cell::Missing);
                    table.row(&cells)?;
                }
                Ok(())
            },
            progress,
        )?;
        table.finish()?;
        Ok(told)
    }

    fn head(&self, mixtures: &Mixtures<'_>, columns: Option<usize>) -> Vec<u8> {
        let topics = mixtures.model().topics();
        match self.format {
            ProportionsFormat::JsonLines | ProportionsFormat::Parquet => Vec::new(),
            ProportionsFormat::Npy => {
                npy_header("<f4", &format!("({}, {topics})", mixtures.corpus().shape().documents))
            }
            ProportionsFormat::Tsv => {
                let titles: Vec<String> = match columns {
                    Some(n) => (1..=n).map(|i| format!("\ttopic_{i}\tproportion_{i}")).collect(),
                    None => (0..topics).map(|k| format!("\tp_{k}")).collect(),
                };
                format!("document\tname{}\n", titles.concat()).into_bytes()
            }
        }
    }
}

/// The largest proportions, largest first, smaller topics first where they are equal.
fn largest(proportions: &[f32], most: usize, least: f32, pairs: &mut Vec<(f32, u32)>) {
    pairs.clear();
    pairs.extend(proportions.iter().copied().zip(0..).filter(|&(p, _)| p >= least));
    let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if most < pairs.len() {
        pairs.select_nth_unstable_by(most, order);
        pairs.truncate(most);
    }
    pairs.sort_unstable_by(order);
}

fn tsv(mixture: &Mixture<'_>, columns: Option<usize>, part: &mut Part) {
    let Part { bytes, pairs, .. } = part;
    push_number(bytes, mixture.number + 1);
    bytes.push(b'\t');
    push_cell(bytes, mixture.name);
    match columns {
        None => {
            for &p in mixture.proportions {
                bytes.push(b'\t');
                push_share(bytes, p);
            }
        }
        Some(columns) => {
            for i in 0..columns {
                bytes.push(b'\t');
                // Empty cells where fewer are large enough, so that all lines are of one length.
                if let Some(&(p, k)) = pairs.get(i) {
                    push_number(bytes, u64::from(k));
                    bytes.push(b'\t');
                    push_share(bytes, p);
                } else {
                    bytes.push(b'\t');
                }
            }
        }
    }
    bytes.push(b'\n');
}

fn json_line(mixture: &Mixture<'_>, columns: Option<usize>, part: &mut Part) {
    let Part { bytes, pairs, .. } = part;
    bytes.extend_from_slice(b"{\"document\":");
    push_number(bytes, mixture.number + 1);
    if !mixture.name.is_empty() {
        bytes.extend_from_slice(b",\"name\":");
        bytes.extend_from_slice(serde_json::Value::from(mixture.name).to_string().as_bytes());
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

/// A name in a cell: what would end the cell or the line becomes a space.
pub(crate) fn push_cell(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().map(|b| if b < b' ' { b' ' } else { b }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_equal_ones_in_order() {
        let mut pairs = Vec::new();
        largest(&[0.1, 0.3, 0.1, 0.3, 0.2], 3, 0.0, &mut pairs);
        assert_eq!(pairs, [(0.3, 1), (0.3, 3), (0.2, 4)]);
        largest(&[0.1, 0.3, 0.1, 0.3, 0.2], 3, 0.25, &mut pairs);
        assert_eq!(pairs, [(0.3, 1), (0.3, 3)]);
        largest(&[0.5, 0.5], 9, 0.0, &mut pairs);
        assert_eq!(pairs, [(0.5, 0), (0.5, 1)]);
    }
}
