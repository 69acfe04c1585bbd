//! What a level means for each thread of a program: worked out, entered into the journal, then set.
//!
//! ```text
//! nice     what the thread has by itself + the level's, as far as it may be taken back
//! policy   the level's                                      slice   the level's, unless the thread has asked for one of its own
//! io       the level's, unless the thread has asked for one of its own
//! ```
//!
//! What a thread has by itself is what it had before, or, if it has inherited from one that was treated already, what that one had. A thread
//! whose treatment another process has changed is left alone from then on, until it is the same again.

use crate::{programs::About, rights::Rights};
use schedlab_linux::{Fault, io_priority::IoPriority, proc::task::start_of_thread, sched::Attributes};
use schedlab_model::attention::{IoClass, Layout, Level, Policy, Program};
use schedlab_tune::{
    Cleanup, Object, RunJournal,
    program::{Autogroup, MOST_THREADS, Treated, TreatedProgram},
    treatment::Treatment,
    undo::Undo,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
};

/// What is done to a thread.
#[derive(Debug, Clone)]
struct Thread {
    start: u64,
    own: Treatment,
    /// As [`Treated`] has it; empty while it is treated as by itself.
    ours: Vec<Treatment>,
    foreign: bool,
}

impl Thread {
    fn expected(&self) -> Treatment {
        self.ours.last().copied().unwrap_or(self.own)
    }
}

/// What was left alone, for the state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftAlone {
    /// Threads that another process has changed.
    pub(crate) foreign: usize,
    /// What the kernel has refused, and how often.
    pub(crate) refused: BTreeMap<String, u64>,
}

/// All that is done to threads and autogroups.
pub(crate) struct Treating {
    journal: RunJournal,
    pub(crate) rights: Rights,
    usual_slice: u64,
    sets_io: bool,
    has_autogroups: bool,
    threads: BTreeMap<(i32, i32), Thread>,
    autogroups: BTreeMap<(Program, String), Autogroup>,
    /// Entries in the order of their making.
    entries: Vec<(Program, Cleanup)>,
    refused: BTreeMap<String, u64>,
    /// Processes with threads that have inherited, and have changed something since: no other entry says what they are by themselves.
    unlisted: BTreeSet<i32>,
}

impl Treating {
    pub(crate) fn new(journal: RunJournal, rights: Rights, layout: &Layout) -> Result<Treating, Fault> {
        let own = Attributes::current()
            .map_err(|why| Fault::Call { doing: "reading how this process is treated".to_owned(), why })?;
        let autogroups = journal.root().read("/proc/sys/kernel/sched_autogroup_enabled");
        Ok(Treating {
            rights,
            usual_slice: own.runtime,
            sets_io: layout.level.iter().any(|level| level.io.is_some()),
            has_autogroups: autogroups.is_ok_and(|text| text.trim() == "1"),
            threads: BTreeMap::new(),
            autogroups: BTreeMap::new(),
            entries: Vec::new(),
            refused: BTreeMap::new(),
            unlisted: BTreeSet::new(),
            journal,
        })
    }

    /// Whether this kernel lets a task have a slice of its own (since Linux 6.12).
    pub(crate) fn has_slices(&self) -> bool {
        self.usual_slice != 0
    }

    pub(crate) fn left_alone(&self) -> LeftAlone {
        let foreign = self.threads.values().filter(|thread| thread.foreign).count();
        LeftAlone { foreign, refused: self.refused.clone() }
    }

    /// How many threads are treated otherwise than by themselves.
    pub(crate) fn treated(&self, process: i32) -> usize {
        let range = (process, 0)..=(process, i32::MAX);
        self.threads
            .range(range)
            .filter(|(_, thread)| !thread.ours.is_empty() && thread.expected() != thread.own)
            .count()
    }

    /// Has the threads of a program treated as its level says; they are known by [`Treating::gather`].
    pub(crate) fn apply(&mut self, program: Program, about: &About, level: &Level) -> Result<(), Fault> {
        let (mut due, mut count) = (Vec::new(), 0);
        for process in &about.members {
            for ((_, thread), known) in self.threads.range((*process, 0)..=(*process, i32::MAX)) {
                count += 1;
                let wanted = self.wanted(*process, &known.own, level);
                if wanted != known.expected() && count <= MOST_THREADS {
                    due.push((*process, *thread, wanted));
                }
            }
        }
        due.retain(|(process, thread, _)| self.is_as_expected(*process, *thread));
        let groups = self.due_autogroups(program, about, level);
        let before = self.unlisted.len();
        self.unlisted.retain(|process| !about.members.contains(process));
        if due.is_empty() && groups.is_empty() && self.unlisted.len() == before {
            return Ok(());
        }
        for (process, thread, wanted) in &due {
            let known = self.threads.get_mut(&(*process, *thread)).expect("it is due");
            known.ours = vec![known.expected(), *wanted];
        }
        self.enter(program, about)?;
        due.into_iter().for_each(|(process, thread, wanted)| self.set(process, thread, &wanted));
        for (name, process, wanted) in groups {
            if let Err(why) = Autogroup::set(process, wanted) {
                self.refuse(format!("autogroup {name}: {why}"));
            }
        }
        Ok(())
    }

