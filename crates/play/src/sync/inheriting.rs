//! A lock whose holder has the priority of its first waiter, if that is higher: the kernel's own (FUTEX_LOCK_PI). Waiters are ordered by
//! priority, and the lock is handed to the first of them.
//!
//!   word     0, or the number of the process that has it, with two bits of the kernel: it has waiters; its owner died
//!   holder   the number of the task that has it; only for the supervisor: set after the task has taken it
//!
//! A task that is killed keeps it, as it keeps other locks. The kernel has a waiter of the time go on, with the second bit, and refuses later
//! ones: both wait for good, as glibc has it with such a mutex that is not robust. So do tasks that wait for each other in a circle.

use schedlab_linux::{futex, process, shareable};
use std::{
    io,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// The bits of a process's number. No process has all of them.
const PROCESS: u32 = 0x3FFF_FFFF;
/// The process that had it has died.
const OWNER_DIED: u32 = 1 << 30;

shareable! {
    /// The lock. Locks do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub(crate) struct Inheriting {
        word: AtomicU32,
        holder: AtomicU32,
    }
}

impl Inheriting {
    /// Whether this kernel has such locks.
    pub fn are_there() -> bool {
        // No task has it: a kernel with such locks refuses with EPERM.
        futex::unlock_pi(&AtomicU32::new(0)).is_err_and(|why| why.raw_os_error() == Some(libc::EPERM))
    }

    /// Takes the lock for a task with a number from 1, whose process is the calling one, waiting as long as it takes.
    pub fn take(&self, task: u32, process: u32) {
        if self.word.compare_exchange(0, process, Acquire, Relaxed).is_err() {
            while let Err(why) = futex::lock_pi(&self.word) {
                let passes = [libc::EAGAIN, libc::EINTR, libc::ENOMEM].map(Some).contains(&why.raw_os_error());
                if !passes {
                    wait_for_good();
                }
            }
            if self.word.load(Relaxed) & OWNER_DIED != 0 {
                wait_for_good();
            }
        }
        self.holder.store(task, Relaxed);
    }

    /// Gives the lock back; only for the task that has it.
    pub fn give_back(&self, task: u32, process: u32) -> io::Result<()> {
        if self.word.compare_exchange(process, 0, Release, Relaxed).is_err() {
            futex::unlock_pi(&self.word)?;
        }
        // The next one may have it by now.
        let _ = self.holder.compare_exchange(task, 0, Relaxed, Relaxed);
        Ok(())
    }

    /// That process has been killed. Its number may be another's soon, which must not be taken for the lock's holder.
    pub fn bury(&self, process: u32) {
        let gone = |word: u32| (word & PROCESS == process).then_some(PROCESS);
        let _ = self.word.fetch_update(Relaxed, Relaxed, gone);
    }

    /// Its holder: a number from 1; 0 if it is free.
    pub fn holder(&self) -> u32 {
        self.holder.load(Relaxed)
    }
}

fn wait_for_good() -> ! {
    loop {
        process::pause();
    }
}
