//! What the tests of readers share: a listener that keeps everything, random events, and a printer of their fields.

use proptest::prelude::*;
use schedlab_traces::kernel::{Context, Event, Head, Kind, Listener, Pid, ReadError, read_stream};
use std::collections::BTreeMap;
use std::io::Cursor;

/// Keeps what it hears.
#[derive(Debug, Default, PartialEq)]
pub struct Heard {
    pub events: Vec<Event>,
    pub names: Vec<String>,
}

impl Listener for Heard {
    fn event(&mut self, event: &Event) {
        self.events.push(*event);
    }

    fn name(&mut self, number: u64, name: &str) {
        assert_eq!(number, self.names.len() as u64, "numbers are given from 0 on");
        self.names.push(name.to_owned());
    }
}

impl Heard {
    /// Events by kind.
    pub fn counts(&self) -> BTreeMap<Kind, usize> {
        self.events.iter().fold(BTreeMap::new(), |mut counts, event| {
            *counts.entry(event.kind).or_default() += 1;
            counts
        })
    }

    /// The last name of each task.
    pub fn names_of_tasks(&self) -> BTreeMap<Pid, &str> {
        let named = self.events.iter().filter(|event| event.kind == Kind::Named);
        named.map(|event| (event.task, self.names[event.value as usize].as_str())).collect()
    }

    /// Without names and members, which readers add.
    pub fn found(&self) -> Vec<Event> {
        let found = |event: &&Event| !matches!(event.kind, Kind::Named | Kind::Member);
        self.events.iter().filter(found).copied().collect()
    }
}

/// Reads bytes; what is heard must be in order, and names known before they are used.
pub fn hear(bytes: &[u8]) -> (Result<Head, ReadError>, Heard) {
    let mut heard = Heard::default();
    let head = read_stream(Cursor::new(bytes.to_vec()), &mut heard);
    assert!(heard.events.is_sorted_by_key(|event| event.time), "events are in order of time");
    for event in &heard.events {
        assert!(event.kind != Kind::Named || (event.value as usize) < heard.names.len(), "a name is known before");
    }
    (head, heard)
}

/// Reads a text that can be read.
pub fn hear_text(text: &str) -> (Head, Heard) {
    let (head, heard) = hear(text.as_bytes());
    (head.unwrap_or_else(|why| panic!("{why}\n{text}")), heard)
}

/// How a task is called in random events: by its number, so that names do not change.
pub fn comm(pid: Pid) -> String {
    match pid {
        0 => "swapper/0".to_owned(),
        _ => format!(
            "{} #{pid}",
            ["a", "b: c", "kworker/0:1-ev", "x=1 pid=3", "==> n", "- (1)", "[0] 1.5"][pid as usize % 7]
        ),
    }
}

