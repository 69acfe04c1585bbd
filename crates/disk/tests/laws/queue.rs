//! The queue above drives that take the same time for everything: limits, plugging, depth, and what theory says of waiting.

use crate::{Constant, constant, finish, interval, read, room, unmerged, write};
use schedlab_disk::{Done, Progress, RequestQueue, Submitted, Turn};
use schedlab_model::{
    Nanos,
    machine::DiskQueue,
    request::{Request, RequestId, Sector},
    rng::Rng,
    task::TaskId,
};
use schedlab_policies::elevators::{Context, Elevator, Next};

#[test]
fn a_queue_holds_as_many_requests_as_it_has_slots_those_in_service_included() {
    let mut queue = constant(&room(3, 3), 1);
    let mut progress = Progress::default();
    for n in 0..3 {
        assert_eq!(queue.submit(0, read(n * 100, 1), 0), Submitted::Queued(n as u32));
        queue.start(0, &mut progress);
    }
    assert_eq!(queue.submit(0, read(900, 1), 0), Submitted::Full);
    // One that joins another needs no slot.
    assert_eq!(queue.submit(0, read(201, 1), 0), Submitted::Merged(2));
    queue.advance(1_000_000, &mut progress);
    assert_eq!(queue.submit(1_000_000, read(900, 1), 0), Submitted::Queued(0));
    assert_eq!(queue.submit(1_000_000, read(1000, 1), 0), Submitted::Full);
    assert_eq!(queue.held(), 3);
}

#[test]
fn writes_have_fewer_slots_than_reads() {
    let mut queue = constant(&room(64, 42), 1);
    let mut progress = Progress::default();
    let accepted = |queue: &mut RequestQueue<_, dyn Elevator>, make: fn(u64, u32) -> Request, now| {
        (0..100).filter(|n| queue.submit(now, make(n * 100, 1), 0) != Submitted::Full).count()
    };
    assert_eq!(accepted(&mut queue, write, 0), 42);
    assert_eq!(accepted(&mut queue, read, 0), 22);
    queue.start(0, &mut progress);
    queue.advance(1_000_000, &mut progress);
    // A write has been completed.
    assert_eq!(accepted(&mut queue, write, 1_000_000), 1);
}

