//! What a counter is called, its unit, what it means, and how it is got from two readings: the tables from which lines,
//! schema and the names in results come.

/// One number of a line, got from two readings of a section.
pub struct Column<T: 'static> {
    /// As sar, vmstat, iostat or dstat call it.
    pub name: &'static str,
    /// Of the number.
    pub unit: &'static str,
    /// For people.
    pub meaning: &'static str,
    /// The number, from the later and the earlier reading and the seconds between them; none where the kernel does not
    /// report it, or where a counter went back.
    pub of: fn(&T, &T, f64) -> Option<f64>,
}

/// An entry of a table.
pub(super) const fn column<T>(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: fn(&T, &T, f64) -> Option<f64>,
) -> Column<T> {
    Column { name, unit, meaning, of }
}

/// By how much a counter grew; none if it went back: it was set back or has wrapped, by an unknown amount.
pub(super) fn grown(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

/// By how much a counter grew a second.
pub(super) fn rate(now: Option<u64>, before: Option<u64>, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| grown(now, before)).flatten().map(|grown| grown as f64 / seconds)
}

/// A level: a number that holds at the moment of the later reading.
pub(super) fn level(now: Option<u64>) -> Option<f64> {
    now.map(|value| value as f64)
}

/// A share of something, percent; none of nothing.
pub(super) fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}
