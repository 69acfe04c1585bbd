//! The supervisor of a run: it creates the workers, opens the barrier, waits, ends them, and restores everything.
//!
//! However a run ends, it is undone in this order: weights are lifted, workers killed and reaped, groups removed, files
//! deleted. If the supervisor itself is killed, the kernel kills its workers with it.

use crate::{
    attention::Attention,
    attributes,
    finished::{End, FinishedRun},
    launch::{adopt, launch},
    outcome,
    plan::{Outcome, Plan},
    reads,
    records::{self, Records},
    requests::Generators,
    setup::Setup,
    shared::Slot,
    stopped::Stopped,
    volume::Mounted,
};
use schedlab_linux::{
    Fault, clock, futex,
    proc::stat::Stat,
    process::{self, Ended, Usage},
    sched,
    signals::Signals,
};
use schedlab_tune::{AppliedSettings, RunJournal};
use std::{
    collections::BTreeMap,
    io,
    sync::atomic::Ordering::{Relaxed, Release},
};

/// Time between the opening of the barrier and the start: the workers have to set their timers.
const LEAD_NS: u64 = 5_000_000;
/// And for each task more.
const LEAD_PER_TASK_NS: u64 = 30_000;
/// How long a child that has ended is taken to wait for its parent.
const MOST_UNREAPED_NS: u64 = 1_000_000_000;
/// Tasks that are not ready after this long never will be.
const MOST_READYING_NS: u64 = 60_000_000_000;

/// Runs the plan; `None` if a signal asked to stop, after everything has been restored.
pub fn supervise(
    journal: &RunJournal,
    plan: &Plan,
    applied: &AppliedSettings,
    volume: Option<&Mounted>,
) -> Result<Option<Outcome>, Fault> {
    let (signals, root) = (Signals::block()?, journal.root());
    let mut setup = Setup::new(journal, plan, volume)?;
    process::become_subreaper().map_err(|why| Fault::Call { doing: "becoming the reaper of tasks".to_owned(), why })?;
    let mut workers = Workers::new();
    let mut generators = Generators::start(&mut setup)?;
    let leaders = launch(&setup)?;
    if !workers.get_ready(&setup, &leaders, &generators, &signals)? {
        return Ok(None);
    }
    let apart = attributes::keep_off(&setup.used);
    let mut records = Records::start(journal, &plan.options, &setup, &generators)?;
    setup.groups.limit();
    let mut attention = Attention::new(&plan.scenario, &setup, &leaders)?;
    let standing = sched::raise(0, setup.workload.highest_priority);
    let (before, own_before, began_unix_ns) = (Stat::read(root)?, clock::process_time(), clock::wall_clock());
    let moved_before = volume.map(Mounted::begin).transpose()?;
    generators.begin();
    let start = open_barrier(&setup);
    attention.begin(start);
    let reason = workers.watch(plan, start, &signals, &mut records, &mut attention)?;
    // At once: what they still do is not the run's.
    let mut stopped = workers.stop(&setup);
    let (end, counted_until) = (stopped.at, last_account(&setup, &stopped));
    reads::of_the_living(&setup);
    let moved = moved_before.zip(volume.map(Mounted::end));
    let (after, own_ns) = (Stat::read(root)?, clock::process_time() - own_before + generators.used());
    let lost_generators = generators.lost(&workers.raw);
    setup.groups.lift();
    workers.finish(&setup, &mut stopped);
    let (rounded, changed) = (applied.rounded().to_vec(), applied.check());
    let recording = records.stop();
    if reason == Reason::Signal {
        return Ok(None);
    }
    let (ends, orphans) = (std::mem::take(&mut workers.ends), std::mem::take(&mut workers.orphans));
    let end = if reason == Reason::AllEnded { last_end(&setup).unwrap_or(end) } else { end };
    let cut = reason == Reason::TooLong;
    let stats = (before, after);
    let span = (start, end);
    let run = FinishedRun {
        setup: &setup,
        attention: attention.into_notes(),
        ends,
        orphans,
        unmaking_ns: stopped.mean_end(),
        span,
        counted_until,
        stats,
        moved,
        own_ns,
        standing,
        recording,
        apart,
        rounded,
        changed,
        cut,
        began_unix_ns,
        lost_generators,
    };
    let recorded = records::evaluate(&run, &plan.options);
    Ok(Some(outcome::of(&run, recorded)))
}

/// When the last task of the jobs that end has ended.
fn last_end(setup: &Setup) -> Option<u64> {
    let ended = setup.shared.used().iter().filter(|slot| setup.is_awaited(slot.job.load(Relaxed) as usize));
    ended.map(|slot| slot.ended.load(Relaxed)).max().filter(|&end| end > 0)
}

/// Whether a child's process is there, or waits for its parent: the number of one that ended long ago may be another's by now.
fn is_there(slot: &Slot, now: u64) -> bool {
    let ended = slot.ended.load(Relaxed);
    ended == 0 || now.saturating_sub(ended) < MOST_UNREAPED_NS
}

