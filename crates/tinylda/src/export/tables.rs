//! Exports a model as two tables: words by topics, and documents by topics.

use std::path::{Path, PathBuf};

use super::ExportFolder;
use crate::corpus::text_cell;
use crate::error::Result;
use crate::infer::Mixtures;
use crate::model::Model;
use crate::progress::ProgressCallback;
use crate::table::{Cell, Column, Table, TableFormat};

/// A row of the table of documents.
struct DocumentRow {
    number: u64,
    name: String,
    /// Texts of the columns with labels and dates.
    metadata: Vec<String>,
    tokens: u64,
    proportions: Vec<f32>,
}

/// Writes the tables to a folder and returns the paths of the files. The file extension is the name
/// of the format.
///
/// `topic-word` has a row per word with p(w|k) of every topic. `doc-topic` has a row per document
/// with its number from 1, its name, its labels and date if they were
/// [requested](Mixtures::with_labels), the number of known tokens and p(k|d) of every topic; it is
/// written only if there are documents.
pub fn save_tables(
    model: &Model,
    mixtures: Option<&Mixtures<'_>>,
    to: impl AsRef<Path>,
    format: TableFormat,
    progress: ProgressCallback<'_>,
) -> Result<Vec<PathBuf>> {
    let mut files = ExportFolder::create(to.as_ref())?;
    let topics = || (0..model.topics()).map(|k| Column::float(format!("topic_{k}")));
    let path = files.path(&format!("topic-word.{}", format.name()));
    let columns: Vec<Column> = std::iter::once(Column::text("word")).chain(topics()).collect();
    let mut table = Table::create(&path, format, &columns)?;
    for w in 0..model.words() {
        let name = model.word_name(w);
        let probabilities = model.probabilities(w).map(|p| Cell::Float(p as f32));
        let row: Vec<Cell<'_>> = std::iter::once(Cell::Text(&name)).chain(probabilities).collect();
        table.row(&row)?;
    }
    files.add_table(path, table)?;
    if let Some(mixtures) = mixtures {
        let path = files.path(&format!("doc-topic.{}", format.name()));
        let metadata = mixtures.metadata_columns();
        let mut columns = vec![Column::whole("document"), Column::text("name").optional()];
        columns.extend(metadata.columns().chain([Column::whole("tokens")]).chain(topics()));
        let mut table = Table::create(&path, format, &columns)?;
        mixtures.for_each(
            |mixture, rows: &mut Vec<DocumentRow>| {
                rows.push(DocumentRow {
                    number: mixture.number + 1,
                    name: mixture.name.to_owned(),
                    metadata: metadata.texts(mixture.labels, mixture.date),
                    tokens: mixture.tokens,
                    proportions: mixture.proportions.to_vec(),
                });
                Ok(())
            },
            |rows| {
                for row in rows {
                    let mut cells = vec![Cell::Whole(row.number), text_cell(&row.name)];
                    cells.extend(row.metadata.iter().map(|text| text_cell(text)));
                    cells.push(Cell::Whole(row.tokens));
                    cells.extend(row.proportions.iter().map(|&p| Cell::Float(p)));
                    table.row(&cells)?;
                }
                Ok(())
            },
            progress,
        )?;
        files.add_table(path, table)?;
    }
    files.commit()
}
