//! A scenario from flags: `rollscope run --url URL --rate 100/s --exec './deploy.sh'`.

use std::collections::BTreeMap;
use std::time::Duration;

use rollscope_records::Lane;

use crate::keys::Shape;
use crate::model::{
    ExecCommand, Gate, Load, PreflightSpec, Rate, RequestSpec, Scenario, Stage, StageKind, Target,
};
use crate::problem::{Place, Problem, ScenarioErrors};
use crate::{units, words};

/// The flags that make a scenario without a file, as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioFlags {
    /// `--url`: what to load; its path becomes the request's path.
    pub url: String,
    /// `--rate`: `100/s` or `30/m`.
    pub rate: String,
    /// `--exec`: the command of the rollout, for the shell.
    pub exec: String,
    /// `--warmup`: load alone before the command; 10 s when left out.
    pub warmup: Option<String>,
    /// `--settle`: load alone after the command; 15 s when left out.
    pub settle: Option<String>,
    /// `--deadline` of each request; 5 s when left out.
    pub deadline: Option<String>,
    /// `--complete-within`: deadline of the command; 2 min when left out.
    pub complete_within: Option<String>,
    /// `--max-failed`: failed requests that are still a pass.
    pub max_failed: u64,
}

impl ScenarioFlags {
    /// The flags that are needed; everything else as when it is left out.
    pub fn new(url: &str, rate: &str, exec: &str) -> Self {
        Self {
            url: url.to_owned(),
            rate: rate.to_owned(),
            exec: exec.to_owned(),
            warmup: None,
            settle: None,
            deadline: None,
            complete_within: None,
            max_failed: 0,
        }
    }
}

impl Scenario {
    /// The scenario that `flags` describe: target `none`, GET requests on reused and on new connections in equal parts,
    /// the stages warmup, exec and settle.
    ///
    /// # Errors
    ///
    /// Every flag that is wrong, by its name.
    pub fn from_flags(flags: &ScenarioFlags) -> Result<Self, ScenarioErrors> {
        let mut problems = Vec::new();
        let url = url(&flags.url, &mut problems);
        let rate = read(
            Some(&flags.rate),
            "--rate",
            &Shape::Rate,
            units::rate,
            &mut problems,
        );
        let mut duration = |value: &Option<String>, flag, default: u64, may_be_zero: bool| {
            let read_one = |t: &str| units::duration(t).filter(|d| may_be_zero || !d.is_zero());
            let default = Duration::from_secs(default);
            match value {
                Some(text) => read(Some(text), flag, &Shape::Duration, read_one, &mut problems),
                None => Some(default),
            }
        };
        let warmup = duration(&flags.warmup, "--warmup", 10, true);
        let settle = duration(&flags.settle, "--settle", 15, true);
        let deadline = duration(&flags.deadline, "--deadline", 5, false);
        let complete_within = duration(&flags.complete_within, "--complete-within", 120, false);
        if flags.exec.trim().is_empty() || flags.exec.contains('\0') {
            problems.push(problem(
                "--exec",
                "a blank command, or one with a zero byte",
                "a command for the shell",
            ));
        }
        let parts = (url, rate, warmup, settle, deadline, complete_within);
        let (Some(url), Some(rate), Some(warmup), Some(settle), Some(deadline), Some(within)) =
            parts
        else {
            return Err(ScenarioErrors::new("command line", problems));
        };
        if !problems.is_empty() {
            return Err(ScenarioErrors::new("command line", problems));
        }
        let stage = |kind, complete_within| Stage {
            kind,
            complete_within,
        };
        Ok(Self {
            name: name_of(&url.0),
            target: Target::None,
            load: load(url, rate, deadline),
            stages: vec![
                stage(StageKind::Warmup(warmup), warmup),
                stage(
                    StageKind::Exec(ExecCommand::Shell(flags.exec.clone())),
                    within,
                ),
                stage(StageKind::Settle(settle), settle),
            ],
            jobs: None,
            balancers: Vec::new(),
            gate: Gate {
                max_failed: flags.max_failed,
                assertions_fail: false,
            },
            log_marks: BTreeMap::new(),
            preflight: PreflightSpec::default(),
        })
    }
}

fn load((base_url, path): (String, String), rate_per_second: f64, deadline: Duration) -> Load {
    let request = |connections: Lane| RequestSpec {
        deadline,
        connections,
        ..RequestSpec::new(connections.as_str(), "GET", &path)
    };
    let requests = vec![request(Lane::Reused), request(Lane::New)];
    Load {
        base_url: Some(base_url),
        max_in_flight: in_flight_cap(rate_per_second, deadline),
        ..Load::new(Rate::Constant(rate_per_second), requests)
    }
}

