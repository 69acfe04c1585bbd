//! # anticipatory
//!
//! Promises a task that reads one block after the other exclusive use of the drive for a while, and all other tasks
//! service before their expiry or the end of the batch.
//!
//! ## The idea
//!
//!     Reads, with synchronous writes, and write-back alternate in batches: reads for read_batch_expire while
//!     others wait, write-back for a number of requests that is tuned to take write_batch_expire. Within a batch, the
//!     nearest is next, ahead or a little back; but at most once in an expiry, the oldest if that has expired. After a
//!     read has been served, the drive does not seek to another task's position at once: it waits antic_expire for the next
//!     read of the same task, unless that task has other requests, has ended, has a longer mean think time, or the next
//!     request is close anyway. So one read at a time is in the drive.
//!
//! ## The formula
//!
//!     close        =  last - delta / 2  <=  next  <=  last + delta,   or  |next - last| < mean seek of the task
//!     delta        =  8192 sectors * 2^(whole ms waited so far)
//!     write batch  *= 2 or += 1   if it took less than a third of, or less than write_batch_expire
//!                  /= 2 or -= 1   if it took more than three times, or more than write_batch_expire
//!
//! last: where the last read ended; next: where the candidate begins; mean seek: of the task's reads so far, or of new
//! tasks' first ones.
//!
//! ## A schedule
//!
//! A reads block after block and thinks 2 ms after each; B reads anywhere, always. (a, b: in the drive; -: waiting for
//! A.)
//!
//! ```text
//! a--a--a--a-- ... a--b a--a--a-- ...          B is served once in 125 ms, when its read has expired
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! A drive with heads and several tasks that read files. Not for drives without heads or with many, and not for databases:
//! random reads of many tasks are delayed by waits in vain until the tasks' history ends these.
//!
//! ## Departures
//!
//! - Times are compared to the nanosecond, and antic_expire is a hundred-and-fiftieth of a second; with the kernel's
//!   ticks of 4 ms it is one tick.
//! - The next request by position is chosen when it is needed; the kernel keeps a candidate.
//! - The kernel's estimate of how likely a task ends while it is waited for is left out: it concerns tasks in their first
//!   request only. Instead, the mean think time of new tasks decides, as in the kernel.
//! - When reads are still in the drive as their batch ends, the kernel does not set the end of the batch of write-back
//!   that follows, so that this is over at once if reads wait, and write-back starves on drives that take several
//!   requests. Here the batch gets its time.
//! - As in the kernel, the direction of a batch is decided by whether a task waits for the request, not by read or write.
//!
//! ## References
//!
//! - S. Iyer, P. Druschel: Anticipatory scheduling: a disk scheduling framework to overcome deceptive idleness in
//!   synchronous I/O, SOSP 2001.
//! - Linux 2.6.20, block/as-iosched.c, as_dispatch_request, as_can_break_anticipation, as_close_req,
//!   update_write_batch.
//!
//! Long, because the page and the rule belong in one file.

use super::{
    Context, Device, Elevator, Entry, Next,
    kit::arrivals::Links,
    kit::habits::{Fading, Seeks, Thinking},
    kit::knobs::{READ_EXPIRE, WRITE_EXPIRE, period, time},
    kit::nearest::{BACK_PENALTY, nearest},
    kit::owners::is_sync,
    kit::queue::Queue,
};
use schedlab_model::{
    MILLISECOND, Nanos,
    event::NO_TASK,
    info::{Info, Parameter, Params, Promise, Reach},
    request::{Request, RequestId, Sector},
    task::TaskId,
};

/// How far back the heads may go; MAXBACK.
const BACK_MAX: Sector = 1024 * 1024;
/// Longer thoughts are cut to this; MAX_THINKTIME.
const LONGEST_THOUGHT: Nanos = 20 * MILLISECOND;
/// What is close when nothing has been waited yet.
const CLOSE: Sector = 8192;
/// Requests of the first batch of write-back: a tenth of its time in ticks, at 1000 ticks a second.
const FIRST_WRITE_BATCH: u64 = 12;

/// What kind of batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Async,
    Sync,
}
use Kind::{Async, Sync};

fn kind_of(request: &Request) -> Kind {
    if is_sync(request) { Sync } else { Async }
}

/// A task that has had requests.
#[derive(Debug, Default)]
struct Reader {
    queued: u32,
    in_drive: u32,
    /// It has had a read before.
    started: bool,
    exited: bool,
    thinking: Thinking,
    seeks: Seeks,
}

