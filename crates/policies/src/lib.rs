//! The algorithms, one file each. They see the nouns of the model and what their context hands over: no clock, file,
//! thread or random source of their own.

// The rule of a policy's page is an indented block of prose.
#![allow(rustdoc::invalid_rust_codeblocks)]

pub mod caches;
pub mod elevators;
pub mod reclaim;
pub mod schedulers;
