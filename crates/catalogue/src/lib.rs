//! What an experiment can name, and experiment files read against it: JSON text in and out. The bridges to Python and to pages
//! share it. It opens no file and asks no system: the computer in front of the user is brought in by the bridge that knows it.

pub mod arrangement;
pub mod experiments;
pub mod tables;

/// Version of the package and digest of the sources: equal versions give equal results.
pub const VERSION: &str = env!("SCHEDLAB_ENGINE");

/// A value as JSON text.
///
/// # Errors
/// If it cannot be written, which is a fault of ours.
pub fn json<T: serde::Serialize>(value: &T) -> Result<String, String> {
    serde_json::to_string(value).map_err(|why| why.to_string())
}

/// A value from JSON text; `what` is what messages call it.
///
/// # Errors
/// What is wrong with the text.
pub fn from_json<'a, T: serde::Deserialize<'a>>(what: &str, text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|why| format!("{what}: {why}"))
}
