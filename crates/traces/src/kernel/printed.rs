//! Events as text: by the kernel's name, how the fields of each are printed and which record they make.
//!
//! Names of tasks may have blanks, equals signs and brackets. So fields are taken from the right end of a line up to the name.
//!
//! Long, because each kind of event is printed in a way of its own.

use super::calls::{self, Call, Machine};
use super::prefix::{decimal, last_word, pid};
use super::{Event, Kind, Left, Pid};
use memchr::memmem;

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The record; none if there are only names.
    pub(super) event: Option<Event>,
    /// Another one of the same moment.
    pub(super) second: Option<Event>,
    /// Tasks with their names.
    pub(super) names: [Option<(Pid, &'a [u8])>; 2],
}

/// From the printed fields, and an event that has time, processor, context and the current task already.
pub(super) type Read = fn(&[u8], Event) -> Option<Found<'_>>;

/// The events that are known, by name without system. The most frequent ones come first.
#[rustfmt::skip]
const TABLE: &[(&str, Read)] = &[
    ("sched_switch", switch),
    ("sched_waking", |text, at| woken(text, at, Kind::Waking)),
    ("sched_wakeup", |text, at| woken(text, at, Kind::Woken)),
    ("sched_stat_runtime", runtime),
    ("sched_wakeup_new", |text, at| woken(text, at, Kind::New)),
    ("sched_migrate_task", migrate),
    ("sched_process_fork", fork),
    ("sched_process_exec", exec),
    ("sched_process_exit", |text, at| of_comm(text, at, Kind::Exit)),
    ("sched_process_wait", wait),
    ("task_rename", rename),
    ("irq_handler_entry", |text, at| numbered(text, at, Kind::IrqEntry, b"irq=")),
    ("irq_handler_exit", |text, at| numbered(text, at, Kind::IrqExit, b"irq=")),
    ("softirq_entry", |text, at| numbered(text, at, Kind::SoftirqEntry, b"vec=")),
    ("softirq_exit", |text, at| numbered(text, at, Kind::SoftirqExit, b"vec=")),
    ("hrtimer_start", timer_start),
    ("hrtimer_expire_entry", |text, at| addressed(text, at, Kind::TimerExpire, b"hrtimer=")),
    ("hrtimer_expire_exit", |text, at| addressed(text, at, Kind::TimerDone, b"hrtimer=")),
    ("hrtimer_cancel", |text, at| addressed(text, at, Kind::TimerCancel, b"hrtimer=")),
    // The expiry of these is in ticks of unknown length, and left out.
    ("timer_start", |text, at| addressed(text, at, Kind::TimerStart, b"timer=")),
    ("timer_expire_entry", |text, at| addressed(text, at, Kind::TimerExpire, b"timer=")),
    ("timer_expire_exit", |text, at| addressed(text, at, Kind::TimerDone, b"timer=")),
    ("timer_cancel", |text, at| addressed(text, at, Kind::TimerCancel, b"timer=")),
    ("workqueue_execute_start", |text, at| addressed(text, at, Kind::WorkBegin, b"work struct ")),
    ("workqueue_execute_end", |text, at| addressed(text, at, Kind::WorkEnd, b"work struct ")),
    ("block_rq_issue", |text, at| block(text, at, Kind::BlockIssue)),
    ("block_rq_complete", |text, at| block(text, at, Kind::BlockComplete)),
    ("page_fault_user", |text, at| fault(text, at, 0)),
    ("page_fault_kernel", |text, at| fault(text, at, 1)),
    ("sys_enter", |text, at| system_call(text, at, Kind::SyscallEnter)),
    ("sys_exit", |text, at| system_call(text, at, Kind::SyscallExit)),
    ("PERF_RECORD_COMM", perf_comm),
    ("PERF_RECORD_LOST", |text, at| numbered(text, at, Kind::Lost, b"lost ")),
    ("PERF_RECORD_LOST_SAMPLES", |text, at| numbered(text, at, Kind::Lost, b"lost ")),
];

/// The vectors of interrupts (`irq_vectors`).
const VECTORS: &[&str] = &[
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "spurious_apic",
    "error_apic",
    "thermal_apic",
    "threshold_apic",
    "deferred_error_apic",
    "x86_platform_ipi",
];

/// How to read an event of that name ("sched:sched_switch", or without the system).
pub(super) fn reader(name: &[u8]) -> Option<Read> {
    let name = memchr::memrchr(b':', name).map_or(name, |at| &name[at + 1..]);
    let known = TABLE.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, read)| *read);
    let vector =
        |end: &str| name.strip_suffix(end.as_bytes()).is_some_and(|of| VECTORS.iter().any(|v| v.as_bytes() == of));
    known
        .or_else(|| one_call(name))
        .or_else(|| vector("_entry").then_some((|text, at| numbered(text, at, Kind::VectorEntry, b"vector=")) as Read))
        .or_else(|| vector("_exit").then_some((|text, at| numbered(text, at, Kind::VectorExit, b"vector=")) as Read))
}

