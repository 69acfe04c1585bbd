//! Parameters that several elevators of Linux share: their names, bounds and where the live kernel has them.

use schedlab_model::{
    MILLISECOND, SECOND,
    info::{Domain, Parameter},
};

/// A length of time that may be none.
pub(in crate::elevators) const fn time(
    name: &'static str,
    meaning: &'static str,
    default: &'static str,
    host: Option<&'static str>,
) -> Parameter {
    let domain = Domain::Duration { low: 0, high: 1000 * SECOND };
    Parameter { name, meaning, domain, default: Some(default), logarithmic: true, grows: false, host }
}

/// A length of time after which something happens; `default` as a user would write it.
pub(in crate::elevators) const fn period(
    name: &'static str,
    meaning: &'static str,
    default: &'static str,
    host: Option<&'static str>,
) -> Parameter {
    let domain = Domain::Duration { low: MILLISECOND / 1000, high: 1000 * SECOND };
    Parameter { name, meaning, domain, default: Some(default), logarithmic: true, grows: false, host }
}

/// A whole number.
pub(in crate::elevators) const fn count(
    name: &'static str,
    meaning: &'static str,
    low: u64,
    default: &'static str,
    host: Option<&'static str>,
) -> Parameter {
    let domain = Domain::Count { low, high: 1_000_000 };
    Parameter { name, meaning, domain, default: Some(default), logarithmic: true, grows: false, host }
}

/// A switch.
pub(in crate::elevators) const fn switch(
    name: &'static str,
    meaning: &'static str,
    default: &'static str,
    host: Option<&'static str>,
) -> Parameter {
    Parameter { name, meaning, domain: Domain::Switch, default: Some(default), logarithmic: false, grows: false, host }
}

/// What deadline and mq_deadline have in common.
pub(in crate::elevators) const READ_EXPIRE: Parameter =
    period("read_expire", "after this long in the queue a read is urgent", "500ms", Some("read_expire"));
/// As above.
pub(in crate::elevators) const WRITE_EXPIRE: Parameter =
    period("write_expire", "after this long in the queue a write is urgent", "5s", Some("write_expire"));
/// As above.
pub(in crate::elevators) const WRITES_STARVED: Parameter =
    count("writes_starved", "batches of reads before a batch of writes", 0, "2", Some("writes_starved"));
/// As above.
pub(in crate::elevators) const FIFO_BATCH: Parameter =
    count("fifo_batch", "requests of a batch, at most", 1, "16", Some("fifo_batch"));
/// As above.
pub(in crate::elevators) const FRONT_MERGES: Parameter = switch(
    "front_merges",
    "whether requests are joined that touch a queued one at its front",
    "true",
    Some("front_merges"),
);
