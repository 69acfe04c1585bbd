//! From a scenario to a kernel that is ready to run.

use crate::{
    RunError,
    caches::Caches,
    clock::Clock,
    costs::costs,
    cpu::Cpu,
    earliest::Earliest,
    hardware::personality,
    kernel::{FOREVER, Kernel},
    process::{Process, State},
    programs::{check, compile},
    replayed::Replayed,
    resources::{Barrier, Change, Device, Lock, Pipe, Pool, Resources, Semaphore, io_priority},
    servers::{DRIVERS, KERNEL_TASKS},
    speeds::Speeds,
    streams::{CLOCK_STREAM, DEVICE_STREAM, POLICY_STREAM},
    timers::{Expiry, Timers},
};
use schedlab_model::{
    Nanos, SECOND,
    attention::Attended,
    event::{Kind, NO_TASK, Observer},
    machine::{self},
    processors::{CpuSet, PerProcessor},
    rng::{Rng, Seeded},
    scenario::{Job, Protocol, Scenario},
    task::{Class, CpuId, Group, GroupId, Reservation, Task, TaskId, Wait},
};
use schedlab_policies::schedulers::{Clocks, Scheduler, View, Wishes};
use schedlab_workloads::{
    Programs,
    arrivals::ArrivalTimes,
    draws::{self, draw},
    roster::{self, Entry},
};
use std::collections::{BTreeMap, VecDeque};

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Builds the machine, its kernel and its workload; nothing has run yet.
    pub fn boot(scenario: &Scenario, seed: u64, observer: O) -> Result<Self, RunError> {
        let machine = &scenario.machine;
        let params = check(scenario.machine.processors.get(), &S::INFO, &scenario.scheduler.settings)?;
        let programs = compile(scenario)?;
        let processors = machine.processors.get();
        let message_passing = machine.personality == machine::Personality::MessagePassing;
        let wanted =
            Clocks { hz: machine.clock.hz.get().0, stat_hz: machine.clock.stat_hz.as_ref().map(|rate| rate.get().0) };
        let clocks = S::clocks(&params, wanted);
        let clock = clock(clocks.hz, seed, machine.clock.phase.as_ref().map(|phase| phase.get().0));
        if machine.clock.interrupt.get().0 >= clock.tick {
            let why = "of the scheduler leaves no time between two ticks: the machine's clock.interrupt is longer";
            return Err(RunError(format!("scheduler.hz: {}/s {why}", clocks.hz)));
        }
        let sampled = machine.accounting == machine::Accounting::Sampled;
        let stat_hz = clocks.stat_hz.filter(|_| S::FEATURES.stat_ticks || sampled);
        let stat_clock = stat_hz.map(|hz| self::clock(hz, seed, None));
        let topology = machine.topology();
        // A tick that is no sample, of either kind, and needs no clock task does nothing but what the policy does.
        let does_more = sampled || message_passing || S::FEATURES.stat_ticks && clocks.stat_hz.is_none();
        let personality = personality(scenario, &programs, seed)?;
        let mut kernel = Kernel {
            now: 0,
            limit: scenario.duration.map_or(FOREVER, |d| d.0),
            scheduler: S::new(&params, &topology, clock.tick),
            observer,
            view: View { tick: clock.tick, topology, ..View::of(processors) },
            wishes: Wishes::default(),
            processes: Vec::new(),
            cpus: PerProcessor::new(processors, |_| Cpu::default()),
            earliest: Earliest::of(processors.into()),
            timers: Timers::default(),
            clock,
            stat_clock,
            // That of a single processor that costs nothing, and of an idle one, which it costs nothing anyway.
            passes_ticks: !does_more && processors == 1 && machine.clock.interrupt.get().0 == 0,
            passes_idle_ticks: !does_more,
            tick_timers: machine.clock.timers == machine::TimerResolution::Tick,
            costs: costs(machine),
            sampled,
            charges_interrupts: machine.interrupt_accounting == machine::InterruptAccounting::Task,
            preemption: machine.preemption,
            deferred: CpuSet::none(),
            policy_rng: Rng::stream(seed, POLICY_STREAM),
            caches: Caches::of(machine, scenario.attention.is_some()),
            attended: Attended::of(scenario, scenario.machine.processors.get().into()),
            speeds: Speeds::of(&machine.topology()),
            devices: machine.devices.values().map(device).collect(),
            device_rng: Rng::stream(seed, DEVICE_STREAM),
            perpetual: 0,
            resources: resources(scenario, &programs, machine.calls.futex.is_some()),
            replayed: Replayed::of(scenario),
            programs,
            finite: scenario.workload.values().map(Job::is_finite).collect(),
            awaited: 0,
            endless: !scenario.workload.values().any(Job::is_finite),
            personality,
            disk_waiters: 0,
            stuck: None,
            seed,
        };
        let stat_ticks = S::FEATURES.stat_ticks && kernel.stat_clock.is_none();
        if S::ticks(&params) || stat_ticks || kernel.sampled || kernel.costs.clock_interrupt > 0 || message_passing {
            kernel.clock.start();
        }
        kernel.set_perpetual_timers();
        if message_passing {
            kernel.create_servers(scenario.workload.len());
        }
        let names = kernel.create_groups(scenario);
        kernel.resolve_changes(scenario, &names);
        kernel.create_jobs(scenario, &names);
        kernel.create_pools(scenario);
        kernel.start_storage();
        Ok(kernel)
    }

    /// What steps change of tasks, with jobs and groups by number.
    fn resolve_changes(&mut self, scenario: &Scenario, names: &BTreeMap<String, GroupId>) {
        let all = CpuSet::all(self.cpus.len());
        let (treatments, jobs) = (self.programs.treatments.iter(), Vec::from_iter(scenario.workload.keys()));
        self.resources.changes = treatments.map(|treatment| Change::of(treatment, &jobs, names, &all)).collect();
    }

    /// The first interrupt of each device and of the statistics clock, and the first moment at which attention is looked after.
    fn set_perpetual_timers(&mut self) {
        for index in 0..self.devices.len() {
            let first = draw(self.devices[index].every, &mut self.device_rng);
            self.timers.set(first, Expiry::Device { device: index as u32 });
        }
        match &mut self.stat_clock {
            Some(clock) if S::FEATURES.stat_ticks || self.sampled => self.timers.set(clock.start(), Expiry::Stat),
            _ => {}
        }
        if let Some(attended) = &self.attended {
            self.timers.set(attended.next(), Expiry::Attention);
        }
        self.perpetual = self.timers.len();
    }

    /// The kernel's own tasks: they wait for something to do.
    fn create_servers(&mut self, job: usize) {
        for id in 0..KERNEL_TASKS {
            let class = if id < DRIVERS { Class::KernelTask } else { Class::Server };
            self.view.tasks.push(Task { class, ..Task::ordinary(id, CpuSet::only(0)) });
            self.processes.push(Process::new(job as u16, 0, Rng::stream(self.seed, id.into())));
            let process = &mut self.processes[id as usize];
            (process.state, process.kernel) = (State::Waiting(Wait::Message), true);
            self.emit(Kind::Created, 128, 0, id, job as u64, NO_TASK.into());
        }
        self.finite.push(false);
        self.resources.high_water.push(None);
    }

    fn create_groups(&mut self, scenario: &Scenario) -> BTreeMap<String, GroupId> {
        let names: BTreeMap<String, GroupId> = scenario.groups.keys().cloned().zip(1..).collect();
        self.view.groups.push(Group::ROOT);
        for group in scenario.groups.values() {
            let parent = group.parent.as_ref().and_then(|name| names.get(name)).copied().unwrap_or(0);
            let quota = group.quota.map(|quota| (quota.0, group.period.0));
            let burst = group.burst.map_or(0, |burst| burst.0);
            self.view.groups.push(Group { parent, weight: group.weight, quota, burst });
        }
        names
    }

    fn create_jobs(&mut self, scenario: &Scenario, groups: &BTreeMap<String, GroupId>) {
        let all = CpuSet::all(self.cpus.len());
        let jobs: Vec<(&String, &Job)> = scenario.workload.iter().collect();
        let streams = self.replayed.as_ref().map(|replayed| replayed.by_job()).unwrap_or_default();
        for Entry { job: index, copy, start, session } in roster::tasks(&scenario.workload, self.seed) {
            let (name, job) = jobs[index];
            let id = self.view.tasks.len() as TaskId;
            let group = job.group.as_ref().and_then(|group| groups.get(group)).copied().unwrap_or(0);
            self.view.tasks.push(Task { session, ..task_of(job, id, group, &all) });
            if let Some(caches) = &mut self.caches {
                caches.know(id, job.footprint.map_or(0, |size| size.0));
            }
            let draws = draws::of_task(self.seed, name, copy);
            self.processes.push(Process::new(index as u16, index as u32, draws));
            self.processes[id as usize].life.io = io_priority(job.io_class, job.io_level);
            let stream = job.replay.as_ref().and_then(|name| streams.get(name)?.get(copy as usize).copied());
            let begins = match (&mut self.replayed, stream) {
                (Some(replayed), Some(stream)) => replayed.assign(id, stream),
                _ => true,
            };
            if begins {
                self.timers.set(start, Expiry::Start { task: id });
            }
            self.awaited += u32::from(self.finite[index]);
        }
    }
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The requests of each pool are expected.
    fn create_pools(&mut self, scenario: &Scenario) {
        for (index, (name, job)) in scenario.workload.iter().enumerate() {
            let Some(pipe) = self.programs.requests[index] else { continue };
            let Some(times) = ArrivalTimes::of(self.seed, index, name, job) else { continue };
            let pool = self.resources.pools.len() as u32;
            let of_job = |process: &Process| !process.kernel && usize::from(process.job) == index;
            let first = self.processes.iter().position(of_job).unwrap_or(0) as TaskId;
            self.resources.pipes[usize::from(pipe)].pool = Some(pool);
            self.resources.pools.push(Pool { job: name.clone(), first, pipe, times, taken: 0 });
            self.expect_request(pool);
        }
    }
}

