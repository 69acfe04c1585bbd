//! A program whose threads are treated otherwise than by themselves, and how all of it goes back: the threads that the entry lists, and
//! those that began after it was written and inherited from them.
//!
//! A thread is recognised by its number and its start. A value goes back only if it is one that we have set; what another process has
//! set meanwhile is left alone and named.

use crate::{
    treatment::{Differs, Treatment},
    undone::{Mismatch, Undone},
};
use schedlab_linux::{
    Fault,
    proc::task::{TaskStat, start_of, start_of_thread},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    time::Duration,
};

/// Most threads of an entry: no more fit into it.
pub const MOST_THREADS: usize = 400;
/// Without the right to administer the system, the kernel sets the nice value of an autogroup ten times a second at most.
const AGAIN: Duration = Duration::from_millis(110);
const TRIES: u32 = 10;

/// A thread that is treated otherwise than by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treated {
    /// Its process.
    pub process: i32,
    /// Its number.
    pub thread: i32,
    /// When it began, in ticks since boot.
    pub start: u64,
    /// How it is treated by itself.
    pub own: Treatment,
    /// How it may be treated by us: as before the last change, and as after it.
    pub ours: Vec<Treatment>,
}

/// An autogroup whose nice value we have set: the kernel has one for each session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Autogroup {
    /// The kernel's name for it.
    pub name: String,
    /// A process in it, and its start.
    pub process: i32,
    /// See there.
    pub start: u64,
    /// Its nice value by itself.
    pub own: i32,
    /// Before our last change, and after it.
    pub ours: Vec<i32>,
}

/// A program, as an entry of the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreatedProgram {
    /// What people call it.
    pub name: String,
    /// The slice that a task has by itself, ns; 0 where the kernel does not say.
    pub usual_slice: u64,
    /// Its threads.
    pub threads: Vec<Treated>,
    /// Its autogroups.
    pub autogroups: Vec<Autogroup>,
}

/// What happened to its parts.
#[derive(Default)]
struct Outcome {
    there: bool,
    foreign: Vec<Mismatch>,
    failed: Vec<String>,
}

impl TreatedProgram {
    /// Undoes it.
    pub(crate) fn undo(&self) -> Result<Undone, Fault> {
        let mut outcome = Outcome::default();
        for one in &self.threads {
            if start_of_thread(one.process, one.thread) == Some(one.start) {
                self.thread(one.process, one.thread, &one.own, &one.ours, true, &mut outcome);
            }
        }
        for (process, thread, creator) in self.unlisted() {
            self.thread(process, thread, &creator.own, &creator.ours, false, &mut outcome);
        }
        self.autogroups.iter().for_each(|group| group.undo(self, &mut outcome));
        match outcome {
            Outcome { failed, .. } if !failed.is_empty() => Err(Fault::Wrong(failed.join("; "))),
            Outcome { foreign, .. } if !foreign.is_empty() => Ok(Undone::Partly(foreign)),
            Outcome { there: true, .. } => Ok(Undone::Back),
            _ => Ok(Undone::Gone),
        }
    }

    fn thread(
        &self,
        process: i32,
        thread: i32,
        own: &Treatment,
        ours: &[Treatment],
        listed: bool,
        outcome: &mut Outcome,
    ) {
        // One that ends meanwhile has nothing left to undo.
        let Ok(now) = Treatment::of(thread, self.usual_slice) else { return };
        outcome.there = true;
        let (back, differs) = now.back(own, ours);
        if let Some(Differs { field, expected, actual }) = differs.filter(|_| listed) {
            outcome.foreign.push(Mismatch {
                setting: format!("{field} of {}", self.name),
                path: format!("/proc/{process}/task/{thread}").into(),
                expected: expected.to_string(),
                actual: actual.to_string(),
            });
        }
        match back.set(thread) {
            Err(why) if why.raw_os_error() != Some(libc::ESRCH) => {
                outcome.failed.push(format!("thread {thread} of process {process}: {why}"));
            }
            _ => {}
        }
    }

    /// Threads that are not listed, whose process is, or descends from one that is, or is an orphan in the session of one. Each with
    /// the listed thread that it has inherited from.
    fn unlisted(&self) -> Vec<(i32, i32, &Treated)> {
        let mut creators: BTreeMap<i32, &Treated> = BTreeMap::new();
        for one in self.threads.iter().rev() {
            // A process's first thread is the one that children are most likely to have come from.
            if one.thread == one.process || !creators.contains_key(&one.process) {
                creators.insert(one.process, one);
            }
        }
        creators.retain(|process, one| one.thread != one.process || start_of(*process).is_none_or(|s| s == one.start));
        let listed: BTreeSet<i32> = self.threads.iter().map(|one| one.thread).collect();
        let all = Relation::all();
        let mut found = Vec::new();
        for process in all.keys() {
            let Some(creator) = inherited(*process, &all, &creators) else { continue };
            for thread in numbers(&format!("/proc/{process}/task")).filter(|thread| !listed.contains(thread)) {
                found.push((*process, thread, creator));
            }
        }
        found
    }
}

