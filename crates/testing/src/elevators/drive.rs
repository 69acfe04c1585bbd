//! A request queue and a simple drive that hold an elevator to its contract at every step.

use super::subject::Subject;
use schedlab_model::{
    MILLISECOND, Nanos,
    info::Params,
    request::{Direction, IoClass, Request, RequestId, Sector},
    task::TaskId,
};
use schedlab_policies::elevators::{Context, Device, Elevator, Next};

pub use Direction::{Read, Write};

/// Sectors of a cylinder in the textbooks' examples, so that the length of a request does not count in distances.
pub const CYLINDER: Sector = 64;

/// A request that was dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Its id.
    pub id: RequestId,
    /// As it was when it was dispatched.
    pub request: Request,
    /// When it was dispatched.
    pub started: Nanos,
    /// When the drive had served it.
    pub ended: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Queued,
    InService,
}

/// How long a drive takes for a request, from where its heads are.
pub type Service = fn(Sector, &Request) -> Nanos;

/// The queue, its elevator, and the drive.
#[derive(Debug)]
pub struct Rig {
    elevator: Box<dyn Elevator>,
    service: Service,
    depth: usize,
    slots: usize,
    /// The time.
    pub now: Nanos,
    /// Where the drive's last request ended.
    pub head: Sector,
    /// Tasks in the swapping state.
    pub swapping: u32,
    requests: Vec<Request>,
    states: Vec<State>,
    in_service: Vec<Served>,
    /// When the elevator wants to be asked again.
    again: Option<Nanos>,
    /// In order of dispatch.
    pub log: Vec<Served>,
    /// Since when the drive has been idle though requests are queued.
    idle_since: Option<Nanos>,
    /// The longest time that it did.
    pub longest_idling: Nanos,
}

/// A request of one block of 4 KiB.
pub fn block(owner: TaskId, direction: Direction, first: Sector) -> Request {
    Request {
        first,
        sectors: 8,
        direction,
        sync: direction == Read,
        mergeable: true,
        owner,
        class: IoClass::BestEffort,
        level: 4,
        arrived: 0,
    }
}

/// A request in an example: one sector, alone.
pub fn single(direction: Direction, first: Sector) -> Request {
    Request { sectors: 1, mergeable: false, ..block(0, direction, first) }
}

/// Every request takes a millisecond.
pub fn constant(_: Sector, _: &Request) -> Nanos {
    MILLISECOND
}

/// A seek of up to 8 ms, and the transfer.
pub fn seeking(head: Sector, request: &Request) -> Nanos {
    let distance = head.abs_diff(request.first);
    let seek = if distance == 0 { 0 } else { 2 * MILLISECOND + distance.min(1 << 20) * 6 * MILLISECOND / (1 << 20) };
    seek + Nanos::from(request.sectors) * 10_000
}

impl Rig {
    /// A drive that takes `depth` requests at a time, under an elevator with these parameters.
    ///
    /// # Panics
    /// If the elevator has no such parameters.
    pub fn new(subject: Subject, settings: &[(&str, &str)], depth: usize, service: Service) -> Rig {
        let params = Params::check(subject.info, settings.iter().map(|(n, v)| (*n, (*v).to_owned())));
        let params = params.unwrap_or_else(|(name, why)| panic!("{}.{name}: {why}", subject.info.name));
        let slots = 64;
        let device = Device { rotational: true, queue_depth: depth as u32, sectors: 1 << 30, slots: slots as u32 };
        Rig {
            elevator: subject.build(&params, &device),
            service,
            depth,
            slots,
            now: 0,
            head: 0,
            swapping: 0,
            requests: Vec::new(),
            states: Vec::new(),
            in_service: Vec::new(),
            again: None,
            log: Vec::new(),
            idle_since: None,
            longest_idling: 0,
        }
    }

    /// One request at a time, each a millisecond.
    ///
    /// # Panics
    /// As [`Rig::new`].
    pub fn plain(subject: Subject, settings: &[(&str, &str)]) -> Rig {
        Rig::new(subject, settings, 1, constant)
    }

