//! Text of tracefs: `trace` and `trace_pipe`.

use crate::text::{comm, current, damaged, events, expected, hear, hear_text, printed, seconds};
use proptest::prelude::*;
use schedlab_traces::kernel::{Context, Event, Kind};

/// Parts of a `trace` with the option record-tgid, on Linux 6.18; most of what was written had been overwritten.
const TRACE: &str = include_str!("../data/tracefs.txt");

fn lines(name: &str) -> usize {
    TRACE.matches(&format!(": {name}: ")).count()
}

#[test]
fn every_line_of_a_trace_is_counted_under_its_name() {
    let (head, heard) = hear_text(TRACE);
    let total: u64 = head.recorded.values().map(|recorded| recorded.events).sum();
    assert_eq!(total as usize, TRACE.lines().filter(|line| !line.starts_with('#')).count());
    let kinds = [
        (Kind::Switch, "sched_switch"),
        (Kind::Waking, "sched_waking"),
        (Kind::Woken, "sched_wakeup"),
        (Kind::New, "sched_wakeup_new"),
        (Kind::Fork, "sched_process_fork"),
        (Kind::Exec, "sched_process_exec"),
        (Kind::Migrate, "sched_migrate_task"),
        (Kind::Runtime, "sched_stat_runtime"),
        (Kind::IrqEntry, "irq_handler_entry"),
        (Kind::IrqExit, "irq_handler_exit"),
        (Kind::SoftirqEntry, "softirq_entry"),
        (Kind::SoftirqExit, "softirq_exit"),
        (Kind::VectorEntry, "local_timer_entry"),
        (Kind::TimerStart, "hrtimer_start"),
        (Kind::TimerExpiry, "hrtimer_start"),
        (Kind::TimerExpire, "hrtimer_expire_entry"),
        (Kind::TimerDone, "hrtimer_expire_exit"),
        (Kind::TimerCancel, "hrtimer_cancel"),
        (Kind::WorkBegin, "workqueue_execute_start"),
        (Kind::WorkEnd, "workqueue_execute_end"),
        (Kind::BlockIssue, "block_rq_issue"),
        (Kind::BlockComplete, "block_rq_complete"),
        (Kind::SyscallExit, "sys_exit"),
    ];
    for (kind, name) in kinds {
        assert!(lines(name) > 0, "{name} is not in the sample");
        assert_eq!(heard.counts()[&kind], lines(name), "{name}");
    }
    assert_eq!(heard.counts()[&Kind::Fault], lines("page_fault_user") + lines("page_fault_kernel"));
    let one_call = TRACE.matches(": sys_futex(").count();
    assert_eq!(head.recorded["sys_futex"].events as usize, one_call);
    assert_eq!(heard.counts()[&Kind::SyscallEnter], lines("sys_enter") + one_call);
}

#[test]
fn what_was_overwritten_is_lost_before_the_first_event() {
    let (head, heard) = hear_text(TRACE);
    assert_eq!((head.format.as_str(), head.processors, head.lost()), ("tracefs", 2, 22_065 - 12_689));
    let first = heard.found()[0];
    assert_eq!((first.kind, first.value, first.cpu), (Kind::Lost, 22_065 - 12_689, Event::ALL));
    assert_eq!(Some(first.time), head.losses[0].time);
}

#[test]
fn flags_say_in_what_context_a_task_is_woken() {
    let line = |flags: &str| {
        format!("  my-task-7   [001] {flags}  1.000001: sched_waking: comm=b pid=3 prio=120 target_cpu=000\n")
    };
    let flags = ["d..2.", "d.s2.", "d.h2.", "dNH2.", "d.Z2.", "....", "d..1"];
    let (_, heard) = hear_text(&flags.map(line).concat());
    let (task, soft, hard) = (Context::Task, Context::SoftInterrupt, Context::HardInterrupt);
    let contexts: Vec<_> = heard.found().iter().map(Event::context).collect();
    assert_eq!(contexts, [task, soft, hard, hard, hard, task, task]);
    let waking = heard.found()[0];
    assert_eq!((waking.task, waking.other, waking.value), (3, 7, 120 << 32));
}

