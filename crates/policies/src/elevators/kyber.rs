//! # kyber
//!
//! Promises reads a latency of 2 ms and writes one of 10 ms on a fast drive, by not dispatching more than the drive can
//! complete in time.
//!
//! ## The idea
//!
//!     Reads and writes are domains. Each has tokens, and a request goes to the drive only with a token of its domain,
//!     which it gives back when it has been served. The domains alternate: up to 16 reads, then up to 8 writes; within
//!     a domain, in order of arrival. Latencies are counted, in eight classes of a quarter of the target each. Ten
//!     times a second at most, a domain is judged that has 500 samples or a second's: if the drive completes one request
//!     in ten late, domains that meet their targets lose tokens, so that those that do not find the drive less busy. A
//!     domain whose own requests are late gets more.
//!
//! ## The formula
//!
//!     congested  =  p90(latency in the drive) > target, in any domain
//!     tokens     =  tokens * (class(p99(latency in all)) + 1) / 4,  at least 1, at most 256 reads or 128 writes,
//!                   if congested or that class is 4 or more
//!     class      =  0..7, in quarters of the target, rounded up, less 1
//!
//! A p99 from a time without congestion is remembered until the next congestion.
//!
//! ## A schedule
//!
//! 20 reads and 20 writes queued at once, a drive that takes one at a time:
//!
//! ```text
//! 16 reads  8 writes  4 reads  12 writes
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: constant.
//!
//! ## Good for, not for
//!
//! Drives that take hundreds of requests at a time and slow down under them. Not for one with heads: it does not sort.
//!
//! ## Departures
//!
//! - There are no discards and no other requests, so two of the four domains are left out.
//! - The kernel keeps a list per processor in each domain and takes from one list first; here one list.
//! - Its timer runs 100 ms after a completion; here the judgement is made at the first completion after that time, from
//!   what had been counted before it. Nothing is given to the drive in between that another judgement would have held
//!   back, unless the drive has room.
//! - Asynchronous writes may use 75 % of the queue, as in the kernel; the kernel's rounding to words of a bitmap is
//!   left out.
//! - One time-out serves both histograms of a domain, as in the kernel: after fewer than 500 samples in a second, the latency
//!   in the drive is judged at once, and the latency in all a second later.
//!
//! ## References
//!
//! - Linux 6.18, block/kyber-iosched.c, kyber_dispatch_request, kyber_timer_fn, calculate_percentile,
//!   add_latency_sample.

use super::{Context, Device, Elevator, Entry, Next, kit::knobs::period};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Info, Params, Promise, Reach},
    request::{Direction, Request, RequestId},
};
use std::collections::VecDeque;

/// Most tokens of reads and writes; kyber_depth.
const DEPTH: [u32; 2] = [256, 128];
/// Requests in a row; kyber_batch_size.
const BATCH: [u32; 2] = [16, 8];
/// Share of the queue that asynchronous writes may use; KYBER_ASYNC_PERCENT.
const ASYNC_PERCENT: u32 = 75;
/// Classes of a latency; as many are within the target as beyond it.
const CLASSES: usize = 8;
const GOOD: usize = 4;
/// When a histogram says enough.
const SAMPLES: u32 = 500;
const PATIENCE: Nanos = SECOND;
/// From a completion to the judgement; HZ / 10.
const DELAY: Nanos = 100 * MILLISECOND;

/// How often a latency fell into each class.
#[derive(Debug, Default)]
struct Histogram([u32; CLASSES]);

impl Histogram {
    fn add(&mut self, latency: Nanos, target: Nanos) {
        let class = latency.saturating_sub(1) / (target / GOOD as u64).max(1);
        self.0[class.min(CLASSES as u64 - 1) as usize] += 1;
    }

    /// The class of the percentile, once there are samples enough or the time-out, which is set by the first look at
    /// some, has passed. What was counted is forgotten then.
    fn percentile(&mut self, percent: u32, now: Nanos, timeout: &mut Option<Nanos>) -> Option<usize> {
        let samples: u32 = self.0.iter().sum();
        if samples == 0 {
            return None;
        }
        let due = *timeout.get_or_insert(now + PATIENCE);
        if samples < SAMPLES && now < due {
            return None;
        }
        *timeout = None;
        let mut left = (samples * percent).div_ceil(100);
        let class = self.0[..CLASSES - 1].iter().position(|&count| {
            let here = count >= left;
            left -= if here { 0 } else { count };
            here
        });
        self.0 = [0; CLASSES];
        Some(class.unwrap_or(CLASSES - 1))
    }
}

