//! Placeholder.
/// Checks.
pub struct Audit;
