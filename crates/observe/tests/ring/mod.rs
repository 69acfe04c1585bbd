//! Writes pages as the kernel's ring buffer has them, by a layout, so that tests and benches know what is in them.

use schedlab_observe::tracing::layout::{EventKind, Field, Layout};
use std::path::Path;

/// Steps in a record's word are shorter than this, ns.
const LONG: u64 = 1 << 27;

/// The layout that Linux 6.18 describes.
pub fn layout() -> Layout {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tracefs-6.18/events");
    Layout::read(&folder).expect("the recorded description can be read")
}

/// The buffer of one processor.
pub struct Ring {
    layout: Layout,
    pub bytes: Vec<u8>,
    page: Vec<u8>,
    time: u64,
    missed: u64,
}

impl Ring {
    pub fn new(layout: &Layout) -> Ring {
        Ring { layout: layout.clone(), bytes: Vec::new(), page: Vec::new(), time: 0, missed: 0 }
    }

    /// An event recorded while `now` had the processor, with the fields of `EVENTS`.
    pub fn event(&mut self, time: u64, now: i32, kind: EventKind, values: &[i64]) {
        self.flagged(time, now, 0, kind, values);
    }

    /// The same with those `common_flags`.
    pub fn flagged(&mut self, time: u64, now: i32, flags: i64, kind: EventKind, values: &[i64]) {
        let event =
            self.layout.events.iter().find(|event| event.kind == kind).expect("all kinds are described").clone();
        let mut data = vec![0; 64];
        put(&mut data, self.layout.common_type, event.id.into());
        put(&mut data, event.common_pid, now.into());
        put(&mut data, event.common_flags, flags);
        for (field, value) in event.fields.iter().zip(values) {
            put(&mut data, *field, *value);
        }
        self.record(time, &data);
    }

    pub fn switch(&mut self, time: u64, from: i32, state: i64, to: i32) {
        self.event(time, from, EventKind::Switch, &[from.into(), 120, state, to.into(), 120]);
    }

    pub fn waking(&mut self, time: u64, now: i32, pid: i32, cpu: i64) {
        self.event(time, now, EventKind::Waking, &[pid.into(), 120, cpu]);
    }

    pub fn woken(&mut self, time: u64, now: i32, pid: i32, cpu: i64) {
        self.event(time, now, EventKind::Woken, &[pid.into(), 120, cpu]);
    }

    pub fn fork(&mut self, time: u64, parent: i32, child: i32) {
        self.event(time, parent, EventKind::Fork, &[parent.into(), child.into()]);
    }

    /// Bytes of a record, as they are.
    pub fn raw(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.page.extend(word.to_ne_bytes()));
    }

    fn record(&mut self, time: u64, data: &[u8]) {
        if self.page.len() + data.len() + 12 > self.layout.head.data.size {
            self.flush();
        }
        if self.page.is_empty() {
            self.time = time;
            self.page.extend(time.to_ne_bytes());
        }
        let mut passed = time - self.time;
        if passed >= LONG {
            self.raw(&[30 | ((passed % LONG) as u32) << 5, (passed / LONG) as u32]);
            passed = 0;
        }
        self.raw(&[(data.len() / 4) as u32 | (passed as u32) << 5]);
        self.page.extend(data);
        self.time = time;
    }

    /// The next page says that a number of events were lost before it.
    pub fn lose(&mut self, events: u64) {
        self.flush();
        self.missed = events;
    }

    /// Ends the page.
    pub fn flush(&mut self) {
        if self.page.is_empty() {
            return;
        }
        let head = self.layout.head;
        let mut page = vec![0; head.page()];
        let records = &self.page[8..];
        page[head.timestamp.offset..][..8].copy_from_slice(&self.page[..8]);
        page[head.data.offset..][..records.len()].copy_from_slice(records);
        let mut commit = records.len() as u64;
        if self.missed > 0 {
            commit |= 3 << 30;
            page[head.data.offset + records.len()..][..8].copy_from_slice(&self.missed.to_ne_bytes());
            self.missed = 0;
        }
        page[head.commit.offset..][..8].copy_from_slice(&commit.to_ne_bytes());
        self.bytes.extend(page);
        self.page.clear();
    }
}

fn put(data: &mut [u8], field: Field, value: i64) {
    data[field.offset..][..field.size].copy_from_slice(&value.to_ne_bytes()[..field.size]);
}