fn found(event: Event) -> Option<Found<'static>> {
    Some(Found { event: Some(event), second: None, names: [None, None] })
}

fn named<'a>(event: Event, task: Pid, comm: &'a [u8]) -> Option<Found<'a>> {
    Some(Found { event: Some(event), second: None, names: [Some((task, comm)), None] })
}

/// Takes words from the right end until one begins with `key`; what follows the key.
fn back<'a>(text: &mut &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    loop {
        let word = last_word(text);
        if word.is_empty() {
            return None;
        }
        if let Some(value) = word.strip_prefix(key) {
            return Some(value);
        }
    }
}

/// What follows `key`, up to a blank or a bracket.
fn after<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let at = if text.starts_with(key) { 0 } else { memmem::find(text, key)? };
    let rest = &text[at + key.len()..];
    Some(&rest[..rest.iter().position(|byte| b" \t[:,".contains(byte)).unwrap_or(rest.len())])
}

/// A number with two halves.
fn halves(high: u64, low: u64) -> u64 {
    high << 32 | low & 0xffff_ffff
}

/// The kernel prints some priorities as negative numbers (deadline tasks).
fn priority(text: &[u8]) -> Option<u64> {
    let negative = text.strip_prefix(b"-");
    let value = decimal(negative.unwrap_or(text)).filter(|value| *value <= i32::MAX as u64)? as i32;
    Some(u64::from(if negative.is_some() { -value } else { value } as u32))
}

/// How a task left, by the bits of its state. What is beyond these says that a task was preempted.
pub(super) fn state(bits: u64) -> Left {
    match bits {
        _ if bits & 1 != 0 => Left::Sleeping,
        // Also parked, and kernel threads without work.
        _ if bits & 0xc2 != 0 => Left::Uninterruptible,
        _ if bits & 0x0c != 0 => Left::Stopped,
        _ if bits & 0x30 != 0 => Left::Dead,
        _ => Left::Runnable,
    }
}

/// How a task left, by the letters for its state, or by the number of old versions.
pub(super) fn left(letters: &[u8]) -> Option<Left> {
    if let Some(bits) = decimal(letters) {
        return Some(state(bits));
    }
    Some(match letters.first()? {
        b'R' => Left::Runnable,
        b'S' => Left::Sleeping,
        // Of kernel threads: I without work, P parked, K killable.
        b'D' | b'I' | b'P' | b'K' => Left::Uninterruptible,
        b'T' | b't' => Left::Stopped,
        b'X' | b'Z' | b'x' => Left::Dead,
        _ => return None,
    })
}

/// "prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120"
fn switch(text: &[u8], at: Event) -> Option<Found<'_>> {
    if !text.starts_with(b"prev_comm=") {
        return short_switch(text, at);
    }
    let mut rest = text;
    let next_priority = priority(back(&mut rest, b"next_prio=")?)?;
    let next = pid(back(&mut rest, b"next_pid=")?)?;
    let arrow = b" ==> next_comm=";
    let place = memmem::rfind(rest, arrow)?;
    let next_comm = rest[place + arrow.len()..].trim_ascii_end();
    rest = &rest[..place];
    let state = left(back(&mut rest, b"prev_state=")?)?;
    let previous_priority = priority(back(&mut rest, b"prev_prio=")?)?;
    let previous = pid(back(&mut rest, b"prev_pid=")?)?;
    let previous_comm = rest.strip_prefix(b"prev_comm=")?.trim_ascii_end();
    switched(at, (previous, previous_comm, previous_priority), state, (next, next_comm, next_priority))
}

