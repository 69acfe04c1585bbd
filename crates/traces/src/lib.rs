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
//! A page has no files: there is only [`gantt`] and [`turns`] in it.
//!
//! [`WriteBehind`] around a file keeps a run from waiting for it.

#[cfg(not(target_family = "wasm"))]
mod blocks;
#[cfg(not(target_family = "wasm"))]
pub mod chrome;
pub mod gantt;
#[cfg(not(target_family = "wasm"))]
pub mod kernel;
#[cfg(not(target_family = "wasm"))]
pub mod perfetto;
#[cfg(not(target_family = "wasm"))]
pub mod recording;
#[cfg(not(target_family = "wasm"))]
pub mod requests;
pub mod turns;
#[cfg(not(target_family = "wasm"))]
mod write_behind;

pub use schedlab_model::names::Names;
#[cfg(not(target_family = "wasm"))]
pub use write_behind::WriteBehind;
