//! What a subject reads from its environment.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::Subject;

/// A subject's settings. Durations come from variables that end in `_MS` and hold whole milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `SUBJECT`: the shutdown behaviour.
    pub subject: Subject,
    /// `POD_IP` (default 127.0.0.1) and `PORT` (default 3000): where it listens.
    pub address: SocketAddr,
    /// `POD_NAME` (default `local`): the value of `x-pod-name`.
    pub pod_name: String,
    /// `DRAIN_DELAY_MS` (default 5 s): how long it keeps serving after the signal, until routing has converged.
    pub drain_delay: Duration,
    /// `DRAIN_KEEPS_READY` (default false): whether readiness is answered with 200 until the listener is closed.
    pub keeps_ready: bool,
    /// `DRAIN_DEADLINE_MS` (default 15 s): how long requests in flight may take once the listener is closed.
    pub drain_deadline: Duration,
    /// `SAFETY_MS` (default one second after the drain's deadline): from the signal until the safety timer ends a drain
    /// that has one.
    pub safety: Option<Duration>,
    /// `KEEP_ALIVE_MS` (default 65 s; 1 s for `short-keepalive`): idle time after which a connection is closed.
    pub keep_alive: Duration,
    /// `CLOSE_TRAVEL_MS` (default 0): how long the close of an idle connection is on its way to the client, as on a
    /// network with that round trip. A request that is sent meanwhile is answered with a reset.
    pub close_travel: Duration,
    /// `HEALTH_PORT` (default the port after `PORT`): a port that answers only health checks; `ready-too-early` alone.
    pub health_port: u16,
    /// `LISTEN_DELAY_MS` (default 1.5 s): from the start to the traffic port's listener; `ready-too-early` alone.
    pub listen_delay: Duration,
    /// `SLOW_START_MS` (default 3 s): how long `slow-start` is slow.
    pub slow_start: Duration,
    /// `CRASH_AFTER_MS`: when `crash` ends by itself; without it only on `/crash`.
    pub crash_after: Option<Duration>,
    /// `SUBJECT_LEDGER`: the ledger's file or its folder.
    pub ledger: Option<PathBuf>,
}

/// What is wrong with a subject's environment.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// `SUBJECT` is not set.
    #[error("SUBJECT is not set: set it to one of {}", names())]
    NoSubject,
    /// `SUBJECT` names nothing.
    #[error("SUBJECT={0:?} is not a subject: set it to one of {names}", names = names())]
    UnknownSubject(String),
    /// A variable does not hold what it must.
    #[error("{variable}={value:?}: expected {expected}")]
    Value {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it must be, in words.
        expected: &'static str,
    },
}

fn names() -> String {
    Subject::ALL.map(Subject::as_str).join(", ")
}

impl Settings {
    /// Reads the settings from the variables that `env` knows. Empty variables count as absent.
    pub fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let set = |name: &str| env(name).filter(|v| !v.is_empty());
        let name = set("SUBJECT").ok_or(SettingsError::NoSubject)?;
        let subject = Subject::named(&name).ok_or(SettingsError::UnknownSubject(name))?;
        let ip = parse(&set, "POD_IP", "an IP address")?.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let port = parse(&set, "PORT", "a port number")?.unwrap_or(3000);
        let health_port = parse(&set, "HEALTH_PORT", "a port number")?;
        let keep_alive_default = match subject {
            Subject::ShortKeepalive => Duration::from_secs(1),
            _ => Duration::from_secs(65),
        };
        Ok(Self {
            subject,
            address: SocketAddr::new(ip, port),
            pod_name: set("POD_NAME").unwrap_or_else(|| "local".to_owned()),
            drain_delay: millis(&set, "DRAIN_DELAY_MS")?.unwrap_or(Duration::from_secs(5)),
            drain_deadline: millis(&set, "DRAIN_DEADLINE_MS")?.unwrap_or(Duration::from_secs(15)),
            keeps_ready: parse(&set, "DRAIN_KEEPS_READY", "true or false")?.unwrap_or(false),
            safety: millis(&set, "SAFETY_MS")?,
            close_travel: millis(&set, "CLOSE_TRAVEL_MS")?.unwrap_or_default(),
            keep_alive: millis(&set, "KEEP_ALIVE_MS")?.unwrap_or(keep_alive_default),
            health_port: health_port.unwrap_or(port.wrapping_add(1)),
            listen_delay: millis(&set, "LISTEN_DELAY_MS")?.unwrap_or(Duration::from_millis(1500)),
            slow_start: millis(&set, "SLOW_START_MS")?.unwrap_or(Duration::from_secs(3)),
            crash_after: millis(&set, "CRASH_AFTER_MS")?,
            ledger: set("SUBJECT_LEDGER").map(PathBuf::from),
        })
    }
}

fn parse<T: FromStr>(
    set: &dyn Fn(&str) -> Option<String>,
    variable: &'static str,
    expected: &'static str,
) -> Result<Option<T>, SettingsError> {
    let Some(value) = set(variable) else {
        return Ok(None);
    };
    match value.parse() {
        Ok(parsed) => Ok(Some(parsed)),
        Err(_) => Err(SettingsError::Value {
            variable,
            value,
            expected,
        }),
    }
}

fn millis(
    set: &dyn Fn(&str) -> Option<String>,
    variable: &'static str,
) -> Result<Option<Duration>, SettingsError> {
    let parsed = parse(set, variable, "whole milliseconds, such as 1500")?;
    Ok(parsed.map(Duration::from_millis))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn read(vars: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let vars: Vec<(String, String)> = vars
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        Settings::from_env(&|name| vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
    }

    #[test]
    fn every_subject_is_found_by_its_name() {
        for subject in Subject::ALL {
            assert_eq!(
                read(&[("SUBJECT", subject.as_str())]).unwrap().subject,
                subject
            );
        }
    }

    #[test]
    fn defaults_are_port_3000_on_loopback() {
        let settings = read(&[("SUBJECT", "graceful"), ("POD_IP", "")]).unwrap();
        assert_eq!(settings.address, "127.0.0.1:3000".parse().unwrap());
        assert_eq!(settings.ledger, None);
    }

    #[test]
    fn an_unknown_subject_is_told_all_names() {
        let said = read(&[("SUBJECT", "gracefull")]).unwrap_err().to_string();
        for subject in Subject::ALL {
            assert!(said.contains(subject.as_str()), "{said}");
        }
        assert_eq!(read(&[]), Err(SettingsError::NoSubject));
    }

    #[test]
    fn a_duration_with_a_unit_is_refused_with_what_was_expected() {
        let error = read(&[("SUBJECT", "graceful"), ("DRAIN_DELAY_MS", "5s")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "DRAIN_DELAY_MS=\"5s\": expected whole milliseconds, such as 1500"
        );
    }
}
