//! A container of a pod template.

use crate::at::At;
use crate::known;
use crate::settings::nanos;
use crate::shell;

/// A container.
#[derive(Debug, Clone)]
pub(crate) struct Container<'a> {
    pub(crate) at: At<'a>,
    pub(crate) name: String,
    pub(crate) image: String,
    /// Traffic of the application goes through it.
    pub(crate) is_proxy: bool,
    pub(crate) is_exporter: bool,
}

/// What runs before the stop signal.
#[derive(Debug, Clone)]
pub(crate) enum Hook<'a> {
    None,
    /// It takes this long, seconds.
    Sleep {
        seconds: i64,
        at: At<'a>,
    },
    /// Nobody knows how long it takes.
    Unknown,
}

/// A length of time that an environment variable gives.
#[derive(Debug, Clone)]
pub(crate) enum Setting<'a> {
    /// Nothing says it.
    None,
    /// A variable does, ns.
    Known {
        nanos: i64,
        name: String,
        at: At<'a>,
    },
    /// A variable does, but its value comes from elsewhere.
    Unknown,
}

impl<'a> Container<'a> {
    /// The container in `at`; one without a name is a problem.
    pub(crate) fn read(at: At<'a>) -> Option<Self> {
        let name = at.key("name");
        let Some(text) = name.text() else {
            if !name.is_there() {
                name.problem("a name");
            }
            return None;
        };
        let image = at.key("image").text().unwrap_or_default();
        Some(Self {
            is_proxy: known::is_proxy(text, image),
            is_exporter: known::is_exporter(text, image),
            name: text.to_owned(),
            image: image.to_owned(),
            at,
        })
    }

    /// What runs before the stop signal.
    pub(crate) fn hook(&self) -> Hook<'a> {
        let at = self.at.keys(&["lifecycle", "preStop"]);
        if !at.is_there() {
            return Hook::None;
        }
        if let Some(seconds) = at.keys(&["sleep", "seconds"]).whole() {
            return Hook::Sleep { seconds, at };
        }
        let command = at.keys(&["exec", "command"]).texts().unwrap_or_default();
        match slept(&command) {
            Some(seconds) => Hook::Sleep { seconds, at },
            None => Hook::Unknown,
        }
    }

    /// Its first port: name or number, as a probe can have it.
    pub(crate) fn port(&self) -> Option<serde_json::Value> {
        let ports = self.at.key("ports").items();
        let port = ports.iter().find(|p| !is_metrics(p)).or(ports.first())?;
        let name = port.key("name").text().map(|n| n.into());
        name.or_else(|| port.key("containerPort").whole().map(Into::into))
    }

    /// A variable's value as it is written; `Some(None)` where it comes from elsewhere.
    fn variable(&self, name: &str) -> Option<(Option<String>, At<'a>)> {
        let item = self
            .at
            .key("env")
            .items()
            .into_iter()
            .rev()
            .find(|i| i.key("name").plain().as_deref() == Some(name))?;
        let value = item.key("value");
        let text = match item.key("valueFrom").is_there() {
            true => None,
            false => Some(value.plain().unwrap_or_default()),
        };
        Some((text, value))
    }

    /// A variable with a value of its own.
    pub(crate) fn value(&self, name: &str) -> Option<(String, At<'a>)> {
        let (value, at) = self.variable(name)?;
        Some((value?, at))
    }

    /// The length of time that the first of `names` gives, with or without a unit in its name.
    pub(crate) fn time(&self, names: &[&str]) -> Setting<'a> {
        for item in self.at.key("env").items() {
            let Some(name) = item.key("name").plain() else {
                continue;
            };
            let (bare, unit) = unit_of(&name);
            if !names.contains(&bare) {
                continue;
            }
            return match self.variable(&name) {
                Some((Some(value), at)) => match time(&value, unit) {
                    Some(nanos) => Setting::Known { nanos, name, at },
                    None => Setting::Unknown,
                },
                _ => Setting::Unknown,
            };
        }
        Setting::None
    }
}

fn is_metrics(port: &At<'_>) -> bool {
    let name = port.key("name").text().unwrap_or_default();
    name.contains("metric") || name.contains("prom")
}

/// The seconds that a hook's command sleeps.
fn slept(command: &[String]) -> Option<i64> {
    match command {
        [name, seconds] if shell::basename(name) == "sleep" => shell::sleep_seconds(seconds),
        [_, option, script] if option.starts_with('-') && option.ends_with('c') => {
            shell::sleeps(script)
        }
        _ => None,
    }
}

const SECOND: f64 = 1e9;

/// A variable's name without its unit, and that unit in ns.
fn unit_of(name: &str) -> (&str, Option<f64>) {
    let units = [
        ("_MILLISECONDS", 1e6),
        ("_MILLIS", 1e6),
        ("_MS", 1e6),
        ("_SECONDS", SECOND),
        ("_SECS", SECOND),
        ("_SEC", SECOND),
        ("_S", SECOND),
    ];
    let found = units
        .iter()
        .find_map(|(end, unit)| Some((name.strip_suffix(end)?, Some(*unit))));
    found.unwrap_or((name, None))
}

/// A length of time in ns: with its own unit, with that of its name, or a bare number, which is in seconds below 1000
/// and in milliseconds from there on.
fn time(value: &str, unit: Option<f64>) -> Option<i64> {
    let value = value.trim();
    if let Ok(number) = value.parse::<f64>() {
        let unit = unit.unwrap_or(if number < 1000.0 { SECOND } else { 1e6 });
        let nanos = number * unit;
        return (0.0..=1e18).contains(&nanos).then_some(nanos as i64);
    }
    rollscope_scenarios::duration(value).map(nanos)
}

/// `nanos` as the variable `name` has it.
pub(crate) fn written(name: &str, value: &str, nanos: i64) -> String {
    let unit = unit_of(name).1;
    let seconds = (nanos as f64 / SECOND).ceil();
    match (unit, value.trim().parse::<f64>()) {
        (Some(unit), _) => format!("{}", (seconds * SECOND / unit) as i64),
        (None, Ok(number)) if number >= 1000.0 => format!("{}", (seconds * 1000.0) as i64),
        // A bare number from 1000 on would be read as milliseconds.
        (None, Ok(_)) if seconds < 1000.0 => format!("{}", seconds as i64),
        (None, _) => format!("{}s", seconds as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_a_unit_somewhere() {
        for (name, value, nanos) in [
            ("DRAIN_DELAY_MS", "3000", Some(3_000_000_000)),
            ("SHUTDOWN_DELAY", "5", Some(5_000_000_000)),
            ("SHUTDOWN_DELAY", "5000", Some(5_000_000_000)),
            ("SHUTDOWN_DELAY", "1m30s", Some(90_000_000_000)),
            ("SHUTDOWN_DELAY_SECONDS", "0.5", Some(500_000_000)),
            ("SHUTDOWN_DELAY", "soon", None),
            ("SHUTDOWN_DELAY", "-1", None),
            ("SHUTDOWN_DELAY", "1e300", None),
        ] {
            assert_eq!(time(value, unit_of(name).1), nanos, "{name}={value}");
            if let Some(nanos) = nanos.filter(|n| n % 1_000_000_000 == 0) {
                let again = written(name, value, nanos);
                assert_eq!(time(&again, unit_of(name).1), Some(nanos), "{name}={again}");
            }
        }
    }
}
