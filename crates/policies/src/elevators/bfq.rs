//! # bfq
//!
//! Promises every task that waits for the drive sectors in proportion to its weight, and a task that becomes active again
//! after a pause the drive almost at once.
//!
//! ## The idea
//!
//!     Queues as in cfq: one for each task, one of write-back for each level. The queue in service has the drive until
//!     it has used its budget of sectors or timeout_sync has passed. Virtual time decides which queue is next: each gets
//!     sectors in proportion to its weight, however large its budgets are; budgets only limit how long it is served
//!     without interruption. A queue that uses its budget up gets a larger one, a queue whose task thinks gets a smaller
//!     one. A queue that is slow, because it seeks, is charged its time instead. When the queue in service is empty, the
//!     drive waits slice_idle for its task, if that keeps the heads where they are, or if others of less weight would take
//!     this queue's share.
//!     With low_latency, a queue that is new or comes back after 2 s counts 30 times its weight for some seconds, and
//!     one that takes little and pauses after each batch, 3000 times for 300 ms at a time; but none of eight or more
//!     that are created together.
//!
//! ## The formula
//!
//!     weight    =  10 * (8 - level) * factor                  factor 1, 30 or 3000
//!     V         += sectors / (sum of weights);   S = max(V, F),  F = S + budget / weight;   next: S <= V, least F
//!     budget    *= 4 if used up;  * 2 if timed out, or empty with requests in the drive;
//!               -= 4 min if the task was waited for in vain;  = sectors served, if it went empty otherwise
//!     max       =  peak rate * timeout_sync,  16384 sectors until eleven budgets were given;   min = max / 32
//!     turn      =  timeout_sync, 30 times that where the factor is 30;  soft real-time has no longer turns than others
//!     charge    =  sectors;  3 * sectors for write-back while all weights are equal;  max * time / timeout_sync if slow
//!
//! ## A schedule
//!
//! Two tasks that read one file each, of levels 4 and 0, so of weights 40 and 80, after the first budgets:
//!
//! ```text
//! sectors   1 : 2
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic in the task's requests; the choice of a queue, linear in those that have any.
//!
//! ## Good for, not for
//!
//! Desktops, and slow drives that many tasks share. Not for drives of many requests at a time: it costs some of their
//! throughput.
//!
//! ## Departures
//!
//! - There are no groups: all queues of a class are on one level.
//! - Left out: queues that are merged because their tasks read one file together; requests of others that are injected
//!   while the drive waits; a queue that has requests again in time continues with its budget in the kernel, and here gets
//!   a new turn.
//! - A new turn preempts only for a higher class or a higher weight, and then always.
//! - The sum of weights counts queues with requests; the kernel's also those that went empty ahead of the virtual time.
//! - A queue whose soft real-time ends is raised no longer; the kernel may give it back the rest of an interactive
//!   raise.
//! - The mean think time decides as in cfq; the kernel halves the bound while raised queues are busy.
//!
//! ## References
//!
//! - P. Valente, F. Checconi: High Throughput Disk Scheduling with Fair Bandwidth Distribution, IEEE Transactions on
//!   Computers 59(9), 2010.
//! - Linux 6.18, block/bfq-iosched.c, bfq_select_queue, bfq_bfqq_expire, __bfq_bfqq_recalc_budget, bfq_better_to_idle,
//!   bfq_update_bfqq_wr_on_rq_arrival; block/bfq-wf2q.c.
//!
//! Long, because the page and the rule belong in one file.

use super::{
    Context, Device, Elevator, Entry, Next,
    kit::arrivals::Links,
    kit::bursts::Bursts,
    kit::habits::Thinking,
    kit::knobs::{count, period, switch, time},
    kit::nearest::nearest,
    kit::owners::{own, queue_of, waited_for},
    kit::queue::Queue,
    kit::raising::Raising,
    kit::rate::Rate,
    kit::wf2q::{Entity, Tree},
};
use schedlab_model::{
    MILLISECOND, Nanos,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    request::{IoClass, Request, RequestId, SECTOR_SIZE, Sector},
    task::TaskId,
};

