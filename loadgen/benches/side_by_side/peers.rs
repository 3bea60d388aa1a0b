//! The other tools' command lines, and what they say they sent.

use serde_json::Value;

use crate::ours::CONNECTIONS;
use crate::run::{Case, Connections, Rate, Tool};

impl Tool {
    /// Whether it can do what `case` asks for: wrk and hey have no rate, or none that holds.
    pub(crate) fn is_able(self, case: Case) -> bool {
        match self {
            Self::Ours | Self::Oha | Self::Hey => true,
            Self::Exact => case.rate != Rate::Maximum,
            Self::Wrk => {
                case == Case {
                    connections: Connections::Kept,
                    rate: Rate::Maximum,
                }
            }
        }
    }

    /// Its program and arguments.
    pub(crate) fn command(self, case: Case, seconds: u64, url: &str) -> (String, Vec<String>) {
        let connections = CONNECTIONS.to_string();
        let lasts = format!("{seconds}s");
        let own = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let kept = case.connections == Connections::Kept;
        match self {
            Self::Ours | Self::Exact => {
                let program = std::env::current_exe().unwrap().display().to_string();
                let Rate::PerSecond(rate) = case.rate else {
                    unreachable!("a schedule has a rate")
                };
                let precision = if self == Self::Exact {
                    "exact"
                } else {
                    "adaptive"
                };
                let words = own(&["ours", url, &rate.to_string(), &seconds.to_string()]);
                let connections = if kept { "kept" } else { "new" };
                (program, [words, own(&[connections, precision])].concat())
            }
            Self::Oha => {
                let mut words = own(&[
                    "--no-tui",
                    "--output-format",
                    "json",
                    "-z",
                    &lasts,
                    "-c",
                    &connections,
                ]);
                if let Rate::PerSecond(rate) = case.rate {
                    words.extend(own(&["-q", &rate.to_string()]));
                }
                if !kept {
                    words.push("--disable-keepalive".to_owned());
                }
                words.push(url.to_owned());
                ("oha".to_owned(), words)
            }
            Self::Wrk => {
                let words = own(&["-t", "1", "-c", &connections, "-d", &lasts, url]);
                ("wrk".to_owned(), words)
            }
            Self::Hey => {
                let mut words = own(&["-z", &lasts, "-c", &connections]);
                if let Rate::PerSecond(rate) = case.rate {
                    // Its rate is that of each worker.
                    let each = f64::from(rate) / CONNECTIONS as f64;
                    words.extend(own(&["-q", &format!("{each}")]));
                }
                if !kept {
                    words.push("-disable-keepalive".to_owned());
                }
                words.push(url.to_owned());
                ("hey".to_owned(), words)
            }
        }
    }

    /// Requests that it says it sent.
    pub(crate) fn sent(self, output: &str) -> u64 {
        match self {
            Self::Ours | Self::Exact => json(output)["sent"].as_u64().unwrap(),
            Self::Oha => {
                let statuses = &json(output)["statusCodeDistribution"];
                let counts = statuses.as_object().into_iter().flatten();
                counts.filter_map(|(_, n)| n.as_u64()).sum()
            }
            Self::Wrk => {
                let line = output.lines().find(|l| l.contains("requests in"));
                first_number(line.unwrap_or_default())
            }
            Self::Hey => {
                let statuses = output.lines().filter(|l| l.contains("responses"));
                statuses
                    .map(|l| first_number(l.split(']').nth(1).unwrap_or_default()))
                    .sum()
            }
        }
    }
}

fn json(output: &str) -> Value {
    serde_json::from_str(output.trim()).unwrap_or_else(|e| panic!("{e}: {output}"))
}

fn first_number(text: &str) -> u64 {
    let words = text.split_whitespace();
    words.filter_map(|w| w.parse().ok()).next().unwrap_or(0)
}
