//! A simulated run as the events of a recorded one, so that both are measured by the same rules and in the words of the same tasks.
//!
//! A recorded wakeup ends with the switch, after the processor has left idle or the task that ran there. The simulated kernel switches at
//! once and lets the woken task pay for that (`model::replay`): here its switch comes that much later. And that a processor became idle is
//! known only when no task follows. So events are held until the run has come past them, and passed on in order of time.

use schedlab_model::{
    event::{Event as Simulated, Irq, Kind as Of, Leave, Observer},
    replay::{Replay, Waking},
};
use schedlab_traces::kernel::{Context, Event, Kind, Left, Listener, Pid};
use std::{collections::VecDeque, sync::Arc};

/// Passes a simulated run on.
pub struct AsRecorded<'a, L> {
    listener: &'a mut L,
    work: Arc<Replay>,
    seed: u64,
    /// By simulated task.
    tasks: Vec<Known>,
    /// By processor, the task that runs and since when.
    processors: Vec<(Pid, u64)>,
    /// By processor, the task that left it at that time, how, and that has no next one yet.
    leaving: Vec<Option<(u64, Pid, Left)>>,
    /// The processors that have, or had, one such.
    left: Vec<usize>,
    /// Events that are not passed on yet, in order of time.
    held: VecDeque<Event>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    pid: Pid,
    /// Its wakeups.
    woken: u32,
    /// When it was woken, and how, until it runs.
    waking: Option<(u64, Waking)>,
    /// When a timer woke it last.
    timer: Option<u64>,
}

impl<'a, L: Listener> AsRecorded<'a, L> {
    /// A run of these streams, by simulated task, under that seed.
    pub fn new(listener: &'a mut L, work: Arc<Replay>, streams: &[u32], processors: u16, seed: u64) -> Self {
        let pid = |stream: &u32| work.streams.get(*stream as usize).map_or(0, |stream| stream.pid);
        let tasks = streams.iter().map(|stream| Known { pid: pid(stream), ..Known::default() }).collect();
        for (number, stream) in (0..).zip(&work.streams) {
            listener.name(number, &stream.name);
            let named = Event { task: stream.pid, value: number, ..plain(0, 0, Kind::Named) };
            listener.event(&named);
        }
        let processors = usize::from(processors);
        AsRecorded {
            listener,
            work,
            seed,
            tasks,
            processors: vec![(0, 0); processors],
            leaving: vec![None; processors],
            left: Vec::with_capacity(processors),
            held: VecDeque::new(),
        }
    }

    /// The run is over at that time: tasks that run leave their processors.
    pub fn finish(mut self, end: u64) {
        self.pass_on(u64::MAX);
        for cpu in 0..self.processors.len() {
            if self.processors[cpu].0 > 0 {
                self.switch(cpu, end, self.processors[cpu].0, Left::Runnable, 0);
            }
        }
        self.pass_on(u64::MAX);
    }

    /// Holds an event until the run has come past it: most are the latest so far.
    fn hold(&mut self, event: Event) {
        let earlier = self.held.iter().rev().take_while(|held| held.time > event.time).count();
        self.held.insert(self.held.len() - earlier, event);
    }

    /// The run has come to that time: what came before is passed on.
    fn pass_on(&mut self, now: u64) {
        let mut at = 0;
        while let Some(&cpu) = self.left.get(at) {
            if self.leaving[cpu].is_some_and(|(time, ..)| time >= now) {
                at += 1;
            } else {
                self.leave_idle(cpu);
                self.left.swap_remove(at);
            }
        }
        while self.held.front().is_some_and(|event| event.time < now) {
            self.held.pop_front().iter().for_each(|event| self.listener.event(event));
        }
    }

    fn switch(&mut self, cpu: usize, time: u64, from: Pid, left: Left, to: Pid) {
        let bits = Event::bits(left as u8, Context::Task);
        self.processors[cpu] = (to, time);
        self.hold(Event { task: from, other: to, bits, ..plain(time, cpu as u16, Kind::Switch) });
    }

    /// A task that left without a next one left the processor idle.
    fn leave_idle(&mut self, cpu: usize) {
        if let Some((time, from, left)) = self.leaving[cpu].take() {
            self.switch(cpu, time, from, left, 0);
        }
    }

    fn wakeup(&mut self, event: &Simulated) {
        let cpu = usize::from(event.cpu);
        let idle = self.processors[cpu].0 == 0 || self.leaving[cpu].is_some();
        let Some(task) = self.tasks.get_mut(event.task as usize) else { return };
        let kind = if event.flag == 1 { Kind::New } else { Kind::Waking };
        if kind == Kind::Waking {
            task.woken = task.woken.wrapping_add(1);
            let waking = match task.timer == Some(event.time) {
                _ if idle => Waking::Idle,
                true => Waking::Interrupted,
                false => Waking::Task,
            };
            task.waking = Some((event.time, waking));
        }
        let bits = Event::bits(0, Context::Unknown);
        let woken = Event { task: task.pid, value: event.cpu.into(), bits, ..plain(event.time, event.cpu, kind) };
        self.hold(woken);
    }

