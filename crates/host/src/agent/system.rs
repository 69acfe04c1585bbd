//! Calls of the kernel that the standard library does not have, each with its errors as values.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    sync::atomic::AtomicU32,
};

/// The number that a call returned, or why it failed.
pub(super) fn checked(returned: libc::c_long) -> io::Result<libc::c_long> {
    if returned == -1 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is of a timespec that lives until the call returns.
    unsafe { libc::clock_gettime(which, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Now, ns of the clock that never steps.
#[inline]
pub(crate) fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Processor time of this thread so far, ns.
pub(super) fn thread_time() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Processor time of this process so far, ns.
pub(super) fn process_time() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Now by the wall clock, ns since 1970.
pub(super) fn wall_clock() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

/// Sleeps until then, by the clock of [`now`]; a signal ends it early.
pub(crate) fn sleep_until(time: u64) {
    let until = libc::timespec { tv_sec: (time / 1_000_000_000) as _, tv_nsec: (time % 1_000_000_000) as libc::c_long };
    // SAFETY: the pointer is of a timespec that lives until the call returns; none is written to.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut()) };
}

/// The cheapest system call.
#[inline]
pub(super) fn cheapest_call() {
    // SAFETY: getppid takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_getppid) };
}

/// Waits while the word has that value, at most so long (ns); returns early for no reason at times.
pub(super) fn futex_wait(word: &AtomicU32, value: u32, at_most: Option<u64>) {
    let limit = at_most
        .map(|ns| libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as libc::c_long });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word is alive for the call, and the limit is null or lives until it returns.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, limit) };
}

/// Wakes so many who wait for the word.
pub(super) fn futex_wake(word: &AtomicU32, how_many: i32) {
    // SAFETY: the word is alive for the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, how_many) };
}

/// A new process, as a copy of this one: `Some(pid)` to the parent, `None` to the child.
pub(super) fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the agent has one thread when it forks, and so have its tasks, so the copy is whole.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Some(pid)),
    }
}

/// Ends this process at once, without anything that the agent wanted to do at its own end.
pub(super) fn exit_at_once(status: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(status) }
}

/// A child's end, or none for now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub pid: i32,
    /// The signal that killed it.
    pub signal: Option<i32>,
    pub usage: Usage,
}

/// What a process and its children that were waited for have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// By what the clock ticks found, microseconds; their sum is exact.
    pub user_us: u64,
    pub system_us: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary: u64,
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
pub(super) fn reap(block: bool) -> io::Result<Option<Ended>> {
    take_end(-1, if block { 0 } else { libc::WNOHANG })
}

/// Takes the end of that child, if it has ended.
pub(super) fn reap_ended(pid: i32) -> io::Result<Option<Ended>> {
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
    Ok(Some(Ended { pid, signal, usage: Usage::of(&raw) }))
}

/// Waits until a child has ended, and gives its number; it can still be asked about until it is reaped. An error if there are
/// no children or a signal came.
pub(super) fn await_end() -> io::Result<i32> {
    // SAFETY: a siginfo is plain numbers, for which zero is a value; the pointer is of a local that outlives the call, which
    // fills in the number if it succeeds.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        checked(libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOWAIT).into())?;
        Ok(info.si_pid())
    }
}

/// Sends a signal; one who is gone is no error.
pub(super) fn kill(pid: i32, signal: i32) {
    // SAFETY: takes numbers only.
    unsafe { libc::kill(pid, signal) };
}

/// The parent's number.
pub(super) fn parent() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::getppid() }
}

/// This process's number.
pub(super) fn own_pid() -> i32 {
    std::process::id() as i32
}

/// `prctl` with one number.
pub(super) fn prctl(what: i32, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the options used here take numbers only.
    checked(unsafe { libc::prctl(what, value, 0, 0, 0) }.into()).map(|_| ())
}

/// Has this process sent a signal when its parent ends.
pub(super) fn signal_at_parents_end(signal: i32) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong)
}

/// Waits for the end of that child, through signals; gives its wait status.
pub(super) fn reap_one(pid: i32) -> io::Result<i32> {
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
pub(super) fn reap_if(pid: i32) -> io::Result<Option<i32>> {
    let mut status = 0;
    // SAFETY: the pointer is of a local that outlives the call.
    let ended = checked(unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) }.into())?;
    Ok((ended != 0).then_some(status))
}

/// Becomes a shell that does that command. Returns never: without a shell, the process ends as a shell says it.
pub(super) fn become_shell(command: &CStr) -> ! {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command.as_ptr(), std::ptr::null()];
    // SAFETY: strings with their ends and a list with its end, all alive for the call.
    unsafe { libc::execv(c"/bin/sh".as_ptr(), arguments.as_ptr()) };
    exit_at_once(127)
}

/// A session of its own for this process.
pub(super) fn new_session() -> io::Result<()> {
    // SAFETY: takes nothing.
    checked(unsafe { libc::setsid() }.into()).map(|_| ())
}

/// Gives the processor up.
pub(super) fn give_way() {
    // SAFETY: takes nothing.
    unsafe { libc::sched_yield() };
}

/// Waits for a signal.
pub(super) fn pause() {
    // SAFETY: takes nothing.
    unsafe { libc::pause() };
}

/// Keeps all memory that this process has now from being paged out, and has all of it there.
pub(super) fn lock_memory() -> io::Result<()> {
    // SAFETY: takes a number.
    checked(unsafe { libc::mlockall(libc::MCL_CURRENT) }.into()).map(|_| ())
}

/// Opens a file below a folder.
pub(super) fn open_at(folder: RawFd, name: &CStr, flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: the name is a string with its end, alive for the call.
    let fd = checked(unsafe { libc::openat(folder, name.as_ptr(), flags | libc::O_CLOEXEC, 0o600) }.into())?;
    // SAFETY: the call has just opened it, so it is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Deletes a file below a folder.
pub(super) fn delete_at(folder: RawFd, name: &CStr) -> io::Result<()> {
    // SAFETY: the name is a string with its end, alive for the call.
    checked(unsafe { libc::unlinkat(folder, name.as_ptr(), 0) }.into()).map(|_| ())
}

/// Waits until what was written to the file system of that folder is on the drive.
pub(super) fn sync_around(folder: RawFd) -> io::Result<()> {
    // SAFETY: takes a number.
    checked(unsafe { libc::syncfs(folder) }.into()).map(|_| ())
}

/// Forgets what the block cache has of a file; it must be on the drive.
pub(super) fn forget_cached(file: &impl AsRawFd) {
    // SAFETY: takes numbers only.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// Makes one file take the place of another number.
pub(super) fn replace(file: RawFd, number: RawFd) {
    // SAFETY: takes numbers only; what stood at that number is a standard stream that nobody uses any more.
    unsafe { libc::dup2(file, number) };
}
