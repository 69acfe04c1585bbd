//! `twitter`: the traces of Twitter's in-memory caches (Yang, Yue, Vinayak, OSDI 2020), as text.
//!
//! `timestamp,anonymized key,key size,value size,client id,operation,TTL`: s, text, bytes, bytes, number, a word, s. The
//! size of an object is that of key and value. A key may contain commas: the other fields are found from both ends.

use super::{
    Beginning, Format, Input, Key, Problem, Request, Requests,
    lines::{Lines, lines_of},
    shown, whole,
};

pub(super) const FORMAT: Format = Format {
    name: "twitter",
    summary: "Twitter's cache traces: timestamp,key,key size,value size,client,operation,TTL",
    fits,
    open: |input, _, _| Ok(Box::new(Twitter(Lines::new(input)))),
};

/// The operations that the traces know.
const OPERATIONS: [&str; 11] =
    ["get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr", "decr"];

/// The first line is one of such a trace.
fn fits(beginning: &Beginning<'_>) -> Result<(), String> {
    let first = lines_of(beginning).next().unwrap_or_default();
    split(first.trim_ascii_end()).map(drop)
}

struct Twitter(Lines<Input>);

impl Requests for Twitter {
    fn next(&mut self) -> Result<Option<Request<'_>>, Problem> {
        let Some((place, line)) = self.0.next()? else { return Ok(None) };
        split(line).map(Some).map_err(|what| place.problem(what))
    }

    fn has_operations(&self) -> bool {
        true
    }
}

fn split(line: &[u8]) -> Result<Request<'_>, String> {
    const WANTED: &str = "wanted timestamp,key,key size,value size,client,operation,TTL";
    let mut fields = line.rsplitn(6, |&byte| byte == b',');
    let mut field = || fields.next().ok_or_else(|| format!("found {}, {WANTED}", shown(line)));
    let [ttl, operation, client, value_size, key_size] = [field()?, field()?, field()?, field()?, field()?];
    let rest = field()?;
    let comma = rest.iter().position(|&byte| byte == b',').ok_or_else(|| format!("found {}, {WANTED}", shown(line)))?;
    let (timestamp, key) = (&rest[..comma], &rest[comma + 1..]);
    let number = |name: &str, text: &[u8]| {
        whole(text).ok_or_else(|| format!("{name} is {}, not a whole number; {WANTED}", shown(text)))
    };
    number("the timestamp", timestamp)?;
    let size = number("the key size", key_size)?.saturating_add(number("the value size", value_size)?);
    number("the client", client)?;
    number("the TTL", ttl)?;
    if key.is_empty() {
        return Err(format!("the key is empty; {WANTED}"));
    }
    if !OPERATIONS.iter().any(|known| operation == known.as_bytes()) {
        return Err(format!("the operation is {}, none of {}", shown(operation), OPERATIONS.join(", ")));
    }
    Ok(Request { key: Key::read(key), size: Some(size), operation })
}
