//! Counters of the whole system around a run: what others used meanwhile, what the hypervisor took, and pressure.

use super::timed::Pressure;
use crate::{Root, sample::ticks_per_second};

/// Counters of the whole system at a moment.
pub(super) struct System {
    /// Ticks of the line `cpu` of /proc/stat.
    ticks: Option<Vec<u64>>,
    /// Total of "some", by resource, us.
    pressure: Option<[u64; 3]>,
}

impl System {
    pub(super) fn read(root: &Root) -> System {
        let stat = root.read("/proc/stat").ok();
        let ticks = stat.as_deref().and_then(|stat| {
            let words = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
            Some(words.map(|word| word.parse().unwrap_or(0)).collect())
        });
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
        // user nice system idle iowait irq softirq steal; guests are within user.
        let passed: Vec<u64> = is.iter().zip(was).take(8).map(|(is, was)| is.saturating_sub(*was)).collect();
        let all: u64 = passed.iter().sum();
        let busy = passed.get(..3)?.iter().sum();
        (all > 0).then_some((all, busy, passed.get(7).copied().unwrap_or(0)))
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
