//! Tests of eviction policies: laws that hold for all of them, and random requests.

pub mod laws;
pub mod scripts;
mod subject;

pub use subject::{Cache, Subject, store};
