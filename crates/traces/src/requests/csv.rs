//! `csv`: text with a request a line, in columns with commas, tabs, semicolons or blanks between them.
//!
//! Which column is what: as the user says; else by a first line that names them; else by their number: 1 is the key,
//! 3 are time, key, size, and 4 have the operation after these. By their number only where the beginning bears it out: the
//! first column never goes back, and the second is not a number that never does. A time is a number in any unit, a key any text
//! (in quotes if need be), a size a whole number of bytes. A line with more or fewer columns than the first is wrong.

use super::{
    Beginning, Format, Input, Key, Place, Problem, Request, Requests,
    lines::{Lines, lines_of},
    shown, whole,
};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    summary: "text, a request a line: time,key,size,op or other columns",
    fits: names_its_key,
    open: |input, wanted, beginning| Ok(Box::new(Csv::new(input, wanted.columns.as_deref(), beginning)?)),
};

/// Whether the first line names a column of keys: so that even a text of one column is known.
fn names_its_key(beginning: &Beginning<'_>) -> Result<(), String> {
    let first = lines_of(beginning).next().unwrap_or_default();
    let fields: Vec<&[u8]> = Separator::of(first).split(first).take(MOST_COLUMNS).collect();
    let names_key = no_number(&fields) && fields.iter().any(|field| named(field) == Some(Column::Key));
    if names_key { Ok(()) } else { Err("its first line names no column of keys".to_owned()) }
}

/// Most columns of a line.
const MOST_COLUMNS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Time,
    Key,
    Size,
    Operation,
    Ignored,
}

/// What first lines call the columns; the first name of each is also what a user types.
const NAMES: &[(Column, &[&str])] = &[
    (Column::Time, &["time", "timestamp", "ts", "clock_time"]),
    (Column::Key, &["key", "obj_id", "object", "id", "obj", "lbn", "lba", "block", "page", "address"]),
    (Column::Size, &["size", "obj_size", "length", "len", "bytes"]),
    (Column::Operation, &["op", "operation", "cmd", "command"]),
];
const TYPED: &str = "time, key, size, op, or - for a column that does not matter";

fn named(field: &[u8]) -> Option<Column> {
    let called = |names: &[&str]| names.iter().any(|name| field.eq_ignore_ascii_case(name.as_bytes()));
    NAMES.iter().find(|(_, names)| called(names)).map(|(column, _)| *column)
}

struct Csv {
    lines: Lines<Input>,
    between: Separator,
    columns: Vec<Column>,
}

impl Csv {
    fn new(input: Input, typed: Option<&str>, beginning: &Beginning<'_>) -> Result<Self, Problem> {
        let said = typed.is_some();
        let typed = typed.map(read_columns).transpose().map_err(|what| Place::Whole.problem(what))?;
        let mut lines = Lines::new(input);
        let Some((place, line)) = lines.next()? else {
            return Ok(Csv { lines, between: Separator::Blanks, columns: Vec::new() });
        };
        let between = Separator::of(line);
        let fields: Vec<&[u8]> = between.split(line).take(MOST_COLUMNS + 1).collect();
        let (columns, heading) = layout(&fields, typed).map_err(|what| place.problem(what))?;
        if !heading {
            if !said && columns.len() > 1 {
                borne_out(beginning, between).map_err(|what| Place::Whole.problem(what))?;
            }
            lines.back();
        }
        Ok(Csv { lines, between, columns })
    }
}

impl Requests for Csv {
    fn next(&mut self) -> Result<Option<Request<'_>>, Problem> {
        let Some((place, line)) = self.lines.next()? else { return Ok(None) };
        request(self.between.split(line), &self.columns).map(Some).map_err(|what| place.problem(what))
    }

    fn has_operations(&self) -> bool {
        self.columns.contains(&Column::Operation)
    }
}

fn read_columns(text: &str) -> Result<Vec<Column>, String> {
    let read = |name: &str| {
        let name = name.trim();
        let known = NAMES.iter().find(|(_, names)| names[0] == name).map(|(column, _)| *column);
        known
            .or((name == "-").then_some(Column::Ignored))
            .ok_or_else(|| format!("no column is called {name:?}: {TYPED}"))
    };
    let columns: Vec<Column> = text.split(',').map(read).collect::<Result<_, _>>()?;
    checked(columns).map_err(|what| format!("the columns {text:?} {what}: {TYPED}"))
}

/// One column is the key, and none occurs twice.
fn checked(columns: Vec<Column>) -> Result<Vec<Column>, &'static str> {
    let twice = |column: &Column| columns.iter().filter(|other| *other == column).count() > 1;
    match () {
        () if !columns.contains(&Column::Key) => Err("have no key"),
        () if columns.iter().any(|column| *column != Column::Ignored && twice(column)) => Err("have one twice"),
        () if columns.len() > MOST_COLUMNS => Err("are too many"),
        () => Ok(columns),
    }
}

/// What the columns are, from what the user typed and the first line; and whether that line only names them.
fn layout(first: &[&[u8]], typed: Option<Vec<Column>>) -> Result<(Vec<Column>, bool), String> {
    let names: Vec<Column> = first.iter().map(|field| named(field).unwrap_or(Column::Ignored)).collect();
    if let Some(columns) = typed {
        let (found, wanted) = (first.len(), columns.len());
        if found != wanted {
            return Err(format!(
                "the line has {found} columns, and {wanted} were named: write - for one that does not matter"
            ));
        }
        let any_name = names.iter().any(|column| *column != Column::Ignored);
        let heading = worded(first, &columns) || (any_name && no_number(first));
        return Ok((columns, heading));
    }
    if names.contains(&Column::Key) && no_number(first) {
        let columns = checked(names).map_err(|what| format!("the columns that this line names {what}: {TYPED}"))?;
        return Ok((columns, true));
    }
    use Column::{Key, Operation, Size, Time};
    let columns = match first.len() {
        1 => vec![Key],
        3 => vec![Time, Key, Size],
        4 => vec![Time, Key, Size, Operation],
        other => return Err(format!("the line has {other} columns: say which is the key, with {TYPED}")),
    };
    if worded(first, &columns) {
        return Err(format!("the line names none of its columns key: say which is what, with {TYPED}"));
    }
    Ok((columns, false))
}

