//! Runs a command, passes signals on to it, and reads what the kernel tells of its tasks until it ends.

use super::{exits::Exits, parts::Parts, record::Record};
use crate::{Fault, Root};
use nix::sys::{
    signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask},
    signalfd::{SfdFlags, SignalFd},
};
use nix::unistd::Pid;
use serde::Serialize;
use std::{
    collections::HashSet,
    ffi::OsString,
    io, mem,
    os::{fd::AsRawFd, unix::process::CommandExt},
    process::Command,
    time::{Duration, Instant},
};

/// Signals that are passed on. One from the terminal goes to the command anyway: it is in the same group.
const PASSED_ON: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];
/// Kernel's sign that a signal came from the terminal, not from a process.
const FROM_KERNEL: i32 = 0x80;
/// Size of a block in which `getrusage` counts.
const BLOCK: u64 = 512;

/// What came of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timed {
    /// From its start to its end, ns.
    pub elapsed_ns: u64,
    /// What it ended with.
    pub status: i32,
    /// The first task alone: its parts add up to the time elapsed. None, if its children cannot be told apart from it.
    pub main: Option<Parts>,
    /// All tasks together: parts add up to the sum of their lives.
    pub whole: Parts,
    /// What they did.
    pub counts: Counts,
    /// Time in which tasks of the whole system were held up, ns.
    pub pressure: Option<Pressure>,
    /// Processor time that others used meanwhile, as a share of all processors, percent.
    pub foreign_percent: Option<f64>,
    /// Time that the hypervisor took meanwhile, as a share of all processors, percent.
    pub steal_percent: Option<f64>,
    /// What is not known, and why.
    pub unknown: Vec<String>,
}

/// Counts of all tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// How many tasks ended, threads counted one by one; none where only sums are known.
    pub tasks: Option<u64>,
    /// Switches to wait.
    pub voluntary_switches: u64,
    /// Switches although it could have gone on.
    pub involuntary_switches: u64,
    /// Page faults without waiting for a drive.
    pub minor_faults: u64,
    /// Page faults that waited for a drive.
    pub major_faults: u64,
    /// Bytes that system calls read, from wherever.
    pub read_bytes: Option<u64>,
    /// Bytes that system calls wrote.
    pub written_bytes: Option<u64>,
    /// Bytes that were read from drives.
    pub drive_read_bytes: u64,
    /// Bytes that were written to drives, or will be.
    pub drive_written_bytes: u64,
    /// Resident memory of the largest process at its largest, bytes.
    pub peak_bytes: u64,
    /// Time in reclaim for its own demands, ns, across the parts.
    pub reclaim_ns: Option<u64>,
    /// Time in compaction of memory, ns, across the parts.
    pub compaction_ns: Option<u64>,
    /// Time in copying shared pages, ns, across the parts.
    pub copy_ns: Option<u64>,
}

/// The system's pressure over a run: time in which some task was held up, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pressure {
    /// For want of a processor.
    pub processor_ns: u64,
    /// For want of a drive.
    pub disk_ns: u64,
    /// For want of memory.
    pub memory_ns: u64,
}

/// A command that could not be started.
#[derive(Debug)]
pub struct NotStarted {
    /// The status that shells give.
    pub status: u8,
    /// One line.
    pub why: String,
}

/// Runs it. `delays` says whether the kernel keeps account of waits.
pub fn run(root: &Root, words: &[OsString], delays: Result<(), String>) -> Result<Result<Timed, NotStarted>, Fault> {
    let call = |doing: &'static str| move |why: nix::Error| Fault::Call { doing: doing.to_owned(), why: why.into() };
    nix::sys::prctl::set_child_subreaper(true).map_err(call("adopting the command's children"))?;
    let mut heeded: SigSet = PASSED_ON.into_iter().collect();
    heeded.add(Signal::SIGCHLD);
    let mut before = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&heeded), Some(&mut before)).map_err(call("blocking signals"))?;
    let signals = SignalFd::with_flags(&heeded, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(call("listening to signals"))?;
    let exits = Exits::listen(&root.read("/sys/devices/system/cpu/possible").unwrap_or_default());
    let before_system = System::read(root);
    let began = Instant::now();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    // SAFETY: between fork and exec only sigprocmask is called, which is safe there; what it reads was copied before.
    unsafe { command.pre_exec(move || before.thread_set_mask().map_err(io::Error::from)) };
    let child = match command.spawn() {
        Ok(child) => child.id() as i32,
        Err(why) => return Ok(Err(not_started(&words[0], &why))),
    };
    let mut wait = Wait { child, signals, exits, ended: None };
    while wait.ended.is_none() {
        wait.step();
    }
    let elapsed = began.elapsed();
    let after_system = System::read(root);
    Ok(Ok(wait.sum_up(elapsed, delays, &before_system, &after_system)))
}

