//! What else goes on: processor time of others, and what the hypervisor gave away, over a short look.

use super::{Answer, Line, text};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use schedlab_linux::{
    Root,
    proc::stat::{IDLE, IOWAIT, STEAL, whole},
};
use std::time::{Duration, Instant};

/// What counts as quiet: `live.md` measured on processors with at most this much foreign time.
const QUIET_PERCENT: f64 = 5.0;

/// Sums of all processors since boot, in ticks of USER_HZ; none where the kernel does not say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Times {
    busy: u64,
    steal: Option<u64>,
    all: u64,
}

/// The line `cpu` of /proc/stat.
fn times(stat: &str) -> Option<Times> {
    let ticks = whole(stat.as_bytes())?;
    let idle = ticks[IDLE]?.saturating_add(ticks[IOWAIT].unwrap_or(0));
    let all = ticks.iter().flatten().fold(0u64, |sum, f| sum.saturating_add(*f));
    let steal = ticks[STEAL];
    Some(Times { busy: all.saturating_sub(idle).saturating_sub(steal.unwrap_or(0)), steal, all })
}

fn own_time() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::ZERO };
    let us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(us).unwrap_or(0))
}

/// Looks for so long.
pub(super) fn lines(root: &Root, look: Duration) -> Vec<Line> {
    let now = || text(root, "/proc/stat").as_deref().and_then(times);
    let (began, before, own) = (Instant::now(), now(), own_time());
    std::thread::sleep(look);
    let (after, own, passed) = (now(), own_time().saturating_sub(own), began.elapsed());
    let mut lines = match before.zip(after) {
        Some((before, after)) => vec![foreign(before, after, own, passed), stolen(before, after)],
        None => vec![Line::new("quiet", Answer::Unknown, "/proc/stat cannot be read", "")],
    };
    lines.push(load(root));
    lines
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 * 100.0 / all as f64 }
}

fn foreign(before: Times, after: Times, own: Duration, passed: Duration) -> Line {
    let all = after.all.saturating_sub(before.all);
    let busy = share(after.busy.saturating_sub(before.busy), all);
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get()) as f64;
    let ours = own.as_secs_f64() * 100.0 / (passed.as_secs_f64() * processors).max(f64::MIN_POSITIVE);
    let percent = (busy - ours).max(0.0);
    let seen = format!("others used {percent:.1} % of the processors over {} ms", passed.as_millis());
    Line::fine_if(
        percent <= QUIET_PERCENT,
        "quiet",
        seen,
        "end what else runs, or pin to a quiet processor; disturbed runs are marked",
    )
}

fn stolen(before: Times, after: Times) -> Line {
    let what = "no time stolen";
    let (Some(old), Some(new)) = (before.steal, after.steal) else {
        return Line::new(what, Answer::Unknown, "the kernel does not say", "the noise monitor of a run sees holes");
    };
    let percent = share(new.saturating_sub(old), after.all.saturating_sub(before.all));
    let seen = format!("{percent:.1} % went to other machines");
    Line::fine_if(
        percent <= 1.0,
        what,
        seen,
        "the hypervisor is short of processors: measure at another time, with more repeats",
    )
}

fn load(root: &Root) -> Line {
    let what = "no load";
    let Some(text) = text(root, "/proc/loadavg") else { return Line::new(what, Answer::Unknown, "cannot be read", "") };
    let numbers: Vec<&str> = text.split_whitespace().take(3).collect();
    let Some(one) = numbers.first().and_then(|n| n.parse::<f64>().ok()) else {
        return Line::new(what, Answer::Unknown, "cannot be read", "");
    };
    Line::fine_if(
        one < 1.0,
        what,
        format!("load {} over 1, 5, 15 minutes", numbers.join(" ")),
        "wait until it has fallen",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_given_away_is_neither_busy_nor_idle() {
        let text = "cpu  100 10 50 800 40 0 5 30 60 0\ncpu0 1 2 3\n";
        assert_eq!(times(text).unwrap(), Times { busy: 165, steal: Some(30), all: 1035 });
        assert_eq!(times("cpu  1 2 3 4\n").unwrap(), Times { busy: 6, steal: None, all: 10 });
        assert_eq!(times("intr 5\n"), None);
    }

    #[test]
    fn our_own_time_is_not_foreign() {
        let (before, after) = (Times::default(), Times { busy: 50, steal: Some(0), all: 100 });
        let processors = std::thread::available_parallelism().unwrap().get() as u32;
        let alone = foreign(before, after, Duration::from_millis(500) * processors, Duration::from_secs(1));
        assert_eq!(alone.answer, Answer::Yes, "{alone:?}");
        let other = foreign(before, after, Duration::ZERO, Duration::from_secs(1));
        assert_eq!(other.answer, Answer::Limited, "{other:?}");
    }
}
