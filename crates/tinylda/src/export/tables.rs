//! Exports a model as two tables: words by topics, and documents by topics.

use std::path::{Path, PathBuf};

use super::ExportFolder;
use crate::error::Result;
use crate::infer::Mixtures;
use crate::model::Model;
use crate::progress::ProgressCallback;
use crate::table::{Cell, Column, Table, TableFormat};

/// Writes the tables to a folder and returns the paths of the files. The file extension is the name
/// of the format.
///
/// `topic-word` has a row per word with p(w|k) of every topic. `doc-topic` has a row per document
/// with its number from 1, its name, the number of known tokens and p(k|d) of every topic; it is
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
        let first = [Column::whole("document"), Column::text("name").optional(), Column::whole("tokens")];
        let columns: Vec<Column> = first.into_iter().chain(topics()).collect();
        let mut table = Table::create(&path, format, &columns)?;
        mixtures.for_each(
            |mixture, rows: &mut Vec<(u64, String, u64, Vec<f32>)>| {
                let proportions = mixture.proportions.to_vec();
                rows.push((mixture.number + 1, mixture.name.to_owned(), mixture.tokens, proportions));
                Ok(())
            },
            |rows| {
                for (number, name, tokens, proportions) in rows {
                    let name = if name.is_empty() { Cell::Missing } else { Cell::Text(&name) };
                    let first = [Cell::Whole(number), name, Cell::Whole(tokens)];
                    let row: Vec<Cell<'_>> =
                        first.into_iter().chain(proportions.iter().map(|&p| Cell::Float(p))).collect();
                    table.row(&row)?;
                }
                Ok(())
            },
            progress,
        )?;
        files.add_table(path, table)?;
    }
    files.commit()
}
