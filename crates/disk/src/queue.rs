//! The queue of requests above a drive: it merges, it limits, and it starts what the elevator chooses.
//!
//! ```text
//!   submit --> touches a queued request? --> Merged          advance --> a request is done --> each of its parts
//!          '-> a slot free, and admitted? --> Queued                 '-> the drive has depth left --> dispatch
//!          '-> Full: nothing has changed
//! ```
//!
//! The caller calls [`RequestQueue::submit`], then [`RequestQueue::start`], and [`RequestQueue::advance`] at
//! [`RequestQueue::next_event`] (or later: what happens in between happens at its time). A drive that completes a request
//! begins the next one at the same instant.
//!
//! **A request that finds the queue full** is kept by the caller, first come, first served, and submits again when an `advance` has
//! completed something: only the caller knows whether its request can be dropped (read-ahead) or a task sleeps for it,
//! and a write that must wait for a slot need not hold up a read behind it. A queue that holds nothing admits anything.
//!
//! **Merging** is Linux's: behind a queued request first, then in front of one; the latest of several; both mergeable, of
//! the same direction, together not beyond `most`, and the elevator agrees. A request in service does not grow. The joint
//! request keeps the owner, class, `sync` and arrival of the queued one; each part keeps its own. Departure: when a request
//! has grown up to the next one, Linux joins the two (`attempt_back_merge`); here they stay two, and no elevator loses a
//! request that was inserted.
//!
//! **Plugging**: while plugged, an idle drive is not started, so that the elevator sees a batch as a whole. Unplug before
//! a task waits.

use crate::{
    Drive,
    neighbours::Neighbours,
    parts::{List, Parts},
    progress::{Done, Progress, Started, Submitted, Turn},
};
use schedlab_model::{
    Nanos,
    machine::DiskQueue,
    request::{Direction, Request, RequestId, SECTOR_SIZE, Sector},
    task::TaskId,
};
use schedlab_policies::elevators::{Context, Elevator, Next};
use std::{cmp::Reverse, collections::BinaryHeap};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Queued,
    InService(Nanos),
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    state: State,
    parts: List,
}

/// What an elevator is shown.
#[derive(Debug, Default)]
struct View {
    requests: Vec<Request>,
    head: Sector,
    in_service: u32,
    swapping: u32,
}

impl View {
    fn at(&self, now: Nanos) -> Context<'_> {
        let &View { ref requests, head, in_service, swapping } = self;
        Context { now, requests, head, in_service, swapping }
    }
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    requests: usize,
    writes: u32,
    most: u64,
    merge: bool,
}

/// The queue, its elevator and its drive.
#[derive(Debug)]
pub struct RequestQueue<D, E: ?Sized> {
    drive: D,
    view: View,
    slots: Vec<Slot>,
    free: Vec<RequestId>,
    parts: Parts,
    limits: Limits,
    /// Writes, queued and in service.
    writes: u32,
    /// Queued requests that may grow, by first sector and by the sector behind the last.
    by_first: Neighbours,
    by_end: Neighbours,
    /// By time of completion, then by order of dispatch.
    in_service: BinaryHeap<Reverse<(Nanos, u64, RequestId)>>,
    dispatched: u64,
    depth: u32,
    /// Whether the elevator has not been asked since something changed.
    changed: bool,
    /// The elevator wants nothing served before.
    until: Option<Nanos>,
    plugged: bool,
    busy: bool,
    elevator: Box<E>,
}

impl<D: Drive, E: Elevator + ?Sized> RequestQueue<D, E> {
    /// An empty queue above an idle drive.
    pub fn new(queue: &DiskQueue, drive: D, elevator: Box<E>) -> Self {
        let slots = queue.requests.get().max(1) as usize;
        RequestQueue {
            depth: drive.depth().max(1),
            drive,
            view: View::default(),
            slots: Vec::with_capacity(slots),
            free: Vec::with_capacity(slots),
            parts: Parts::default(),
            limits: Limits {
                requests: slots,
                writes: queue.writes.get().max(1),
                most: queue.most.get().0 / SECTOR_SIZE,
                merge: queue.merge.get(),
            },
            writes: 0,
            by_first: Neighbours::new(slots),
            by_end: Neighbours::new(slots),
            in_service: BinaryHeap::new(),
            dispatched: 0,
            changed: false,
            until: None,
            plugged: false,
            busy: false,
            elevator,
        }
    }

