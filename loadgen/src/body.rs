//! Bodies of requests: the same each time, or filled in for each slot.

use bytes::Bytes;
use rollscope_scenarios::{BodySource, TemplatePart};
use serde::{Deserialize, Serialize};

use crate::chance::{What, bits};
use crate::plan::Env;

/// A request's body.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Body {
    /// The same for every slot.
    Fixed(#[serde(with = "plain_bytes")] Bytes),
    /// Filled in for each slot.
    Template(Vec<Part>, u64),
}

/// Bodies can hold secrets.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Template(parts, _) => write!(f, "a template of {} parts", parts.len()),
        }
    }
}

/// A piece of a template, with the values of environment variables.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Part {
    Text(String),
    Seq,
    Uuid(u64),
    Random { place: u64, from: u64, to: u64 },
}

/// Placeholders of one template are told apart by their place, up to this many.
const PLACES: u64 = 1 << 16;

impl Body {
    /// The body of `source`, with everything that `seed` decides. The error says what could not be had.
    pub(crate) fn new(
        source: Option<&BodySource>,
        seed: u64,
        env: Env<'_>,
    ) -> Result<Self, String> {
        match source {
            None => Ok(Self::Fixed(Bytes::new())),
            Some(BodySource::Inline(text)) => Ok(Self::Fixed(Bytes::from(text.clone()))),
            Some(BodySource::File(path)) => match std::fs::read(path) {
                Ok(bytes) => Ok(Self::Fixed(Bytes::from(bytes))),
                Err(e) => Err(format!(
                    "the body's file {} cannot be read: {e}",
                    path.display()
                )),
            },
            Some(BodySource::Template(template)) => {
                let parts = template.parts().iter().zip(0..);
                let parts = parts.map(|(part, place)| Part::new(part, place % PLACES, env));
                Ok(Self::Template(parts.collect::<Result<_, _>>()?, seed))
            }
        }
    }

    /// The body for slot `seq`.
    pub(crate) fn of(&self, seq: u64) -> Bytes {
        let (parts, seed) = match self {
            Self::Fixed(bytes) => return bytes.clone(),
            Self::Template(parts, seed) => (parts, *seed),
        };
        let mut text = String::new();
        for part in parts {
            part.write(&mut text, seed, seq);
        }
        Bytes::from(text)
    }
}

/// Bytes as a list of numbers.
mod plain_bytes {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        Vec::<u8>::deserialize(from).map(Bytes::from)
    }
}

impl Part {
    fn new(part: &TemplatePart, place: u64, env: Env<'_>) -> Result<Self, String> {
        Ok(match part {
            TemplatePart::Text(text) => Self::Text(text.clone()),
            TemplatePart::Seq => Self::Seq,
            TemplatePart::Uuid => Self::Uuid(place),
            TemplatePart::Random(from, to) => Self::Random {
                place,
                from: *from,
                to: *to,
            },
            TemplatePart::Env(variable) => Self::Text(env(variable).ok_or_else(|| {
                format!(
                    "body: the environment variable {variable} is not set; set it before the run"
                )
            })?),
        })
    }

    fn write(&self, text: &mut String, seed: u64, seq: u64) {
        let drawn =
            |what, place: u64| bits(seed, what, seq.wrapping_mul(PLACES).wrapping_add(place));
        match self {
            Self::Text(part) => text.push_str(part),
            Self::Seq => text.push_str(&seq.to_string()),
            Self::Random { place, from, to } => {
                let span = u128::from(to - from) + 1;
                let offset = (u128::from(drawn(What::Number, *place)) * span) >> 64;
                text.push_str(&(u128::from(*from) + offset).to_string());
            }
            Self::Uuid(place) => {
                let high = drawn(What::Uuid, *place);
                let low = bits(high, What::Uuid, seq);
                text.push_str(&uuid(high, low));
            }
        }
    }
}

/// A UUID of version 4 (RFC 9562) from 122 random bits.
fn uuid(high: u64, low: u64) -> String {
    let high = high & !0xf000 | 0x4000;
    let low = low & (u64::MAX >> 2) | 1 << 63;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::collections::BTreeSet;

    use rollscope_scenarios::Template;

    use super::*;

    fn body(text: &str, seed: u64) -> Body {
        let source = BodySource::Template(Template::parse(text).unwrap());
        let env = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        Body::new(Some(&source), seed, &env).unwrap()
    }

    fn text(body: &Body, seq: u64) -> String {
        String::from_utf8(body.of(seq).to_vec()).unwrap()
    }

    #[test]
    fn placeholders_are_filled_in_for_each_slot() {
        let body = body("{{seq}} {{env:TOKEN}} {{random:5..5}}", 1);
        assert_eq!(text(&body, 7), "7 s3cret 5");
        assert!(!format!("{body:?}").contains("s3cret"));
        let missing = BodySource::Template(Template::parse("{{env:NONE}}").unwrap());
        let error = Body::new(Some(&missing), 1, &|_| None).unwrap_err();
        assert!(error.contains("NONE is not set"), "{error}");
    }

    #[test]
    fn random_numbers_stay_in_their_range_and_reach_all_of_it() {
        let body = body("{{random:3..7}}", 4);
        let found: BTreeSet<u64> = (0..200)
            .map(|seq| text(&body, seq).parse().unwrap())
            .collect();
        assert_eq!(found, (3..=7).collect());
        let widest = self::body("{{random:0..18446744073709551615}}", 4);
        assert!((0..50).all(|seq| text(&widest, seq).parse::<u64>().is_ok()));
    }

    #[test]
    fn uuids_are_of_version_4_all_different_and_the_same_for_the_same_seed() {
        let one = body("{{uuid}} {{uuid}}", 1);
        let all: BTreeSet<String> = (0..500)
            .flat_map(|seq| {
                text(&one, seq)
                    .split(' ')
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(all.len(), 1_000);
        for uuid in &all {
            let bytes = uuid.as_bytes();
            assert_eq!((uuid.len(), bytes[14]), (36, b'4'), "{uuid}");
            assert!(b"89ab".contains(&bytes[19]), "{uuid}");
        }
        assert_eq!(text(&one, 3), text(&body("{{uuid}} {{uuid}}", 1), 3));
        assert_ne!(text(&one, 3), text(&body("{{uuid}} {{uuid}}", 2), 3));
    }
}
