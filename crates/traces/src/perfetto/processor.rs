//! What happened on one processor, gathered column by column as Perfetto packs the scheduler's events of Linux
//! (`FtraceEventBundle.CompactSched`): each column is a list of its own, already encoded, and times count from the event before.

use super::wire::{LONGEST, Message, length, put, word};
use crate::{
    Names,
    blocks::{Block, Blocks, Word},
};
use schedlab_model::{Nanos, task::TaskId};
use std::io::Write;

/// Events of a kind that a bundle holds; a bundle has a table of names of its own.
const BUNDLE: usize = 4096;
/// Room that a store may take beyond the last byte of a column.
const SLACK: usize = 16;
/// Linux's number and priority of an idle processor's task, and its name.
const IDLE: Shown = Shown::new(0, 120);
const IDLE_NAME: &[u8] = b"swapper";

/// A task's number and priority, encoded: 5 bytes for the number, 2 for the priority, and their widths.
#[derive(Debug, Clone, Copy)]
pub struct Shown(u64);

impl Shown {
    /// Of a task that viewers know by that number, with Linux's priority: 120 at nice 0.
    pub const fn new(tid: u32, priority: u16) -> Shown {
        let (number, priority) = (word(tid as u64), word(priority as u64));
        Shown(number.bits | priority.bits << 40 | (number.width as u64) << 56 | (priority.width as u64) << 60)
    }

    #[inline(always)]
    fn number(self) -> Word {
        Word { bits: self.0, width: (self.0 >> 56 & 0xf) as usize }
    }

    #[inline(always)]
    fn priority(self) -> Word {
        Word { bits: self.0 >> 40, width: (self.0 >> 60) as usize }
    }
}

/// Events of a kind: what context switches and wakeups have in common.
#[derive(Debug)]
struct Rows {
    count: usize,
    last: Nanos,
    times: Block<{ LONGEST * BUNDLE + SLACK }>,
    numbers: Block<{ 5 * BUNDLE + SLACK }>,
    priorities: Block<{ 2 * BUNDLE + SLACK }>,
    names: Block<{ 2 * BUNDLE + SLACK }>,
}

impl Rows {
    fn new() -> Self {
        Rows {
            count: 0,
            last: 0,
            times: Block::new(),
            numbers: Block::new(),
            priorities: Block::new(),
            names: Block::new(),
        }
    }

    #[inline(always)]
    fn add(&mut self, time: Nanos, task: Shown, name: u32) {
        put(&mut self.times, time - self.last);
        self.last = time;
        self.numbers.put(task.number());
        self.priorities.put(task.priority());
        self.names.put(word(name.into()));
        self.count += 1;
    }

    fn clear(&mut self) {
        (self.count, self.last) = (0, 0);
        self.times.clear();
        self.numbers.clear();
        self.priorities.clear();
        self.names.clear();
    }
}

/// One processor's events that are not written yet.
#[derive(Debug)]
pub struct Processor {
    number: u64,
    running: bool,
    /// A task left, at that time in that state, and what runs next is not known yet.
    left: Option<(Nanos, u16)>,
    switches: Rows,
    /// The state of the task before, for each switch.
    states: Block<{ 2 * BUNDLE + SLACK }>,
    wakeups: Rows,
    /// The table of names, encoded. A task's index in it counts from `first`, which is above every index of the bundles before.
    table: Vec<u8>,
    index: Vec<u32>,
    first: u32,
    named: u32,
    /// Index of the name of the idle task + 1.
    idle: u32,
}

impl Processor {
    /// A processor that is idle from time 0 on.
    pub fn new(number: u16) -> Self {
        let mut processor = Processor {
            number: number.into(),
            running: false,
            left: None,
            switches: Rows::new(),
            states: Block::new(),
            wakeups: Rows::new(),
            table: Vec::new(),
            index: Vec::new(),
            first: 1,
            named: 0,
            idle: 0,
        };
        // A reader drops the first switch, since it does not know what ran before.
        processor.idle(0, 0);
        processor.idle(0, 0);
        processor
    }

    /// Whether a task has it.
    pub fn is_busy(&self) -> bool {
        self.running
    }

    /// A task got the processor; its name has that index.
    #[inline(always)]
    pub fn switch_in(&mut self, time: Nanos, task: Shown, name: u32) {
        let state = match self.left.take() {
            Some((at, state)) if at < time => {
                self.idle(at, state);
                0
            }
            Some((_, state)) => state,
            None => 0,
        };
        self.switch(time, task, name, state);
        self.running = true;
    }

