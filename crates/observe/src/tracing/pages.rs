//! The pages of the kernel's ring buffer, one after the other, into the scheduler's events of one processor.
//!
//! Whatever the bytes, decoding ends. A page that makes no sense is counted, and so is the gap before what follows.

use super::layout::{EventKind, EventLayout, Layout};
use schedlab_model::event::Leave;
use schedlab_traces::kernel::{Context, Left, pages::Page};

/// No kernel numbers its tasks higher (PID_MAX_LIMIT).
pub const MOST_TASKS: i32 = 1 << 22;

/// The waker where an interrupt woke a task: [`RawEvent::other`].
pub const IN_INTERRUPT: i32 = -1;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// From `pid` to `other`.
    Switch,
    /// `pid` is being woken by `other`: the task of that number, 0 if it is not known, or [`IN_INTERRUPT`].
    Waking,
    /// `pid` was put into the runqueue of processor `there`.
    Woken,
    /// `pid`, new, was put into the runqueue of processor `there` by `other`, as in `Waking`.
    New,
    /// `pid` went from processor `other` to `there`.
    Migrate,
    /// `pid` made `other`.
    Fork,
    /// `pid`, which runs there or on another processor, was charged with `other` ns. Reported only if it is wanted ([`Decoder::charges`]).
    Charged,
    /// Here the recording of this processor begins, and `pid` has had it up to now.
    Start,
    /// Events of this processor are missing before this; now `pid` has it.
    Gap,
    /// The switch to `pid`, and perhaps others before it, are missing; the time is that of the event before, the earliest
    /// at which it can have been.
    Torn,
    /// As [`What::Torn`], but the time is the right one. Only why the task before it left is not known.
    Mended,
}

/// Why the running task of a processor is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Nothing is known yet.
    Start,
    /// Something was lost.
    Lost,
    /// Another task has it than the one that was switched to.
    Switch,
}

/// One event. Kept small: a run has millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawEvent {
    /// CLOCK_MONOTONIC, ns.
    pub time: u64,
    /// See [`What`].
    pub pid: i32,
    /// See [`What`].
    pub other: i32,
    /// The processor that recorded it.
    pub cpu: u16,
    /// See [`What`].
    pub there: u16,
    /// What happened.
    pub what: What,
    /// Of a switch: why `pid` left.
    pub leave: Leave,
    /// The kernel's priority of `pid`, 255 if unknown.
    pub prio: u8,
    /// That of `other`.
    pub other_prio: u8,
}

const _: () = assert!(size_of::<RawEvent>() == 24);

/// Losses found while decoding a processor's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Events that the kernel says are missing between pages.
    pub missed: u64,
    /// Invalid pages, and pages that report a loss without its size.
    pub gaps: u64,
    /// Switches that must have happened and were not recorded: another task had the processor than the last one switched to.
    /// Seen on a virtual machine (Linux 6.18) for threads of its first process, with no loss in any counter.
    pub torn: u64,
    /// Such switches whose time was recovered: the previous task was charged when it left, or the run time of the next one
    /// was recorded.
    pub mended: u64,
}

/// Decodes the pages of one processor.
#[derive(Debug)]
pub struct Decoder<'a> {
    layout: &'a Layout,
    /// Index into the layout's events by number of event, 255 for none.
    by_id: Vec<u8>,
    cpu: u16,
    /// Between these two the recording was made. Any other time is damage.
    begin: u64,
    end: u64,
    time: u64,
    /// The task that has the processor; none if unknown.
    running: Option<i32>,
    /// Something is missing before the next event, or nothing came before it.
    gap: Option<Gap>,
    /// The index of an unrecorded switch among the raw events, until its time is known.
    torn: Option<usize>,
    /// Time of the previous record, and whether it charged the task that has this processor, as the last record before a switch does.
    heard: (u64, bool),
    /// Whether charges are recorded.
    pub charges: bool,
    /// What went wrong.
    pub losses: Losses,
}

impl<'a> Decoder<'a> {
    /// A decoder for pages of that processor, the first one first, all of them from between two times.
    pub fn new(layout: &'a Layout, cpu: u16, (begin, end): (u64, u64)) -> Self {
        let length = layout.events.iter().map(|event| usize::from(event.id) + 1).max().unwrap_or(0);
        let mut by_id = vec![u8::MAX; length];
        for (index, event) in layout.events.iter().enumerate() {
            by_id[usize::from(event.id)] = index as u8;
        }
        Decoder {
            layout,
            by_id,
            cpu,
            begin,
            end,
            time: begin,
            running: None,
            gap: Some(Gap::Start),
            torn: None,
            heard: (begin, false),
            charges: false,
            losses: Losses::default(),
        }
    }

    /// Decodes one page and adds its events to `all`.
    pub fn page(&mut self, page: &[u8], all: &mut Vec<RawEvent>) {
        let Some(page) = Page::parse(&self.layout.head, page) else { return self.damaged() };
        if let Some(missed) = page.missed {
            self.missed(missed);
        }
        self.time = page.time;
        let mut records = page.records();
        for (time, record) in records.by_ref() {
            self.time = time;
            if self.record(record, all).is_none() {
                return self.damaged();
            }
        }
        if records.is_damaged {
            self.damaged();
        }
    }

    fn damaged(&mut self) {
        self.losses.gaps += 1;
        self.gap = Some(Gap::Lost);
    }

    fn missed(&mut self, count: Option<u64>) {
        self.gap = Some(Gap::Lost);
        match count {
            Some(count) => self.losses.missed = self.losses.missed.saturating_add(count),
            None => self.losses.gaps += 1,
        }
    }