/// Until enough budgets were given for the peak rate to mean something; bfq_default_max_budget, bfq_stats_min_budgets.
const FIRST_MAX_BUDGET: u64 = 16 * 1024;
const ENOUGH_BUDGETS: u64 = 194;
/// A request further than this from the last one is a seek; on a drive without heads, only if it is small too.
const FAR: Sector = 8 * 100;
const SMALL: u32 = 64;
/// A queue is seeky if more of its last 32 requests were seeks.
const SEEKS: u32 = 19;
/// The shortest wait that is used, and the longest for a raised queue.
const SHORT_WAIT: Nanos = 2 * MILLISECOND;
const RAISED_WAIT: Nanos = 20 * MILLISECOND;
/// Turns shorter than the first are too short to judge speed; those longer than the second suffice.
const TOO_SHORT: Nanos = MILLISECOND;
const LONG_ENOUGH: Nanos = 20 * MILLISECOND;
/// The factor by which write-back is charged; bfq_async_charge_factor.
const ASYNC_CHARGE: u64 = 3;
/// The idle class is served once in so long; BFQ_CL_IDLE_TIMEOUT.
const IDLE_CLASS_WAITS: Nanos = 200 * MILLISECOND;
/// With more requests than this in the drive, it is taken to queue them itself.
const QUEUES_ITSELF: u32 = 3;

/// The requests of a task, or the write-back of a level.
#[derive(Debug)]
struct Account {
    requests: Queue,
    class: IoClass,
    level: u8,
    in_flight: u32,
    /// Whether it has requests or is in service.
    busy: bool,
    entity: Entity,
    max_budget: u64,
    raising: Raising,
    burst: bool,
    /// Where its last request ended, and which of the last 32 were seeks.
    end: Sector,
    seeks: u32,
    thinking: Thinking,
    exited: bool,
}

impl Account {
    fn weight(&self) -> u64 {
        10 * (8 - u64::from(self.level))
    }

    fn raised_weight(&self) -> u64 {
        self.weight() * self.raising.factor
    }

    fn raised(&self) -> bool {
        self.raising.factor > 1
    }

    fn seeky(&self) -> bool {
        self.seeks.count_ones() > SEEKS
    }
}

/// The queue in service.
#[derive(Debug)]
struct Turn {
    queue: usize,
    began: Nanos,
    times_out: Nanos,
    looked_at_oldest: bool,
    /// Until when the drive waits for its task, and since when.
    waits: Option<(Nanos, Nanos)>,
}

/// Why a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    TooIdle,
    Timeout,
    Exhausted,
    NoMore,
    Preempted,
}

/// Sectors by weight.
#[derive(Debug)]
pub struct Bfq {
    fifo_expire: [Nanos; 2],
    slice_idle: Nanos,
    timeout: Nanos,
    low_latency: bool,
    back_max: Sector,
    back_penalty: u64,
    user_max_budget: u64,
    rotational: bool,
    accounts: Vec<Option<Account>>,
    trees: [Tree; 3],
    links: Links,
    turn: Option<Turn>,
    position: Sector,
    rate: Rate,
    bursts: Bursts,
    /// Towards 256 as budgets are given.
    budgets: u64,
    queued: u32,
    in_drive: u32,
    drive_queues: bool,
    idle_class_served: Nanos,
}

impl Bfq {
    fn of(&self, at: usize) -> &Account {
        self.accounts[at].as_ref().expect("a queue in use")
    }

    fn of_mut(&mut self, at: usize) -> &mut Account {
        self.accounts[at].as_mut().expect("a queue in use")
    }

    fn max_budget(&self) -> u64 {
        if self.user_max_budget > 0 {
            self.user_max_budget
        } else if self.budgets < ENOUGH_BUDGETS {
            FIRST_MAX_BUDGET
        } else {
            self.rate.sectors_in(self.timeout).max(32)
        }
    }

    fn min_budget(&self) -> u64 {
        self.max_budget() / 32
    }

