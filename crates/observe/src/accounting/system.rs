//! Counters of the whole system around a run: what others used meanwhile, what the hypervisor took, and pressure.

use schedlab_linux::{
    Root,
    proc::stat::{IDLE, KINDS, STEAL, Ticks, whole},
    process::ticks_per_second,
};
use serde::Serialize;

/// The system's pressure over a run: time in which some task was stalled, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pressure {
    /// For want of a processor.
    pub processor_ns: u64,
    /// For want of a drive.
    pub disk_ns: u64,
    /// For want of memory.
    pub memory_ns: u64,
}

/// Counters of the whole system at a moment.
pub(super) struct System {
    /// Ticks of the line `cpu` of /proc/stat.
    ticks: Option<Ticks>,
    /// Total of "some", by resource, us.
    pressure: Option<[u64; 3]>,
}

impl System {
    pub(super) fn read(root: &Root) -> System {
        let stat = root.read("/proc/stat").ok();
        let ticks = stat.as_deref().and_then(|stat| whole(stat.as_bytes()));
        let total = |name: &str| {
            let text = root.read(format!("/proc/pressure/{name}")).ok()?;
            text.lines().find(|line| line.starts_with("some"))?.rsplit_once("total=")?.1.trim().parse::<u64>().ok()
        };
        let pressure = (|| Some([total("cpu")?, total("io")?, total("memory")?]))();
        System { ticks, pressure }
    }

    pub(super) fn pressure_since(&self, was: &System) -> Option<Pressure> {
        let (is, was) = (self.pressure?, was.pressure?);
        let ns = |i: usize| is[i].saturating_sub(was[i]).saturating_mul(1000);
        Some(Pressure { processor_ns: ns(0), disk_ns: ns(1), memory_ns: ns(2) })
    }

    /// Ticks since then: of all uses, of those in which a task ran, and stolen ones.
    fn passed(&self, was: &System) -> Option<(u64, u64, u64)> {
        let (is, was) = (self.ticks.as_ref()?, was.ticks.as_ref()?);
        // Guests are within user time.
        let mut passed = is.iter().zip(was).map(|(is, was)| is.zip(*was).map(|(is, was)| is.saturating_sub(was)));
        let passed: [u64; KINDS] = std::array::from_fn(|_| passed.next().flatten().unwrap_or(0));
        let all: u64 = passed.iter().sum();
        let busy = passed[..IDLE].iter().sum();
        (all > 0).then_some((all, busy, passed[STEAL]))
    }

    /// Ticks are coarse: over a time of few ticks this is a guess, never below zero.
    pub(super) fn foreign_percent(&self, was: &System, own_ns: u64) -> Option<f64> {
        let (all, busy, _) = self.passed(was)?;
        let own = own_ns as f64 / 1e9 * ticks_per_second() as f64;
        Some(((busy as f64 - own) / all as f64 * 100.0).clamp(0.0, 100.0))
    }

    pub(super) fn steal_percent(&self, was: &System) -> Option<f64> {
        let (all, _, stolen) = self.passed(was)?;
        Some(stolen as f64 / all as f64 * 100.0)
    }
}
