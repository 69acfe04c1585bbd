//! The counters of sar, vmstat, iostat and dstat, from the files of the kernel.
//!
//! A [`Sampler`] opens every file once and reads it again with each sample into buffers that stay: nothing is allocated
//! while it samples, and a sample of all system counters costs a fraction of a millisecond of processor time (each
//! line has its cost, as `own_ns`; `make bench-host` compares it with other tools). Two samples give [`Rates`], over the
//! real time between them, and these a line of JSON or single numbers by name.
//!
//! What a kernel does not report is none, never 0; so is a counter that went back, and everything of a processor or a
//! drive that was offline. An invalid file gives none too: no content makes the sampler fail.

mod column;
mod disks;
mod groups;
mod header;
mod interrupts;
mod line;
mod memory;
mod network;
mod nice;
mod open_file;
pub mod pace;
mod pressure;
mod processors;
mod rates;
mod sampler;
mod tasks;
mod tcp;

pub use column::Column;
pub use header::{Header, schema};
pub use line::Line;
pub use open_file::Missing;
pub use rates::Rates;
pub use sampler::{Sample, Sampler, Wanted};
pub use schedlab_linux::proc::text::Name;
pub use tasks::{By, Chosen};
