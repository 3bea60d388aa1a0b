//! `<name>.parquet`: the same rows once the run has ended, for notebooks and for a fast second analysis.

use std::path::Path;

use polars::prelude::*;

use super::columns::{Place, Row};
use super::stream::Batches;
use super::{ReadError, WriteError};
use crate::RequestRecord;

/// Rows of a row group at least, except of the last one.
const ROW_GROUP: usize = 1 << 15;

/// Writes the rows of the stream in `dir` into one file, in their order, without ever holding all of them: `firsts` has
/// the first place of each batch, so that a row is known to be the next one as soon as no later batch has an earlier
/// row. A row that was lost on the way is an error.
pub(crate) fn from_stream<R: Row>(dir: &Path, firsts: &[Place]) -> Result<(), WriteError> {
    let path = dir.join(format!("{}.parquet", R::FILE));
    let io = |source| WriteError::Io {
        path: path.clone(),
        source,
    };
    let unreadable = |e: ReadError| io(std::io::Error::other(e));
    WriteError::whole(&path, |file| {
        let mut batches = Batches::<R>::open(dir).map_err(unreadable)?;
        let mut out = writer(file).batched(R::to_frame(&[])?.schema())?;
        let mut waiting: Vec<R> = Vec::new();
        let earliest = earliest_of_the_rest(firsts);
        for number in 0.. {
            let Some(mut batch) = batches.next().map_err(unreadable)? else {
                break;
            };
            waiting.append(&mut batch);
            waiting.sort_by_key(Row::place);
            let ready = match earliest.get(number + 1) {
                Some(later) => waiting.partition_point(|row| row.place() < *later),
                None => waiting.len(),
            };
            if ready >= ROW_GROUP {
                let rest = waiting.split_off(ready);
                out.write_batch(&R::to_frame(&waiting)?)?;
                waiting = rest;
            }
        }
        if let Some(loss) = batches.losses.first() {
            return Err(io(std::io::Error::other(loss.what.clone())));
        }
        out.write_batch(&R::to_frame(&waiting)?)?;
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
pub fn requests_parquet(requests: &[RequestRecord]) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    writer(&mut bytes).finish(&mut RequestRecord::to_frame(requests)?)?;
    Ok(bytes)
}

fn writer<W: std::io::Write>(to: W) -> ParquetWriter<W> {
    ParquetWriter::new(to)
        .with_compression(ParquetCompression::Zstd(None))
        .set_parallel(false)
}

/// Reads all rows, if the file's bytes have that checksum.
pub(crate) fn read<R: Row>(dir: &Path, checksum: Option<u32>) -> Result<Vec<R>, ReadError> {
    let path = dir.join(format!("{}.parquet", R::FILE));
    let bytes = std::fs::read(&path).map_err(|source| ReadError::Io {
        path: path.clone(),
        source,
    })?;
    if checksum.is_some_and(|c| c != crc32fast::hash(&bytes)) {
        return Err(ReadError::Damaged { path });
    }
    let frame = ParquetReader::new(std::io::Cursor::new(bytes))
        .read_parallel(ParallelStrategy::None)
        .finish()?;
    Ok(R::from_frame(&frame)?)
}