/// The listed thread that a process is, or descends from.
fn inherited<'a>(
    process: i32,
    all: &BTreeMap<i32, Relation>,
    creators: &BTreeMap<i32, &'a Treated>,
) -> Option<&'a Treated> {
    let (mut at, mut steps) = (process, 0);
    while let Some(relation) = all.get(&at).filter(|_| steps < all.len()) {
        if let Some(creator) = creators.get(&at) {
            return Some(creator);
        }
        if relation.is_orphan {
            return creators.get(&relation.session).copied();
        }
        (at, steps) = (relation.parent, steps + 1);
    }
    None
}

/// What a process is to others.
struct Relation {
    parent: i32,
    session: i32,
    is_orphan: bool,
}

impl Relation {
    fn all() -> BTreeMap<i32, Relation> {
        let stat = |pid: &i32| fs::read(format!("/proc/{pid}/stat")).ok();
        let of = |pid: i32| {
            let text = stat(&pid)?;
            let stat = TaskStat::of(&text)?;
            let [parent, session] = [4, 6].map(|field| stat.number(field).and_then(|n| i32::try_from(n).ok()));
            Some((pid, Relation { parent: parent?, session: session?, is_orphan: parent? == 1 }))
        };
        numbers("/proc").filter_map(of).collect()
    }
}

fn numbers(folder: &str) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

impl Autogroup {
    /// The name and the nice value of the autogroup that a process is in; none where there are none.
    pub fn read(process: i32) -> Option<(String, i32)> {
        let text = fs::read_to_string(format!("/proc/{process}/autogroup")).ok()?;
        let (name, nice) = text.trim().split_once(" nice ")?;
        Some((name.to_owned(), nice.parse().ok()?))
    }

    /// Sets the nice value of the autogroup that a process is in.
    pub fn set(process: i32, nice: i32) -> io::Result<()> {
        let path = format!("/proc/{process}/autogroup");
        for _ in 1..TRIES {
            match fs::write(&path, nice.to_string()) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(AGAIN),
                done => return done,
            }
        }
        fs::write(&path, nice.to_string())
    }

    fn undo(&self, program: &TreatedProgram, outcome: &mut Outcome) {
        let known = program.threads.iter().map(|one| (one.process, one.thread, one.start));
        let lives = known.filter(|(process, thread, _)| process == thread).map(|(process, _, start)| (process, start));
        let mut there = [(self.process, self.start)].into_iter().chain(lives);
        let in_it = |process: &i32| Autogroup::read(*process).filter(|(name, _)| *name == self.name);
        let found = there.find_map(|(process, start)| {
            Some((process, in_it(&process).filter(|_| start_of(process) == Some(start))?.1))
        });
        let Some((process, now)) = found else { return };
        outcome.there = true;
        if now == self.own {
            return;
        }
        if !self.ours.contains(&now) {
            outcome.foreign.push(Mismatch {
                setting: format!("autogroup of {}", program.name),
                path: format!("/proc/{process}/autogroup").into(),
                expected: self.ours.last().unwrap_or(&self.own).to_string(),
                actual: now.to_string(),
            });
        } else if let Err(why) = Autogroup::set(process, self.own) {
            outcome.failed.push(format!("/proc/{process}/autogroup: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn program(child: &Child, nice: i32) -> TreatedProgram {
        let pid = child.id() as i32;
        let own = Treatment { nice: 0, policy: 0, slice: None, io: None };
        let treated = Treated {
            process: pid,
            thread: pid,
            start: start_of(pid).unwrap(),
            own,
            ours: vec![Treatment { nice, ..own }],
        };
        let usual_slice = schedlab_linux::sched::Attributes::of(pid).unwrap().runtime;
        TreatedProgram { name: "sleep".to_owned(), usual_slice, threads: vec![treated], autogroups: Vec::new() }
    }

    fn nice(child: &Child) -> i32 {
        Treatment::of(child.id() as i32, 0).unwrap().nice
    }

    fn renice(child: &Child, nice: i32) {
        Treatment { nice, ..Treatment::of(child.id() as i32, 0).unwrap() }.set(child.id() as i32).unwrap();
    }

    #[test]
    fn another_process_of_the_same_number_and_one_that_is_gone_are_none_of_ours() {
        let mut child = sleeper();
        renice(&child, 4);
        let mut wrong = program(&child, 4);
        wrong.threads[0].start += 1;
        assert_eq!(wrong.undo().unwrap(), Undone::Gone);
        assert_eq!(nice(&child), 4);
        let gone = program(&child, 4);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(gone.undo().unwrap(), Undone::Gone);
    }

    #[test]
    fn what_another_process_has_set_is_left_alone_and_named() {
        let mut child = sleeper();
        renice(&child, 9);
        let Undone::Partly(foreign) = program(&child, 4).undo().unwrap() else { panic!("it is another's") };
        assert_eq!((foreign[0].expected.as_str(), foreign[0].actual.as_str()), ("4", "9"));
        assert_eq!(nice(&child), 9);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