    fn cx(&self) -> Context<'_> {
        context(self.now, &self.requests, self.head, self.in_service.len(), self.swapping)
    }

    fn ids(&self, state: State) -> impl Iterator<Item = RequestId> {
        (0..self.states.len()).filter(move |&id| self.states[id] == state).map(|id| id as RequestId)
    }

    /// Requests in the queue.
    pub fn queued(&self) -> usize {
        self.ids(State::Queued).count()
    }

    /// Queues a request, or joins it to one that it touches; `None` if there is no room. The drive does not start yet.
    pub fn submit(&mut self, request: Request) -> Option<RequestId> {
        let request = Request { arrived: self.now, ..request };
        if let Some(id) = self.joined(&request) {
            return Some(id);
        }
        let full = self.states.iter().filter(|&&s| s != State::Free).count() == self.slots;
        if full || !self.elevator.admits(&self.cx(), &request) {
            return None;
        }
        let free = self.ids(State::Free).next();
        let id = free.unwrap_or(self.requests.len() as RequestId);
        if free.is_none() {
            self.requests.push(request);
            self.states.push(State::Free);
        }
        self.requests[id as usize] = request;
        self.states[id as usize] = State::Queued;
        let cx = context(self.now, &self.requests, self.head, self.in_service.len(), self.swapping);
        self.elevator.insert(&cx, id);
        self.again = None;
        Some(id)
    }

    fn joined(&mut self, new: &Request) -> Option<RequestId> {
        let touches = |old: &Request| old.end() == new.first || new.end() == old.first;
        let id = self.ids(State::Queued).find(|&id| {
            let old = &self.requests[id as usize];
            let may = new.mergeable && old.mergeable && old.direction == new.direction && touches(old);
            may && self.elevator.merges(&self.cx(), id, new)
        })?;
        let old = &mut self.requests[id as usize];
        let began = old.first;
        old.first = began.min(new.first);
        old.sectors += new.sectors;
        let cx = context(self.now, &self.requests, self.head, self.in_service.len(), self.swapping);
        self.elevator.grown(&cx, id, began);
        self.again = None;
        Some(id)
    }

    /// Gives the drive what it can take.
    pub fn start(&mut self) {
        while self.in_service.len() < self.depth && self.again.is_none_or(|again| again <= self.now) {
            self.again = None;
            let cx = context(self.now, &self.requests, self.head, self.in_service.len(), self.swapping);
            match self.elevator.dispatch(&cx) {
                Next::Serve(id) => self.serve(id),
                Next::Until(again) => {
                    assert!(again > self.now, "it idles until {again}, which is past at {}", self.now);
                    self.again = Some(again);
                }
                Next::Nothing => {
                    assert!(
                        self.queued() == 0 || !self.in_service.is_empty(),
                        "the drive is idle though requests are queued"
                    );
                    break;
                }
            }
        }
        if self.in_service.is_empty() && self.queued() > 0 {
            self.idle_since.get_or_insert(self.now);
        }
    }

    fn serve(&mut self, id: RequestId) {
        assert_eq!(self.states[id as usize], State::Queued, "request {id} is served, but it is not queued");
        let request = self.requests[id as usize];
        let served =
            Served { id, request, started: self.now, ended: self.now + (self.service)(self.head, &request).max(1) };
        if let Some(since) = self.idle_since.take() {
            self.longest_idling = self.longest_idling.max(self.now - since);
        }
        self.states[id as usize] = State::InService;
        self.head = request.end();
        self.in_service.push(served);
        self.log.push(served);
    }

    /// Time of the next event, if nothing is submitted before it.
    pub fn next_event(&self) -> Option<Nanos> {
        let again = self.again.filter(|_| self.in_service.len() < self.depth);
        self.in_service.iter().map(|served| served.ended).chain(again).min()
    }

    /// Goes forward to that time, which is not behind the next event; completes what has been served by then and starts the
    /// drive. Says what was completed.
    pub fn advance(&mut self, to: Nanos) -> Vec<Served> {
        assert!(to >= self.now && self.next_event().is_none_or(|next| to <= next));
        self.now = to;
        let done: Vec<Served> = self.in_service.iter().filter(|served| served.ended <= to).copied().collect();
        for served in &done {
            let at = self.in_service.iter().position(|s| s.id == served.id).unwrap();
            self.in_service.remove(at);
            let cx = context(self.now, &self.requests, self.head, self.in_service.len(), self.swapping);
            self.elevator.completed(&cx, served.id, served.started);
            self.states[served.id as usize] = State::Free;
            self.again = None;
        }
        done
    }

    /// A task ends.
    pub fn exit(&mut self, task: TaskId) {
        let cx = context(self.now, &self.requests, self.head, self.in_service.len(), self.swapping);
        self.elevator.exited(&cx, task);
        self.again = None;
    }

    /// Until nothing is queued or in service.
    pub fn drain(&mut self) {
        self.start();
        while self.queued() > 0 || !self.in_service.is_empty() {
            let next = self.next_event().expect("something is queued, and nothing will ever happen");
            self.advance(next);
            self.start();
        }
    }

    /// First sectors in order of dispatch, each marked with its direction.
    pub fn order(&self) -> String {
        let mark = |r: &Request| format!("{}{}", if r.direction == Read { 'R' } else { 'W' }, r.first);
        self.log.iter().map(|served| mark(&served.request)).collect::<Vec<_>>().join("  ")
    }
}

fn context(now: Nanos, requests: &[Request], head: Sector, in_service: usize, swapping: u32) -> Context<'_> {
    Context { now, requests, head, in_service: in_service as u32, swapping }
}
