//! Tables as Parquet files (feature `parquet`). Start with [`RowGroupWriter`].

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

use super::{Cell, Column, ColumnKind, TableOutput};
use crate::error::{Error, Result};

/// Base size of a row group in bytes, to which [`GROUP_BYTES_PER_COLUMN`] is added for each column.
const GROUP_BYTES: u64 = 16 << 20;
/// Additional size of a row group in bytes for each column. The metadata of a row group takes some
/// hundreds of bytes per column, which stay in memory until the file is complete.
const GROUP_BYTES_PER_COLUMN: u64 = 64 << 10;

/// Returns a function that turns an error of the Parquet writer into one about the file.
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

/// Buffered cells of a column, without missing ones.
enum ColumnCells {
    Float(Vec<f32>),
    Whole(Vec<i64>),
    Text(Vec<ByteArray>),
}

/// Buffered part of a column.
struct ColumnBuffer {
    cells: ColumnCells,
    /// For each row of an optional column, 1 if the cell is present and 0 if it is missing.
    present: Vec<i16>,
    optional: bool,
}

/// Buffers rows and writes them in row groups, column by column.
pub(super) struct RowGroupWriter {
    writer: SerializedFileWriter<TableOutput>,
    columns: Vec<ColumnBuffer>,
    /// Approximate size of the buffered cells in bytes.
    bytes: u64,
    /// Size at which a row group is written.
    pub(super) max_bytes: u64,
}

/// Returns the Parquet type of a column.
fn parquet_type(name: &str, kind: ColumnKind, repetition: Repetition) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match kind {
        ColumnKind::Float => (Physical::FLOAT, None),
        ColumnKind::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

/// Returns the properties of the Parquet writer. They make files independent of the time and the
/// machine, and keep little metadata in memory.
fn parquet_properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("tinylda ", env!("CARGO_PKG_VERSION")).into())
        .build()
}

impl RowGroupWriter {
    /// Starts a Parquet file.
    pub(super) fn new(sink: TableOutput, path: &Path, columns: &[Column]) -> Result<RowGroupWriter> {
        let begin = || {
            let repetition =
                |c: &Column| if c.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
            let fields: Result<Vec<TypePtr>, ParquetError> =
                columns.iter().map(|c| parquet_type(&c.name, c.kind, repetition(c))).collect();
            let schema = Type::group_type_builder("table").with_fields(fields?).build()?;
            SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(parquet_properties()))
        };
        let writer = begin().map_err(write_error(path))?;
        let buffer = |c: &Column| ColumnBuffer {
            cells: match c.kind {
                ColumnKind::Float => ColumnCells::Float(Vec::new()),
                ColumnKind::Whole => ColumnCells::Whole(Vec::new()),
                ColumnKind::Text => ColumnCells::Text(Vec::new()),
            },
            present: Vec::new(),
            optional: c.optional,
        };
        Ok(RowGroupWriter {
            writer,
            columns: columns.iter().map(buffer).collect(),
            bytes: 0,
            max_bytes: GROUP_BYTES + GROUP_BYTES_PER_COLUMN * columns.len() as u64,
        })
    }

    /// Buffers a row and writes a row group if the buffer is full.
    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ParquetError> {
        for (column, &cell) in self.columns.iter_mut().zip(cells) {
            match (&mut column.cells, cell) {
                (ColumnCells::Float(list), Cell::Float(v)) => {
                    list.push(v);
                    self.bytes += 4;
                }
                (ColumnCells::Whole(list), Cell::Whole(n)) => {
                    // The schema declares these bits as unsigned.
                    list.push(n.cast_signed());
                    self.bytes += 8;
                }
                (ColumnCells::Text(list), Cell::Text(text)) => {
                    list.push(ByteArray::from(text));
                    // Each text is a separate allocation, with an overhead of about 80 bytes.
                    self.bytes += 80 + text.len() as u64;
                }
                _ => {}
            }
            if column.optional {
                column.present.push(i16::from(cell != Cell::Missing));
                self.bytes += 2;
            }
        }
        if self.bytes >= self.max_bytes { self.write_group() } else { Ok(()) }
    }

    /// Writes the buffered rows as a row group.
    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for buffer in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            let present = buffer.optional.then_some(buffer.present.as_slice());
            match (column.untyped(), &mut buffer.cells) {
                (ColumnWriter::FloatColumnWriter(out), ColumnCells::Float(list)) => {
                    out.write_batch(list, present, None)?;
                    list.clear();
                }
                (ColumnWriter::Int64ColumnWriter(out), ColumnCells::Whole(list)) => {
                    out.write_batch(list, present, None)?;
                    list.clear();
                }
                (ColumnWriter::ByteArrayColumnWriter(out), ColumnCells::Text(list)) => {
                    out.write_batch(list, present, None)?;
                    list.clear();
                }
                _ => {}
            }
            buffer.present.clear();
            column.close()?;
        }
        group.close()?;
        self.bytes = 0;
        Ok(())
    }

    /// Writes the remaining rows and the footer, and returns the output.
    pub(super) fn finish(mut self) -> Result<TableOutput, ParquetError> {
        if self.bytes > 0 {
            self.write_group()?;
        }
        self.writer.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::written;
    use super::super::{Table, TableBody, TableFormat};
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
        let TableBody::Parquet(groups) = &mut table.body else { panic!("not Parquet") };
        groups.max_bytes = 100;
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
