//! What else goes on on this host: how much of each processor others use, how late a probe is that has the highest
//! priority, and the longest time in which a processor that should have run did not.
//!
//! The probe wakes up every half millisecond by an exact timer, above all ordinary tasks where that is permitted, and then
//! reads the clock for a while: two readings far from each other are a hole, whatever its cause (a hypervisor's steal counter does
//! not see them all). Its own processor time is not foreign.

use schedlab_linux::{
    Fault, Root, clock,
    clock::{now, process_time, sleep_until, thread_time},
    proc::stat::Stat,
    sched,
    sched::Standing,
};
use schedlab_metrics::Histogram;
use serde::Serialize;
use std::thread;

/// Time between two wakeups of a probe, ns; no divisor of a clock tick, so that it does not fall on the ticks.
const EVERY_NS: u64 = 530_000;
/// Time for which it then reads the clock, ns: a tenth of all.
const BURST_NS: u64 = 50_000;

/// What was seen in a window.
#[derive(Debug, Clone, Serialize)]
pub struct Noise {
    /// Length of the window, ns.
    window_ns: u64,
    /// How the probes ran; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    probes: Option<&'static str>,
    processors: Vec<OfProcessor>,
    /// Tasks that run or could, averaged over a minute, and how many there are at the end of the window.
    load1: Option<f64>,
    running: Option<u64>,
}

/// What was seen of a processor.
#[derive(Debug, Clone, Serialize)]
pub struct OfProcessor {
    processor: u16,
    /// Share of the window that tasks of others used, percent.
    foreign_percent: f64,
    /// Share that the hypervisor gave to other machines.
    steal_percent: Option<f64>,
    #[serde(flatten)]
    probe: Option<Probe>,
}

/// What a probe saw.
#[derive(Debug, Clone, Copy, Serialize)]
struct Probe {
    longest_hole_ns: u64,
    wakeup_latency_p50_ns: u64,
    wakeup_latency_p99_ns: u64,
    wakeup_latency_max_ns: u64,
    #[serde(skip)]
    used_ns: u64,
    #[serde(skip)]
    standing: Standing,
}

/// Looks at those processors for that long, with probes or from the kernel's counters only.
pub fn look(root: &Root, processors: &[u16], window: u64, probing: bool) -> Result<Noise, Fault> {
    let (before, own_before) = (Stat::read(root)?, process_time());
    let until = now() + window;
    let probes: Vec<Option<Probe>> = if probing {
        thread::scope(|scope| {
            let threads: Vec<_> = processors.iter().map(|&cpu| scope.spawn(move || probe(cpu, until))).collect();
            threads.into_iter().map(|thread| thread.join().ok().flatten()).collect()
        })
    } else {
        sleep_until(until);
        vec![None; processors.len()]
    };
    let after = Stat::read(root)?;
    let length = after.at - before.at;
    let own = if probing { 0 } else { (process_time() - own_before) / processors.len().max(1) as u64 };
    let of = |(&processor, probe): (&u16, &Option<Probe>)| {
        let spent = after.since(&before, &[processor]);
        let ours = probe.map_or(own, |probe| probe.used_ns);
        OfProcessor {
            processor,
            foreign_percent: 100.0 * spent.busy(length).saturating_sub(ours) as f64 / length as f64,
            steal_percent: spent.steal.map(|steal| 100.0 * steal as f64 / length as f64),
            probe: *probe,
        }
    };
    let (load1, running) = load(root);
    let standing = probes.iter().flatten().next().map(|probe| match probe.standing {
        Standing::RealTime => "fifo 50",
        Standing::Favoured => "nice -20",
        Standing::Ordinary => "ordinary",
    });
    let processors = processors.iter().zip(&probes).map(of).collect();
    Ok(Noise { window_ns: length, probes: standing, processors, load1, running })
}

impl Noise {
    /// What others used of each processor.
    pub fn foreign_percent(&self) -> Vec<f64> {
        self.processors.iter().map(|of| of.foreign_percent).collect()
    }
}

/// Probes one processor until then; nothing where it may not be used.
fn probe(processor: u16, until: u64) -> Option<Probe> {
    sched::pin(&[processor]).ok()?;
    clock::exact_timers().ok()?;
    let (standing, before) = (sched::raise(0, 0), thread_time());
    let (mut latencies, mut longest, mut latest) = (Histogram::default(), 0, 0);
    let mut next = now() + EVERY_NS;
    while next < until {
        sleep_until(next);
        let (woken, mut last) = (now(), now());
        latencies.record(woken - next);
        latest = latest.max(woken - next);
        longest = longest.max(woken - next);
        while last < woken + BURST_NS {
            let time = now();
            longest = longest.max(time - last);
            last = time;
        }
        // Wakeups that were slept through count, each with its own latency, or the worst moments would be left out.
        next += EVERY_NS;
        while next + EVERY_NS < last {
            latencies.record(last - next);
            next += EVERY_NS;
        }
    }
    Some(Probe {
        longest_hole_ns: longest,
        wakeup_latency_p50_ns: latencies.quantile(0.5)?,
        wakeup_latency_p99_ns: latencies.quantile(0.99)?,
        wakeup_latency_max_ns: latest,
        used_ns: thread_time() - before,
        standing,
    })
}

/// The load average over a minute, and the tasks that run or could.
fn load(root: &Root) -> (Option<f64>, Option<u64>) {
    let text = root.read("/proc/loadavg").unwrap_or_default();
    let mut fields = text.split_ascii_whitespace();
    let load1 = fields.next().and_then(|load| load.parse().ok());
    (load1, fields.nth(2).and_then(|running| running.split('/').next()?.parse().ok()))
}
