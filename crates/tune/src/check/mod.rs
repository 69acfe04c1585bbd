//! What this host permits: a line for each object that an experiment may need, what was seen, and what to do about a no.
//!
//! Nothing is believed that can be tried: a thread of ours asks for a real-time class and for a slice of its own, and is gone.

mod aside;
mod kernel;
mod machine;
mod quiet;

use crate::{entry::Family, listing, place::Access, table, undo::Undo};
use schedlab_linux::Root;
use serde::Serialize;
use std::time::Duration;

/// Whether the host permits something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It does.
    Yes,
    /// In part, or something has to be minded.
    Limited,
    /// It does not.
    No,
    /// It cannot be found out.
    Unknown,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// What it is about.
    pub what: &'static str,
    /// Whether it is permitted.
    pub answer: Answer,
    /// What was seen.
    pub seen: String,
    /// What to do about it; nothing where all is well.
    pub advice: Option<String>,
}

impl Line {
    fn new(what: &'static str, answer: Answer, seen: impl Into<String>, advice: &str) -> Line {
        let advice = Some(advice.to_owned()).filter(|a| answer != Answer::Yes && !a.is_empty());
        Line { what, answer, seen: seen.into(), advice }
    }

    /// Yes or limited.
    fn fine_if(fine: bool, what: &'static str, seen: impl Into<String>, advice: &str) -> Line {
        Line::new(what, if fine { Answer::Yes } else { Answer::Limited }, seen, advice)
    }
}

/// All lines. It takes `look` to see what else goes on.
pub fn check(root: &Root, look: Duration, undone: &Undo) -> Vec<Line> {
    let aside = aside::look(root);
    let closed = aside.as_ref().is_some_and(|a| a.debugfs_is_closed());
    let mut lines = vec![kernel::release(root), machine::processors(root)];
    lines.extend(FAMILIES.iter().map(|(family, what)| tunables(root, *family, what, closed)));
    lines.extend(kernel::lines(root, aside.as_ref()));
    lines.extend(machine::lines(root));
    lines.extend(quiet::lines(root, look));
    lines.push(journal(undone));
    lines
}

const FAMILIES: &[(Family, &str)] = &[
    (Family::Scheduler, "tunables of the scheduler"),
    (Family::RealTime, "tunables of real-time tasks"),
    (Family::Memory, "tunables of memory"),
    (Family::WriteBack, "tunables of write-back"),
    (Family::Queue, "tunables of the disk's queue"),
    (Family::Elevator, "tunables of the elevator"),
];

fn tunables(root: &Root, family: Family, what: &'static str, debugfs_is_closed: bool) -> Line {
    let folder = std::env::current_dir().unwrap_or_else(|_| std::env::temp_dir());
    let rows = listing::list(root, &[], &folder).unwrap_or_default();
    let rows: Vec<_> = rows.iter().filter(|r| r.family == family && r.access != Access::PerTask).collect();
    let of = |access| rows.iter().filter(move |r| r.access == access).map(|r| r.name.as_str()).collect::<Vec<_>>();
    let (writable, missing, mut unmounted) = (of(Access::Writable), of(Access::Missing), of(Access::Unmounted));
    let mut closed = [of(Access::ReadOnly), of(Access::Forbidden)].concat();
    if debugfs_is_closed {
        closed.append(&mut unmounted);
    }
    let elsewhere = if family == Family::Elevator { "of elevators not at work" } else { "not in this kernel" };
    let how = [(&closed, "closed"), (&unmounted, "in debugfs, which is not mounted"), (&missing, elsewhere)];
    let lists =
        how.iter().filter(|(names, _)| !names.is_empty()).map(|(names, how)| format!("; {how}: {}", names.join(", ")));
    let all = table::all().filter(|t| t.family == family && t.name != "slice").count();
    let seen = format!("{} of {all} can be set{}", writable.len(), lists.collect::<String>());
    let advice = if !closed.is_empty() {
        super::steps::closed("lockdown or a container closes them: boot without, or leave them out")
    } else if !unmounted.is_empty() {
        "a run mounts debugfs for its time".to_owned()
    } else if rows.is_empty() {
        "no disk lies directly below this folder: name one, as in elevator@vda".to_owned()
    } else {
        String::new()
    };
    let answer = match (writable.is_empty(), closed.is_empty() && unmounted.is_empty()) {
        (true, _) => Answer::No,
        (false, true) => Answer::Yes,
        (false, false) => Answer::Limited,
    };
    Line::new(what, answer, seen, &advice)
}

fn journal(undone: &Undo) -> Line {
    let count =
        |list: &[String], what: &str| if list.is_empty() { None } else { Some(format!("{what} {}", list.join(", "))) };
    let foreign: Vec<String> = undone.foreign.iter().map(|m| m.setting.clone()).collect();
    let said = [
        count(&undone.back, "put back just now:"),
        count(&undone.gone, "gone by itself:"),
        count(&foreign, "changed by another process and left alone:"),
        count(&undone.failed, "could not be put back:"),
        count(&undone.stuck, "put back, but still in the journal:"),
        count(&undone.living, "in force:"),
        count(&undone.unreadable, "cannot be read:"),
        count(&undone.strays, "in no entry of the journal, left alone:"),
    ];
    let seen: Vec<String> = said.into_iter().flatten().collect();
    let answer = if !undone.failed.is_empty() || !undone.unreadable.is_empty() {
        Answer::No
    } else if undone.living.is_empty() && undone.stuck.is_empty() && undone.strays.is_empty() {
        Answer::Yes
    } else {
        Answer::Limited
    };
    let seen = if seen.is_empty() { "nothing is left of earlier runs".to_owned() } else { seen.join("; ") };
    Line::new("left by earlier runs", answer, seen, "schedlab host restore")
}

/// A file's text without the end of its line; none if it cannot be read.
fn text(root: &Root, path: &str) -> Option<String> {
    super::reading::read_bounded(&root.path(path)).ok().map(|t| t.trim().to_owned())
}