    /// Learns of the threads of a process that are new, and forgets those that are gone.
    pub(crate) fn gather(&mut self, process: i32, parent: Option<i32>) {
        let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let there: BTreeSet<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        self.forget_threads(process, |thread| !there.contains(&thread));
        for thread in there {
            let Some(start) = start_of_thread(process, thread) else { continue };
            if self.threads.get(&(process, thread)).is_some_and(|known| known.start == start) {
                continue;
            }
            let Ok(mut now) = Treatment::of(thread, self.usual_slice) else { continue };
            if !now.is_ordinary() {
                continue;
            }
            now.io = now.io.filter(|_| self.sets_io);
            let creator =
                if thread == process { parent.map(|parent| (parent, parent)) } else { Some((process, process)) };
            let creator =
                creator.and_then(|creator| self.threads.get(&creator)).filter(|creator| !creator.ours.is_empty());
            let known = match creator {
                Some(creator) => {
                    let own = creator.own;
                    let known = inherited(now, creator, start);
                    if known.own != own {
                        self.unlisted.insert(process);
                    }
                    known
                }
                None => Thread { start, own: now, ours: Vec::new(), foreign: false },
            };
            self.threads.insert((process, thread), known);
        }
    }

    fn forget_threads(&mut self, process: i32, gone: impl Fn(i32) -> bool) {
        let known: Vec<i32> =
            self.threads.range((process, 0)..=(process, i32::MAX)).map(|((_, thread), _)| *thread).collect();
        for thread in known.into_iter().filter(|thread| gone(*thread)) {
            self.threads.remove(&(process, thread));
        }
    }

    /// A process is gone.
    pub(crate) fn forget_process(&mut self, process: i32) {
        self.unlisted.remove(&process);
        self.forget_threads(process, |_| true);
    }

    /// A program is gone: nothing is left to undo.
    pub(crate) fn forget(&mut self, program: Program) -> Result<(), Fault> {
        self.autogroups.retain(|(of, _), _| *of != program);
        let at = self.entries.iter().position(|(of, _)| *of == program);
        at.map_or(Ok(()), |at| self.entries.remove(at).1.forget())
    }

    fn wanted(&self, process: i32, own: &Treatment, level: &Level) -> Treatment {
        let usual_io = |number: &u16| IoPriority::of_number(*number).is_usual();
        let policy = match level.policy {
            Some(Policy::Batch) => libc::SCHED_BATCH as u32,
            Some(Policy::Other) => libc::SCHED_OTHER as u32,
            None => own.policy,
        };
        let slice = level.slice.map(|slice| slice.0).filter(|slice| self.has_slices() && *slice != self.usual_slice);
        let io = level.io.map(|class| match class {
            IoClass::High => IoPriority::best_effort(2).number(),
            IoClass::Low => IoPriority::best_effort(6).number(),
            IoClass::Idle => IoPriority::idle().number(),
        });
        Treatment {
            nice: self.rights.nice(process, own.nice, own.nice + level.nice),
            policy,
            slice: own.slice.or(slice),
            io: own.io.map(|own| io.filter(|_| usual_io(&own)).unwrap_or(own)),
        }
    }

    /// Whether a thread is treated as we have left it; else another process has changed it, and it is left alone.
    fn is_as_expected(&mut self, process: i32, thread: i32) -> bool {
        let Some(known) = self.threads.get_mut(&(process, thread)) else { return false };
        let same_task = start_of_thread(process, thread) == Some(known.start);
        match Treatment::of(thread, self.usual_slice) {
            Ok(now) if same_task => {
                known.foreign = !now.is(&known.expected()) && !known.ours.iter().any(|ours| now.is(ours));
                !known.foreign
            }
            _ => false,
        }
    }

