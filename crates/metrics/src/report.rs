//! What a run comes to: rows and warnings.

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// As people ask for it: "elapsed", "wakeup_latency.p99", "tasks.io.real".
    pub metric: String,
    /// Its unit: "s", "1" for a count or a ratio, "%", "B", "1/s".
    pub unit: &'static str,
    /// The number, finite.
    pub value: f64,
}

/// Something that makes numbers worth less than they look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The metric concerned, or all.
    pub metric: Option<String>,
    /// What was seen.
    pub seen: String,
    /// Why it may mislead.
    pub why: String,
    /// What to do.
    pub advice: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}: {}", self.seen, self.why, self.advice)
    }
}

/// The numbers of a run. A metric that has no value in this run (a mean of nothing) has no row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// In the order of the table, first of the system, then job by job.
    pub rows: Vec<Row>,
    /// In no order of weight.
    pub warnings: Vec<Warning>,
    /// Of a simulated run, whether a random number was drawn. If none was, it is the same under every seed.
    pub seeded: bool,
}

impl Report {
    /// The value of a metric, in the unit of the table.
    pub fn get(&self, metric: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.metric == metric).map(|row| row.value)
    }
}
