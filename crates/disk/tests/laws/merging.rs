//! Which requests are joined, and that nothing is lost by it.

use crate::{constant, finish, merging, read, unmerged, write};
use schedlab_disk::{Progress, Submitted};
use schedlab_model::{
    machine::DiskQueue,
    request::{Request, Sector},
    rng::Rng,
};

/// What becomes of a request while another one is queued, and one further off is in service.
fn submitted_after(queue: &DiskQueue, queued: Request, new: Request) -> Submitted {
    let mut queue = constant(queue, 1);
    let mut progress = Progress::default();
    queue.submit(0, read(1 << 20, 8), 0);
    queue.start(0, &mut progress);
    queue.submit(1, queued, 1);
    queue.submit(1, new, 2)
}

#[test]
fn requests_that_touch_at_either_end_are_joined() {
    let queue = DiskQueue::default();
    assert_eq!(submitted_after(&queue, read(100, 8), read(108, 8)), Submitted::Merged(1));
    assert_eq!(submitted_after(&queue, read(100, 8), read(92, 8)), Submitted::Merged(1));
    assert_eq!(submitted_after(&queue, write(100, 8), write(108, 1)), Submitted::Merged(1));
    assert_eq!(submitted_after(&queue, read(100, 8), read(109, 8)), Submitted::Queued(2));
    assert_eq!(submitted_after(&queue, read(100, 8), read(91, 8)), Submitted::Queued(2));
    assert_eq!(submitted_after(&queue, read(100, 8), read(100, 8)), Submitted::Queued(2));
}

#[test]
fn requests_of_different_direction_or_that_may_not_be_merged_stay_apart() {
    let queue = DiskQueue::default();
    let lonely = |request| Request { mergeable: false, ..request };
    assert_eq!(submitted_after(&queue, read(100, 8), write(108, 8)), Submitted::Queued(2));
    assert_eq!(submitted_after(&queue, read(100, 8), lonely(read(108, 8))), Submitted::Queued(2));
    assert_eq!(submitted_after(&queue, lonely(read(100, 8)), read(108, 8)), Submitted::Queued(2));
    assert_eq!(submitted_after(&queue, lonely(read(100, 8)), read(92, 8)), Submitted::Queued(2));
    assert_eq!(submitted_after(&unmerged(), read(100, 8), read(108, 8)), Submitted::Queued(2));
}

#[test]
fn a_request_grows_to_the_limit_and_not_beyond() {
    assert_eq!(submitted_after(&merging(16), read(100, 8), read(108, 8)), Submitted::Merged(1));
    assert_eq!(submitted_after(&merging(15), read(100, 8), read(108, 8)), Submitted::Queued(2));
    assert_eq!(submitted_after(&merging(15), read(100, 8), read(92, 8)), Submitted::Queued(2));
}

#[test]
fn a_request_in_service_does_not_grow() {
    let mut queue = constant(&DiskQueue::default(), 1);
    let mut progress = Progress::default();
    queue.submit(0, read(100, 8), 0);
    queue.start(0, &mut progress);
    assert_eq!(queue.submit(1, read(108, 8), 1), Submitted::Queued(1));
    assert_eq!(queue.submit(1, read(92, 8), 2), Submitted::Queued(2));
}

#[test]
fn a_grown_request_is_found_at_its_new_ends() {
    let mut queue = constant(&DiskQueue::default(), 1);
    let mut progress = Progress::default();
    let requests = [(100, 8), (108, 8), (92, 8), (116, 1), (91, 1), (117, 3)];
    let all = requests
        .iter()
        .enumerate()
        .map(|(token, &(first, sectors))| queue.submit(0, read(first, sectors), token as u32));
    let all: Vec<Submitted> = all.collect();
    assert_eq!(all[0], Submitted::Queued(0));
    assert!(all[1..].iter().all(|&what| what == Submitted::Merged(0)), "{all:?}");
    // Its former ends are no longer ends of a request: these begin or end there and overlap it.
    assert_eq!(queue.submit(0, read(108, 4), 6), Submitted::Queued(1));
    assert_eq!(queue.submit(0, read(96, 4), 7), Submitted::Queued(2));
    queue.start(0, &mut progress);
    assert_eq!((progress.started[0].request.first, progress.started[0].request.sectors), (91, 29));
    queue.advance(1_000_000, &mut progress);
    let parts: Vec<_> =
        progress.done.iter().map(|part| (part.request.first, part.request.sectors, part.token)).collect();
    assert_eq!(parts, [(91, 1, 4), (92, 8, 2), (100, 8, 0), (108, 8, 1), (116, 1, 3), (117, 3, 5)]);
    assert_eq!(progress.done.iter().filter(|part| part.leads).count(), 1);
}

#[test]
fn of_several_neighbours_the_one_in_front_grows_and_of_those_the_latest() {
    let mut queue = constant(&merging(16), 1);
    for (token, first) in [(0, 100), (1, 116), (2, 100)] {
        assert_eq!(queue.submit(0, read(first, 8), token), Submitted::Queued(token));
    }
    assert_eq!(queue.submit(0, read(108, 8), 3), Submitted::Merged(2));
    // That one is as large as allowed now: the next of the same end, then the one behind.
    assert_eq!(queue.submit(0, read(108, 8), 4), Submitted::Merged(0));
    assert_eq!(queue.submit(0, read(108, 8), 5), Submitted::Merged(1));
    assert_eq!(queue.submit(0, read(108, 8), 6), Submitted::Queued(3));
}

#[test]
fn merging_keeps_every_sector_of_every_part() {
    let mut rng = Rng::stream(5, 5);
    let mut queue = constant(&merging(64), 4);
    let mut progress = Progress::default();
    let (mut wanted, mut now, mut merged) = (Vec::new(), 0, 0);
    for token in 0..20_000 {
        now += rng.below(400_000);
        queue.advance(now, &mut progress);
        let (first, sectors) = (rng.below(400), 1 + rng.below(8) as u32);
        let request = if rng.below(2) == 0 { read(first, sectors) } else { write(first, sectors) };
        match queue.submit(now, request, token) {
            Submitted::Full => {}
            what => {
                merged += u32::from(matches!(what, Submitted::Merged(_)));
                wanted.push((token, Request { arrived: now, ..request }));
            }
        }
        queue.start(now, &mut progress);
    }
    finish(&mut queue, &mut progress);
    assert!(merged > 1000, "{merged}");
    // Requests are exactly as long as their parts, which follow each other without gap or overlap.
    let mut parts = progress.done.iter().peekable();
    let mut services: Vec<(Sector, Sector, u64)> = Vec::new();
    while let Some(lead) = parts.next() {
        let (mut end, began) = (lead.request.end(), lead.started);
        while let Some(part) = parts.next_if(|part| !part.leads) {
            assert_eq!(
                (part.request.first, part.started, part.request.direction),
                (end, began, lead.request.direction)
            );
            end = part.request.end();
        }
        assert!(end - lead.request.first <= 64);
        services.push((lead.request.first, end, began));
    }
    let mut started: Vec<_> = progress.started.iter().map(|s| (s.request.first, s.request.end(), s.at)).collect();
    services.sort_unstable();
    started.sort_unstable();
    assert_eq!(services, started);
    let mut done: Vec<_> = progress.done.iter().map(|part| (part.token, part.request)).collect();
    done.sort_unstable_by_key(|part| part.0);
    assert_eq!(done, wanted);
}
