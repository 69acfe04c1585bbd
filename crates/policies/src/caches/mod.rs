//! Eviction policies: the interface between a cache and the policy that chooses its victims, and the table of all of them.
//! The same policies serve the block cache of the simulated kernel and plain traces of requests.
//!
//! ```text
//!   request -> found  -> hit
//!           '> missed -> full? victim -> admit          (the victim's slot is free again: the policy has forgotten it)
//! ```
//!
//! The store knows what is cached: which *key* (number of the cached object, from 0) is in which *slot* (from 0 to the
//! capacity). A policy keeps its order over slots, in arrays indexed by slot, and remembers evicted keys if it wants to
//! ("ghosts"), in arrays indexed by key. It hashes nothing and allocates only where a new largest key is met.

use schedlab_model::{
    info::{Info, Params},
    rng::Rng,
};

mod arc;
mod belady;
mod clock;
mod fifo;
mod kit;
mod lfu;
mod lirs;
mod lru;
mod mru;
mod random;
mod s3_fifo;
mod sieve;
mod two_list;
mod two_q;

pub use arc::Arc;
pub use belady::Belady;
pub use clock::Clock;
pub use fifo::Fifo;
pub use kit::bytes::{ByteVisitor, IN_BYTES, InBytes, visit_in_bytes};
pub use lfu::Lfu;
pub use lirs::Lirs;
pub use lru::Lru;
pub use mru::Mru;
pub use random::Random;
pub use s3_fifo::S3Fifo;
pub use sieve::Sieve;
pub use two_list::TwoList;
pub use two_q::TwoQ;

use kit::share::share;

/// A place in the cache.
pub type Slot = u32;
/// Number of an object that can be cached.
pub type Key = u32;
/// No slot, or no key.
pub const NOTHING: u32 = u32::MAX;

/// What an eviction policy may see.
#[derive(Debug)]
pub struct Context<'a> {
    /// Requests so far, this one included.
    pub now: u64,
    /// The key in each slot.
    pub keys: &'a [Key],
    /// When the key of this request will be requested again, counted as `now`; `u64::MAX` if never or not known. Only clairvoyant
    /// policies look at it ([`Entry::CLAIRVOYANT`]).
    pub next_use: u64,
    /// Random numbers.
    pub rng: &'a mut Rng,
}

/// An eviction policy at work.
pub trait Eviction: std::fmt::Debug + Send {
    /// The key in this slot was requested.
    fn hit(&mut self, cx: &mut Context<'_>, slot: Slot);

    /// The slot to free, for `incoming`, which was requested and is not in the cache. The policy forgets the slot (but may
    /// remember its key). A cache whose memory others want asks before it is full, and for a key that was not requested;
    /// but never when the policy has no slot.
    fn victim(&mut self, cx: &mut Context<'_>, incoming: Key) -> Slot;

    /// `key` is now in `slot`, which was free.
    fn admit(&mut self, cx: &mut Context<'_>, slot: Slot, key: Key);

    /// The key in this slot is gone from outside (its file was deleted): the slot is free.
    fn remove(&mut self, cx: &mut Context<'_>, slot: Slot);

    /// The key that came into this slot is used, for the first time, by the task that it was read for. It was admitted for this
    /// use, which counts no second time; a policy that keeps the order of last use moves it to the front.
    fn first_use(&mut self, _: &mut Context<'_>, _: Slot) {}

    /// The victim could not be freed: it is changed, in use or on its way.
    fn returned(&mut self, cx: &mut Context<'_>, slot: Slot, key: Key) {
        self.admit(cx, slot, key);
    }

    /// The lengths of its lists, if it has an active and an inactive one.
    fn lists(&self) -> Option<ActiveInactive> {
        None
    }

    /// Pages that share memory with this cache and can leave it, and how many of them have done so or become active so far.
    fn share_with(&mut self, _pages: u32, _age: u64) {}
}

/// An active and an inactive list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActiveInactive {
    /// Keys on the inactive list.
    pub inactive: u32,
    /// Keys on the active list.
    pub active: u32,
    /// Keys made active because they came back soon, so far.
    pub activated: u64,
    /// Of these, those that had been active before their eviction.
    pub restored: u64,
    /// Keys evicted or made active, so far.
    pub age: u64,
}

/// An eviction policy's entry in the table.
pub trait Entry: Eviction + Sized + 'static {
    /// Its description.
    const INFO: Info;
    /// Whether it uses [`Context::next_use`]: only a recorded trace can provide it.
    const CLAIRVOYANT: bool = false;
    /// Whether it always holds the keys requested last: one pass over the stack distances then gives the misses of every size.
    const STACK: bool = false;

    /// A new one, for the given number of slots (at least 1).
    fn new(params: &Params, slots: u32) -> Self;
}

/// Receives an eviction policy as a type known to the compiler.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Takes the policy.
    fn visit<E: Entry>(self) -> Self::Output;
}

macro_rules! table {
    ($($policy:ty),* $(,)?) => {
        /// The table of eviction policies.
        pub const CACHES: &[Info] = &[$(<$policy as Entry>::INFO),*];

        /// Hands the policy of that name to the visitor; `None` if there is no such policy.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == <$policy as Entry>::INFO.name {
                return Some(visitor.visit::<$policy>());
            })*
            None
        }
    };
}

table![Fifo, Lru, Clock, Random, TwoList, Mru, Lfu, TwoQ, Arc, Lirs, S3Fifo, Sieve, Belady];

/// A new policy of that name; `None` if there is none.
pub fn build(name: &str, params: &Params, slots: u32) -> Option<Box<dyn Eviction>> {
    struct Build<'a>(&'a Params, u32);
    impl Visitor for Build<'_> {
        type Output = Box<dyn Eviction>;
        fn visit<E: Entry>(self) -> Box<dyn Eviction> {
            Box::new(E::new(self.0, self.1))
        }
    }
    visit(name, Build(params, slots))
}
