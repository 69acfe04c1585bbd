//! What a program is compared with: `cc1*` with `*` and `?` as in a shell, or a regular expression between slashes, `/^cc1(plus)?$/`.

use regex_lite::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;

/// Longest pattern, in bytes.
const LONGEST: usize = 512;

/// A pattern, as written and compiled.
#[derive(Debug, Clone)]
pub struct Pattern {
    written: String,
    compiled: Regex,
}

impl Pattern {
    /// Compiles one. The error says what is allowed.
    pub fn new(written: &str) -> Result<Pattern, String> {
        if written.is_empty() || written.len() > LONGEST {
            return Err(format!("has {} bytes; a pattern has 1 to {LONGEST}", written.len()));
        }
        let between = written.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let expression = match between.filter(|between| !between.is_empty()) {
            Some(expression) => expression.to_owned(),
            None => of_shell(written),
        };
        let compiled = Regex::new(&expression).map_err(|why| format!("{written:?} is no regular expression: {why}"))?;
        Ok(Pattern { written: written.to_owned(), compiled })
    }

    /// Whether a text fits.
    pub fn fits(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }
}

/// The regular expression for a whole text that fits a pattern of a shell.
fn of_shell(written: &str) -> String {
    let mut expression = "^(?s:".to_owned();
    for one in written.chars() {
        match one {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            other => expression.push_str(&regex_lite::escape(&other.to_string())),
        }
    }
    expression + ")$"
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.written == other.written
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Pattern::new(&String::deserialize(from)?).map_err(de::Error::custom)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.written)
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": LONGEST })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).unwrap().fits(text)
    }

    #[test]
    fn a_pattern_of_a_shell_is_for_the_whole_text() {
        assert!(fits("cc1*", "cc1plus") && fits("cc1*", "cc1") && !fits("cc1*", "occ1"));
        assert!(fits("make", "make") && !fits("make", "cmake") && fits("?ake", "make"));
        assert!(fits("*/app-*.scope", "/user.slice/app-xterm-7.scope"));
        assert!(fits("a.b", "a.b") && !fits("a.b", "axb"), "a point is a point");
        assert!(!fits("[ab]", "a") && fits("[ab]", "[ab]"));
    }

    #[test]
    fn what_is_between_slashes_is_a_regular_expression() {
        assert!(fits("/^cc1(plus)?$/", "cc1plus") && !fits("/^cc1(plus)?$/", "cc1x"));
        assert!(fits("/usr/bin/*", "/usr/bin/make"), "a path has one slash at its end only by chance");
        assert!(Pattern::new("/(/").unwrap_err().contains("no regular expression"));
        assert!(Pattern::new("").is_err() && Pattern::new(&"x".repeat(513)).is_err());
    }
}