fn halves(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// One random event of any kind that is printed, without context.
pub fn event() -> impl Strategy<Value = Event> {
    const KINDS: &[Kind] = &[
        Kind::Switch,
        Kind::Waking,
        Kind::Woken,
        Kind::New,
        Kind::Migrate,
        Kind::Fork,
        Kind::Exec,
        Kind::Exit,
        Kind::Runtime,
        Kind::Wait,
        Kind::IrqEntry,
        Kind::IrqExit,
        Kind::VectorEntry,
        Kind::VectorExit,
        Kind::SoftirqEntry,
        Kind::SoftirqExit,
        Kind::TimerStart,
        Kind::TimerExpire,
        Kind::TimerDone,
        Kind::TimerCancel,
        Kind::WorkBegin,
        Kind::WorkEnd,
        Kind::BlockIssue,
        Kind::BlockComplete,
        Kind::Fault,
        Kind::SyscallEnter,
        Kind::SyscallExit,
    ];
    let numbers = (0..400i32, 0..400i32, 0..140u32, 0..140u32, any::<u32>());
    (prop::sample::select(KINDS), numbers, 0..64u16, 0..5u8).prop_map(
        |(kind, (current, other, high, low, word), cpu, flag)| {
            let at = Event { time: 0, value: 0, task: current, other: current, extra: 0, cpu, kind, bits: 0 };
            let about = Event { task: other, ..at };
            let value = u64::from(word);
            match kind {
                Kind::Switch => Event { other, value: halves(high, low), bits: flag, ..at },
                Kind::Waking | Kind::Woken | Kind::New => Event { value: halves(high, low % 64), ..about },
                Kind::Migrate => Event { value: halves(high % 64, low % 64), ..about },
                Kind::Fork => Event { other, ..at },
                Kind::Exec | Kind::Exit => about,
                Kind::Runtime => Event { value, ..about },
                Kind::BlockIssue => Event { task: 254 << 20, value, extra: high * 512, bits: flag % 3, ..at },
                Kind::BlockComplete => Event { task: 8 << 20 | 16, value, extra: high * 512, bits: flag % 3, ..at },
                Kind::Fault => Event { value, bits: flag % 2, ..at },
                Kind::Wait => at,
                _ => Event { value, ..at },
            }
        },
    )
}

/// The task that is current at an event.
pub fn current(event: &Event) -> Pid {
    if matches!(event.kind, Kind::Switch | Kind::Fork) { event.task } else { event.other }
}

/// System, name and printed fields of an event, as the kernel's formats have them.
pub fn printed(event: &Event) -> (&'static str, &'static str, String) {
    let (high, low) = (event.value >> 32, event.value & 0xffff_ffff);
    let (task, value, name) = (event.task, event.value, comm(event.task));
    let letter = ["R+", "S", "I", "t", "Z"][usize::from(event.flag()) % 5];
    let operation = ["RA", "FWS", "DS"][usize::from(event.flag()) % 3];
    let sectors = event.extra / 512;
    match event.kind {
        Kind::Switch => {
            let (next, next_name) = (event.other, comm(event.other));
            let from = format!("prev_comm={name} prev_pid={task} prev_prio={high} prev_state={letter}");
            ("sched", "sched_switch", format!("{from} ==> next_comm={next_name} next_pid={next} next_prio={low}"))
        }
        Kind::Waking => ("sched", "sched_waking", format!("comm={name} pid={task} prio={high} target_cpu={low:03}")),
        Kind::Woken => {
            ("sched", "sched_wakeup", format!("comm={name} pid={task} prio={high} success=1 target_cpu={low:03}"))
        }
        Kind::New => ("sched", "sched_wakeup_new", format!("comm={name} pid={task} prio={high} target_cpu={low:03}")),
        Kind::Migrate => {
            ("sched", "sched_migrate_task", format!("comm={name} pid={task} prio=120 orig_cpu={high} dest_cpu={low}"))
        }
        Kind::Fork => {
            let child = format!("child_comm={} child_pid={}", comm(event.other), event.other);
            ("sched", "sched_process_fork", format!("comm={name} pid={task} {child}"))
        }
        Kind::Exec => ("sched", "sched_process_exec", format!("filename=/bin/a pid=1 pid={task} old_pid=7")),
        Kind::Exit => ("sched", "sched_process_exit", format!("comm={name} pid={task} prio=120 group_dead=true")),
        Kind::Runtime => {
            ("sched", "sched_stat_runtime", format!("comm={name} pid={task} runtime={value} [ns] vruntime=17 [ns]"))
        }
        Kind::Wait => ("sched", "sched_process_wait", format!("comm={name} pid=0 prio=120")),
        Kind::IrqEntry => ("irq", "irq_handler_entry", format!("irq={value} name=a b")),
        Kind::IrqExit => ("irq", "irq_handler_exit", format!("irq={value} ret=handled")),
        Kind::VectorEntry => ("irq_vectors", "local_timer_entry", format!("vector={value}")),
        Kind::VectorExit => ("irq_vectors", "reschedule_exit", format!("vector={value}")),
        Kind::SoftirqEntry => ("irq", "softirq_entry", format!("vec={value} [action=TIMER]")),
        Kind::SoftirqExit => ("irq", "softirq_exit", format!("vec={value} [action=RCU]")),
        Kind::TimerStart => {
            let expiry = "function=f expires=77 softexpires=76 mode=REL|PINNED was_armed=0";
            ("timer", "hrtimer_start", format!("hrtimer={value:016x} {expiry}"))
        }
        Kind::TimerExpire => ("timer", "hrtimer_expire_entry", format!("hrtimer=0x{value:x} function=f now=5")),
        Kind::TimerDone => ("timer", "timer_expire_exit", format!("timer=0x{value:x}")),
        Kind::TimerCancel => ("timer", "hrtimer_cancel", format!("hrtimer={value:016x}")),
        Kind::WorkBegin => ("workqueue", "workqueue_execute_start", format!("work struct {value:016x}: function f")),
        Kind::WorkEnd => ("workqueue", "workqueue_execute_end", format!("work struct 0x{value:x}")),
        Kind::BlockIssue => (
            "block",
            "block_rq_issue",
            format!("254,0 {operation} {} () {value} + {sectors} none,0,0 [{name}]", event.extra),
        ),
        Kind::BlockComplete => ("block", "block_rq_complete", format!("8,16 {operation} () {value} + {sectors} [0]")),
        Kind::Fault if event.flag() == 0 => {
            ("exceptions", "page_fault_user", format!("address=0x{value:x} ip=f error_code=0x4"))
        }
        Kind::Fault => ("exceptions", "page_fault_kernel", format!("address=0x{value:x} ip=f error_code=0x2")),
        Kind::SyscallEnter => ("raw_syscalls", "sys_enter", format!("NR {value} (1, 2, 3)")),
        Kind::SyscallExit => ("raw_syscalls", "sys_exit", format!("NR {value} = -11")),
        kind => unreachable!("{kind:?} is not printed"),
    }
}

/// Random events in order of time, in whole steps of `unit` ns.
pub fn events(unit: u64) -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0..3_000u64, event()), 1..40).prop_map(move |steps| {
        let mut time = 5_000_000_000;
        steps
            .into_iter()
            .map(|(step, event)| {
                time += step * unit;
                Event { time, ..event }
            })
            .collect()
    })
}

/// What a reader makes of such events: the expiry of a timer is a record of its own.
pub fn expected(events: &[Event], context: Context) -> Vec<Event> {
    let mut expected = Vec::new();
    for event in events {
        let event = Event { bits: Event::bits(event.flag(), context), ..*event };
        expected.push(event);
        if event.kind == Kind::TimerStart {
            expected.push(Event { kind: Kind::TimerExpiry, value: 77, bits: Event::bits(1, context), ..event });
        }
    }
    expected
}

/// Seconds with that many digits.
pub fn seconds(ns: u64, digits: u32) -> String {
    let unit = 10u64.pow(9 - digits);
    format!("{}.{:0width$}", ns / 1_000_000_000, ns % 1_000_000_000 / unit, width = digits as usize)
}

/// Bytes of a sample with some bytes changed, then cut.
pub fn damaged(sample: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..30);
    let bounds = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (changes, bounds).prop_map(move |(changes, (from, to))| {
        let (from, to) = (from.index(sample.len()), to.index(sample.len() + 1));
        let mut bytes = sample[from.min(to)..to.max(from)].to_vec();
        for (at, value) in changes.into_iter().filter(|_| !sample.is_empty()) {
            let length = bytes.len();
            if length > 0 {
                bytes[at.index(length)] = value;
            }
        }
        bytes
    })
}
