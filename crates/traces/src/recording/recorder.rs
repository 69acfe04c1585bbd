//! The writing side: a buffer of one block, handed to the file when it is full.

use super::{BLOCK, CONTROL, HEAD, LAST, LONG, MAGIC, NAMES, STEP, VERSION, Widths, checksum};
use crate::Names;
use schedlab_model::{
    Nanos,
    event::{Event, Observer},
};
use std::io::{self, Write};

/// An event takes at most this much of the buffer, with the last store's slack.
const ROOM: usize = 64;

/// Writes events to `out` as they come. Its memory is one block of 64 KiB, however long the run. After a failed write it
/// writes no more, and [`Recorder::finish`] returns the error.
#[derive(Debug)]
pub struct Recorder<W: Write> {
    out: W,
    buffer: Box<[u8; HEAD + BLOCK]>,
    /// End of the used part of the buffer.
    at: usize,
    /// Time of the event before.
    time: Nanos,
    events: u64,
    error: Option<io::Error>,
}

impl<W: Write> Recorder<W> {
    /// Begins a recording. Fails if `out` does, or if the names take more than 16 MiB.
    pub fn new(mut out: W, names: &Names) -> io::Result<Self> {
        let names = serde_json::to_vec(names)?;
        if names.len() > NAMES {
            return Err(io::Error::other("the names of jobs and marks take more than 16 MiB"));
        }
        let head = names.len() as u32;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&head.to_le_bytes())?;
        out.write_all(&checksum(head, &names).to_le_bytes())?;
        out.write_all(&names)?;
        let buffer = Box::new([0; HEAD + BLOCK]);
        Ok(Recorder { out, buffer, at: HEAD, time: 0, events: 0, error: None })
    }

    /// Ends the recording and gives `out` back, or the first error met while writing.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_block(0);
        self.buffer[HEAD..HEAD + 8].copy_from_slice(&self.events.to_le_bytes());
        self.at = HEAD + 8;
        self.write_block(LAST);
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    #[cold]
    #[inline(never)]
    fn write_block(&mut self, mark: u32) {
        let length = self.at - HEAD;
        if length > 0 && self.error.is_none() {
            let head = length as u32 | mark;
            let crc = checksum(head, &self.buffer[HEAD..self.at]);
            self.buffer[..4].copy_from_slice(&head.to_le_bytes());
            self.buffer[4..HEAD].copy_from_slice(&crc.to_le_bytes());
            self.error = self.out.write_all(&self.buffer[..self.at]).err();
        }
        self.at = HEAD;
    }

    #[cold]
    #[inline(never)]
    fn step(&mut self, length: Nanos) {
        let widths = Widths { kind: STEP, time: 0, a: width(length), b: 0, task: 0, cpu: 0, flag: 0 };
        let room = self.room();
        put(room, 0, widths.pack().into());
        put(room, CONTROL, length);
        self.at += CONTROL + widths.a;
    }

    /// The next bytes of the buffer, enough for an event.
    #[inline(always)]
    fn room(&mut self) -> &mut [u8; ROOM] {
        if self.at > HEAD + BLOCK - ROOM {
            self.write_block(0);
        }
        self.buffer[self.at..].first_chunk_mut().expect("a block that has no room is written before")
    }
}

/// Stores eight bytes whatever the width, since one store is quicker than a choice; what is too much is overwritten by the
/// next. The array's length lets the compiler see that all places of an event are within it.
#[inline(always)]
fn put(room: &mut [u8; ROOM], at: usize, value: u64) {
    room[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Bytes that a value needs, none for 0.
#[inline(always)]
fn width(value: u64) -> usize {
    (71 - value.leading_zeros() as usize) / 8
}

impl<W: Write> Observer for Recorder<W> {
    const ONE_LOOP: bool = true;

    // Always, so that fields which are constant where the event is made take no time: it halves the cost.
    #[inline(always)]
    fn observe(&mut self, e: Event) {
        let mut passed = e.time.wrapping_sub(self.time);
        if passed >= LONG {
            self.step(passed);
            passed = 0;
        }
        self.time = e.time;
        self.events += 1;
        // `NO_TASK` becomes 0 and takes no byte.
        let task = e.task.wrapping_add(1).into();
        let widths = Widths {
            kind: e.kind as u8,
            time: width(passed),
            a: width(e.a),
            b: width(e.b),
            task: width(task),
            cpu: width(e.cpu.into()),
            flag: usize::from(e.flag != 0),
        };
        let room = self.room();
        put(room, 0, widths.pack().into());
        put(room, CONTROL, passed);
        let mut end = CONTROL + widths.time;
        for (value, width) in [
            (e.a, widths.a),
            (e.b, widths.b),
            (task, widths.task),
            (e.cpu.into(), widths.cpu),
            (e.flag.into(), widths.flag),
        ] {
            put(room, end, value);
            end += width;
        }
        self.at += end;
    }
}