    /// The same, with the heads of the drive at that sector before its first request.
    pub fn with_head(mut self, head: Sector) -> Self {
        self.view.head = head;
        self
    }

    /// Requests that it holds, those in service included.
    pub fn held(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// These requests, each with the requests that were merged into it.
    pub fn unfinished(&self) -> impl Iterator<Item = &Request> {
        let held = self.slots.iter().zip(&self.view.requests);
        held.filter(|(slot, _)| slot.state != State::Free).map(|(_, request)| request)
    }

    /// Requests that the drive has taken and not completed.
    pub fn in_service(&self) -> u32 {
        self.view.in_service
    }

    /// The drive.
    pub fn drive(&self) -> &D {
        &self.drive
    }

    /// The elevator.
    pub fn elevator(&self) -> &E {
        &self.elevator
    }

    /// Takes a request in, at `now`, which becomes its time of arrival. The caller must have handled all events before `now`.
    pub fn submit(&mut self, now: Nanos, request: Request, token: u32) -> Submitted {
        debug_assert!(self.next_event().is_none_or(|next| next >= now), "something should have happened before");
        let request = Request { arrived: now, ..request };
        if let Some(id) = self.merge(now, &request, token) {
            self.changed = true;
            return Submitted::Merged(id);
        }
        if !self.has_room(now, &request) {
            return Submitted::Full;
        }
        let parts = self.parts.alone(request, token);
        let id = self.take_slot(request, Slot { state: State::Queued, parts });
        self.writes += u32::from(request.direction == Direction::Write);
        if self.may_grow(&request) {
            self.by_first.insert(request.first, id);
            self.by_end.insert(request.end(), id);
        }
        self.elevator.insert(&self.view.at(now), id);
        self.changed = true;
        Submitted::Queued(id)
    }

    fn may_grow(&self, request: &Request) -> bool {
        self.limits.merge && request.mergeable
    }

    fn has_room(&self, now: Nanos, request: &Request) -> bool {
        let full = self.held() as usize >= self.limits.requests;
        let full_of_writes = request.direction == Direction::Write && self.writes >= self.limits.writes;
        !full && !full_of_writes && self.elevator.admits(&self.view.at(now), request)
    }

    fn take_slot(&mut self, request: Request, slot: Slot) -> RequestId {
        match self.free.pop() {
            Some(id) => {
                self.view.requests[id as usize] = request;
                self.slots[id as usize] = slot;
                id
            }
            None => {
                self.view.requests.push(request);
                self.slots.push(slot);
                (self.slots.len() - 1) as RequestId
            }
        }
    }

    /// Joins a request to a queued one that it touches, if there is one.
    fn merge(&mut self, now: Nanos, new: &Request, token: u32) -> Option<RequestId> {
        if !self.may_grow(new) {
            return None;
        }
        let cx = self.view.at(now);
        let fits = |id: &RequestId| {
            let queued = cx.request(*id);
            queued.direction == new.direction
                && u64::from(queued.sectors) + u64::from(new.sectors) <= self.limits.most
                && self.elevator.merges(&cx, *id, new)
        };
        let ends_where_new_begins = |id: &RequestId| cx.request(*id).end() == new.first;
        let begins_where_new_ends = |id: &RequestId| cx.request(*id).first == new.end();
        let in_front = self.by_end.near(new.first).filter(ends_where_new_begins).find(fits);
        let behind = || self.by_first.near(new.end()).filter(begins_where_new_ends).find(fits);
        let (id, back) = in_front.map(|id| (id, true)).or_else(|| behind().map(|id| (id, false)))?;
        let queued = &mut self.view.requests[id as usize];
        let old = *queued;
        queued.sectors += new.sectors;
        let list = &mut self.slots[id as usize].parts;
        if back {
            self.by_end.remove(old.end(), id);
            self.by_end.insert(new.end(), id);
            self.parts.behind(list, *new, token);
        } else {
            queued.first = new.first;
            self.by_first.remove(old.first, id);
            self.by_first.insert(new.first, id);
            self.parts.before(list, *new, token);
        }
        self.elevator.grown(&self.view.at(now), id, old.first);
        Some(id)
    }

    /// From now on an idle drive is not started.
    pub fn plug(&mut self) {
        self.plugged = true;
    }

    /// Ends plugging, and starts.
    pub fn unplug(&mut self, now: Nanos, progress: &mut Progress) {
        self.plugged = false;
        self.start(now, progress);
    }

    /// A task has ended: no more requests will come from it.
    pub fn exited(&mut self, now: Nanos, task: TaskId) {
        self.elevator.exited(&self.view.at(now), task);
        self.changed = true;
    }

    /// Sets the number of tasks that wait for a page of the swap area.
    pub fn set_swapping(&mut self, tasks: u32) {
        self.changed |= self.view.swapping != tasks;
        self.view.swapping = tasks;
    }

    /// Gives the drive what the elevator chooses, as long as it can take a request.
    pub fn start(&mut self, now: Nanos, progress: &mut Progress) {
        self.dispatch(now, progress);
        self.note_turn(now, progress);
    }

    /// Whether the drive may be given something.
    fn open(&self) -> bool {
        self.view.in_service < self.depth && !(self.plugged && self.view.in_service == 0)
    }

    fn dispatch(&mut self, now: Nanos, progress: &mut Progress) {
        while self.open() && (self.changed || self.until.is_some_and(|until| until <= now)) {
            self.until = None;
            match self.elevator.dispatch(&self.view.at(now)) {
                Next::Serve(id) => {
                    self.changed = true;
                    self.serve(now, id, progress);
                }
                // Asked again at the same instant, an elevator would say the same.
                Next::Until(time) => (self.changed, self.until) = (false, Some(time.max(now + 1))),
                Next::Nothing => self.changed = false,
            }
        }
    }

    fn serve(&mut self, now: Nanos, id: RequestId, progress: &mut Progress) {
        let request = self.view.requests[id as usize];
        let slot = &mut self.slots[id as usize];
        assert_eq!(slot.state, State::Queued, "the elevator chose request {id}, which it does not have");
        slot.state = State::InService(now);
        if self.may_grow(&request) {
            self.by_first.remove(request.first, id);
            self.by_end.remove(request.end(), id);
        }
        let end = self.drive.serve(now, request.first, request.sectors, request.direction);
        self.in_service.push(Reverse((end, self.dispatched, id)));
        self.dispatched += 1;
        self.view.in_service += 1;
        self.view.head = request.end();
        progress.started.push(Started { request, at: now });
    }

    fn note_turn(&mut self, at: Nanos, progress: &mut Progress) {
        let busy = self.view.in_service > 0;
        if busy != self.busy {
            self.busy = busy;
            progress.turns.push(Turn { at, busy });
        }
    }

    /// When something will happen next: a request is complete, or the elevator wants to be asked again.
    pub fn next_event(&self) -> Option<Nanos> {
        let completion = self.in_service.peek().map(|&Reverse((end, ..))| end);
        let until = self.until.filter(|_| self.open());
        match (completion, until) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Lets happen what happens up to `now`.
    pub fn advance(&mut self, now: Nanos, progress: &mut Progress) {
        while let Some(at) = self.next_event().filter(|&next| next <= now) {
            while let Some(&Reverse((end, _, id))) = self.in_service.peek()
                && end <= at
            {
                self.in_service.pop();
                self.complete(end, id, progress);
            }
            self.start(at, progress);
        }
    }

    fn complete(&mut self, now: Nanos, id: RequestId, progress: &mut Progress) {
        let slot = &mut self.slots[id as usize];
        let State::InService(started) = slot.state else { unreachable!("only what is in service ends") };
        slot.state = State::Free;
        self.view.in_service -= 1;
        self.writes -= u32::from(self.view.requests[id as usize].direction == Direction::Write);
        self.elevator.completed(&self.view.at(now), id, started);
        let mut leads = true;
        self.parts.drain(slot.parts, |part| {
            progress.done.push(Done { token: part.token, request: part.request, started, finished: now, leads });
            leads = false;
        });
        self.free.push(id);
        self.changed = true;
    }
}
