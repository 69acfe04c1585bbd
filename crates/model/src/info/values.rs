//! The values of an entry's parameters: how they are read, which ranges and defaults hold, and by which name the entry finds them.

use super::{Domain, Info, Parameter};
use crate::units;
use std::collections::BTreeMap;

/// A checked value, in base units.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nanoseconds, bytes or a count.
    Whole(u64),
    /// Per second.
    Real(f64),
    /// A choice, or a text.
    Name(String),
    /// A switch.
    Switch(bool),
}

impl Domain {
    /// Reads a value written by a user. The error says what was found and what is allowed.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        match *self {
            Domain::Duration { low, high } => within(units::parse_duration(text)?, low, high, units::spell_duration),
            Domain::Size { low, high } => within(units::parse_size(text)?, low, high, units::spell_size),
            Domain::Count { low, high } => {
                let value = text.parse().map_err(|_| format!("{text:?} is not a whole number"))?;
                within(value, low, high, |v| v.to_string())
            }
            Domain::Rate { low, high } => {
                let value = units::parse_rate(text)?;
                if value < low || value > high {
                    return Err(format!("{text:?} is out of range: from {low}/s to {high}/s"));
                }
                Ok(Value::Real(value))
            }
            Domain::Choice { names } => {
                if names.contains(&text) {
                    return Ok(Value::Name(text.to_owned()));
                }
                Err(format!("{text:?} is not one of {}", names.join(", ")))
            }
            Domain::Text if text.trim().is_empty() => Err("is empty".to_owned()),
            Domain::Text => Ok(Value::Name(text.to_owned())),
            Domain::Switch => {
                text.parse().map(Value::Switch).map_err(|_| format!("{text:?} is neither true nor false"))
            }
        }
    }
}

fn within(value: u64, low: u64, high: u64, spell: impl Fn(u64) -> String) -> Result<Value, String> {
    if value < low || value > high {
        return Err(format!("{} is out of range: from {} to {}", spell(value), spell(low), spell(high)));
    }
    Ok(Value::Whole(value))
}

/// The checked parameters of one entry, defaults filled in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params(BTreeMap<String, Value>);

impl Parameter {
    /// The default on a machine with that many processors; none if it must be given.
    pub fn default_on(&self, processors: u16) -> Option<Result<Value, String>> {
        let factor = if self.grows { 1 + u64::from(processors.clamp(1, 8).ilog2()) } else { 1 };
        let grown = |value| if let Value::Whole(one) = value { Value::Whole(one * factor) } else { value };
        Some(self.domain.read(self.default?).map(grown))
    }
}

impl Params {
    /// Checks what was `given` (name, text) against `info` and fills in defaults, as of one processor.
    /// The error names the parameter first: (name, what is wrong).
    pub fn check<'a>(
        info: &Info,
        given: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<Params, (String, String)> {
        Params::check_on(1, info, given)
    }

    /// The same, with defaults as of that many processors.
    pub fn check_on<'a>(
        processors: u16,
        info: &Info,
        given: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<Params, (String, String)> {
        let mut values = BTreeMap::new();
        for (name, text) in given {
            let known = info
                .parameter(name)
                .ok_or_else(|| (name.to_owned(), format!("{} has no such parameter", info.name)))?;
            let value = known.domain.read(&text).map_err(|why| (name.to_owned(), why))?;
            values.insert(name.to_owned(), value);
        }
        for parameter in info.parameters {
            if values.contains_key(parameter.name) {
                continue;
            }
            let missing = || (parameter.name.to_owned(), "is missing".to_owned());
            let value = parameter.default_on(processors).ok_or_else(missing)?;
            values.insert(parameter.name.to_owned(), value.map_err(|why| (parameter.name.to_owned(), why))?);
        }
        Ok(Params(values))
    }

    /// A duration, size or count.
    ///
    /// # Panics
    /// If the entry has no such parameter: a slip in the entry's own file.
    pub fn whole(&self, name: &str) -> u64 {
        match &self.0[name] {
            Value::Whole(v) => *v,
            other => panic!("{name} is {other:?}, not a whole number"),
        }
    }

    /// A rate per second. Panics as [`Params::whole`].
    pub fn real(&self, name: &str) -> f64 {
        match &self.0[name] {
            Value::Real(v) => *v,
            other => panic!("{name} is {other:?}, not a rate"),
        }
    }

    /// A choice or a text. Panics as [`Params::whole`].
    pub fn name(&self, name: &str) -> &str {
        match &self.0[name] {
            Value::Name(v) => v,
            other => panic!("{name} is {other:?}, not a choice"),
        }
    }

    /// A switch. Panics as [`Params::whole`].
    pub fn switch(&self, name: &str) -> bool {
        match &self.0[name] {
            Value::Switch(v) => *v,
            other => panic!("{name} is {other:?}, not a switch"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_that_grows_does_so_with_the_logarithm_of_at_most_eight_processors() {
        const SLICE: Parameter = Parameter {
            name: "slice",
            meaning: "",
            domain: Domain::Duration { low: 0, high: 1000 },
            default: Some("100ns"),
            logarithmic: true,
            grows: true,
            host: None,
        };
        for (processors, expected) in
            [(1, 100), (2, 200), (3, 200), (4, 300), (7, 300), (8, 400), (9, 400), (1024, 400)]
        {
            assert_eq!(SLICE.default_on(processors), Some(Ok(Value::Whole(expected))), "{processors}");
            let info =
                Info { name: "", summary: "", year: 0, origin: "", promises: &[], parameters: &[SLICE], source: "" };
            assert_eq!(Params::check_on(processors, &info, []).unwrap().whole("slice"), expected);
            assert_eq!(Params::check_on(processors, &info, [("slice", "70ns".to_owned())]).unwrap().whole("slice"), 70);
        }
        assert_eq!(Parameter { grows: false, ..SLICE }.default_on(8), Some(Ok(Value::Whole(100))));
        assert_eq!(Parameter { default: None, ..SLICE }.default_on(8), None);
    }
}
