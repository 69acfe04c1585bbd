//! The class and the level of a task's requests to drives (`ioprio_set`).

use crate::call::checked;
use std::io;

/// A class with a level in it, as the kernel has them in one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoPriority(u16);

/// Bits of the level.
const LEVEL: u16 = 13;
/// A process is meant, of which 0 is the calling one.
const WHO_PROCESS: i32 = 1;

impl IoPriority {
    /// Of the real-time class, with a level from 0 (first) to 7.
    pub fn real_time(level: u8) -> IoPriority {
        IoPriority(1 << LEVEL | u16::from(level))
    }

    /// Of the class that tasks are of by themselves, with a level from 0 to 7.
    pub fn best_effort(level: u8) -> IoPriority {
        IoPriority(2 << LEVEL | u16::from(level))
    }

    /// Of the class that is served when no other task uses the drive.
    pub fn idle() -> IoPriority {
        IoPriority(3 << LEVEL)
    }

    /// Of no class: the kernel takes it from the nice value.
    pub fn none() -> IoPriority {
        IoPriority(0)
    }

    /// As the kernel has it in one number.
    pub fn of_number(number: u16) -> IoPriority {
        IoPriority(number)
    }

    /// The kernel's number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// Whether it was set by none: of no class, or best effort in the middle, as which older kernels show that.
    pub fn is_usual(self) -> bool {
        self.0 >> LEVEL == 0 || self == IoPriority::best_effort(4)
    }

    /// Applies it to the calling thread.
    pub fn set(self) -> io::Result<()> {
        self.set_of(0)
    }

    /// Applies it to a thread; 0 is the calling one.
    pub fn set_of(self, thread: i32) -> io::Result<()> {
        // SAFETY: takes numbers only.
        checked(unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, thread, i32::from(self.0)) }).map(drop)
    }

    /// That of a thread; 0 is the calling one.
    pub fn of(thread: i32) -> io::Result<IoPriority> {
        // SAFETY: takes numbers only.
        let found = checked(unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, thread) })?;
        Ok(IoPriority(found as u16))
    }
}
