//! Events on file and on paper: our own recordings, traces for other tools' viewers, drawn schedules, and requests to caches.
//!
//! - [`recording`]: a streamed binary file of events, and its reader
//! - [`perfetto`]: a trace that ui.perfetto.dev and chrome://tracing show
//! - [`gantt`]: the first moments of a run as text or SVG
//! - [`turns`]: who had a processor, when
//! - [`requests`]: plain traces of requests to a cache, made by other tools
//!
//! [`Behind`] around a listener keeps a run from waiting for it.

mod behind;
pub mod gantt;
mod names;
pub mod perfetto;
pub mod recording;
pub mod requests;
pub mod turns;

pub use behind::Behind;
pub use names::Names;
