//! What tasks share: locks, semaphores, barriers, conditions and pipes; who waits, who goes on, and requests that arrive at pools.

use crate::{
    interpret::Flow,
    kernel::Kernel,
    process::{Action, Call, Life, Mode, Served},
    resources::Pool,
    timers::Expiry,
};
use schedlab_model::{
    Nanos,
    event::{Kind, Observer},
    scenario::Protocol,
    task::{TaskId, Wait},
};
use schedlab_policies::schedulers::Scheduler;
use schedlab_workloads::draws;

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// One of these calls.
    pub fn serve_sharing(&mut self, caller: TaskId, call: Call) -> Served {
        match call {
            Call::Lock(lock) => self.lock(caller, lock, false),
            Call::ReadLock(lock) => self.lock(caller, lock, true),
            Call::Unlock(lock) => woken(self.unlock(caller, lock)),
            Call::Acquire(semaphore) => self.acquire(caller, semaphore),
            Call::Release(semaphore) => self.release_permit(semaphore),
            Call::Barrier(barrier) => self.come_to_barrier(caller, barrier),
            Call::ConditionWait { condition, lock } => self.condition_wait(caller, condition, lock),
            Call::ConditionSignal(condition) => woken(self.signal_condition(condition, 1)),
            Call::ConditionBroadcast(condition) => woken(self.signal_condition(condition, usize::MAX)),
            Call::Send(pipe) => self.send(caller, pipe),
            Call::Receive(pipe) => self.take(caller, pipe),
            _ => unreachable!("no call of these"),
        }
    }

    /// Carries such a call out where that needs no entry into the kernel: locks and semaphores that are free, or that no task waits for.
    /// Returns whether it was done.
    pub fn without_call(&mut self, task: TaskId, call: Call) -> bool {
        if !self.costs.futexes {
            return false;
        }
        let done = match call {
            // Each lock and unlock sets the priority.
            Call::Lock(lock) | Call::Unlock(lock) if self.has_ceiling(lock) => return false,
            Call::Lock(lock) => self.resources.locks[usize::from(lock)].take(task, false),
            Call::ReadLock(lock) => self.resources.locks[usize::from(lock)].take(task, true),
            Call::Unlock(lock) => {
                let lock = &mut self.resources.locks[usize::from(lock)];
                let alone = !lock.wakes() || !lock.is_held_by(task);
                if alone {
                    lock.give_back(task);
                }
                return alone;
            }
            Call::Acquire(semaphore) => {
                let permits = &mut self.resources.semaphores[usize::from(semaphore)].permits;
                let free = *permits > 0;
                *permits -= u32::from(free);
                free
            }
            Call::Release(semaphore) => {
                let semaphore = &mut self.resources.semaphores[usize::from(semaphore)];
                let alone = semaphore.waiting.is_empty();
                semaphore.permits = semaphore.permits.saturating_add(u32::from(alone));
                return alone;
            }
            _ => return false,
        };
        if done {
            self.granted(task);
        }
        done
    }

    /// The task goes on with what it had requested.
    pub fn granted(&mut self, task: TaskId) {
        if let Some(since) = self.processes[task as usize].life.requested.take() {
            self.emit(Kind::Granted, 0, self.view.tasks[task as usize].cpu, task, self.now - since, 0);
        }
    }

    /// The task waits for a lock or a permit. One that is handed to it is reported when it goes on; for a futex it looks then.
    fn await_grant(&mut self, task: TaskId, futex: bool) -> Served {
        self.processes[task as usize].plan((!futex).then_some(Action::Granted));
        Served::Waits(Wait::Lock)
    }

    /// The task is woken, and looks for what that call wants when it runs.
    fn wake_to_look(&mut self, task: TaskId, call: Call) {
        self.processes[task as usize].plan([Action::Look(call)]);
        self.complete(task);
    }

    /// A task that was woken for a futex takes it, or waits again if another task was faster: a call more.
    pub fn look(&mut self, cpu: usize, task: TaskId, call: Call) -> Flow {
        if let Call::Lock(lock) = call {
            let looks = &mut self.resources.locks[usize::from(lock)].looks;
            *looks = looks.filter(|&woken| woken != task);
        }
        if self.without_call(task, call) { Flow::Continue } else { self.call(cpu, task, call) }
    }

    fn has_ceiling(&self, lock: u16) -> bool {
        matches!(self.resources.locks[usize::from(lock)].protocol, Protocol::Ceiling(_))
    }

    fn lock(&mut self, task: TaskId, lock: u16, reads: bool) -> Served {
        if self.resources.locks[usize::from(lock)].take(task, reads) {
            self.lock_changed(task, lock);
            self.granted(task);
            return Served::Done;
        }
        self.await_lock(task, lock, reads);
        self.await_grant(task, self.resources.locks[usize::from(lock)].futex)
    }

    /// The lock goes to the longest waiter, or to all readers up to the next that wants it for itself; if it is a futex, a waiter is woken
    /// to look for it. Returns how many woke up. Releasing a lock that the task does not hold changes nothing.
    pub fn unlock(&mut self, task: TaskId, lock: u16) -> u32 {
        let mut woken = 0;
        let wanted = &mut self.resources.locks[usize::from(lock)];
        let (futex, held) = (wanted.futex, wanted.is_held_by(task));
        wanted.give_back(task);
        self.lock_changed(task, lock);
        if futex {
            return if held { self.wake_for_lock(lock) } else { 0 };
        }
        while let Some(next) = self.resources.locks[usize::from(lock)].next() {
            self.lock_changed(next, lock);
            self.complete(next);
            woken += 1;
        }
        woken
    }

    /// A futex is free: a waiter is woken, unless one that was woken before has not looked yet. Returns how many woke up.
    fn wake_for_lock(&mut self, lock: u16) -> u32 {
        let free = &self.resources.locks[usize::from(lock)];
        let first = self.first_to_wake(free.waiting.iter().map(|&(task, _)| task)).filter(|_| free.wakes());
        let free = &mut self.resources.locks[usize::from(lock)];
        let Some((task, _)) = first.and_then(|place| free.waiting.remove(place)) else { return 0 };
        free.looks = Some(task);
        self.wake_to_look(task, Call::Lock(lock));
        1
    }

    fn acquire(&mut self, task: TaskId, semaphore: u16) -> Served {
        let semaphore = &mut self.resources.semaphores[usize::from(semaphore)];
        if semaphore.permits > 0 {
            semaphore.permits -= 1;
            self.granted(task);
            return Served::Done;
        }
        semaphore.waiting.push_back(task);
        let futex = semaphore.futex;
        self.await_grant(task, futex)
    }

    /// The permit goes to the longest waiter; if it is a futex's, it is free, and a waiter is woken to look for it.
    fn release_permit(&mut self, number: u16) -> Served {
        let semaphore = &mut self.resources.semaphores[usize::from(number)];
        if semaphore.futex {
            semaphore.permits = semaphore.permits.saturating_add(1);
            return woken(self.wake_for_permit(number));
        }
        match semaphore.waiting.pop_front() {
            Some(next) => {
                self.complete(next);
                Served::Woke(1)
            }
            None => {
                semaphore.permits = semaphore.permits.saturating_add(1);
                Served::Done
            }
        }
    }

    /// Each permit that is given wakes a waiter, even if those that were woken before have not looked yet. Returns how many woke up.
    fn wake_for_permit(&mut self, semaphore: u16) -> u32 {
        let waiting = &self.resources.semaphores[usize::from(semaphore)].waiting;
        let first = self.first_to_wake(waiting.iter().copied());
        let waiting = &mut self.resources.semaphores[usize::from(semaphore)].waiting;
        let Some(task) = first.and_then(|place| waiting.remove(place)) else { return 0 };
        self.wake_to_look(task, Call::Acquire(semaphore));
        1
    }

    /// The last task to come wakes the others, in the order in which they came; then the barrier is as new.
    fn come_to_barrier(&mut self, task: TaskId, barrier: u16) -> Served {
        let barrier = &mut self.resources.barriers[usize::from(barrier)];
        if barrier.waiting.len() as u32 + 1 < barrier.parties {
            barrier.waiting.push(task);
            return Served::Waits(Wait::Lock);
        }
        let waited = std::mem::take(&mut barrier.waiting);
        waited.iter().for_each(|&one| self.complete(one));
        woken(waited.len() as u32)
    }

    /// The task gives the lock back and waits, at one moment. Waking the next holder is charged when it goes on.
    fn condition_wait(&mut self, task: TaskId, condition: u16, lock: u16) -> Served {
        self.resources.conditions[usize::from(condition)].push_back((task, lock));
        let woken = self.unlock(task, lock);
        if woken > 0 {
            let cost = self.costs.wake.saturating_mul(woken.into());
            self.processes[task as usize].plan([Action::Burst(cost, Mode::System)]);
        }
        Served::Waits(Wait::Lock)
    }

    /// Up to `most` waiters take their lock again, or wait for it: as FUTEX_CMP_REQUEUE, none is woken only to wait once more. If the lock
    /// is a futex, they are woken and look for it, as on a host (crates/play/src/sync/condition.rs). Returns how many woke up.
    fn signal_condition(&mut self, condition: u16, most: usize) -> u32 {
        let waiting = &mut self.resources.conditions[usize::from(condition)];
        let signalled: Vec<(TaskId, u16)> = waiting.drain(..most.min(waiting.len())).collect();
        let mut woken = 0;
        for (task, lock) in signalled {
            if self.resources.locks[usize::from(lock)].futex {
                self.wake_to_look(task, Call::Lock(lock));
                woken += 1;
            } else if self.resources.locks[usize::from(lock)].take(task, false) {
                self.lock_changed(task, lock);
                self.complete(task);
                woken += 1;
            } else {
                self.await_lock(task, lock, false);
            }
        }
        woken
    }

    fn send(&mut self, task: TaskId, pipe: u16) -> Served {
        let now = self.now;
        let ends = &mut self.resources.pipes[usize::from(pipe)];
        if ends.capacity.is_some_and(|capacity| ends.sent.len() as u32 >= capacity) {
            ends.full.push_back((task, now));
            return Served::Waits(Wait::Pipe);
        }
        woken(self.put(pipe))
    }

    /// A message goes to the longest waiter, or waits for a receiver. Returns how many tasks woke up.
    fn put(&mut self, pipe: u16) -> u32 {
        let now = self.now;
        let ends = &mut self.resources.pipes[usize::from(pipe)];
        match ends.waiting.pop_front() {
            Some(receiver) => {
                self.receive_message(receiver, pipe, now);
                self.complete(receiver);
                1
            }
            None => {
                ends.sent.push_back(now);
                0
            }
        }
    }

    fn take(&mut self, task: TaskId, pipe: u16) -> Served {
        let ends = &mut self.resources.pipes[usize::from(pipe)];
        if let Some(sent) = ends.sent.pop_front() {
            let next = ends.full.pop_front();
            ends.sent.extend(next.map(|(_, sent)| sent));
            self.receive_message(task, pipe, sent);
            if let Some((sender, _)) = next {
                self.complete(sender);
            }
            return woken(next.is_some().into());
        }
        if ends.closed {
            self.go_to_end(task);
            return Served::Done;
        }
        ends.waiting.push_back(task);
        Served::Waits(Wait::Pipe)
    }

    /// The task has a message. With a request it gets the random numbers of that request, and its pass begins.
    fn receive_message(&mut self, task: TaskId, pipe: u16, sent: Nanos) {
        let ends = &mut self.resources.pipes[usize::from(pipe)];
        ends.receiver = Some(task);
        let process = &mut self.processes[task as usize];
        let Some(pool) = ends.pool else {
            process.life.message = Some(sent);
            return;
        };
        let Pool { job, taken, .. } = &mut self.resources.pools[pool as usize];
        process.rng = draws::of_request(self.seed, job, *taken);
        process.life.pass_began = self.now;
        process.life.request = Some(sent);
        *taken = taken.wrapping_add(1);
    }

    /// The task is done with the message that it had received last.
    pub fn done_with_message(&mut self, task: TaskId) {
        let sent = self.processes[task as usize].life.message.take();
        self.done_with(task, sent);
    }

    /// The task is done with its request, and with the message that it had received last.
    pub fn done_with_all(&mut self, task: TaskId) {
        self.done_with_message(task);
        let arrived = self.processes[task as usize].life.request.take();
        self.done_with(task, arrived);
    }

    fn done_with(&mut self, task: TaskId, sent: Option<Nanos>) {
        if let Some(sent) = sent {
            self.emit(Kind::Message, 0, self.view.tasks[task as usize].cpu, task, self.now - sent, 0);
        }
    }

    /// The program goes on with its last instruction: no request will come any more.
    fn go_to_end(&mut self, task: TaskId) {
        let process = &mut self.processes[task as usize];
        process.next_instruction = self.programs.programs[process.program as usize].len() as u32 - 1;
    }

    /// The next request of a pool is expected, or there is none any more.
    pub fn expect_request(&mut self, pool: u32) {
        let Pool { times, pipe, .. } = &mut self.resources.pools[pool as usize];
        let pipe = *pipe;
        if let Some(next) = times.next() {
            return self.set_timer(next.max(self.now), Expiry::Arrival { pool });
        }
        let ends = &mut self.resources.pipes[usize::from(pipe)];
        ends.closed = true;
        for idle in std::mem::take(&mut ends.waiting) {
            self.go_to_end(idle);
            self.complete(idle);
        }
    }

    /// A request arrives. Its arrival itself costs no processor time, waking a task does what it always does.
    pub fn request_arrives(&mut self, pool: u32) {
        self.put(self.resources.pools[pool as usize].pipe);
        self.expect_request(pool);
    }

    /// What was sent and not received, or whose receiver was not done with it: the task that it is counted for, and when it was sent.
    pub fn open_messages(&self) -> Vec<(TaskId, Nanos)> {
        let mut all: Vec<(TaskId, Nanos)> = Vec::new();
        for (task, process) in (0..).zip(&self.processes) {
            let Life { message, request, .. } = &*process.life;
            all.extend(message.iter().chain(request).map(|&sent| (task, sent)));
        }
        for pipe in &self.resources.pipes {
            let first = pipe.pool.map(|pool| self.resources.pools[pool as usize].first);
            let Some(receiver) = pipe.receiver.or(first) else { continue };
            let sent = pipe.sent.iter().chain(pipe.full.iter().map(|(_, sent)| sent));
            all.extend(sent.map(|&sent| (receiver, sent)));
        }
        all
    }
}

fn woken(tasks: u32) -> Served {
    if tasks == 0 { Served::Done } else { Served::Woke(tasks) }
}