    /// The account of a new request, made or brought up to date.
    fn account(&mut self, now: Nanos, request: &Request) -> usize {
        let at = queue_of(request);
        if self.accounts.len() <= at {
            self.accounts.resize_with(at + 1, || None);
        }
        if self.accounts[at].is_none() {
            self.create(now, at, request);
        }
        let account = self.of_mut(at);
        if !account.busy {
            (account.class, account.level) = (request.class, request.level.min(7));
        }
        at
    }

    fn create(&mut self, now: Nanos, at: usize, request: &Request) {
        self.accounts[at] = Some(Account {
            requests: Queue::default(),
            class: request.class,
            level: request.level.min(7),
            in_flight: 0,
            busy: false,
            entity: Entity::default(),
            max_budget: self.max_budget() * 2 / 3,
            raising: Raising::new(now),
            burst: false,
            end: request.first,
            seeks: 0,
            thinking: Thinking { since: now, ..Thinking::default() },
            exited: false,
        });
        if waited_for(at) {
            for &member in self.bursts.created(now, at) {
                self.accounts[member].as_mut().expect("it was created").burst = true;
            }
        }
    }

    fn is_seek(&self, from: Sector, request: &Request) -> bool {
        from.abs_diff(request.first) > FAR && (self.rotational || request.sectors < SMALL)
    }

    fn busy(&self) -> impl Iterator<Item = usize> {
        self.trees.iter().flat_map(|tree| tree.active().iter().copied())
    }

    /// Whether a queue would lose its share if any queue with requests were served while the drive could wait for its task.
    fn asymmetric(&self, at: usize) -> bool {
        let own = self.of(at).weight();
        self.trees.iter().filter(|tree| !tree.is_empty()).count() > 1
            || self.busy().map(|other| self.of(other)).any(|other| !other.raised() && other.weight() < own)
    }

    /// Whether to wait for that task rather than to serve another.
    fn better_to_idle(&self, at: usize) -> bool {
        let account = self.of(at);
        if self.slice_idle == 0 || !waited_for(at) || account.class == IoClass::Idle || account.exited {
            return false;
        }
        let thinks_short = !account.thinking.time.valid() || account.thinking.time.mean() <= self.slice_idle;
        let sequential = !account.seeky() && thinks_short;
        let raised = self.busy().filter(|&other| self.of(other).raised()).count();
        let boosts = if self.drive_queues { self.rotational && sequential } else { self.rotational || sequential };
        let busy = self.busy().count();
        boosts && raised == 0 || account.raised() && raised < busy || self.asymmetric(at) || busy == 1
    }

    fn wait(&mut self, now: Nanos, at: usize) {
        let account = self.of(at);
        let wait = if account.raised() {
            self.slice_idle.max(RAISED_WAIT)
        } else if account.seeky() && !self.asymmetric(at) {
            self.slice_idle.min(SHORT_WAIT)
        } else {
            self.slice_idle
        };
        self.turn.as_mut().expect("a queue is in service").waits = Some((now + wait, now));
    }

    /// What a request counts.
    fn charge(&self, at: usize, request: &Request) -> u64 {
        let once = waited_for(at) || self.of(at).raised() || self.asymmetric(at);
        u64::from(request.sectors) * if once { 1 } else { ASYNC_CHARGE }
    }

    /// How long the turn took, and whether the queue is slow: it seeks, or has less than half of what the drive can do.
    fn slowness(&self, now: Nanos, turn: &Turn, why: Why) -> (Nanos, bool) {
        let account = self.of(turn.queue);
        let until = turn.waits.filter(|_| why == Why::TooIdle).map_or(now, |(_, since)| since);
        let took = until - turn.began;
        if took < TOO_SHORT {
            (if self.rotational { self.slice_idle } else { SHORT_WAIT }, account.seeky())
        } else if took > LONG_ENOUGH {
            (took, account.entity.service < self.max_budget() / 2)
        } else {
            (took, account.seeky())
        }
    }