/// Whether the beginning bears out that the first column is the time and the second the key.
fn borne_out(beginning: &Beginning<'_>, between: Separator) -> Result<(), String> {
    const SAY: &str = "say which column is what, as with --columns time,key,size";
    let mut columns = [Rise::default(), Rise::default()];
    for line in lines_of(beginning) {
        columns.iter_mut().zip(between.split(line)).for_each(|(rise, field)| rise.add(field));
    }
    match columns {
        [Rise { back: Some((from, to)), .. }, _] => {
            Err(format!("the first of its columns goes back from {from} to {to}, so it is hardly the time: {SAY}"))
        }
        [_, Rise { back: None, words: false, rises: true, .. }] => {
            Err(format!("its first and its second column never go back, so either may be the time: {SAY}"))
        }
        _ => Ok(()),
    }
}

/// What a column does from line to line.
#[derive(Default)]
struct Rise {
    last: Option<f64>,
    /// The first two numbers of which the second is smaller.
    back: Option<(f64, f64)>,
    /// Whether two numbers differ.
    rises: bool,
    /// Whether any field is no number.
    words: bool,
}

impl Rise {
    fn add(&mut self, field: &[u8]) {
        let Some(value) = real(field) else {
            self.words = true;
            return;
        };
        let last = self.last.replace(value).unwrap_or(value);
        self.rises |= value > last;
        if value < last && self.back.is_none() {
            self.back = Some((last, value));
        }
    }
}

/// Whether none of the fields is a number: an object may be called "key", but its time and size are numbers.
fn no_number(fields: &[&[u8]]) -> bool {
    fields.iter().all(|field| number(field).is_err())
}

/// Whether a field that must be a number has no digit at all.
fn worded(fields: &[&[u8]], columns: &[Column]) -> bool {
    let number = |column: &Column| matches!(column, Column::Time | Column::Size);
    let wordy = |field: &[u8]| !field.iter().any(u8::is_ascii_digit);
    fields.iter().zip(columns).any(|(field, column)| number(column) && wordy(field))
}

fn request<'a>(mut fields: impl Iterator<Item = &'a [u8]>, columns: &[Column]) -> Result<Request<'a>, String> {
    let (mut key, mut size, mut operation): (&[u8], _, &[u8]) = (b"", None, b"");
    for (found, column) in columns.iter().enumerate() {
        let field = fields.next().ok_or_else(|| format!("the line has {found} columns, not {}", columns.len()))?;
        match column {
            Column::Time => number(field)?,
            Column::Key => key = field,
            Column::Size => {
                let wrong = || format!("the size is {}, not a whole number of bytes", shown(field));
                size = Some(whole(field).ok_or_else(wrong)?);
            }
            Column::Operation => operation = field,
            Column::Ignored => {}
        }
    }
    let more = fields.count();
    if more > 0 {
        return Err(format!("the line has {} columns, not {}", columns.len() + more, columns.len()));
    }
    if key.is_empty() {
        return Err("the key is empty".to_owned());
    }
    Ok(Request { key: Key::read(key), size, operation })
}

fn number(field: &[u8]) -> Result<(), String> {
    match whole(field).is_some() || real(field).is_some() {
        true => Ok(()),
        false => Err(format!("the time is {}, not a number", shown(field))),
    }
}

/// A number of any kind.
fn real(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// The separator of two columns.
#[derive(Debug, Clone, Copy)]
enum Separator {
    Byte(u8),
    /// One or more blanks or tabs.
    Blanks,
}

impl Separator {
    fn of(line: &[u8]) -> Self {
        let sharp = [b',', b'\t', b';'].into_iter().find(|byte| line.contains(byte));
        sharp.map_or(Separator::Blanks, Separator::Byte)
    }

    fn split(self, line: &[u8]) -> Fields<'_> {
        Fields { rest: Some(if matches!(self, Separator::Blanks) { line.trim_ascii() } else { line }), between: self }
    }
}

/// The columns of a line, trimmed, and without the quotes around them. A doubled quote within quotes stays doubled: it still
/// distinguishes keys.
struct Fields<'a> {
    rest: Option<&'a [u8]>,
    between: Separator,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.take()?;
        let quoted = rest.first() == Some(&b'"');
        // The separator is looked for behind the closing quote; without one, the quote is an ordinary character.
        let from = if quoted { closing(rest).unwrap_or(0) } else { 0 };
        let end = match self.between {
            Separator::Byte(byte) => memchr::memchr(byte, &rest[from..]),
            Separator::Blanks => rest[from..].iter().position(u8::is_ascii_whitespace),
        };
        let Some(end) = end.map(|end| from + end) else { return Some(bare(rest)) };
        let after = &rest[end + 1..];
        self.rest = Some(if matches!(self.between, Separator::Blanks) { after.trim_ascii_start() } else { after });
        Some(bare(&rest[..end]))
    }
}

/// The place behind the quote that closes a field which begins with one.
fn closing(field: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr(b'"', field.get(at..)?)? + 1;
        match field.get(at) {
            Some(b'"') => at += 1,
            _ => return Some(at),
        }
    }
}

fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    field.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(field)
}
