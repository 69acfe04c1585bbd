//! Attention levels: which program gets how much of a machine, by which windows had the focus of late and what each program uses.
//! A pure rule, without a clock: the daemon asks it on a host, and anything else that has a history of focus and loads may.
//!
//! ```text
//! layout    a file: levels with what they mean to the kernel, and which programs belong where
//! pattern   what a program's name, command line or group is compared with
//! rank      recent attention: time in focus, of which half is forgotten in each half-life
//! overload  demand of a level, which programs go down, and when they come back
//! rule      the three together: focus and loads in, a level for each program out
//! attending the same in an experiment: its jobs are the programs, and the file says when each has the focus
//! attended  that rule at work on the tasks of such a run
//! ```

mod attended;
mod attending;
mod check;
mod layout;
mod overload;
mod pattern;
mod rank;
mod rule;

pub use attended::{Attended, Found, Treatment};
pub use attending::{Attending, FocusChange};
pub use check::Problem;
pub(crate) use check::check;
pub use layout::{ByAttention, IoClass, Layout, Level, Overload, Policy, Rule, schema};
pub use overload::Program;
pub use pattern::Pattern;
pub use rule::{Attention, Home, Placement, Standing};
