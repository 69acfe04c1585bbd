//! What stands before an event in a line of text: task, processor, context and time, as perf, trace-cmd and the kernel print them.
//!
//!   perf script        `COMM  PID[/TID] [CPU] SECONDS: [PERIOD] EVENT: ...`
//!   trace-cmd, tracefs `COMM-PID [(TGID)] [CPU] [FLAGS] SECONDS: EVENT: ...`
//!   latency format     `COMM-PID  CPUFLAGS  MICROSECONDSus : EVENT: ...`
//!
//! Names may have blanks, dashes and colons. So the time is found first, and what stands before it is taken from its right end.

use super::tasks::MOST_PID;
use super::{Context, Event, Pid};

/// In this many bytes of a line the time must stand.
const MOST_PREFIX: usize = 256;
/// Bytes of the longest time.
const MOST_TIME: usize = 32;

/// What stands before an event, and the event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prefix<'a> {
    /// Name of the current task, as the tool knows it.
    pub(super) comm: &'a [u8],
    /// The current task.
    pub(super) pid: Pid,
    /// Its process, if the line says so.
    pub(super) tgid: Option<Pid>,
    /// The processor, if the line says so.
    pub(super) cpu: Option<u16>,
    /// In what context, as the flags say.
    pub(super) context: Context,
    /// Nanoseconds.
    pub(super) time: u64,
    /// The name of the event, and its system if that is printed.
    pub(super) name: &'a [u8],
    /// What is printed of its fields.
    pub(super) text: &'a [u8],
}

/// Takes a line apart; `None` if it is none of an event.
pub(super) fn read(line: &[u8]) -> Option<Prefix<'_>> {
    memchr::memchr_iter(b':', &line[..line.len().min(MOST_PREFIX)]).find_map(|colon| {
        // A colon within the name of a task or of an event is followed by something else.
        if line.get(colon + 1).is_some_and(|next| *next != b' ') {
            return None;
        }
        let (head, time) = time(&line[..colon])?;
        let (name, text) = event(&line[colon + 1..])?;
        of_task(head, Prefix { comm: b"", pid: 0, tgid: None, cpu: None, context: Context::Unknown, time, name, text })
    })
}

/// The time at the end, in ns, and what stands before it.
fn time(text: &[u8]) -> Option<(&[u8], u64)> {
    let mut end = text.len();
    let from = end.saturating_sub(MOST_TIME);
    // The latency format marks long waits behind the unit.
    if let Some(at) = memchr::memmem::rfind(&text[from..], b"us") {
        let rest = &text[from + at + 2..];
        if rest.len() == 1 && b" +!#*@$".contains(&rest[0]) {
            end = from + at;
        }
    }
    let start = memchr::memrchr2(b' ', b'\t', &text[from..end])? + from + 1;
    let time = match text.len() - end {
        0 => seconds(&text[start..end])?,
        _ => decimal(&text[start..end])?.checked_mul(1000)?,
    };
    Some((&text[..start], time))
}

/// A decimal fraction of seconds in nanoseconds. The digits after the point are not optional: a number without them counts ticks
/// of a clock of unknown rate.
pub(super) fn seconds(text: &[u8]) -> Option<u64> {
    let point = memchr::memchr(b'.', text)?;
    let (whole, part) = (decimal(&text[..point])?, &text[point + 1..]);
    if part.is_empty() || part.len() > 9 {
        return None;
    }
    let scale = 10u64.pow(9 - part.len() as u32);
    whole.checked_mul(1_000_000_000)?.checked_add(decimal(part)? * scale)
}

/// Name and fields of an event. A number before it is perf's period.
fn event(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut text = text.trim_ascii();
    let (mut word, mut rest) = first_word(text);
    if decimal(word).is_some() {
        text = rest.trim_ascii_start();
        (word, rest) = first_word(text);
    }
    if word.is_empty() {
        return None;
    }
    // "sys_read(fd: 3, ...", "PERF_RECORD_FORK(1:1)": what has no colon goes on at once.
    let end = memchr::memchr(b'(', word).filter(|end| *end > 0).unwrap_or(word.len());
    match word[..end].strip_suffix(b":") {
        Some(name) => Some((name, rest.trim_ascii_start())),
        None => Some((&word[..end], text[end..].trim_ascii_start())),
    }
}

fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr::memchr2(b' ', b'\t', text).unwrap_or(text.len()))
}

/// Takes the last word.
pub(super) fn last_word<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    *text = text.trim_ascii_end();
    let start = memchr::memrchr2(b' ', b'\t', text).map_or(0, |at| at + 1);
    let (before, word) = text.split_at(start);
    *text = before;
    word
}

/// Fills in what stands before the time.
fn of_task<'a>(mut head: &'a [u8], mut of: Prefix<'a>) -> Option<Prefix<'a>> {
    let before = head;
    let word = last_word(&mut head);
    of.cpu = bracketed(word);
    if of.cpu.is_none() && word.len() >= 3 && word.len() <= 12 && !word.contains(&b'-') {
        // Flags: alone behind the processor, or at once behind its number.
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, flags) = word.split_at(digits);
        let mut rest = head;
        let flagged = match digits {
            0 => bracketed(last_word(&mut rest)),
            _ if flags.len() >= 3 => decimal(number).and_then(|cpu| u16::try_from(cpu).ok()),
            _ => None,
        };
        if let Some(cpu) = flagged.filter(|cpu| *cpu != Event::ALL) {
            head = if digits == 0 { rest } else { head };
            (of.cpu, of.context) = (Some(cpu), context(flags)?);
        }
    }
    if of.cpu.is_none() {
        head = before;
    }
    head = head.trim_ascii_end();
    if let Some(inner) = head.strip_suffix(b")") {
        let start = memchr::memrchr(b'(', inner)?;
        of.tgid = pid(inner[start + 1..].trim_ascii());
        head = &head[..start];
    }
    let mut rest = head;
    let word = last_word(&mut rest);
    // perf separates the number by a blank, and has the process in front of the thread if asked for both.
    let (process, thread) = match memchr::memchr(b'/', word) {
        Some(slash) => (pid(&word[..slash]), pid(&word[slash + 1..])),
        None => (None, pid(word)),
    };
    if let Some(thread) = thread {
        (of.comm, of.pid, of.tgid) = (rest.trim_ascii(), thread, process.or(of.tgid));
        return Some(of);
    }
    let head = head.trim_ascii();
    let dash = memchr::memrchr(b'-', head)?;
    (of.comm, of.pid) = (head[..dash].trim_ascii(), pid(&head[dash + 1..])?);
    Some(of)
}

/// A processor: "[003]".
fn bracketed(word: &[u8]) -> Option<u16> {
    let number = decimal(word.strip_prefix(b"[")?.strip_suffix(b"]")?)?;
    u16::try_from(number).ok().filter(|cpu| *cpu != Event::ALL)
}

/// The context, by the third flag: "d.h1" is in a hardware interrupt.
fn context(flags: &[u8]) -> Option<Context> {
    if !flags.iter().all(|flag| flag.is_ascii_alphanumeric() || *flag == b'.') {
        return None;
    }
    Some(match flags.get(2)? {
        b'.' => Context::Task,
        b's' => Context::SoftInterrupt,
        b'h' | b'H' | b'z' | b'Z' => Context::HardInterrupt,
        _ => Context::Unknown,
    })
}

/// The number of a task. -1 is what perf prints where it does not know it.
pub(super) fn pid(text: &[u8]) -> Option<Pid> {
    match text {
        b"-1" => Some(Event::NO_TASK),
        _ => decimal(text).filter(|pid| *pid <= MOST_PID as u64).map(|pid| pid as Pid),
    }
}

