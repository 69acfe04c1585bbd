//! Tests of elevators: laws that hold for all of them over random scripts, and a request queue with a drive for tests of one.

pub mod drive;
pub mod laws;
pub mod streams;
mod subject;

pub use subject::Subject;
