//! The HTML reports in a browser: reports of the real recordings, of every shipped scenario in the sandbox, of many pods
//! and of hostile text are written, and `browser/run.mjs` looks at them in headless Chromium.
//!
//! It needs `chromium`, `node` and the packages of `browser/package-lock.json` (`npm ci` in that folder). Where one of
//! them is missing the test is left out with a message; in CI it fails. The reports and the pictures of
//! them stay in `target/browser-artifacts`.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "browser_reports/made_up.rs"]
mod made_up;
#[path = "../../reports/examples/sample/mod.rs"]
mod sample;
#[path = "browser_reports/shipped.rs"]
mod shipped;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rollscope_analyzer::{Analysis, analyze};
use rollscope_records::Recording;
use rollscope_reports::{
    Format, RunEntry, comparison_html, report_json, write_index, write_reports,
};
use rollscope_tests::{GoldenCase, Workdir, golden_cases, golden_recording};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");

#[test]
fn the_html_reports_work_in_a_browser() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    if let Some(missing) = missing(&scripts) {
        let ci = std::env::var_os("CI").is_some();
        assert!(!ci, "{missing} is missing, and this is CI");
        let message = format!("left out: the browser tests need {missing}\n");
        std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes()).unwrap();
        return;
    }
    let artifacts = artifacts();
    let reports = artifacts.join("reports");
    let mut pages = Pages::new(&reports);
    pages.golden();
    pages.jobs();
    pages.sandbox();
    pages.shipped();
    pages.made_up();
    pages.finish();
    let mut node = Command::new("node");
    node.arg("run.mjs").current_dir(&scripts);
    node.env("REPORTS", &reports).env("ARTIFACTS", &artifacts);
    assert!(
        node.status().unwrap().success(),
        "failed, see above; pictures are in {}",
        artifacts.display()
    );
}

/// What of that which the scripts need is not there.
fn missing(scripts: &Path) -> Option<&'static str> {
    let runs = |program: &str| {
        let version = Command::new(program).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let packages = ["playwright-core", "axe-core"]
        .iter()
        .all(|package| scripts.join("node_modules").join(package).is_dir());
    match () {
        () if !runs("node") => Some("node"),
        () if !runs(&chromium) => Some("chromium"),
        () if !packages => Some("its packages (`npm ci` in tests/browser)"),
        () => None,
    }
}

/// `target/browser-artifacts`, empty.
fn artifacts() -> PathBuf {
    let target = Path::new(PROGRAM).parent().unwrap().parent().unwrap();
    let dir = target.join("browser-artifacts");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// The pages for the browser, and `manifest.json` with what each of them must say.
struct Pages<'a> {
    dir: &'a Path,
    listed: Vec<Value>,
    entries: Vec<RunEntry>,
    analyses: Vec<Analysis>,
}

impl<'a> Pages<'a> {
    fn new(dir: &'a Path) -> Self {
        Self {
            dir,
            listed: Vec::new(),
            entries: Vec::new(),
            analyses: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, kind: &str, analysis: Analysis, recording: &Recording) {
        let formats = [Format::Html, Format::Json];
        write_reports(&self.dir.join(name), &formats, &analysis, recording).unwrap();
        let timeline = format!("{name}/timeline.html");
        let report = report_json(&analysis);
        self.entries
            .push(RunEntry::from_report(&report, Some(timeline.clone())).unwrap());
        let report: Value = serde_json::from_str(&report).unwrap();
        self.listed
            .push(json!({ "name": name, "kind": kind, "file": timeline, "report": report }));
        self.analyses.push(analysis);
    }

    /// The cause that the first screen of the page added last must name.
    fn expect_cause(&mut self, cause: Option<&str>) {
        self.listed.last_mut().unwrap()["cause"] = json!(cause);
    }

    fn golden(&mut self) {
        for case in golden_cases() {
            let into = tempfile::tempdir().unwrap();
            let recording = Recording::open(&golden_recording(&case, into.path())).unwrap();
            self.add(&case, "real", analyze(&recording), &recording);
        }
    }

    /// Runs written by hand whose jobs were lost, repeated or taken up by others.
    fn jobs(&mut self) {
        let cases = GoldenCase::all().into_iter();
        let mut with_jobs = 0;
        for case in cases.filter(|case| case.written().is_some()) {
            let recording = case.recording();
            if !recording.jobs.is_empty() {
                self.add(&case.name, "jobs", analyze(&recording), &recording);
                with_jobs += 1;
            }
        }
        assert!(with_jobs > 3, "{with_jobs} runs with jobs");
    }

    /// A run of the program, for every check; its watch events stand beside the page, for the panel to be held against.
    fn sandbox(&mut self) {
        let workdir = Workdir::new(PROGRAM);
        let run = workdir.run("scenarios/early-close.yaml");
        run.expect_exit(1);
        let recording = run.recording();
        self.add("sandbox", "sandbox", analyze(&recording), &recording);
        self.expect_cause(Some("early_close"));
        let watch = run.recording_dir().join("watch.jsonl");
        fs::copy(watch, self.dir.join("sandbox/watch.jsonl")).unwrap();
    }

    /// The other shipped scenarios, for which fewer checks are enough.
    fn shipped(&mut self) {
        for run in shipped::run_all(PROGRAM) {
            let name = format!("shipped-{}", run.name);
            self.add(&name, "shipped", analyze(&run.recording), &run.recording);
            self.expect_cause(run.cause);
        }
    }

    fn made_up(&mut self) {
        for (name, (analysis, recording)) in [
            ("clean", sample::clean()),
            ("invalid", sample::invalid()),
            ("many-pods", made_up::many_pods(120)),
        ] {
            self.add(name, name, analysis, &recording);
        }
        let (analysis, recording) = sample::poison::poisoned();
        self.add("hostile", "hostile", analysis, &recording);
    }

    fn finish(self) {
        write_index(self.dir, &self.entries).unwrap();
        let named = |name: &str| {
            let index = self.listed.iter().position(|listed| listed["name"] == name);
            &self.analyses[index.unwrap()]
        };
        let compared = [
            ("comparison.html", "a-graceful", "b-early-close"),
            ("comparison-hostile.html", "clean", "hostile"),
        ];
        for (file, before, after) in compared {
            let page = comparison_html(named(before), named(after));
            fs::write(self.dir.join(file), page).unwrap();
        }
        let others = ["index.html", "comparison.html", "comparison-hostile.html"];
        let manifest = json!({ "timelines": self.listed, "others": others });
        fs::write(self.dir.join("manifest.json"), manifest.to_string()).unwrap();
    }
}
