//! What is recorded is read back; what was damaged is refused.

mod sample;

use proptest::prelude::*;
use sample::{names, run};
use schedlab_model::event::{Event, Kind, NO_TASK, Observer};
use schedlab_traces::{
    Names,
    recording::{Reader, Recorder, RecordingError},
};
use std::io::{self, Write};

fn record(events: &[Event], names: &Names) -> Vec<u8> {
    let mut recorder = Recorder::new(Vec::new(), names).unwrap();
    events.iter().for_each(|&e| recorder.observe(e));
    recorder.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<(Names, Vec<Event>), RecordingError> {
    let reader = Reader::new(bytes)?;
    let names = reader.names().clone();
    Ok((names, reader.collect::<Result<_, _>>()?))
}

#[test]
fn a_recording_gives_back_names_and_events() {
    assert_eq!(read(&record(&run(), &names())).unwrap(), (names(), run()));
    assert_eq!(read(&record(&[], &Names::default())).unwrap(), (Names::default(), vec![]));
}

#[test]
fn a_long_recording_spans_many_blocks() {
    let events: Vec<_> = (0..100_000).map(|i| sample::event(i, i as u32 % 7, Kind::Wakeup, 0, i * i, 0)).collect();
    let bytes = record(&events, &names());
    assert!(bytes.len() > 3 << 16);
    assert!(read(&bytes).unwrap().1 == events);
}

#[test]
fn no_event_takes_more_than_32_bytes() {
    let largest =
        |time| Event { time, a: u64::MAX, b: u64::MAX, task: NO_TASK - 1, cpu: 999, kind: Kind::Memory, flag: 9 };
    let empty = record(&[], &names()).len();
    let step = (1 << 48) - 1;
    assert_eq!(record(&[largest(step)], &names()).len() - empty - 8, 32);
    let events = [largest(u64::MAX - 1), largest(u64::MAX), largest(0)];
    assert_eq!(read(&record(&events, &names())).unwrap().1, events);
}

#[test]
fn a_recording_without_its_end_is_refused() {
    let bytes = record(&run(), &names());
    for length in 0..bytes.len() {
        let error = read(&bytes[..length]).unwrap_err();
        assert!(matches!(error, RecordingError::CutOff(_) | RecordingError::NotARecording), "{length}: {error}");
    }
}

#[test]
fn events_before_a_cut_can_still_be_read() {
    let events: Vec<_> = (0..100_000).map(|i| sample::event(i, 1, Kind::Wakeup, 0, i * i, 0)).collect();
    let bytes = record(&events, &names());
    let got: Vec<_> = Reader::new(&bytes[..bytes.len() - 1]).unwrap().collect();
    let (last, before) = got.split_last().unwrap();
    assert!(matches!(last, Err(RecordingError::CutOff(100_000))), "{last:?}");
    assert!(before.iter().map(|e| e.as_ref().unwrap()).eq(&events));
}

#[test]
fn foreign_and_later_files_are_distinguished() {
    assert!(matches!(read(b"PERFILE2 and more than that"), Err(RecordingError::NotARecording)));
    let mut later = record(&run(), &names());
    later[8] = 7;
    assert!(matches!(read(&later), Err(RecordingError::Version(7))));
    let mut longer = record(&run(), &names());
    longer.push(0);
    assert!(matches!(read(&longer), Err(RecordingError::Damaged { what: "something follows its end", .. })));
}

/// Takes a little, then is full.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("disk full"))?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    let mut recorder = Recorder::new(Full(1000), &names()).unwrap();
    (0..10_000).flat_map(|_| run()).for_each(|e| recorder.observe(e));
    assert_eq!(recorder.finish().map(|_| ()).unwrap_err().to_string(), "disk full");
}

fn event() -> impl Strategy<Value = Event> {
    // Values of every width.
    let wide = || (any::<u64>(), 0..64u32).prop_map(|(value, shift)| value >> shift);
    let kind =
        prop::sample::select(run().iter().map(|e| e.kind).chain([Kind::Memory, Kind::Overhead]).collect::<Vec<_>>());
    (wide(), wide(), wide(), wide(), any::<u16>(), kind, any::<u8>()).prop_map(|(time, a, b, task, cpu, kind, flag)| {
        Event { time, a, b, task: task as u32, cpu: cpu >> (task % 16), kind, flag }
    })
}

proptest! {
    #[test]
    fn any_events_are_read_back_as_they_were(events in prop::collection::vec(event(), 0..200)) {
        prop_assert_eq!(read(&record(&events, &names())).unwrap().1, events);
    }

    #[test]
    fn any_bytes_end_in_an_error(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        prop_assert!(read(&bytes).is_err());
        let with_start = [&record(&[], &names())[..12], &bytes].concat();
        prop_assert!(read(&with_start).is_err());
    }

    #[test]
    fn a_changed_byte_is_noticed(at in any::<prop::sample::Index>(), change in 1..=255u8) {
        let mut bytes = record(&run(), &names());
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        prop_assert!(read(&bytes).is_err(), "byte {at}");
    }

    /// Forged data has valid checksums too; reading must terminate whatever the block contains.
    #[test]
    fn a_forged_block_does_no_harm(payload in prop::collection::vec(any::<u8>(), 1..300)) {
        let mut bytes = record(&[], &names());
        bytes.truncate(bytes.len() - 16);
        let head = (payload.len() as u32).to_le_bytes();
        bytes.extend(head);
        bytes.extend(crc32fast::hash(&[&head, &payload[..]].concat()).to_le_bytes());
        bytes.extend(&payload);
        let read: Vec<_> = Reader::new(&bytes[..]).unwrap().collect();
        prop_assert!(read.len() <= payload.len() / 3 + 1);
        prop_assert!(read.last().unwrap().is_err());
    }
}
