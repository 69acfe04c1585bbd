//! What a message shows of a value: one line, cut if long.

use serde_json::Value;

/// Longest piece of a user's text that a message repeats, in characters.
const LONGEST: usize = 300;
/// Most names that a message lists.
pub(super) const MOST: usize = 40;

/// The value in one line, cut if long.
pub(super) fn snippet(value: &Value) -> String {
    match value {
        Value::Array(list) if list.len() > MOST => format!("a list of {}", list.len()),
        Value::Object(table) if table.len() > MOST => format!("a table of {}", table.len()),
        other => shorten(&other.to_string()),
    }
}

/// Cuts a long text and takes its line breaks out.
pub(super) fn shorten(text: &str) -> String {
    let line = |c: char| if c.is_control() { ' ' } else { c };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text[..end].chars().map(line).chain("...".chars()).collect(),
        None => text.chars().map(line).collect(),
    }
}