fn not_started(program: &OsString, why: &io::Error) -> NotStarted {
    let missing = why.kind() == io::ErrorKind::NotFound;
    let reason = if missing { "command not found".to_owned() } else { why.to_string() };
    NotStarted { status: if missing { 127 } else { 126 }, why: format!("{}: {reason}", program.display()) }
}

struct Wait {
    child: i32,
    signals: SignalFd,
    exits: Result<Exits, Fault>,
    ended: Option<(i32, libc::rusage)>,
}

impl Wait {
    /// Waits until something happens, and deals with it.
    fn step(&mut self) {
        let exits = self.exits.as_ref().map_or(-1, Exits::fd);
        let mut polled =
            [self.signals.as_raw_fd(), exits].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // SAFETY: the pointer and length are those of the array; a negative descriptor is passed over.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
        while let Ok(Some(signal)) = self.signals.read_signal() {
            let number = signal.ssi_signo as i32;
            if number != libc::SIGCHLD
                && signal.ssi_code != FROM_KERNEL
                && let Ok(signal) = Signal::try_from(number)
            {
                // It may have ended just now.
                let _ = kill(Pid::from_raw(self.child), signal);
            }
        }
        self.reap();
        // Afterwards: who was reaped has told of its end before.
        if let Ok(exits) = &mut self.exits {
            exits.read();
        }
    }

    /// Takes the ends of the command and of orphans that were handed to us.
    fn reap(&mut self) {
        loop {
            let mut status = 0;
            // SAFETY: all bits zero are a valid value of this struct of numbers.
            let mut usage: libc::rusage = unsafe { mem::zeroed() };
            // SAFETY: both pointers are to values that live through the call.
            let pid = unsafe { libc::wait4(-1, &mut status, libc::WNOHANG, &mut usage) };
            if pid <= 0 {
                return;
            }
            if pid == self.child {
                let status =
                    if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
                self.ended = Some((status, usage));
            }
        }
    }

    fn sum_up(self, elapsed: Duration, delays: Result<(), String>, was: &System, is: &System) -> Timed {
        let elapsed_ns = elapsed.as_nanos() as u64;
        let (status, usage) = self.ended.expect("it was waited for");
        let mut unknown = vec!["waiting for the network: Linux does not tell it apart from being asleep".to_owned()];
        let tasks = match &self.exits {
            Ok(exits) => {
                if exits.lost {
                    unknown.push("some tasks: more ended at a time than could be read".to_owned());
                }
                if exits.unreadable {
                    unknown.push("some tasks: this kernel's records have a layout that is not known".to_owned());
                }
                family(&exits.records, self.child as u32)
            }
            Err(fault) => {
                unknown.push(format!("each task by itself, and its waits: {fault}; run as root"));
                Vec::new()
            }
        };
        let delays = delays.map_err(|why| unknown.push(format!("waits for processor, disk and memory: {why}"))).is_ok();
        let main = tasks.iter().find(|task| task.pid == self.child as u32);
        let known = main.is_some();
        let of_usage = from_usage(&usage, elapsed_ns);
        let whole = tasks.iter().map(|task| Parts::of(task, task.elapsed_ns, delays)).reduce(|a, b| a.plus(&b));
        let ran_ns = whole.map_or(of_usage.ran_ns, |whole| whole.user_ns + whole.system_ns);
        Timed {
            elapsed_ns,
            status,
            main: match main {
                Some(task) => Some(Parts::of(task, elapsed_ns, delays)),
                None => (of_usage.ran_ns <= elapsed_ns).then(|| Parts::of(&of_usage, elapsed_ns, false)),
            },
            whole: whole
                .filter(|_| known)
                .unwrap_or_else(|| Parts::of(&of_usage, elapsed_ns.max(of_usage.ran_ns), false)),
            counts: if known { Counts::of(&tasks, delays, &of_usage) } else { Counts::of_usage(&of_usage) },
            pressure: is.pressure_since(was),
            foreign_percent: is.foreign_percent(was, ran_ns),
            steal_percent: is.steal_percent(was),
            unknown,
        }
    }
}

/// Of all tasks that ended, the command's: the first one, its threads and children, their children, and orphans handed to us.
fn family(records: &[Record], child: u32) -> Vec<Record> {
    let mut processes: HashSet<u32> = [child, std::process::id()].into();
    let mut found = vec![false; records.len()];
    // Parents may come after their children.
    loop {
        let before = processes.len();
        for (record, found) in records.iter().zip(&mut found) {
            if !*found && processes.contains(&record.parent) {
                *found = true;
                processes.insert(record.pid);
            }
        }
        if processes.len() == before {
            break;
        }
    }
    records.iter().zip(found).filter(|(_, found)| *found).map(|(record, _)| *record).collect()
}

