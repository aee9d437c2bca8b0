//! Tables as Parquet files: the feature `parquet`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::{Cell, Column, ColumnKind, Sink};
use crate::error::{Error, Result};

/// Bytes of Parquet that are collected before they are written, and as many more for each column: a group of rows has
/// some hundreds of bytes of description per column, which stay in memory to the end.
const GROUP_BYTES: u64 = 16 << 20;
const GROUP_BYTES_PER_COLUMN: u64 = 64 << 10;

/// What Parquet's writer says, as an error of the file.
pub(super) fn write_error(path: &Path) -> impl FnOnce(ParquetError) -> Error + use<> {
    let path = path.to_path_buf();
    move |e| {
        let source = match e {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(e) => *e,
                Err(other) => io::Error::other(other),
            },
            e => io::Error::other(e),
        };
        Error::io("write", &path)(source)
    }
}

/// The cells of a column that wait to be written.
enum Cells {
    Float(Vec<f32>),
    Whole(Vec<i64>),
    Text(Vec<ByteArray>),
}

/// A column's cells, and which of its rows have one.
struct Waiting {
    cells: Cells,
    present: Vec<i16>,
    optional: bool,
}

/// Rows in groups, column by column, as Parquet has them.
pub(super) struct Groups {
    writer: SerializedFileWriter<Sink>,
    columns: Vec<Waiting>,
    bytes: u64,
    pub(super) most: u64,
}

/// A column of a Parquet file.
fn parquet_type(name: &str, kind: ColumnKind, repetition: Repetition) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match kind {
        ColumnKind::Float => (Physical::FLOAT, None),
        ColumnKind::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

/// How Parquet files are written: nothing of the time or the machine in them, and little to keep in memory.
fn parquet_properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("tinylda ", env!("CARGO_PKG_VERSION")).into())
        .build()
}

impl Groups {
    pub(super) fn new(sink: Sink, path: &Path, columns: &[Column]) -> Result<Groups> {
        let begin = || {
            let repetition =
                |c: &Column| if c.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
            let fields: Result<Vec<TypePtr>, ParquetError> =
                columns.iter().map(|c| parquet_type(&c.name, c.kind, repetition(c))).collect();
            let schema = Type::group_type_builder("table").with_fields(fields?).build()?;
            SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(parquet_properties()))
        };
        let writer = begin().map_err(write_error(path))?;
        let waiting = |c: &Column| Waiting {
            cells: match c.kind {
                ColumnKind::Float => Cells::Float(Vec::new()),
                ColumnKind::Whole => Cells::Whole(Vec::new()),
                ColumnKind::Text => Cells::Text(Vec::new()),
            },
            present: Vec::new(),
            optional: c.optional,
        };
        Ok(Groups {
            writer,
            columns: columns.iter().map(waiting).collect(),
            bytes: 0,
            most: GROUP_BYTES + GROUP_BYTES_PER_COLUMN * columns.len() as u64,
        })
    }

    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ParquetError> {
        for (column, &cell) in self.columns.iter_mut().zip(cells) {
            match (&mut column.cells, cell) {
                (Cells::Float(list), Cell::Float(v)) => {
                    list.push(v);
                    self.bytes += 4;
                }
                (Cells::Whole(list), Cell::Whole(n)) => {
                    // The schema says that these bits are unsigned.
                    list.push(n.cast_signed());
                    self.bytes += 8;
                }
                (Cells::Text(list), Cell::Text(text)) => {
                    list.push(ByteArray::from(text));
                    // Each is an allocation of its own.
                    self.bytes += 80 + text.len() as u64;
                }
                _ => {}
            }
            if column.optional {
                column.present.push(i16::from(cell != Cell::Missing));
                self.bytes += 2;
            }
        }
        if self.bytes >= self.most { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for waiting in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            let present = waiting.optional.then_some(waiting.present.as_slice());
            match (column.untyped(), &mut waiting.cells) {
                (ColumnWriter::FloatColumnWriter(out), Cells::Float(list)) => {
                    out.write_batch(list, present, None)?;
                    list.clear();
                }
                (ColumnWriter::Int64ColumnWriter(out), Cells::Whole(list)) => {
                    out.write_batch(list, present, None)?;
                    list.clear();
                }
                (ColumnWriter::ByteArrayColumnWriter(out), Cells::Text(list)) => {
                    out.write_batch(list, present, None)?;
                    list.clear();
                }
                _ => {}
            }
            waiting.present.clear();
            column.close()?;
        }
        group.close()?;
        self.bytes = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Sink, ParquetError> {
        if self.bytes > 0 {
            self.write()?;
        }
        self.writer.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::written;
    use super::super::{Body, Table, TableFormat};
    use super::*;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;

    #[test]
    fn parquet_reads_back_and_is_the_same_each_time() {
        let bytes = written(TableFormat::Parquet);
        assert_eq!(bytes, written(TableFormat::Parquet));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        std::fs::write(&path, bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows[0].get_string(0).unwrap(), "a\t\"b\",\nc");
        assert_eq!(rows[0].get_ulong(1).unwrap(), u64::MAX);
        assert_eq!(rows[0].get_float(2).unwrap(), 0.1);
        assert!(rows[1].get_float(2).is_err());
    }

    #[test]
    fn many_groups_hold_all_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let names = ["a", "b"].map(Column::float);
        let mut table = Table::create(&path, TableFormat::Parquet, &names).unwrap();
        let Body::Parquet(groups) = &mut table.body else { panic!("not Parquet") };
        groups.most = 100;
        for i in 0..1000u16 {
            table.row(&[Cell::Float(f32::from(i)), Cell::Float(-1.0)]).unwrap();
        }
        assert_eq!(table.finish().unwrap(), 1000);
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert!(reader.num_row_groups() > 50);
        for (i, row) in reader.get_row_iter(None).unwrap().enumerate() {
            assert_eq!(row.unwrap().get_float(0).unwrap(), i as f32);
        }
    }
}
