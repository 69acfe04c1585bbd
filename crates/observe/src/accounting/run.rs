//! Runs a command, passes signals on to it, and reads what the kernel reports of its tasks until it ends.

use super::{
    enclosure::Enclosure,
    exits::Exits,
    living::{self, Outlived},
    record::Record,
    system::System,
    timed::{Seen, Timed, family},
    usage::{Own, Reaped},
};
use crate::waiting::Sampler;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::{
    signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask},
    signalfd::{SfdFlags, SignalFd},
};
use nix::unistd::Pid;
use schedlab_linux::{
    Fault, Root,
    process::{prepare, reap_ended, unreaped},
};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::File,
    io,
    os::fd::AsFd,
    path::Path,
    process::Command,
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Signals that are passed on. One from the terminal goes to the command anyway: it is in the same group.
const PASSED_ON: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];
/// What is not counted where neither a control group nor the kernel's records of tasks can be had.
const UNATTRIBUTED: &str = "children that are not waited for (their parent ignores SIGCHLD): the kernel adds their time to no process; run as root";
/// Signals that were blocked when this process began.
static MASK: OnceLock<SigSet> = OnceLock::new();
/// Kernel's sign that a signal came from the terminal, not from a process.
const FROM_KERNEL: i32 = 0x80;
/// poll(2) counts whole ms, rounded down here.
const ROUNDING: Duration = Duration::from_millis(1);

/// A command that could not be started.
#[derive(Debug)]
pub struct NotStarted {
    /// The status that shells give.
    pub status: u8,
    /// One line.
    pub why: String,
}

/// Runs it. `delays`, asked afterwards, says whether the kernel kept account of waits; with a journal, there may be a control group
/// around it.
pub fn run(
    root: &Root,
    words: &[OsString],
    delays: impl FnOnce() -> Result<(), String>,
    journal: Option<&Path>,
) -> Result<Result<Timed, NotStarted>, Fault> {
    let signals = listen()?;
    let exits = Exits::listen(&root.read("/sys/devices/system/cpu/possible").unwrap_or_default());
    let enclosure = journal.and_then(|journal| Enclosure::make(root, journal));
    let strangers = living::children();
    let before = System::read(root);
    let sampler = Sampler::begin();
    let began = Instant::now();
    let child = match start(words, enclosure.as_ref().and_then(Enclosure::door), signals.1) {
        Ok(child) => child,
        Err(why) => return Ok(Err(not_started(&words[0], &why))),
    };
    let (reaped, own, status) = (Reaped::default(), None, None);
    let mut wait = Wait { child, signals: signals.0, exits, strangers, reaped, own, status, sampler };
    while wait.status.is_none() {
        wait.step();
    }
    let elapsed_ns = began.elapsed().as_nanos() as u64;
    let outlived = Outlived::find(&wait.strangers);
    let enclosed = enclosure.as_ref().and_then(Enclosure::usage);
    let systems = [before, System::read(root)];
    let (records, mut unknown) = wait.reported();
    if records.is_none() && enclosed.is_none() {
        unknown.push(UNATTRIBUTED.to_owned());
    }
    let delays = delays().and_then(|()| possible(records.as_deref().unwrap_or_default()));
    let delays = delays.map_err(|why| unknown.push(format!("waits for disk and memory: {why}"))).is_ok();
    let Wait { reaped, own, status, sampler, .. } = wait;
    let waits = sampler.end();
    let (status, child) = (status.expect("it was waited for"), child as u32);
    let seen =
        Seen { elapsed_ns, status, child, reaped, own, outlived, enclosed, records, delays, systems, waits, unknown };
    Ok(Ok(seen.sum_up()))
}

/// Whether every task's waits fit into its life, or why none of them is to be believed.
fn possible(records: &[Record]) -> Result<(), String> {
    match records.iter().find(|task| task.waits_longer_than_it_lives()) {
        Some(task) => Err(format!(
            "task {} waited longer than it lived: the kernel began to count during a wait, or its clocks differ",
            task.pid
        )),
        None => Ok(()),
    }
}

/// Gets the signals that are passed on as messages, and becomes the parent of the command's orphans. The second is the mask
/// before, which is the command's.
pub(crate) fn listen() -> Result<(SignalFd, SigSet), Fault> {
    let call = |doing: &'static str| move |why: nix::Error| Fault::Call { doing: doing.to_owned(), why: why.into() };
    nix::sys::prctl::set_child_subreaper(true).map_err(call("adopting the command's children"))?;
    let mut heeded: SigSet = PASSED_ON.into_iter().collect();
    heeded.add(Signal::SIGCHLD);
    let mut before = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&heeded), Some(&mut before)).map_err(call("blocking signals"))?;
    // Of several runs the first finds the mask that is the commands'.
    let before = *MASK.get_or_init(|| before);
    let signals = SignalFd::with_flags(&heeded, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(call("listening to signals"))?;
    Ok((signals, before))
}

