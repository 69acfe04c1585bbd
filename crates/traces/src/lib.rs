//! Events on file and on paper: our own recordings, traces for other tools' viewers, and drawn schedules.
//!
//! - [`recording`]: a streamed binary file of events, and its reader
//! - [`perfetto`]: a trace that ui.perfetto.dev and chrome://tracing show
//! - [`gantt`]: the first moments of a run as text or SVG
//!
//! [`WriteBehind`] around a file keeps a run from waiting for it.

pub mod gantt;
mod names;
pub mod perfetto;
pub mod recording;
mod write_behind;

pub use names::Names;
pub use write_behind::WriteBehind;