    /// The budget of the next turn.
    fn next_budget(&self, at: usize, why: Why) -> u64 {
        let (account, max, min) = (self.of(at), self.max_budget(), self.min_budget());
        let budget = account.max_budget;
        if !waited_for(at) {
            return max;
        } else if account.raised() {
            return 2 * min;
        }
        let budget = match why {
            Why::TooIdle if account.in_flight > 0 => budget * 2,
            Why::TooIdle if budget > 5 * min => budget - 4 * min,
            Why::TooIdle => min,
            Why::Timeout => budget * 2,
            Why::Exhausted => budget * 4,
            Why::NoMore => account.entity.service.max(min),
            Why::Preempted => budget,
        };
        budget.min(max)
    }

    fn expire(&mut self, cx: &Context<'_>, why: Why) {
        let Some(turn) = self.turn.take() else { return };
        let at = turn.queue;
        let (took, slow) = self.slowness(cx.now, &turn, why);
        let (max_budget, timeout) = (self.max_budget(), self.timeout);
        let next_budget = self.next_budget(at, why);
        let account = self.accounts[at].as_mut().expect("a queue in use");
        let tree = &mut self.trees[account.class as usize];
        let left = account.entity.budget.saturating_sub(account.entity.service);
        let wasted = why == Why::Timeout && left >= account.entity.budget / 3;
        if waited_for(at) && !account.raised() && (slow || wasted) {
            let time = max_budget * took.min(timeout) / timeout.max(1);
            let more = time.saturating_sub(account.entity.service);
            tree.served(&mut account.entity, more);
        }
        account.max_budget = next_budget;
        let again = (!account.requests.is_empty()).then(|| account.raised_weight());
        account.entity.budget = next_budget.max(1);
        tree.expire(at, &mut account.entity, again);
        account.busy = again.is_some();
        if !account.busy && account.in_flight == 0 {
            account.raising.emptied(cx.now, self.slice_idle);
        }
    }

