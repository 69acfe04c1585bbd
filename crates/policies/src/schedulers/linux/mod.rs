//! Policies of Linux, and of patches for it.

mod cfs;
mod cfs_v3;
mod domain;
mod eevdf;
mod linux_1_0;
mod muqss;
mod o1;
mod rsdl;
mod shared;

pub use cfs::Cfs;
pub use cfs_v3::CfsV3;
pub use eevdf::Eevdf;
pub use linux_1_0::Linux10;
pub use muqss::Muqss;
pub use o1::O1;
pub use rsdl::Rsdl;
pub use shared::named::{NamedDomain, named_domains};
