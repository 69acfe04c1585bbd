//! Once it has begun, the sampler allocates nothing: counted by the allocator itself, in a program of its own.

use schedlab_linux::{
    Root,
    allocations::{Counting, of_this_thread},
};
use schedlab_observe::sample::{By, Chosen, Line, Sampler, Wanted};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_sample_with_everything_and_its_line_allocate_nothing() {
    let tasks = Some(Chosen { most: 10, by: By::Disk, named: Vec::new() });
    let wanted = Wanted { interrupts: Some(1), nice: true, tasks, groups: vec!["/".to_owned()] };
    let wanted =
        if std::path::Path::new("/sys/fs/cgroup").exists() { wanted } else { Wanted { groups: vec![], ..wanted } };
    let mut sampler = Sampler::new(&Root::default(), wanted).unwrap();
    let mut line = Line::with_room(1 << 20);
    let began = Instant::now();
    let mut once = || {
        sampler.sample(began.elapsed().as_nanos() as u64);
        let (now, before) = sampler.last_two();
        now.rates(before).write(sampler.wanted(), 0, &mut line);
        line.bytes().len()
    };
    // Buffers grow to the size of this host's files.
    for _ in 0..3 {
        once();
    }
    let before = of_this_thread();
    let mut bytes = 0;
    for _ in 0..20 {
        bytes += once();
    }
    assert!(bytes > 20 * 1000);
    assert_eq!(of_this_thread(), before);
}
