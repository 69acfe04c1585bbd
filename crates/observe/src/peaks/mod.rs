//! The largest memory that each process used, reported when it ends.
//!
//!   events   which processes begin a program, from the kernel's connector (cn_proc)
//!   images   which program each living process runs: its file, its arguments, its parent
//!   ended    what the kernel's records of ends (taskstats) and the images say together
//!   polled   without these: the own user's processes, looked at every so often
//!   groups   the largest memory of control groups
//!   line     what is reported
//!
//! The peak belongs to a program's memory: exec begins another one, and what the program before it used is not reported. A
//! process that was forked and executes nothing begins with its parent's pages.

mod ended;
mod events;
mod groups;
mod images;
mod line;
mod polled;

pub use ended::Ends;
pub use groups::Groups;
pub use line::{Begin, End, File, Finish, Gap, Group, Line};
pub use polled::Polled;