/// Reads or writes.
#[derive(Debug)]
struct Domain {
    target: Nanos,
    queue: VecDeque<RequestId>,
    tokens: u32,
    in_flight: u32,
    total: Histogram,
    device: Histogram,
    timeout: Option<Nanos>,
    /// The last p99 that was found without congestion.
    p99: Option<usize>,
}

impl Domain {
    fn new(way: Direction, target: Nanos) -> Self {
        Domain {
            target,
            queue: VecDeque::new(),
            tokens: DEPTH[way as usize],
            in_flight: 0,
            total: Histogram::default(),
            device: Histogram::default(),
            timeout: None,
            p99: None,
        }
    }

    fn take(&mut self) -> Option<RequestId> {
        if self.in_flight >= self.tokens {
            return None;
        }
        let id = self.queue.pop_front()?;
        self.in_flight += 1;
        Some(id)
    }

    fn judge(&mut self, now: Nanos, congested: bool, most: u32) {
        let mut p99 = self.total.percentile(99, now, &mut self.timeout);
        if congested {
            p99 = p99.or(self.p99.take());
            self.p99 = None;
        } else if p99.is_some() {
            self.p99 = p99;
        }
        if let Some(class) = p99.filter(|&class| congested || class >= GOOD) {
            self.tokens = (self.tokens * (class as u32 + 1) / GOOD as u32).clamp(1, most);
        }
    }
}

/// Tokens for reads and writes, as many as the drive answers in time.
#[derive(Debug)]
pub struct Kyber {
    domains: [Domain; 2],
    current: usize,
    batching: u32,
    /// Most requests that may be queued or in service before an asynchronous write.
    async_depth: u32,
    held: u32,
    judgement: Option<Nanos>,
}

impl Kyber {
    fn judge(&mut self, now: Nanos) {
        if self.judgement.is_none_or(|due| now < due) {
            return;
        }
        self.judgement = None;
        let mut congested = false;
        for domain in &mut self.domains {
            congested |= domain.device.percentile(90, now, &mut domain.timeout).is_some_and(|class| class >= GOOD);
        }
        for (domain, most) in self.domains.iter_mut().zip(DEPTH) {
            domain.judge(now, congested, most);
        }
    }
}

impl Entry for Kyber {
    const INFO: Info = Info {
        name: "kyber",
        summary: "as many reads and writes in the drive as it answers in time",
        year: 2017,
        origin: "Omar Sandoval, Facebook, Linux 4.12",
        promises: &[Promise::WorkConserving(Reach::Everywhere), Promise::StarvationFree(Reach::Everywhere)],
        parameters: &[
            period("read_lat", "within this time a read shall be answered", "2ms", Some("read_lat")),
            period("write_lat", "within this time a write shall be answered", "10ms", Some("write_lat")),
        ],
        source: schedlab_model::documentation!("kyber.rs"),
    };

    fn new(params: &Params, device: &Device) -> Self {
        Kyber {
            domains: [
                Domain::new(Direction::Read, params.whole("read_lat")),
                Domain::new(Direction::Write, params.whole("write_lat")),
            ],
            current: 0,
            batching: 0,
            async_depth: (device.slots * ASYNC_PERCENT / 100).max(1),
            held: 0,
            judgement: None,
        }
    }
}

impl Elevator for Kyber {
    fn admits(&self, _: &Context<'_>, new: &Request) -> bool {
        new.sync || new.direction == Direction::Read || self.held < self.async_depth
    }

    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.held += 1;
        self.domains[cx.request(id).direction as usize].queue.push_back(id);
    }

    fn dispatch(&mut self, _: &Context<'_>) -> Next {
        if self.batching < BATCH[self.current]
            && let Some(id) = self.domains[self.current].take()
        {
            self.batching += 1;
            return Next::Serve(id);
        }
        self.batching = 0;
        for _ in 0..self.domains.len() {
            self.current = (self.current + 1) % self.domains.len();
            if let Some(id) = self.domains[self.current].take() {
                self.batching = 1;
                return Next::Serve(id);
            }
        }
        Next::Nothing
    }

    fn completed(&mut self, cx: &Context<'_>, id: RequestId, started: Nanos) {
        self.judge(cx.now);
        let request = cx.request(id);
        let domain = &mut self.domains[request.direction as usize];
        domain.in_flight -= 1;
        self.held -= 1;
        domain.total.add(cx.now - request.arrived, domain.target);
        domain.device.add(cx.now - started, domain.target);
        self.judgement.get_or_insert(cx.now + DELAY);
    }
}
