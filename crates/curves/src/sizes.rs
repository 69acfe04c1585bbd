//! Sizes of a cache as people write them: "1000" objects, "64MiB", "1%" of the objects of a trace or of their bytes, lists with
//! commas, and ranges "0.1%..50%:16", whose steps are equal factors.

use schedlab_model::units;

/// The largest cache, bytes.
const MOST_BYTES: u64 = 1 << 60;
/// Maximum number of sizes in one request.
const MOST: usize = 1000;

/// A size of a cache for a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// As it was written.
    pub label: String,
    /// Objects or bytes, at least 1.
    pub capacity: u64,
}

/// What a cache has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of objects, whatever their sizes.
    Objects,
    /// A number of bytes.
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Written {
    Number(f64),
    Bytes(f64),
    Percent(f64),
}

/// Sizes that were read, and are to be applied to a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    written: Vec<(String, Written)>,
    /// In what they count.
    pub unit: Unit,
}

impl Sizes {
    /// Reads sizes. They count bytes if `bytes` says so or any is written in bytes, else objects. The error says what was
    /// found and what is allowed.
    pub fn read(text: &str, bytes: bool) -> Result<Sizes, String> {
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
        let of_kind = |kind: fn(&Written) -> bool| sizes.iter().find(|(_, written)| kind(written));
        let in_bytes = of_kind(|written| matches!(written, Written::Bytes(_)));
        let number = of_kind(|written| matches!(written, Written::Number(_)));
        let unit = match (in_bytes, number) {
            (Some((one, _)), Some((other, _))) if !bytes => {
                return Err(format!(
                    "{one:?} is a size in bytes and {other:?} a number of objects: write all in one of them"
                ));
            }
            (Some(_), _) => Unit::Bytes,
            _ if bytes => Unit::Bytes,
            _ => Unit::Objects,
        };
        Ok(Sizes { written: sizes, unit })
    }

    /// The sizes for a trace with a number of distinct objects, or of their bytes, in ascending order. Of several that
    /// resolve to the same size, the first.
    pub fn of(&self, all: u64) -> Vec<Size> {
        let capacity = |written: Written| match written {
            Written::Number(number) | Written::Bytes(number) => number.round() as u64,
            Written::Percent(percent) => (all as f64 * percent / 100.0).round() as u64,
        };
        let size =
            |(label, written): &(String, Written)| Size { label: label.clone(), capacity: capacity(*written).max(1) };
        let mut sizes: Vec<Size> = self.written.iter().map(size).collect();
        sizes.sort_by_key(|size| size.capacity);
        sizes.dedup_by_key(|size| size.capacity);
        sizes
    }
}

fn one(text: &str) -> Result<Written, String> {
    let wrong = || {
        format!(
            "{text:?} is not a size: write a number of objects (1000), bytes (64MiB), a share (1%), or a range (0.1%..50%:16)"
        )
    };
    if let Ok(bytes) = units::parse_size(text) {
        return match (1..=MOST_BYTES).contains(&bytes) {
            true => Ok(Written::Bytes(bytes as f64)),
            false => Err(format!("{text:?} is out of range: from 1B to {}", units::spell_size(MOST_BYTES))),
        };
    }
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if let Some(percent) = text.strip_suffix('%').map(str::trim_end) {
        let percent: f64 = percent.parse().ok().filter(|_| plain(percent)).ok_or_else(wrong)?;
        return match percent > 0.0 && percent <= 100.0 {
            true => Ok(Written::Percent(percent)),
            false => Err(format!("{text:?} is out of range: above 0%, up to 100%")),
        };
    }
    let number: u64 = text.parse().ok().filter(|_| plain(text)).ok_or_else(wrong)?;
    match (1..u64::from(u32::MAX)).contains(&number) {
        true => Ok(Written::Number(number as f64)),
        false => Err(format!("{text:?} is out of range: from 1 to {}", u32::MAX - 1)),
    }
}

/// A value of a range as it is written and as it is meant.
type Point = fn(f64) -> (String, Written);

