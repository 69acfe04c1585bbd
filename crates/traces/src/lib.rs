//! Events on file and on paper: our own recordings, traces for other tools' viewers, drawn schedules, and requests to caches.
//!
//! - [`recording`]: a streamed binary file of events, and its reader
//! - [`perfetto`]: a trace for ui.perfetto.dev, in its protobuf format
//! - [`chrome`]: the same as JSON, which chrome://tracing shows too
//! - [`gantt`]: the first moments of a run as text or SVG
//! - [`turns`]: the running tasks over time
//! - [`kernel`]: recordings of kernels by any tool (perf, trace-cmd, ftrace, Perfetto), as one stream of events
//! - [`requests`]: plain traces of requests to a cache, made by other tools
//!
//! [`WriteBehind`] around a file keeps a run from waiting for it.

mod blocks;
pub mod chrome;
pub mod gantt;
pub mod kernel;
pub mod perfetto;
pub mod recording;
pub mod requests;
pub mod turns;
mod write_behind;

pub use schedlab_model::names::Names;
pub use write_behind::WriteBehind;
