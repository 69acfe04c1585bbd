//! The signals that end a run, and those of children that end.

use crate::Fault;
use nix::{
    poll::{PollFd, PollFlags},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        time::TimeSpec,
    },
};
use std::{os::fd::AsFd, time::Duration};

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
    pub fn wait(&self, at_most: u64) -> bool {
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
