//! `<name>.parquet`: the same rows once the run has ended, for notebooks and for a fast second analysis.

use std::fs::File;
use std::ops::RangeBounds;
use std::os::unix::fs::FileExt;
use std::path::Path;

use polars::prelude::*;
use polars_buffer::Buffer;
use polars_parquet::read::{
    BasicDecompressor, ColumnChunkMetadata, PageReader, RowGroupMetadata, column_iter_to_arrays,
    infer_schema, read_metadata,
};

use super::columns::{self, Stored};
use super::stream::Batches;
use super::{ReadError, WriteError};
use crate::table::Place;
use crate::{RequestColumns, Requests, Table};

/// Rows of a row group at least, except of the last one.
const ROW_GROUP: usize = 1 << 15;
/// Rows of a row group of a report.
const FULL_GROUP: usize = 1 << 18;

/// Writes the rows of the stream in `dir` into one file, in their order, without ever holding all of them: `firsts` has
/// the first place of each batch, so that a row is known to be the next one as soon as no later batch has an earlier
/// row. A row that was lost on the way is an error.
pub(crate) fn from_stream<C: Stored>(dir: &Path, firsts: &[Place]) -> Result<(), WriteError> {
    let path = dir.join(format!("{}.parquet", C::FILE));
    let io = |source| WriteError::Io {
        path: path.clone(),
        source,
    };
    let unreadable = |e: ReadError| io(std::io::Error::other(e));
    WriteError::whole(&path, |file| {
        let mut batches = Batches::<C>::open(dir).map_err(unreadable)?;
        let mut out = writer(file).batched(C::frame(&[])?.schema())?;
        let mut waiting = Table::<C>::default();
        let earliest = earliest_of_the_rest(firsts);
        for number in 0.. {
            if !batches.next(&mut waiting).map_err(unreadable)? {
                break;
            }
            // A row group cannot be ready before as many rows wait.
            if waiting.len() < ROW_GROUP {
                continue;
            }
            waiting.sort();
            let ready = match earliest.get(number + 1) {
                Some(later) => waiting.partition_point(|row| C::place(row) < *later),
                None => waiting.len(),
            };
            if ready >= ROW_GROUP {
                out.write_batch(&frame(&waiting, ..ready)?)?;
                let mut rest = Table::default();
                waiting.range(ready..).for_each(|row| rest.push(row));
                waiting = rest;
            }
        }
        if let Some(loss) = batches.losses.first() {
            return Err(io(std::io::Error::other(loss.what.clone())));
        }
        waiting.sort();
        out.write_batch(&frame(&waiting, ..)?)?;
        out.finish()?;
        Ok(())
    })
}

/// For each batch the earliest place in it or in a later one.
fn earliest_of_the_rest(firsts: &[Place]) -> Vec<Place> {
    let mut earliest = firsts.to_vec();
    for i in (1..earliest.len()).rev() {
        earliest[i - 1] = earliest[i - 1].min(earliest[i]);
    }
    earliest
}

/// Requests as the bytes of a Parquet file, a row each, as they lie in a recording that has ended.
///
/// # Errors
///
/// [`WriteError::Encode`] when the rows cannot be encoded.
pub fn requests_parquet(requests: &Requests) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    let mut out = writer(&mut bytes).batched(RequestColumns::frame(&[])?.schema())?;
    for from in (0..requests.len()).step_by(FULL_GROUP) {
        out.write_batch(&frame(requests, from..from + FULL_GROUP)?)?;
    }
    out.finish()?;
    Ok(bytes)
}

fn frame<C: Stored>(table: &Table<C>, range: impl RangeBounds<usize>) -> PolarsResult<DataFrame> {
    C::frame(&table.range(range).collect::<Vec<_>>())
}

fn writer<W: std::io::Write>(to: W) -> ParquetWriter<W> {
    ParquetWriter::new(to)
        .with_compression(ParquetCompression::Zstd(None))
        .set_parallel(false)
}

/// Reads all rows, a row group at a time.
pub(crate) fn read<C: Stored>(dir: &Path) -> Result<Table<C>, ReadError> {
    let path = dir.join(format!("{}.parquet", C::FILE));
    let mut file = File::open(&path).map_err(|source| ReadError::Io { path, source })?;
    let metadata = read_metadata(&mut file)?;
    let schema = infer_schema(&metadata)?;
    let mut table = Table::default();
    for group in &metadata.row_groups {
        let frame = row_group(&file, group, &schema)?;
        columns::append(&mut table, &frame)?;
    }
    Ok(table)
}

fn row_group(
    file: &File,
    group: &RowGroupMetadata,
    schema: &ArrowSchema,
) -> PolarsResult<DataFrame> {
    let mut columns = Vec::new();
    for (name, field) in schema.iter() {
        let Some(chunks) = group.columns_under_root_iter(name) else {
            continue;
        };
        let chunks: Vec<_> = chunks.collect();
        columns.push(series(file, &chunks, field)?.into_column());
    }
    DataFrame::new(group.num_rows(), columns)
}

/// One column of a row group.
fn series(
    file: &File,
    chunks: &[&ColumnChunkMetadata],
    field: &ArrowField,
) -> PolarsResult<Series> {
    let mut pages = Vec::new();
    for chunk in chunks {
        let bytes = Buffer::from_vec(bytes(file, chunk)?);
        let reader = PageReader::new(std::io::Cursor::new(bytes), chunk, Vec::new(), usize::MAX);
        pages.push(BasicDecompressor::new(reader, Vec::new()));
    }
    let types = chunks
        .iter()
        .map(|chunk| &chunk.descriptor().descriptor.primitive_type)
        .collect();
    let (arrays, _) = column_iter_to_arrays(pages, types, field.clone(), None)?;
    Series::try_from((field, arrays))
}

fn bytes(file: &File, chunk: &ColumnChunkMetadata) -> PolarsResult<Vec<u8>> {
    let range = chunk.byte_range();
    let length = file.metadata()?.len();
    if range.end > length || range.start > range.end {
        polars_bail!(ComputeError: "a column lies at bytes {range:?} of a file of {length}");
    }
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes)
}
