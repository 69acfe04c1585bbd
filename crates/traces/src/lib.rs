//! Events on file and on paper: our own recordings, traces for other tools' viewers, and drawn schedules.
//!
//! - [`recording`]: a streamed binary file of events, and its reader
//! - [`perfetto`]: a trace that ui.perfetto.dev and chrome://tracing show
//! - [`gantt`]: the first moments of a run as text or SVG

pub mod gantt;
mod names;
pub mod perfetto;
pub mod recording;

pub use names::Names;
