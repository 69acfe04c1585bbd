//! Plain traces of requests: the requested objects, one after the other. One format a file.
//!
//! - [`read`]: a file to numbered keys; zstd and gzip are unpacked on the way
//! - [`FORMATS`]: the table of formats
//! - `recognise`: the format of a file, from the structure of its first records, or why it is not recognised
//!
//! Files are hostile: a record takes bounded memory (a line [`MOST_LINE`] bytes, a zstd window 128 MiB), and whatever the bytes,
//! reading ends with requests or with one [`Problem`] that says where, what was found, and what would be right. Nothing panics.

mod csv;
mod known;
mod lcs;
mod lines;
mod numbering;
mod oracle;
mod packed;
mod recognise;
mod records;
mod twitter;
mod txt;
mod vscsi;
mod zstd;

pub use lines::MOST_LINE;
pub use numbering::{MOST_REQUESTS, Numbered, Sizes};
pub(crate) use packed::unpack;

use numbering::Numbering;
use std::{
    fmt,
    fs::File,
    io::{self, Cursor, Read},
    path::Path,
};

/// Bytes of the beginning from which the format is recognised.
const BEGINNING: usize = 128 << 10;

/// The requested object, as the trace names it. A decimal number and its text are the same object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// A number.
    Number(u64),
    /// Any bytes that are not the usual spelling of such a number.
    Text(&'a [u8]),
}

impl<'a> Key<'a> {
    fn read(text: &'a [u8]) -> Self {
        // Only the usual spelling: "007" and "7" may be two objects.
        let usual = text.len() == 1 || text.first() != Some(&b'0');
        whole(text).filter(|_| usual).map_or(Key::Text(text), Key::Number)
    }
}

/// A line or record of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The requested object.
    pub key: Key<'a>,
    /// Its size in bytes, if the trace has sizes.
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

    /// Hands requests to `take` until the end, or until it wants no more. A reader of binary records knows a quicker way.
    fn each(&mut self, take: &mut Take<'_>) -> Result<(), Problem> {
        while let Some(request) = self.next()? {
            if !take(&request)? {
                break;
            }
        }
        Ok(())
    }
}

/// Takes a request; whether it wants more.
type Take<'a> = dyn FnMut(&Request<'_>) -> Result<bool, Problem> + 'a;

/// A format's entry in the table.
#[derive(Debug)]
pub struct Format {
    /// What a user types.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Whether a file that begins so is one; else why not.
    fits: fn(&Beginning<'_>) -> Result<(), String>,
    open: fn(Input, &Wanted, &Beginning<'_>) -> Result<Opened, Problem>,
}

/// The table of formats.
pub const FORMATS: &[Format] = &[
    oracle::GENERAL,
    oracle::GENERAL_OP_NS,
    oracle::SIM_TWR_NS,
    oracle::SYS_TWR_NS,
    vscsi::FORMAT,
    lcs::FORMAT,
    twitter::FORMAT,
    csv::FORMAT,
    txt::FORMAT,
];

type Input = Box<dyn Read + Send>;
type Opened = Box<dyn Requests>;

/// The first bytes of a trace, unpacked.
#[derive(Debug, Clone, Copy)]
struct Beginning<'a> {
    bytes: &'a [u8],
    /// Whether that is all of it.
    whole: bool,
}

/// What to read, and how.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Name of the format; recognised if not given.
    pub format: Option<String>,
    /// Columns of a csv in order, with commas: time, key, size, op, or - for what does not matter.
    pub columns: Option<String>,
    /// Only requests with one of these operations; all if empty.
    pub operations: Vec<String>,
    /// Only this number of requests from the beginning (of those with these operations).
    pub first: Option<u64>,
    /// Whether the size of each request is kept. A trace without sizes is then refused, and requests of no size are left out.
    pub bytes: bool,
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
    let kind = std::fs::metadata(path).map_err(unreadable)?;
    if let Some(what) = no_trace(&kind) {
        return Err(named(Place::Whole.problem(format!("is a {what}, not a trace"))));
    }
    number(Box::new(File::open(path).map_err(unreadable)?), wanted).map_err(named)
}

/// The kind of a path that is not a file. Pipes are read: a trace may come from a command.
fn no_trace(metadata: &std::fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => Some("folder"),
        () if kind.is_char_device() || kind.is_block_device() => Some("device"),
        () if kind.is_socket() => Some("socket"),
        () => None,
    }
}

/// Reads and numbers a trace. Memory: 4 bytes a request and the keys; see [`Numbered`].
pub fn number(input: Input, wanted: &Wanted) -> Result<Numbered, Problem> {
    let (format, mut requests) = open(input, wanted)?;
    let only = &wanted.operations;
    if !only.is_empty() && !requests.has_operations() {
        return Err(Place::Whole.problem(format!("has no operations to choose {} from", only.join(", "))));
    }
    let mut numbering = Numbering::new(wanted.bytes);
    let mut left = wanted.first.unwrap_or(u64::MAX);
    if left > 0 {
        requests.each(&mut |request| {
            if only.is_empty() || only.iter().any(|name| request.operation.eq_ignore_ascii_case(name.as_bytes())) {
                numbering.add(request).map_err(|what| Place::Whole.problem(what))?;
                left -= 1;
            }
            Ok(left > 0)
        })?;
    }
    if numbering.is_empty() {
        let such = if only.is_empty() { String::new() } else { format!(" with the operation {}", only.join(" or ")) };
        let size = if wanted.bytes { " that have a size" } else { "" };
        return Err(Place::Whole.problem(format!("has no requests{such}{size}")));
    }
    Ok(numbering.finish(format))
}

/// Opens a trace in the format that is wanted or that its beginning shows.
fn open(input: Input, wanted: &Wanted) -> Result<(&'static str, Opened), Problem> {
    let (bytes, input) = packed::unpack(input)?;
    let beginning = Beginning { bytes: &bytes, whole: bytes.len() < BEGINNING };
    let format = match &wanted.format {
        Some(name) => FORMATS.iter().find(|format| format.name == name).ok_or_else(|| unknown(name))?,
        None if bytes.is_empty() => return Err(Place::Whole.problem("has no requests: it is empty")),
        None => recognise::format(&beginning)?,
    };
    // A column may be named where there is only one.
    let format = if wanted.columns.is_some() && format.name == txt::FORMAT.name { &csv::FORMAT } else { format };
    if wanted.columns.is_some() && format.name != csv::FORMAT.name {
        return Err(Place::Whole.problem(format!("is {}, whose columns are fixed: leave out the columns", format.name)));
    }
    Ok((format.name, (format.open)(input, wanted, &beginning)?))
}

fn unknown(name: &str) -> Problem {
    Place::Whole.problem(format!("no format is called {name:?}; there are: {}", names()))
}

/// The names of all formats.
fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
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
