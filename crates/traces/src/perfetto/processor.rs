//! What happened on one processor, gathered column by column as Perfetto packs the scheduler's events of Linux
//! (`FtraceEventBundle.CompactSched`): each column is a list of its own, and times count from the event before.

use super::wire::{Message, varint};
use schedlab_model::{Nanos, task::TaskId};

/// Events of a kind that a bundle holds; a bundle has a table of names of its own.
const BUNDLE: usize = 4096;
/// Linux's name, number and priority of an idle processor's task.
const IDLE: (&[u8], u32, u16) = (b"swapper", 0, 120);

/// A task as Linux's events show it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The task's index, and what viewers know it by.
    pub task: TaskId,
    pub tid: u32,
    pub name: &'a str,
    /// Linux's priority: 120 at nice 0.
    pub priority: u16,
}

/// A row of the columns: a context switch, or a wakeup without a state.
#[derive(Debug, Clone, Copy)]
struct Row {
    time: Nanos,
    tid: u32,
    name: u32,
    priority: u16,
    state: u16,
}

/// One processor's events that are not written yet.
#[derive(Debug, Default)]
pub struct Processor {
    number: u64,
    running: bool,
    /// A task left, at that time in that state, and what runs next is not known yet.
    left: Option<(Nanos, u16)>,
    switches: Vec<Row>,
    wakeups: Vec<Row>,
    /// The table of names: encoded, the number of its names, each task's index in it + 1, and the tasks that have one.
    table: Vec<u8>,
    named: u32,
    index: Vec<u32>,
    tasks: Vec<TaskId>,
    /// Index of the name of the idle task + 1.
    idle: u32,
}

impl Processor {
    /// A processor that is idle from time 0 on.
    pub fn new(number: u16) -> Self {
        let mut processor = Processor { number: number.into(), ..Processor::default() };
        // A reader drops the first switch, since it does not know what ran before.
        processor.idle(0, 0);
        processor.idle(0, 0);
        processor
    }

    /// Whether a task has it.
    pub fn is_busy(&self) -> bool {
        self.running
    }

    /// A task got the processor.
    #[inline]
    pub fn switch_in(&mut self, time: Nanos, task: Shown<'_>) {
        let state = match self.left.take() {
            Some((at, state)) if at < time => {
                self.idle(at, state);
                0
            }
            Some((_, state)) => state,
            None => 0,
        };
        let name = self.named(task);
        self.switches.push(Row { time, tid: task.tid, name, priority: task.priority, state });
        self.running = true;
    }

    /// The running task left the processor, in a state as Linux numbers them.
    #[inline]
    pub fn switch_out(&mut self, time: Nanos, state: u16) {
        if std::mem::take(&mut self.running) {
            self.left = Some((time, state));
        }
    }

    /// A task became ready and was put to this processor. What woke it is not known, and viewers would take it to be the
    /// running task unless the wakeup came with an interrupt.
    #[inline]
    pub fn wakeup(&mut self, time: Nanos, task: Shown<'_>) {
        let name = self.named(task);
        self.wakeups.push(Row { time, tid: task.tid, name, priority: task.priority, state: 0 });
    }

    /// Whether a bundle should be written now.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.switches.len() >= BUNDLE || self.wakeups.len() >= BUNDLE
    }

    /// Nothing more will happen: who left is followed by nothing.
    pub fn end(&mut self) {
        if let Some((at, state)) = self.left.take() {
            self.idle(at, state);
        }
    }

    /// Moves what was gathered into a packet of the trace, if there is anything.
    pub fn bundle(&mut self, trace: &mut Vec<u8>) {
        const PACKET: u32 = 1;
        const FTRACE_EVENTS: u32 = 1;
        const COMPACT_SCHED: u32 = 4;
        /// Linux's mark of what an interrupt did.
        const IN_INTERRUPT: u64 = 8;
        let (switches, wakeups) = (&self.switches, &self.wakeups);
        if switches.is_empty() && wakeups.is_empty() {
            return;
        }
        trace.message(PACKET, |packet| {
            packet.message(FTRACE_EVENTS, |bundle| {
                bundle.number(1, self.number);
                bundle.message(COMPACT_SCHED, |sched| {
                    times(sched, 1, switches);
                    column(sched, 2, switches, |row| row.state.into());
                    column(sched, 3, switches, |row| row.tid.into());
                    column(sched, 4, switches, |row| row.priority.into());
                    sched.extend_from_slice(&self.table);
                    column(sched, 6, switches, |row| row.name.into());
                    times(sched, 7, wakeups);
                    column(sched, 8, wakeups, |row| row.tid.into());
                    column(sched, 9, wakeups, |_| self.number);
                    column(sched, 10, wakeups, |row| row.priority.into());
                    column(sched, 11, wakeups, |row| row.name.into());
                    column(sched, 12, wakeups, |_| IN_INTERRUPT);
                });
            });
        });
        self.clear();
    }

    fn clear(&mut self) {
        self.switches.clear();
        self.wakeups.clear();
        self.table.clear();
        self.tasks.drain(..).for_each(|task| self.index[task as usize] = 0);
        (self.named, self.idle) = (0, 0);
    }

    fn idle(&mut self, time: Nanos, state: u16) {
        let (name, tid, priority) = IDLE;
        if self.idle == 0 {
            self.idle = self.enter(name);
        }
        self.switches.push(Row { time, tid, name: self.idle - 1, priority, state });
    }

    /// The index of a task's name in the table of this bundle.
    #[inline]
    fn named(&mut self, task: Shown<'_>) -> u32 {
        match self.index.get(task.task as usize) {
            Some(&index) if index > 0 => index - 1,
            _ => self.enter_task(task),
        }
    }

    #[cold]
    fn enter_task(&mut self, task: Shown<'_>) -> u32 {
        let place = task.task as usize;
        if place >= self.index.len() {
            self.index.resize(place + 1, 0);
        }
        self.index[place] = self.enter(task.name.as_bytes());
        self.tasks.push(task.task);
        self.index[place] - 1
    }

    /// Enters a name; returns its index + 1.
    fn enter(&mut self, name: &[u8]) -> u32 {
        const INTERN_TABLE: u32 = 5;
        self.table.bytes(INTERN_TABLE, name);
        self.named += 1;
        self.named
    }
}

/// Appends a column, packed.
fn column(out: &mut Vec<u8>, field: u32, rows: &[Row], of: impl Fn(&Row) -> u64) {
    out.message(field, |out| rows.iter().for_each(|row| varint(out, of(row))));
}

/// Appends the column of times, each since the row before, the first since time 0.
fn times(out: &mut Vec<u8>, field: u32, rows: &[Row]) {
    out.message(field, |out| {
        let mut last = 0;
        for row in rows {
            varint(out, row.time - last);
            last = row.time;
        }
    });
}
