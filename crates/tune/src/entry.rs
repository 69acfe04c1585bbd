//! What an entry of the table of tunables says: the name people type, what it means, where a kernel keeps it and how the
//! value is written there.

use schedlab_model::{
    info::{Domain, Value},
    units::{spell_duration, spell_size},
};
use serde::Serialize;

/// What a tunable governs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Ordinary tasks.
    Scheduler,
    /// Real-time tasks.
    RealTime,
    /// Pages and reclaim.
    Memory,
    /// Changed pages on their way to the disk.
    WriteBack,
    /// The queue of a block device.
    Queue,
    /// The elevator of a block device.
    Elevator,
    /// A group of tasks.
    Group,
    /// What the kernel counts.
    Accounting,
}

/// Where a kernel keeps a tunable. An entry has several if kernels differ; the first one present is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Below `/proc/sys`.
    Sysctl(&'static str),
    /// An absolute path in sysfs.
    Sysfs(&'static str),
    /// Below `/sys/kernel/debug`, which has to be mounted.
    Debug(&'static str),
    /// Below `/sys/block/DEVICE/queue`.
    Queue(&'static str),
    /// The queue's own depth, which can only be written while it has no elevator.
    Depth,
    /// Below `/sys/block/DEVICE/queue/iosched`, where one of these elevators is at work.
    Iosched(&'static [&'static str], &'static str),
    /// A file of a version 1 group: controller, file.
    Group1(&'static str, &'static str),
    /// A file of a version 2 group.
    Group2(&'static str),
    /// An attribute of each task, no file: `sched_setattr`.
    Task,
}

/// How a value is written in the kernel's file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Encoding {
    /// A whole number of units; the unit in nanoseconds.
    Time(u64),
    /// A whole number of units; the unit in bytes.
    Bytes(u64),
    /// The number itself.
    Number,
    /// 1 or 0.
    Switch,
    /// Names of numbers: (name, number).
    Named(&'static [(&'static str, &'static str)]),
    /// One of the words that the file offers; it reads with the present one in brackets.
    Chosen,
    /// One flag of a file of many: `NAME` or `NO_NAME`.
    Flag(&'static str),
}

/// An entry of the table.
#[derive(Debug, Clone, Copy)]
pub struct Tunable {
    /// The string a user types; of a device or group, followed by `@` and its name.
    pub name: &'static str,
    /// What it governs.
    pub family: Family,
    /// One line: what it does.
    pub meaning: &'static str,
    /// Allowed values, as this kernel generation allows them.
    pub domain: Domain,
    /// How they are written in the file.
    pub encoding: Encoding,
    /// Words for special values: (word, text in the file).
    pub words: &'static [(&'static str, &'static str)],
    /// Where it is.
    pub places: &'static [Place],
    /// First and last kernel that has it, if known: "6.6", "".
    pub kernels: (&'static str, &'static str),
    /// The same knob under a later, or an earlier, name; taken if this one is missing.
    pub also: Option<&'static str>,
    /// Why it is gone, for kernels that lost it.
    pub gone: Option<&'static str>,
    /// Another knob that reads 0 while this one is in force, and the other way round.
    pub zeroes: Option<&'static str>,
    /// What else depends on it.
    pub coupled: Option<&'static str>,
}

impl Tunable {
    /// An entry with nothing special about it.
    pub(crate) const fn new(
        name: &'static str,
        family: Family,
        domain: Domain,
        encoding: Encoding,
        places: &'static [Place],
        meaning: &'static str,
    ) -> Tunable {
        Tunable {
            name,
            family,
            meaning,
            domain,
            encoding,
            words: &[],
            places,
            kernels: ("", ""),
            also: None,
            gone: None,
            zeroes: None,
            coupled: None,
        }
    }

    /// Whether its name is followed by a device.
    pub fn of_device(&self) -> bool {
        self.places.iter().any(|p| matches!(p, Place::Queue(_) | Place::Depth | Place::Iosched(..)))
    }

    /// Whether its name is followed by a group.
    pub fn of_group(&self) -> bool {
        self.places.iter().any(|p| matches!(p, Place::Group1(..) | Place::Group2(_)))
    }

    /// What is written into the file for a value as users write it. The error says what is allowed.
    pub fn encode(&self, text: &str) -> Result<String, String> {
        if let Some((_, written)) = self.words.iter().find(|(word, _)| *word == text) {
            return Ok((*written).to_owned());
        }
        if self.encoding == Encoding::Chosen {
            return one_word(text);
        }
        let value = self.domain.read(text).map_err(|why| self.with_words(why))?;
        match (self.encoding, value) {
            (Encoding::Time(unit), Value::Whole(ns)) => whole_units(ns, unit, text, &spell_duration(unit)),
            (Encoding::Bytes(unit), Value::Whole(bytes)) => whole_units(bytes, unit, text, &spell_size(unit)),
            (Encoding::Switch, Value::Switch(on)) => Ok(u8::from(on).to_string()),
            (Encoding::Flag(flag), Value::Switch(on)) => Ok(if on { flag.to_owned() } else { format!("NO_{flag}") }),
            (Encoding::Named(names), Value::Name(name)) => {
                let number = names.iter().find(|n| n.0 == name).map(|n| n.1.to_owned());
                number.ok_or_else(|| format!("{text:?} has no number"))
            }
            (_, Value::Whole(number)) => Ok(number.to_string()),
            (_, other) => Err(format!("{text:?} was read as {other:?}, which {} cannot hold", self.name)),
        }
    }

    /// A value as users write it, from what the file holds; the file's own words where they mean nothing to us.
    pub fn decode(&self, held: &str) -> String {
        if let Some((word, _)) = self.words.iter().find(|(_, written)| *written == held) {
            return (*word).to_owned();
        }
        match self.encoding {
            Encoding::Time(unit) => spelled(held, unit, spell_duration),
            Encoding::Bytes(unit) => spelled(held, unit, spell_size),
            Encoding::Switch => match held {
                "0" => "false".to_owned(),
                "1" => "true".to_owned(),
                other => other.to_owned(),
            },
            Encoding::Named(names) => names.iter().find(|n| n.1 == held).map_or(held, |n| n.0).to_owned(),
            Encoding::Flag(flag) => (held == flag).to_string(),
            Encoding::Number | Encoding::Chosen => held.to_owned(),
        }
    }

    /// The allowed values in words.
    pub fn allowed(&self) -> String {
        let range = match self.domain {
            Domain::Duration { low, high } => format!("{} to {}", spell_duration(low), spell_duration(high)),
            Domain::Size { low, high } => format!("{} to {}", spell_size(low), spell_size(high)),
            Domain::Count { low, high } => format!("{low} to {high}"),
            Domain::Rate { low, high } => format!("{low}/s to {high}/s"),
            Domain::Choice { names } => names.join(", "),
            Domain::Text => "any text".to_owned(),
            Domain::Switch => "true, false".to_owned(),
        };
        self.with_words(range)
    }

    fn with_words(&self, text: String) -> String {
        self.words.iter().fold(text, |text, (word, _)| format!("{text}, or {word}"))
    }
}

/// A word that a file of words can contain.
fn one_word(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_+".contains(c));
    if fits { Ok(text.to_owned()) } else { Err(format!("{text:?} is not a name")) }
}

fn whole_units(value: u64, unit: u64, text: &str, one: &str) -> Result<String, String> {
    if !value.is_multiple_of(unit) {
        return Err(format!("{text:?} is not a whole number of {one}, in which the kernel counts it"));
    }
    Ok((value / unit).to_string())
}

fn spelled(held: &str, unit: u64, spell: fn(u64) -> String) -> String {
    let value = held.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).and_then(|n| n.checked_mul(unit));
    value.map_or_else(|| held.to_owned(), spell)
}

#[cfg(test)]
mod tests {
    use crate::table;

    fn encoded(name: &str, text: &str) -> Result<String, String> {
        table::named(name).unwrap().encode(text)
    }

    #[test]
    fn values_are_written_in_the_unit_of_the_file() {
        assert_eq!(encoded("rr_slice", "36ms"), Ok("36".to_owned()));
        assert_eq!(encoded("dirty_expire", "30s"), Ok("3000".to_owned()));
        assert_eq!(encoded("read_ahead", "128KiB"), Ok("128".to_owned()));
        assert_eq!(encoded("rt_runtime", "unlimited"), Ok("-1".to_owned()));
        assert_eq!(encoded("wakeup_preemption", "false"), Ok("NO_WAKEUP_PREEMPTION".to_owned()));
        assert_eq!(encoded("overcommit", "never"), Ok("2".to_owned()));
    }

    #[test]
    fn what_does_not_fit_the_unit_or_the_range_is_refused_and_says_what_is_allowed() {
        assert!(encoded("dirty_expire", "15ms").unwrap_err().contains("10ms"));
        assert!(encoded("swappiness", "300").unwrap_err().contains("from 0 to 200"));
        assert!(encoded("rr_slice", "36").unwrap_err().contains("36ms"));
        assert!(encoded("elevator", "none; reboot").is_err());
    }

    #[test]
    fn every_value_reads_back_as_it_was_written_by_the_user() {
        for (name, text) in [
            ("rr_slice", "36ms"),
            ("dirty_expire", "30s"),
            ("read_ahead", "128KiB"),
            ("rt_runtime", "unlimited"),
            ("wakeup_preemption", "false"),
            ("autogroup", "true"),
            ("overcommit", "never"),
            ("elevator", "mq-deadline"),
        ] {
            let tunable = table::named(name).unwrap();
            assert_eq!(tunable.decode(&tunable.encode(text).unwrap()), text, "{name}");
        }
    }
}
