//! The scenario as a whole, and what must fit between its parts.

use std::collections::BTreeMap;

use super::field::Field;
use super::section::Section;
use super::{Checker, balancers, gate, jobs, load, preflight, stages, target};
use crate::jobs::JobsSpec;
use crate::model::{Scenario, Target};
use crate::tables::SCENARIO;
use crate::tree::{Node, Value};
use crate::words;

/// Which target was asked for, also where the rest of it is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetKind {
    Sandbox,
    Kubernetes,
    None,
}

/// The scenario in `root`; `None` where there was a problem.
pub(crate) fn scenario(root: &Node, checker: &mut Checker<'_>) -> Option<Scenario> {
    let field = Field {
        path: String::new(),
        at: root.at,
        key_at: root.at,
        node: root,
    };
    if root.value == Value::Null {
        checker.problem(
            root.at,
            "",
            "an empty file",
            "a scenario with `name`, `target`, `load` and `stages`",
            None,
        );
        return None;
    }
    let top = Section::open(&field, &SCENARIO, checker)?;
    let name = top.parsed("name", checker, |t| {
        words::is_dns_label(t).then(|| t.to_owned())
    });
    let target = top.section("target", checker);
    let kind = target.as_ref().and_then(target::kind);
    let target = target.and_then(|t| target::target(&t, checker));
    let load = top.section("load", checker);
    let load = load.and_then(|l| load::load(&l, kind, checker));
    let jobs = jobs::jobs(&top, load.as_ref(), checker);
    let balancers = balancers::balancers(&top, checker);
    let stages = stages::stages(&top, kind, checker);
    let gate = gate::gate(&top, checker);
    let log_marks = gate::log_marks(&top, checker);
    let preflight = preflight::preflight(&top, checker);
    let (mut load, jobs) = (load?, jobs?);
    load.own_rate = jobs.as_ref().and_then(JobsSpec::own_rate);
    Some(Scenario {
        name: name?,
        target: target?,
        load,
        jobs,
        balancers: balancers?,
        stages: stages?,
        gate: gate?,
        log_marks: log_marks?,
        preflight: preflight?,
    })
}

impl Target {
    /// The target's name in scenarios and recordings.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Sandbox(_) => "sandbox",
            Self::Kubernetes(_) => "kubernetes",
            Self::None => "none",
        }
    }
}

/// Marks are kept in a map; this names its type once.
pub(super) type Marks = BTreeMap<String, String>;