/// "LOW..HIGH:POINTS", the steps being equal factors.
fn range(whole: &str, low: &str, rest: &str) -> Result<Vec<(String, Written)>, String> {
    let wrong = |what: String| format!("{whole:?} {what}: write a range like 0.1%..50%:16 or 100..10000:5");
    let (high, points) = rest.split_once(':').ok_or_else(|| wrong("has no number of points".to_owned()))?;
    let points: usize = points.trim().parse().map_err(|_| wrong(format!("has {points:?} points")))?;
    if !(2..=MOST).contains(&points) {
        return Err(wrong(format!("has {points} points, not 2 to {MOST}")));
    }
    let (low, high) = (one(low.trim())?, one(high.trim())?);
    let (from, to, point): (f64, f64, Point) = match (low, high) {
        (Written::Number(low), Written::Number(high)) => {
            (low, high, |value| (format!("{value:.0}"), Written::Number(value)))
        }
        (Written::Bytes(low), Written::Bytes(high)) => (low, high, |value| (spelled(value), Written::Bytes(value))),
        (Written::Percent(low), Written::Percent(high)) => {
            (low, high, |value| (format!("{}%", three_digits(value)), Written::Percent(value)))
        }
        _ => return Err(wrong("has different units at its ends".to_owned())),
    };
    if from >= to {
        return Err(wrong("does not go upwards".to_owned()));
    }
    let value = |place: usize| from * (to / from).powf(place as f64 / (points - 1) as f64);
    Ok((0..points).map(|place| point(value(place))).collect())
}

/// Bytes in the largest binary unit that they fill.
fn spelled(bytes: f64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes >= (1u64 << shift) as f64);
    unit.map_or_else(
        || format!("{bytes:.0}B"),
        |(shift, name)| format!("{}{name}", three_digits(bytes / (1u64 << shift) as f64)),
    )
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

    fn slots(text: &str, objects: u64) -> Vec<u64> {
        Sizes::read(text, false).unwrap().of(objects).into_iter().map(|size| size.capacity).collect()
    }

    #[test]
    fn numbers_shares_lists_and_ranges_are_read() {
        assert_eq!(slots("1000", 5), [1000]);
        assert_eq!(slots("10%, 3,1%", 1000), [3, 10, 100]);
        assert_eq!(slots("1..1000:4", 5), [1, 10, 100, 1000]);
        assert_eq!(slots("0.1%..100%:4", 100_000), [100, 1000, 10_000, 100_000]);
        let labels: Vec<String> =
            Sizes::read("0.1%..50%:3", false).unwrap().of(1 << 20).into_iter().map(|size| size.label).collect();
        assert_eq!(labels, ["0.1%", "2.24%", "50%"]);
    }

    #[test]
    fn sizes_in_bytes_are_bytes_and_all_are_if_that_is_said() {
        let read = |text, bytes| Sizes::read(text, bytes).unwrap();
        assert_eq!((read("64KiB,10%", false).unit, read("10%", false).unit), (Unit::Bytes, Unit::Objects));
        assert_eq!((read("1000,10%,1KiB", true).unit, slots("64KiB,10%", 1000)), (Unit::Bytes, vec![100, 65536]));
        let labels: Vec<String> = read("1KiB..1GiB:5", false).of(1).into_iter().map(|size| size.label).collect();
        assert_eq!(labels, ["1KiB", "32KiB", "1MiB", "32MiB", "1GiB"]);
    }

    #[test]
    fn a_cache_has_at_least_one_slot_and_equal_sizes_occur_once() {
        assert_eq!(slots("0.001%,1%,2%,3", 100), [1, 2, 3]);
    }

    #[test]
    fn what_is_no_size_is_refused_and_bytes_are_explained() {
        for (text, message) in [
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
            ("1..50%:3", "different units at its ends"),
            ("1..50MiB:3", "different units at its ends"),
            ("1,50MiB", "\"50MiB\" is a size in bytes and \"1\" a number of objects"),
            ("1073741825GiB", "out of range: from 1B to"),
            ("50%..1%:3", "does not go upwards"),
        ] {
            let error = Sizes::read(text, false).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        let many = ["1..9:1000"; 2].join(",");
        assert!(Sizes::read(&many, false).unwrap_err().contains("too many"));
    }

    proptest! {
        #[test]
        fn any_text_gives_sizes_or_an_error(text in "[0-9.%:,MiB -]{0,12}", bytes: bool, all in 1..u64::MAX) {
            if let Ok(sizes) = Sizes::read(&text, bytes) {
                let sizes = sizes.of(all);
                prop_assert!(sizes.is_sorted_by(|a, b| a.capacity < b.capacity) && sizes[0].capacity > 0);
            }
        }
    }
}
