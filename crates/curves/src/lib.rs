//! Eviction policies over plain traces of requests: misses by size of the cache.

pub mod store;
