//! Recordings of kernels, made by any tool, as one stream of events in order of time.
//!
//!   event        what every reader gives: 32-byte records, and names apart from them
//!   open         which format a recording has
//!   perf         perf.data, from files and pipes
//!   dat          trace.dat of trace-cmd
//!   raw          raw buffers, copied from tracefs
//!   script       text of perf script and trace-cmd report
//!   tracefs      text of the kernel: trace and trace_pipe
//!   perfetto     Perfetto traces with events of ftrace
//!   own          recordings of our own, of the simulator, the host and guests
//!   blktrace     binary traces of drives; `blkparse` is their text
//!   state        the state of the host when a recording of our own began
//!
//! What binary recordings are read with:
//!
//!   description  layouts of records, from the kernel's own description of them
//!   tracepoints  which tracepoints are read, and which of their fields
//!   calls        what system calls are about
//!   decoder      the kernel's records of tracepoints into events
//!   comms        names of tasks, compared and numbered
//!   order        events of several buffers in order of time
//!   copied       the descriptions as perf and trace-cmd copy them
//!   pages        pages of the kernel's ring buffer
//!   buffers      the ring buffers of all processors, merged
//!
//! and the others:
//!
//!   delivery     events in order of time, in bounded memory
//!   tasks        names of tasks of any length, and where they come from
//!   kinds        events counted by name
//!   lines        lines of bounded length
//!   text         what all texts with events have in common
//!   prefix       what stands before an event in a line
//!   printed      the printed fields of each event
//!   proto        protobuf's wire format
//!
//! A reader takes layouts of events from the description inside the file, never from constants: kernels differ. It needs memory
//! for what is out of order, not for the file, and what it cannot read it reports as lost.

mod blkparse;
mod blktrace;
mod buffers;
mod calls;
mod comms;
mod copied;
pub mod dat;
mod decoder;
mod delivery;
pub mod description;
mod event;
mod kinds;
mod lines;
mod open;
mod order;
mod own;
pub mod pages;
pub mod perf;
mod perfetto;
mod prefix;
mod printed;
mod proto;
pub mod raw;
mod script;
pub mod state;
mod tasks;
mod text;
mod tracefs;
mod tracepoints;

pub use calls::Call;
pub use event::{Context, Event, Head, Kind, Left, Listener, Loss, Pid, ReadError, Recorded};
pub use open::{read, read_stream};
/// [`Head::format`] of recordings of our own runs.
pub use own::FORMAT as OWN;
