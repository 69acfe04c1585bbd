//! The policies that remember evicted keys, and that of Linux, beside models that search through plain lists.

use crate::models::{Model, agrees};
use schedlab_policies::caches::{Arc, Key, Lirs, TwoList, TwoQ};

/// Takes a key out of a list, the oldest first; whether it was there.
fn leave(list: &mut Vec<Key>, key: Key) -> bool {
    let before = list.len();
    list.retain(|&other| other != key);
    list.len() < before
}

/// Full 2Q, with a quarter and a half of the slots.
#[derive(Default)]
struct Queues {
    a1in: Vec<Key>,
    a1out: Vec<Key>,
    am: Vec<Key>,
    slots: usize,
    recalled: bool,
}

impl Model for Queues {
    fn hit(&mut self, key: Key) {
        if leave(&mut self.am, key) {
            self.am.push(key);
        }
    }
    fn evict(&mut self, incoming: Key) -> Key {
        self.recalled = leave(&mut self.a1out, incoming);
        if self.a1in.len() <= self.slots / 4 && !self.am.is_empty() {
            return self.am.remove(0);
        }
        let oldest = self.a1in.remove(0);
        self.a1out.push(oldest);
        if self.a1out.len() > self.slots / 2 {
            self.a1out.remove(0);
        }
        oldest
    }
    fn admit(&mut self, key: Key) {
        let lasting = leave(&mut self.a1out, key) || std::mem::take(&mut self.recalled);
        if lasting { &mut self.am } else { &mut self.a1in }.push(key);
    }
    fn delete(&mut self, key: Key) {
        leave(&mut self.a1in, key);
        leave(&mut self.am, key);
    }
}

/// Figure 4 of the paper on ARC.
#[derive(Default)]
struct Adaptive {
    t: [Vec<Key>; 2],
    b: [Vec<Key>; 2],
    p: f64,
    slots: usize,
    recalled: bool,
}

impl Adaptive {
    fn recall(&mut self, key: Key) -> Option<usize> {
        let [b1, b2] = [self.b[0].len() as f64, self.b[1].len() as f64];
        if self.b[0].contains(&key) {
            self.p = (self.slots as f64).min(self.p + if b1 >= b2 { 1.0 } else { b2 / b1 });
            leave(&mut self.b[0], key);
            Some(0)
        } else if leave(&mut self.b[1], key) {
            self.p = 0_f64.max(self.p - if b2 >= b1 { 1.0 } else { b1 / b2 });
            Some(1)
        } else {
            None
        }
    }

    fn replace(&mut self, in_b2: bool) -> Key {
        let t1 = self.t[0].len() as f64;
        let first = t1 >= 1.0 && (t1 > self.p || (in_b2 && t1 == self.p));
        let from = usize::from(!first && !self.t[1].is_empty());
        let gone = self.t[from].remove(0);
        self.b[from].push(gone);
        gone
    }
}

impl Model for Adaptive {
    fn hit(&mut self, key: Key) {
        self.delete(key);
        self.t[1].push(key);
    }
    fn evict(&mut self, incoming: Key) -> Key {
        let found = self.recall(incoming);
        self.recalled = found.is_some();
        if found.is_some() {
            return self.replace(found == Some(1));
        }
        let l1 = self.t[0].len() + self.b[0].len();
        if l1 >= self.slots && self.b[0].is_empty() {
            return self.t[0].remove(0);
        }
        if l1 >= self.slots {
            self.b[0].remove(0);
        } else if l1 + self.t[1].len() + self.b[1].len() >= 2 * self.slots && !self.b[1].is_empty() {
            self.b[1].remove(0);
        }
        self.replace(false)
    }
    fn admit(&mut self, key: Key) {
        let often = std::mem::take(&mut self.recalled) || self.recall(key).is_some();
        self.t[usize::from(often)].push(key);
    }
    fn delete(&mut self, key: Key) {
        self.t.iter_mut().for_each(|list| _ = leave(list, key));
    }
}

/// LIRS with one HIR slot. S with what each key is there; the oldest first.
#[derive(Default)]
struct Stacked {
    stack: Vec<(Key, Status)>,
    queue: Vec<Key>,
    /// In the order in which they lost their slots.
    gone: Vec<Key>,
    slots: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Lir,
    Hir,
}

