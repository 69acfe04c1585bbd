"""The LIRS of libCacheSim 0.3.5, told again in Python with its two departures from the paper, which can be left out.

It explains by how many misses ours differ: with the departures the model counts what libCacheSim counts, without them
what we count. The departures are in what a hit does to a key that stands in the queue but not in the stack:

- an LIR key is made HIR, and nobody takes its place until the next key that is new;
- if the queue has one place only, the key that was hit leaves it, and is held without being in it.
"""

from collections import OrderedDict


class Lirs:
    """Keys in three orders, oldest first: the stack, the queue, and those of the stack that are not held."""

    def __init__(self, slots, as_paper):
        """With one percent of the slots for HIR keys."""
        self.slots, self.as_paper = slots, as_paper
        self.most_hir = max(1, int(0.01 * slots))
        self.most_lir = slots - self.most_hir
        self.stack, self.queue, self.gone = OrderedDict(), OrderedDict(), OrderedDict()
        self.lir = self.hir = 0
        self.held = 0

    def request(self, key):
        """Whether it was a hit."""
        hit = self.look_up(key)
        if not hit:
            self.make_room(key)
            self.insert(key)
        while len(self.stack) > 2 * self.slots and self.gone:
            del self.stack[self.gone.popitem(last=False)[0]]
        return hit

    def look_up(self, key):
        """Hits of the three kinds."""
        if key in self.queue:
            self.queue.move_to_end(key)
        if key not in self.stack:
            if key not in self.queue:
                return False
            while not self.as_paper and self.lir >= self.most_lir:
                self.demote()
            self.stack[key] = "HIR"
            return True
        self.stack.move_to_end(key)
        if self.stack[key] == "LIR":
            self.prune()
        elif self.stack[key] == "HIR":
            if key in self.queue:
                del self.queue[key]
                self.hir -= 1
                self.held -= 1
            while self.lir >= self.most_lir:
                self.demote()
            self.stack[key] = "LIR"
            self.lir += 1
            self.held += 1
        return self.stack[key] == "LIR"

    def make_room(self, key):
        """Evicts for a key that is not held."""
        if key in self.stack:
            while self.lir >= self.most_lir:
                self.demote()
            self.gone.pop(key, None)
            while self.held >= self.slots:
                while self.hir >= self.most_hir:
                    self.evict()
                self.demote()
        elif self.lir >= self.most_lir:
            while self.hir >= self.most_hir:
                self.evict()
            while self.held >= self.slots:
                self.evict()

    def insert(self, key):
        """Admits a key for which there is room."""
        if key in self.stack or self.lir < self.most_lir:
            self.stack[key] = "LIR"
            self.lir += 1
        else:
            self.stack[key] = "HIR"
            self.queue[key] = None
            self.hir += 1
        self.held += 1

    def demote(self):
        """Makes the oldest of the stack HIR, in the queue."""
        key, _ = self.stack.popitem(last=False)
        self.lir -= 1
        while self.hir >= self.most_hir:
            self.evict()
        self.queue[key] = None
        self.hir += 1
        self.prune()

    def evict(self):
        """Takes its place from the oldest of the queue."""
        key, _ = self.queue.popitem(last=False)
        self.hir -= 1
        self.held -= 1
        if key in self.stack:
            self.stack[key] = "gone"
            self.gone[key] = None

    def prune(self):
        """Takes what is older than the oldest LIR key from the stack."""
        while len(self.stack) > 1:
            key = next(iter(self.stack))
            if self.stack[key] == "LIR":
                return
            self.gone.pop(key, None)
            del self.stack[key]


def misses(keys, slots, as_paper):
    """Misses of these requests."""
    lirs = Lirs(slots, as_paper)
    return sum(not lirs.request(key) for key in keys)