    /// The wait for the task in service is over, and it has not come.
    fn waited(&mut self, cx: &Context<'_>) {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.waits.is_some_and(|(until, _)| until <= cx.now)) else {
            return;
        };
        let why = if cx.now >= turn.times_out { Why::Timeout } else { Why::TooIdle };
        self.expire(cx, why);
    }

    /// Whether the queue in service continues, or what to wait for, or why its turn ends.
    fn goes_on(&self, cx: &Context<'_>, turn: &Turn) -> Result<Result<usize, Next>, Why> {
        let account = self.of(turn.queue);
        let (empty, idle) = (account.requests.is_empty(), self.better_to_idle(turn.queue));
        let left = account.entity.budget.saturating_sub(account.entity.service);
        let may_end = turn.waits.is_none() || left >= account.entity.budget / 3;
        if cx.now >= turn.times_out && may_end && !(empty && idle) {
            Err(Why::Timeout)
        } else if !empty {
            let next = self.choose(cx, turn.queue, turn.looked_at_oldest);
            let enough = account.entity.service == 0 || self.charge(turn.queue, cx.request(next)) <= left;
            if enough { Ok(Ok(turn.queue)) } else { Err(Why::Exhausted) }
        } else if let Some((until, _)) = turn.waits {
            Ok(Err(Next::Until(until)))
        } else if account.in_flight > 0 && idle {
            Ok(Err(Next::Nothing))
        } else {
            Err(Why::NoMore)
        }
    }

    /// Makes sure of a queue in service with requests, or says what to wait for.
    fn select(&mut self, cx: &Context<'_>) -> Result<usize, Next> {
        self.waited(cx);
        if let Some(turn) = &self.turn {
            match self.goes_on(cx, turn) {
                Ok(outcome) => return outcome,
                Err(why) => self.expire(cx, why),
            }
        }
        let at = self.next_queue(cx.now).ok_or(Next::Nothing)?;
        let longer = self.of(at).raising.longer_turns();
        self.budgets = (self.budgets * 7 + 256) / 8;
        self.turn = Some(Turn {
            queue: at,
            began: cx.now,
            times_out: cx.now + self.timeout * longer,
            looked_at_oldest: false,
            waits: None,
        });
        Ok(at)
    }

    fn next_queue(&mut self, now: Nanos) -> Option<usize> {
        let idle_class = IoClass::Idle as usize;
        let mut class = self.trees.iter().position(|tree| !tree.is_empty())?;
        if now > self.idle_class_served + IDLE_CLASS_WAITS {
            self.idle_class_served = now;
            if !self.trees[idle_class].is_empty() {
                class = idle_class;
            }
        }
        let accounts = &self.accounts;
        self.trees[class].next(|at| &accounts[at].as_ref().expect("a queue in use").entity)
    }

    /// The next request of a queue: the oldest if that has expired, looked at once a turn, else the nearest.
    fn choose(&self, cx: &Context<'_>, at: usize, looked_at_oldest: bool) -> RequestId {
        let requests = &self.of(at).requests;
        let oldest = requests.oldest().expect("it has requests");
        let expire = self.fifo_expire[usize::from(!waited_for(at))];
        if !looked_at_oldest && cx.now >= cx.request(oldest).arrived + expire {
            return oldest;
        }
        nearest(&requests.sorted, self.position, self.back_max, self.back_penalty).expect("it has requests")
    }

    fn take(&mut self, cx: &Context<'_>, at: usize, id: RequestId) {
        let request = cx.request(id);
        let (charge, seek) = (self.charge(at, request), self.is_seek(self.position, request));
        self.rate.dispatched(cx.now, request.sectors, seek, self.in_drive);
        self.position = request.end();
        let account = self.accounts[at].as_mut().expect("a queue in use");
        account.requests.remove(cx, &mut self.links, id);
        account.in_flight += 1;
        self.trees[account.class as usize].served(&mut account.entity, charge);
        account.raising.served(cx.now, request.sectors, account.burst);
        let idle_class = account.class == IoClass::Idle;
        if let Some(turn) = &mut self.turn {
            turn.looked_at_oldest = true;
            turn.waits = None;
        }
        self.queued -= 1;
        self.in_drive += 1;
        self.drive_queues |= self.in_drive > QUEUES_ITSELF;
        if idle_class && self.busy().count() > 1 {
            self.expire(cx, Why::Exhausted);
        }
    }

    /// A queue gets its first request: it may be raised, enters its tree, and may take the drive from the one in
    /// service.
    fn activate(&mut self, cx: &Context<'_>, at: usize, id: RequestId) {
        let (for_long, low_latency, min) = (self.rate.raised_for(), self.low_latency, self.min_budget());
        let charge = self.charge(at, cx.request(id));
        let account = self.accounts[at].as_mut().expect("a queue in use");
        if low_latency && waited_for(at) {
            let soft = account.seeks != u32::MAX && account.weight() == 40;
            account.raising.woken(cx.now, for_long, account.burst, account.in_flight == 0, soft);
        }
        let budget = if account.raised() { account.max_budget.min(2 * min) } else { account.max_budget };
        account.entity.budget = budget.max(charge);
        account.busy = true;
        let (class, weight) = (account.class, account.raised_weight());
        self.trees[class as usize].activate(at, &mut account.entity, weight);
        if let Some(turn) = &self.turn {
            let serving = self.of(turn.queue);
            if class < serving.class || class == serving.class && weight > serving.raised_weight() {
                self.expire(cx, Why::Preempted);
            }
        }
    }
}

impl Entry for Bfq {
    const INFO: Info = Info {
        name: "bfq",
        summary: "sectors by weight, and help for queues that return after a pause: budget fair queueing, Linux today",
        year: 2008,
        origin: "Fabio Checconi and Paolo Valente, Linux 4.12",
        promises: &[Promise::FairToEquals(Reach::Everywhere)],
        parameters: &[
            switch(
                "low_latency",
                "whether queues are raised that seem to start something or to play",
                "true",
                Some("low_latency"),
            ),
            time("slice_idle", "how long the drive waits for a task's next request", "8ms", Some("slice_idle")),
            period(
                "timeout_sync",
                "longest time slice of a queue that is not weight-raised",
                "125ms",
                Some("timeout_sync"),
            ),
            count(
                "max_budget",
                "most sectors of a time slice; 0: what the drive can do in timeout_sync",
                0,
                "0",
                Some("max_budget"),
            ),
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
            Parameter {
                name: "back_seek_max",
                meaning: "how far back the next request of a queue may be",
                domain: Domain::Size { low: 0, high: 1 << 40 },
                default: Some("16MiB"),
                logarithmic: true,
                grows: false,
                host: Some("back_seek_max"),
            },
            count("back_seek_penalty", "how many times a way back counts", 1, "2", Some("back_seek_penalty")),
        ],
        source: schedlab_model::documentation!("bfq.rs"),
    };

