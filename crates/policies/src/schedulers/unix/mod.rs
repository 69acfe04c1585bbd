//! Policies of Minix and of the BSDs whose priorities follow decayed processor usage.

mod bsd;
mod bsd4;
mod bsd4_4x;
mod bsd4_52;
mod decay_usage;
mod global_queue;
mod minix;

pub use bsd4::Bsd4;
pub use bsd4_4x::Bsd44x;
pub use bsd4_52::Bsd452;
pub use minix::Minix;
