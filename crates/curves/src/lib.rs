//! Eviction policies over plain traces of requests: misses by size of the cache.
//!
//! - [`curve`]: the runs; every policy of the table in caches of many sizes, exactly or from samples
//! - [`choice`] and [`sizes`]: policies and sizes as people write them
//! - [`sample`]: samples of a trace, and what they tell of the whole
//! - [`store`]: one cache under one policy
//!
//! A cache counts things: how large each is, is not looked at.

pub mod choice;
pub mod curve;
mod distances;
mod future;
pub mod sample;
pub mod sizes;
pub mod store;
