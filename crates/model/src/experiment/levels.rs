//! Quantities of any kind as a search sees them: a number and its spelling, and the levels of a range between two of them.
//!
//! ```text
//! { low = "1ms", high = "100ms" }    1ms 1.2ms 1.5ms 1.8ms 2.2ms ... 100ms     twelve preferred numbers a decade (IEC 60063)
//! { low = "64KiB", high = "1MiB" }   64KiB 128KiB 256KiB 512KiB 1MiB          sizes: powers of two
//! { low = 0, high = 100 }            0 5 10 15 ... 100                         less than a decade, or from 0: even steps
//! { low = 2, high = 9 }              2 3 4 5 6 7 8 9                           few whole numbers: all of them
//! ```

use crate::units::{parse_duration, parse_rate, parse_size, spell_duration, spell_rate, spell_size};
use serde_json::Value;

/// The preferred numbers of the series E12, times ten.
const PREFERRED: [f64; 12] = [10.0, 12.0, 15.0, 18.0, 22.0, 27.0, 33.0, 39.0, 47.0, 56.0, 68.0, 82.0];
/// A range whose ends are this many times apart is stepped through by factors.
const BY_FACTORS: f64 = 10.0;
/// Most even steps of a range.
const EVEN: f64 = 20.0;

/// What a number counts, and so how it is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Duration,
    Size,
    Rate,
    Count,
}

impl Kind {
    /// The unit of its numbers, as in the table of metrics.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Kind::Duration => "ns",
            Kind::Size => "B",
            Kind::Rate => "1/s",
            Kind::Count => "1",
        }
    }

    /// The number as it is written in an experiment.
    pub(super) fn spell(self, number: f64) -> Value {
        match self {
            Kind::Duration => Value::from(spell_duration(number as u64)),
            Kind::Size => Value::from(spell_size(number as u64)),
            Kind::Rate => Value::from(spell_rate(number)),
            Kind::Count => Value::from(number as i64),
        }
    }
}

/// The number that a value denotes, if it is a quantity.
pub(super) fn quantity(value: &Value) -> Option<(Kind, f64)> {
    match value {
        Value::Number(_) => value.as_i64().map(|count| (Kind::Count, count as f64)),
        Value::String(text) => parse_duration(text)
            .map(|length| (Kind::Duration, length as f64))
            .or_else(|_| parse_size(text).map(|bytes| (Kind::Size, bytes as f64)))
            .or_else(|_| parse_rate(text).map(|rate| (Kind::Rate, rate)))
            .or_else(|why| text.parse::<i64>().map(|count| (Kind::Count, count as f64)).map_err(|_| why))
            .ok(),
        _ => None,
    }
}

/// Whether a range is stepped through by factors, so that its axis is logarithmic.
pub(super) fn is_logarithmic(low: f64, high: f64) -> bool {
    low > 0.0 && high >= BY_FACTORS * low
}

/// The levels of a range, both ends included, in order.
pub(super) fn levels(kind: Kind, low: f64, high: f64) -> Vec<f64> {
    let whole = kind != Kind::Rate;
    let mut between = match kind {
        Kind::Count if high - low <= EVEN => (low as i64..=high as i64).map(|count| count as f64).collect(),
        Kind::Size if low > 0.0 && high >= 4.0 * low => powers_of_two(high),
        _ if is_logarithmic(low, high) => preferred(low, high),
        _ => even(kind, low, high),
    };
    if whole {
        between.iter_mut().for_each(|level| *level = level.round());
    }
    between.retain(|&level| low < level && level < high);
    let mut all = vec![low];
    all.append(&mut between);
    all.push(high);
    all.dedup();
    all
}

fn powers_of_two(high: f64) -> Vec<f64> {
    std::iter::successors(Some(1.0), |power| Some(power * 2.0)).take_while(|&power| power < high).collect()
}

fn preferred(low: f64, high: f64) -> Vec<f64> {
    let decades = low.log10().floor() as i32 - 1..=high.log10().ceil() as i32 - 1;
    // A tenth is no binary fraction: below one it is divided, so that each number is the nearest to the decimal one.
    let times = |number: f64, decade: i32| {
        if decade < 0 { number / 10f64.powi(-decade) } else { number * 10f64.powi(decade) }
    };
    decades.flat_map(|decade| PREFERRED.map(|number| times(number, decade))).collect()
}

/// Multiples of a step of 1, 2 or 5 of a decimal place; of a power of two for sizes.
fn even(kind: Kind, low: f64, high: f64) -> Vec<f64> {
    let least = (high - low) / EVEN;
    let step = match kind {
        Kind::Size => least.log2().ceil().exp2().max(1.0),
        _ => {
            let place = 10f64.powf(least.log10().floor());
            let of_place = [1.0, 2.0, 5.0, 10.0].into_iter().find(|of| of * place >= least * (1.0 - 1e-9));
            of_place.unwrap_or(10.0) * place
        }
    };
    let first = (low / step).floor();
    let count = ((high - low) / step).ceil() as u64 + 1;
    (0..=count).map(|number| (first + number as f64) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spelled(low: Value, high: Value) -> Vec<String> {
        let ((kind, low), (_, high)) = (quantity(&low).unwrap(), quantity(&high).unwrap());
        levels(kind, low, high).into_iter().map(|level| kind.spell(level).to_string().replace('"', "")).collect()
    }

    #[test]
    fn ranges_have_the_levels_that_a_person_would_try() {
        let decade = ["1ms", "1200us", "1500us", "1800us", "2200us", "2700us", "3300us", "3900us"];
        assert_eq!(spelled(json!("1ms"), json!("10ms"))[..8], decade);
        assert_eq!(spelled(json!("1ms"), json!("100ms")).len(), 25);
        assert_eq!(spelled(json!("64KiB"), json!("1MiB")), ["64KiB", "128KiB", "256KiB", "512KiB", "1MiB"]);
        assert_eq!(spelled(json!(-2), json!(1)), ["-2", "-1", "0", "1"]);
        assert_eq!(spelled(json!(-20), json!(19))[..3], ["-20", "-18", "-16"]);
        assert_eq!(spelled(json!(2), json!(9)), ["2", "3", "4", "5", "6", "7", "8", "9"]);
        assert_eq!(spelled(json!(0), json!(100))[..4], ["0", "5", "10", "15"]);
        assert_eq!(spelled(json!("10ms"), json!("30ms"))[..3], ["10ms", "11ms", "12ms"]);
        assert_eq!(spelled(json!("0.5/s"), json!("9/s"))[..4], ["0.5/s", "0.56/s", "0.68/s", "0.82/s"]);
    }

    #[test]
    fn levels_rise_and_keep_both_ends() {
        let ranges =
            [("0ns", "1ns"), ("7ns", "8ns"), ("1ns", "1000h"), ("3B", "5B"), ("0B", "1GiB"), ("0.001/s", "9/s")];
        for (low, high) in ranges {
            let ((kind, from), (_, to)) = (quantity(&json!(low)).unwrap(), quantity(&json!(high)).unwrap());
            let found = levels(kind, from, to);
            assert!(found.is_sorted_by(|one, next| one < next), "{low} to {high}: {found:?}");
            assert_eq!((found[0], found[found.len() - 1]), (from, to), "{low} to {high}");
            assert!(found.len() <= 250, "{low} to {high}: {}", found.len());
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for value in [json!("tail"), json!(true), json!(0.5), json!([1]), json!("")] {
            assert_eq!(quantity(&value), None, "{value}");
        }
    }
}
