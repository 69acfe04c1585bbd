//! How long a recording lasts: until a command has ended, or until a signal comes.

use crate::accounting::run::{NotStarted, listen, not_started, pass_on, start};
use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::{signal::SigSet, signalfd::SignalFd, time::TimeSpec},
};
use schedlab_linux::{
    Fault,
    process::{reap_ended, unreaped},
};
use std::{ffi::OsString, os::fd::AsFd, time::Duration};

/// What is waited for.
pub struct Until {
    signals: SignalFd,
    /// The signals that were blocked before: the command's.
    mask: SigSet,
    /// The command, once it was started.
    pub child: Option<i32>,
    /// The command's exit status as a shell gives it, once it has ended.
    pub status: Option<i32>,
    /// Whether a signal asked to stop, where no command gets it.
    pub stopped: bool,
}

impl Until {
    /// Takes signals as messages from now on.
    pub fn listen() -> Result<Until, Fault> {
        let (signals, mask) = listen()?;
        Ok(Until { signals, mask, child: None, status: None, stopped: false })
    }

    /// Starts a command, whose end is then waited for. It belongs to the user who called, and gets the signals that come.
    pub fn start(&mut self, words: &[OsString]) -> Result<(), NotStarted> {
        let child = start(words, None, self.mask).map_err(|why| not_started(&words[0], &why))?;
        self.child = Some(child);
        Ok(())
    }

    /// Whether what was waited for has come.
    pub fn over(&self) -> bool {
        self.stopped || self.status.is_some()
    }

    /// Waits for something to come, for at most that long.
    pub fn wait(&mut self, at_most: Option<Duration>) {
        let mut files = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        // After an error the caller looks again.
        let _ = ppoll(&mut files, at_most.map(TimeSpec::from_duration), None);
        self.stopped |= pass_on(&self.signals, self.child) && self.child.is_none();
        while let Some(pid) = unreaped() {
            let Ok(Some(ended)) = reap_ended(pid) else { return };
            if Some(pid) == self.child {
                self.status = Some(ended.status);
            }
        }
    }
}
