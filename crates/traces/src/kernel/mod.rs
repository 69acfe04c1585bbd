//! Recordings of kernels, made by any tool, as one stream of events in order of time.
//!
//!   event     what every reader gives: 32-byte records, and names apart from them
//!   state     the state of the host when a recording of our own began
//!
//! A reader takes layouts of events from the description inside the file, never from constants: kernels differ. It needs memory
//! for what is out of order, not for the file, and what it cannot read it reports as lost.

mod event;
pub mod state;

pub use event::{Context, Event, Head, Kind, Left, Listener, Loss, Pid, ReadError, Recorded};
