//! The steps by which tasks wait for each other: locks, semaphores, barriers, conditions, messages and requests. A signal ends none of
//! these waits.

use crate::{
    shared::Trouble,
    sync::{Hold, Message, Taker},
    worker::Worker,
};
use schedlab_linux::clock;
use schedlab_model::{Nanos, scenario::Protocol};
use schedlab_workloads::{Instruction, draws::of_request, stuck::Awaited};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

impl Worker<'_> {
    /// One of these steps.
    pub fn use_shared(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Lock(lock) => self.request(Awaited::Lock(lock), |worker| worker.take(lock, Hold::Alone)),
            Instruction::ReadLock(lock) => self.request(Awaited::Lock(lock), |worker| worker.take(lock, Hold::Reading)),
            Instruction::Unlock(lock) => self.unlock(lock.into()),
            Instruction::Acquire(semaphore) => self.request(Awaited::Permit(semaphore), |worker| {
                worker.setup.shared.semaphores[usize::from(semaphore)].take();
            }),
            Instruction::Release(semaphore) => self.setup.shared.semaphores[usize::from(semaphore)].give(),
            Instruction::Barrier(barrier) => {
                let parties = self.setup.workload.programs.parties[usize::from(barrier)];
                self.await_others(Awaited::Barrier(barrier), |worker| {
                    let slot = worker.slot;
                    let words = &worker.setup.shared.barriers[usize::from(barrier)];
                    words.come(parties, |group| slot.draw(group, false));
                });
            }
            Instruction::ConditionWait { condition, lock } => self.wait_for_condition(condition, lock),
            Instruction::ConditionSignal(condition) => self.setup.shared.condition(condition).signal(),
            Instruction::ConditionBroadcast(condition) => {
                self.setup.shared.condition(condition).broadcast();
            }
            Instruction::Send(pipe) => self.send(pipe),
            Instruction::Receive(pipe) => {
                self.done_with_message();
                if let Some(message) = self.receive(pipe) {
                    set(&mut self.message, &self.slot.message, message.sent);
                }
            }
            Instruction::Serve(pipe) => self.serve(pipe),
            _ => {}
        }
    }

    /// Requests a lock or a permit: the time until the task goes on with it is measured.
    fn request(&mut self, what: Awaited, take: impl FnOnce(&mut Self)) {
        let requested = clock::now();
        self.slot.since.store(requested, Relaxed);
        self.await_others(what, take);
        self.slot.since.store(0, Relaxed);
        self.totals.lock_latency.record(self.gaps.last().saturating_sub(requested));
    }

    fn take(&mut self, lock: u16, hold: Hold) {
        let (lock, slot) = (usize::from(lock), self.slot);
        let ceiling = self.ceiling(lock);
        if ceiling > 0 {
            // Before it has it, as with the C library: it waits with that priority, too.
            self.scheduling.hold(ceiling.max(self.highest_ceiling()), slot);
        }
        let locks = &self.setup.shared.locks;
        locks.take(lock, hold, self.taker(), |ticket| slot.draw(ticket, hold == Hold::Reading));
        self.locks[lock] = hold;
    }

    fn taker(&self) -> Taker {
        Taker { task: self.number as u32 + 1, process: self.process }
    }

    /// The ceiling of a lock; 0 if it has none.
    fn ceiling(&self, lock: usize) -> u32 {
        match self.setup.workload.programs.protocols.get(lock) {
            Some(Protocol::Ceiling(ceiling)) => (*ceiling).into(),
            _ => 0,
        }
    }

    /// The highest of the locks that it holds.
    fn highest_ceiling(&self) -> u32 {
        let held = self.locks.iter().enumerate().filter(|(_, hold)| **hold != Hold::Nothing);
        held.map(|(lock, _)| self.ceiling(lock)).max().unwrap_or(0)
    }

    /// Giving back what it does not have changes nothing.
    fn unlock(&mut self, lock: usize) {
        let hold = std::mem::take(&mut self.locks[lock]);
        if hold == Hold::Nothing {
            return;
        }
        if let Err(why) = self.setup.shared.locks.give_back(lock, hold, self.taker()) {
            self.slot.failed(Trouble::Lock, &why);
        }
        if self.ceiling(lock) > 0 {
            self.scheduling.hold(self.highest_ceiling(), self.slot);
        }
    }

    /// Gives back all that it holds.
    pub fn unlock_all(&mut self) {
        (0..self.locks.len()).for_each(|lock| self.unlock(lock));
    }

    fn wait_for_condition(&mut self, condition: u16, lock: u16) {
        self.await_others(Awaited::Condition(condition), |worker| {
            let words = worker.setup.shared.condition(condition);
            let ticket = words.draw();
            worker.slot.draw(ticket, false);
            worker.slot.awaits_signal(Some((condition, ticket)));
            worker.unlock(lock.into());
            words.wait(ticket);
        });
        self.await_others(Awaited::Lock(lock), |worker| worker.take(lock, Hold::Alone));
        self.slot.awaits_signal(None);
    }

    fn send(&mut self, pipe: u16) {
        let message = Message { sent: clock::now(), number: 0 };
        self.slot.since.store(message.sent, Relaxed);
        self.await_others(Awaited::Room(pipe), |worker| {
            let (setup, number) = (worker.setup, usize::from(pipe));
            if setup.workload.programs.capacities[number].is_some() {
                setup.shared.traffic[number].room.take();
            }
            setup.shared.traffic[number].sent.fetch_add(1, Relaxed);
            setup.pipes[number].write(&message.bytes());
        });
        self.slot.since.store(0, Relaxed);
    }

    /// Takes a message; none, if none will come any more.
    fn receive(&mut self, pipe: u16) -> Option<Message> {
        let received = self.await_others(Awaited::Message(pipe), |worker| {
            let (setup, number) = (worker.setup, usize::from(pipe));
            let message = setup.pipes[number].receive()?;
            let traffic = &setup.shared.traffic[number];
            traffic.receiver.store(worker.job as u32 + 1, Relaxed);
            if setup.workload.programs.capacities[number].is_some() {
                traffic.room.give();
            }
            Some(message)
        });
        self.setup.shared.traffic[usize::from(pipe)].received.fetch_add(u32::from(received.is_some()), Relaxed);
        received
    }

    /// Takes the next request, with its random numbers: a pass begins. Without one the task ends.
    fn serve(&mut self, pipe: u16) {
        self.done_with_message();
        let Some(Message { sent, number }) = self.receive(pipe) else { self.end() };
        self.totals.taken.fetch_max(number + 1, Relaxed);
        self.rng = of_request(self.setup.seed, &self.setup.workload.jobs[self.job], number as u32);
        set(&mut self.request, &self.slot.request, sent);
        self.pass_began = self.gaps.last();
        self.slot.pass_began.store(self.pass_began, Relaxed);
    }

    /// It is done with the message that it received last, if there is one.
    fn done_with_message(&mut self) {
        if self.message > 0 {
            self.done_with(clock::now());
        }
    }

    fn done_with(&mut self, now: Nanos) {
        let sent = set(&mut self.message, &self.slot.message, 0);
        if sent > 0 {
            self.totals.message_latency.record(now.saturating_sub(sent));
        }
    }

    /// And with its request: its pass ends, or it does.
    pub fn done_with_all(&mut self, now: Nanos) {
        self.done_with(now);
        let sent = set(&mut self.request, &self.slot.request, 0);
        if sent > 0 {
            self.totals.message_latency.record(now.saturating_sub(sent));
        }
    }
}

/// Sets a time of the task, also where the supervisor reads it; gives the time before.
fn set(own: &mut Nanos, shown: &AtomicU64, time: Nanos) -> Nanos {
    shown.store(time, Relaxed);
    std::mem::replace(own, time)
}
