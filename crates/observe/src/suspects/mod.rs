//! What the counters of `sample` do not show, and the responsible tasks: for `schedlab diagnose`, over a while.
//!
//!   groups         every control group of the host: quota, failed charges, pressure
//!   ended          tasks that ended meanwhile, by program and by the living process that they stem from
//!   locks          waiters and holders of futexes, by a second of tracing
//!   connections    those with other hosts, and what holds them up
//!   sockets        connections over the loopback with data that waits, and whose they are
//!   kernel         softirqs and interrupts by kind, packets dropped for want of room
//!
//! What this host or this user's rights do not permit is none, with the reason.

pub mod connections;
pub mod ended;
pub mod groups;
pub mod kernel;
pub mod locks;
pub mod sockets;
