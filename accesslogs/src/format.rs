//! The formats by name, and the parser of one.

use std::str::FromStr;

use crate::custom::{Mapping, Pattern};
use crate::entry::Entry;
use crate::error::{FormatError, LineError};
use crate::template::Template;
use crate::{alb, envoy, haproxy, nginx, traefik};

/// The formats that have a name.
pub(crate) const NAMES: &[&str] = &[
    "nginx",
    "ingress-nginx",
    "haproxy",
    "envoy",
    "istio",
    "alb",
    "traefik",
];

/// A format of access logs, by the words with which a user names it: `nginx`, `haproxy:%ci:%cp [%tr] ...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format(String);

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        Reader::of(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl Format {
    /// The words that name it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads lines of one format.
#[derive(Debug, Clone)]
pub struct Parser {
    reader: Reader,
    zone_seconds: i32,
}

#[derive(Debug, Clone)]
enum Reader {
    Nginx(Template),
    Haproxy(Template),
    Envoy(Template),
    Alb,
    Traefik,
    Pattern(Pattern),
    Mapping(Mapping),
}

impl Reader {
    fn of(text: &str) -> Result<Self, FormatError> {
        let custom = text.split_once(':');
        match (text, custom) {
            ("nginx", _) => nginx::template(nginx::COMBINED).map(Self::Nginx),
            ("ingress-nginx", _) => nginx::template(nginx::INGRESS).map(Self::Nginx),
            ("haproxy", _) => haproxy::template(haproxy::HTTPLOG).map(Self::Haproxy),
            ("envoy", _) => envoy::template(envoy::DEFAULT).map(Self::Envoy),
            ("istio", _) => envoy::template(envoy::ISTIO).map(Self::Envoy),
            ("alb", _) => Ok(Self::Alb),
            ("traefik", _) => Ok(Self::Traefik),
            (_, Some(("nginx", format))) => nginx::template(format).map(Self::Nginx),
            (_, Some(("haproxy", format))) => haproxy::template(format).map(Self::Haproxy),
            (_, Some(("envoy", format))) => envoy::template(format).map(Self::Envoy),
            (_, Some(("regex", pattern))) => Pattern::new(pattern).map(Self::Pattern),
            (_, Some(("json", mapping))) => Mapping::new(mapping).map(Self::Mapping),
            _ => Err(FormatError::Unknown(text.chars().take(40).collect())),
        }
    }
}

impl Parser {
    /// A parser of `format`. Times without a zone are those of a zone `zone_seconds` east of UTC.
    ///
    /// # Errors
    ///
    /// [`FormatError`] never for a [`Format`] that was read from a text.
    pub fn new(format: &Format, zone_seconds: i32) -> Result<Self, FormatError> {
        Ok(Self {
            reader: Reader::of(&format.0)?,
            zone_seconds,
        })
    }

    /// The entry on a line, which is given without its line end.
    ///
    /// # Errors
    ///
    /// [`LineError`] for a line that is not in the format.
    pub fn parse<'a>(&self, line: &'a str) -> Result<Entry<'a>, LineError> {
        let line = line.trim_end_matches(['\r', '\n']);
        if line.trim().is_empty() {
            return Err(LineError::Empty);
        }
        let zone = self.zone_seconds;
        match &self.reader {
            Reader::Nginx(template) => nginx::entry(&template.read(line)?, zone),
            Reader::Haproxy(template) => {
                haproxy::entry(&template.read(haproxy::without_syslog(line))?, zone)
            }
            Reader::Envoy(_) if envoy::is_json(line) => envoy::of_json(line, zone),
            Reader::Envoy(template) => envoy::entry(&template.read(line)?, zone),
            Reader::Alb => alb::entry(line),
            Reader::Traefik => traefik::entry(line),
            Reader::Pattern(pattern) => pattern.entry(line, zone),
            Reader::Mapping(mapping) => mapping.entry(line, zone),
        }
    }
}
