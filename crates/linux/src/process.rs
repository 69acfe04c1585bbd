//! Processes: fork, wait, resource usage, signals to them.

use crate::call::checked;
use nix::sys::signal::SigSet;
use std::{
    ffi::CStr,
    fs::File,
    io::{self, Write},
    os::unix::process::CommandExt,
    process::Command,
};

/// The cheapest system call.
#[inline]
pub fn cheapest_call() {
    // SAFETY: getppid takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_getppid) };
}

/// A new process, as a copy of this one: `Some(pid)` to the parent, `None` to the child. The calling process must have one thread,
/// or the child has locks that no thread will release.
pub fn fork() -> io::Result<Option<i32>> {
    // SAFETY: with one thread the copy is whole. The agent has one when it forks, and so have its tasks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Some(pid)),
    }
}

/// Ends this process immediately, without running destructors.
pub fn exit_immediately(status: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(status) }
}

/// A child's end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ended {
    /// Its number.
    pub pid: i32,
    /// The signal that killed it.
    pub signal: Option<i32>,
    /// Its exit status as a shell reports it: 128 and the signal's number, if one killed it.
    pub status: i32,
    /// What it and the children that it had waited for used.
    pub usage: Usage,
    /// Resident memory of the largest of them at its largest, bytes.
    pub peak_bytes: u64,
    /// Bytes read from and written to drives.
    pub drive_bytes: [u64; 2],
}

/// Bytes of a block in which `getrusage` counts.
const BLOCK: u64 = 512;

/// What a process and its children that were waited for have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// User time, microseconds. Its share of the sum is what clock ticks found; the sum is exact.
    pub user_us: u64,
    /// System time, microseconds.
    pub system_us: u64,
    /// Page faults without a drive.
    pub minor_faults: u64,
    /// Page faults that waited for a drive.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
}

impl Usage {
    fn of(raw: &libc::rusage) -> Usage {
        let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        Usage {
            user_us: us(raw.ru_utime),
            system_us: us(raw.ru_stime),
            minor_faults: raw.ru_minflt as u64,
            major_faults: raw.ru_majflt as u64,
            voluntary: raw.ru_nvcsw as u64,
            involuntary: raw.ru_nivcsw as u64,
        }
    }

    /// Both together.
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            user_us: self.user_us + other.user_us,
            system_us: self.system_us + other.system_us,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }

    /// What is left of it without an earlier one.
    pub fn minus(self, earlier: Usage) -> Usage {
        Usage {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }

    /// Processor time, microseconds.
    pub fn time_us(self) -> u64 {
        self.user_us + self.system_us
    }

    /// This process's own, so far.
    pub fn own() -> Usage {
        Usage::asked(libc::RUSAGE_SELF)
    }

    /// That of its children that were waited for.
    pub fn of_children() -> Usage {
        Usage::asked(libc::RUSAGE_CHILDREN)
    }

    fn asked(whose: i32) -> Usage {
        // SAFETY: a rusage is plain numbers, for which zero is a value; the pointer is of one that outlives the call.
        let raw = unsafe {
            let mut raw: libc::rusage = std::mem::zeroed();
            libc::getrusage(whose, &mut raw);
            raw
        };
        Usage::of(&raw)
    }
}

/// Takes the end of a child, waiting for it if `block`; `None` if none has ended, an error if there are no children or a
/// signal came.
pub fn reap(block: bool) -> io::Result<Option<Ended>> {
    take_end(-1, if block { 0 } else { libc::WNOHANG })
}

/// Takes the end of that child, if it has ended.
pub fn reap_ended(pid: i32) -> io::Result<Option<Ended>> {
    take_end(pid, libc::WNOHANG)
}

fn take_end(whose: i32, options: i32) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: a rusage is plain numbers, for which zero is a value; both pointers are of locals that outlive the call.
    let (pid, raw) = unsafe {
        let mut raw: libc::rusage = std::mem::zeroed();
        (libc::wait4(whose, &mut status, options, &mut raw), raw)
    };
    if checked(pid.into())? == 0 {
        return Ok(None);
    }
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    Ok(Some(Ended {
        pid,
        signal,
        status: signal.map_or_else(|| libc::WEXITSTATUS(status), |signal| 128 + signal),
        usage: Usage::of(&raw),
        peak_bytes: raw.ru_maxrss as u64 * 1024,
        drive_bytes: [raw.ru_inblock as u64 * BLOCK, raw.ru_oublock as u64 * BLOCK],
    }))
}

/// Waits until a child has ended and returns its number; it is not reaped. An error if there are no children or a signal came.
pub fn await_end() -> io::Result<i32> {
    ended_child(0)
}