/// Whether the drive waits for a task's next read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// No.
    Off,
    /// It will when the task's read has been served.
    ForCompletion,
    /// It does.
    ForNext,
    /// It has, and the next request is served whatever it is.
    Over,
}

/// Batches of reads and of write-back, with a wait for the next read of the same task.
#[derive(Debug)]
pub struct Anticipatory {
    expire: [Nanos; 2],
    batch_expire: [Nanos; 2],
    antic_expire: Nanos,
    queues: [Queue; 2],
    links: Links,
    readers: Vec<Reader>,
    /// Think times and seeks of tasks at their second read.
    new_thinking: Fading,
    new_seeks: Fading,
    /// Where the last request of each kind ended.
    position: [Sector; 2],
    last_check: [Nanos; 2],
    kind: Kind,
    batch_ends: Nanos,
    /// The kind has changed, and the last batch's requests are still in the drive.
    changed: bool,
    /// A batch of reads begins when its first one has been served.
    unstarted: bool,
    write_batch: u64,
    writes_left: u64,
    /// The batch of write-back ran out of requests, so that its time says nothing.
    write_batch_idled: bool,
    wait: Wait,
    wait_began: Nanos,
    /// The task whose read was the last request.
    reader: Option<TaskId>,
    /// It has been served.
    reader_served: bool,
    in_drive: u32,
}

impl Anticipatory {
    fn reader(&mut self, task: TaskId) -> Option<&mut Reader> {
        if task == NO_TASK {
            return None;
        }
        let at = task as usize;
        if at >= self.readers.len() {
            self.readers.resize_with(at + 1, Reader::default);
        }
        Some(&mut self.readers[at])
    }

    /// Notes the think time and the seek that lead to this read.
    fn learn(&mut self, now: Nanos, task: TaskId, request: &Request) {
        let Some(reader) = self.reader(task) else { return };
        if reader.started {
            let idle = reader.queued + reader.in_drive == 0;
            let thought = if idle { (now - reader.thinking.since).min(LONGEST_THOUGHT) } else { 0 };
            let first = !reader.thinking.time.any();
            reader.thinking.time.add(thought);
            reader.seeks.add(request);
            let seek = reader.seeks.distance.mean();
            if first {
                self.new_thinking.add(thought);
                self.new_seeks.add(seek);
            }
        } else {
            reader.started = true;
            reader.seeks.begin(request);
        }
    }

    /// Whether going there costs little, or no more than what is waited for.
    fn close(&self, now: Nanos, reader: &Reader, next: Sector) -> bool {
        let waited = if self.wait == Wait::Off || !self.reader_served { 0 } else { now - self.wait_began };
        let milliseconds = waited / MILLISECOND;
        if milliseconds > 20 || waited > self.antic_expire {
            return true;
        }
        let (delta, last) = (CLOSE << milliseconds, self.position[self.kind as usize]);
        let seek = if reader.seeks.distance.any() { reader.seeks.distance } else { self.new_seeks };
        (last <= next + delta / 2 && next <= last + delta) || seek.mean() > last.abs_diff(next)
    }

    /// Whether waiting for the task whose read was last is of no use, or no longer.
    fn breaks(&mut self, cx: &Context<'_>, candidate: Option<RequestId>) -> bool {
        let Some(task) = self.reader else { return true };
        let candidate = candidate.map(|id| cx.request(id));
        if candidate.is_some_and(|request| request.owner == task)
            || self.reader_served && cx.now >= self.wait_began + self.antic_expire
        {
            return true;
        }
        let reader = &self.readers[task as usize];
        if reader.queued + reader.in_drive - u32::from(!self.reader_served) > 0 {
            return true;
        }
        if let Some(request) = candidate.filter(|request| kind_of(request) == Sync)
            && self.close(cx.now, reader, request.first)
        {
            self.learn(cx.now, task, request); // a task that works in the same place counts as the one waited for
            return true;
        }
        let think = if reader.thinking.time.any() { reader.thinking.time } else { self.new_thinking };
        reader.exited || think.mean() > self.antic_expire
    }

    /// Whether the drive is to wait rather than serve the candidate.
    fn anticipates(&mut self, cx: &Context<'_>, candidate: Option<RequestId>) -> bool {
        self.antic_expire > 0 && self.wait != Wait::Over && !self.breaks(cx, candidate)
    }

    fn stop_waiting(&mut self) {
        if matches!(self.wait, Wait::ForCompletion | Wait::ForNext) {
            self.wait = Wait::Over;
        }
    }

