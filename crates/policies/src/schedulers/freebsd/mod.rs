//! Policies of FreeBSD alone.

mod ule;

pub use ule::Ule;
