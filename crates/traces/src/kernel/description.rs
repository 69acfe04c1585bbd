//! How a kernel lays out its events and the pages of its buffers, from its own description of them (the files `format` and
//! `header_page` of tracefs, which recorders copy). Offsets differ between kernels and are never assumed.
//!
//! A description has lines like `field:TYPE NAME; offset:N; size:N; signed:N;`. A type `__data_loc` or `__rel_loc` is a
//! number of 32 bits that says where in the record the value is, and how long. Numbers are in the byte order of this machine.

use super::Left;

/// A number within a record or a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Where it begins, bytes.
    pub offset: usize,
    /// Its length, bytes.
    pub size: usize,
    /// Whether it may be negative.
    pub signed: bool,
}

impl Field {
    /// Its value in a record; none if the record is too short for it.
    #[inline]
    pub fn of(&self, record: &[u8]) -> Option<i64> {
        let bytes = record.get(self.offset..)?;
        Some(match (self.size, self.signed) {
            (4, true) => i32::from_ne_bytes(*bytes.first_chunk()?).into(),
            (4, false) => u32::from_ne_bytes(*bytes.first_chunk()?).into(),
            (8, _) => i64::from_ne_bytes(*bytes.first_chunk()?),
            (2, true) => i16::from_ne_bytes(*bytes.first_chunk()?).into(),
            (2, false) => u16::from_ne_bytes(*bytes.first_chunk()?).into(),
            (1, true) => i8::from_ne_bytes(*bytes.first_chunk()?).into(),
            (1, false) => u8::from_ne_bytes(*bytes.first_chunk()?).into(),
            _ => return None,
        })
    }
}

/// Where the bytes of a text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the field itself.
    Here,
    /// Where the field says, counted from the beginning of the record.
    FromRecord,
    /// Where the field says, counted from the end of the field.
    FromField,
}

/// A text within a record, up to its first zero byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    field: Field,
    place: Place,
}

impl Text {
    /// Its bytes in a record, those behind its end included; none if the record is too short for it.
    #[inline]
    pub fn of<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let (offset, size) = match self.place {
            Place::Here => (self.field.offset, self.field.size),
            place => {
                let word = u32::from_ne_bytes(*record.get(self.field.offset..)?.first_chunk()?);
                let offset = (word & 0xffff) as usize;
                let begin = if place == Place::FromField { self.field.offset + 4 } else { 0 };
                (begin + offset, (word >> 16) as usize)
            }
        };
        record.get(offset..)?.get(..size)
    }
}

/// The fields of a description.
#[derive(Debug, Clone, Default)]
pub struct Fields(Vec<(String, Text)>);

impl Fields {
    /// Reads the lines that describe fields.
    pub fn parse(text: &str) -> Fields {
        Fields(text.lines().filter_map(Fields::line).collect())
    }

    fn line(line: &str) -> Option<(String, Text)> {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?;
        let name = declared.rsplit(' ').next()?.split('[').next()?;
        let mut value = |key: &str| parts.next()?.strip_prefix(key)?.parse::<u32>().ok();
        let (offset, size) = (value("offset:")? as usize, value("size:")? as usize);
        // The oldest kernels do not say whether; theirs are all signed where it matters.
        let signed = value("signed:").is_none_or(|signed| signed != 0);
        let place = match declared.split(' ').next() {
            Some("__data_loc") if size == 4 => Place::FromRecord,
            Some("__rel_loc") if size == 4 => Place::FromField,
            _ => Place::Here,
        };
        Some((name.to_owned(), Text { field: Field { offset, size, signed }, place }))
    }

    fn find(&self, name: &str) -> Result<Text, String> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|&(_, text)| text).ok_or_else(|| format!("it has no field {name:?}"))
    }

    /// The field of that name, as a number.
    pub fn get(&self, name: &str) -> Result<Field, String> {
        self.find(name).map(|text| text.field)
    }

    /// The field of that name, as a text.
    pub fn text(&self, name: &str) -> Result<Text, String> {
        self.find(name)
    }
}