/// When the last of the tasks' accounts was read: by the tasks themselves, if all of them have closed theirs.
fn last_account(setup: &Setup, stopped: &Stopped) -> u64 {
    let tasks = &setup.shared.slots[..setup.workload.tasks.len()];
    let closed = tasks.iter().map(|slot| slot.closed_account().map(|(_, when)| when)).collect::<Option<Vec<_>>>();
    closed.filter(|_| stopped.is_empty()).and_then(|all| all.into_iter().max()).unwrap_or(stopped.at)
}

/// Releases the workers from the barrier, and returns the time at which the run starts.
fn open_barrier(setup: &Setup) -> u64 {
    let barrier = setup.shared.barrier();
    let start = clock::now() + LEAD_NS + LEAD_PER_TASK_NS * setup.workload.tasks.len() as u64;
    barrier.start.store(start, Relaxed);
    barrier.awaited.store(awaited(setup).count() as u32, Relaxed);
    barrier.open.store(1, Release);
    futex::wake(&barrier.open, i32::MAX);
    start
}

/// The tasks of the workload that the run waits for.
fn awaited(setup: &Setup) -> impl Iterator<Item = usize> {
    (0..setup.workload.tasks.len()).filter(|&number| setup.is_awaited(setup.workload.tasks[number].job))
}

/// Why a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Every job that ends has ended.
    AllEnded,
    /// The scenario's duration has passed.
    Duration,
    /// It took longer than it was given.
    TooLong,
    /// A signal asked to stop.
    Signal,
}

/// The workers as processes; killed and reaped when this is dropped.
struct Workers {
    ends: Vec<Option<End>>,
    orphans: Vec<(usize, Usage)>,
    /// Ends of the workload's tasks so far.
    raw: BTreeMap<i32, Ended>,
    finished: bool,
}

impl Workers {
    fn new() -> Workers {
        Workers { ends: Vec::new(), orphans: Vec::new(), raw: BTreeMap::new(), finished: false }
    }

    /// Takes the ends that have come.
    fn reap(&mut self, setup: &Setup) {
        while let Ok(Some(ended)) = process::reap(false) {
            if ended.signal.is_some() {
                setup.shared.was_killed(ended.pid);
            }
            self.raw.insert(ended.pid, ended);
        }
    }

    /// Waits until all workers are ready; returns false if a signal asked to stop.
    fn get_ready(
        &mut self,
        setup: &Setup,
        leaders: &[i32],
        generators: &Generators,
        signals: &Signals,
    ) -> Result<bool, Fault> {
        let (barrier, tasks) = (setup.shared.barrier(), setup.workload.tasks.len() as u32);
        let limit = clock::now() + MOST_READYING_NS;
        let mut adopted = false;
        loop {
            let ready = barrier.ready.load(Relaxed);
            self.reap(setup);
            let broken = barrier.broken.load(Relaxed);
            if broken != 0 {
                let why = io::Error::from_raw_os_error(broken as i32);
                return Err(Fault::Call { doing: format!("making {tasks} tasks"), why });
            }
            let late = (clock::now() > limit).then(|| "they were not ready in a minute".to_owned());
            if let Some(why) = self.lost(setup, leaders, generators).or(late) {
                return Err(Fault::Refused {
                    what: format!("{tasks} tasks"),
                    why,
                    advice: "look at the kernel's log, and for a lack of memory".to_owned(),
                });
            }
            if !adopted && leaders.iter().all(|leader| self.raw.contains_key(leader)) {
                adopted = true;
                adopt(barrier);
            }
            if ready >= tasks + generators.count() as u32 {
                return Ok(true);
            }
            if signals.wait(1_000_000) {
                return Ok(false);
            }
        }
    }

    /// How a task that is gone before the start ended, or a session's leader that did not leave by itself.
    fn lost(&self, setup: &Setup, leaders: &[i32], generators: &Generators) -> Option<String> {
        let tasks = &setup.shared.slots[..setup.workload.tasks.len()];
        let task = tasks.iter().find_map(|slot| self.raw.get(&slot.pid.load(Relaxed)));
        let leader = leaders.iter().filter_map(|leader| self.raw.get(leader)).find(|ended| ended.signal.is_some());
        let how = |signal: Option<i32>| signal.map_or("ended".to_owned(), |it| format!("was ended by signal {it}"));
        let generator = generators.pids().find_map(|pid| self.raw.get(&pid));
        task.or(leader).or(generator).map(|ended| format!("a task {} before the start", how(ended.signal)))
    }

