//! Logs -> rows, on as many threads as there are cores.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use rollscope_accesslogs::{LineError, Parser};

use crate::blocks::{self, Block};
use crate::rows::Rows;
use crate::{LogImportError, Sources};

/// Blocks that wait for a thread.
const WAITING: usize = 8;

/// Reads every log. Rows are kept that lie in one of `spans` (ns since the epoch, in order, apart), in order of time.
pub(crate) fn read(sources: &Sources, spans: &[(i64, i64)]) -> Result<Rows, LogImportError> {
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let (blocks, inbox) = sync_channel::<Block>(WAITING);
    let inbox = Mutex::new(inbox);
    thread::scope(|scope| {
        // Gone with this closure, also where a file cannot be read: then the threads end.
        let blocks = blocks;
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(sources, spans, &inbox)))
            .collect();
        let mut cut = Vec::new();
        for log in &sources.logs {
            if blocks::each(log, |block| blocks.send(block).is_ok())? {
                cut.push(log.display().to_string());
            }
        }
        drop(blocks);
        let mut all = Rows::default();
        for worker in workers {
            if let Ok(rows) = worker.join() {
                all.add(rows);
            }
        }
        all.cut = cut;
        all.rows.sort_by_key(|row| row.began);
        Ok(all)
    })
}

fn work(sources: &Sources, spans: &[(i64, i64)], inbox: &Mutex<Receiver<Block>>) -> Rows {
    let mut rows = Rows::default();
    let Ok(parser) = Parser::new(&sources.format, sources.zone_seconds) else {
        return rows;
    };
    let keep = |began: i64, over: i64| {
        let after = spans.partition_point(|(_, to)| *to <= began);
        spans.get(after).is_some_and(|(from, _)| *from <= over)
    };
    loop {
        let block = match inbox.lock() {
            Ok(inbox) => inbox.recv(),
            Err(_) => return rows,
        };
        let Ok(block) = block else {
            return rows;
        };
        let text = String::from_utf8_lossy(&block.bytes);
        for (number, line) in (block.first_line..).zip(text.split_terminator('\n')) {
            match parser.parse(line) {
                Ok(entry) => {
                    rows.lines += 1;
                    rows.take(&entry, line.trim_end_matches('\r'), keep);
                }
                Err(LineError::Empty) => {}
                Err(error) => {
                    rows.lines += 1;
                    rows.malformed.count(number, line, &error);
                }
            }
        }
    }
}