fn switched<'a>(at: Event, from: (Pid, &'a [u8], u64), state: Left, to: (Pid, &'a [u8], u64)) -> Option<Found<'a>> {
    let bits = Event::bits(state as u8, at.context());
    let event = Event { kind: Kind::Switch, task: from.0, other: to.0, value: halves(from.2, to.2), bits, ..at };
    Some(Found { event: Some(event), second: None, names: [Some((from.0, from.1)), Some((to.0, to.1))] })
}

/// "a:1 [120] S ==> b:2 [120]", by the plugin of libtraceevent; "task a:1 [120] (S) ==> b:2 [120]" by the first kernels that traced.
fn short_switch(text: &[u8], at: Event) -> Option<Found<'_>> {
    // A name may have an arrow, too.
    memmem::find_iter(text, b" ==> ").find_map(|arrow| {
        let (mut from, mut to) = (&text[..arrow], &text[arrow + 5..]);
        let mut state = last_word(&mut from);
        if let Some(inner) = state.strip_prefix(b"(").and_then(|state| state.strip_suffix(b")")) {
            (state, from) = (inner, from.strip_prefix(b"task ")?);
        }
        switched(at, short_task(&mut from)?, left(state)?, short_task(&mut to)?)
    })
}

/// "a:1 [120]" at the end.
fn short_task<'a>(text: &mut &'a [u8]) -> Option<(Pid, &'a [u8], u64)> {
    let priority = priority(last_word(text).strip_prefix(b"[")?.strip_suffix(b"]")?)?;
    let text = text.trim_ascii_end();
    let colon = memchr::memrchr(b':', text)?;
    Some((pid(&text[colon + 1..])?, &text[..colon], priority))
}

/// "comm=a pid=1 prio=120 target_cpu=000", in older kernels with success=1; "a:1 [120] success=1 CPU:000" by libtraceevent.
fn woken(text: &[u8], at: Event, kind: Kind) -> Option<Found<'_>> {
    let (task, comm, priority, cpu);
    let mut rest = text;
    if text.starts_with(b"comm=") {
        cpu = decimal(back(&mut rest, b"target_cpu=")?)?;
        priority = self::priority(back(&mut rest, b"prio=")?)?;
        task = pid(back(&mut rest, b"pid=")?)?;
        comm = rest.strip_prefix(b"comm=")?.trim_ascii_end();
    } else {
        cpu = match memmem::rfind(text, b"CPU:") {
            Some(place) => decimal(&text[place + 4..])?,
            None => return None,
        };
        // Where the kernel has no such field, that is said without a blank before it.
        let bracket = memchr::memrchr(b']', text)?;
        rest = &text[..=bracket];
        (task, comm, priority) = short_task(&mut rest)?;
    }
    named(Event { kind, task, value: halves(priority, cpu), ..at }, task, comm)
}

/// "comm=a pid=1 runtime=85160 [ns] vruntime=1 [ns]"
fn runtime(text: &[u8], at: Event) -> Option<Found<'_>> {
    let mut rest = text;
    let value = decimal(back(&mut rest, b"runtime=")?)?;
    let task = pid(back(&mut rest, b"pid=")?)?;
    let comm = rest.strip_prefix(b"comm=")?.trim_ascii_end();
    named(Event { kind: Kind::Runtime, task, value, ..at }, task, comm)
}

/// "comm=a pid=1 prio=120 orig_cpu=0 dest_cpu=1"
fn migrate(text: &[u8], at: Event) -> Option<Found<'_>> {
    let mut rest = text;
    let to = decimal(back(&mut rest, b"dest_cpu=")?)?;
    let from = decimal(back(&mut rest, b"orig_cpu=")?)?;
    let task = pid(back(&mut rest, b"pid=")?)?;
    let comm = rest.strip_prefix(b"comm=")?.trim_ascii_end();
    named(Event { kind: Kind::Migrate, task, value: halves(from, to), ..at }, task, comm)
}

