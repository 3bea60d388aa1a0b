//! The words of `recording.txt`: times, lengths of time, `key=value`.

use std::collections::BTreeMap;

/// Seconds with decimals (`6.12`) in ns.
pub(super) fn seconds(text: &str) -> Option<i64> {
    text.parse::<f64>().ok().map(|s| (s * 1e9).round() as i64)
}

/// `3ms`, `1.5s`, `-30s` in ns.
pub(super) fn length(text: &str) -> Option<i64> {
    match text.strip_suffix("ms") {
        Some(ms) => seconds(ms).map(|ns| ns / 1000),
        None => seconds(text.strip_suffix('s')?),
    }
}

/// `6.12` is one moment; `0..40/0.1` one every 0.1 s, the last before 40 s. ns.
pub(super) fn moments(text: &str) -> Option<Vec<i64>> {
    let Some((from, rest)) = text.split_once("..") else {
        return Some(vec![seconds(text)?]);
    };
    let (to, step) = rest.split_once('/')?;
    let (from, to, step) = (seconds(from)?, seconds(to)?, seconds(step)?);
    if step <= 0 {
        return None;
    }
    Some(
        std::iter::successors(Some(from), |t| Some(t + step))
            .take_while(|t| *t < to)
            .collect(),
    )
}

/// `18..21`: two moments, ns.
pub(super) fn between(text: &str) -> Option<(i64, i64)> {
    let (from, to) = text.split_once("..")?;
    Some((seconds(from)?, seconds(to)?))
}

/// `key=value` words; each can be asked for once, and none may be left.
pub(super) struct Options<'t>(BTreeMap<&'t str, &'t str>);

impl<'t> Options<'t> {
    /// Every word must have a `=`.
    pub(super) fn of(words: impl Iterator<Item = &'t str>) -> Option<Self> {
        words
            .map(|word| word.split_once('='))
            .collect::<Option<_>>()
            .map(Self)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<&'t str> {
        self.0.remove(key)
    }

    /// The keys that nobody asked for.
    pub(super) fn left(&self) -> Vec<&'t str> {
        self.0.keys().copied().collect()
    }
}
