//! How this kernel lays out its events and the pages of its buffers, from its own description of them. Offsets differ
//! between kernels and are never assumed.

use schedlab_linux::{Fault, tracefs::Tracefs};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Bytes of a description that are read; those of the scheduler have 2000 at most.
const LONGEST: usize = 1 << 16;

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
}

impl States {
    /// Reads them from the print format, where each bit has its letter: `{ 0x00000010, "X" }`. A task whose state
    /// has the bit above all of them can run and was preempted, as one that has none can.
    fn parse(text: &str) -> Result<States, String> {
        let mut states = States { waits: 0, gone: 0 };
        for pair in text.split('{').skip(1) {
            let Some((bit, letter)) = pair.split('}').next().and_then(|pair| pair.split_once(',')) else { continue };
            let Ok(bit) = number(bit) else { continue };
            let letter = letter.trim().trim_matches('"');
            states.waits |= bit;
            // Of a task that is dead, a zombie, or (before Linux 4.14) ending. "W" of old kernels is a task waking up.
            if matches!(letter, "X" | "Z" | "x") {
                states.gone |= bit;
            }
        }
        if states.gone == 0 || states.waits == states.gone {
            return Err("its print format lacks the states of a task".to_owned());
        }
        Ok(states)
    }
}

fn number(text: &str) -> Result<i64, std::num::ParseIntError> {
    match text.trim().strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.trim().parse(),
    }
}

/// The lines `field:TYPE NAME; offset:N; size:N; signed:N;` of a description.
struct Fields(Vec<(String, Field)>);

impl Fields {
    fn parse(text: &str) -> Fields {
        Fields(text.lines().filter_map(Fields::line).collect())
    }

    fn line(line: &str) -> Option<(String, Field)> {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let name = parts.next()?.rsplit(' ').next()?;
        let mut value = |key: &str| parts.next()?.strip_prefix(key)?.parse::<u32>().ok();
        let (offset, size) = (value("offset:")? as usize, value("size:")? as usize);
        // The oldest kernels do not say whether; theirs are all signed where it matters.
        let signed = value("signed:").is_none_or(|signed| signed != 0);
        Some((name.split('[').next()?.to_owned(), Field { offset, size, signed }))
    }

    fn get(&self, name: &str) -> Result<Field, String> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|&(_, field)| field).ok_or_else(|| format!("it has no field {name:?}"))
    }
}

/// What is recorded. The number is the place in [`EVENTS`] and [`Layout::events`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A processor turns from one task to another.
    Switch,
    /// A task is woken. It can run from here on; Linux records it on the waker's processor.
    Waking,
    /// The task was put into a runqueue.
    Woken,
    /// A new task was.
    New,
    /// A task goes to another processor.
    Migrate,
    /// A task was made.
    Fork,
    /// The running task is charged what it ran since the last such event or its switch-in.
    Runtime,
}

/// Names of the events, and of their fields that are read, in a fixed order for each.
pub const EVENTS: [(EventKind, &str, &[&str]); 7] = [
    (EventKind::Switch, "sched_switch", &["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"]),
    (EventKind::Waking, "sched_waking", &["pid", "prio", "target_cpu"]),
    (EventKind::Woken, "sched_wakeup", &["pid", "prio", "target_cpu"]),
    (EventKind::New, "sched_wakeup_new", &["pid", "prio", "target_cpu"]),
    (EventKind::Migrate, "sched_migrate_task", &["pid", "orig_cpu", "dest_cpu"]),
    (EventKind::Fork, "sched_process_fork", &["parent_pid", "child_pid"]),
    (EventKind::Runtime, "sched_stat_runtime", &["pid", "runtime"]),
];

/// One kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLayout {
    /// Which.
    pub kind: EventKind,
    /// Its number in a record.
    pub id: u16,
    /// The task that ran on the processor when it was recorded.
    pub common_pid: Field,
    /// The fields of [`EVENTS`], in that order; what is not used is a copy of the first.
    pub fields: [Field; 5],
}

/// All that is needed to read the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The head of a page.
    pub head: PageHead,
    /// Where a record says what it is.
    pub common_type: Field,
    /// What `prev_state` means.
    pub states: States,
    /// The events.
    pub events: Vec<EventLayout>,
}

impl Layout {
    /// Reads the descriptions of the running kernel.
    pub fn of(tracefs: &Tracefs) -> Result<Layout, Fault> {
        Layout::read(&tracefs.path("events"))
    }

    /// Reads the descriptions in a folder `events`.
    pub fn read(events: &Path) -> Result<Layout, Fault> {
        let text = |name: &str| {
            let path = events.join(name);
            read(&path).map_err(|why| Fault::file(path, "read", why))
        };
        let wrong = |name: &str, why: String| Fault::Wrong(format!("{}: {why}", events.join(name).display()));
        let head = PageHead::parse(&text("header_page")?).map_err(|why| wrong("header_page", why))?;
        let mut all = Vec::new();
        let mut shared = None;
        for (kind, name, names) in EVENTS {
            let file = format!("sched/{name}/format");
            let description = text(&file)?;
            all.push(event(kind, names, &description).map_err(|why| wrong(&file, why))?);
            if kind == EventKind::Switch {
                let states = States::parse(&description).map_err(|why| wrong(&file, why))?;
                let common_type = Fields::parse(&description).get("common_type").map_err(|why| wrong(&file, why))?;
                shared = Some((states, common_type));
            }
        }
        let (states, common_type) = shared.expect("the table of events has a switch");
        Ok(Layout { head, common_type, states, events: all })
    }
}

/// The text of a description. The kernel gives `header_page` to the first read alone, so that must have room for all of it.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut text = vec![0; LONGEST];
    let mut length = 0;
    while length < LONGEST {
        match file.read(&mut text[length..])? {
            0 => break,
            more => length += more,
        }
    }
    text.truncate(length);
    String::from_utf8(text).map_err(io::Error::other)
}

fn event(kind: EventKind, names: &[&str], text: &str) -> Result<EventLayout, String> {
    let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
    let fields = Fields::parse(text);
    let found: Vec<Field> = names.iter().map(|name| fields.get(name)).collect::<Result<_, _>>()?;
    let mut all = [found[0]; 5];
    all[..found.len()].copy_from_slice(&found);
    Ok(EventLayout { kind, id: id.ok_or("it has no ID")?, common_pid: fields.get("common_pid")?, fields: all })
}