pub(crate) fn task_of(job: &Job, id: TaskId, group: GroupId, all: &CpuSet) -> Task {
    let wished: CpuSet = job.cpus.iter().copied().collect();
    let allowed = if wished.is_empty() { all.clone() } else { wished.and(all) };
    Task {
        policy: job.policy,
        priority: job.priority,
        nice: job.nice,
        group,
        slice: job.slice.map(|slice| slice.0),
        reservation: job.reservation.map(|wish| Reservation {
            runtime: wish.runtime.0,
            deadline: wish.deadline.unwrap_or(wish.period).0,
            period: wish.period.0,
        }),
        // New tasks are spread over the processors in turn; a policy may choose otherwise.
        cpu: nth_allowed(&allowed, id),
        ..Task::ordinary(id, allowed)
    }
}

/// The n-th processor of a set, counted in turn.
fn nth_allowed(allowed: &CpuSet, n: u32) -> CpuId {
    let skip = n % allowed.count().max(1);
    allowed.iter().nth(skip as usize).unwrap_or(0)
}

fn device(device: &machine::Device) -> Device {
    Device { every: device.every, cost: device.cost.get().0, cpu: device.cpu }
}

/// A clock of that rate, whose first tick comes when the machine says, or the seed. It does not tick yet.
fn clock(hz: f64, seed: u64, phase: Option<Nanos>) -> Clock {
    let millihertz = (hz * 1000.0).round().max(1.0) as u64;
    let tick = (u128::from(SECOND) * 1000 / u128::from(millihertz)) as Nanos;
    let drawn = || Rng::stream(seed, CLOCK_STREAM).below_later(tick);
    let phase = phase.map_or_else(drawn, |phase| Seeded::fixed(phase % tick));
    Clock { tick, millihertz, phase, fraction: 0, next: Nanos::MAX }
}

fn resources(scenario: &Scenario, programs: &Programs, futexes: bool) -> Resources {
    // As the agent's (crates/play/src/sync): the kernel hands on a lock that inherits priorities, and one with readers has a queue.
    let is_futex =
        |lock: usize, protocol: Protocol| futexes && protocol != Protocol::Inherit && !programs.is_read(lock);
    let lock = |(lock, &protocol)| Lock { protocol, futex: is_futex(lock, protocol), ..Lock::default() };
    let semaphore = |&permits| Semaphore { permits, futex: futexes, ..Semaphore::default() };
    Resources {
        locks: programs.protocols.iter().enumerate().map(lock).collect(),
        pipes: programs.capacities.iter().map(|&capacity| Pipe { capacity, ..Pipe::default() }).collect(),
        semaphores: programs.permits.iter().map(semaphore).collect(),
        barriers: programs.parties.iter().map(|&parties| Barrier { parties, ..Barrier::default() }).collect(),
        conditions: vec![VecDeque::new(); programs.conditions.len()],
        pools: Vec::new(),
        changes: Vec::new(),
        sizing: scenario.machine.memory.sizing,
        high_water: vec![None; scenario.workload.len()],
    }
}