/// "comm=a pid=1 child_comm=a child_pid=2"
fn fork(text: &[u8], at: Event) -> Option<Found<'_>> {
    let mut rest = text;
    let child = pid(back(&mut rest, b"child_pid=")?)?;
    let place = memmem::rfind(rest, b" child_comm=")?;
    let child_comm = rest[place + 12..].trim_ascii_end();
    rest = &rest[..place];
    let parent = pid(back(&mut rest, b"pid=")?)?;
    let comm = rest.strip_prefix(b"comm=")?.trim_ascii_end();
    let event = Event { kind: Kind::Fork, task: parent, other: child, ..at };
    Some(Found { event: Some(event), second: None, names: [Some((parent, comm)), Some((child, child_comm))] })
}

/// "filename=/bin/ls pid=1 old_pid=1". The name follows with the next event.
fn exec(text: &[u8], at: Event) -> Option<Found<'_>> {
    let mut rest = text;
    back(&mut rest, b"old_pid=")?;
    found(Event { kind: Kind::Exec, task: pid(back(&mut rest, b"pid=")?)?, ..at })
}

/// "comm=a pid=1 prio=120", and more in newer kernels.
fn of_comm(text: &[u8], at: Event, kind: Kind) -> Option<Found<'_>> {
    let mut rest = text;
    back(&mut rest, b"prio=")?;
    let task = pid(back(&mut rest, b"pid=")?)?;
    named(Event { kind, task, ..at }, task, rest.strip_prefix(b"comm=")?.trim_ascii_end())
}

/// "comm=a pid=0 prio=120": the name of the current task, and the number of the child for which it waits.
fn wait(text: &[u8], at: Event) -> Option<Found<'_>> {
    let mut rest = text;
    back(&mut rest, b"prio=")?;
    let value = pid(back(&mut rest, b"pid=")?)?.unsigned_abs().into();
    let event = Event { kind: Kind::Wait, task: at.other, value, ..at };
    named(event, at.other, rest.strip_prefix(b"comm=")?.trim_ascii_end())
}

/// "pid=1 oldcomm=a newcomm=b oom_score_adj=0"
fn rename(text: &[u8], _: Event) -> Option<Found<'_>> {
    let mut rest = text;
    back(&mut rest, b"oom_score_adj=")?;
    let place = memmem::rfind(rest, b" newcomm=")?;
    let task = pid(after(text, b"pid=")?)?;
    Some(Found { event: None, second: None, names: [Some((task, rest[place + 9..].trim_ascii_end())), None] })
}

/// "exec: a:1/1" or "a:1/1": name, process and thread, from perf's own records.
fn perf_comm(text: &[u8], at: Event) -> Option<Found<'_>> {
    let colon = memchr::memrchr(b':', text)?;
    let slash = colon + memchr::memchr(b'/', &text[colon..])?;
    let (process, thread) = (pid(&text[colon + 1..slash])?, pid(&text[slash + 1..])?);
    let comm = text[..colon].strip_prefix(b"exec: ").unwrap_or(&text[..colon]);
    named(Event { kind: Kind::Member, task: thread, other: process, ..at }, thread, comm)
}

fn numbered<'a>(text: &'a [u8], at: Event, kind: Kind, key: &[u8]) -> Option<Found<'a>> {
    found(Event { kind, value: decimal(after(text, key)?)?, ..at })
}

/// Addresses are printed with or without 0x.
fn addressed<'a>(text: &'a [u8], at: Event, kind: Kind, key: &[u8]) -> Option<Found<'a>> {
    found(Event { kind, value: address(after(text, key)?)?, ..at })
}

fn address(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| Some(value << 4 | u64::from(char::from(*byte).to_digit(16)?)))
}

/// "hrtimer=0x1 function=f expires=1 softexpires=1 mode=ABS|HARD"
fn timer_start(text: &[u8], at: Event) -> Option<Found<'_>> {
    let event = Event { kind: Kind::TimerStart, value: address(after(text, b"hrtimer=")?)?, ..at };
    let expiry = decimal(after(text, b" expires=")?)?;
    // By name, or by perf as the number of `enum hrtimer_mode`. Kernels before 4.16 print none.
    let relative = after(text, b" mode=").is_some_and(|mode| match address(mode) {
        Some(number) => number & 1 == 1,
        None => memmem::find(mode, b"REL").is_some(),
    });
    let bits = Event::bits(relative.into(), at.context());
    let second = Event { kind: Kind::TimerExpiry, value: expiry, bits, ..at };
    Some(Found { event: Some(event), second: Some(second), names: [None, None] })
}

