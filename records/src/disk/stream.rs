//! `<name>.arrows`: rows in an Arrow IPC stream while the run goes on, with a checksum a batch beside it.
//!
//! The stream is an ordinary Arrow IPC stream. `<name>.arrows.crc` has one line for each message of it, the schema
//! first: `<offset> <length> <crc32 in hex>`. A stream that was cut (the tool was killed) is readable to its last
//! complete batch; a damaged batch is found by its checksum and left out, and the reader says so.

use std::fs::File;
use std::io::{Cursor, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use polars::prelude::*;
use polars_arrow::io::ipc::write::{Compression, StreamWriter, WriteOptions};

use super::columns::Row;
use super::{ReadError, WriteError};
use crate::Loss;

/// End of an Arrow IPC stream: a continuation mark and a length of zero.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Writes rows, a batch at a time.
pub(crate) struct RowStream<R> {
    arrows: File,
    checksums: File,
    path: PathBuf,
    offset: usize,
    rows: PhantomData<R>,
}

impl<R: Row> RowStream<R> {
    /// Creates both files in `dir` and writes the schema.
    pub(crate) fn create(dir: &Path) -> Result<Self, WriteError> {
        let path = dir.join(format!("{}.arrows", R::FILE));
        let mut stream = Self {
            arrows: WriteError::create(&path)?,
            checksums: WriteError::create(&path.with_extension("arrows.crc"))?,
            path,
            offset: 0,
            rows: PhantomData,
        };
        let (schema, _) = encode::<R>(&[])?;
        stream.write(&schema)?;
        Ok(stream)
    }

    /// Appends one batch. When this returns, the batch survives the end of this process.
    pub(crate) fn append(&mut self, rows: &[R]) -> Result<(), WriteError> {
        let (_, batch) = encode(rows)?;
        self.write(&batch)
    }

    fn write(&mut self, message: &[u8]) -> Result<(), WriteError> {
        let (offset, length, checksum) = (self.offset, message.len(), crc32fast::hash(message));
        self.arrows
            .write_all(message)
            .and_then(|()| writeln!(self.checksums, "{offset} {length} {checksum:08x}"))
            .map_err(|source| WriteError::Io {
                path: self.path.clone(),
                source,
            })?;
        self.offset += length;
        Ok(())
    }

    /// Ends the stream, so that ordinary Arrow readers accept it.
    pub(crate) fn end(mut self) -> Result<(), WriteError> {
        self.arrows
            .write_all(&END_OF_STREAM)
            .map_err(|source| WriteError::Io {
                path: self.path,
                source,
            })
    }
}

/// The schema's message and the batch's, as they stand in a stream. No rows, no batch.
fn encode<R: Row>(rows: &[R]) -> PolarsResult<(Vec<u8>, Vec<u8>)> {
    let frame = R::to_frame(rows)?;
    let options = WriteOptions {
        compression: Some(Compression::LZ4),
    };
    let mut schema = Vec::new();
    let mut encoder = StreamWriter::new(&mut schema, options);
    encoder.start(&frame.schema().to_arrow(CompatLevel::oldest()), None)?;
    if !rows.is_empty() {
        for batch in frame.iter_chunks(CompatLevel::oldest(), false) {
            encoder.write(&batch, None)?;
        }
    }
    let batch = schema.split_off(schema_length(&schema));
    Ok((schema, batch))
}

/// Length of the first message: its prefix (mark and length) and its metadata; a schema has no body.
fn schema_length(stream: &[u8]) -> usize {
    let length = stream
        .get(4..8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u32::from_le_bytes);
    8 + length as usize
}

/// Reads every batch that is whole and undamaged; says in `losses` what is not.
pub(crate) fn read<R: Row>(dir: &Path, losses: &mut Vec<Loss>) -> Result<Vec<R>, ReadError> {
    let file = format!("{}.arrows", R::FILE);
    let path = dir.join(&file);
    let bytes = std::fs::read(&path).map_err(|source| ReadError::Io { path, source })?;
    let mut lose = |what: String| {
        losses.push(Loss {
            file: file.clone(),
            what,
        })
    };
    let checksums = std::fs::read_to_string(dir.join(format!("{file}.crc"))).unwrap_or_default();
    let messages: Vec<_> = checksums.lines().map_while(parse_message).collect();
    let Some((schema, batches)) = messages.split_first() else {
        lose("the list of checksums is missing or empty: no batch can be trusted".to_owned());
        return Ok(Vec::new());
    };
    let Some(schema) = schema.undamaged(&bytes) else {
        lose("the schema at the beginning is damaged: nothing can be read".to_owned());
        return Ok(Vec::new());
    };
    let mut rows = Vec::new();
    for (number, message) in batches.iter().enumerate() {
        match message.undamaged(&bytes).map(|batch| decode(schema, batch)) {
            Some(Ok(mut batch)) => rows.append(&mut batch),
            Some(Err(e)) => lose(format!("batch {number} cannot be decoded: {e}")),
            None => lose(format!("batch {number} is cut or damaged")),
        }
    }
    let end = messages.last().map_or(0, |m| m.offset + m.length);
    let rest = bytes.len().saturating_sub(end);
    if rest > 0 && bytes.get(end..) != Some(&END_OF_STREAM) {
        lose(format!(
            "{rest} bytes at the end belong to no complete batch"
        ));
    }
    Ok(rows)
}

struct Message {
    offset: usize,
    length: usize,
    checksum: u32,
}

impl Message {
    fn undamaged<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let message = bytes.get(self.offset..self.offset.checked_add(self.length)?)?;
        (crc32fast::hash(message) == self.checksum).then_some(message)
    }
}

fn parse_message(line: &str) -> Option<Message> {
    let mut fields = line.split(' ');
    let (offset, length) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let checksum = fields.next().filter(|c| c.len() == 8)?;
    Some(Message {
        offset,
        length,
        checksum: u32::from_str_radix(checksum, 16).ok()?,
    })
}

fn decode<R: Row>(schema: &[u8], batch: &[u8]) -> PolarsResult<Vec<R>> {
    let stream = [schema, batch, &END_OF_STREAM].concat();
    R::from_frame(&IpcStreamReader::new(Cursor::new(stream)).finish()?)
}
