//! The parsers of the kernel's files in `/proc`.

pub mod keyed;
pub mod stat;
pub mod task;
pub mod text;
