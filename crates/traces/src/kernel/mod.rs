//! Recordings of kernels, made by any tool, as one stream of events in order of time.
//!
//!   event        what every reader gives: 32-byte records, and names apart from them
//!   perf         perf.data, from files and pipes
//!   dat          trace.dat of trace-cmd
//!   raw          raw buffers, copied from tracefs
//!   state        the state of the host when a recording of our own began
//!
//! and what binary recordings are read with:
//!
//!   description  layouts of records, from the kernel's own description of them
//!   tracepoints  which tracepoints are read, and which of their fields
//!   decoder      the kernel's records of tracepoints into events
//!   comms        names of tasks, compared and numbered
//!   order        events of several buffers in order of time
//!   copied       the descriptions as perf and trace-cmd copy them
//!   pages        pages of the kernel's ring buffer
//!   buffers      the ring buffers of all processors, merged
//!
//! A reader takes layouts of events from the description inside the file, never from constants: kernels differ. It needs memory
//! for what is out of order, not for the file, and what it cannot read it reports as lost.

mod buffers;
mod comms;
mod copied;
pub mod dat;
mod decoder;
pub mod description;
mod event;
mod order;
pub mod pages;
pub mod perf;
pub mod raw;
pub mod state;
mod tracepoints;

pub use event::{Context, Event, Head, Kind, Left, Listener, Loss, Pid, ReadError, Recorded};