    fn switch_in(&mut self, event: &Simulated) {
        let cpu = usize::from(event.cpu);
        let Some(task) = self.tasks.get_mut(event.task as usize) else { return };
        let pid = task.pid;
        let vacated = self.leaving[cpu].is_some_and(|(time, _, left)| time == event.time && left != Left::Runnable);
        let exit = match task.waking.take() {
            Some((woken, waking)) if waking == Waking::Idle || woken == event.time && !vacated => {
                self.work.delay(waking, self.seed, event.task, task.woken)
            }
            _ => 0,
        };
        match self.leaving[cpu].take() {
            Some((time, from, left)) if time == event.time => self.switch(cpu, event.time + exit, from, left, pid),
            Some((time, from, left)) => {
                self.switch(cpu, time, from, left, 0);
                self.switch(cpu, event.time + exit, 0, Left::Runnable, pid);
            }
            None => self.switch(cpu, event.time + exit, 0, Left::Runnable, pid),
        }
    }
}

impl<L: Listener> Observer for AsRecorded<'_, L> {
    fn observe(&mut self, event: Simulated) {
        self.pass_on(event.time);
        match event.kind {
            Of::Wakeup => self.wakeup(&event),
            Of::Interrupt if event.a == Irq::Timer as u64 => {
                if let Some(task) = self.tasks.get_mut(event.task as usize) {
                    task.timer = Some(event.time);
                }
            }
            Of::SwitchIn => self.switch_in(&event),
            Of::SwitchOut if event.flag != Leave::Stopped as u8 => {
                let left = match event.flag {
                    flag if flag == Leave::Blocked as u8 => Left::Sleeping,
                    flag if flag == Leave::Exited as u8 => Left::Dead,
                    _ => Left::Runnable,
                };
                let cpu = usize::from(event.cpu);
                let (pid, since) = self.processors[cpu];
                self.leaving[cpu] = Some((event.time.max(since), pid, left));
                self.left.push(cpu);
            }
            Of::Migrated => {
                let Some(task) = self.tasks.get(event.task as usize) else { return };
                let value = u64::from(event.cpu) | event.a << 32;
                let moved = Event { task: task.pid, value, ..plain(event.time, event.cpu, Kind::Migrate) };
                self.hold(moved);
            }
            _ => {}
        }
    }
}

fn plain(time: u64, cpu: u16, kind: Kind) -> Event {
    let bits = Event::bits(0, Context::Unknown);
    Event { time, value: 0, task: 0, other: Event::NO_TASK, extra: 0, cpu, kind, bits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::replay::Stream;

    /// Times and tasks of switches: from, to.
    #[derive(Default)]
    struct Switches(Vec<(u64, u16, Pid, Pid)>);

    impl Listener for Switches {
        fn event(&mut self, event: &Event) {
            if event.kind == Kind::Switch {
                self.0.push((event.time, event.cpu, event.task, event.other));
            }
        }

        fn name(&mut self, _: u64, _: &str) {}
    }

    #[test]
    fn a_processor_that_becomes_idle_says_so_before_others_go_on() {
        let stream = |pid| Stream { pid, ..Stream::default() };
        let delays = [vec![30], Vec::new(), Vec::new()];
        let work = Replay { streams: vec![stream(11), stream(12)], delays, ..Replay::default() };
        let mut seen = Switches::default();
        let mut run = AsRecorded::new(&mut seen, Arc::new(work), &[0, 1], 2, 1);
        let at = |time, cpu, task, kind, flag| Simulated { time, a: 0, b: 0, task, cpu, kind, flag };
        run.observe(at(0, 0, 0, Of::SwitchIn, 0));
        run.observe(at(0, 1, 1, Of::SwitchIn, 0));
        run.observe(at(100, 0, 0, Of::SwitchOut, Leave::Blocked as u8));
        run.observe(at(200, 1, 1, Of::SwitchOut, Leave::Preempted as u8));
        run.observe(at(200, 1, 1, Of::SwitchIn, 0));
        // It leaves idle 30 ns after its wakeup, and the other processor's task waits meanwhile.
        run.observe(at(300, 0, 0, Of::Wakeup, 0));
        run.observe(at(300, 0, 0, Of::SwitchIn, 0));
        run.observe(at(310, 1, 1, Of::SwitchOut, Leave::Blocked as u8));
        run.finish(400);
        let switches = [(100, 0, 11, 0), (200, 1, 12, 12), (310, 1, 12, 0), (330, 0, 0, 11), (400, 0, 11, 0)];
        assert_eq!(seen.0[2..], switches);
    }

    #[test]
    fn a_task_that_comes_after_one_that_left_by_itself_comes_at_once() {
        let stream = |pid| Stream { pid, ..Stream::default() };
        let delays = [Vec::new(), Vec::new(), vec![30]];
        let second = |left: Leave| {
            let work = Replay { streams: vec![stream(11), stream(12)], delays: delays.clone(), ..Replay::default() };
            let mut seen = Switches::default();
            let mut run = AsRecorded::new(&mut seen, Arc::new(work), &[0, 1], 1, 1);
            let at = |time, task, kind, flag| Simulated { time, a: 0, b: 0, task, cpu: 0, kind, flag };
            run.observe(at(0, 0, Of::SwitchIn, 0));
            run.observe(at(100, 1, Of::Wakeup, 0));
            run.observe(at(100, 0, Of::SwitchOut, left as u8));
            run.observe(at(100, 1, Of::SwitchIn, 0));
            run.finish(400);
            seen.0[1].0
        };
        assert_eq!((second(Leave::Preempted), second(Leave::Blocked)), (130, 100));
    }
}
