//! `<name>.parquet`: the same rows once the run has ended, for notebooks and for a fast second analysis.

use std::path::Path;

use polars::prelude::*;

use super::columns::Row;
use super::{ReadError, WriteError};

/// Writes all rows into one file; returns the CRC-32 of its bytes.
pub(crate) fn write<R: Row>(dir: &Path, rows: &[R]) -> Result<u32, WriteError> {
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Zstd(None))
        .set_parallel(false)
        .finish(&mut R::to_frame(rows)?)?;
    WriteError::write_whole(&dir.join(format!("{}.parquet", R::FILE)), &bytes)?;
    Ok(crc32fast::hash(&bytes))
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
