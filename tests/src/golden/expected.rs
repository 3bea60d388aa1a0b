//! `expected.md`: the right answer in words. Its list is what a test checks; the rest is for the reader.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rollscope_analyzer::{Analysis, signature_names};

/// Causes that are verdicts without being signatures.
const UNDECIDED: [&str; 3] = ["several", "unknown", "indeterminate"];

/// What an analysis must say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// Every cause of failed requests.
    pub causes: Vec<ExpectedCause>,
    /// Findings: causes with their details.
    pub findings: Vec<ExpectedCause>,
    /// Names of evidence that some burst or finding must have.
    pub evidence: Vec<String>,
    /// Causes that some burst must have ruled out.
    pub ruled_out: Vec<String>,
    /// The exit code.
    pub exit_code: u8,
}

/// A cause, its details and its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedCause {
    /// A signature's or a finding's name, `several`, `unknown` or `indeterminate`.
    pub cause: String,
    /// How many requests failed by it.
    pub failed: u64,
    /// Its details; of `several` the causes that stay open.
    pub details: BTreeSet<String>,
    /// The pods; `None` where the case does not say.
    pub pods: Option<BTreeSet<String>>,
}

impl Expected {
    pub(super) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut expected = Self::default();
        for line in text.lines().filter_map(|l| l.strip_prefix("- ")) {
            let understood = expected.item(line);
            assert!(
                understood.is_some(),
                "{}: not understood: {line}",
                path.display()
            );
        }
        expected
    }

    fn item(&mut self, line: &str) -> Option<()> {
        if let Some(code) = line.strip_prefix("exit code ") {
            self.exit_code = code.parse().ok()?;
        } else if let Some(finding) = line.strip_prefix("finding: ") {
            self.findings.push(ExpectedCause::read(0, finding)?);
        } else if let Some(ids) = line.strip_prefix("evidence: ") {
            self.evidence.extend(ids.split(", ").map(str::to_owned));
        } else if let Some(causes) = line.strip_prefix("ruled out: ") {
            self.ruled_out.extend(causes.split(", ").map(str::to_owned));
        } else if line != "no failed request" {
            let (failed, cause) = line.split_once(": ")?;
            let (n, words) = failed.split_once(' ')?;
            matches!(words, "failed request" | "failed requests").then_some(())?;
            self.causes
                .push(ExpectedCause::read(n.parse().ok()?, cause)?);
        }
        Some(())
    }

    /// How many requests failed.
    pub fn failed(&self) -> u64 {
        self.causes.iter().map(|c| c.failed).sum()
    }

    /// Whether requests failed by this cause.
    pub fn names(&self, cause: &str) -> bool {
        self.causes.iter().any(|c| c.cause == cause)
    }

    /// What is wrong with an analysis, in words; empty where it is right.
    pub fn mistakes(&self, analysis: &Analysis) -> Vec<String> {
        let mut wrong = Vec::new();
        self.check_causes(analysis, &mut wrong);
        self.check_findings(analysis, &mut wrong);
        self.check_reasons(analysis, &mut wrong);
        let verdict = &analysis.verdict;
        if verdict.exit_code != self.exit_code {
            wrong.push(format!(
                "exit code {}: {:?}",
                verdict.exit_code, verdict.reasons
            ));
        }
        if analysis.requests.failed != self.failed() || analysis.unattributed != 0 {
            let n = analysis.requests.failed;
            wrong.push(format!(
                "{n} failed, {} of them in no burst",
                analysis.unattributed
            ));
        }
        wrong
    }

    fn check_causes(&self, analysis: &Analysis, wrong: &mut Vec<String>) {
        let found: BTreeSet<&str> = analysis.bursts.iter().map(|b| b.cause.as_str()).collect();
        let known: BTreeSet<&str> = self.causes.iter().map(|c| c.cause.as_str()).collect();
        if found != known {
            let all = analysis
                .bursts
                .iter()
                .map(|b| format!("{} ({:?}): {}", b.cause, b.detail, b.summary));
            wrong.push(format!(
                "causes {found:?}: {}",
                all.collect::<Vec<_>>().join("; ")
            ));
            return;
        }
        for expected in &self.causes {
            let mine = || analysis.bursts.iter().filter(|b| b.cause == expected.cause);
            let failed: u64 = mine().map(|b| b.failed).sum();
            let details = mine()
                .filter_map(|b| b.detail.as_deref())
                .flat_map(|d| d.split(", "));
            let details: BTreeSet<String> = details.map(str::to_owned).collect();
            let pods: BTreeSet<String> = mine().flat_map(|b| b.pods.clone()).collect();
            if failed != expected.failed
                || !details.is_subset(&expected.details)
                || details.is_empty() != expected.details.is_empty()
                || expected.pods.as_ref().is_some_and(|p| *p != pods)
            {
                wrong.push(format!(
                    "{}: {failed} failed, {details:?} on {pods:?}",
                    expected.cause
                ));
            }
            let decided = !UNDECIDED.contains(&expected.cause.as_str());
            if let Some(b) =
                mine().find(|b| decided && (b.confidence <= 0.5 || b.evidence.is_empty()))
            {
                wrong.push(format!(
                    "{}: {} sure, {:?}",
                    b.cause, b.confidence, b.evidence
                ));
            }
        }
    }

    /// Every expected finding is there, and none of a signature that is not expected.
    fn check_findings(&self, analysis: &Analysis, wrong: &mut Vec<String>) {
        for expected in &self.findings {
            let found = analysis.findings.iter().any(|f| {
                f.cause == expected.cause
                    && f.detail.iter().all(|d| expected.details.contains(d))
                    && f.detail.is_none() == expected.details.is_empty()
                    && expected
                        .pods
                        .as_ref()
                        .is_none_or(|p| f.pods.iter().cloned().collect::<BTreeSet<_>>() == *p)
            });
            if !found {
                wrong.push(format!(
                    "finding {expected:?} is not among {:?}",
                    analysis.findings
                ));
            }
        }
        let signatures: Vec<&str> = signature_names().collect();
        for f in &analysis.findings {
            let expected = self.findings.iter().any(|e| e.cause == f.cause) || self.names(&f.cause);
            if signatures.contains(&f.cause.as_str()) && !expected {
                wrong.push(format!(
                    "finding {} on {:?}: {}",
                    f.cause, f.pods, f.summary
                ));
            }
        }
    }

    fn check_reasons(&self, analysis: &Analysis, wrong: &mut Vec<String>) {
        let of_bursts = analysis.bursts.iter().flat_map(|b| &b.evidence);
        let evidence = of_bursts.chain(analysis.findings.iter().flat_map(|f| &f.evidence));
        let ids: BTreeSet<&str> = evidence.map(|e| e.id.as_str()).collect();
        let ruled_out = analysis.bursts.iter().flat_map(|b| &b.ruled_out);
        let ruled_out: BTreeSet<&str> = ruled_out.map(|r| r.cause.as_str()).collect();
        for id in self.evidence.iter().filter(|id| !ids.contains(id.as_str())) {
            wrong.push(format!("evidence {id} is not among {ids:?}"));
        }
        for cause in self
            .ruled_out
            .iter()
            .filter(|c| !ruled_out.contains(c.as_str()))
        {
            wrong.push(format!(
                "{cause} is not among the causes ruled out: {ruled_out:?}"
            ));
        }
    }
}

impl ExpectedCause {
    /// `early_close (refused, in_flight_cut) on old, next`
    fn read(failed: u64, text: &str) -> Option<Self> {
        let (what, pods) = match text.split_once(" on ") {
            Some((what, pods)) => (what, Some(set(pods))),
            None => (text, None),
        };
        let (cause, details) = match what.split_once(" (") {
            Some((cause, details)) => (cause, set(details.strip_suffix(')')?)),
            None => (what, BTreeSet::new()),
        };
        let cause = cause.to_owned();
        Some(Self {
            cause,
            failed,
            details,
            pods,
        })
    }
}

fn set(list: &str) -> BTreeSet<String> {
    list.split(", ").map(str::to_owned).collect()
}
