//! What tasks do: ready-made loads, and programs compiled from steps into instructions for an interpreter.

pub mod loads;
pub mod program;

pub use loads::{WORKLOADS, steps_of};
pub use program::{Instruction, Program, Programs};