    /// Autogroups that are the program's alone and are to have another nice value: name, a process in it, the value.
    fn due_autogroups(&mut self, program: Program, about: &About, level: &Level) -> Vec<(String, i32, i32)> {
        if !self.has_autogroups {
            return Vec::new();
        }
        let mut due = Vec::new();
        // A session is a program's alone, as far as it has begun with one of its processes: the leader has the session's number.
        for leader in about.members.iter().filter(|pid| is_leader(**pid)) {
            let (Some((name, now)), Some(start)) = (Autogroup::read(*leader), start_of_thread(*leader, *leader)) else {
                continue;
            };
            let known = self.autogroups.get(&(program, name.clone()));
            let (own, last) = known.map_or((now, now), |known| (known.own, *known.ours.last().unwrap_or(&known.own)));
            let least = if self.rights.any_nice { -20 } else { 0 };
            let wanted = (own + level.nice).clamp(least.min(own), 19);
            if wanted == last || now != last {
                continue;
            }
            let group = Autogroup { name: name.clone(), process: *leader, start, own, ours: vec![last, wanted] };
            self.autogroups.insert((program, name.clone()), group);
            due.push((name, *leader, wanted));
        }
        due
    }

    /// Enters what is about to be so into the journal.
    fn enter(&mut self, program: Program, about: &About) -> Result<(), Fault> {
        let of_member = |process: &i32| {
            let all = self.threads.range((*process, 0)..=(*process, i32::MAX));
            all.filter(|(_, known)| !known.ours.is_empty()).map(|((process, thread), known)| Treated {
                process: *process,
                thread: *thread,
                start: known.start,
                own: known.own,
                ours: known.ours.clone(),
            })
        };
        let groups = self.autogroups.iter().filter(|((of, _), _)| *of == program);
        let object = Object::Program(TreatedProgram {
            name: about.name.clone(),
            usual_slice: self.usual_slice,
            threads: about.members.iter().flat_map(of_member).take(MOST_THREADS).collect(),
            autogroups: groups.map(|(_, group)| group.clone()).collect(),
        });
        match self.entries.iter_mut().find(|(of, _)| *of == program) {
            Some((_, entry)) => entry.amend(object),
            None => {
                let entry = self.journal.enter(object)?;
                self.entries.push((program, entry));
                Ok(())
            }
        }
    }

    fn set(&mut self, process: i32, thread: i32, wanted: &Treatment) {
        let Err(why) = wanted.set(thread) else { return };
        let known = self.threads.get_mut(&(process, thread)).expect("it was due");
        // It may be treated in part as it should be: what it is now counts.
        known.ours.pop();
        if gone(&why) {
            self.threads.remove(&(process, thread));
        } else {
            known.foreign = true;
            self.refuse(format!("process {process}: {why}"));
        }
    }

    fn refuse(&mut self, what: String) {
        *self.refused.entry(what).or_default() += 1;
    }

    /// Puts everything back, the latest first.
    pub(crate) fn finish(&mut self) -> Undo {
        let mut all = Undo::default();
        while let Some((_, entry)) = self.entries.pop() {
            match entry.undo() {
                Ok(undone) => {
                    all.back.extend(undone.back);
                    all.gone.extend(undone.gone);
                    all.foreign.extend(undone.foreign);
                }
                Err(fault) => all.failed.push(fault.to_string()),
            }
        }
        all
    }
}

fn gone(why: &io::Error) -> bool {
    why.raw_os_error() == Some(libc::ESRCH)
}

/// A thread that came from one that was treated already: by itself it is as that one was, but for what it has changed since.
fn inherited(now: Treatment, creator: &Thread, start: u64) -> Thread {
    let (expected, of) = (creator.expected(), &creator.own);
    let was = |same: &dyn Fn(&Treatment) -> bool| creator.ours.iter().any(same);
    let nice = if was(&|ours| ours.nice == now.nice) { of.nice } else { now.nice - (expected.nice - of.nice) };
    let own = Treatment {
        nice: nice.clamp(-20, 19),
        policy: if was(&|ours| ours.policy == now.policy) { of.policy } else { now.policy },
        slice: if was(&|ours| ours.slice == now.slice) { of.slice } else { now.slice },
        io: if was(&|ours| ours.io == now.io) { of.io } else { now.io },
    };
    Thread { start, own, ours: vec![now], foreign: false }
}

fn is_leader(pid: i32) -> bool {
    nix::unistd::getsid(Some(nix::unistd::Pid::from_raw(pid))).is_ok_and(|session| session.as_raw() == pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nice: i32) -> Treatment {
        Treatment { nice, policy: 0, slice: None, io: None }
    }

    #[test]
    fn what_is_inherited_is_taken_off_and_what_is_set_since_is_its_own() {
        let creator = Thread { start: 1, own: of(0), ours: vec![of(0), of(2)], foreign: false };
        assert_eq!(inherited(of(2), &creator, 5).own, of(0));
        assert_eq!(inherited(of(12), &creator, 5).own, of(10), "nice -n 10 has added 10");
        assert_eq!(inherited(of(0), &creator, 5).own, of(0), "it came before the last change");
        let batch = Treatment { policy: 3, ..of(2) };
        assert_eq!(inherited(batch, &creator, 5).own, Treatment { policy: 3, ..of(0) });
    }
}