#[test]
fn limits_are_never_exceeded() {
    let mut rng = Rng::stream(1, 1);
    let mut queue = constant(&room(8, 5), 2);
    let mut progress = Progress::default();
    let (mut now, mut writes, mut refused) = (0, 0_i32, 0);
    for token in 0..20_000 {
        now += rng.below(600_000);
        progress.clear();
        queue.advance(now, &mut progress);
        let write_request = rng.below(3) > 0;
        writes -= progress.done.iter().filter(|part| part.token == 1).count() as i32;
        let make = if write_request { write } else { read };
        match queue.submit(now, make(token * 10, 1), u32::from(write_request)) {
            Submitted::Full => refused += 1,
            _ => writes += i32::from(write_request),
        }
        queue.start(now, &mut progress);
        assert!(queue.held() <= 8 && (0..=5).contains(&writes) && queue.in_service() <= 2);
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_plugged_queue_starts_nothing_on_an_idle_drive() {
    let mut queue = constant(&DiskQueue::default(), 1);
    let mut progress = Progress::default();
    queue.plug();
    for first in [100, 108, 92] {
        queue.submit(5, read(first, 8), 0);
        queue.start(5, &mut progress);
    }
    assert_eq!((progress.started.len(), queue.next_event()), (0, None));
    queue.unplug(5, &mut progress);
    assert_eq!(progress.started.iter().map(|s| (s.request.first, s.request.sectors)).collect::<Vec<_>>(), [(92, 24)]);
}

#[test]
fn a_plugged_queue_keeps_a_busy_drive_going() {
    let mut queue = constant(&DiskQueue::default(), 2);
    let mut progress = Progress::default();
    queue.submit(0, read(0, 8), 0);
    queue.start(0, &mut progress);
    queue.plug();
    queue.submit(0, read(100, 8), 0);
    queue.start(0, &mut progress);
    assert_eq!(progress.started.len(), 2);
}

#[test]
fn a_drive_that_has_more_to_do_does_not_become_idle() {
    let mut queue = constant(&unmerged(), 1);
    let mut progress = Progress::default();
    for first in [1, 2, 3] {
        queue.submit(10, read(first, 1), 0);
        queue.start(10, &mut progress);
    }
    assert_eq!(finish(&mut queue, &mut progress), 3_000_010);
    assert_eq!(progress.turns, [Turn { at: 10, busy: true }, Turn { at: 3_000_010, busy: false }]);
}

#[test]
fn a_late_advance_reports_events_at_their_times() {
    let run = |step: Nanos| {
        let mut queue = constant(&unmerged(), 2);
        let mut progress = Progress::default();
        (0..50).for_each(|n| assert_ne!(queue.submit(0, read(n, 1), n as u32), Submitted::Full));
        queue.start(0, &mut progress);
        (1..).map(|n| n * step).take_while(|&now| now < 40_000_000).for_each(|now| queue.advance(now, &mut progress));
        (progress.done, progress.started, progress.turns)
    };
    assert_eq!(run(1_000), run(39_999_999));
}

/// Serves the latest first, and nothing before a time.
#[derive(Debug)]
struct Waits {
    until: Nanos,
    queued: Vec<RequestId>,
    asked: Vec<Nanos>,
}

impl Elevator for Waits {
    fn insert(&mut self, _: &Context<'_>, id: RequestId) {
        self.queued.push(id);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        self.asked.push(cx.now);
        assert!(self.asked.len() < 100, "asked again and again");
        if cx.now < self.until { Next::Until(self.until) } else { self.queued.pop().map_or(Next::Nothing, Next::Serve) }
    }
}

#[test]
fn an_elevator_that_waits_is_asked_again_at_its_time_and_when_something_changes() {
    let drive = Constant { takes: 100, depth: 1 };
    let elevator = Waits { until: 1000, queued: Vec::new(), asked: Vec::new() };
    let mut queue = RequestQueue::new(&DiskQueue::default(), drive, Box::new(elevator));
    let mut progress = Progress::default();
    queue.submit(10, read(1, 1), 0);
    (0..3).for_each(|_| queue.start(10, &mut progress));
    assert_eq!(queue.next_event(), Some(1000));
    queue.advance(999, &mut progress);
    assert!(progress.started.is_empty());
    queue.submit(999, read(100, 1), 1);
    queue.start(999, &mut progress);
    queue.advance(5000, &mut progress);
    assert_eq!(progress.started.iter().map(|s| s.at).collect::<Vec<_>>(), [1000, 1100]);
    assert_eq!(queue.elevator().asked, [10, 999, 1000, 1100, 1200]);
}

#[test]
fn a_time_that_has_come_does_not_stop_the_clock() {
    #[derive(Debug)]
    struct Never;
    impl Elevator for Never {
        fn insert(&mut self, _: &Context<'_>, _: RequestId) {}
        fn dispatch(&mut self, cx: &Context<'_>) -> Next {
            Next::Until(cx.now)
        }
    }
    let mut queue = RequestQueue::new(&DiskQueue::default(), Constant { takes: 1, depth: 1 }, Box::new(Never));
    let mut progress = Progress::default();
    queue.submit(7, read(1, 1), 0);
    queue.start(7, &mut progress);
    assert_eq!(queue.next_event(), Some(8));
}

/// First come, first served; records the hooks that are called.
#[derive(Debug, Default)]
struct Listens {
    queued: Vec<RequestId>,
    calls: Vec<String>,
}

impl Elevator for Listens {
    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.queued.push(id);
        self.calls.push(format!("{} insert {id} at {}", cx.now, cx.request(id).first));
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        let now = cx.request(id);
        self.calls.push(format!("{} grown {id} from {began} to {}..{}", cx.now, now.first, now.end()));
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        self.calls
            .push(format!("{} dispatch, head {} busy {} swapping {}", cx.now, cx.head, cx.in_service, cx.swapping));
        if self.queued.is_empty() { Next::Nothing } else { Next::Serve(self.queued.remove(0)) }
    }

    fn completed(&mut self, cx: &Context<'_>, id: RequestId, started: Nanos) {
        self.calls.push(format!("{} completed {id} since {started} busy {}", cx.now, cx.in_service));
    }

    fn exited(&mut self, cx: &Context<'_>, task: TaskId) {
        self.calls.push(format!("{} exited {task}", cx.now));
    }
}

#[test]
fn the_elevators_hooks_are_called_in_order_of_time() {
    let drive = Constant { takes: 100, depth: 1 };
    let mut queue = RequestQueue::new(&DiskQueue::default(), drive, Box::new(Listens::default()));
    let mut progress = Progress::default();
    queue.submit(5, read(40, 8), 0);
    queue.start(5, &mut progress);
    queue.submit(6, read(80, 8), 0);
    queue.submit(7, read(88, 8), 0);
    queue.submit(8, read(72, 8), 0);
    queue.set_swapping(2);
    queue.exited(9, 3);
    queue.advance(1000, &mut progress);
    let calls = [
        "5 insert 0 at 40",
        "5 dispatch, head 0 busy 0 swapping 0",
        "6 insert 1 at 80",
        "7 grown 1 from 80 to 80..96",
        "8 grown 1 from 80 to 72..96",
        "9 exited 3",
        "105 completed 0 since 5 busy 0",
        "105 dispatch, head 48 busy 0 swapping 2",
        "205 completed 1 since 105 busy 0",
        "205 dispatch, head 96 busy 0 swapping 2",
    ];
    assert_eq!(queue.elevator().calls, calls);
}

/// Requests at random times against a drive that takes 1 ms: the waits before service, grouped so that groups are
/// nearly independent.
fn waits(load: f64) -> Vec<Nanos> {
    let mut rng = Rng::stream(11, 1);
    let big = DiskQueue { requests: room(4096, 4096).requests, writes: room(4096, 4096).writes, ..unmerged() };
    let mut queue = constant(&big, 1);
    let mut progress = Progress::default();
    let mut now = 0;
    for token in 0..400_000 {
        now += rng.exponential((1e6 / load) as u64);
        queue.advance(now, &mut progress);
        assert_ne!(queue.submit(now, read(token, 1), 0), Submitted::Full);
        queue.start(now, &mut progress);
    }
    finish(&mut queue, &mut progress);
    let wait = |part: &Done| part.started - part.request.arrived;
    progress.done.chunks(4000).map(|group| group.iter().map(wait).sum::<Nanos>() / group.len() as u64).collect()
}

#[test]
fn waiting_for_a_constant_drive_is_that_of_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let (mean, half) = interval(&waits(load));
        // Pollaczek and Khinchine, without variance of service: half of that of exponential service.
        let expected = 1e6 * load / (2.0 * (1.0 - load));
        assert!((mean - expected).abs() < half && half < expected / 10.0, "{mean} +- {half}, not {expected}");
    }
}