/// A whole number written in decimal digits.
#[inline]
pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    let add = |value: u64, digit: u8| value.checked_mul(10)?.checked_add(digit.into());
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| byte - b'0');
    if text.is_empty() { None } else { text.iter().try_fold(0, |value, byte| add(value, digit(byte)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Parts = (String, Pid, Option<Pid>, Option<u16>, Context, u64, String, String);

    fn parts(line: &str) -> Option<Parts> {
        let p = read(line.as_bytes())?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Some((text(p.comm), p.pid, p.tgid, p.cpu, p.context, p.time, text(p.name), text(p.text)))
    }

    #[test]
    fn all_tools_lines_are_taken_apart() {
        let (none, task, hard) = (Context::Unknown, Context::Task, Context::HardInterrupt);
        #[rustfmt::skip]
        let cases = [
            ("       opt cgu.0  9970 [000]   557.036574: sched:sched_waking: comm=x", "opt cgu.0", 9970, None, Some(0), none, 557_036_574_000, "sched:sched_waking", "comm=x"),
            ("kworker/0:1-ev 10/12 [011]  1.000000007:     1 sched:a: b c", "kworker/0:1-ev", 12, Some(10), Some(11), none, 1_000_000_007, "sched:a", "b c"),
            (":-1    -1 [001]     2.5: irq:x: ", ":-1", -1, None, Some(1), none, 2_500_000_000, "irq:x", ""),
            (" a:b 1.5: c 7 3.25: sched:a: ", "a:b 1.5: c", 7, None, None, none, 3_250_000_000, "sched:a", ""),
            ("          <idle>-0       [001] d.h3.   764.311741: sched_waking: comm=y", "<idle>", 0, None, Some(1), hard, 764_311_741_000, "sched_waking", "comm=y"),
            ("    my-app -1-44      (     43) [001] ....1   7.000001: sys_read(fd: 3)", "my-app -1", 44, Some(43), Some(1), task, 7_000_001_000, "sys_read", "(fd: 3)"),
            ("            bash-12758   (-------) [000] .....   764.3: a: b", "bash", 12758, None, Some(0), task, 764_300_000_000, "a", "b"),
            ("   sleep-12771     1d..2. 764312044us+: sched_switch: x", "sleep", 12771, None, Some(1), task, 764_312_044_000, "sched_switch", "x"),
            ("   sleep-12771     1d.h2. 4us : sched_switch: x", "sleep", 12771, None, Some(1), hard, 4000, "sched_switch", "x"),
            ("trace-cmd-1 [003]  12.345678: sched_switch:         x:0 [120] R", "trace-cmd", 1, None, Some(3), none, 12_345_678_000, "sched_switch", "x:0 [120] R"),
        ];
        for (line, comm, pid, tgid, cpu, context, time, name, text) in cases {
            let expected = (comm.into(), pid, tgid, cpu, context, time, name.into(), text.into());
            assert_eq!(parts(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn lines_without_a_time_or_a_task_are_none_of_events() {
        for line in [
            "",
            "# tracer: nop",
            "\tffffffff8100 schedule+0x1 ([kernel])",
            "a-1 [000] 12345: x: y",
            "a [000] 1.5: x:",
            "cpus=2",
        ] {
            assert_eq!(parts(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_name_comes_back(comm in "[a-z<][ -~]{0,13}[a-z>]", pid in 0..=MOST_PID, cpu in 0..4096u16, us in 0..u64::from(u32::MAX)) {
            let time = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
            // A name that ends as a line goes on cannot be distinguished from it.
            prop_assume!(!comm.contains(": ") && !comm.contains('('));
            for line in [format!("{comm:>16} {pid:>5} [{cpu:03}] {time}: e: f"), format!("{comm:>16}-{pid:<7} [{cpu:03}] d..2. {time}: e: f")] {
                let read = read(line.as_bytes()).unwrap();
                prop_assert_eq!(read.comm, comm.as_bytes());
                prop_assert_eq!((read.pid, read.cpu, read.time), (pid, Some(cpu), us * 1000));
            }
        }

        #[test]
        fn any_bytes_are_a_line_or_none(line in prop::collection::vec(prop::sample::select(b"a 0.:-[]()/us\t+\xff".to_vec()), 0..60)) {
            let _ = read(&line);
        }
    }
}
