//! # cfq
//!
//! Promises every task that waits for the drive a slice of the drive's time, by its level.
//!
//! ## The idea
//!
//!     Every task has a queue for its reads and the writes it waits for; write-back of each level shares a queue. One
//!     queue at a time is active: it has the drive for its slice, up to quantum requests a round, the nearest first,
//!     but once a slice the oldest if that has expired. When it is empty and its task usually sends its next request soon,
//!     the drive waits slice_idle for it, although others have requests.
//!     Levels are served in the order 0; 0 1; 0 1 2; ...; 0 1 ... 7: a lower number is served more often. Real-time queues
//!     join those of the level being served, so that no other level is; idle ones are served a request at a time when no
//!     other queue had one for 100 ms.
//!
//! ## The formula
//!
//!     slice        =  base + base / 5 * (4 - level)         base = slice_sync or slice_async
//!     write-back   =  2 * (slice_async_rq + slice_async_rq * (7 - level)) requests a turn, at most
//!     waits        if  mean think time <= slice_idle,  from about three requests on; else as before
//!     wait         =  slice_idle;  2 ms if the mean seek is over 64 MiB
//!
//! ## A schedule
//!
//! Two tasks of level 4 that read one file each, block after block:
//!
//! ```text
//! a  100 ms   b  100 ms   a  100 ms   b  100 ms
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic in the task's requests, linear in the tasks that have any.
//!
//! ## Good for, not for
//!
//! Desktops with drives with heads, and `ionice`. Not for drives that take many requests at a time: it gives them those of
//! one task.
//!
//! ## Departures
//!
//! - Times are compared to the nanosecond; the kernel's clock has ticks.
//! - The next request by position is chosen when it is needed; the kernel keeps a candidate, which a request that comes
//!   in later, or a queue that was absent, can make suboptimal.
//! - A wait for the task ends when it was to end; in the kernel every attempt to dispatch meanwhile begins it anew.
//! - The kernel's rules that a queue preempts another when it was being waited for, and that it then gets half a slice,
//!   never take effect there (the mark is cleared before it is checked, and the slice is set anew), and are left out. A
//!   request preempts an idle queue only.
//! - Metadata is not distinguished, and no task is boosted while it holds a lock of the file system.
//!
//! ## References
//!
//! - Linux 2.6.20, block/cfq-iosched.c, cfq_select_queue, cfq_set_active_queue, cfq_get_next_prio_level,
//!   __cfq_dispatch_requests, cfq_arm_slice_timer, cfq_update_idle_window; block/elevator.c, elv_dispatch_sort.
//!
//! Long, because the page and the rule belong in one file.

use super::{
    Context, Device, Elevator, Entry, Next,
    kit::arrivals::Links,
    kit::habits::{Seeks, Thinking},
    kit::knobs::{count, period, time},
    kit::nearest::{BACK_PENALTY, nearest},
    kit::owners::{is_sync, own, queue_of, waited_for},
    kit::queue::Queue,
    kit::turns::Turns,
};
use schedlab_model::{
    MILLISECOND, Nanos,
    info::{Info, Params, Promise, Reach},
    request::{IoClass, Request, RequestId, Sector},
    task::TaskId,
};
use std::collections::VecDeque;

/// How far back a queue may go, 16 MiB.
const BACK_MAX: Sector = 16 * 1024 * 2;
/// Without requests of others for so long, the idle class is served; CFQ_IDLE_GRACE.
const GRACE: Nanos = 100 * MILLISECOND;
/// A task that seeks further on average is not worth a long wait; CIC_SEEKY.
const SEEKY: Sector = 128 * 1024;
const SEEKY_WAIT: Nanos = 2 * MILLISECOND;
/// With more requests than this in the drive, it is taken to queue them itself.
const QUEUES_ITSELF: u32 = 4;
/// The requests of a task, or the write-back of a level.
#[derive(Debug, Default)]
struct Account {
    requests: Queue,
    class: IoClass,
    level: u8,
    in_flight: u32,
    /// Whether it may be waited for.
    worth_waiting: bool,
    /// Never served yet.
    new: bool,
    exited: bool,
    thinking: Thinking,
    seeks: Seeks,
}

