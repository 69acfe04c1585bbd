//! A recording: the events of a run in a file of our own, written as they come and read one by one.
//!
//!   file    = magic, version (u32), block of names, blocks of events..., last block
//!   block   = head (u32: length of the payload; the top bit marks the last), CRC-32 of head and payload (u32), payload
//!   names   = JSON of `Names`
//!   last    = number of events (u64); a file without it was cut off
//!   event   = control (24 bits), then time since the event before, `a`, `b`, task + 1, cpu, flag: each in as few bytes
//!             as its value needs, none for 0
//!   control = kind (5 bits), bytes of flag (1), of time (3), of `a` (4), of `b` (4), of task (3), of cpu (2); 2 bits 0
//!
//! All numbers are little-endian. An event takes 32 bytes at most and 5 to 12 in practice, which is also what makes it
//! quick: less to write. A time step of more than 2^48 ns (78 hours) is a record of its own, with the step in `a`.

mod reader;
mod recorder;

pub use reader::{Reader, RecordingError};
pub use recorder::Recorder;

use schedlab_model::event::Kind;

const MAGIC: &[u8; 8] = b"schedlab";
const VERSION: u32 = 1;
/// Length and checksum before each payload.
const HEAD: usize = 8;
/// In the length of a block: it is the last.
const LAST: u32 = 1 << 31;
/// Largest payload of events, bytes.
const BLOCK: usize = 1 << 16;
/// Largest payload of names, bytes.
const NAMES: usize = 1 << 24;
/// Bytes of the control word.
const CONTROL: usize = 3;
/// The kind of a record that is only a step in time.
const STEP: u8 = 31;
/// Time steps below this are part of an event.
const LONG: u64 = 1 << 48;

/// Kinds by their number in the file.
#[rustfmt::skip]
const KINDS: [Kind; 30] = [
    Kind::Created, Kind::Exited, Kind::Wakeup, Kind::SwitchIn, Kind::SwitchOut, Kind::Overhead, Kind::Sampled,
    Kind::Interrupt, Kind::SystemCall, Kind::CacheLookup, Kind::DiskStart, Kind::DiskDone, Kind::Idle, Kind::Pass,
    Kind::Period, Kind::Mark, Kind::Signal, Kind::Migrated, Kind::Memory,
    Kind::Refused, Kind::DiskQueued, Kind::Fault, Kind::MemoryUse, Kind::Charged,
    Kind::Unfinished, Kind::Message, Kind::Granted, Kind::Allowed, Kind::Treated,
    Kind::Executed,
];

const _: () = {
    let mut i = 0;
    while i < KINDS.len() {
        assert!(KINDS[i] as usize == i, "the number of a kind in the file is its place in the enum");
        i += 1;
    }
};

/// Widths in bytes of a record's fields, as packed into its control word.
struct Widths {
    kind: u8,
    time: usize,
    a: usize,
    b: usize,
    task: usize,
    cpu: usize,
    flag: usize,
}

impl Widths {
    #[inline(always)]
    fn pack(&self) -> u32 {
        let at = |width: usize, shift: u32| (width as u32) << shift;
        u32::from(self.kind)
            | at(self.flag, 5)
            | at(self.time, 6)
            | at(self.a, 9)
            | at(self.b, 13)
            | at(self.task, 17)
            | at(self.cpu, 20)
    }

    /// `None` if no recorder writes such a word.
    fn unpack(word: u32) -> Option<Widths> {
        let part = |shift: u32, bits: u32| (word >> shift & ((1 << bits) - 1)) as usize;
        let widths = Widths {
            kind: part(0, 5) as u8,
            flag: part(5, 1),
            time: part(6, 3),
            a: part(9, 4),
            b: part(13, 4),
            task: part(17, 3),
            cpu: part(20, 2),
        };
        let fits = widths.time <= 6 && widths.a <= 8 && widths.b <= 8 && widths.task <= 4 && widths.cpu <= 2;
        (fits && word >> 22 == 0).then_some(widths)
    }

    fn sum(&self) -> usize {
        self.time + self.a + self.b + self.task + self.cpu + self.flag
    }
}

fn checksum(head: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}