/// A child that has ended and is not reaped yet, without waiting.
pub fn unreaped() -> Option<i32> {
    ended_child(libc::WNOHANG).ok().filter(|&pid| pid > 0)
}

fn ended_child(options: i32) -> io::Result<i32> {
    // SAFETY: a siginfo is plain numbers, for which zero is a value; the pointer is to a local that outlives the call, which
    // fills in the number if it succeeds or leaves it zero.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        checked(libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOWAIT | options).into())?;
        Ok(info.si_pid())
    }
}

/// Sends a signal; a process that is gone is no error.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: takes numbers only.
    unsafe { libc::kill(pid, signal) };
}

/// The parent's number.
pub fn parent() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::getppid() }
}

/// This process's number.
pub fn own_pid() -> i32 {
    std::process::id() as i32
}

/// `prctl` with one number.
pub(crate) fn prctl(what: i32, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the options used here take numbers only.
    checked(unsafe { libc::prctl(what, value, 0, 0, 0) }.into()).map(|_| ())
}

/// Has this process sent a signal when its parent ends.
pub fn signal_at_parents_end(signal: i32) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong)
}

/// Waits for the end of that child, through signals; gives its wait status.
pub fn reap_one(pid: i32) -> io::Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is of a local that outlives the call.
        match checked(unsafe { libc::waitpid(pid, &mut status, 0) }.into()) {
            Ok(_) => return Ok(status),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
}

/// The wait status of that child, if it has ended.
pub fn reap_if(pid: i32) -> io::Result<Option<i32>> {
    let mut status = 0;
    // SAFETY: the pointer is of a local that outlives the call.
    let ended = checked(unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) }.into())?;
    Ok((ended != 0).then_some(status))
}

/// Becomes a shell that does that command. Returns never: without a shell, the process ends as a shell says it.
pub fn become_shell(command: &CStr) -> ! {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command.as_ptr(), std::ptr::null()];
    // SAFETY: strings with their ends and a list with its end, all alive for the call.
    unsafe { libc::execv(c"/bin/sh".as_ptr(), arguments.as_ptr()) };
    exit_immediately(127)
}

/// A session of its own for this process.
pub fn new_session() -> io::Result<()> {
    // SAFETY: takes nothing.
    checked(unsafe { libc::setsid() }.into()).map(|_| ())
}

/// Waits for a signal.
pub fn pause() {
    // SAFETY: takes nothing.
    unsafe { libc::pause() };
}

/// Has the kernel kill this process, and those that it forks, if one of them runs under a real-time policy for longer than that without
/// sleeping, ns.
pub fn limit_real_time(longest: u64) -> io::Result<()> {
    let us = longest / 1000;
    let limit = libc::rlimit { rlim_cur: us, rlim_max: us };
    // SAFETY: the structure lives until the call returns.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) }.into()).map(drop)
}

/// The least nice value that a process may be given without the right to give any (`RLIMIT_NICE`); 20 is none. 0 is this process.
pub fn least_nice(pid: i32) -> io::Result<i32> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives until the call returns; nothing is set.
    checked(unsafe { libc::prlimit(pid, libc::RLIMIT_NICE, std::ptr::null(), &raw mut limit) }.into())?;
    Ok(20 - limit.rlim_cur.min(40) as i32)
}

/// Adopts the orphans among this process's descendants.
pub fn become_subreaper() -> io::Result<()> {
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)
}

/// Has a command write a byte `0` to a file and take a signal mask before it starts: in a control group's `cgroup.procs` that moves it
/// there. A failed write does not keep it from starting.
pub fn prepare(command: &mut Command, group: Option<File>, mask: SigSet) {
    let prepare = move || {
        if let Some(mut group) = group.as_ref() {
            let _ = group.write_all(b"0");
        }
        mask.thread_set_mask().map_err(io::Error::from)
    };
    // SAFETY: between fork and exec only write and sigprocmask are called, which are safe there; what they use was made before.
    unsafe { command.pre_exec(prepare) };
}

/// The kernel's units.
#[derive(Debug, Clone, Copy)]
pub struct Units {
    /// Clock ticks a second in which it reports CPU time.
    pub ticks: u64,
    /// KiB of a page.
    pub page_kib: u64,
}

/// In what this kernel counts time and memory.
pub fn units() -> Units {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let [ticks, page] = [libc::_SC_CLK_TCK, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    let known = |value: i64, usual| u64::try_from(value).ok().filter(|&value| value > 0).unwrap_or(usual);
    Units { ticks: known(ticks, 100), page_kib: known(page, 4096) / 1024 }
}

/// Clock ticks a second in which the kernel reports CPU time.
pub fn ticks_per_second() -> u64 {
    units().ticks
}
