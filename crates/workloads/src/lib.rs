//! What tasks do: ready-made loads, programs compiled from steps into instructions for an interpreter, the roster of
//! tasks, and what tasks draw.

pub mod arrivals;
pub mod draws;
pub mod loads;
pub mod program;
pub mod roster;
pub mod stuck;

pub use loads::{WORKLOADS, steps_of};
pub use program::{Instruction, Program, Programs};