impl Stacked {
    /// Puts a key on top of S, and restores the invariants that this breaks.
    fn push(&mut self, key: Key, status: Status) {
        self.stack.retain(|entry| entry.0 != key);
        self.stack.push((key, status));
        self.prune();
        if self.stack.iter().filter(|entry| entry.1 == Status::Lir).count() > self.slots - 1 {
            self.queue.push(self.stack.remove(0).0);
            self.prune();
        }
        while self.stack.len() > 2 * self.slots {
            let oldest = self.gone.remove(0);
            self.stack.retain(|entry| entry.0 != oldest);
        }
    }

    fn prune(&mut self) {
        let bottom = self.stack.iter().position(|entry| entry.1 == Status::Lir).unwrap_or(self.stack.len());
        for (key, _) in self.stack.drain(..bottom) {
            leave(&mut self.gone, key);
        }
    }
}

impl Model for Stacked {
    fn hit(&mut self, key: Key) {
        let in_stack = self.stack.iter().find(|entry| entry.0 == key);
        let status = if in_stack.is_some() { Status::Lir } else { Status::Hir };
        if leave(&mut self.queue, key) && status == Status::Hir {
            self.queue.push(key);
        }
        self.push(key, status);
    }
    fn evict(&mut self, _: Key) -> Key {
        let key = self.queue.remove(0);
        if self.stack.iter().any(|entry| entry.0 == key) {
            self.gone.push(key);
        }
        key
    }
    fn admit(&mut self, key: Key) {
        let lir = self.stack.iter().filter(|entry| entry.1 == Status::Lir).count();
        if leave(&mut self.gone, key) || lir < self.slots - 1 {
            self.push(key, Status::Lir);
        } else {
            self.queue.push(key);
            self.push(key, Status::Hir);
        }
    }
    fn delete(&mut self, key: Key) {
        leave(&mut self.queue, key);
        self.stack.retain(|entry| entry.0 != key);
        self.prune();
    }
}

/// Linux: pages with their marks, the oldest first.
#[derive(Default)]
struct Pages {
    inactive: Vec<(Key, bool)>,
    active: Vec<(Key, bool)>,
    /// Evicted pages, and the age at which they were.
    shadows: Vec<(Key, usize)>,
    age: usize,
    refaults: usize,
}

impl Model for Pages {
    fn hit(&mut self, key: Key) {
        if let Some(page) = self.active.iter_mut().find(|page| page.0 == key) {
            page.1 = true;
            return;
        }
        let at = self.inactive.iter().position(|page| page.0 == key).expect("it is held");
        if self.inactive[at].1 {
            self.inactive.remove(at);
            self.active.push((key, false));
            self.age += 1;
        } else {
            self.inactive[at].1 = true;
        }
    }
    fn evict(&mut self, _: Key) -> Key {
        let surplus = (0..=self.active.len()).find(|n| self.inactive.len() + n >= self.active.len() - n);
        let refaults = std::mem::take(&mut self.refaults).min(self.active.len());
        self.inactive.extend(self.active.drain(..surplus.expect("all of them").max(refaults)));
        let (key, _) = self.inactive.remove(0);
        self.shadows.push((key, self.age));
        self.age += 1;
        key
    }
    fn admit(&mut self, key: Key) {
        let shadow = self.shadows.iter().position(|shadow| shadow.0 == key).map(|at| self.shadows.remove(at));
        if shadow.is_some_and(|(_, evicted)| self.age - evicted <= self.active.len()) {
            self.active.push((key, true));
            self.age += 1;
            self.refaults += 1;
        } else {
            self.inactive.push((key, true));
        }
    }
    fn delete(&mut self, key: Key) {
        self.inactive.retain(|page| page.0 != key);
        self.active.retain(|page| page.0 != key);
    }
}

#[test]
fn two_q_holds_what_its_model_holds() {
    agrees::<TwoQ>(|slots| Box::new(Queues { slots: slots as usize, ..Queues::default() }));
}

#[test]
fn arc_holds_what_its_model_holds() {
    agrees::<Arc>(|slots| Box::new(Adaptive { slots: slots as usize, ..Adaptive::default() }));
}

#[test]
fn lirs_holds_what_its_model_holds() {
    agrees::<Lirs>(|slots| Box::new(Stacked { slots: slots as usize, ..Stacked::default() }));
}

#[test]
fn two_list_holds_what_its_model_holds() {
    agrees::<TwoList>(|_| Box::new(Pages::default()));
}
