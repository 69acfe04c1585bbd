//! The live Linux host: the step language as real work on a real kernel, its counters, its scheduler's events, and its
//! tunables. No Python near a measurement: the binary `schedlab-agent` does all of it, takes JSON and gives JSON. Inside a
//! guest kernel it is the only program.
//!
//! Everything that reads the kernel's files takes the [`Root`] under which they stand, so that tests can give it a tree of
//! another kernel.

pub mod accounting;
pub mod agent;
pub mod guest;
pub mod plan;
pub mod sample;
pub mod suspects;
pub mod tracing;
pub mod tunables;
pub mod volume;