    /// An event's data. What is not one of ours is passed over, one of ours that is too short is damage.
    #[inline]
    fn record(&mut self, data: &[u8], all: &mut Vec<RawEvent>) -> Option<()> {
        let id = self.layout.common_type.of(data)?;
        let index = usize::try_from(id).ok().and_then(|id| self.by_id.get(id));
        let layout = self.layout;
        let Some(event) = index.and_then(|&index| layout.events.get(usize::from(index))) else { return Some(()) };
        let happening = self.happening(event, data)?;
        if !(self.begin..=self.end).contains(&self.time) {
            return None;
        }
        let now_has = checked(event.common_pid.of(data)? as i32)?;
        if self.gap.is_none() && self.running.is_some_and(|running| running != now_has) {
            self.gap = Some(Gap::Switch);
        }
        if let Some(gap) = self.gap.take() {
            self.report_gap(gap, RawEvent { pid: now_has, other: 0, prio: u8::MAX, ..happening }, all);
        }
        // A processor may charge the running task of another one, as it puts a task into its runqueue (update_curr).
        let own = event.kind == EventKind::Runtime && happening.pid == now_has;
        self.heard = (self.time, own);
        if event.kind == EventKind::Runtime {
            let ran = event.fields[1].of(data)?;
            self.running = Some(now_has);
            if own {
                self.mend(now_has, ran as u64, all);
            }
            if self.charges {
                all.push(RawEvent { what: What::Charged, other: i32::try_from(ran).ok()?, ..happening });
            }
            return Some(());
        }
        if happening.what == What::Switch {
            self.torn = None;
        }
        self.running = Some(if happening.what == What::Switch { happening.other } else { now_has });
        all.push(happening);
        Some(())
    }

    /// `now` has the processor, and the switch to it was not recorded.
    fn report_gap(&mut self, gap: Gap, now: RawEvent, all: &mut Vec<RawEvent>) {
        let (heard, charged) = self.heard;
        let (what, time) = match gap {
            Gap::Start => (What::Start, now.time),
            Gap::Lost => (What::Gap, now.time),
            // The charge comes within a microsecond of the switch.
            Gap::Switch if charged => (What::Mended, heard),
            Gap::Switch => (What::Torn, heard),
        };
        self.losses.torn += u64::from(what == What::Torn);
        self.losses.mended += u64::from(what == What::Mended);
        self.torn = (what == What::Torn).then_some(all.len());
        all.push(RawEvent { time, what, ..now });
    }

    /// The run time of the running task since its switch-in: if that switch was not recorded, this gives its time.
    fn mend(&mut self, pid: i32, ran: u64, all: &mut [RawEvent]) {
        let Some(at) = self.torn.take() else { return };
        let [before @ .., torn] = &mut all[..=at] else { return };
        if torn.pid == pid {
            let earliest = before.last().map_or(self.begin, |last| last.time);
            torn.time = self.time.saturating_sub(ran).max(earliest);
            torn.what = What::Mended;
            self.losses.torn -= 1;
            self.losses.mended += 1;
        }
    }

    #[inline]
    fn happening(&self, event: &EventLayout, data: &[u8]) -> Option<RawEvent> {
        let number = |i: usize| event.fields[i].of(data);
        let pid = |i: usize| checked(i32::try_from(number(i)?).ok()?);
        let prio = |i: usize| Some(u8::try_from(number(i)?).unwrap_or(u8::MAX));
        let processor = |i: usize| Some(u16::try_from(number(i)?).unwrap_or(u16::MAX));
        let mut it = RawEvent {
            time: self.time,
            pid: pid(0)?,
            other: 0,
            cpu: self.cpu,
            there: self.cpu,
            what: What::Waking,
            leave: Leave::Blocked,
            prio: u8::MAX,
            other_prio: u8::MAX,
        };
        match event.kind {
            EventKind::Switch => {
                (it.what, it.other, it.leave) = (What::Switch, pid(3)?, self.leave(number(2)?));
                (it.prio, it.other_prio) = (prio(1)?, prio(4)?);
            }
            EventKind::Waking => (it.other, it.prio, it.there) = (waker(event, data)?, prio(1)?, processor(2)?),
            EventKind::Woken => (it.what, it.prio, it.there) = (What::Woken, prio(1)?, processor(2)?),
            EventKind::New => {
                (it.what, it.other, it.prio, it.there) = (What::New, waker(event, data)?, prio(1)?, processor(2)?);
            }
            EventKind::Migrate => {
                (it.what, it.other, it.there) = (What::Migrate, processor(1)?.into(), processor(2)?);
            }
            EventKind::Runtime => {}
            EventKind::Fork => (it.what, it.other) = (What::Fork, pid(1)?),
        }
        Some(it)
    }

    /// Why a task left. Linux does not distinguish a task that yielded, whose slice ended, and one that was preempted:
    /// its own count of involuntary switches has all of them, and so have we.
    fn leave(&self, state: i64) -> Leave {
        match self.layout.states.left(state) {
            Left::Runnable => Leave::Preempted,
            Left::Dead => Leave::Exited,
            _ => Leave::Blocked,
        }
    }
}

/// What wakes a task: the current task, unless in an interrupt.
#[inline]
fn waker(event: &EventLayout, data: &[u8]) -> Option<i32> {
    match Context::of_flags(event.common_flags.of(data)?) {
        Context::Task => checked(event.common_pid.of(data)? as i32),
        _ => Some(IN_INTERRUPT),
    }
}

/// A number that a kernel gives to tasks.
fn checked(pid: i32) -> Option<i32> {
    (0..=MOST_TASKS).contains(&pid).then_some(pid)
}