    #[inline(always)]
    fn switch(&mut self, time: Nanos, task: Shown, name: u32, state: u16) {
        self.switches.add(time, task, name);
        self.states.put(word(state.into()));
    }

    /// The running task left the processor, in a state as Linux numbers them.
    #[inline(always)]
    pub fn switch_out(&mut self, time: Nanos, state: u16) {
        if std::mem::take(&mut self.running) {
            self.left = Some((time, state));
        }
    }

    /// A task became ready and was put to this processor. What woke it is not known, and viewers would take it to be the
    /// running task unless the wakeup came with an interrupt.
    #[inline(always)]
    pub fn wakeup(&mut self, time: Nanos, task: Shown, name: u32) {
        self.wakeups.add(time, task, name);
    }

    /// Whether a bundle should be written before the next event, which may be two switches.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.switches.count.max(self.wakeups.count) > BUNDLE - 2
    }

    /// Nothing more will happen: who left is followed by nothing.
    pub fn end(&mut self) {
        if let Some((at, state)) = self.left.take() {
            self.idle(at, state);
        }
    }

    #[inline(never)]
    fn idle(&mut self, time: Nanos, state: u16) {
        if self.idle == 0 {
            self.table.bytes(INTERN_TABLE, IDLE_NAME);
            self.named += 1;
            self.idle = self.named;
        }
        self.switch(time, IDLE, self.idle - 1, state);
    }

    /// The index of a task's name in the table of this bundle. Its job gives it a name if it has none there yet.
    #[inline(always)]
    pub fn name(&mut self, task: TaskId, job: impl FnOnce() -> u64, names: &Names) -> u32 {
        match self.index.get(task as usize) {
            Some(&index) if index >= self.first => index - self.first,
            _ => self.enter(task, job(), names),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, task: TaskId, job: u64, names: &Names) -> u32 {
        let place = task as usize;
        if place >= self.index.len() {
            self.index.resize(place + 1, 0);
        }
        let (name, number) = names.parts(task, job);
        self.table.message(INTERN_TABLE, |table| {
            table.extend_from_slice(name.as_bytes());
            if let Some(number) = number {
                write!(table, "#{number}").expect("a vector takes it");
            }
        });
        self.index[place] = self.first + self.named;
        self.named += 1;
        self.named - 1
    }

    /// Moves what was gathered into a packet of the trace, if there is anything.
    pub fn bundle<W: Write>(&mut self, trace: &mut Blocks<W>) {
        let (switches, wakeups) = (&self.switches, &self.wakeups);
        if switches.count == 0 && wakeups.count == 0 {
            return;
        }
        let targets: Vec<u8> = std::iter::repeat_n(word(self.number), wakeups.count)
            .flat_map(|target| target.bits.to_le_bytes().into_iter().take(target.width))
            .collect();
        let flags = vec![IN_INTERRUPT; wakeups.count];
        let columns: [(u32, &[u8]); 11] = [
            (1, switches.times.filled()),
            (2, self.states.filled()),
            (3, switches.numbers.filled()),
            (4, switches.priorities.filled()),
            (6, switches.names.filled()),
            (7, wakeups.times.filled()),
            (8, wakeups.numbers.filled()),
            (9, &targets),
            (10, wakeups.priorities.filled()),
            (11, wakeups.names.filled()),
            (12, &flags),
        ];
        // All numbers of fields here take a byte.
        let field = |length_of: usize| 1 + length(length_of as u64) + length_of;
        let sched = self.table.len() + columns.iter().map(|column| field(column.1.len())).sum::<usize>();
        let cpu = 1 + length(self.number);
        let mut begin = Vec::new();
        begin.head(PACKET, field(cpu + field(sched)));
        begin.head(FTRACE_EVENTS, cpu + field(sched));
        begin.number(1, self.number);
        begin.head(COMPACT_SCHED, sched);
        trace.append(&begin);
        trace.append(&self.table);
        for (number, bytes) in columns {
            begin.clear();
            begin.head(number, bytes.len());
            trace.append(&begin);
            trace.append(bytes);
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.switches.clear();
        self.wakeups.clear();
        self.states.clear();
        self.table.clear();
        self.first += self.named;
        // After billions of names, an index would look like one of a later bundle.
        if self.first > u32::MAX / 2 {
            self.index.fill(0);
            self.first = 1;
        }
        (self.named, self.idle) = (0, 0);
    }
}

const PACKET: u32 = 1;
const FTRACE_EVENTS: u32 = 1;
const COMPACT_SCHED: u32 = 4;
const INTERN_TABLE: u32 = 5;
/// Linux's mark of what an interrupt did.
const IN_INTERRUPT: u8 = 8;
