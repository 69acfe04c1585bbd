//! Policies that live outside of schedlab. Each implements a trait of `schedlab-policies`; `tests/conformance.rs` holds them to
//! the tests of schedlab's own, and `src/main.rs` compares the scheduler with one of schedlab.

pub mod random_two;
pub mod smallest_first;
pub mod stack;
