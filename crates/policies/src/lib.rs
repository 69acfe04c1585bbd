//! The algorithms, one file each. They see the nouns of the model and what their context hands over: no clock, file,
//! thread or random source of their own.

pub mod caches;
pub mod elevators;
pub mod reclaim;
pub mod schedulers;
