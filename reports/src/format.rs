//! The files that a run can be written as.

use std::fmt;
use std::str::FromStr;

/// A kind of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// `timeline.html`: the timeline with its evidence.
    Html,
    /// `report.json`: the analysis, for programs.
    Json,
    /// `junit.xml`: stages, assertions and the gate as test cases.
    Junit,
    /// `summary.md`: a screen for a pull request comment or a job's summary.
    Md,
    /// `trace.json`: the run for Perfetto and Chrome's trace viewer.
    Trace,
    /// `figures/*.svg`.
    Svg,
    /// `figures/*.png`.
    Png,
    /// `latency.hlog`: an HDR histogram for each second.
    Hlog,
    /// `requests.parquet`: one row for each request, for notebooks.
    Parquet,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 9] = [
        Self::Html,
        Self::Json,
        Self::Junit,
        Self::Md,
        Self::Trace,
        Self::Svg,
        Self::Png,
        Self::Hlog,
        Self::Parquet,
    ];

    /// What is written when nobody chooses.
    pub const DEFAULT: [Self; 2] = [Self::Html, Self::Json];

    /// The format's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Json => "json",
            Self::Junit => "junit",
            Self::Md => "md",
            Self::Trace => "trace",
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Hlog => "hlog",
            Self::Parquet => "parquet",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no format's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no format {0:?}: expected some of {names}", names = Format::ALL.map(Format::name).join(", "))]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
    }

    #[test]
    fn an_unknown_format_is_told_with_those_that_there_are() {
        let error = "pdf".parse::<Format>().map_err(|e| e.to_string());
        assert_eq!(
            error,
            Err("there is no format \"pdf\": expected some of html, json, junit, md, trace, svg, png, hlog, parquet".to_owned())
        );
    }
}
