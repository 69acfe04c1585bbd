//! `/proc/stat`: where the processors' time went, and interrupts.

use super::text::{lines, number, words};
use crate::{Fault, Root, clock::now};
use std::collections::BTreeMap;

/// The kernel counts here in ticks of a hundredth of a second, whatever its clock.
const NS_PER_TICK: u64 = 10_000_000;

/// Kinds of time, in the order of the file's columns. Time of guests is part of user time.
pub const KINDS: usize = 8;
/// The column of idle time.
pub const IDLE: usize = 3;
/// The column of idle time while a task waited for a drive.
pub const IOWAIT: usize = 4;
/// The column of time that the hypervisor gave to other machines.
pub const STEAL: usize = 7;

/// Time of one processor, or of all, since boot: user nice system idle iowait irq softirq steal, ticks. Old kernels have fewer.
pub type Ticks = [Option<u64>; KINDS];

/// Which processor a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The sum of all.
    All,
    /// The one of that number.
    One(u64),
}

/// The lines `cpu` and `cpuN` of the file.
pub fn processors(text: &[u8]) -> impl Iterator<Item = (Of, Ticks)> {
    lines(text).filter_map(|line| {
        let rest = line.strip_prefix(b"cpu")?;
        let mut words = words(rest);
        let of = if rest.first()?.is_ascii_whitespace() { Of::All } else { Of::One(number(words.next()?)?) };
        let mut ticks = Ticks::default();
        ticks.iter_mut().zip(words).for_each(|(kind, word)| *kind = number(word));
        Some((of, ticks))
    })
}

/// The line `cpu`: the sum of all processors.
pub fn whole(text: &[u8]) -> Option<Ticks> {
    processors(text).find_map(|(of, ticks)| (of == Of::All).then_some(ticks))
}

/// Where a processor's time went since boot, ns. The kernel measures idle time; its split of the rest is what its ticks found, so
/// busy time is what remains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// With nothing to run.
    pub idle: u64,
    /// With nothing to run, while a task waited for a drive.
    pub io_wait: u64,
    /// Given to other machines; none where the kernel does not count it.
    pub steal: Option<u64>,
}

impl Spent {
    /// Time of `whole` ns in which something of this machine ran.
    pub fn busy(&self, whole: u64) -> u64 {
        whole.saturating_sub(self.idle).saturating_sub(self.io_wait).saturating_sub(self.steal.unwrap_or(0))
    }
}

/// One reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// When, ns of the monotonic clock.
    pub at: u64,
    /// By number.
    pub processors: BTreeMap<u16, Spent>,
    /// Interrupts since boot.
    pub interrupts: Option<u64>,
}

impl Stat {
    /// Reads the file.
    pub fn read(root: &Root) -> Result<Stat, Fault> {
        let stat = Stat::parse(root.read("/proc/stat")?.as_bytes());
        Ok(Stat { at: now(), ..stat })
    }

    fn parse(text: &[u8]) -> Stat {
        let each = processors(text).filter_map(|(of, ticks)| {
            let Of::One(cpu) = of else { return None };
            let ns = |field: usize| ticks[field].map(|ticks| ticks.saturating_mul(NS_PER_TICK));
            let spent = Spent { idle: ns(IDLE).unwrap_or(0), io_wait: ns(IOWAIT).unwrap_or(0), steal: ns(STEAL) };
            Some((u16::try_from(cpu).ok()?, spent))
        });
        let processors = each.collect();
        let [interrupts] = super::keyed::read(text, &[("intr", 0)]);
        Stat { at: 0, processors, interrupts }
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
        let stat = Stat::parse(b"cpu  9 9 9 9\ncpu0 4 0 1 90\ncpu1 2 1 1 95 3 1 1 7 0 0\nintr 812 1 2 3\nctxt 99\n");
        let ms = |n: u64| n * NS_PER_TICK;
        assert_eq!(stat.processors[&0], Spent { idle: ms(90), io_wait: 0, steal: None });
        let second = Spent { idle: ms(95), io_wait: ms(3), steal: Some(ms(7)) };
        assert_eq!((stat.processors[&1], stat.interrupts), (second, Some(812)));
    }

    #[test]
    fn nonsense_is_nothing() {
        assert_eq!(Stat::parse(b"cpux 1\ncpu0\nintr x\n\n\x00").processors[&0], Spent::default());
    }
}