/// "254,0 WS 4096 () 1234 + 8 none,0,0 [comm]" when issued, "254,0 WS () 1234 + 8 none,0,0 [0]" when complete.
fn block(text: &[u8], at: Event, kind: Kind) -> Option<Found<'_>> {
    let mut words = text.split(|byte| *byte == b' ');
    let (drive, operation) = (drive(words.next()?)?, words.next()?);
    let plus = memmem::rfind(text, b" + ")?;
    let mut before = &text[..plus];
    let sector = decimal(last_word(&mut before))?;
    let sectors = decimal(text[plus + 3..].split(|byte| *byte == b' ').next()?)?;
    let bits = Event::bits(request(operation), at.context());
    let bytes = u32::try_from(sectors.saturating_mul(512)).unwrap_or(u32::MAX);
    found(Event { kind, task: drive, value: sector, extra: bytes, bits, ..at })
}

/// A drive, "254,0", as its number: the major one in the high 12 bits, the minor one in the low 20.
pub(super) fn drive(text: &[u8]) -> Option<Pid> {
    let comma = memchr::memchr(b',', text)?;
    let (major, minor) = (decimal(&text[..comma])?, decimal(&text[comma + 1..])?);
    (major < 1 << 12 && minor < 1 << 20).then_some((major << 20 | minor) as u32 as Pid)
}

/// The flag of a request, by its letters: 0 read, 1 write, 2 other.
pub(super) fn request(letters: &[u8]) -> u8 {
    match letters.iter().find(|letter| b"RWDN".contains(letter)) {
        Some(b'R') => 0,
        Some(b'W') => 1,
        _ => 2,
    }
}

/// "address=0x7f ip=0x55 error_code=0x4". An address in the kernel may be printed as a symbol; then it is left out.
fn fault(text: &[u8], at: Event, flag: u8) -> Option<Found<'_>> {
    let value = address(after(text, b"address=")?).unwrap_or(0);
    found(Event { kind: Kind::Fault, task: at.other, value, bits: Event::bits(flag, at.context()), ..at })
}

/// "NR 0 (3, 7ffe, 10)" on entering, "NR 0 = 16" on leaving.
fn system_call(text: &[u8], at: Event, kind: Kind) -> Option<Found<'_>> {
    let number = text.strip_prefix(b"NR ")?.split(|byte| *byte == b' ').next()?;
    // -1 is no call: a tracer has skipped it.
    let value = if number.starts_with(b"-") { u64::MAX } else { decimal(number)? };
    let call = if kind == Kind::SyscallEnter { Machine::default().call(value) } else { Call::Other };
    found(Event { kind, task: at.other, value, bits: Event::bits(call as u8, at.context()), ..at })
}

/// How to read an event of a single system call: "sys_enter_read" and "sys_exit_read" by the tools, "sys_read" by the kernel.
fn one_call(name: &[u8]) -> Option<Read> {
    if name.starts_with(b"sys_exit_") {
        return Some(|_, at| left_call(at));
    }
    let call = name.strip_prefix(b"sys_enter_").or_else(|| name.strip_prefix(b"sys_"))?;
    Some(match calls::named(call) {
        Call::Futex => one_call_of::<{ Call::Futex as u8 }>,
        Call::Receive => one_call_of::<{ Call::Receive as u8 }>,
        Call::Send => one_call_of::<{ Call::Send as u8 }>,
        Call::Poll => one_call_of::<{ Call::Poll as u8 }>,
        Call::Yield => one_call_of::<{ Call::Yield as u8 }>,
        Call::Other => one_call_of::<{ Call::Other as u8 }>,
    })
}

/// "fd: 0x3, buf: ..." or "(fd: 3, buf: ...)" on entering; by the kernel "-> 0x10" on leaving.
fn one_call_of<const CALL: u8>(text: &[u8], at: Event) -> Option<Found<'_>> {
    if text.starts_with(b"->") {
        return left_call(at);
    }
    let bits = Event::bits(CALL, at.context());
    found(Event { kind: Kind::SyscallEnter, task: at.other, value: u64::MAX, bits, ..at })
}

fn left_call(at: Event) -> Option<Found<'static>> {
    found(Event { kind: Kind::SyscallExit, task: at.other, value: u64::MAX, ..at })
}