/// The queue being served.
#[derive(Debug)]
struct Active {
    account: usize,
    /// Set by its first dispatch.
    ends: Option<Nanos>,
    dispatched: u64,
    /// The oldest request has been looked at.
    looked_at_oldest: bool,
    /// It was waited for, and may dispatch though its slice is over.
    must_dispatch: bool,
    /// Until when the drive waits for it.
    waits: Option<Nanos>,
}

/// Slices of the drive's time by task.
#[derive(Debug)]
pub struct Cfq {
    fifo_expire: [Nanos; 2],
    slice: [Nanos; 2],
    slice_async_rq: u64,
    slice_idle: Nanos,
    quantum: u64,
    accounts: Vec<Account>,
    turns: Turns,
    links: Links,
    active: Option<Active>,
    /// Handed over for the drive, in the order in which it takes them.
    ready: VecDeque<RequestId>,
    /// Where the last of them ends.
    position: Sector,
    queued: u32,
    in_drive: u32,
    drive_queues: bool,
    /// When the last request not of the idle class was completed.
    last_completed: Nanos,
}

impl Cfq {
    /// The account of a new request, made or brought up to date.
    fn account(&mut self, now: Nanos, request: &Request) -> usize {
        let at = queue_of(request);
        while self.accounts.len() <= at {
            let thinking = Thinking { since: now, ..Thinking::default() };
            self.accounts.push(Account { worth_waiting: true, new: true, thinking, ..Account::default() });
        }
        let account = &mut self.accounts[at];
        (account.class, account.level) = (request.class, request.level.min(7));
        account.worth_waiting &= account.class != IoClass::Idle;
        at
    }

    fn file(&mut self, at: usize) {
        let account = &self.accounts[at];
        let accounts = &self.accounts;
        self.turns
            .file(at, account.class, account.level, account.in_flight > 0, account.new, |other| accounts[other].new);
    }

    fn expire(&mut self) {
        if let Some(active) = self.active.take() {
            let account = &mut self.accounts[active.account];
            account.new = false;
            if !account.requests.is_empty() {
                self.file(active.account);
            }
        }
    }

    /// Waits for the active task, if that may pay.
    fn wait(&mut self, now: Nanos) -> Option<Nanos> {
        let active = self.active.as_mut()?;
        let account = &self.accounts[active.account];
        if self.slice_idle == 0 || !account.worth_waiting || account.exited {
            return None;
        }
        let seeky = account.seeks.distance.valid() && account.seeks.distance.mean() > SEEKY;
        let wait = if seeky { self.slice_idle.min(SEEKY_WAIT) } else { self.slice_idle };
        active.must_dispatch = true;
        active.waits = Some(now + wait);
        active.waits
    }

    /// The wait is over: the task has come back, or has not.
    fn waited(&mut self, now: Nanos) {
        let Some(active) = self.active.as_mut().filter(|active| active.waits.is_some_and(|waits| waits <= now)) else {
            return;
        };
        active.waits = None;
        let over = active.ends.is_some_and(|ends| now > ends);
        if over || self.accounts[active.account].requests.is_empty() {
            self.expire();
        }
    }

    /// Makes sure of an active queue with requests, or says what to wait for.
    fn select(&mut self, now: Nanos) -> Result<usize, Next> {
        self.waited(now);
        if let Some(active) = &self.active {
            let account = &self.accounts[active.account];
            let over = !active.must_dispatch && active.ends.is_some_and(|ends| now > ends);
            if !over && !account.requests.is_empty() {
                return Ok(active.account);
            } else if !over && account.in_flight > 0 {
                return Err(Next::Nothing);
            } else if !over && let Some(waits) = active.waits {
                return Err(Next::Until(waits));
            } else if !over
                && waited_for(active.account)
                && let Some(waits) = self.wait(now)
            {
                return Err(Next::Until(waits));
            }
            self.expire();
        }
        let calm = self.last_completed + GRACE;
        let account = match self.turns.next() {
            Some(account) => account,
            None if !self.turns.idle.is_empty() && now < calm => return Err(Next::Until(calm)),
            None => *self.turns.idle.front().ok_or(Next::Nothing)?,
        };
        self.active = Some(Active {
            account,
            ends: None,
            dispatched: 0,
            looked_at_oldest: false,
            must_dispatch: false,
            waits: None,
        });
        Ok(account)
    }

