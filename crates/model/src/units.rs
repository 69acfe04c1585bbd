//! Quantities as people write them ("36ms", "4KiB", "250/s") and the whole numbers that they denote.
//! A bare number is refused: a reader must never guess a unit.

use crate::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, fmt};

/// Units of time, largest first, with their length in nanoseconds.
const TIMES: &[(&str, u64)] =
    &[("h", 3600 * SECOND), ("min", 60 * SECOND), ("s", SECOND), ("ms", MILLISECOND), ("us", MICROSECOND), ("ns", 1)];
/// Units of size, largest first, in bytes. `kB` is a thousand, `KiB` is 1024.
const SIZES: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Splits "36.5ms" into 36.5 and "ms".
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

fn parse(text: &str, units: &[(&str, u64)], what: &str, example: &str) -> Result<u64, String> {
    let names = || units.iter().rev().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let wrong =
        || format!("{text:?} is not a {what}: write a number with one of the units {} like {example:?}", names());
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let scale = units.iter().find(|u| u.0 == unit).ok_or_else(wrong)?.1;
    let value = number * scale as f64;
    if value > 9.0e18 {
        return Err(format!("{text:?} is too large for a {what}"));
    }
    Ok(value.round() as u64)
}

/// The shortest exact spelling of `value` in `units`: 36000000 ns is "36ms".
fn spell(value: u64, units: &[(&str, u64)]) -> String {
    let unit = units.iter().find(|u| value >= u.1 && value.is_multiple_of(u.1)).unwrap_or(&units[units.len() - 1]);
    format!("{}{}", value / unit.1, unit.0)
}

/// Parses a length of time such as "36ms" into nanoseconds. Errors say what was found and what is allowed.
pub fn parse_duration(text: &str) -> Result<Nanos, String> {
    parse(text, TIMES, "duration", "36ms")
}
/// Parses a size such as "4KiB" into bytes. Errors say what was found and what is allowed.
pub fn parse_size(text: &str) -> Result<u64, String> {
    parse(text, SIZES, "size", "4KiB")
}
/// Parses a rate such as "60/s" or "900/min" into events per second. Errors say what is allowed.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is not a rate: write a number per unit of time like \"60/s\"");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let scale = TIMES.iter().find(|u| unit.strip_prefix('/') == Some(u.0)).ok_or_else(wrong)?.1;
    Ok(number * SECOND as f64 / scale as f64)
}
/// Spells nanoseconds as people write them: `36_000_000` is "36ms".
pub fn spell_duration(value: Nanos) -> String {
    spell(value, TIMES)
}
/// Spells bytes as people write them: `4096` is "4KiB".
pub fn spell_size(value: u64) -> String {
    spell(value, SIZES)
}
/// Spells a rate per second: `60.0` is "60/s".
pub fn spell_rate(value: f64) -> String {
    format!("{value}/s")
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $what:literal, $parse:path, $spell:path, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
        pub struct $name(pub $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Written;
                impl de::Visitor<'_> for Written {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        $parse(text).map($name).map_err(E::custom)
                    }
                    // A bare number takes the same path, whose error lists the units.
                    fn visit_u64<E: de::Error>(self, bare: u64) -> Result<$name, E> {
                        self.visit_str(&bare.to_string())
                    }
                    fn visit_i64<E: de::Error>(self, bare: i64) -> Result<$name, E> {
                        self.visit_str(&bare.to_string())
                    }
                    fn visit_f64<E: de::Error>(self, bare: f64) -> Result<$name, E> {
                        self.visit_str(&bare.to_string())
                    }
                }
                from.deserialize_any(Written)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&$spell(self.0))
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

quantity!(/** A length of time, written "36ms". */ Duration(Nanos), "a duration like \"36ms\"", parse_duration, spell_duration,
    r"^\d+(\.\d+)?\s*(ns|us|ms|s|min|h)$");
quantity!(/** A number of bytes, written "4KiB". */ Size(u64), "a size like \"4KiB\"", parse_size, spell_size,
    r"^\d+(\.\d+)?\s*(B|kB|KiB|MB|MiB|GB|GiB)$");
quantity!(/** Events per second, written "60/s". */ Rate(f64), "a rate like \"60/s\"", parse_rate, spell_rate,
    r"^\d+(\.\d+)?\s*/(ns|us|ms|s|min|h)$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_back_as_spelled() {
        for text in ["36ms", "100us", "1h", "90s", "1500ms"] {
            assert_eq!(spell_duration(parse_duration(text).unwrap()), text);
        }
        assert_eq!(parse_size("4KiB"), Ok(4096));
        assert_eq!(parse_rate("900/min"), Ok(15.0));
        assert_eq!(parse_duration("16.7 ms"), Ok(16_700_000));
    }

    #[test]
    fn a_bare_number_or_a_wrong_unit_is_refused() {
        for text in ["36", "36 parsecs", "", "-3ms", "ms", "1e99h", "99999999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
