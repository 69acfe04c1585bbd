//! The value of a metric, as an outcome reports it.

use serde::{Deserialize, Serialize};

/// One value of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Name of the metric, as users write it.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Finite.
    pub value: f64,
}