    /// The oldest of the kind, if it has expired and there was no check for one expiry.
    fn expired(&mut self, cx: &Context<'_>, kind: Kind) -> Option<RequestId> {
        let way = kind as usize;
        if cx.now < self.last_check[way] + self.expire[way] {
            return None;
        }
        self.last_check[way] = cx.now;
        self.queues[way].oldest().filter(|&id| cx.now > cx.request(id).arrived + self.expire[way])
    }

    fn batch_expired(&self, now: Nanos) -> bool {
        !self.changed && !self.unstarted && (now > self.batch_ends || self.kind == Async && self.writes_left == 0)
    }

    fn nearest(&self, kind: Kind) -> Option<RequestId> {
        nearest(&self.queues[kind as usize].sorted, self.position[kind as usize], BACK_MAX, BACK_PENALTY)
    }

    /// Makes the next batch of write-back as long as it takes to fill its time.
    fn tune(&mut self, now: Nanos) {
        let (batch, took) = (self.batch_expire[Async as usize], now + self.batch_expire[Async as usize]);
        let took = took.saturating_sub(self.batch_ends);
        if took > batch && !self.write_batch_idled {
            self.write_batch = if took > 3 * batch { self.write_batch / 2 } else { self.write_batch - 1 };
        } else if took < batch && self.writes_left == 0 {
            self.write_batch = if batch > 3 * took { self.write_batch * 2 } else { self.write_batch + 1 };
        }
        self.write_batch = self.write_batch.max(1);
    }

    /// The request to go on with in the batch that runs; an error if the drive is to wait.
    fn continued(&mut self, cx: &Context<'_>, reads: bool, writes: bool) -> Result<Option<RequestId>, ()> {
        if reads && writes && self.batch_expired(cx.now) {
            return Ok(None);
        }
        let next = self.nearest(self.kind);
        if self.kind == Sync {
            if let Some(expired) = self.expired(cx, Sync) {
                return Ok(Some(expired));
            }
            if self.anticipates(cx, next) {
                return Err(());
            }
        }
        if next.is_some() && reads && !writes {
            self.batch_ends = cx.now + self.batch_expire[Sync as usize];
        }
        Ok(next.map(|id| self.expired(cx, self.kind).unwrap_or(id)))
    }

    /// The first request of a batch of the other kind, or of the only one that there is.
    fn new_batch(&mut self, cx: &Context<'_>, reads: bool, writes: bool) -> RequestId {
        let kind = if reads && !(writes && self.kind == Sync) { Sync } else { Async };
        if self.kind != kind {
            self.changed = true;
            self.unstarted = false;
        }
        self.kind = kind;
        if kind == Sync {
            self.last_check[Sync as usize] = cx.now;
            return self.queues[Sync as usize].oldest().expect("there are reads");
        }
        self.writes_left = self.write_batch;
        self.write_batch_idled = false;
        let next = self.nearest(Async).expect("there is write-back");
        self.expired(cx, Async).unwrap_or(next)
    }

    fn take(&mut self, cx: &Context<'_>, id: RequestId) -> Next {
        let request = cx.request(id);
        let kind = kind_of(request);
        self.wait = Wait::Off;
        self.queues[kind as usize].remove(cx, &mut self.links, id);
        self.position[kind as usize] = request.end();
        self.reader = None;
        if kind == Async {
            self.writes_left = self.writes_left.saturating_sub(1);
        }
        if let Some(reader) = self.reader(request.owner) {
            reader.queued -= 1;
            reader.in_drive += 1;
            self.reader = (kind == Sync).then_some(request.owner);
        }
        self.reader_served = false;
        self.in_drive += 1;
        Next::Serve(id)
    }
}

const fn knob(like: Parameter, default: &'static str) -> Parameter {
    Parameter { default: Some(default), ..like }
}

impl Entry for Anticipatory {
    const INFO: Info = Info {
        name: "anticipatory",
        summary: "batches of reads and writes, and a short wait for the next read of the same task: Linux 2.6",
        year: 2003,
        origin: "Nick Piggin, Linux 2.6, after S. Iyer and P. Druschel",
        promises: &[Promise::StarvationFree(Reach::Everywhere)],
        parameters: &[
            knob(READ_EXPIRE, "125ms"),
            knob(WRITE_EXPIRE, "250ms"),
            period(
                "read_batch_expire",
                "how long reads go on while write-back waits",
                "500ms",
                Some("read_batch_expire"),
            ),
            period(
                "write_batch_expire",
                "how long a batch of write-back shall take",
                "125ms",
                Some("write_batch_expire"),
            ),
            time("antic_expire", "how long the drive waits for a task's next read", "6666667ns", Some("antic_expire")),
        ],
        source: schedlab_model::documentation!("anticipatory.rs"),
    };

