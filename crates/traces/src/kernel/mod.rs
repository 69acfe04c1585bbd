//! Recordings of kernels, made by any tool, as one stream of events in order of time.
//!
//!   event     what every reader gives: 32-byte records, and names apart from them
//!   open      which format a file has
//!   script, tracefs   text of perf, trace-cmd and the kernel; `text`, `prefix` and `printed` are what they share
//!   delivery  order of time in bounded memory, `tasks` names as numbers, `kinds` counts by name, `lines` bounded lines
//!
//! A reader takes layouts of events from the description inside the file, never from constants: kernels differ. It needs memory
//! for what is out of order, not for the file, and what it cannot read it reports as lost.

mod delivery;
mod event;
mod kinds;
mod lines;
mod open;
mod prefix;
mod printed;
mod script;
mod tasks;
mod text;
mod tracefs;

pub use event::{Context, Event, Head, Kind, Left, Listener, Loss, Pid, ReadError, Recorded};
pub use open::{read, read_stream};