/// What `wait4` tells of a task and the children it has waited for, all together.
fn from_usage(usage: &libc::rusage, elapsed_ns: u64) -> Record {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    let (user_ns, system_ns) = (ns(usage.ru_utime), ns(usage.ru_stime));
    Record {
        elapsed_ns,
        ran_ns: user_ns + system_ns,
        user_ns,
        system_ns,
        faults: [usage.ru_minflt as u64, usage.ru_majflt as u64],
        peak_bytes: usage.ru_maxrss as u64 * 1024,
        drive_bytes: [usage.ru_inblock as u64 * BLOCK, usage.ru_oublock as u64 * BLOCK],
        switches: [usage.ru_nvcsw as u64, usage.ru_nivcsw as u64],
        ..Record::default()
    }
}

impl Counts {
    fn of(tasks: &[Record], delays: bool, usage: &Record) -> Counts {
        let sum = |of: fn(&Record) -> u64| tasks.iter().map(of).fold(0, u64::saturating_add);
        let known = |of: fn(&Record) -> Option<u64>| {
            let all = tasks.iter().map(of).try_fold(0, |all: u64, part| Some(all.saturating_add(part?)));
            all.filter(|_| delays)
        };
        Counts {
            tasks: Some(tasks.len() as u64),
            voluntary_switches: sum(|it| it.switches[0]),
            involuntary_switches: sum(|it| it.switches[1]),
            minor_faults: sum(|it| it.faults[0]),
            major_faults: sum(|it| it.faults[1]),
            read_bytes: Some(sum(|it| it.call_bytes[0])),
            written_bytes: Some(sum(|it| it.call_bytes[1])),
            drive_read_bytes: sum(|it| it.drive_bytes[0]),
            drive_written_bytes: sum(|it| it.drive_bytes[1]),
            peak_bytes: tasks.iter().map(|it| it.peak_bytes).fold(usage.peak_bytes, u64::max),
            reclaim_ns: known(|it| it.reclaim_ns),
            compaction_ns: known(|it| it.compaction_ns),
            copy_ns: known(|it| it.copy_ns),
        }
    }

    fn of_usage(usage: &Record) -> Counts {
        let only = Counts::of(std::slice::from_ref(usage), false, usage);
        Counts { tasks: None, read_bytes: None, written_bytes: None, ..only }
    }
}

/// Counters of the whole system at a moment.
struct System {
    /// Ticks of the line `cpu` of /proc/stat.
    ticks: Option<Vec<u64>>,
    /// Total of "some", by resource, us.
    pressure: Option<[u64; 3]>,
}

impl System {
    fn read(root: &Root) -> System {
        let stat = root.read("/proc/stat").ok();
        let ticks = stat.as_deref().and_then(|stat| {
            let words = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
            Some(words.map(|word| word.parse().unwrap_or(0)).collect())
        });
        let total = |name: &str| {
            let text = root.read(format!("/proc/pressure/{name}")).ok()?;
            text.lines().find(|line| line.starts_with("some"))?.rsplit_once("total=")?.1.trim().parse::<u64>().ok()
        };
        let pressure = (|| Some([total("cpu")?, total("io")?, total("memory")?]))();
        System { ticks, pressure }
    }

    fn pressure_since(&self, was: &System) -> Option<Pressure> {
        let (is, was) = (self.pressure?, was.pressure?);
        let ns = |i: usize| is[i].saturating_sub(was[i]).saturating_mul(1000);
        Some(Pressure { processor_ns: ns(0), disk_ns: ns(1), memory_ns: ns(2) })
    }

    /// Ticks since then: of all uses, of those in which a task ran, and stolen ones.
    fn passed(&self, was: &System) -> Option<(u64, u64, u64)> {
        let (is, was) = (self.ticks.as_ref()?, was.ticks.as_ref()?);
        // user nice system idle iowait irq softirq steal; guests are within user.
        let passed: Vec<u64> = is.iter().zip(was).take(8).map(|(is, was)| is.saturating_sub(*was)).collect();
        let all: u64 = passed.iter().sum();
        let busy = passed.get(..3)?.iter().sum();
        (all > 0).then_some((all, busy, passed.get(7).copied().unwrap_or(0)))
    }

    /// Ticks are coarse: over a time of few ticks this is a guess, never below zero.
    fn foreign_percent(&self, was: &System, own_ns: u64) -> Option<f64> {
        let (all, busy, _) = self.passed(was)?;
        let own = own_ns as f64 / 1e9 * ticks_per_second();
        Some(((busy as f64 - own) / all as f64 * 100.0).clamp(0.0, 100.0))
    }

    fn steal_percent(&self, was: &System) -> Option<f64> {
        let (all, _, stolen) = self.passed(was)?;
        Some(stolen as f64 / all as f64 * 100.0)
    }
}

fn ticks_per_second() -> f64 {
    // SAFETY: no pointers; the answer is a number.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) as f64 }
}
