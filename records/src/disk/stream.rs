//! `<name>.arrows`: rows in an Arrow IPC stream while the run goes on, with a checksum a batch beside it.
//!
//! The stream is an ordinary Arrow IPC stream. `<name>.arrows.crc` has one line for each message of it, the schema
//! first: `<offset> <length> <crc32 in hex>`. A stream that was cut (the tool was killed) is readable to its last
//! complete batch; a damaged batch is found by its checksum and left out, and the reader says so.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use polars::prelude::*;
use polars_arrow::io::ipc::write::{Compression, StreamWriter, WriteOptions};

use super::columns::Stored;
use super::{ReadError, WriteError};
use crate::table::Place;
use crate::{Loss, Table};

/// End of an Arrow IPC stream: a continuation mark and a length of zero.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Writes rows, a batch at a time.
pub(crate) struct RowStream<C> {
    arrows: File,
    checksums: File,
    path: PathBuf,
    offset: usize,
    /// The first place of each batch.
    firsts: Vec<Place>,
    rows: PhantomData<C>,
}

impl<C: Stored> RowStream<C> {
    /// Creates both files in `dir` and writes the schema.
    pub(crate) fn create(dir: &Path) -> Result<Self, WriteError> {
        let path = dir.join(format!("{}.arrows", C::FILE));
        let mut stream = Self {
            arrows: WriteError::create(&path)?,
            checksums: WriteError::create(&path.with_extension("arrows.crc"))?,
            path,
            offset: 0,
            firsts: Vec::new(),
            rows: PhantomData,
        };
        let (schema, _) = encode::<C>(&[])?;
        stream.write(&schema)?;
        Ok(stream)
    }

    /// Appends one batch. When this returns, the batch survives the end of this process.
    pub(crate) fn append(&mut self, rows: &[C::Row<'_>]) -> Result<(), WriteError> {
        let Some(first) = rows.iter().map(|row| C::place(*row)).min() else {
            return Ok(());
        };
        let (_, batch) = encode::<C>(rows)?;
        self.write(&batch)?;
        self.firsts.push(first);
        Ok(())
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

    /// Ends the stream, so that ordinary Arrow readers accept it. Returns the first place of each of its batches.
    pub(crate) fn end(mut self) -> Result<Vec<Place>, WriteError> {
        self.arrows
            .write_all(&END_OF_STREAM)
            .map_err(|source| WriteError::Io {
                path: self.path,
                source,
            })?;
        Ok(self.firsts)
    }
}

/// The schema's message and the batch's, as they stand in a stream. No rows, no batch.
fn encode<C: Stored>(rows: &[C::Row<'_>]) -> PolarsResult<(Vec<u8>, Vec<u8>)> {
    let frame = C::frame(rows)?;
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
pub(crate) fn read<C: Stored>(dir: &Path, losses: &mut Vec<Loss>) -> Result<Table<C>, ReadError> {
    let mut table = Table::default();
    let mut batches = Batches::<C>::open(dir)?;
    while batches.next(&mut table)? {}
    losses.append(&mut batches.losses);
    Ok(table)
}

/// Reads the batches of a stream one after the other, so that no more than one of them is in memory.
pub(crate) struct Batches<C> {
    arrows: File,
    path: PathBuf,
    schema: Vec<u8>,
    messages: std::vec::IntoIter<Message>,
    number: usize,
    /// Where the last batch ends.
    end: u64,
    /// What is cut or damaged so far.
    pub(crate) losses: Vec<Loss>,
    rows: PhantomData<C>,
}

impl<C: Stored> Batches<C> {
    /// Opens the stream in `dir`.
    pub(crate) fn open(dir: &Path) -> Result<Self, ReadError> {
        let file = format!("{}.arrows", C::FILE);
        let path = dir.join(&file);
        let arrows = File::open(&path).map_err(|source| ReadError::Io {
            path: path.clone(),
            source,
        })?;
        let checksums = std::fs::read_to_string(dir.join(format!("{file}.crc")));
        let checksums = checksums.unwrap_or_default();
        let mut messages: Vec<_> = checksums.lines().map_while(parse_message).collect();
        let end = messages
            .last()
            .map_or(0, |m| m.offset.saturating_add(m.length as u64));
        let mut batches = Self {
            arrows,
            path,
            schema: Vec::new(),
            messages: Vec::new().into_iter(),
            number: 0,
            end,
            losses: Vec::new(),
            rows: PhantomData,
        };
        if messages.is_empty() {
            batches.lose("the list of checksums is missing or empty: no batch can be trusted");
            return Ok(batches);
        }
        match batches.undamaged(&messages.remove(0))? {
            Some(schema) => {
                batches.schema = schema;
                batches.messages = messages.into_iter();
                batches.check_end()?;
            }
            None => batches.lose("the schema at the beginning is damaged: nothing can be read"),
        }
        Ok(batches)
    }

    /// Appends the rows of the next batch that is whole and undamaged; `false` after the last one.
    pub(crate) fn next(&mut self, table: &mut Table<C>) -> Result<bool, ReadError> {
        while let Some(message) = self.messages.next() {
            let number = self.number;
            self.number += 1;
            let batch = self.undamaged(&message)?;
            match batch.map(|batch| decode(&self.schema, &batch, table)) {
                Some(Ok(())) => return Ok(true),
                Some(Err(e)) => self.lose(format!("batch {number} cannot be decoded: {e}")),
                None => self.lose(format!("batch {number} is cut or damaged")),
            }
        }
        Ok(false)
    }

    fn lose(&mut self, what: impl Into<String>) {
        self.losses.push(Loss {
            file: format!("{}.arrows", C::FILE),
            what: what.into(),
        });
    }

    /// The bytes of a message, if they are all there and as they were written.
    fn undamaged(&mut self, message: &Message) -> Result<Option<Vec<u8>>, ReadError> {
        let bytes = self.bytes(message.offset, message.length as u64)?;
        let whole = bytes.len() == message.length && crc32fast::hash(&bytes) == message.checksum;
        Ok(whole.then_some(bytes))
    }

    /// Up to `most` bytes from `offset` on.
    fn bytes(&mut self, offset: u64, most: u64) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let read = self.arrows.seek(SeekFrom::Start(offset));
        let read = read.and_then(|_| (&self.arrows).take(most).read_to_end(&mut bytes));
        read.map_err(|source| ReadError::Io {
            path: self.path.clone(),
            source,
        })?;
        Ok(bytes)
    }

    /// What follows the last batch must be the end of the stream, or nothing.
    fn check_end(&mut self) -> Result<(), ReadError> {
        let io = |source| ReadError::Io {
            path: self.path.clone(),
            source,
        };
        let length = self.arrows.metadata().map_err(io)?.len();
        let rest = length.saturating_sub(self.end);
        let ended =
            rest == END_OF_STREAM.len() as u64 && self.bytes(self.end, rest)? == END_OF_STREAM;
        if rest > 0 && !ended {
            self.lose(format!(
                "{rest} bytes at the end belong to no complete batch"
            ));
        }
        Ok(())
    }
}

struct Message {
    offset: u64,
    length: usize,
    checksum: u32,
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

fn decode<C: Stored>(schema: &[u8], batch: &[u8], table: &mut Table<C>) -> PolarsResult<()> {
    let stream = [schema, batch, &END_OF_STREAM].concat();
    let frame = IpcStreamReader::new(Cursor::new(stream)).finish()?;
    table.columns.append(&frame)
}
