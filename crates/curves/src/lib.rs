//! Eviction policies over plain traces of requests: misses by size of the cache.
//!
//! - [`curve`]: the runs; every policy of the table in caches of many sizes, exactly or from samples
//! - [`choice`] and [`sizes`]: policies and sizes as people write them
//! - [`sample`]: samples of a trace, and their estimates for the whole
//! - [`store`] and [`bytes`]: one cache under one policy, with a capacity in slots or in bytes
//! - [`frames`]: what such a cache holds after each request

pub mod bytes;
pub mod choice;
pub mod curve;
mod distances;
pub mod frames;
mod future;
pub mod sample;
pub mod sizes;
pub mod store;
mod threads;
