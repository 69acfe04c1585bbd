//! `txt`: text, an object a line and nothing else. The whole line is the object's name, whatever it contains.

use super::{
    Beginning, Format, Input, Key, Problem, Request, Requests,
    lines::{Lines, lines_of},
};

pub(super) const FORMAT: Format = Format {
    name: "txt",
    summary: "text, an object a line",
    fits,
    open: |input, _, _| Ok(Box::new(Txt(Lines::new(input)))),
};

/// No line contains a separator of columns.
fn fits(beginning: &Beginning<'_>) -> Result<(), String> {
    let between = |byte: &u8| matches!(byte, b',' | b';' | b'\t' | b' ' | b'"');
    match (1..).zip(lines_of(beginning)).find(|(_, line)| line.trim_ascii().iter().any(between)) {
        Some((number, _)) => Err(format!("line {number} has more than one word")),
        None => Ok(()),
    }
}

struct Txt(Lines<Input>);

impl Requests for Txt {
    fn next(&mut self) -> Result<Option<Request<'_>>, Problem> {
        let Some((_, line)) = self.0.next()? else { return Ok(None) };
        Ok(Some(Request { key: Key::read(line.trim_ascii()), size: None, operation: b"" }))
    }

    fn has_operations(&self) -> bool {
        false
    }
}
