//! Rows of a file in groups of [`GROUP`] runs, each encoded once: a file that grows is put together from those that are whole, as they are, and
//! from its last one. A file that is full has one group.

use super::Opened;
use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::{
    arrow::{ArrowWriter, arrow_writer::ArrowWriterOptions},
    basic::{Compression, ZstdLevel},
    column::writer::ColumnCloseResult,
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
};
use std::sync::Arc;

/// Runs of a group. The last group of a file may have fewer.
pub const GROUP: usize = 50;
/// The key under which a file says so; files of before have one group of all their runs.
const KEY: &str = "schedlab.runs_per_group";

/// Rows as a file has them, with its place there.
#[derive(Debug, Clone)]
pub struct Group {
    file: Arc<Opened<Bytes>>,
    place: usize,
}

impl Group {
    /// Encodes rows.
    pub fn of(rows: &RecordBatch) -> Result<Group, String> {
        let written = || {
            // Readers see texts, not how they are kept here.
            let options = ArrowWriterOptions::new().with_properties(properties()?).with_skip_arrow_metadata(true);
            let mut writer = ArrowWriter::try_new_with_options(Vec::new(), rows.schema(), options)?;
            writer.write(rows)?;
            writer.into_inner()
        };
        let file = written().map_err(|why: ParquetError| why.to_string())?;
        Ok(Group { file: Arc::new(Opened::of(file.into())?), place: 0 })
    }

    /// The groups of a file whose runs are known to be [`GROUP`] each: all but the last one.
    pub fn whole(file: &Arc<Opened<Bytes>>) -> Vec<Group> {
        let about = file.about.metadata().file_metadata().key_value_metadata();
        let says = |pair: &KeyValue| pair.key == KEY && pair.value.as_deref() == Some(GROUP.to_string().as_str());
        let grouped = about.is_some_and(|pairs| pairs.iter().any(says));
        let whole = if grouped { file.groups().saturating_sub(1) } else { 0 };
        (0..whole).map(|place| Group { file: Arc::clone(file), place }).collect()
    }

    /// The file that it is in, and its place there.
    pub fn place(&self) -> (&Opened<Bytes>, usize) {
        (&self.file, self.place)
    }

    /// Becomes the next group of a file.
    fn append<W: std::io::Write + Send>(&self, mut to: SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        let rows = self.file.about.metadata().row_group(self.place);
        for column in rows.columns() {
            let done = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: rows.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            to.append_column(&self.file.file, done)?;
        }
        to.close()?;
        Ok(())
    }
}

/// A file of these groups, which have the same columns.
pub fn file(groups: &[Group]) -> Result<Vec<u8>, String> {
    let Some(last) = groups.last() else { return Err("a file of no rows".to_owned()) };
    let root = last.file.about.parquet_schema().root_schema_ptr();
    let written = || {
        let mut writer = SerializedFileWriter::new(Vec::new(), root, Arc::new(properties()?))?;
        for group in groups {
            group.append(writer.next_row_group()?)?;
        }
        writer.into_inner()
    };
    written().map_err(|why: ParquetError| why.to_string())
}

fn properties() -> Result<WriterProperties, ParquetError> {
    let pair = KeyValue::new(KEY.to_owned(), GROUP.to_string());
    let builder = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?));
    Ok(builder.set_max_row_group_row_count(None).set_key_value_metadata(Some(vec![pair])).build())
}
