//! `<name>.parquet`: the same rows once the run has ended, for notebooks and for a fast second analysis.

use std::fs::File;
use std::ops::RangeBounds;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use polars::prelude::*;
use polars_buffer::Buffer;
use polars_parquet::read::{
    BasicDecompressor, ColumnChunkMetadata, PageReader, RowGroupMetadata, column_iter_to_arrays,
    infer_schema, read_metadata,
};

use super::columns::Stored;
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

/// Reads all rows.
pub(crate) fn read<C: Stored>(dir: &Path) -> Result<Table<C>, ReadError> {
    let groups = RowGroups::open(dir.join(format!("{}.parquet", C::FILE)))?;
    Ok(Table {
        columns: C::read(&groups)?,
    })
}

/// A Parquet file that is read a column of a row group at a time.
pub(crate) struct RowGroups {
    file: File,
    length: u64,
    groups: Vec<RowGroupMetadata>,
    schema: ArrowSchema,
}

impl RowGroups {
    fn open(path: PathBuf) -> Result<Self, ReadError> {
        let io = |source| ReadError::Io {
            path: path.clone(),
            source,
        };
        let mut file = File::open(&path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let metadata = read_metadata(&mut file)?;
        Ok(Self {
            schema: infer_schema(&metadata)?,
            groups: metadata.row_groups,
            file,
            length,
        })
    }

    /// How many row groups there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// A column of a row group as that type; nulls where the file has no such column.
    pub(crate) fn series(&self, group: usize, name: &str, to: &DataType) -> PolarsResult<Series> {
        let group = &self.groups[group];
        let field = self.schema.get(name);
        let chunks = group.columns_under_root_iter(name);
        let (Some(field), Some(chunks)) = (field, chunks) else {
            return Ok(Series::full_null(name.into(), group.num_rows(), to));
        };
        let series = self.decoded(&chunks.collect::<Vec<_>>(), field)?;
        if series.len() != group.num_rows() {
            polars_bail!(ComputeError: "column {name:?} has {} values for {} rows", series.len(), group.num_rows());
        }
        if series.dtype() == to {
            return Ok(series);
        }
        series.cast(to)
    }

    fn decoded(&self, chunks: &[&ColumnChunkMetadata], field: &ArrowField) -> PolarsResult<Series> {
        let mut pages = Vec::new();
        for chunk in chunks {
            let bytes = Buffer::from_vec(self.bytes(chunk)?);
            let reader =
                PageReader::new(std::io::Cursor::new(bytes), chunk, Vec::new(), usize::MAX);
            pages.push(BasicDecompressor::new(reader, Vec::new()));
        }
        let types = chunks
            .iter()
            .map(|chunk| &chunk.descriptor().descriptor.primitive_type)
            .collect();
        let (arrays, _) = column_iter_to_arrays(pages, types, field.clone(), None)?;
        Series::try_from((field, arrays))
    }

    fn bytes(&self, chunk: &ColumnChunkMetadata) -> PolarsResult<Vec<u8>> {
        let range = chunk.byte_range();
        if range.end > self.length || range.start > range.end {
            polars_bail!(ComputeError: "a column lies at bytes {range:?} of a file of {}", self.length);
        }
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.file.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use crate::{Lane, Outcome, Phase, RequestRecord, RunOffset};

    /// Requests of every kind, with texts short and long, and fields that some lack.
    fn requests(count: u64) -> Requests {
        let some = |i: u64, every: u64| i.is_multiple_of(every);
        let one = |i: u64| {
            let due = RunOffset((i * 100_000) as i64);
            let after = |nanos: u64| Some(due.plus_nanos(nanos.cast_signed()));
            RequestRecord {
                dispatched: after(i % 977).filter(|_| !some(i, 5)),
                ended: after(i * 31 % 5_000_000_000).filter(|_| !some(i, 7)),
                connection: Some(u64::MAX - i / 9).filter(|_| !some(i, 11)),
                ordinal: u32::try_from(i % 3 * 2_000_000_000).ok(),
                local_port: Some((i % 65_536) as u16).filter(|_| i > 9_000),
                peer: Some(format!("10.244.0.{}:8080 by a long name", i % 300))
                    .filter(|_| !some(i, 3)),
                pod: Some(format!("web-{}", i % 1500)),
                status: Some(200).filter(|_| !some(i, 2)),
                outcome: Outcome::ALL[i as usize / 100 % Outcome::ALL.len()],
                phase: Phase::ALL[i as usize % Phase::ALL.len()],
                reused: some(i, 4),
                close_received: some(i, 6),
                maskable: some(i, 13),
                bytes_received: i << 20,
                ..RequestRecord::scheduled(i, Lane::ALL[i as usize % Lane::ALL.len()], "list", due)
            }
        };
        (0..count).map(one).collect()
    }

    /// Writes a frame with row groups of that size and reads it.
    fn read_back(mut frame: DataFrame, group: usize) -> Result<Requests, ReadError> {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join("requests.parquet")).unwrap();
        let out = writer(file).with_row_group_size(Some(group));
        out.finish(&mut frame).unwrap();
        read(dir.path())
    }

    #[test]
    fn rows_come_back_whatever_the_size_of_the_row_groups() {
        let requests = requests(20_000);
        let written = frame(&requests, ..).unwrap();
        for group in [999, 4096, 12_345, 50_000] {
            assert_eq!(read_back(written.clone(), group).unwrap(), requests);
        }
    }

    #[test]
    fn columns_of_other_types_and_absent_ones_are_read_as_far_as_they_go() {
        let mut written = frame(&requests(5_000), ..).unwrap();
        for column in ["pod", "maskable", "bytes_sent"] {
            written = written.drop(column).unwrap();
        }
        for (column, to) in [("seq", DataType::Int64), ("status", DataType::Int64)] {
            let other = written.column(column).unwrap().cast(&to).unwrap();
            let _ = written.with_column(other).unwrap();
        }
        let mut expected = requests(5_000);
        expected.edit_each(|r| (r.pod, r.maskable, r.bytes_sent) = (None, false, 0));
        assert_eq!(read_back(written, 3_000).unwrap(), expected);
    }

    #[test]
    fn a_row_without_what_every_row_has_is_an_error() {
        let whole = frame(&requests(100), ..).unwrap();
        for column in ["seq", "scheduled", "lane", "outcome", "phase"] {
            let error = read_back(whole.drop(column).unwrap(), 100).unwrap_err();
            assert!(error.to_string().contains(column), "{error}");
        }
        let mut unknown = whole;
        let teleported = Column::new("outcome".into(), vec!["teleported"; 100]);
        let _ = unknown.with_column(teleported).unwrap();
        let error = read_back(unknown, 100).unwrap_err().to_string();
        assert!(error.contains("teleported"), "{error}");
    }
}
