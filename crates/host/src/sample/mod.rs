//! The counters of sar, vmstat and dstat, from the files of the kernel.

pub mod command;
