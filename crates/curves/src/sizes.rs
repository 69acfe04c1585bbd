//! Sizes of a cache as people write them: "1000" things, "1%" of the different things of a trace, lists with commas, and ranges
//! "0.1%..50%:16", whose steps are equal factors.

use schedlab_model::units;

/// Most sizes that are asked for at once.
const MOST: usize = 1000;

/// A size of a cache for a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// As it was written.
    pub label: String,
    /// Slots, at least 1.
    pub slots: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Written {
    Things(f64),
    Percent(f64),
}

/// Sizes that were read, and are to be applied to a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes(Vec<(String, Written)>);

impl Sizes {
    /// Reads sizes. The error says what was found and what is allowed.
    pub fn read(text: &str) -> Result<Sizes, String> {
        let mut sizes = Vec::new();
        for part in text.split(',').map(str::trim) {
            match part.split_once("..") {
                None => sizes.push((part.to_owned(), one(part)?)),
                Some((low, rest)) => sizes.extend(range(part, low, rest)?),
            }
            if sizes.len() > MOST {
                return Err(format!("{} sizes are too many: up to {MOST}", sizes.len()));
            }
        }
        Ok(Sizes(sizes))
    }

    /// The sizes for a trace of so many different things, from small to large. Of several that come to as many slots, the first.
    pub fn of(&self, objects: u32) -> Vec<Size> {
        let slots = |written: Written| match written {
            Written::Things(things) => things.round() as u32,
            Written::Percent(percent) => (f64::from(objects) * percent / 100.0).round() as u32,
        };
        let mut sizes: Vec<Size> = self
            .0
            .iter()
            .map(|(label, written)| Size { label: label.clone(), slots: slots(*written).max(1) })
            .collect();
        sizes.sort_by_key(|size| size.slots);
        sizes.dedup_by_key(|size| size.slots);
        sizes
    }
}

fn one(text: &str) -> Result<Written, String> {
    let wrong = || {
        format!(
            "{text:?} is not a size: write a number of things (1000), a share of the different ones (1%), or a range (0.1%..50%:16)"
        )
    };
    if units::parse_size(text).is_ok() {
        return Err(format!(
            "{text:?} is a size in bytes; sizes count things here (1000, 1%): how large a thing is is not looked at"
        ));
    }
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if let Some(percent) = text.strip_suffix('%').map(str::trim_end) {
        let percent: f64 = percent.parse().ok().filter(|_| plain(percent)).ok_or_else(wrong)?;
        return match percent > 0.0 && percent <= 100.0 {
            true => Ok(Written::Percent(percent)),
            false => Err(format!("{text:?} is out of range: above 0%, up to 100%")),
        };
    }
    let things: u64 = text.parse().ok().filter(|_| plain(text)).ok_or_else(wrong)?;
    match (1..u64::from(u32::MAX)).contains(&things) {
        true => Ok(Written::Things(things as f64)),
        false => Err(format!("{text:?} is out of range: from 1 to {}", u32::MAX - 1)),
    }
}

/// "LOW..HIGH:POINTS", the steps being equal factors.
fn range(whole: &str, low: &str, rest: &str) -> Result<Vec<(String, Written)>, String> {
    let wrong = |what: String| format!("{whole:?} {what}: write a range like 0.1%..50%:16 or 100..10000:5");
    let (high, points) = rest.split_once(':').ok_or_else(|| wrong("has no number of points".to_owned()))?;
    let points: usize = points.trim().parse().map_err(|_| wrong(format!("has {points:?} points")))?;
    if !(2..=MOST).contains(&points) {
        return Err(wrong(format!("has {points} points, not 2 to {MOST}")));
    }
    let (low, high) = (one(low.trim())?, one(high.trim())?);
    let (from, to, shares) = match (low, high) {
        (Written::Things(low), Written::Things(high)) => (low, high, false),
        (Written::Percent(low), Written::Percent(high)) => (low, high, true),
        _ => return Err(wrong("has a number at one end and a share at the other".to_owned())),
    };
    if from >= to {
        return Err(wrong("does not go upwards".to_owned()));
    }
    let point = |place: usize| {
        let value = from * (to / from).powf(place as f64 / (points - 1) as f64);
        match shares {
            true => (format!("{}%", three_digits(value)), Written::Percent(value)),
            false => (format!("{value:.0}"), Written::Things(value)),
        }
    };
    Ok((0..points).map(point).collect())
}

/// Three significant digits, without zeros at the end.
fn three_digits(value: f64) -> String {
    let places = (2 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slots(text: &str, objects: u32) -> Vec<u32> {
        Sizes::read(text).unwrap().of(objects).into_iter().map(|size| size.slots).collect()
    }

    #[test]
    fn numbers_shares_lists_and_ranges_are_read() {
        assert_eq!(slots("1000", 5), [1000]);
        assert_eq!(slots("10%, 3,1%", 1000), [3, 10, 100]);
        assert_eq!(slots("1..1000:4", 5), [1, 10, 100, 1000]);
        assert_eq!(slots("0.1%..100%:4", 100_000), [100, 1000, 10_000, 100_000]);
        let labels: Vec<String> =
            Sizes::read("0.1%..50%:3").unwrap().of(1 << 20).into_iter().map(|size| size.label).collect();
        assert_eq!(labels, ["0.1%", "2.24%", "50%"]);
    }

    #[test]
    fn a_cache_has_at_least_one_slot_and_equal_sizes_stand_once() {
        assert_eq!(slots("0.001%,1%,2%,3", 100), [1, 2, 3]);
    }

    #[test]
    fn what_is_no_size_is_refused_and_bytes_are_explained() {
        for (text, message) in [
            ("64MiB", "sizes count things here"),
            ("", "is not a size"),
            ("1e3", "is not a size"),
            ("-1", "is not a size"),
            ("inf%", "is not a size"),
            ("0", "out of range: from 1"),
            ("4294967295", "out of range: from 1"),
            ("0%", "out of range: above 0%"),
            ("101%", "out of range: above 0%"),
            ("1%..50%", "has no number of points"),
            ("1%..50%:1", "has 1 points"),
            ("1%..50%:x", "has \"x\" points"),
            ("1..50%:3", "a number at one end"),
            ("50%..1%:3", "does not go upwards"),
        ] {
            let error = Sizes::read(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        let many = ["1..9:1000"; 2].join(",");
        assert!(Sizes::read(&many).unwrap_err().contains("too many"));
    }

    proptest! {
        #[test]
        fn any_text_gives_sizes_or_an_error(text in "[0-9.%:,MiB -]{0,12}", objects in 1..u32::MAX) {
            if let Ok(sizes) = Sizes::read(&text) {
                let sizes = sizes.of(objects);
                prop_assert!(sizes.is_sorted_by(|a, b| a.slots < b.slots) && sizes[0].slots > 0);
            }
        }
    }
}