/// Starts a command, in a control group if that file is the door of one, with this mask of signals.
pub(crate) fn start(words: &[OsString], door: Option<File>, mask: SigSet) -> io::Result<i32> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    // A command that stays outside of the group is counted by what it is waited for.
    prepare(&mut command, door, mask);
    Ok(command.spawn()?.id() as i32)
}

/// Why a command could not be started, with the status that shells give.
pub(crate) fn not_started(program: &OsString, why: &io::Error) -> NotStarted {
    let missing = why.kind() == io::ErrorKind::NotFound;
    let reason = if missing { "command not found".to_owned() } else { why.to_string() };
    NotStarted { status: if missing { 127 } else { 126 }, why: format!("{}: {reason}", program.display()) }
}

/// Passes the signals that have come on to the command, but for those that it got itself; returns whether there were any.
pub(crate) fn pass_on(signals: &SignalFd, child: Option<i32>) -> bool {
    let mut any = false;
    while let Ok(Some(signal)) = signals.read_signal() {
        let number = signal.ssi_signo as i32;
        if number == libc::SIGCHLD {
            continue;
        }
        any = true;
        if signal.ssi_code != FROM_KERNEL
            && let (Some(child), Ok(signal)) = (child, Signal::try_from(number))
        {
            // It may have ended just now.
            let _ = kill(Pid::from_raw(child), signal);
        }
    }
    any
}

struct Wait {
    child: i32,
    signals: SignalFd,
    exits: Result<Exits, Fault>,
    /// Children that were there before the command.
    strangers: BTreeSet<i32>,
    /// Of all waited-for tasks.
    reaped: Reaped,
    /// The first task's, once it has ended.
    own: Option<Own>,
    status: Option<i32>,
    /// Looks at what the tasks wait for.
    sampler: Sampler,
}

impl Wait {
    /// Waits until something happens, and deals with it.
    fn step(&mut self) {
        let files = [self.signals.as_fd()].into_iter().chain(self.exits.as_ref().ok().map(Exits::as_fd));
        let mut polled: Vec<PollFd<'_>> = files.map(|file| PollFd::new(file, PollFlags::POLLIN)).collect();
        // After an error the caller looks again.
        let left = self.sampler.left() + ROUNDING;
        let _ = poll(&mut polled, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
        drop(polled);
        pass_on(&self.signals, Some(self.child));
        self.reap();
        // Afterwards: the message of a task precedes its reaping.
        if let Ok(exits) = &mut self.exits {
            exits.read();
        }
        self.sampler.look(self.child, &self.strangers);
    }

    /// Takes the ends of the command and of orphans that were handed to us.
    fn reap(&mut self) {
        while let Some(pid) = unreaped() {
            if pid == self.child {
                self.own = Own::of(pid);
            }
            let Ok(Some(ended)) = reap_ended(pid) else { return };
            if self.strangers.remove(&pid) {
                continue;
            }
            self.reaped.add(&Reaped::of(&ended));
            if pid == self.child {
                self.status = Some(ended.status);
            }
        }
    }

    /// The records of the command's tasks, and what is not known.
    fn reported(&self) -> (Option<Vec<Record>>, Vec<String>) {
        let mut unknown = Vec::new();
        match &self.exits {
            Ok(exits) => {
                if exits.lost {
                    unknown.push("the waits of some tasks: more ended at a time than could be read".to_owned());
                }
                if exits.unreadable {
                    unknown.push(
                        "the waits of some tasks: this kernel's records have a layout that is not known".to_owned(),
                    );
                }
                (Some(family(&exits.records, self.child as u32)), unknown)
            }
            Err(fault) => {
                unknown.push(format!("each task by itself, its life and its waits: {fault}; run as root"));
                (None, unknown)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task of 200 ms, with this wait, ms, for drives or in reclaim.
    fn waited(ms: u64, in_reclaim: bool) -> Record {
        let ns = 1_000_000 * ms;
        let (disk_delay_ns, reclaim_ns) = if in_reclaim { (0, Some(ns)) } else { (ns, None) };
        Record { pid: 7, elapsed_ns: 200_000_000, disk_delay_ns, reclaim_ns, ..Record::default() }
    }

    #[test]
    fn one_wait_longer_than_its_tasks_life_and_none_is_believed() {
        assert_eq!(possible(&[]), Ok(()));
        for in_reclaim in [false, true] {
            // Ten milliseconds and a thousandth of its life may be a matter of clocks.
            assert_eq!(possible(&[waited(0, in_reclaim), waited(210, in_reclaim)]), Ok(()));
            let why = possible(&[waited(0, in_reclaim), waited(211, in_reclaim)]).unwrap_err();
            assert!(why.starts_with("task 7 waited longer than it lived"), "{why}");
        }
    }
}
