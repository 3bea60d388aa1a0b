//! Numbers agree everywhere: all outputs of one run are read back and compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use rollscope_analyzer::{Analysis, analyze};
use rollscope_records::{Outcome, Recording};
use rollscope_reports::{Format, github_annotations, summary, write_reports};
use rollscope_tests::{golden_cases, golden_recording};
use serde_json::Value;

/// What every output is held against, counted here from the rows.
struct Counts {
    planned: u64,
    sent: u64,
    ok: u64,
    failed: u64,
    answered: u64,
    outcomes: BTreeMap<String, u64>,
}

impl Counts {
    fn of(recording: &Recording) -> Self {
        let count = |test: fn(Outcome) -> bool| {
            recording
                .requests
                .iter()
                .filter(|r| test(r.outcome))
                .count() as u64
        };
        let mut outcomes = BTreeMap::new();
        for r in &recording.requests {
            *outcomes.entry(r.outcome.as_str().to_owned()).or_insert(0) += 1;
        }
        Self {
            planned: count(|_| true),
            sent: count(|o| o != Outcome::Dropped),
            ok: count(|o| o == Outcome::Ok),
            failed: count(Outcome::is_failure),
            answered: count(|o| matches!(o, Outcome::Ok | Outcome::Status)),
            outcomes,
        }
    }

    fn words(&self) -> String {
        format!(
            "{} of {} requests failed",
            with_commas(self.failed),
            with_commas(self.sent)
        )
    }
}

fn with_commas(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(|g| std::str::from_utf8(g).unwrap()).collect();
    groups.join(",")
}

/// A column of the page's table of requests, whose numbers are not negative.
fn column(table: &Value, name: &str) -> Vec<Option<usize>> {
    let column = &table["columns"][name];
    if let Some(digits) = column["digits"].as_str() {
        let digit = |c: char| c.to_digit(36).map(|n| n as usize);
        return digits.chars().map(digit).collect();
    }
    if let Some(each) = column["each"].as_array() {
        let number = |n: &Value| usize::try_from(n.as_i64().unwrap() - 1).ok();
        return each.iter().map(number).collect();
    }
    if let Some(steps) = column["steps"].as_array() {
        let steps = steps.iter().map(|n| n.as_i64().unwrap());
        let add = |last: &mut i64, step| {
            *last += step;
            Some(usize::try_from(*last).ok())
        };
        return steps.scan(0, add).collect();
    }
    let all = column["all"].as_u64().map(|n| n as usize);
    vec![all; usize::try_from(table["count"].as_u64().unwrap()).unwrap()]
}

struct Outputs<'a> {
    dir: &'a Path,
    counts: Counts,
    analysis: Analysis,
}