    /// The request of the active queue that is next.
    fn choose(&mut self, cx: &Context<'_>, at: usize) -> RequestId {
        let (account, active) = (&self.accounts[at], self.active.as_mut().expect("a queue is active"));
        let oldest = account.requests.oldest().expect("it has requests");
        let expire = self.fifo_expire[usize::from(!waited_for(at))];
        if !active.looked_at_oldest && cx.now > cx.request(oldest).arrived + expire {
            active.looked_at_oldest = true;
            return oldest;
        }
        nearest(&account.requests.sorted, self.position, BACK_MAX, BACK_PENALTY).expect("it has requests")
    }

    /// Hands over a round of the active queue.
    fn round(&mut self, cx: &Context<'_>, at: usize) {
        let idle_class = self.accounts[at].class == IoClass::Idle;
        for _ in 0..if idle_class { 1 } else { self.quantum } {
            let id = self.choose(cx, at);
            self.hand_over(cx, at, id);
            if self.accounts[at].requests.is_empty() {
                self.turns.remove(at);
                break;
            }
        }
        let (account, way) = (&self.accounts[at], usize::from(!waited_for(at)));
        let level = u64::from(account.level);
        let slice = self.slice[way] + self.slice[way] / 5 * 4 - self.slice[way] / 5 * level;
        let active = self.active.as_mut().expect("a queue is active");
        active.ends.get_or_insert(cx.now + slice);
        let spent = !waited_for(at) && active.dispatched >= 2 * self.slice_async_rq * (8 - level);
        if spent || idle_class || !account.worth_waiting {
            self.expire();
        }
    }

    /// Hands over rounds: one, if its task may be waited for and so has the drive to itself; else of one queue after
    /// the other.
    fn fill(&mut self, cx: &Context<'_>) -> Result<(), Next> {
        let mut last = None;
        while self.queued > 0 {
            let at = match self.select(cx.now) {
                Ok(at) if last != Some(at) => at,
                Err(wait) if self.ready.is_empty() => return Err(wait),
                _ => break,
            };
            self.round(cx, at);
            if self.accounts[at].worth_waiting && self.active.is_some() {
                break;
            }
            last = Some(at);
        }
        Ok(())
    }

    /// Takes a request out of its queue and sorts it into those that the drive will get, as one sweep up from the
    /// heads.
    fn hand_over(&mut self, cx: &Context<'_>, at: usize, id: RequestId) {
        let account = &mut self.accounts[at];
        account.requests.remove(cx, &mut self.links, id);
        account.in_flight += 1;
        self.queued -= 1;
        if let Some(active) = &mut self.active {
            active.dispatched += 1;
            active.must_dispatch = false;
            active.waits = None;
        }
        let key = |id: RequestId| {
            let first = cx.request(id).first;
            (first < cx.head, first)
        };
        let way = cx.request(id).direction;
        let behind = self.ready.iter().rposition(|&other| cx.request(other).direction != way || key(other) <= key(id));
        self.ready.insert(behind.map_or(0, |behind| behind + 1), id);
        let last = self.ready.back().map(|&last| cx.request(last).end());
        self.position = last.unwrap_or(self.position);
    }

    /// Whether the active queue is preempted by that request: only one of the idle class is.
    fn preempts(&self, request: &Request) -> bool {
        let serving = self.active.as_ref().map(|active| self.accounts[active.account].class);
        serving == Some(IoClass::Idle) && request.class != IoClass::Idle
    }

    /// Looks again whether the task is worth waiting for.
    fn learn(&mut self, now: Nanos, at: usize, request: &Request) {
        let account = &mut self.accounts[at];
        account.thinking.time.add((now - account.thinking.since.min(now)).min(2 * self.slice_idle));
        account.seeks.add(request);
        if account.exited || self.slice_idle == 0 || self.drive_queues && account.seeks.distance.mean() > SEEKY {
            account.worth_waiting = false;
        } else if account.thinking.time.valid() {
            account.worth_waiting = account.thinking.time.mean() <= self.slice_idle;
        }
    }
}