/// The pages of a buffer: a head with the time of the first record and the length of the records, then these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageHead {
    /// When the first record's time counts from, ns.
    pub timestamp: Field,
    /// Bytes of records, and in its top bits whether some were lost before them.
    pub commit: Field,
    /// Where the records begin, and how many bytes there are for them.
    pub data: Field,
}

impl PageHead {
    /// Reads `events/header_page`.
    pub fn parse(text: &str) -> Result<PageHead, String> {
        let fields = Fields::parse(text);
        let head =
            PageHead { timestamp: fields.get("timestamp")?, commit: fields.get("commit")?, data: fields.get("data")? };
        let fits = head.timestamp.size == 8 && matches!(head.commit.size, 4 | 8);
        let length = head.page();
        if !fits || head.timestamp.offset + 8 > head.data.offset || head.commit.offset + 8 > head.data.offset + 4 {
            return Err("its fields overlap or have sizes that no kernel has".to_owned());
        }
        if !(64..=1 << 20).contains(&length) {
            return Err(format!("a page of {length} bytes makes no sense"));
        }
        Ok(head)
    }

    /// Length of a page, bytes.
    pub fn page(&self) -> usize {
        self.data.offset.saturating_add(self.data.size)
    }
}

/// What a task that left a processor is by `prev_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct States {
    /// Bits of a task that waits or is gone; without any, it can run.
    pub waits: i64,
    /// Bits of a task that is gone.
    pub gone: i64,
    /// The bit of a task that waits, and that a signal would wake.
    pub sleeps: i64,
    /// Bits of a task that is stopped or traced.
    pub stopped: i64,
}

impl States {
    /// Reads them from the print format, where each bit has its letter: `{ 0x00000010, "X" }`. A task whose state
    /// has the bit above all of them can run and was preempted, as one that has none can.
    pub fn parse(text: &str) -> Result<States, String> {
        let mut states = States { waits: 0, gone: 0, sleeps: 0, stopped: 0 };
        for pair in text.split('{').skip(1) {
            let Some((bit, letter)) = pair.split('}').next().and_then(|pair| pair.split_once(',')) else { continue };
            let Ok(bit) = number(bit) else { continue };
            states.waits |= bit;
            match letter.trim().trim_matches('"') {
                // Of a task that is dead, a zombie, or (before Linux 4.14) ending. "W" of old kernels is a task waking up.
                "X" | "Z" | "x" => states.gone |= bit,
                "S" => states.sleeps |= bit,
                "T" | "t" => states.stopped |= bit,
                _ => {}
            }
        }
        if states.gone == 0 || states.waits == states.gone {
            return Err("its print format lacks the states of a task".to_owned());
        }
        Ok(states)
    }

    /// How a task of that `prev_state` left its processor.
    #[inline]
    pub fn left(&self, state: i64) -> Left {
        // The bit above the known ones: preempted, whatever the others say.
        if state > self.waits || state & self.waits == 0 {
            Left::Runnable
        } else if state & self.gone != 0 {
            Left::Dead
        } else if state & self.stopped != 0 {
            Left::Stopped
        } else if state & self.sleeps != 0 {
            Left::Sleeping
        } else {
            Left::Uninterruptible
        }
    }
}

fn number(text: &str) -> Result<i64, std::num::ParseIntError> {
    match text.trim().strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.trim().parse(),
    }
}

/// The number of the event that a description describes.
pub fn id(text: &str) -> Result<u16, String> {
    let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
    id.ok_or_else(|| "it has no ID".to_owned())
}

/// The name of the event that a description describes.
pub fn name(text: &str) -> Result<&str, String> {
    let name = text.lines().find_map(|line| line.strip_prefix("name:"));
    name.map(str::trim).filter(|name| !name.is_empty()).ok_or_else(|| "it has no name".to_owned())
}
