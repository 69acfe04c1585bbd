//! What a live Linux host did.
//!
//!   sample      the counters of sar, vmstat, iostat and dstat
//!   tracing     the scheduler's events, recorded through tracefs
//!   capture     the kernel's events as a trace.dat, for other tools, too
//!   accounting  where the time of a command went
//!   waiting     what the tasks of a command wait for while they sleep, and its connections
//!   suspects    control groups, ends of tasks, locks and sockets
//!   peaks       the largest memory of each process, when it ends
//!   noise       the CPU time that others use, and holes in that of a processor

pub mod accounting;
pub mod capture;
pub mod noise;
mod number;
pub mod peaks;
pub mod sample;
pub mod suspects;
pub mod tracing;
pub mod waiting;

pub use number::Number;