#[test]
fn the_latency_format_is_read() {
    let text = "# tracer: nop\n#\n# nop latency trace v1.1.5 on 6.18.44\n# latency: 0 us, #3/1224, CPU#0 | (M:PREEMPT(none) VP:0, KP:0, SP:0 HP:0 #P:2)\n\
                #    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)\n    bash-12758     0..... 764311741us : sched_process_wait: comm=bash pid=0 prio=120\n\
                \x20  sleep-12771     1d.h2. 764311749us+: irq_handler_entry: irq=1 name=x\n  sleep-12771     1d..2. 764311776us!: irq_handler_exit: irq=1 ret=handled\n";
    let (head, heard) = hear_text(text);
    assert_eq!((head.lost(), head.processors, head.release.as_deref()), (1221, 2, Some("6.18.44")));
    let found: Vec<_> = heard.found().iter().map(|e| (e.kind, e.time, e.cpu, e.context())).collect();
    let (at, all) = (764_311_741_000, Event::ALL);
    let expected = [
        (Kind::Lost, at, all, Context::Unknown),
        (Kind::Wait, at, 0, Context::Task),
        (Kind::IrqEntry, at + 8000, 1, Context::HardInterrupt),
        (Kind::IrqExit, at + 35_000, 1, Context::Task),
    ];
    assert_eq!(found, expected);
}

#[test]
fn lost_events_are_placed_before_the_next_one() {
    let line = |us: u64| format!("  a-7   [001] d..2.  1.{us:06}: irq_handler_entry: irq=1 name=x\n");
    let text = format!("{}CPU:1 [LOST 123 EVENTS]\n{}CPU:0 [LOST EVENTS]\n{}", line(1), line(2), line(3));
    let (head, heard) = hear_text(&text);
    let lost: Vec<_> = head.losses.iter().map(|loss| (loss.time, loss.cpu, loss.events, loss.why.as_str())).collect();
    let why = "the recorder was too slow";
    assert_eq!(lost, [(Some(1_000_002_000), Some(1), Some(123), why), (Some(1_000_003_000), Some(0), None, why)]);
    let kinds: Vec<_> = heard.found().iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [Kind::IrqEntry, Kind::Lost, Kind::IrqEntry, Kind::Lost, Kind::IrqEntry]);
}

#[test]
fn reports_of_losses_without_events_are_summed_up() {
    let line = "  a-7   [001] d..2.  1.000001: irq_handler_entry: irq=1 name=x\n";
    let text = format!("{line}{}{line}", "CPU:1 [LOST 2 EVENTS]\n".repeat(20_000));
    let (head, heard) = hear_text(&text);
    assert_eq!(head.lost(), 40_000);
    assert_eq!(heard.counts()[&Kind::Lost], 4096);
}

#[test]
fn a_trace_without_events_is_empty_and_one_of_another_clock_is_refused() {
    let (head, heard) = hear_text("# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n");
    assert_eq!((heard.events.len(), head.processors, head.span, head.lost()), (0, 2, None, 0));
    let (head, _) = hear(b"# tracer: nop\n  a-7   [001] d..2.  123456789: irq_handler_entry: irq=1 name=x\n");
    let why = head.unwrap_err().to_string();
    assert!(
        why.starts_with("tracefs: no line is an event with a task, a processor and a time in seconds: line 2: \"a-7"),
        "{why}"
    );
}

#[test]
fn stacks_and_names_that_are_not_known_are_passed_over() {
    let text = "           <...>-7       [001] d..2.  1.000001: irq_handler_entry: irq=1 name=x\n           <...>-7       [001] d..2.  1.000001: <stack trace>\n \
                => __schedule\n => schedule\n";
    let (head, heard) = hear_text(text);
    assert_eq!((head.losses.len(), heard.names.len(), heard.found().len()), (0, 0, 1));
    assert!(!head.recorded["<stack"].known);
}

/// As the kernel prints it: with a column for the process or without.
fn line(event: &Event, process: bool) -> String {
    let (_, name, fields) = printed(event);
    let (comm, pid, time) = (comm(current(event)), current(event), seconds(event.time, 6));
    let process = if process { format!("({:>7}) ", pid + 1000) } else { String::new() };
    format!("{comm:>16}-{pid:<7} {process}[{:03}] d.s2. {time:>12}: {name}: {fields}\n", event.cpu)
}

proptest! {
    #[test]
    fn what_the_kernel_prints_of_any_events_is_read_back(events in events(1000), process: bool) {
        let text: String = events.iter().map(|event| line(event, process)).collect();
        let (head, heard) = hear_text(&text);
        prop_assert_eq!((&head.losses[..], head.format.as_str()), (&[][..], "tracefs"));
        prop_assert_eq!(heard.found(), expected(&events, Context::SoftInterrupt));
        for (task, name) in heard.names_of_tasks() {
            prop_assert_eq!(name, comm(task));
        }
        let members = heard.events.iter().filter(|event| event.kind == Kind::Member);
        prop_assert!(members.clone().all(|event| event.other == event.task + 1000));
        prop_assert_eq!(members.count() > 0, process && events.iter().any(|event| current(event) != 0));
    }

    #[test]
    fn a_damaged_trace_ends_in_events_and_losses(bytes in damaged(TRACE.as_bytes())) {
        let _ = hear(&bytes);
    }
}