impl Outputs<'_> {
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    fn contains(&self, what: &str, text: &str, part: &str) {
        assert!(text.contains(part), "{what} does not say {part:?}:\n{text}");
    }

    fn report(&self) {
        let requests = &self.json("report.json")["requests"];
        let c = &self.counts;
        for (name, n) in [
            ("planned", c.planned),
            ("sent", c.sent),
            ("ok", c.ok),
            ("failed", c.failed),
        ] {
            assert_eq!(requests[name], n, "report.json: {name}");
        }
        let outcomes: BTreeMap<String, u64> =
            serde_json::from_value(requests["by_outcome"].clone()).unwrap();
        assert_eq!(outcomes, c.outcomes, "report.json");
    }

    fn junit(&self) {
        let (c, text) = (&self.counts, self.text("junit.xml"));
        let line = format!(
            "planned {} = sent {} + dropped {}; sent = ok {} + failed {} + aborted",
            c.planned,
            c.sent,
            c.planned - c.sent,
            c.ok,
            c.failed
        );
        self.contains("junit.xml", &text, &line);
        let bursts: u64 = text
            .lines()
            .filter_map(|l| {
                l.strip_prefix("burst ")?
                    .split(": ")
                    .nth(1)?
                    .split(' ')
                    .next()?
                    .replace(',', "")
                    .parse::<u64>()
                    .ok()
            })
            .sum();
        assert_eq!(
            bursts,
            c.failed - self.analysis.unattributed,
            "junit.xml: bursts"
        );
    }

    fn markdown(&self) {
        let (c, text) = (&self.counts, self.text("summary.md"));
        self.contains("summary.md", &text, &c.words());
        let row = text
            .lines()
            .skip_while(|l| !l.starts_with("|--"))
            .nth(1)
            .unwrap();
        let cells: Vec<_> = row
            .split('|')
            .map(|cell| cell.trim().replace(',', ""))
            .collect();
        let expected = [c.planned, c.sent, c.ok, c.failed].map(|n| n.to_string());
        assert_eq!(cells[1..5], expected, "summary.md");
    }

    fn words(&self) {
        let words = self.counts.words();
        self.contains("the figure", &self.text("figures/timeline.svg"), &words);
        if self.counts.failed > 0 {
            let annotations = github_annotations(&self.analysis);
            self.contains("the annotations", &annotations, &words);
        }
        self.contains(
            "the terminal",
            &summary(&self.analysis, "timeline.html", 100, false),
            &words,
        );
        let failed = format!(
            "{} sent, {} failed",
            with_commas(self.counts.sent),
            with_commas(self.counts.failed)
        );
        let outcomes = self
            .text("figures/outcomes.svg")
            .replace(" requests sent", " sent");
        self.contains("the figure", &outcomes, &failed);
        let page = self.text("timeline.html");
        let words = match self.counts.failed {
            0 => format!("None of {} requests failed", with_commas(self.counts.sent)),
            _ => words,
        };
        self.contains("timeline.html", &page, &words);
    }

    fn trace(&self) {
        let trace = self.json("trace.json");
        let c = &self.counts;
        assert_eq!(trace["otherData"]["failed"], c.failed);
        assert_eq!(trace["otherData"]["sent"], c.sent);
        let events = trace["traceEvents"].as_array().unwrap();
        let with = |ph: &str, cat: &str| {
            events
                .iter()
                .filter(|e| e["ph"] == ph && e["cat"] == cat)
                .count() as u64
        };
        assert_eq!(with("b", "failed request"), c.failed);
        assert_eq!(with("b", "burst"), self.analysis.bursts.len() as u64);
        let counters = events.iter().filter(|e| e["name"] == "requests a second");
        let counted: u64 = counters
            .flat_map(|e| e["args"].as_object().unwrap().values())
            .map(|n| n.as_u64().unwrap())
            .sum();
        assert_eq!(counted, c.planned, "trace.json: counters");
    }

    /// Marks on each pod's lane, and in the page also in the last lane, against the pods' own counts.
    fn lanes(&self) {
        let expected: Vec<u64> = self.analysis.pods.iter().map(|pod| pod.failed).collect();
        let laid = |n: usize| {
            let pod = Some(self.analysis.pods[n].name.as_str());
            let failures = &self.analysis.failures;
            failures.iter().filter(|f| f.pod.as_deref() == pod).count() as u64
        };
        let laid: Vec<u64> = (0..expected.len()).map(laid).collect();
        assert_eq!(laid, expected, "report.json: failures");
        let page = self.text("timeline.html");
        let (_, data) = page
            .split_once("<script id=\"data\" type=\"application/json\">")
            .unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let places = column(&data["failed"], "place");
        assert_eq!(places.len() as u64, self.counts.failed, "timeline.html");
        let marks = |n: usize| places.iter().filter(|p| **p == Some(n)).count() as u64;
        let marks: Vec<u64> = (0..expected.len()).map(marks).collect();
        assert_eq!(marks, expected, "timeline.html: marks on the lanes");
        let trace = self.json("trace.json");
        let events = trace["traceEvents"].as_array().unwrap();
        let on_process = |n: usize| {
            let pid = n as u64 + 2;
            let begun = |e: &&Value| e["ph"] == "b" && e["cat"] == "failed request";
            events
                .iter()
                .filter(begun)
                .filter(|e| e["pid"] == pid)
                .count() as u64
        };
        let marks: Vec<u64> = (0..expected.len()).map(on_process).collect();
        assert_eq!(marks, expected, "trace.json: failed requests of the pods");
    }

    fn latencies(&self) {
        let log = fs::read(self.dir.join("latency.hlog")).unwrap();
        let mut all = Histogram::<u64>::new(3).unwrap();
        for entry in IntervalLogIterator::new(&log) {
            let LogEntry::Interval(interval) = entry.unwrap() else {
                continue;
            };
            if interval.tag().unwrap().as_str() == "scheduled" {
                let bytes = base64::prelude::BASE64_STANDARD
                    .decode(interval.encoded_histogram())
                    .unwrap();
                let histogram: Histogram<u64> = Deserializer::new()
                    .deserialize(&mut bytes.as_slice())
                    .unwrap();
                all.add(histogram).unwrap();
            }
        }
        assert_eq!(all.len(), self.counts.answered, "latency.hlog");
        let p99 = self.analysis.latency_ms.scheduled.p99;
        let found = all.value_at_quantile(0.99) as f64 / 1e6;
        assert!(
            (found - p99).abs() <= p99 * 0.002,
            "latency.hlog: p99 {found} against {p99}"
        );
    }

    /// The table is read back by putting it in the place of a recording's own.
    fn table(&self, recording: &Recording, folder: &Path) {
        fs::copy(
            self.dir.join("requests.parquet"),
            folder.join("requests.parquet"),
        )
        .unwrap();
        let _ = fs::remove_file(folder.join("checksums.json"));
        assert_eq!(
            Recording::open(folder).unwrap().requests,
            recording.requests
        );
    }
}

#[test]
fn all_outputs_of_a_run_tell_the_same_numbers() {
    for case in golden_cases() {
        let dir = tempfile::tempdir().unwrap();
        let folder = golden_recording(&case, dir.path());
        let recording = Recording::open(&folder).unwrap();
        let analysis = analyze(&recording);
        let out = dir.path().join("out");
        // A picture of pixels has no number that could be read back.
        let formats: Vec<_> = Format::ALL
            .into_iter()
            .filter(|f| *f != Format::Png)
            .collect();
        write_reports(&out, &formats, &analysis, &recording).unwrap();
        let outputs = Outputs {
            dir: &out,
            counts: Counts::of(&recording),
            analysis,
        };
        outputs.report();
        outputs.junit();
        outputs.markdown();
        outputs.words();
        outputs.trace();
        outputs.lanes();
        outputs.latencies();
        outputs.table(&recording, &folder);
    }
}
