//! What happened in a recording of a kernel, task by task and processor by processor.
//!
//! [`Explainer`] listens to a reader of `schedlab-traces` and keeps sums, distributions and the worst waits; [`Explainer::report`] says
//! what they come to. The definitions are in `moves`.
//!
//!   options        what is asked
//!   explainer      takes events
//!   moves          what a switch and a waking do to a task
//!   chains         where events are missing
//!   tasks, task    tasks by number; state and sums of one; slot: its place
//!   queues         processors with their runqueues, and wasted time
//!   processor      one of them
//!   history        what ran on them, as far back as waits need
//!   cause          why a wait ended
//!   wakers         who wakes whom
//!   worst          the longest waits, and what ran meanwhile
//!   timeline       every run, for a page that draws them; packed: as bytes
//!   distribution   durations
//!   blocks         sums by blocks of time
//!   groups         control groups of tasks
//!   report         all of it as data; rows: tasks and groups; places: processors, waits and wakers; refusals: what cannot be answered

mod blocks;
mod cause;
mod chains;
mod distribution;
mod drives;
mod explainer;
mod groups;
mod history;
mod moves;
mod options;
mod packed;
mod places;
mod processor;
mod queues;
mod refusals;
mod report;
mod rows;
mod slot;
mod task;
mod tasks;
mod timeline;
mod wakers;
mod worst;

pub use cause::Cause;
pub use drives::{Drive, Requests};
pub use explainer::Explainer;
pub use options::{By, Group, Options};
pub use places::{During, Lengths, Neighbour, OneProcessor, Pair, Waited};
pub use report::{Blocks, Lost, Of, Report};
pub use rows::{Block, Row, Spread};
pub use timeline::MOST_RUNS;
