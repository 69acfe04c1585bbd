//! How the text of a kernel's file is read and written: some read differently from what is written into them.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// No setting is longer; the rest is not read.
pub const MOST_BYTES: usize = 16 << 10;

/// How a file's text is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Unchanged.
    Plain,
    /// Its first word counts: `20000 100000`.
    First,
    /// The word in brackets counts: `none [mq-deadline] kyber`.
    Chosen,
    /// Of all the words only this one, or the same with `NO_` before it.
    Flag(String),
}

impl Reading {
    /// The value in a file's text; none if the file does not have it.
    pub fn of(&self, text: &str) -> Option<String> {
        match self {
            Reading::Plain => Some(text.trim_end().to_owned()),
            Reading::First => text.split_whitespace().next().map(str::to_owned),
            Reading::Chosen => {
                let bracketed = text.split_whitespace().find_map(|word| bare(word).filter(|bare| *bare != word));
                let mut words = text.split_whitespace();
                bracketed.or_else(|| words.next().filter(|_| words.next().is_none())).map(str::to_owned)
            }
            Reading::Flag(name) => {
                text.split_whitespace().find(|w| w.strip_prefix("NO_").unwrap_or(w) == name).map(str::to_owned)
            }
        }
    }

    /// The words that may be written; empty where any may.
    pub fn offers(&self, text: &str) -> Vec<String> {
        match self {
            Reading::Chosen => text.split_whitespace().filter_map(bare).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    /// What to write so that the file reads as `text` again.
    pub fn back(&self, text: &str) -> Option<String> {
        match self {
            Reading::Plain | Reading::First => Some(text.to_owned()),
            Reading::Chosen | Reading::Flag(_) => self.of(text),
        }
    }
}

/// A word without its brackets.
fn bare(word: &str) -> Option<&str> {
    let inner = |open, close| word.strip_prefix(open).and_then(|w: &str| w.strip_suffix(close));
    inner('[', ']').or_else(|| inner('(', ')')).or(Some(word)).filter(|w| !w.is_empty())
}

/// The text of a file, as far as a setting can be long.
pub fn read_bounded(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES as u64).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "is not text"))
}

/// Writes a setting in one call, as the kernel's files want it.
pub fn write_once(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    let line = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let written = file.write(line.as_bytes())?;
    if written == line.len() { Ok(()) } else { Err(io::Error::new(io::ErrorKind::WriteZero, "was written in part")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_in_force_is_found_in_each_kind_of_file() {
        assert_eq!(Reading::Plain.of("60\n").unwrap(), "60");
        assert_eq!(Reading::First.of("20000 100000\n").unwrap(), "20000");
        assert_eq!(Reading::Chosen.of("none [mq-deadline] kyber bfq \n").unwrap(), "mq-deadline");
        assert_eq!(Reading::Chosen.of("(none) voluntary full lazy \n").unwrap(), "none");
        assert_eq!(Reading::Chosen.of("none\n").unwrap(), "none");
        assert_eq!(Reading::Chosen.of("none kyber\n"), None);
        let flag = Reading::Flag("WAKEUP_PREEMPTION".to_owned());
        assert_eq!(flag.of("PLACE_LAG NO_WAKEUP_PREEMPTION HRTICK\n").unwrap(), "NO_WAKEUP_PREEMPTION");
        assert_eq!(flag.of("PLACE_LAG NO_HRTICK\n"), None);
    }

    #[test]
    fn what_is_written_to_go_back_is_not_always_what_was_read() {
        assert_eq!(Reading::Plain.back("60\n").unwrap(), "60\n");
        assert_eq!(Reading::First.back("max 100000\n").unwrap(), "max 100000\n");
        assert_eq!(Reading::Chosen.back("none [bfq]\n").unwrap(), "bfq");
        assert_eq!(Reading::Flag("HRTICK".to_owned()).back("A NO_HRTICK B").unwrap(), "NO_HRTICK");
    }

    #[test]
    fn no_text_makes_a_reading_panic() {
        for text in ["", "\n", "[]", "[ ]", "()", "NO_", "  ", "[a] [b]", "\u{1F4A9}"] {
            for reading in [Reading::Plain, Reading::First, Reading::Chosen, Reading::Flag(String::new())] {
                let _ = (reading.of(text), reading.offers(text), reading.back(text));
            }
        }
    }
}
