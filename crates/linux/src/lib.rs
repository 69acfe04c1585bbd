//! Linux as the other crates see it: system calls, clocks, and the kernel's files, each once and behind safe functions. This is
//! the only crate with unsafe code.
//!
//! Everything that reads the kernel's files takes the [`Root`] under which they are, so that tests can use the recorded tree of
//! another kernel.
//!
//!   root, fault, shown            where the kernel's files are, what can go wrong, text that is safe to print
//!   proc/                         the parsers of /proc/stat, /proc/PID/stat and of files of lines "key value"
//!   mounts                        the table of mounts, and control groups in it
//!   machine                       the host as the machine of a simulated run
//!   topology                      the host's own threads, caches and memory nodes
//!   clock, signals                clocks and timers, signals
//!   sched, io_priority            scheduling attributes and affinity, the class of requests to drives
//!   process, detached, pidfd      processes: fork, wait, resource usage; processes that outlive their starter
//!   futex, shared, mapping        waiting on a word, memory shared by forked processes, mappings
//!   files, xattr, swap            calls on files that the standard library lacks
//!   writes                        which process writes into a file
//!   tracefs, netlink, loop_device, module, ports    interfaces with calls of their own

#[cfg(feature = "allocations")]
pub mod allocations;
mod call;
pub mod clock;
pub mod detached;
mod fault;
pub mod files;
pub mod futex;
mod idle_states;
pub mod io_priority;
pub mod loop_device;
pub mod machine;
pub mod mapping;
pub mod module;
pub mod mounts;
pub mod netlink;
pub mod pidfd;
pub mod ports;
pub mod proc;
pub mod process;
mod root;
pub mod sched;
pub mod shared;
mod shown;
pub mod signals;
pub mod swap;
pub mod topology;
pub mod tracefs;
pub mod writes;
pub mod xattr;

pub use fault::Fault;
pub use root::Root;
pub use shown::shown;
