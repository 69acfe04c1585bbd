//! A recording of a kernel as a workload that can be run again under other settings.
//!
//!   history   what each task did: computing, waits, and what ended each wait
//!   causes    what ended a wait: another task, a timer, a device, something outside
//!   calls     which tasks answer others
//!   clocks    which tasks something else ended by the clock
//!   connections  which tasks answer each other over several connections
//!   edges     who woke whom
//!   inboxes   which tasks take what others send as it comes
//!   halting   whether processors are virtual ones that halt
//!   looking   what looking for work costs a processor that becomes idle
//!   pairing   whether tasks wait for pipes or for locks
//!   timers    whether a task's timers are absolute or relative
//!   treatment nice, policy and processors of each task, as far as the recording shows them
//!   placing   how tasks are treated in an experiment
//!   groups    names of control groups, and what they limit
//!   yields    which tasks give their processors to others by themselves
//!   work      histories as streams of acts (`model::replay`)
//!   tick      the length of the kernel's clock tick, from when it preempted
//!   document  work as an experiment
//!   ends      which task's end ended the recording
//!   file      work as a file
//!   events    a simulated run as the events of a recorded one
//!
//! docs/what-if.md states the model, and what it cannot know.

mod calls;
mod causes;
mod clocks;
mod connections;
mod document;
mod edges;
mod ends;
mod events;
pub mod file;
mod groups;
mod halting;
mod history;
mod inboxes;
mod looking;
mod pairing;
mod placing;
mod restarting;
mod tick;
mod timers;
mod treatment;
mod work;
mod yields;

pub use calls::Server;
pub use causes::{Cause, Override};
pub use connections::Hub;
pub use document::{Host, document};
pub use ends::last;
pub use events::AsRecorded;
pub use history::{Barrier, History, Recording, Step, Task};
pub use placing::inherited;
pub use tick::tick;
pub use timers::Timers;
pub use treatment::{Policy, Treatment};
pub use work::{Causes, Wish, Work, work};
pub use yields::Yield;
