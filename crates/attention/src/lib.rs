//! Attention levels on a live host. The rule itself is `schedlab_model::attention`; here is what it needs and does.
//!
//! ```text
//! focus/        who says which process has the focus: X11, i3 and sway, a file with a number, a socket for commands
//! processes     the processes there are, and which are new; a new one is read, the others are only counted
//! programs      which processes are a program: trees, cut where a rule of the layout or a window begins another program
//! load          processor time that a program has used
//! rights        which nice values may be set and taken back
//! treating      what a level means for each thread of a program: journal first, then the kernel
//! weights       the same of a program's control group
//! daemon        all of it in a loop that sleeps nearly always
//! socket        where commands come in and the state goes out
//! ```

pub mod daemon;
pub mod focus;
mod load;
mod pace;
mod processes;
mod programs;
mod rights;
pub mod socket;
mod status;
mod treating;
mod weights;

pub use daemon::{Daemon, Options};
pub use status::Status;
