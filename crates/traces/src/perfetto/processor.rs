//! What happened on one processor: gathered in rows, and when a bundle is full, encoded column by column as Perfetto packs the
//! scheduler's events of Linux (`FtraceEventBundle.CompactSched`). Each column is a list of its own; times count from the event before.

use super::{
    tasks::{IDLE, Tasks},
    wire::{LONGEST, Message, SHORT, Short, length, put, varint, word},
};
use crate::blocks::{Blocks, Filling, block};
use schedlab_model::Nanos;
use std::io::Write;

/// Events of a kind that a bundle holds; a bundle has a table of names of its own.
const BUNDLE: usize = 8190;
const _: () = assert!(2 * BUNDLE < (1 << 14) - 1, "the index of a name is encoded as a short number");
/// Room that a store may take beyond the last byte of a column.
const SLACK: usize = 16;
/// The fields of a trace, of a packet, of a bundle and of its columns.
const PACKET: u32 = 1;
const FTRACE_EVENTS: u32 = 1;
const COMPACT_SCHED: u32 = 4;
const INTERN_TABLE: u32 = 5;
/// No name has this index: a bundle has fewer of them.
const NOT_IN_TABLE: Short = Short::new((1 << 14) - 1);
/// Linux's mark of what the current task did, and of what an interrupt did.
const BY_TASK: u8 = 0;
const IN_INTERRUPT: u8 = 8;

/// A state as Linux before 4.14 numbers them, which readers assume where a trace names no kernel.
#[derive(Debug, Clone, Copy)]
pub struct State(Short);

impl State {
    pub const READY: State = State(Short::new(0));
    pub const WAITING: State = State(Short::new(1));
    pub const ENDED: State = State(Short::new(0x10));
    pub const PREEMPTED: State = State(Short::new(0x800));
}

/// A context switch, or a wakeup without a state, of which [`Aim`] has more. The task is its place in [`Tasks`].
#[derive(Debug, Clone, Copy)]
struct Row {
    time: Nanos,
    place: u32,
    state: State,
}

/// The processor on which a woken task is to run, and the mark of who woke it.
#[derive(Debug, Clone, Copy)]
struct Aim {
    processor: u16,
    by: u8,
}

/// Events of a kind that are not written yet. They take memory as they come: a recording may name more processors than it uses.
#[derive(Debug, Default)]
struct Rows(Vec<Row>);

impl Rows {
    /// Whether one event more, which may be two switches, has no room.
    #[inline(always)]
    fn are_full(&self) -> bool {
        self.0.len() > BUNDLE - 2
    }

    #[inline(always)]
    fn add(&mut self, time: Nanos, place: u32, state: State) {
        self.0.push(Row { time, place, state });
    }
}

/// One processor's events that are not written yet.
#[derive(Debug)]
pub struct Processor {
    number: u64,
    running: bool,
    /// A task left, at that time in that state, and what runs next is not known yet.
    left: Option<(Nanos, State)>,
    switches: Rows,
    wakeups: Rows,
    /// One for each of the wakeups, and the time of the last.
    aims: Vec<Aim>,
    woke: Nanos,
    /// Time of the last switch.
    switched: Nanos,
    table: Table,
}

/// Whether a bundle should be written before the next event.
type Full = bool;

impl Processor {
    /// A processor that is idle from time 0 on.
    pub fn new(number: u16) -> Self {
        let mut processor = Processor {
            number: number.into(),
            running: false,
            left: None,
            switches: Rows::default(),
            wakeups: Rows::default(),
            aims: Vec::new(),
            woke: Nanos::MAX,
            switched: Nanos::MAX,
            table: Table::default(),
        };
        // A reader drops the first switch, since it does not know what ran before.
        processor.switches.add(0, IDLE, State::READY);
        processor.switches.add(0, IDLE, State::READY);
        processor
    }

    /// Whether a task has it.
    pub fn is_busy(&self) -> bool {
        self.running
    }

    /// The task at that place got the processor.
    #[inline(always)]
    pub fn switch_in(&mut self, time: Nanos, place: u32) -> Full {
        let state = match self.left.take() {
            Some((at, state)) if at < time => {
                self.switches.add(at, IDLE, state);
                State::READY
            }
            Some((_, state)) => state,
            None => State::READY,
        };
        self.running = true;
        self.switch(time, place, state)
    }

    /// The running task left the processor.
    #[inline(always)]
    pub fn switch_out(&mut self, time: Nanos, state: State) {
        if std::mem::take(&mut self.running) {
            self.left = Some((time, state));
        }
        if self.woke == time {
            self.forget_wakers();
        }
    }

    /// The running task left the processor, and the task at that place got it.
    #[inline(always)]
    pub fn switch(&mut self, time: Nanos, place: u32, state: State) -> Full {
        if self.woke == time {
            self.forget_wakers();
        }
        self.switched = time;
        self.switches.add(time, place, state);
        self.switches.are_full()
    }

    /// A task became ready and is to run on the processor `on`: woken here by the running task, or in an interrupt. Where it is not
    /// known by what, that is said to be an interrupt, too: viewers would take the running task otherwise. So it is at the time of a
    /// switch, since readers do not agree on which of both came first.
    #[inline(always)]
    pub fn wakeup(&mut self, time: Nanos, place: u32, on: u16, by_task: bool) -> Full {
        self.wakeups.add(time, place, State::READY);
        let by_task = by_task && time != self.switched;
        self.aims.push(Aim { processor: on, by: if by_task { BY_TASK } else { IN_INTERRUPT } });
        self.woke = time;
        self.wakeups.are_full()
    }

