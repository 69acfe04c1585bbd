//! Whose random numbers come from which stream.

/// Owners of random streams that are no task; tasks own the numbers from 0.
pub(crate) const CLOCK_STREAM: u64 = u64::MAX;
pub(crate) const DRIVE_STREAM: u64 = u64::MAX - 1;
// From there downwards, one for each job: see `draws`.
pub(crate) const POLICY_STREAM: u64 = u64::MAX / 2;
pub(crate) const CACHE_STREAM: u64 = u64::MAX / 2 - 2;
pub(crate) const DEVICE_STREAM: u64 = u64::MAX / 2 - 1;
