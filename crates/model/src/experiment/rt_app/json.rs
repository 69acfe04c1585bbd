//! The JSON of rt-app: comments, a comma before a closing bracket and keys that come twice are allowed, and the order of keys counts.

use crate::experiment::{
    path::Path,
    problem::Fault,
    snippet::{shorten, snippet},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Switch(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    /// Keys in their order; one may come twice.
    Table(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Json, D::Error> {
        struct Written;
        impl<'de> de::Visitor<'de> for Written {
            type Value = Json;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }
            fn visit_bool<E>(self, switch: bool) -> Result<Json, E> {
                Ok(Json::Switch(switch))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
                Ok(Json::Number(number.into()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
                Ok(Json::Number(number.into()))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Json, E> {
                Number::from_f64(number).map(Json::Number).ok_or_else(|| E::custom("a number is not finite"))
            }
            fn visit_str<E>(self, text: &str) -> Result<Json, E> {
                Ok(Json::Text(text.to_owned()))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Json::List(all))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut table: A) -> Result<Json, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = table.next_entry()? {
                    all.push(entry);
                }
                Ok(Json::Table(all))
            }
        }
        from.deserialize_any(Written)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => to.serialize_unit(),
            Json::Switch(switch) => switch.serialize(to),
            Json::Number(number) => number.serialize(to),
            Json::Text(text) => text.serialize(to),
            Json::List(list) => list.serialize(to),
            Json::Table(entries) => to.collect_map(entries.iter().map(|(key, value)| (key, value))),
        }
    }
}

impl From<&Json> for Value {
    /// For messages: of a key that comes twice, the last value.
    fn from(json: &Json) -> Value {
        match json {
            Json::Null => Value::Null,
            Json::Switch(switch) => Value::from(*switch),
            Json::Number(number) => Value::Number(number.clone()),
            Json::Text(text) => Value::from(text.as_str()),
            Json::List(list) => list.iter().map(Value::from).collect(),
            Json::Table(table) => {
                Value::Object(table.iter().map(|(key, value)| (key.clone(), value.into())).collect::<Map<_, _>>())
            }
        }
    }
}

/// Reads a text. What is wrong, and the line, from 1; serde_json bounds the depth.
pub(super) fn parse(text: &str) -> Result<Json, (String, usize)> {
    let plain = without_comments(text)?;
    serde_json::from_slice(&plain).map_err(|error| {
        let message = error.to_string();
        (format!("is not JSON: {}", message.split(" at line ").next().unwrap_or_default()), error.line())
    })
}

/// Comments, and commas before a closing bracket, become blanks, so that lines stay where they are.
fn without_comments(text: &str) -> Result<Vec<u8>, (String, usize)> {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => {
                comma = None;
                at = end_of_text(&bytes, at);
                continue;
            }
            (b'/', Some(b'/')) => bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |n| at + n),
            (b'/', Some(b'*')) => {
                let end = bytes[at + 2..].windows(2).position(|two| two == b"*/");
                let line = || bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
                end.map(|n| at + n + 4).ok_or_else(|| ("has a comment without an end".to_owned(), line()))?
            }
            (byte, _) => {
                match byte {
                    b',' => comma = Some(at),
                    b']' | b'}' => {
                        if let Some(comma) = comma.take() {
                            bytes[comma] = b' ';
                        }
                    }
                    _ if byte.is_ascii_whitespace() => {}
                    _ => comma = None,
                }
                at += 1;
                continue;
            }
        };
        bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at = end;
    }
    Ok(bytes)
}

/// The place behind the text in quotes that begins at `start`.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node<'j> {
    pub at: Path,
    pub json: &'j Json,
}

impl<'j> Node<'j> {
    /// The value is wrong, or cannot be expressed.
    pub fn fault(&self, reason: impl AsRef<str>) -> Fault {
        Fault { found: Some(self.shown()), ..Fault::new(self.at.clone(), reason) }
    }

    fn shown(&self) -> String {
        snippet(&Value::from(self.json))
    }

    fn not(&self, wanted: &str) -> Fault {
        self.fault(format!("{} is not {wanted}", self.shown()))
    }