impl Entry for Cfq {
    const INFO: Info = Info {
        name: "cfq",
        summary: "slices of the drive's time for every task, by level, with waiting for its next request: Linux 2.6",
        year: 2003,
        origin: "Jens Axboe, Linux 2.6",
        promises: &[Promise::FairToEquals(Reach::Everywhere)],
        parameters: &[
            period("slice_sync", "slice of a task of level 4", "100ms", Some("slice_sync")),
            period("slice_async", "slice of the write-back of level 4", "40ms", Some("slice_async")),
            count("slice_async_rq", "share of requests of a write-back slice", 1, "2", Some("slice_async_rq")),
            time("slice_idle", "how long the drive waits for a task's next request", "8ms", Some("slice_idle")),
            count("quantum", "requests of a round", 1, "4", Some("quantum")),
            period(
                "fifo_expire_sync",
                "after this long a read is urgent within its queue",
                "125ms",
                Some("fifo_expire_sync"),
            ),
            period(
                "fifo_expire_async",
                "after this long write-back is urgent within its queue",
                "250ms",
                Some("fifo_expire_async"),
            ),
        ],
        source: schedlab_model::documentation!("cfq.rs"),
    };

    fn new(params: &Params, _: &Device) -> Self {
        Cfq {
            fifo_expire: [params.whole("fifo_expire_sync"), params.whole("fifo_expire_async")],
            slice: [params.whole("slice_sync"), params.whole("slice_async")],
            slice_async_rq: params.whole("slice_async_rq"),
            slice_idle: params.whole("slice_idle"),
            quantum: params.whole("quantum"),
            accounts: Vec::new(),
            turns: Turns::default(),
            links: Links::default(),
            active: None,
            ready: VecDeque::new(),
            position: 0,
            queued: 0,
            in_drive: 0,
            drive_queues: false,
            last_completed: 0,
        }
    }
}

impl Elevator for Cfq {
    fn merges(&self, cx: &Context<'_>, queued: RequestId, new: &Request) -> bool {
        queue_of(cx.request(queued)) == queue_of(new) && !self.ready.contains(&queued)
    }

    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        let request = cx.request(id);
        let at = self.account(cx.now, request);
        let first_one = self.accounts[at].requests.is_empty();
        self.accounts[at].requests.insert(cx, &mut self.links, id);
        self.queued += 1;
        if first_one {
            self.file(at);
        }
        let active = self.active.as_mut();
        if !is_sync(request) {
            // The task that is waited for writes, and so will not read soon.
            if active.is_some_and(|active| active.waits.is_some() && active.account == own(request.owner)) {
                self.expire();
            }
            return;
        }
        if let Some(active) = active.filter(|active| active.account == at) {
            active.waits = None;
        } else if self.preempts(request) {
            self.expire();
            self.turns.front(at);
        }
        self.learn(cx.now, at, request);
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.accounts[queue_of(cx.request(id))].requests.grown(cx, id, began);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        if self.ready.is_empty()
            && let Err(wait) = self.fill(cx)
        {
            return wait;
        }
        let Some(id) = self.ready.pop_front() else { return Next::Nothing };
        self.in_drive += 1;
        self.drive_queues |= self.in_drive > QUEUES_ITSELF;
        Next::Serve(id)
    }

    fn completed(&mut self, cx: &Context<'_>, id: RequestId, _: Nanos) {
        let request = cx.request(id);
        let at = queue_of(request);
        self.in_drive -= 1;
        let account = &mut self.accounts[at];
        account.in_flight -= 1;
        let (empty, calm) = (account.requests.is_empty(), account.in_flight == 0);
        if account.class != IoClass::Idle {
            self.last_completed = cx.now;
        }
        account.thinking.since = cx.now;
        if calm && !empty {
            self.file(at);
        }
        if let Some(active) = self.active.as_ref().filter(|active| active.account == at) {
            if active.ends.is_some_and(|ends| cx.now > ends) {
                self.expire();
            } else if empty && waited_for(at) {
                self.wait(cx.now);
            }
        }
    }

    fn exited(&mut self, _: &Context<'_>, task: TaskId) {
        let at = own(task);
        if let Some(account) = self.accounts.get_mut(at) {
            account.exited = true;
            if self.active.as_ref().is_some_and(|active| active.account == at) {
                self.expire();
            }
        }
    }
}
