//! Names, labels and dates of documents as columns of a table. Start with [`MetadataColumns`].

use std::path::Path;

use super::Corpus;
use crate::error::{Error, Result};
use crate::progress::{ProgressCallback, Step};
use crate::table::{Cell, Column, Table, TableFormat};

/// Text between several labels of a document in one cell of a table. In a label itself, it is
/// written with a backslash before it.
pub const LABEL_SEPARATOR: &str = ";";

/// Joins the labels of a document for one cell of a table. A separator in a label gets a backslash
/// before it, so that the labels can be told apart.
///
/// ```
/// assert_eq!(tinylda::corpus::join_labels(&["a", "b; c"]), r"a;b\; c");
/// ```
pub fn join_labels(labels: &[impl AsRef<str>]) -> String {
    let escape = |label: &str| label.replace(LABEL_SEPARATOR, "\\;");
    labels.iter().map(|label| escape(label.as_ref())).collect::<Vec<_>>().join(LABEL_SEPARATOR)
}

/// Columns of a table that describe documents: the labels and the date, as far as the corpus has
/// them. They follow the columns `document` and `name`.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetadataColumns {
    /// Titles of the columns with labels.
    labels: Vec<String>,
    dates: bool,
}

impl MetadataColumns {
    /// Returns the columns for a corpus. A label column whose name another column of the table may
    /// have gets the prefix `label_`.
    pub(crate) fn of(corpus: &Corpus) -> MetadataColumns {
        let taken = |name: &str| {
            ["document", "name", "date", "tokens"].contains(&name)
                || ["topic", "proportion", "p_"].iter().any(|start| name.starts_with(start))
        };
        let title = |name: &String| if taken(name) { format!("label_{name}") } else { name.clone() };
        MetadataColumns {
            labels: corpus.label_columns().iter().map(title).collect(),
            dates: corpus.has_dates(),
        }
    }

    /// Returns the titles of the columns.
    pub(crate) fn titles(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(String::as_str).chain(self.dates.then_some("date"))
    }

    /// Returns the columns of a table.
    pub(crate) fn columns(&self) -> impl Iterator<Item = Column> {
        self.titles().map(|title| Column::text(title).optional())
    }

    /// Returns the texts of a document, one for each column.
    pub(crate) fn texts(&self, labels: &[Vec<&str>], date: &str) -> Vec<String> {
        let values = |column: usize| labels.get(column).map_or(String::new(), |all| join_labels(all));
        (0..self.labels.len()).map(values).chain(self.dates.then(|| date.to_owned())).collect()
    }
}

/// Returns the cell of a text that is missing if it is empty.
pub(crate) fn text_cell(text: &str) -> Cell<'_> {
    if text.is_empty() { Cell::Missing } else { Cell::Text(text) }
}

/// Writes a table with the number (from 1), name, labels and date of every document. Several labels
/// of a column are joined by [`LABEL_SEPARATOR`]. Returns `false` if the corpus has none of them.
pub fn save_metadata(
    corpus: &Corpus,
    path: impl AsRef<Path>,
    format: TableFormat,
    progress: ProgressCallback<'_>,
) -> Result<bool> {
    if !(corpus.has_names() || corpus.has_labels() || corpus.has_dates()) {
        return Ok(false);
    }
    metadata_table(corpus, path.as_ref(), format, progress)?.finish()?;
    Ok(true)
}

/// Writes the table of [`save_metadata`] without finishing it.
pub(crate) fn metadata_table(
    corpus: &Corpus,
    path: &Path,
    format: TableFormat,
    progress: ProgressCallback<'_>,
) -> Result<Table> {
    let metadata = MetadataColumns::of(corpus);
    let first = [Column::whole("document"), Column::text("name").optional()];
    let columns: Vec<Column> = first.into_iter().chain(metadata.columns()).collect();
    let mut table = Table::create(path, format, &columns)?;
    let mut reader = corpus.reader();
    for i in 0..corpus.blocks() {
        let details = reader.read_details(i)?;
        for (number, d) in corpus.block_documents(i).zip(0..) {
            let labels = details.labels.row(d);
            let document = details.document(d, &labels);
            let texts = metadata.texts(&labels, document.date.unwrap_or_default());
            let first = [Cell::Whole(number + 1), text_cell(document.name.unwrap_or_default())];
            let cells: Vec<Cell<'_>> =
                first.into_iter().chain(texts.iter().map(|text| text_cell(text))).collect();
            table.row(&cells)?;
        }
        if progress(Step::Blocks.at(i as u64 + 1, corpus.blocks() as u64)).is_break() {
            return Err(Error::Interrupted);
        }
    }
    Ok(table)
}