    /// The wakeups of the last time have no waker any more.
    #[cold]
    fn forget_wakers(&mut self) {
        let last = self.wakeups.0.iter().rev().take_while(|row| row.time == self.woke).count();
        self.aims.iter_mut().rev().take(last).for_each(|aim| aim.by = IN_INTERRUPT);
    }

    /// Nothing more will happen: who left is followed by nothing.
    pub fn end(&mut self) {
        if let Some((at, state)) = self.left.take() {
            self.switches.add(at, IDLE, state);
        }
    }

    /// Moves what was gathered into a packet of the trace, if there is anything.
    pub fn bundle<W: Write>(&mut self, tasks: &Tasks, columns: &mut Columns, trace: &mut Blocks<W>) {
        if self.switches.0.is_empty() && self.wakeups.0.is_empty() {
            return;
        }
        // Whether a switch follows at the time of the last wakeup is not known yet.
        self.forget_wakers();
        let [states, switches @ ..] = columns.switches.encode(&self.switches.0, tasks, &mut self.table);
        let [_, wakeups @ ..] = columns.wakeups.encode(&self.wakeups.0, tasks, &mut self.table);
        let mut targets = Vec::new();
        self.aims.iter().for_each(|aim| varint(&mut targets, aim.processor.into()));
        let by: Vec<u8> = self.aims.iter().map(|aim| aim.by).collect();
        let columns = [
            (1, switches[0]),
            (2, states),
            (3, switches[1]),
            (4, switches[2]),
            (6, switches[3]),
            (7, wakeups[0]),
            (8, wakeups[1]),
            (9, &targets),
            (10, wakeups[2]),
            (11, wakeups[3]),
            (12, &by),
        ];
        // The number of a field here takes a byte.
        let field = |of: usize| 1 + length(of as u64) + of;
        let sched = self.table.encoded.len() + columns.iter().map(|column| field(column.1.len())).sum::<usize>();
        let events = 1 + word(self.number).width + field(sched);
        let mut head = Vec::new();
        head.head(PACKET, field(events));
        head.head(FTRACE_EVENTS, events);
        head.number(1, self.number);
        head.head(COMPACT_SCHED, sched);
        trace.append(&head);
        trace.append(&self.table.encoded);
        for (number, bytes) in columns {
            head.clear();
            head.head(number, bytes.len());
            trace.append(&head);
            trace.append(bytes);
        }
        self.switches.0.clear();
        self.wakeups.0.clear();
        self.aims.clear();
        self.woke = Nanos::MAX;
        self.table.clear();
    }
}

/// The columns of a bundle while it is written.
#[derive(Debug, Default)]
pub struct Columns {
    switches: Encoded,
    wakeups: Encoded,
}

/// Events of a kind, encoded: of each the task's state, the time, its number, its priority, and the index of its name.
#[derive(Debug)]
struct Encoded {
    states: Box<[u8; 2 * BUNDLE + SLACK]>,
    times: Box<[u8; LONGEST * BUNDLE + SLACK]>,
    numbers: Box<[u8; 5 * BUNDLE + SLACK]>,
    priorities: Box<[u8; 2 * BUNDLE + SLACK]>,
    names: Box<[u8; 2 * BUNDLE + SLACK]>,
}

impl Default for Encoded {
    fn default() -> Self {
        Encoded { states: block(), times: block(), numbers: block(), priorities: block(), names: block() }
    }
}

impl Encoded {
    fn encode(&mut self, rows: &[Row], tasks: &Tasks, table: &mut Table) -> [&[u8]; 5] {
        let mut states = Filling::new(&mut self.states);
        let mut times = Filling::new(&mut self.times);
        let mut numbers = Filling::new(&mut self.numbers);
        let mut priorities = Filling::new(&mut self.priorities);
        let mut names = Filling::new(&mut self.names);
        table.index.resize(tasks.shared_names.len(), NOT_IN_TABLE);
        let (mut last, mut before) = (0, (0, word(0)));
        for row in rows {
            states.put(row.state.0.word());
            let since = row.time - last;
            last = row.time;
            // Slices of one length follow each other: their times are encoded once.
            if since != before.0 {
                before = (since, word(since % SHORT));
            }
            if since < SHORT {
                times.put(before.1);
            } else {
                put(&mut times, since);
            }
        }
        for row in rows {
            let shown = tasks.shown[row.place as usize];
            numbers.put(shown.number());
            priorities.put(shown.priority.word());
            names.put(table.name(shown.name, tasks).word());
        }
        [states.filled(), times.filled(), numbers.filled(), priorities.filled(), names.filled()]
    }
}

/// A bundle's table of names.
#[derive(Debug, Default)]
struct Table {
    encoded: Vec<u8>,
    named: u32,
    /// Of each name of [`Tasks`] its index in the table, encoded.
    index: Vec<Short>,
}

impl Table {
    /// The index of a name, in the table of this bundle.
    #[inline(always)]
    fn name(&mut self, name: u32, tasks: &Tasks) -> Short {
        match self.index[name as usize] {
            NOT_IN_TABLE => self.enter(name, tasks),
            index => index,
        }
    }

    #[inline(never)]
    fn enter(&mut self, name: u32, tasks: &Tasks) -> Short {
        self.encoded.bytes(INTERN_TABLE, tasks.shared_names[name as usize].as_bytes());
        let index = Short::new(self.named);
        self.index[name as usize] = index;
        self.named += 1;
        index
    }

    fn clear(&mut self) {
        self.encoded.clear();
        self.named = 0;
        self.index.fill(NOT_IN_TABLE);
    }
}
