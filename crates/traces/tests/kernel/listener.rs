//! A listener that keeps everything, and holds readers to what they promise to every listener.

use schedlab_traces::kernel::{Event, Head, Kind, Listener, ReadError};
use std::{
    collections::BTreeMap,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

/// What a listener heard.
#[derive(Default)]
pub struct Heard {
    pub events: Vec<Event>,
    pub names: Vec<String>,
}

impl Listener for Heard {
    fn event(&mut self, event: &Event) {
        if let Some(before) = self.events.last() {
            assert!(before.time <= event.time, "{before:?} comes before {event:?}");
        }
        if event.kind == Kind::Named {
            assert!((event.value as usize) < self.names.len(), "{event:?} has a name that was not given");
        }
        self.events.push(*event);
    }

    fn name(&mut self, number: u64, name: &str) {
        assert_eq!(number, self.names.len() as u64);
        self.names.push(name.to_owned());
    }
}

impl Heard {
    /// Events of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        self.events.iter().filter(|event| event.kind == kind).count() as u64
    }

    /// Asserts that a processor leaves the task that it went to. `unseen` is a task of the recorded machine whose own switches are missing,
    /// without a record of a loss.
    #[track_caller]
    pub fn assert_switches_are_chained(&self, unseen: i32) {
        let mut running = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.kind == Kind::Switch) {
            let before = running.insert(event.cpu, event.other).filter(|&before| before != unseen);
            assert!(before.is_none_or(|before| before == event.task), "{event:?} leaves another than {before:?}");
        }
    }

    /// Asserts that every task that was switched to by that name has it.
    #[track_caller]
    pub fn assert_is_named(&self, name: &str) {
        assert!(self.names.iter().any(|known| known == name), "{name} is not among {:?}", self.names);
    }
}

/// Reads files of a format.
pub type Reader = fn(File, &mut Heard) -> Result<Head, ReadError>;

/// What a reader finds in a file.
pub fn heard(read: Reader, path: &Path) -> Result<(Heard, Head), ReadError> {
    let mut heard = Heard::default();
    let head = read(File::open(path).unwrap(), &mut heard)?;
    Ok((heard, head))
}

/// What it finds in these bytes as a file.
pub fn heard_of_bytes(read: Reader, bytes: &[u8]) -> Result<(Heard, Head), ReadError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    heard(read, file.path())
}

/// A recording in `tests/data`.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Events of each name that were read.
pub fn counts(head: &Head) -> BTreeMap<&str, u64> {
    head.recorded.iter().filter(|(_, it)| it.events > 0).map(|(name, it)| (name.as_str(), it.events)).collect()
}
