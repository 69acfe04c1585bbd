//! How the kernel schedules a task: policy, nice value, slice, reservation, affinity.

use crate::call::checked;
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};
use std::io;

/// The kernel's `struct sched_attr`, as of Linux 5.3. Older kernels accept it while the fields they do not know are zero.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Bytes of this structure.
    pub size: u32,
    /// The policy's number, such as `SCHED_BATCH`.
    pub policy: u32,
    /// Such as [`RESET_ON_FORK`].
    pub flags: u64,
    /// Nice value of an ordinary task.
    pub nice: i32,
    /// Static priority of a real-time task.
    pub priority: u32,
    /// The slice of an ordinary task (since Linux 6.12), or the runtime of a reservation, ns.
    pub runtime: u64,
    /// Deadline of a reservation, ns.
    pub deadline: u64,
    /// Period of a reservation, ns.
    pub period: u64,
    /// Utilization clamps, unused here.
    pub util: [u32; 2],
}

/// Children start with the ordinary policy.
pub const RESET_ON_FORK: u64 = 1;

impl Default for Attributes {
    /// An ordinary task of nice value 0.
    fn default() -> Self {
        let size = size_of::<Attributes>() as u32;
        Attributes {
            size,
            policy: libc::SCHED_OTHER as u32,
            flags: 0,
            nice: 0,
            priority: 0,
            runtime: 0,
            deadline: 0,
            period: 0,
            util: [0; 2],
        }
    }
}

impl Attributes {
    /// Applies them to the thread with that number; 0 is the calling one.
    pub fn set(&self, thread: i32) -> io::Result<()> {
        let given = Attributes { size: size_of::<Attributes>() as u32, ..*self };
        // SAFETY: the pointer is to a structure of the size that it states, alive for the call.
        checked(unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const given, 0) }).map(drop)
    }

    /// Those of the calling thread.
    pub fn current() -> io::Result<Attributes> {
        Attributes::of(0)
    }

    /// Those of a thread.
    pub fn of(thread: i32) -> io::Result<Attributes> {
        let (mut found, size) = (Attributes::default(), size_of::<Attributes>());
        // SAFETY: the pointer is to a structure of the size given, alive for the call; 0 is the calling thread.
        checked(unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut found, size, 0) })?;
        Ok(found)
    }
}

/// Sets the nice value of the calling thread, also where its policy makes nothing of it.
pub fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) }.into()).map(drop)
}

/// The nice value of the calling thread.
pub fn nice() -> io::Result<i32> {
    // SAFETY: takes numbers only. The kernel gives 20 less the value, from 1 to 40; the C library's -1 may mean an error.
    checked(unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) }).map(|given| 20 - given as i32)
}

/// How a process of ours runs next to the tasks that it watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Real-time: above all ordinary tasks, and above those real-time ones that it was to be above of.
    RealTime,
    /// Ordinary, with nice value -20.
    Favoured,
    /// Ordinary, with nice value 0.
    Ordinary,
}

/// The real-time priority of a thread of ours, unless a task that it watches has it.
const USUAL_PRIORITY: u32 = 50;
/// The highest real-time priority.
pub const HIGHEST_PRIORITY: u32 = 99;

/// Raises a thread of ours as far as permitted, above tasks of that real-time priority: it sleeps nearly always, and has to be on time
/// when it wakes up. 0 is the calling one.
pub fn raise(thread: i32, above: u32) -> Standing {
    let plain = Attributes { flags: RESET_ON_FORK, ..Attributes::default() };
    let priority = (above + 1).clamp(USUAL_PRIORITY, HIGHEST_PRIORITY);
    let real_time = Attributes { policy: libc::SCHED_FIFO as u32, priority, ..plain };
    let favoured = Attributes { nice: -20, ..plain };
    if real_time.set(thread).is_ok() {
        Standing::RealTime
    } else if favoured.set(thread).is_ok() {
        Standing::Favoured
    } else {
        Standing::Ordinary
    }
}

/// Confines the calling thread to those processors.
pub fn pin(processors: &[u16]) -> io::Result<()> {
    pin_process(0, processors)
}

/// Confines another thread, by its number.
pub fn pin_process(pid: i32, processors: &[u16]) -> io::Result<()> {
    let mut set = CpuSet::new();
    processors.iter().try_for_each(|&cpu| set.set(cpu.into())).map_err(io::Error::from)?;
    sched_setaffinity(Pid::from_raw(pid), &set).map_err(io::Error::from)
}

/// Whether the calling thread is confined to those processors, and may use all of them.
pub fn is_pinned(processors: &[u16]) -> bool {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count()).all(|cpu| set.is_set(cpu).unwrap_or(false) == processors.contains(&(cpu as u16)))
}

/// The processors that the calling thread may use.
pub fn allowed() -> Vec<u16> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).map(|cpu| cpu as u16).collect()
}

/// `sched_yield`.
pub fn give_up_cpu() {
    // SAFETY: takes nothing.
    unsafe { libc::sched_yield() };
}

/// Makes the calling thread a round-robin task of the lowest real-time priority, by the older call.
pub fn set_round_robin() -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure lives until the call returns; 0 is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority) }.into()).map(drop)
}
