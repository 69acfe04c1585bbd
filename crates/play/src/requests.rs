//! The requests of pools. Each pool has a generator, a process that sleeps until the next request arrives and writes it into the
//! pool's pipe. It is none of the workload's tasks: what it uses is the agent's own. It dies with the supervisor.
//!
//! A request is counted from the time at which it should arrive, whatever the generator does meanwhile: one that comes late into the pipe,
//! since that is full or the processor is not free, has waited.

use crate::{attributes::keep_off, awaited::awaited, launch::in_child, setup::Setup, sync::Message, worker::die_with};
use libc::PIPE_BUF;
use schedlab_linux::{
    Fault,
    clock::{self, exact_timers},
    futex, mapping, process, sched,
};
use schedlab_workloads::{arrivals::ArrivalTimes, stuck::Awaited};
use std::{
    collections::BTreeMap,
    sync::atomic::Ordering::{Acquire, Relaxed},
};

/// A generator, as the supervisor sees it.
struct Generator {
    pid: i32,
    job: usize,
    /// Processor time that it had used before the run, ns.
    used_before: u64,
}

/// The generators of all pools.
#[derive(Default)]
pub(crate) struct Generators(Vec<Generator>);

impl Generators {
    /// Starts them; they wait at the barrier. From then on only a generator has the writing end of its pool's pipe, so that the pipe is
    /// closed when it has no more requests. To be called before the tasks are made.
    pub fn start(setup: &mut Setup) -> Result<Generators, Fault> {
        let agent = process::own_pid();
        let mut all = Vec::new();
        let pools: Vec<(usize, usize)> = pools(setup).collect();
        for &(job, pipe) in &pools {
            let pid = process::fork();
            let pid = pid.map_err(|why| Fault::Call { doing: "making a generator of requests".to_owned(), why })?;
            match pid {
                Some(pid) => all.push(Generator { pid, job, used_before: 0 }),
                None => in_child(|| generate(setup, &pools, job, pipe, agent)),
            }
        }
        pools.iter().for_each(|&(_, pipe)| setup.pipes[pipe].close());
        Ok(Generators(all))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Their processes.
    pub fn pids(&self) -> impl Iterator<Item = i32> {
        self.0.iter().map(|one| one.pid)
    }

    /// The run begins: what they have used before is not its own.
    pub fn begin(&mut self) {
        self.0.iter_mut().for_each(|one| one.used_before = clock::time_of(one.pid).unwrap_or(0));
    }

    /// Processor time that they have used since, ns; of one that is gone it is not known.
    pub fn used(&self) -> u64 {
        let used = |one: &Generator| clock::time_of(one.pid).unwrap_or(0).saturating_sub(one.used_before);
        self.0.iter().map(used).sum()
    }

    /// The pools whose generators are among the processes that have ended.
    pub fn lost<T>(&self, ended: &BTreeMap<i32, T>) -> Vec<usize> {
        self.0.iter().filter(|one| ended.contains_key(&one.pid)).map(|one| one.job).collect()
    }
}

/// The jobs that are pools, each with the pipe of its requests.
fn pools(setup: &Setup) -> impl Iterator<Item = (usize, usize)> {
    let requests = setup.workload.programs.requests.iter().enumerate();
    requests.filter_map(|(job, pipe)| Some((job, usize::from((*pipe)?))))
}

/// When the requests of a job arrive after the start of the run.
fn times(setup: &Setup, job: usize) -> Option<ArrivalTimes> {
    ArrivalTimes::of(setup.seed, job, &setup.workload.jobs[job], &setup.jobs[job])
}

/// A generator's work.
fn generate(setup: &mut Setup, pools: &[(usize, usize)], job: usize, pipe: usize, agent: i32) {
    die_with(agent);
    // The writing ends of the others are theirs alone.
    pools.iter().filter(|(_, other)| *other != pipe).for_each(|&(_, other)| setup.pipes[other].close());
    keep_off(&setup.used);
    // What is not permitted makes requests late, which is measured.
    let _ = (exact_timers(), mapping::lock_memory(), sched::raise(0, setup.workload.highest_priority));
    let mut times = times(setup, job).into_iter().flatten().peekable();
    let mut batch = Vec::with_capacity(PIPE_BUF);
    let barrier = setup.shared.barrier();
    barrier.ready.fetch_add(1, Relaxed);
    futex::wake(&barrier.ready, 1);
    while barrier.open.load(Acquire) == 0 {
        futex::wait(&barrier.open, 0, None);
    }
    let start = barrier.start.load(Relaxed);
    let mut number = 0;
    while let Some(first) = times.peek().map(|time| start.saturating_add(*time)) {
        while clock::now() < first {
            clock::sleep_until(first);
        }
        let now = clock::now();
        batch.clear();
        // As many as are due and one call writes as a whole.
        while batch.len() < PIPE_BUF
            && let Some(time) = times.next_if(|time| start.saturating_add(*time) <= now)
        {
            batch.extend(Message { sent: start + time, number }.bytes());
            number += 1;
        }
        if !setup.pipes[pipe].write(&batch) {
            break;
        }
    }
    setup.pipes[pipe].close();
    // Its account is read when the run is over.
    loop {
        process::pause();
    }
}

/// A message that no task was done with when the run ended: the job that it is counted for, and when it was sent.
pub(crate) type OpenMessage = (usize, u64);

/// Messages and requests that were not received when the run ended, at a time. They are counted for the job that received last from
/// their pipe, requests for their pool. To be called once, when all tasks are gone.
pub(crate) fn open_messages(setup: &Setup, start: u64, end: u64) -> Vec<OpenMessage> {
    let receiver =
        |pipe: usize| setup.shared.traffic[pipe].receiver.load(Relaxed).checked_sub(1).map(|job| job as usize);
    let mut all = Vec::new();
    let pool_of: BTreeMap<usize, usize> = pools(setup).map(|(job, pipe)| (pipe, job)).collect();
    for (number, pipe) in setup.pipes.iter().enumerate() {
        let left = pipe.drain();
        if let Some(&job) = pool_of.get(&number) {
            let written =
                left.last().map_or(0, |last| last.number + 1).max(setup.shared.totals[job].taken.load(Relaxed));
            let late = times(setup, job).into_iter().flatten().skip(written as usize);
            let late = late.map(|time| start.saturating_add(time)).take_while(|&sent| sent < end);
            all.extend(left.iter().map(|message| message.sent).chain(late).map(|sent| (job, sent)));
        } else if let Some(job) = receiver(number) {
            all.extend(left.iter().map(|message| (job, message.sent)));
        }
    }
    // And of those that wait for room.
    for slot in setup.shared.used().iter().filter(|slot| slot.ended.load(Relaxed) == 0) {
        if let Some(Awaited::Room(pipe)) = awaited(slot.awaits.load(Relaxed)) {
            let sent = Some(slot.since.load(Relaxed)).filter(|&sent| sent > 0);
            all.extend(receiver(pipe.into()).zip(sent));
        }
    }
    all
}