    fn new(params: &Params, device: &Device) -> Self {
        Bfq {
            fifo_expire: [params.whole("fifo_expire_sync"), params.whole("fifo_expire_async")],
            slice_idle: params.whole("slice_idle"),
            timeout: params.whole("timeout_sync"),
            low_latency: params.switch("low_latency"),
            back_max: params.whole("back_seek_max") / SECTOR_SIZE,
            back_penalty: params.whole("back_seek_penalty"),
            user_max_budget: params.whole("max_budget"),
            rotational: device.rotational,
            accounts: Vec::new(),
            trees: Default::default(),
            links: Links::default(),
            turn: None,
            position: 0,
            rate: Rate::new(device.rotational),
            bursts: Bursts::default(),
            budgets: 0,
            queued: 0,
            in_drive: 0,
            drive_queues: false,
            idle_class_served: 0,
        }
    }
}

impl Elevator for Bfq {
    fn merges(&self, cx: &Context<'_>, queued: RequestId, new: &Request) -> bool {
        queue_of(cx.request(queued)) == queue_of(new)
    }

    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        let request = cx.request(id);
        let at = self.account(cx.now, request);
        let seek = self.is_seek(self.of(at).end, request);
        let account = self.accounts[at].as_mut().expect("a queue in use");
        let idle = account.requests.is_empty() && account.in_flight == 0;
        if idle && waited_for(at) {
            account.thinking.time.add((cx.now - account.thinking.since).min(2 * self.slice_idle));
        }
        account.seeks = account.seeks << 1 | u32::from(seek);
        account.end = request.end();
        account.requests.insert(cx, &mut self.links, id);
        let busy = account.busy;
        self.queued += 1;
        if !busy {
            self.activate(cx, at, id);
        } else if let Some(turn) = self.turn.as_mut().filter(|turn| turn.queue == at) {
            turn.waits = None;
        }
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.of_mut(queue_of(cx.request(id))).requests.grown(cx, id, began);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        if self.queued == 0 {
            return Next::Nothing;
        }
        match self.select(cx) {
            Ok(at) => {
                let looked = self.turn.as_ref().is_some_and(|turn| turn.looked_at_oldest);
                let id = self.choose(cx, at, looked);
                self.take(cx, at, id);
                Next::Serve(id)
            }
            Err(wait) => wait,
        }
    }

    fn completed(&mut self, cx: &Context<'_>, id: RequestId, _: Nanos) {
        let at = queue_of(cx.request(id));
        self.in_drive -= 1;
        self.rate.completed(cx.now);
        let slice_idle = self.slice_idle;
        let account = self.of_mut(at);
        account.in_flight -= 1;
        account.thinking.since = cx.now;
        let (empty, calm) = (account.requests.is_empty(), account.in_flight == 0);
        if calm && !account.busy {
            account.raising.emptied(cx.now, slice_idle);
        }
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.queue == at) else { return };
        let times_out = turn.times_out;
        if empty && self.better_to_idle(at) {
            if calm {
                self.wait(cx.now, at);
            }
        } else if cx.now >= times_out {
            self.expire(cx, Why::Timeout);
        } else if empty {
            self.expire(cx, Why::NoMore);
        }
    }

    fn exited(&mut self, _: &Context<'_>, task: TaskId) {
        if let Some(Some(account)) = self.accounts.get_mut(own(task)) {
            account.exited = true;
        }
    }
}
