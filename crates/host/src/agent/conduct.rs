//! A run from its beginning to its end, in the agent: make the tasks, open the gate, wait, end them, put everything back.
//!
//! However it ends, what was made is taken back in this order: weights lifted, tasks killed and reaped, groups removed,
//! files deleted. If the agent itself is killed, its tasks are killed with it by the kernel.

use super::{
    attributes::{self, Standing},
    outcome,
    player::{Player, die_with},
    reads,
    records::{self, Kept, Records},
    stage::Stage,
    stat::Stat,
    stopped::Stopped,
    system::{self, Ended, Usage},
};
use crate::{
    Fault, Root,
    plan::{Outcome, Plan},
    tunables::{Held, Mismatch},
    volume::{Mounted, counts::Counts},
};
use nix::{
    poll::{PollFd, PollFlags},
    sys::{
        signal::{SigSet, SigmaskHow, Signal, sigprocmask},
        signalfd::{SfdFlags, SignalFd},
        time::TimeSpec,
    },
};
use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsFd, AsRawFd},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering::{Relaxed, Release},
    time::Duration,
};

/// Time between the opening of the gate and the start: the tasks have to get to their timers.
const LEAD_NS: u64 = 5_000_000;
/// And for each task more.
const LEAD_PER_TASK_NS: u64 = 30_000;
/// Tasks that are not ready after this long never will be.
const MOST_READYING_NS: u64 = 60_000_000_000;

/// What a run leaves, for the rows to be made of.
pub(super) struct Played<'a> {
    pub stage: &'a Stage,
    pub ends: Vec<Option<End>>,
    /// Begin and end of the run, ns of the monotonic clock.
    pub span: (u64, u64),
    pub stats: (Stat, Stat),
    /// What the volume's device had done before and after it, if there is a volume.
    pub moved: Option<(Counts, Counts)>,
    /// Processor time of the agent itself during the run, ns.
    pub own_ns: u64,
    pub standing: Standing,
    pub kept: Kept,
    /// Whether the agent had a processor on which no task ran.
    pub apart: bool,
    /// Settings that the kernel took otherwise than they were asked for.
    pub rounded: Vec<Mismatch>,
    /// Settings that somebody else changed during the run.
    pub changed: Vec<Mismatch>,
    /// Whether the run was ended because it took too long.
    pub cut: bool,
    pub began_unix_ns: u64,
}

/// How a task of the workload ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// What it used since it began.
    pub usage: Usage,
    /// A signal that was not ours.
    pub signal: Option<i32>,
}

/// Runs the plan; `None` if a signal told the agent to stop, after everything has been put back.
pub(super) fn conduct(
    root: &Root,
    plan: &Plan,
    held: &Held,
    volume: Option<&Mounted>,
) -> Result<Option<Outcome>, Fault> {
    let signals = Signals::block()?;
    let mut stage = Stage::new(root, plan, volume)?;
    system::prctl(libc::PR_SET_CHILD_SUBREAPER, 1)
        .map_err(|why| Fault::Call { doing: "becoming the reaper of tasks".to_owned(), why })?;
    let mut troupe = Troupe::new(stage.company.members.len());
    launch(&stage)?;
    if !troupe.get_ready(&stage, &signals)? {
        return Ok(None);
    }
    let apart = attributes::keep_off(&stage.used);
    let mut records = Records::start(root, &plan.options, &stage)?;
    stage.groups.limit();
    let standing = attributes::stand_out();
    let (before, own_before, began_unix_ns) = (Stat::read(root)?, system::process_time(), system::wall_clock());
    let moved_before = volume.map(Mounted::begin).transpose()?;
    let start = open_gate(&stage);
    let reason = troupe.watch(plan, &stage, start, &signals, &mut records)?;
    let end = system::now();
    reads::of_the_living(&stage);
    let moved = moved_before.zip(volume.map(Mounted::end));
    let (after, own_ns) = (Stat::read(root)?, system::process_time() - own_before);
    // At once: what they still do is counted as theirs.
    stage.groups.lift();
    troupe.finish(&stage);
    let (rounded, changed) = (held.rounded().to_vec(), held.check());
    let kept = records.stop();
    if reason == Reason::Told {
        return Ok(None);
    }
    let ends = std::mem::take(&mut troupe.ends);
    let end = if reason == Reason::AllEnded { last_end(plan, &stage).unwrap_or(end) } else { end };
    let cut = reason == Reason::TooLong;
    let stats = (before, after);
    let span = (start, end);
    let played = Played {
        stage: &stage,
        ends,
        span,
        stats,
        moved,
        own_ns,
        standing,
        kept,
        apart,
        rounded,
        changed,
        cut,
        began_unix_ns,
    };
    let told = records::tell(&played, &plan.options);
    Ok(Some(outcome::of(&played, told)))
}