    /// Sleeps until the run is over, but for the emptying of the recorder's buffers and what attention levels need.
    fn watch(
        &mut self,
        plan: &Plan,
        start: u64,
        signals: &Signals,
        records: &mut Records,
        attention: &mut Attention<'_>,
    ) -> Result<Reason, Fault> {
        let setup = attention.setup;
        let too_long = start.saturating_add(plan.options.at_most.0);
        let duration = plan.scenario.duration.map(|length| start.saturating_add(length.0));
        let (limit, at_limit) = match duration {
            Some(end) if end <= too_long => (end, Reason::Duration),
            _ => (too_long, Reason::TooLong),
        };
        let awaited: Vec<usize> = awaited(setup).collect();
        loop {
            self.reap(setup);
            // By itself, or killed.
            let gone = |n: &usize| {
                let slot = &setup.shared.slots[*n];
                slot.closed_account().is_some() || self.raw.contains_key(&slot.pid.load(Relaxed))
            };
            if !awaited.is_empty() && awaited.iter().all(gone) {
                return Ok(Reason::AllEnded);
            }
            let now = clock::now();
            if now >= limit {
                return Ok(at_limit);
            }
            attention.attend(now);
            let recording = records.drain();
            let most = if recording { plan.options.drain_every.0.max(1) } else { u64::MAX };
            if signals.wait(limit.min(attention.next()).saturating_sub(now).min(most)) {
                return Ok(Reason::Signal);
            }
        }
    }

    /// The run is over: what those have used by now that are at work.
    fn stop(&mut self, setup: &Setup) -> Stopped {
        self.reap(setup);
        let tasks = setup.workload.tasks.len();
        let pid = |slot: &Slot| Some(slot.pid.load(Relaxed)).filter(|pid| *pid > 0 && !self.raw.contains_key(pid));
        let (mut running, mut children, mut done) = (Vec::new(), Vec::new(), Vec::new());
        let now = clock::now();
        for (number, slot) in
            setup.shared.used().iter().enumerate().filter(|(n, slot)| *n < tasks || is_there(slot, now))
        {
            let Some(pid) = pid(slot) else { continue };
            if slot.closed_account().is_some() {
                done.push(pid);
                continue;
            }
            running.push((pid, slot.reaped_us.load(Relaxed)));
            if number >= tasks {
                children.push(number);
            }
        }
        Stopped::now(running, children).with_the_done(done.into_iter())
    }

    /// Ends all tasks and takes their ends.
    fn finish(&mut self, setup: &Setup, stopped: &mut Stopped) {
        let earlier = std::mem::take(&mut self.raw);
        self.kill_all(|pid| stopped.has_ended(pid));
        let end = |slot: &Slot| self.end_of(slot, &earlier, stopped);
        let used = setup.shared.used();
        // One that its parent has waited for since is in no account of its parent's that was read.
        let by_clock = |slot: &Slot| {
            let time_us = stopped.time_us(slot.pid.load(Relaxed))?;
            Some(Usage { user_us: time_us, ..Usage::default() })
        };
        let of_child = |&number: &usize| {
            let slot = &used[number];
            let usage = end(slot).map(|end| end.usage).or_else(|| by_clock(slot))?;
            Some((slot.job.load(Relaxed) as usize, usage))
        };
        let orphans = stopped.children.iter().filter_map(of_child).collect();
        let ends = used[..setup.workload.tasks.len()].iter().map(end).collect();
        (self.ends, self.orphans) = (ends, orphans);
        self.finished = true;
    }

    /// What a task used, and what ended it, if neither it itself nor the agent did. A child whose end its parent has taken is
    /// in its parent's account.
    fn end_of(&self, slot: &Slot, earlier: &BTreeMap<i32, Ended>, stopped: &Stopped) -> Option<End> {
        if let Some((usage, _)) = slot.closed_account() {
            return Some(End { usage, signal: None });
        }
        let pid = slot.pid.load(Relaxed);
        let killed_by_others = earlier.get(&pid);
        let ended = killed_by_others.or_else(|| self.raw.get(&pid))?;
        let signal = killed_by_others.and_then(|ended| ended.signal);
        Some(End { usage: stopped.cut(slot.since_begin(ended.usage), *ended), signal })
    }

    fn kill_all(&mut self, on_end: impl FnMut(i32)) {
        for ended in kill_children(on_end) {
            self.raw.insert(ended.pid, ended);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if !self.finished {
            self.kill_all(|_| ());
        }
    }
}

/// Kills children until there are none: a process that loses its parent becomes our child, or dies with it. `on_end` is called for
/// each that has ended, before it is reaped. Returns their ends.
pub(crate) fn kill_children(mut on_end: impl FnMut(i32)) -> Vec<Ended> {
    let mut ends = Vec::new();
    loop {
        let all = children();
        all.iter().for_each(|&pid| process::kill(pid, libc::SIGKILL));
        for _ in 0..all.len().max(1) {
            let pid = match process::await_end() {
                Ok(pid) => pid,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return ends,
            };
            on_end(pid);
            ends.extend(process::reap_ended(pid).ok().flatten());
        }
    }
}

/// The agent's children.
fn children() -> Vec<i32> {
    let path = format!("/proc/self/task/{}/children", process::own_pid());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
