//! When changed blocks go to the drive: the daemon's rounds, too many of them, `sync`.

use super::{Outcome, Owner, Storage, Transfer};
use schedlab_memory::State;
use schedlab_model::{Nanos, request::Direction, task::TaskId};
use schedlab_policies::caches::Slot;

impl Storage {
    /// Time between two rounds of the daemon.
    pub fn write_back_period(&self) -> Nanos {
        self.write_back.period.get().0
    }

    /// A round of the daemon: what has been changed for long enough goes to the drive.
    pub fn write_back_round(&mut self, now: Nanos) {
        let expire = self.write_back.expire.get().0;
        let old = self.memory.cache.to_write().take_while(|&(since, _)| since + expire <= now);
        let old: Vec<Slot> = old.map(|(_, slot)| slot).collect();
        self.write(now, &old);
        self.start(now);
    }

    /// Starts writing those of these blocks that are dirty and not being written, in the order of their places; no task waits.
    pub(super) fn write(&mut self, now: Nanos, slots: &[Slot]) {
        self.write_for(now, Owner::KERNEL, slots, false);
    }

    pub(super) fn write_for(&mut self, now: Nanos, owner: Owner, slots: &[Slot], sync: bool) {
        let cache = &self.memory.cache;
        let changed = slots.iter().copied().filter(|&slot| cache.block(slot).state == State::Changed);
        let mut changed: Vec<Slot> = changed.collect();
        if changed.is_empty() {
            return;
        }
        changed.sort_unstable_by_key(|&slot| (cache.block(slot).place, slot));
        changed.dedup();
        if let Some(disk) = &mut self.disk {
            disk.queue.plug();
        }
        for slot in changed {
            self.memory.cache.begin_write(slot);
            self.transfer(now, owner, Transfer::Block(slot), Direction::Write, sync);
        }
        if let Some(disk) = &mut self.disk {
            disk.queue.unplug(now, &mut disk.progress);
        }
        self.digest(now);
    }

    /// A percentage of the blocks that may be changed.
    fn share(&self, percent: u32) -> u32 {
        (u64::from(self.memory.changeable()) * u64::from(percent) / 100) as u32
    }

    /// Beyond the background limit, the oldest go to the drive without waiting for their age.
    pub(super) fn background(&mut self, now: Nanos) {
        let limit = self.share(self.write_back.background.get());
        let excess = self.memory.cache.changed().saturating_sub(limit);
        if excess > 0 && self.disk.is_some() {
            let oldest: Vec<Slot> = self.memory.cache.to_write().take(excess as usize).map(|(_, slot)| slot).collect();
            self.write(now, &oldest);
        }
    }

    /// A writer waits while too much is changed or on its way.
    pub(super) fn throttle(&mut self, now: Nanos, task: TaskId) -> Outcome {
        self.background(now);
        let cache = &self.memory.cache;
        if cache.changed() + cache.writing() <= self.share(self.write_back.limit.get()) || self.disk.is_none() {
            return Outcome::Done;
        }
        let oldest: Vec<Slot> = cache.to_write().map(|(_, slot)| slot).collect();
        self.write(now, &oldest);
        self.wait_for_any(task)
    }

    /// Waits until everything changed is on the drive.
    pub(super) fn sync(&mut self, now: Nanos, task: TaskId) -> Outcome {
        let changed: Vec<Slot> = self.memory.cache.to_write().map(|(_, slot)| slot).collect();
        self.write(now, &changed);
        let pending = self.memory.cache.unwritten().next().and_then(|slot| self.of_block(slot));
        match pending {
            Some(token) => self.wait_for(token, task),
            None => Outcome::Done,
        }
    }
}
