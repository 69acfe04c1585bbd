//! What a script can ask of the engine: functions that take and return JSON text and Arrow bytes. Each language's own crate
//! (`python`) only passes them on. An error is a message for the user.
//!
//! The kernels that record are compiled here, those that only measure in `runs`: two crates, so that two processors work.

pub mod batch;
pub mod caches;
mod draft;
pub mod explaining;
pub mod following;
pub mod recording;
pub mod replaying;
pub mod results;
pub mod sweep;
pub mod tables;
mod work;

pub use schedlab_catalogue::{VERSION, experiments};
use schedlab_catalogue::{from_json, json};

/// What a panic said.
pub fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason")
}