/// When the last task of the jobs that end has ended.
fn last_end(plan: &Plan, stage: &Stage) -> Option<u64> {
    let finite: Vec<bool> = plan.scenario.workload.values().map(|job| job.passes.count().is_some()).collect();
    let ended = stage.arena.used().iter().filter(|slot| finite[slot.job.load(Relaxed) as usize]);
    ended.map(|slot| slot.ended.load(Relaxed)).max().filter(|&end| end > 0)
}

/// Lets the tasks go, and gives the time at which the run begins.
fn open_gate(stage: &Stage) -> u64 {
    let gate = stage.arena.gate();
    let start = system::now() + LEAD_NS + LEAD_PER_TASK_NS * stage.company.members.len() as u64;
    gate.start.store(start, Relaxed);
    gate.open.store(1, Release);
    system::futex_wake(&gate.open, i32::MAX);
    start
}

/// Makes the tasks. A session's tasks have a common ancestor, who leads it and leaves: they become the agent's children.
fn launch(stage: &Stage) -> Result<(), Fault> {
    let agent = system::own_pid();
    for session in &stage.company.sessions {
        let leader =
            system::fork().map_err(|why| Fault::Call { doing: "making a session's leader".to_owned(), why })?;
        if leader.is_none() {
            in_child(|| lead(stage, session, agent));
        }
    }
    Ok(())
}

/// Nothing of the agent's may be done by a child's end: not even if it panics.
fn in_child(act: impl FnOnce()) -> ! {
    let _ = catch_unwind(AssertUnwindSafe(act));
    system::exit_at_once(101)
}

/// A session's leader: makes its tasks.
fn lead(stage: &Stage, session: &[usize], agent: i32) {
    die_with(agent);
    let gate = stage.arena.gate();
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    (0..3).for_each(|number| system::replace(stage.null.as_raw_fd(), number));
    if system::new_session().is_err() {
        gate.broken.store(libc::EPERM as u32, Relaxed);
    }
    let leader = system::own_pid();
    for &number in session {
        match system::fork() {
            Ok(Some(pid)) => stage.arena.slots[number].pid.store(pid, Relaxed),
            Ok(None) => {
                wait_for_adoption(leader, agent);
                let mut player = Player::new(stage, number);
                player.wait_for_start();
                player.perform();
            }
            Err(why) => gate.broken.store(why.raw_os_error().unwrap_or(libc::EAGAIN) as u32, Relaxed),
        }
    }
    system::exit_at_once(0);
}

/// Waits until the session's leader has left and the agent is the parent, with whom this task is to die.
fn wait_for_adoption(leader: i32, agent: i32) {
    loop {
        match system::parent() {
            parent if parent == agent => return die_with(agent),
            parent if parent != leader => system::exit_at_once(1),
            _ => system::sleep_until(system::now() + 100_000),
        }
    }
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
    /// A signal told us to stop.
    Told,
}

/// The signals that the agent takes from a file, when it is ready for them.
pub(super) struct Signals(SignalFd);

impl Signals {
    pub fn block() -> Result<Signals, Fault> {
        let fault = |why: nix::Error| Fault::Call { doing: "taking signals".to_owned(), why: why.into() };
        let mut set = SigSet::empty();
        [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().for_each(|one| set.add(one));
        set.thread_block().map_err(fault)?;
        Ok(Signals(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(fault)?))
    }

    /// Waits for one, at most so long (ns); says whether one of them tells the agent to stop.
    fn wait(&self, at_most: u64) -> bool {
        self.poll(Some(TimeSpec::from_duration(Duration::from_nanos(at_most)))).is_some()
    }

    /// Waits for one; gives the one that tells the agent to stop, if there is one.
    pub fn wait_for_any(&self) -> Option<i32> {
        self.poll(None)
    }

    fn poll(&self, limit: Option<TimeSpec>) -> Option<i32> {
        let mut files = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        // An error here is another signal, after which the caller looks again at what it waits for.
        let _ = nix::poll::ppoll(&mut files, limit, None);
        let mut told = None;
        while let Ok(Some(signal)) = self.0.read_signal() {
            let signal = signal.ssi_signo as i32;
            told = if signal == libc::SIGCHLD { told } else { Some(signal) };
        }
        told
    }
}

/// The tasks as processes; killed and reaped when this goes away.
struct Troupe {
    ends: Vec<Option<End>>,
    /// Ends of the workload's tasks so far.
    raw: BTreeMap<i32, Ended>,
    finished: bool,
}

impl Troupe {
    fn new(members: usize) -> Troupe {
        Troupe { ends: vec![None; members], raw: BTreeMap::new(), finished: false }
    }

