//! Plain traces of requests: which thing was asked for, one after the other. One format a file.
//!
//! - [`read`]: a file to numbered keys; its format is told or found out from its beginning, and zstd is unpacked on the way
//! - [`FORMATS`]: the table of formats
//!
//! Files are hostile: a record takes bounded memory (a line [`MOST_LINE`] bytes, a zstd window 128 MiB), and whatever the bytes,
//! reading ends with requests or with one [`Problem`] that says where, what was found, and what would be right. Nothing panics.

mod csv;
mod lines;
mod numbering;
mod oracle_general;
mod twitter;
mod zstd;

pub use lines::MOST_LINE;
pub use numbering::{MOST_REQUESTS, Numbered};

use numbering::Numbering;
use std::{
    fmt,
    fs::File,
    io::{self, BufReader, Cursor, Read},
    path::Path,
};

/// Bytes of the beginning that tell the format.
const BEGINNING: usize = 16 << 10;
/// How a gzip file begins.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The thing asked for, as the trace names it. A decimal number and its text are the same thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// A number.
    Number(u64),
    /// Any bytes that are not the usual spelling of such a number.
    Text(&'a [u8]),
}

impl<'a> Key<'a> {
    fn read(text: &'a [u8]) -> Self {
        // Only the usual spelling: "007" and "7" may be two things.
        let usual = text.len() == 1 || text.first() != Some(&b'0');
        whole(text).filter(|_| usual).map_or(Key::Text(text), Key::Number)
    }
}

/// A line or record of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// What was asked for.
    pub key: Key<'a>,
    /// Its size in bytes, if the trace tells it.
    pub size: Option<u64>,
    /// What was done with it, as the trace says ("get"); empty if it does not.
    pub operation: &'a [u8],
}

/// A trace being read.
pub trait Requests: Send {
    /// The next request; `None` at the end. Not to be asked again after an error.
    fn next(&mut self) -> Result<Option<Request<'_>>, Problem>;

    /// Whether requests have operations.
    fn has_operations(&self) -> bool;
}

/// A format's entry in the table.
#[derive(Debug)]
pub struct Format {
    /// What a user types.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Whether a file that begins so may be one.
    fits: fn(&[u8]) -> bool,
    open: fn(Input, &Wanted) -> Result<Opened, Problem>,
}

/// The table of formats, those that are told by more first.
pub const FORMATS: &[Format] = &[oracle_general::FORMAT, twitter::FORMAT, csv::FORMAT];

type Input = Box<dyn Read + Send>;
type Opened = Box<dyn Requests>;

/// What to read, and how.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Name of the format; found out if not given.
    pub format: Option<String>,
    /// Columns of a csv in order, with commas: time, key, size, op, or - for what does not matter.
    pub columns: Option<String>,
    /// Only requests with one of these operations; all if empty.
    pub operations: Vec<String>,
    /// Only so many requests from the beginning (of those with these operations).
    pub first: Option<u64>,
}

/// Why a trace cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, if it has a name.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What was found, and what would be right.
    pub what: String,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// All of it.
    Whole,
    /// A line, from 1.
    Line(u64),
    /// A byte of the unpacked content, from 0.
    Byte(u64),
}

impl Place {
    fn problem(self, what: impl Into<String>) -> Problem {
        Problem { file: String::new(), place: self, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Whole => write!(f, "{}: {}", self.file, self.what),
            Place::Line(line) => write!(f, "{}:{line}: {}", self.file, self.what),
            Place::Byte(byte) => write!(f, "{}, byte {byte}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for Problem {}

/// Reads and numbers the trace in a file.
pub fn read(path: &Path, wanted: &Wanted) -> Result<Numbered, Problem> {
    let named = |problem: Problem| Problem { file: path.display().to_string(), ..problem };
    let unreadable = |why: io::Error| named(Place::Whole.problem(reason(&why)));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(named(Place::Whole.problem("is a folder, not a trace")));
    }
    number(Box::new(file), wanted).map_err(named)
}

/// Reads and numbers a trace. Memory: 4 bytes a request and the keys; see [`Numbered`].
pub fn number(input: Input, wanted: &Wanted) -> Result<Numbered, Problem> {
    let (format, mut requests) = open(input, wanted)?;
    let only = &wanted.operations;
    if !only.is_empty() && !requests.has_operations() {
        return Err(Place::Whole.problem(format!("has no operations to choose {} from", only.join(", "))));
    }
    let mut numbering = Numbering::default();
    let mut left = wanted.first.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(request) = requests.next()? else { break };
        if only.is_empty() || only.iter().any(|name| request.operation.eq_ignore_ascii_case(name.as_bytes())) {
            numbering.add(&request).map_err(|what| Place::Whole.problem(what))?;
            left -= 1;
        }
    }
    if numbering.is_empty() {
        let such = if only.is_empty() { String::new() } else { format!(" with the operation {}", only.join(" or ")) };
        return Err(Place::Whole.problem(format!("has no requests{such}")));
    }
    Ok(numbering.finish(format))
}

/// Opens a trace in the format that is wanted or that it seems to have.
fn open(input: Input, wanted: &Wanted) -> Result<(&'static str, Opened), Problem> {
    let whole = |why: io::Error| Place::Whole.problem(reason(&why));
    let (beginning, input) = look(input).map_err(whole)?;
    if beginning.starts_with(GZIP) {
        return Err(Place::Whole.problem("is packed with gzip: unpack it first (gzip -d), or pack it with zstd"));
    }
    let (beginning, input) = match zstd::packed(&beginning) {
        true => look(Box::new(zstd::Frames::new(BufReader::new(input)))).map_err(whole)?,
        false => (beginning, input),
    };
    let format = match &wanted.format {
        Some(name) => FORMATS.iter().find(|format| format.name == name).ok_or_else(|| unknown(name))?,
        None => FORMATS.iter().find(|format| (format.fits)(&beginning)).ok_or_else(unrecognised)?,
    };
    if wanted.columns.is_some() && format.name != csv::FORMAT.name {
        return Err(Place::Whole.problem(format!("is {}, whose columns are fixed: leave out the columns", format.name)));
    }
    Ok((format.name, (format.open)(input, wanted)?))
}

fn unknown(name: &str) -> Problem {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    Place::Whole.problem(format!("no format is called {name:?}; there are: {}", names.join(", ")))
}

fn unrecognised() -> Problem {
    Place::Whole.problem("is neither text nor records of oracleGeneral; a packed file is zstd")
}

/// The beginning of what is read, and all of it again.
fn look(mut input: Input) -> io::Result<(Vec<u8>, Input)> {
    let mut beginning = Vec::new();
    input.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning)?;
    let whole = Cursor::new(beginning.clone()).chain(input);
    Ok((beginning, Box::new(whole)))
}

/// Why the file could not be read, without the number that the system has for it.
fn reason(why: &io::Error) -> String {
    let text = why.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// A whole number written in decimal digits.
fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A piece of a trace for a message: readable, and not long.
fn shown(text: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = if text.len() > MOST { "..." } else { "" };
    format!("{:?}{cut}", String::from_utf8_lossy(&text[..text.len().min(MOST)]))
}
