//! The end of a run: from the collector's sums to the report.

use crate::{collector::Collector, distribution::Distribution, report::Report, table};
use schedlab_model::Nanos;

impl Collector {
    /// Ends the run at `end` and sums up. Where a task is still on a processor, with no `Leave::Stopped` that says how
    /// it used the time since its switch-in, that time counts as user time.
    pub fn finish(&mut self, end: Nanos) -> Report {
        self.end_run(end);
        Report { rows: table::rows(self), warnings: self.warnings(), seeded: false }
    }

    /// When the run ended, ns. Known after [`Collector::finish`].
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// The wakeup latencies of each job, by its name.
    pub fn wakeup_latencies(&self) -> impl Iterator<Item = (&str, &Distribution)> {
        self.setup.jobs.iter().map(String::as_str).zip(self.jobs.iter().map(|job| job.wakeup_latency()))
    }
}