    /// Takes the ends that have come.
    fn reap(&mut self) {
        while let Ok(Some(ended)) = system::reap(false) {
            self.raw.insert(ended.pid, ended);
        }
    }

    /// Waits until all tasks are ready; says no if a signal told us to stop.
    fn get_ready(&mut self, stage: &Stage, signals: &Signals) -> Result<bool, Fault> {
        let (gate, members) = (stage.arena.gate(), stage.company.members.len() as u32);
        let limit = system::now() + MOST_READYING_NS;
        loop {
            let ready = gate.ready.load(Relaxed);
            self.reap();
            let broken = gate.broken.load(Relaxed);
            let lost = stage.arena.slots.iter().any(|slot| self.raw.contains_key(&slot.pid.load(Relaxed)));
            if broken != 0 {
                let why = io::Error::from_raw_os_error(broken as i32);
                return Err(Fault::Call { doing: format!("making {members} tasks"), why });
            }
            if lost || system::now() > limit {
                let why = if lost { "a task ended before the start" } else { "they were not ready in a minute" };
                return Err(Fault::Refused {
                    what: format!("{members} tasks"),
                    why: why.to_owned(),
                    advice: "look at the kernel's log, and for a lack of memory".to_owned(),
                });
            }
            if ready >= members {
                return Ok(true);
            }
            if signals.wait(1_000_000) {
                return Ok(false);
            }
        }
    }

    /// Sleeps until the run is over, but for the emptying of the recorder's buffers.
    fn watch(
        &mut self,
        plan: &Plan,
        stage: &Stage,
        start: u64,
        signals: &Signals,
        records: &mut Records,
    ) -> Result<Reason, Fault> {
        let finite: Vec<bool> = plan.scenario.workload.values().map(|job| job.passes.count().is_some()).collect();
        let too_long = start.saturating_add(plan.options.at_most.0);
        let duration = plan.scenario.duration.map(|length| start.saturating_add(length.0));
        let (limit, at_limit) = match duration {
            Some(end) if end <= too_long => (end, Reason::Duration),
            _ => (too_long, Reason::TooLong),
        };
        let awaited: Vec<usize> =
            (0..stage.company.members.len()).filter(|&n| finite[stage.company.members[n].job]).collect();
        loop {
            self.reap();
            let gone = |n: &usize| self.raw.contains_key(&stage.arena.slots[*n].pid.load(Relaxed));
            if !awaited.is_empty() && awaited.iter().all(gone) {
                return Ok(Reason::AllEnded);
            }
            let now = system::now();
            if now >= limit {
                return Ok(at_limit);
            }
            let recording = records.drain();
            let most = if recording { plan.options.drain_every.0.max(1) } else { u64::MAX };
            if signals.wait((limit - now).min(most)) {
                return Ok(Reason::Told);
            }
        }
    }

    /// Ends all tasks and takes their ends.
    fn finish(&mut self, stage: &Stage) {
        self.reap();
        let killed_by_us = |ended: &Ended, raw: &BTreeMap<i32, Ended>| !raw.contains_key(&ended.pid);
        let earlier = self.raw.clone();
        let alive =
            stage.arena.slots.iter().map(|slot| slot.pid.load(Relaxed)).filter(|pid| !earlier.contains_key(pid));
        let stopped = Stopped::now(alive);
        self.kill_all();
        for (slot, end) in stage.arena.slots.iter().zip(&mut self.ends) {
            let Some(ended) = self.raw.get(&slot.pid.load(Relaxed)).map(|&ended| stopped.cut(ended)) else { continue };
            let signal = if killed_by_us(&ended, &earlier) { None } else { ended.signal };
            *end = Some(End { usage: slot.since_begin(ended.usage), signal });
        }
        self.finished = true;
    }

    fn kill_all(&mut self) {
        for ended in kill_children() {
            self.raw.insert(ended.pid, ended);
        }
    }
}

impl Drop for Troupe {
    fn drop(&mut self) {
        if !self.finished {
            self.kill_all();
        }
    }
}

/// Kills children until there are none: whoever loses its parent becomes ours, or dies with it. Gives their ends.
pub(super) fn kill_children() -> Vec<Ended> {
    let mut ends = Vec::new();
    loop {
        children().into_iter().for_each(|pid| system::kill(pid, libc::SIGKILL));
        match system::reap(true) {
            Ok(ended) => ends.extend(ended),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return ends,
        }
        while let Ok(Some(ended)) = system::reap(false) {
            ends.push(ended);
        }
    }
}

/// The agent's children.
fn children() -> Vec<i32> {
    let path = format!("/proc/self/task/{}/children", system::own_pid());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
