//! The scheduler's events, from the kernel's tracefs.

pub mod command;
