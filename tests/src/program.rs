//! A run of the program under test in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rollscope_records::Recording;
use serde_json::Value;

use crate::Ledgers;

/// The folder of the shipped scenarios.
pub(crate) fn shipped() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap().join("scenarios")
}

/// A temporary folder with a copy of the shipped scenarios, in which the subjects keep ledgers.
#[derive(Debug)]
pub struct Workdir {
    dir: tempfile::TempDir,
    program: PathBuf,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The process's exit code; `None` when a signal ended it.
    pub exit_code: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
    /// The folder given as `--out`.
    pub out: PathBuf,
}

impl Workdir {
    /// A new folder for `program`.
    pub fn new(program: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workdir = Self {
            dir,
            program: PathBuf::from(program),
        };
        fs::create_dir(workdir.ledger_dir()).unwrap();
        for folder in ["", "manifests", "node", "node/manifests"] {
            workdir.copy(folder);
        }
        workdir
    }

    /// Copies a folder of the shipped scenarios.
    fn copy(&self, folder: &str) {
        let copy = self.path().join("scenarios").join(folder);
        fs::create_dir_all(&copy).unwrap();
        for entry in fs::read_dir(shipped().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "yaml") {
                let text = fs::read_to_string(&path).unwrap();
                let text = match folder {
                    "manifests" => self.with_ledger(&text),
                    "node/manifests" => self.with_node_ledger(&text),
                    _ => text,
                };
                fs::write(copy.join(path.file_name().unwrap()), text).unwrap();
            }
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    fn ledger_dir(&self) -> PathBuf {
        self.path().join("ledgers")
    }

    /// The manifest, with the one variable more that makes its subjects keep ledgers.
    fn with_ledger(&self, manifest: &str) -> String {
        const SUBJECT: &str = "            - name: SUBJECT\n";
        assert!(
            manifest.contains(SUBJECT),
            "a manifest without a subject:\n{manifest}"
        );
        let ledger = format!(
            "            - name: SUBJECT_LEDGER\n              value: {}\n{SUBJECT}",
            self.ledger_dir().display()
        );
        manifest.replace(SUBJECT, &ledger)
    }

    /// The same for a manifest whose command is a Node.js subject's, which stays where it is.
    fn with_node_ledger(&self, manifest: &str) -> String {
        const FOLDER: &str = "workingDir: ../../subjects/";
        const ENV: &str = "          env:\n";
        const PORTS: &str = "          ports:\n";
        assert!(
            manifest.contains(FOLDER),
            "a manifest without a subject's folder:\n{manifest}"
        );
        let there = format!("workingDir: {}/", shipped().join("subjects").display());
        let ledger = format!(
            "{ENV}            - name: SUBJECT_LEDGER\n              value: {}\n",
            self.ledger_dir().display()
        );
        let manifest = manifest.replace(FOLDER, &there);
        match manifest.contains(ENV) {
            true => manifest.replacen(ENV, &ledger, 1),
            false => manifest.replacen(PORTS, &(ledger + PORTS), 1),
        }
    }

    /// Writes a file below the folder and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A shipped scenario's text with replacements made in it (each must occur), written beside the others.
    pub fn variant(&self, of: &str, name: &str, changes: &[(&str, &str)]) -> PathBuf {
        let mut text =
            fs::read_to_string(self.path().join(format!("scenarios/{of}.yaml"))).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{from:?} is not in {of}.yaml:\n{text}");
            text = text.replace(from, to);
        }
        self.write(&format!("scenarios/{name}.yaml"), &text)
    }

    /// The program with arguments, in this folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn rollscope(&self, args: &[&str]) -> Finished {
        self.finished(self.command(args).output().unwrap())
    }

    /// Runs a scenario file to its end, with the output in `out/`.
    pub fn run(&self, scenario: &str) -> Finished {
        self.rollscope(&["run", scenario, "--out", "out"])
    }

    /// What a process that was started here has left behind.
    pub fn finished(&self, output: Output) -> Finished {
        Finished {
            exit_code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            out: self.path().join("out"),
        }
    }

    /// The subjects' ledgers.
    pub fn ledgers(&self) -> Ledgers {
        Ledgers::read(&self.ledger_dir())
    }
}

impl Finished {
    /// The exit code; fails with everything that was printed when it is another.
    pub fn expect_exit(&self, code: i32) -> &Self {
        let Self {
            exit_code,
            stdout,
            stderr,
            ..
        } = self;
        assert_eq!(
            *exit_code,
            Some(code),
            "stdout:\n{stdout}\nstderr:\n{stderr}"
        );
        self
    }

    /// `report.json`.
    pub fn report(&self) -> Value {
        self.json("report.json")
    }

    /// A JSON file of the output folder.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.out.join(name)).unwrap()).unwrap()
    }

    /// The recording.
    pub fn recording(&self) -> Recording {
        Recording::open(&self.recording_dir()).unwrap()
    }

    /// The recording's folder.
    pub fn recording_dir(&self) -> PathBuf {
        self.out.join("recording.rollscope")
    }

    /// Failed requests by cause.
    pub fn causes(&self) -> BTreeMap<String, u64> {
        let mut causes = BTreeMap::new();
        for burst in self.report()["bursts"].as_array().unwrap() {
            *causes
                .entry(burst["cause"].as_str().unwrap().to_owned())
                .or_default() += burst["failed"].as_u64().unwrap();
        }
        causes
    }
}