/// Room for every request to take its whole deadline, from 500 to 10 000.
pub(crate) fn in_flight_cap(rate_per_second: f64, deadline: Duration) -> usize {
    let most = (rate_per_second * deadline.as_secs_f64()).ceil();
    most.clamp(500.0, 10_000.0) as usize
}

/// Base URL and path with query.
fn url(text: &str, problems: &mut Vec<Problem>) -> Option<(String, String)> {
    let expected = "a URL such as `https://staging.example.com/health`";
    let found = match words::http_url(text) {
        Ok(url) => {
            let path = if url.rest.starts_with('/') {
                url.rest.to_owned()
            } else {
                format!("/{}", url.rest)
            };
            if words::is_path(&path) {
                return Some((url.base.to_owned(), path));
            }
            "a URL with a fragment, a space, or characters that are not percent-encoded"
        }
        Err(fault) => fault.found(),
    };
    problems.push(problem("--url", found, expected));
    None
}

pub(crate) fn read<T>(
    value: Option<&String>,
    flag: &'static str,
    shape: &Shape,
    parse: impl Fn(&str) -> Option<T>,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let text = value?;
    let parsed = parse(text);
    if parsed.is_none() {
        let mut wrong = problem(
            flag,
            &format!("`{}`", text.escape_debug()),
            &shape.expected(),
        );
        let with_unit = [format!("{text}/s"), format!("{text}s")];
        wrong.nearest = with_unit.into_iter().find(|t| parse(t).is_some());
        problems.push(wrong);
    }
    parsed
}

pub(crate) fn problem(flag: &'static str, found: &str, expected: &str) -> Problem {
    Problem {
        place: Place::Flag(flag),
        key: String::new(),
        found: found.to_owned(),
        expected: expected.to_owned(),
        nearest: None,
    }
}

/// A DNS label from the host of a base URL.
fn name_of(base_url: &str) -> String {
    let host = base_url.split_once("://").map_or(base_url, |(_, h)| h);
    let label: String = host
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(63)
        .collect();
    match label.trim_matches('-') {
        "" => "url".to_owned(),
        label => label.to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn flags_make_a_scenario_with_both_lanes_and_three_stages() {
        let flags = ScenarioFlags::new(
            "https://shop.example.com:8443/health?deep=1",
            "30/m",
            "./deploy.sh",
        );
        let scenario = Scenario::from_flags(&flags).unwrap();
        assert_eq!(scenario.name, "shop-example-com-8443");
        assert_eq!(
            scenario.load.base_url.as_deref(),
            Some("https://shop.example.com:8443")
        );
        assert_eq!(scenario.load.rate, Rate::Constant(0.5));
        let lanes: Vec<_> = scenario
            .load
            .requests
            .iter()
            .map(|r| (r.connections, r.path.as_str()))
            .collect();
        assert_eq!(
            lanes,
            [
                (Lane::Reused, "/health?deep=1"),
                (Lane::New, "/health?deep=1")
            ]
        );
        let kinds: Vec<_> = scenario.stages.iter().map(|s| s.kind.as_str()).collect();
        assert_eq!(kinds, ["warmup", "exec", "settle"]);
        assert!(scenario.warnings().is_empty(), "{:?}", scenario.warnings());
    }

    #[test]
    fn a_url_without_a_path_asks_for_the_root() {
        let scenario =
            Scenario::from_flags(&ScenarioFlags::new("http://[::1]:80", "1/s", "x")).unwrap();
        assert_eq!(scenario.load.requests[0].path, "/");
        assert_eq!(scenario.name, "1--80");
    }

    #[test]
    fn every_wrong_flag_is_named() {
        let mut flags = ScenarioFlags::new("http://u:secret@h/", "100", " ");
        flags.warmup = Some("10".to_owned());
        flags.deadline = Some("0s".to_owned());
        let message = Scenario::from_flags(&flags).unwrap_err().to_string();
        assert_eq!(
            message,
            "command line: 5 problems\n  \
             --deadline: found `0s`, expected a duration such as `500ms`, `1m30s` or `2h`, at most 168h\n  \
             --exec: found a blank command, or one with a zero byte, expected a command for the shell\n  \
             --rate: found `100`, expected a rate such as `200/s` or `30/m`, over 0 and up to 1000000/s; did you mean `100/s`?\n  \
             --url: found a URL with a user name or password, expected a URL such as `https://staging.example.com/health`\n  \
             --warmup: found `10`, expected a duration such as `500ms`, `1m30s` or `2h`, at most 168h; did you mean `10s`?"
        );
    }
}
