//! What `/proc/stat` says of the processors and interrupts, and the difference of two readings.

use super::system::now;
use crate::{Fault, Root};
use std::collections::BTreeMap;

/// Ticks in which the kernel counts here: a hundred a second, whatever its clock.
const NS_PER_TICK: u64 = 10_000_000;

/// Where a processor's time went since the kernel started, ns. Time with nothing to run is measured by the kernel; what it
/// says of the rest is what its ticks found, so that is not asked: it is what remains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub idle: u64,
    pub io_wait: u64,
    /// None where the kernel does not count it.
    pub steal: Option<u64>,
}

impl Spent {
    /// Time of so many ns in which something of this machine ran.
    pub fn busy(&self, whole: u64) -> u64 {
        whole.saturating_sub(self.idle).saturating_sub(self.io_wait).saturating_sub(self.steal.unwrap_or(0))
    }
}

/// One reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stat {
    /// When, ns of the monotonic clock.
    pub at: u64,
    pub processors: BTreeMap<u16, Spent>,
    pub interrupts: Option<u64>,
}

impl Stat {
    pub fn read(root: &Root) -> Result<Stat, Fault> {
        let stat = Stat::parse(&root.read("/proc/stat")?);
        Ok(Stat { at: now(), ..stat })
    }

    fn parse(text: &str) -> Stat {
        let mut stat = Stat::default();
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace();
            let Some(name) = fields.next() else { continue };
            if name == "intr" {
                stat.interrupts = fields.next().and_then(|all| all.parse().ok());
            } else if let Some(cpu) = name.strip_prefix("cpu").and_then(|cpu| cpu.parse().ok()) {
                let ticks: Vec<u64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
                let ns = |field: usize| ticks.get(field).map(|ticks| ticks.saturating_mul(NS_PER_TICK));
                // user nice system idle iowait irq softirq steal
                let spent = Spent { idle: ns(3).unwrap_or(0), io_wait: ns(4).unwrap_or(0), steal: ns(7) };
                stat.processors.insert(cpu, spent);
            }
        }
        stat
    }

    /// What those processors spent since an earlier reading, together.
    pub fn since(&self, earlier: &Stat, processors: &[u16]) -> Spent {
        let none = Spent::default();
        let each = processors.iter().map(|cpu| {
            let (now, then) = (self.processors.get(cpu).unwrap_or(&none), earlier.processors.get(cpu).unwrap_or(&none));
            Spent {
                idle: now.idle.saturating_sub(then.idle),
                io_wait: now.io_wait.saturating_sub(then.io_wait),
                steal: now.steal.zip(then.steal).map(|(now, then)| now.saturating_sub(then)),
            }
        });
        each.reduce(|a, b| Spent {
            idle: a.idle + b.idle,
            io_wait: a.io_wait + b.io_wait,
            steal: a.steal.zip(b.steal).map(|(a, b)| a + b),
        })
        .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_have_fewer_columns_and_no_steal() {
        let stat = Stat::parse("cpu  9 9 9 9\ncpu0 4 0 1 90\ncpu1 2 1 1 95 3 1 1 7 0 0\nintr 812 1 2 3\nctxt 99\n");
        let ms = |n: u64| n * NS_PER_TICK;
        assert_eq!(stat.processors[&0], Spent { idle: ms(90), io_wait: 0, steal: None });
        let second = Spent { idle: ms(95), io_wait: ms(3), steal: Some(ms(7)) };
        assert_eq!((stat.processors[&1], stat.interrupts), (second, Some(812)));
    }

    #[test]
    fn nonsense_is_nothing() {
        assert_eq!(Stat::parse("cpux 1\ncpu0\nintr x\n\n\u{0}").processors[&0], Spent::default());
    }
}
