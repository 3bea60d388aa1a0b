//! Programs that are put to the test, and what they leave behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rollscope_reports::REPORT_SCHEMA;
use rollscope_tests::{Finished, Workdir, violations, wait_until};

use super::PROGRAM;

/// A server in Node.js: `/?ms=N` answers after N ms, `/body?ms=N` in pieces over N ms. At SIGTERM it goes on for
/// `DELAY` ms, telling connections to close, then closes its listener, waits for its requests and ends with code 0. It
/// logs how many requests it had when the signal came.
pub(crate) const SERVER: &str = r#"
const http = require('node:http');
let draining = false, open = 0;
const server = http.createServer((req, res) => {
  const url = new URL(req.url, 'http://here');
  const ms = Number(url.searchParams.get('ms') ?? 0);
  open += 1;
  res.on('close', () => { open -= 1; });
  if (draining) res.setHeader('connection', 'close');
  if (url.pathname === '/body') {
    res.write('first piece\n');
    const more = setInterval(() => res.write('piece\n'), 20);
    setTimeout(() => { clearInterval(more); res.end('last piece\n'); }, ms);
  } else {
    setTimeout(() => res.end('ok\n'), ms);
  }
});
server.listen(Number(process.env.PORT), process.env.HOST, () => console.log(`listening on ${process.env.PORT}`));
process.on('SIGTERM', () => {
  if (draining) return;
  draining = true;
  console.log(`shutting down with ${open} open`);
  setTimeout(() => server.close(() => { console.log('drained'); process.exit(0); }), Number(process.env.DELAY ?? 2000));
});
"#;

/// A server that never learnt of SIGTERM.
pub(crate) const DEAF_SERVER: &str = r"
require('node:http').createServer((req, res) => res.end('ok\n')).listen(Number(process.env.PORT));
";

/// A folder with both servers, and a place for temporary files of its own.
pub(crate) fn workdir() -> Workdir {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("server.js", SERVER);
    workdir.write("deaf.js", DEAF_SERVER);
    fs::create_dir(workdir.path().join("tmp")).unwrap();
    workdir
}

/// Runs `rollscope signal` to its end, with the output in `out/`.
pub(crate) fn signal(workdir: &Workdir, flags: &[&str], command: &[&str]) -> Finished {
    let mut started = start(workdir, flags, command);
    let run = workdir.finished(started.output().unwrap());
    if run.out.join("report.json").exists() {
        let schema = serde_json::from_str(REPORT_SCHEMA).unwrap();
        assert_eq!(violations(&schema, &run.report()), Vec::<String>::new());
    }
    run
}

/// `rollscope signal`, not started yet.
pub(crate) fn start(workdir: &Workdir, flags: &[&str], command: &[&str]) -> std::process::Command {
    let mut args = vec!["signal", "--out", "out"];
    if !flags.contains(&"--endpoint-lag") {
        args.extend(["--endpoint-lag", "500ms"]);
    }
    args.extend(flags);
    if !command.is_empty() {
        args.push("--");
        args.extend(command);
    }
    let mut started = workdir.command(&args);
    started.env("TMPDIR", workdir.path().join("tmp"));
    started
}

/// Fails while a process runs that descends from a run in this folder, or a temporary file is left.
pub(crate) fn nothing_is_left(workdir: &Workdir) {
    let folder = workdir.path().join("tmp").to_str().unwrap().to_owned();
    let left = || any_process("environ", &folder);
    wait_until("the end of every process", Duration::from_secs(20), || {
        !left()
    });
    let files: Vec<_> = fs::read_dir(workdir.path().join("tmp")).unwrap().collect();
    assert!(files.is_empty(), "{files:?}");
}

/// Whether a process runs that has `text` in that file of its own in `/proc`, this one apart.
pub(crate) fn any_process(file: &str, text: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|p| p.file_name() != *std::process::id().to_string())
        .filter_map(|p| fs::read(p.path().join(file)).ok())
        .any(|content| content.windows(text.len()).any(|w| w == text.as_bytes()))
}

/// A length of time in seconds that no other test sleeps for: a mark on a command line.
pub(crate) fn own_sleep(workdir: &Workdir) -> String {
    let unique = workdir
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let digits: String = unique.bytes().map(|b| char::from(b'0' + b % 10)).collect();
    format!("9{}.{}", std::process::id(), &digits[digits.len() - 6..])
}

/// The log lines that the recording has of the program.
pub(crate) fn log(path: &Path) -> String {
    fs::read_to_string(path.join("logs.jsonl")).unwrap()
}
