//! What the shutdown of a container spends: the hook, the delay in the program, the drain, its own deadline.

use rollscope_records::budget::{EXIT_MARGIN, GraceBudget, whole_seconds};

use crate::at::At;
use crate::container::{Container, Hook, Setting, written};
use crate::context::Context;
use crate::known;
use crate::patch::Edit;
use crate::settings::nanos;

const SECOND: i64 = 1_000_000_000;

/// How long the program keeps serving after the signal.
#[derive(Debug, Clone)]
pub(crate) enum Delay<'a> {
    /// Nothing says that it does.
    None,
    /// This long, ns, and the variable that says it.
    Known {
        nanos: i64,
        variable: Option<(String, At<'a>)>,
    },
    /// A variable says it, but its value comes from elsewhere.
    Unknown,
}

/// What the shutdown of a container spends.
#[derive(Debug, Clone)]
pub(crate) struct Shutdown<'a> {
    pub(crate) hook: Hook<'a>,
    pub(crate) delay: Delay<'a>,
    /// How long requests take once the program stops accepting, ns; `None` where nobody said it.
    pub(crate) drain: Option<i64>,
    /// After how long from the signal the program ends its shutdown, ns.
    pub(crate) deadline: Option<i64>,
    /// The variable that says the deadline.
    pub(crate) deadline_at: Option<At<'a>>,
}

impl<'a> Shutdown<'a> {
    /// What is stated of the program is not true of a proxy beside it.
    pub(crate) fn of(container: &Container<'a>, cx: &Context<'a>) -> Self {
        if container.is_proxy {
            return Self {
                hook: container.hook(),
                delay: Delay::None,
                drain: None,
                deadline: None,
                deadline_at: None,
            };
        }
        let delay = match (cx.settings.delay, container.time(known::DELAYS)) {
            (Some(stated), _) => Delay::Known {
                nanos: nanos(stated),
                variable: None,
            },
            (None, Setting::Known { nanos, name, at }) => Delay::Known {
                nanos,
                variable: Some((name, at)),
            },
            (None, Setting::Unknown) => Delay::Unknown,
            (None, Setting::None) => Delay::None,
        };
        let before = match &delay {
            Delay::Known { nanos, .. } => *nanos,
            Delay::None | Delay::Unknown => 0,
        };
        let (deadline, deadline_at) = match (
            container.time(known::DRAIN_DEADLINES),
            container.time(known::SHUTDOWN_DEADLINES),
        ) {
            (Setting::Known { nanos, at, .. }, _) => (Some(before.saturating_add(nanos)), Some(at)),
            (_, Setting::Known { nanos, at, .. }) => (Some(nanos), Some(at)),
            _ => (None, None),
        };
        Self {
            hook: container.hook(),
            delay,
            drain: cx.settings.drain.map(nanos),
            deadline,
            deadline_at,
        }
    }

    /// How long the hook takes, seconds; 0 where nobody knows.
    pub(crate) const fn hook_seconds(&self) -> i64 {
        match self.hook {
            Hook::Sleep { seconds, .. } => seconds,
            Hook::None | Hook::Unknown => 0,
        }
    }

    /// How long the program keeps serving after the signal, ns; 0 where nobody knows.
    pub(crate) const fn delay_nanos(&self) -> i64 {
        match self.delay {
            Delay::Known { nanos, .. } => nanos,
            Delay::None | Delay::Unknown => 0,
        }
    }

    /// From the signal to the exit, as far as it is known, ns.
    pub(crate) const fn after_signal(&self) -> i64 {
        let drain = match self.drain {
            Some(drain) => drain,
            None => 0,
        };
        self.delay_nanos().saturating_add(drain)
    }

    /// The budget with a hook of `hook` seconds.
    pub(crate) const fn budget(&self, hook: i64) -> GraceBudget {
        GraceBudget {
            pre_stop: hook.saturating_mul(SECOND),
            drain: self.after_signal(),
        }
    }

    /// The least grace with a hook of `hook` seconds and `more` ns of delay beside what there is, seconds.
    pub(crate) fn least_grace(&self, hook: i64, more: i64) -> i64 {
        let mut budget = self.budget(hook);
        budget.drain = budget.drain.saturating_add(more);
        let own = self.deadline.map_or(0, |d| {
            hook.saturating_add(whole_seconds(d.saturating_add(more)))
                .saturating_add(EXIT_MARGIN)
        });
        budget.needed_seconds().max(own)
    }

    /// Raises the grace to `least` seconds where it is shorter.
    pub(crate) fn raise_grace(least: i64, cx: &Context<'a>) -> Option<Edit> {
        (least > cx.workload.grace()).then(|| Edit::set(&cx.workload.grace_at(), least))
    }

    /// Lets the container stay in service for `seconds` more than it does: by the hook, or by the variable that says the
    /// delay.
    pub(crate) fn longer(
        &self,
        container: &Container<'a>,
        seconds: i64,
        cx: &Context<'a>,
    ) -> Vec<Edit> {
        let hook = container.at.keys(&["lifecycle", "preStop"]);
        let sleep = hook.keys(&["sleep", "seconds"]);
        let (mut edits, grace) = match (&self.hook, &self.delay) {
            (
                Hook::None,
                Delay::Known {
                    nanos,
                    variable: Some((name, at)),
                },
            ) => {
                let wanted = nanos.saturating_add(seconds.saturating_mul(SECOND));
                let value = written(name, &at.plain().unwrap_or_default(), wanted);
                let more = whole_seconds(wanted)
                    .saturating_mul(SECOND)
                    .saturating_sub(*nanos);
                (vec![Edit::set(at, value)], self.least_grace(0, more))
            }
            (Hook::Sleep { seconds: now, at }, _) => {
                let wanted = now.saturating_add(seconds);
                (lengthened(at, wanted, seconds), self.least_grace(wanted, 0))
            }
            _ => (
                vec![Edit::set(&sleep, seconds)],
                self.least_grace(seconds, 0),
            ),
        };
        edits.extend(Self::raise_grace(grace, cx));
        edits
    }
}

/// The hook in `at` so that it sleeps `wanted` seconds, `more` than before.
fn lengthened(at: &At<'_>, wanted: i64, more: i64) -> Vec<Edit> {
    let command = at.keys(&["exec", "command"]);
    let does_more = command
        .texts()
        .filter(|words| words.len() == 3 && !crate::shell::only_sleeps(&words[2]));
    match does_more {
        Some(words) => {
            let script = format!("sleep {more}; {}", words[2]);
            vec![Edit::set(
                &command,
                serde_json::json!([words[0], words[1], script]),
            )]
        }
        None => {
            let mut edits = vec![Edit::set(&at.keys(&["sleep", "seconds"]), wanted)];
            if at.key("exec").is_there() {
                edits.push(Edit::remove(&at.key("exec")));
            }
            edits
        }
    }
}