    fn new(params: &Params, _: &Device) -> Self {
        Anticipatory {
            expire: [params.whole("write_expire"), params.whole("read_expire")],
            batch_expire: [params.whole("write_batch_expire"), params.whole("read_batch_expire")],
            antic_expire: params.whole("antic_expire"),
            queues: Default::default(),
            links: Links::default(),
            readers: Vec::new(),
            new_thinking: Fading::default(),
            new_seeks: Fading::default(),
            position: [0; 2],
            last_check: [0; 2],
            kind: Sync,
            batch_ends: params.whole("read_batch_expire"),
            changed: false,
            unstarted: false,
            write_batch: FIRST_WRITE_BATCH,
            writes_left: 0,
            write_batch_idled: false,
            wait: Wait::Off,
            wait_began: 0,
            reader: None,
            reader_served: false,
            in_drive: 0,
        }
    }
}

impl Elevator for Anticipatory {
    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        let request = cx.request(id);
        let kind = kind_of(request);
        if kind == Sync {
            self.learn(cx.now, request.owner, request);
        }
        if let Some(reader) = self.reader(request.owner) {
            reader.queued += 1;
        }
        self.queues[kind as usize].insert(cx, &mut self.links, id);
        if matches!(self.wait, Wait::ForCompletion | Wait::ForNext) && self.breaks(cx, Some(id)) {
            self.stop_waiting();
        }
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.queues[kind_of(cx.request(id)) as usize].grown(cx, id, began);
    }

    fn merges(&self, cx: &Context<'_>, queued: RequestId, new: &Request) -> bool {
        kind_of(cx.request(queued)) == kind_of(new)
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        if self.wait == Wait::ForNext && cx.now >= self.wait_began + self.antic_expire {
            self.wait = Wait::Over;
        }
        let [writes, reads] = [Async, Sync].map(|kind| !self.queues[kind as usize].is_empty());
        if self.kind == Async && !reads && (self.writes_left == 0 || !writes) {
            self.write_batch_idled = true;
        }
        match self.wait {
            _ if !reads && !writes => return Next::Nothing,
            Wait::ForNext => return Next::Until(self.wait_began + self.antic_expire),
            Wait::ForCompletion => return Next::Nothing,
            _ if self.changed && self.in_drive > 0 => return Next::Nothing,
            _ => {}
        }
        let Ok(next) = self.continued(cx, reads, writes) else {
            if self.reader_served {
                self.wait = Wait::ForNext;
                return Next::Until(self.wait_began + self.antic_expire);
            }
            self.wait = Wait::ForCompletion;
            return Next::Nothing;
        };
        let id = next.unwrap_or_else(|| self.new_batch(cx, reads, writes));
        if self.changed {
            if self.in_drive > 0 {
                return Next::Nothing;
            }
            self.changed = false;
            if self.kind == Async {
                self.batch_ends = cx.now + self.batch_expire[Async as usize];
            } else {
                self.unstarted = true;
            }
        }
        self.take(cx, id)
    }

    fn completed(&mut self, cx: &Context<'_>, id: RequestId, _: Nanos) {
        let request = cx.request(id);
        let kind = kind_of(request);
        if self.changed && self.in_drive == 1 {
            self.changed = false;
            self.unstarted = self.kind == Sync;
            if self.kind == Async {
                self.batch_ends = cx.now + self.batch_expire[Async as usize];
            }
        }
        self.in_drive -= 1;
        if self.unstarted && self.kind == kind {
            self.tune(cx.now);
            self.batch_ends = cx.now + self.batch_expire[Sync as usize];
            self.unstarted = false;
        }
        if self.reader == Some(request.owner) && self.reader.is_some() {
            self.wait_began = cx.now;
            self.reader_served = true;
            if self.wait == Wait::ForCompletion {
                self.wait = Wait::ForNext;
            }
        }
        if let Some(reader) = self.reader(request.owner) {
            reader.in_drive -= 1;
            if kind == Sync {
                reader.thinking.since = cx.now;
            }
        }
    }

    fn exited(&mut self, _: &Context<'_>, task: TaskId) {
        if let Some(reader) = self.readers.get_mut(task as usize) {
            reader.exited = true;
        }
    }
}
