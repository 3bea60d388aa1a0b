//! What to measure.

use std::path::PathBuf;

use crate::run::Tool;

/// What to measure.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) seconds: u64,
    pub(crate) rounds: usize,
    pub(crate) rates: Vec<u32>,
    pub(crate) maximum: bool,
}

impl Options {
    /// The options that `args` say.
    pub(crate) fn of(args: &[String]) -> Self {
        let value = |name: &str| {
            let place = args.iter().position(|a| a == name)?;
            args.get(place + 1).cloned()
        };
        let number = |name: &str, default: u64| {
            value(name).map_or(default, |v| v.parse().expect("a whole number"))
        };
        let rates = value("--rates").unwrap_or_else(|| "1000,10000,20000".to_owned());
        Self {
            seconds: number("--seconds", 5),
            rounds: number("--rounds", 3) as usize,
            rates: rates
                .split(',')
                .map(|r| r.parse().expect("rates such as 1000,10000"))
                .collect(),
            maximum: !args.iter().any(|a| a == "--no-maximum"),
        }
    }

    /// Whether a tool is there.
    pub(crate) fn has(&self, tool: Tool) -> bool {
        tool.is_ours() || in_path(tool.name()).is_some()
    }
}

/// Where a program is.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}
