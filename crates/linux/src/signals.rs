//! Signals: those that stop a process, taken from a descriptor, waited for, or noted by a handler; and one whose handler clears a
//! counter.

use crate::Fault;
use nix::{
    poll::{PollFd, PollFlags},
    sys::{
        signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction, signal},
        signalfd::{SfdFlags, SignalFd},
        time::TimeSpec,
    },
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::Relaxed},
    time::Duration,
};

/// The signals that ask a process to stop.
const STOPPING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];

/// The signals that ask this process to stop, and `SIGCHLD`, blocked and taken from a descriptor.
pub struct Signals(SignalFd);

impl Signals {
    /// Blocks them from now on.
    pub fn block() -> Result<Signals, Fault> {
        let fault = |why: nix::Error| Fault::Call { doing: "taking signals".to_owned(), why: why.into() };
        let mut set = SigSet::empty();
        STOPPING.into_iter().chain([Signal::SIGCHLD]).for_each(|one| set.add(one));
        set.thread_block().map_err(fault)?;
        Ok(Signals(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(fault)?))
    }

    /// Waits for one for at most `at_most` ns; returns whether one asks this process to stop.
    pub fn wait(&self, at_most: u64) -> bool {
        self.poll(Some(TimeSpec::from_duration(Duration::from_nanos(at_most)))).is_some()
    }

    /// Waits for one; returns the one that asks this process to stop, if there is one.
    pub fn wait_for_any(&self) -> Option<i32> {
        self.poll(None)
    }

    /// Readable when one has come; then [`Signals::wait`] takes it.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn poll(&self, limit: Option<TimeSpec>) -> Option<i32> {
        let mut files = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        // An error here is another signal, after which the caller looks again at what it waits for.
        let _ = nix::poll::ppoll(&mut files, limit, None);
        let mut stop = None;
        while let Ok(Some(signal)) = self.0.read_signal() {
            let signal = signal.ssi_signo as i32;
            stop = if signal == libc::SIGCHLD { stop } else { Some(signal) };
        }
        stop
    }
}

/// Blocks the signals that ask this process to stop, for [`came`].
pub fn block_stops() -> Result<SigSet, Fault> {
    let stops = SigSet::from_iter(STOPPING);
    stops.thread_block().map_err(|why| Fault::Call { doing: "blocking signals".to_owned(), why: why.into() })?;
    Ok(stops)
}

/// Waits for one of these signals, which are blocked, for at most that long; returns whether one came.
pub fn came(signals: &SigSet, at_most: Duration) -> bool {
    let limit = libc::timespec { tv_sec: at_most.as_secs() as _, tv_nsec: at_most.subsec_nanos().into() };
    // SAFETY: both arguments live until the call returns; no information about the signal is requested.
    unsafe { libc::sigtimedwait(signals.as_ref(), std::ptr::null_mut(), &limit) > 0 }
}

/// Ignores these signals.
pub fn ignore(signals: &[Signal]) {
    for one in signals {
        // SAFETY: ignoring a signal installs no code.
        let _ = unsafe { signal(*one, SigHandler::SigIgn) };
    }
}

static STOPPED: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOPPED.store(true, Relaxed);
}

/// Installs a handler for the signals that ask this process to stop, which [`has_stopped`] reads; returns them.
pub fn note_stops() -> io::Result<SigSet> {
    for signal in STOPPING {
        let action = SigAction::new(SigHandler::Handler(stop), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler stores to an atomic and does nothing else.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(SigSet::from_iter(STOPPING))
}

/// Whether a signal whose handler [`note_stops`] installed has come.
pub fn has_stopped() -> bool {
    STOPPED.load(Relaxed)
}

/// The counter that the handler of `SIGUSR1` sets to zero.
static PENDING: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn clear(_: libc::c_int) {
    // SAFETY: null, or a counter that lives as long as the process.
    if let Some(pending) = unsafe { PENDING.load(Relaxed).as_ref() } {
        pending.store(0, Relaxed);
    }
}

/// Names the counter of signals sent and not handled yet, which the handler of `SIGUSR1` sets to zero.
pub fn set_pending(counter: &'static AtomicU32) {
    PENDING.store(std::ptr::from_ref(counter).cast_mut(), Relaxed);
}

/// Installs that handler; it ends waits.
pub fn handle_pending() {
    let action = SigAction::new(SigHandler::Handler(clear), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler stores to an atomic and does nothing else.
    let _ = unsafe { sigaction(Signal::SIGUSR1, &action) };
}
