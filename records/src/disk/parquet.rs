//! `<name>.parquet`: the same rows once the run has ended, for notebooks and for a fast second analysis.

use std::path::Path;

use polars::prelude::*;

use super::columns::Row;
use super::{ReadError, WriteError};
use crate::RequestRecord;

/// Writes all rows into one file.
pub(crate) fn write<R: Row>(dir: &Path, rows: &[R]) -> Result<(), WriteError> {
    WriteError::write_whole(&dir.join(format!("{}.parquet", R::FILE)), &encode(rows)?)
}

/// Requests as the bytes of a Parquet file, a row each, as they lie in a recording that has ended.
///
/// # Errors
///
/// [`WriteError::Encode`] when the rows cannot be encoded.
pub fn requests_parquet(requests: &[RequestRecord]) -> Result<Vec<u8>, WriteError> {
    encode(requests)
}

fn encode<R: Row>(rows: &[R]) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Zstd(None))
        .set_parallel(false)
        .finish(&mut R::to_frame(rows)?)?;
    Ok(bytes)
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