    /// A whole number between bounds.
    pub fn whole(&self, low: i64, high: i64) -> Result<i64, Fault> {
        let number = if let Json::Number(number) = self.json { number.as_i64() } else { None };
        number
            .filter(|number| (low..=high).contains(number))
            .ok_or_else(|| self.not(&format!("a whole number from {low} to {high}")))
    }

    /// A text.
    pub fn text(&self) -> Result<&'j str, Fault> {
        if let Json::Text(text) = self.json { Ok(text) } else { Err(self.not("a text in quotes")) }
    }

    /// true or false.
    pub fn switch(&self) -> Result<bool, Fault> {
        if let Json::Switch(switch) = self.json { Ok(*switch) } else { Err(self.not("true or false")) }
    }

    /// The elements of a list.
    pub fn list(&self) -> Result<impl Iterator<Item = Node<'j>>, Fault> {
        let Json::List(list) = self.json else { return Err(self.not("a list")) };
        let at = self.at.clone();
        Ok(list.iter().enumerate().map(move |(i, json)| Node { at: at.index(i), json }))
    }

    /// A table.
    pub fn table(&self) -> Result<Table<'j>, Fault> {
        let Json::Table(entries) = self.json else { return Err(self.not("an object")) };
        Ok(Table { at: self.at.clone(), entries })
    }
}

/// An object and its place.
#[derive(Debug, Clone)]
pub(super) struct Table<'j> {
    pub at: Path,
    entries: &'j [(String, Json)],
}

impl<'j> Table<'j> {
    /// Its entries in their order, those that are null left out, as rt-app does.
    pub fn entries(&self) -> impl Iterator<Item = (&'j str, Node<'j>)> + use<'j> {
        let (at, entries) = (self.at.clone(), self.entries);
        let given = entries.iter().filter(|(_, json)| *json != Json::Null);
        given.map(move |(key, json)| (key.as_str(), Node { at: at.key(key), json }))
    }

    /// The value of a key that may come once.
    pub fn get(&self, key: &str) -> Result<Option<Node<'j>>, Fault> {
        let mut found = self.entries().filter(|(name, _)| *name == key).map(|(_, node)| node);
        let first = found.next();
        match found.next() {
            Some(second) => Err(second.fault(format!("{:?} comes twice", shorten(key)))),
            None => Ok(first),
        }
    }

    /// A whole number between bounds, if the key is there.
    pub fn whole(&self, key: &str, low: i64, high: i64) -> Result<Option<i64>, Fault> {
        self.get(key)?.map(|node| node.whole(low, high)).transpose()
    }

    /// A text, if the key is there.
    pub fn text(&self, key: &str) -> Result<Option<&'j str>, Fault> {
        self.get(key)?.map(|node| node.text()).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_are_blanks_and_lines_stay() {
        let text = "{ /* \"a\": 1,\n } */ \"a\" : [1, 2, /* x */ ], // ] \n \"b/*\" : \"//\\\"\", }";
        let Json::Table(table) = parse(text).unwrap() else { panic!() };
        assert_eq!(table[0], ("a".to_owned(), Json::List(vec![Json::Number(1.into()), Json::Number(2.into())])));
        assert_eq!(table[1], ("b/*".to_owned(), Json::Text("//\"".to_owned())));
        assert_eq!(parse("{\n/*\n*/ \"a\" 1 }").unwrap_err().1, 3);
        assert_eq!(parse("\n\n /* no end").unwrap_err(), ("has a comment without an end".to_owned(), 3));
    }

    #[test]
    fn keys_keep_their_order_and_may_come_twice() {
        let Json::Table(table) = parse("{ \"z\": 1, \"a\": 2, \"z\": 3 }").unwrap() else { panic!() };
        assert_eq!(table.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["z", "a", "z"]);
    }

    #[test]
    fn two_commas_or_nothing_but_a_comma_are_no_json() {
        for text in ["[1,,]", "{,,}", "[1 2]", "", "\"", "/", "{ \"a\": 1 /", "nan", "1e999"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
