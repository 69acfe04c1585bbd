//! What a script can ask of the engine: functions that take and return JSON text and Arrow bytes. Each language's own crate
//! (`python`) only passes them on. An error is a message for the user.
//!
//! The kernels that record are compiled here, those that only measure in `runs`: two crates, so that two processors work.

mod arrangement;
pub mod batch;
pub mod caches;
mod draft;
pub mod experiments;
pub mod explaining;
pub mod following;
pub mod recording;
pub mod replaying;
pub mod results;
pub mod sweep;
pub mod tables;
mod work;

/// Version of the package and digest of the sources: equal versions give equal results.
pub const VERSION: &str = env!("SCHEDLAB_ENGINE");

fn json<T: serde::Serialize>(value: &T) -> Result<String, String> {
    serde_json::to_string(value).map_err(|why| why.to_string())
}

fn from_json<'a, T: serde::Deserialize<'a>>(what: &str, text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|why| format!("{what}: {why}"))
}

/// What a panic said.
pub fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason")
}
