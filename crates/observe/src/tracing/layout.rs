//! How this kernel lays out its events and the pages of its buffers, from its own description of them. Offsets differ
//! between kernels and are never assumed.

use schedlab_linux::{Fault, tracefs::Tracefs};
use schedlab_traces::kernel::description::{self, Fields};
pub use schedlab_traces::kernel::description::{Field, PageHead, States};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Bytes of a description that are read; those of the scheduler have 2000 at most.
const LONGEST: usize = 1 << 16;

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
    /// In what context it was recorded (`schedlab_traces::kernel::Context`).
    pub common_flags: Field,
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
    let id = description::id(text)?;
    let fields = Fields::parse(text);
    let found: Vec<Field> = names.iter().map(|name| fields.get(name)).collect::<Result<_, _>>()?;
    let mut all = [found[0]; 5];
    all[..found.len()].copy_from_slice(&found);
    let [common_pid, common_flags] = ["common_pid", "common_flags"].map(|name| fields.get(name));
    Ok(EventLayout { kind, id, common_pid: common_pid?, common_flags: common_flags?, fields: all })
}
