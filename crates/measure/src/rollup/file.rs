//! Builds a Parquet file in memory. Many threads may encode its row groups.

use arrow_array::ArrayRef;
use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

/// A file that is being built.
pub(crate) struct FileBuilder {
    writer: SerializedFileWriter<Vec<u8>>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    rows: u64,
}

/// A row group, encoded and compressed.
pub(crate) struct RowGroup {
    columns: Vec<ArrowColumnChunk>,
    rows: u64,
}

/// A complete file.
pub(crate) struct Built {
    pub bytes: Bytes,
    pub rows: u64,
}

impl FileBuilder {
    pub(crate) fn new(schema: SchemaRef) -> Result<FileBuilder, ParquetError> {
        let properties = properties(&schema)?;
        let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?;
        let (writer, factory) = writer.into_serialized_writer()?;
        Ok(FileBuilder { writer, factory, schema, rows: 0 })
    }

    /// Encodes a row group from the schema's columns. May be called from any number of threads.
    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> Result<RowGroup, ParquetError> {
        let mut writers = self.factory.create_column_writers(0)?.into_iter();
        let mut encoded = Vec::with_capacity(columns.len());
        for (field, column) in self.schema.fields().iter().zip(columns) {
            for leaf in compute_leaves(field, column)? {
                let Some(mut writer) = writers.next() else { break };
                writer.write(&leaf)?;
                encoded.push(writer.close()?);
            }
        }
        let rows = columns.first().map_or(0, |column| column.len() as u64);
        Ok(RowGroup { columns: encoded, rows })
    }

    pub(crate) fn append(&mut self, group: RowGroup) -> Result<(), ParquetError> {
        if group.rows == 0 {
            return Ok(());
        }
        let mut writer = self.writer.next_row_group()?;
        for column in group.columns {
            column.append_to_row_group(&mut writer)?;
        }
        writer.close()?;
        self.rows += group.rows;
        Ok(())
    }

    /// The complete file; `None` if it has no rows.
    pub(crate) fn finish(self) -> Result<Option<Built>, ParquetError> {
        if self.rows == 0 {
            return Ok(None);
        }
        let bytes = Bytes::from(self.writer.into_inner()?);
        Ok(Some(Built { bytes, rows: self.rows }))
    }
}

/// A dictionary of this size has 16,384 values. Many series of integers or of numbers with two decimals have fewer.
const VALUES_DICTIONARY_BYTES: usize = 128 << 10;

/// Sort order of the rows: by series, then by time if there is one.
fn sorting_columns(schema: &Schema) -> Vec<SortingColumn> {
    let sorted_by = |name: &str| ["series", "time", "window"].contains(&name);
    let columns = schema.fields().iter().enumerate().filter(|(_, field)| sorted_by(field.name()));
    let column = |(i, _)| SortingColumn { column_idx: i as i32, descending: false, nulls_first: false };
    columns.map(column).collect()
}

/// Encodings of the columns: the smallest of those measured at nearly the highest speed. Stronger compression took 20 %
/// longer without a gain; no compression saved 10 % of the time and took twice the space.
fn properties(schema: &Schema) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_sorting_columns(Some(sorting_columns(schema)))
        .set_created_by(concat!("rawline ", env!("CARGO_PKG_VERSION")).to_owned());
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        properties = match field.name().as_str() {
            // Sorted or nearly sorted, so differences are small.
            "series" | "time" | "window" | "first_time" | "last_time" | "count" => {
                properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
            }
            // A dictionary halves the space of columns with few distinct values; with many, the writer soon falls back.
            "value" | "sum" | "min" | "max" | "first" | "last" | "reset_sum" => properties
                .set_column_encoding(column.clone(), Encoding::BYTE_STREAM_SPLIT)
                .set_column_dictionary_enabled(column.clone(), true)
                .set_column_dictionary_page_size_limit(column, VALUES_DICTIONARY_BYTES),
            _ => properties,
        };
        if ["series", "time", "window"].contains(&field.name().as_str()) {
            properties = properties
                .set_column_statistics_enabled(ColumnPath::from(field.name().as_str()), EnabledStatistics::Page);
        }
    }
    Ok(properties.build())
}
