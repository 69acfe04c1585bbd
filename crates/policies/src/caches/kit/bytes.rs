//! The policies in a cache whose capacity is in bytes, for objects of different sizes.
//!
//! ```text
//!   request -> found  -> hit
//!           '> missed -> takes? victim, victim, ... -> crowded_out, ... -> keeps? admit
//! ```
//!
//! A slot is the number of a key here: there are as many slots as keys, and bytes are what runs out. An object keeps the size
//! that it had when it came in. Sizes, shares and what is too large are those of libCacheSim 0.3.5, byte for byte.

use super::weights::Bytes;
use crate::caches::{Arc, Belady, Clock, Entry, Fifo, Key, Lfu, Lru, Mru, Random, S3Fifo, Sieve, Slot, TwoQ};
use schedlab_model::info::Params;

/// An eviction policy that heeds sizes.
pub trait InBytes: Entry {
    /// A new one, for a cache of the given bytes and number of keys. A policy without shares only needs its order.
    fn in_bytes(params: &Params, _capacity: u64, keys: u32) -> Self {
        Self::new(params, keys)
    }

    /// An object of the given bytes was requested and is not in the cache: whether it may be admitted.
    fn takes(&mut self, _key: Key, _size: u64) -> bool {
        true
    }

    /// There is room for it: the object that has to leave nevertheless. Called until there is none.
    fn crowded_out(&mut self, _key: Key, _size: u64) -> Option<Slot> {
        None
    }

    /// Whether it comes in, after all that.
    fn keeps(&self, _key: Key, _size: u64) -> bool {
        true
    }
}

impl InBytes for Fifo {}
impl InBytes for Lru {}
impl InBytes for Clock {}
impl InBytes for Random {}
impl InBytes for Mru {}
impl InBytes for Lfu {}
impl InBytes for Sieve {}
impl InBytes for Belady {}

/// Takes a policy that heeds sizes.
pub trait ByteVisitor {
    /// What comes of it.
    type Output;

    /// Takes the policy.
    fn visit<E: InBytes>(self) -> Self::Output;
}

macro_rules! table {
    ($($policy:ty),* $(,)?) => {
        /// The names of the policies that heed sizes.
        pub const IN_BYTES: &[&str] = &[$(<$policy as Entry>::INFO.name),*];

        /// Hands the policy of that name to the visitor; `None` if none is called so or it heeds no sizes.
        pub fn visit_in_bytes<V: ByteVisitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == <$policy as Entry>::INFO.name {
                return Some(visitor.visit::<$policy>());
            })*
            None
        }
    };
}

table![Fifo, Lru, Clock, Random, Mru, Lfu, TwoQ<Bytes>, Arc<Bytes>, S3Fifo<Bytes>, Sieve, Belady];
