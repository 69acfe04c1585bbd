//! Tests of schedulers: laws that hold for all of them, and what the tests of a single one are written with.
//!
//! [`test_scheduler!`](crate::test_scheduler) makes a test of each law. A test of what only one policy does runs a scenario with
//! [`run`] and looks at the [`Run`]: its metrics, its events, or figures of [`measure`], [`figures`], [`sleeper`], [`periodic`]
//! and [`batch`]. [`any_scenario`] draws random ones.

pub mod balancing;
pub mod batch;
mod contract;
pub mod figures;
mod groups;
pub mod laws;
pub mod measure;
pub mod pages;
pub mod periodic;
pub mod quotas;
mod random;
mod runs;
mod scenes;
mod shares;
pub mod sleeper;
mod subject;
pub mod treatment;
mod waits;

pub use random::{Programs, Written, any_choice, any_scenario, cases};
#[cfg(feature = "built-in")]
pub use runs::unobserved;
pub use runs::{Run, read, run, run_audited, run_under, scenario, try_read};
pub use subject::Subject;
