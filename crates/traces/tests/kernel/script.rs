//! Text of perf script and trace-cmd report.

use crate::text::{comm, current, damaged, events, expected, hear, hear_text, printed, seconds};
use proptest::prelude::*;
use schedlab_traces::kernel::{Call, Context, Event, Kind, Left};

/// `perf record -a` of many kinds of events, by perf 6.1 on Linux 6.18.
const SCRIPT: &str = include_str!("../data/perf-script.txt");
/// `perf record -g` of switches and wakeups: with call chains, and printed with a header.
const CHAINS: &str = include_str!("../data/perf-script-chains.txt");

/// Lines with an event of that name.
fn lines(text: &str, name: &str) -> usize {
    text.matches(&format!(" {name}: ")).count()
}

#[test]
fn every_line_of_a_recording_is_counted_under_its_name() {
    let (head, heard) = hear_text(SCRIPT);
    let total: u64 = head.recorded.values().map(|recorded| recorded.events).sum();
    assert_eq!((total as usize, head.losses.len()), (SCRIPT.lines().count(), 0));
    for (name, recorded) in &head.recorded {
        assert_eq!(recorded.events as usize, lines(SCRIPT, name), "{name}");
    }
    let kinds = [
        (Kind::Switch, "sched:sched_switch"),
        (Kind::Waking, "sched:sched_waking"),
        (Kind::Woken, "sched:sched_wakeup"),
        (Kind::Runtime, "sched:sched_stat_runtime"),
        (Kind::SoftirqEntry, "irq:softirq_entry"),
        (Kind::TimerStart, "timer:hrtimer_start"),
        (Kind::TimerExpiry, "timer:hrtimer_start"),
        (Kind::BlockIssue, "block:block_rq_issue"),
        (Kind::SyscallEnter, "raw_syscalls:sys_enter"),
        (Kind::Migrate, "sched:sched_migrate_task"),
        (Kind::Fork, "sched:sched_process_fork"),
        (Kind::Exec, "sched:sched_process_exec"),
    ];
    for (kind, name) in kinds {
        assert!(lines(SCRIPT, name) > 0, "{name} is not in the sample");
        assert_eq!(heard.counts()[&kind], lines(SCRIPT, name), "{name}");
    }
    assert!(!head.recorded["irq:softirq_raise"].known && head.recorded["sched:sched_switch"].known);
}

#[test]
fn call_chains_and_the_header_are_passed_over() {
    let (head, heard) = hear_text(CHAINS);
    assert_eq!(head.losses, []);
    assert_eq!(heard.counts()[&Kind::Switch], lines(CHAINS, "sched:sched_switch"));
    assert_eq!(heard.counts()[&Kind::Waking], lines(CHAINS, "sched:sched_waking"));
    assert_eq!((head.format.as_str(), head.processors), ("perf script", 2));
    assert!(head.release.unwrap().starts_with("6.18"));
}

#[test]
fn a_switch_says_who_left_how_and_who_came() {
    let line = "   opt cgu.0  9970 [001]   557.036574123: sched:sched_switch: prev_comm=opt cgu.0 prev_pid=9970 prev_prio=139 \
                prev_state=D ==> next_comm=migration/0 next_pid=18 next_prio=-1\n";
    let (_, heard) = hear_text(line);
    let [switch] = heard.found()[..] else { panic!("{heard:?}") };
    assert_eq!((switch.time, switch.cpu, switch.task, switch.other), (557_036_574_123, 1, 9970, 18));
    assert_eq!((switch.left(), switch.context()), (Left::Uninterruptible, Context::Unknown));
    assert_eq!((switch.value >> 32, switch.value as i32), (139, -1));
    assert_eq!(heard.names_of_tasks().into_iter().collect::<Vec<_>>(), [(18, "migration/0"), (9970, "opt cgu.0")]);
}

#[test]
fn older_spellings_mean_the_same() {
    let at = "perf 12 [000] 1.000001: sched:";
    let spellings = [
        (
            format!(
                "{at}sched_switch: prev_comm=perf prev_pid=12 prev_prio=120 prev_state=R ==> next_comm=b next_pid=3 next_prio=100"
            ),
            "switch",
        ),
        (format!("{at}sched_switch: perf:12 [120] R ==> b:3 [100]"), "switch"),
        (format!("{at}sched_switch: task perf:12 [120] (R) ==> b:3 [100]"), "switch"),
        (format!("{at}sched_wakeup: comm=c d pid=4 prio=120 target_cpu=001"), "wakeup"),
        (format!("{at}sched_wakeup: comm=c d pid=4 prio=120 success=1 target_cpu=001"), "wakeup"),
        (format!("{at}sched_wakeup: c d:4 [120] success=1 CPU:001"), "wakeup"),
        (format!("{at}sched_wakeup: c d:4 [120]<CANT FIND FIELD success> CPU:001"), "wakeup"),
        (format!("{at}sched_wakeup: c d:4 [120] CPU:001"), "wakeup"),
    ];
    for what in ["switch", "wakeup"] {
        let heard: Vec<_> =
            spellings.iter().filter(|(_, of)| *of == what).map(|(line, _)| hear_text(&format!("{line}\n")).1).collect();
        assert!(heard.iter().all(|other| *other == heard[0] && heard[0].found().len() == 1), "{heard:?}");
    }
}

#[test]
fn fields_that_are_left_out_are_missed_only_where_they_are_needed() {
    let event = "irq:irq_handler_entry: irq=3 name=x";
    for line in [
        format!("  12 [001] 1.5: {event}"),
        format!(" a  7/12 [001] 1.5:   1 {event}"),
        format!("a 12 [001] 1.5: {event} ffffffff81 f (k)"),
    ] {
        let [entry] = hear_text(&format!("{line}\n")).1.found()[..] else { panic!("{line}") };
        assert_eq!((entry.other, entry.cpu, entry.value), (12, 1, 3));
    }
    let (head, _) = hear(format!("a 12 1.5: {event}\n").as_bytes());
    let why = head.unwrap_err().to_string();
    assert!(why.starts_with("perf script: no processor is given; print it (perf script -F comm,tid,cpu,"), "{why}");
}

#[test]
fn the_process_of_a_thread_is_reported_once() {
    let line = "a 7/12 [001] 1.5: irq:irq_handler_entry: irq=3 name=x\n";
    let (_, heard) = hear_text(&line.repeat(3));
    let members: Vec<_> =
        heard.events.iter().filter(|event| event.kind == Kind::Member).map(|e| (e.task, e.other)).collect();
    assert_eq!(members, [(12, 7)]);
}

#[test]
fn lines_that_cannot_be_read_are_a_loss_with_their_numbers() {
    let good = "a 12 [001] 1.5: irq:irq_handler_entry: irq=3 name=x\n";
    let (head, heard) =
        hear_text(&format!("{good}what is this?\n{good}a 12 [001] 1.6: sched:sched_waking: comm=b pid=x\n{good}"));
    assert_eq!(heard.found().len(), 3);
    let [loss] = &head.losses[..] else { panic!("{head:?}") };
    assert_eq!((loss.events, loss.time), (Some(2), Some(1_500_000_000)));
    let why = "lines that cannot be read: line 2: \"what is this?\", line 4: \"a 12 [001] 1.6: sched:sched_waking: comm=b pid=x\"";
    assert_eq!(loss.why, why);
}

#[test]
fn a_file_that_is_cut_off_within_a_line_says_so() {
    let good = "a 12 [001] 1.5: irq:irq_handler_entry: irq=3 name=x\n";
    let (head, heard) = hear_text(&format!("{good}a 12 [001] 1.6: irq:irq_handler_entry: irq=3"));
    assert_eq!(
        (heard.found().len(), head.losses[0].why.as_str()),
        (1, "lines that cannot be read: line 2: has no end: the file is cut off")
    );
}

#[test]
fn lines_out_of_order_are_put_in_order() {
    let line = |us: u64| format!("a 12 [001] {}: irq:irq_handler_entry: irq={us} name=x\n", seconds(us * 1000, 6));
    let text: String = (0..5000).map(|n| line(n * 7919 % 5000)).collect();
    let (head, heard) = hear_text(&text);
    assert_eq!(heard.found().iter().map(|event| event.value).collect::<Vec<_>>(), (0..5000).collect::<Vec<_>>());
    assert_eq!((head.losses.len(), head.span), (0, Some((0, 4_999_000))));
}

#[test]
fn a_line_too_far_out_of_order_is_a_loss() {
    let line = |us: u64| format!("a 12 [001] {}: irq:irq_handler_entry: irq={us} name=x\n", seconds(us * 1000, 6));
    let text: String = (1..200_000).chain([1]).map(line).collect();
    let (head, heard) = hear_text(&text);
    assert_eq!((heard.found().len(), head.lost()), (199_999, 1));
    assert_eq!(head.losses[0].why, "lines too far out of the order of time (sort them first): line 200000");
}

#[test]
fn trace_cmds_own_lines_are_understood() {
    let text = "cpus=4\nCPU 2 is empty\n          <idle>-0     [001] 12.345678: sched_waking:         comm=my app pid=7 prio=120 target_cpu=003\n\
                CPU:3 [67 EVENTS DROPPED]\n          my app-7     [003] d..2. 12.345700: sched_switch:         my app:7 [120] S ==> swapper/3:0 [120]\n";
    let (head, heard) = hear_text(text);
    assert_eq!((head.format.as_str(), head.processors, head.lost()), ("trace-cmd report", 4, 67));
    let kinds: Vec<_> =
        heard.found().iter().map(|event| (event.kind, event.cpu, event.time, event.context())).collect();
    let expected = [
        (Kind::Waking, 1, 12_345_678_000, Context::Unknown),
        (Kind::Lost, 3, 12_345_700_000, Context::Unknown),
        (Kind::Switch, 3, 12_345_700_000, Context::Task),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(heard.names_of_tasks()[&7], "my app");
}

#[test]
fn what_perf_lost_is_lost() {
    let text = "a 12 [001] 1.5: sched:sched_waking: comm=b pid=3 prio=120 target_cpu=000\n\
                :-1 -1 [000] 1.6: PERF_RECORD_LOST lost 321\na 12 [001] 1.7: PERF_RECORD_COMM exec: c d:12/12\n";
    let (head, heard) = hear_text(text);
    assert_eq!((head.lost(), head.losses[0].cpu, head.losses[0].time), (321, Some(0), Some(1_600_000_000)));
    let lost: Vec<_> = heard.events.iter().filter(|event| event.kind == Kind::Lost).map(|event| event.value).collect();
    assert_eq!((lost, heard.names_of_tasks()[&12]), (vec![321], "c d"));
}

/// As perf prints it.
fn perf_line(event: &Event, digits: u32) -> String {
    let (system, name, fields) = printed(event);
    let (comm, pid, time) = (comm(current(event)), current(event), seconds(event.time, digits));
    format!("{comm:>16} {pid:>5} [{:03}] {time:>12}: {:>30} {fields}\n", event.cpu, format!("{system}:{name}:"))
}

/// As trace-cmd prints it: two events in its own short form.
fn trace_cmd_line(event: &Event) -> String {
    let (_, name, mut fields) = printed(event);
    let (task, other, high, low) = (event.task, event.other, event.value >> 32, event.value & 0xffff_ffff);
    let letter = ["R", "S", "D", "T", "X"][usize::from(event.flag()) % 5];
    match event.kind {
        Kind::Switch => fields = format!("{}:{task} [{high}] {letter} ==> {}:{other} [{low}]", comm(task), comm(other)),
        Kind::Woken | Kind::New => fields = format!("{}:{task} [{high}] success=1 CPU:{low:03}", comm(task)),
        _ => {}
    }
    let (comm, pid, time) = (comm(current(event)), current(event), seconds(event.time, 6));
    format!("{comm:>16}-{pid:<5} [{:03}] {time:>12}: {:<20} {fields}\n", event.cpu, format!("{name}:"))
}

#[test]
fn a_system_call_says_what_it_is_about_by_its_name_or_number() {
    let calls = [
        ("raw_syscalls:sys_enter: NR 202 (7f, 80, 0, 0, 0, 0)", Kind::SyscallEnter, Call::Futex),
        ("raw_syscalls:sys_exit: NR 202 = 0", Kind::SyscallExit, Call::Other),
        ("syscalls:sys_enter_futex: uaddr: 0x7f, op: 0x80, val: 0x2", Kind::SyscallEnter, Call::Futex),
        ("syscalls:sys_exit_futex: 0x0", Kind::SyscallExit, Call::Other),
        ("syscalls:sys_enter_write: fd: 0x1, buf: 0x55, count: 0x8", Kind::SyscallEnter, Call::Send),
        // As the kernel prints them.
        ("sys_read(fd: 3, buf: 55, count: 400)", Kind::SyscallEnter, Call::Receive),
        ("sys_read -> 0x10", Kind::SyscallExit, Call::Other),
        ("sys_epoll_wait(epfd: 3)", Kind::SyscallEnter, Call::Poll),
    ];
    let line = |(at, (printed, ..)): (usize, &(&str, Kind, Call))| format!("a 7 [000] 1.{at:06}: {printed}\n");
    let text: String = calls.iter().enumerate().map(line).collect();
    let (head, heard) = hear_text(&text);
    assert_eq!(head.losses, []);
    let found: Vec<_> = heard.found().iter().map(|event| (event.kind, event.call(), event.task)).collect();
    assert_eq!(found, calls.map(|(_, kind, call)| (kind, call, 7)));
}

proptest! {
    #[test]
    fn what_perf_prints_of_any_events_is_read_back(events in events(1)) {
        let text: String = events.iter().map(|event| perf_line(event, 9)).collect();
        let (head, heard) = hear_text(&text);
        prop_assert_eq!(&head.losses, &[]);
        prop_assert_eq!(heard.found(), expected(&events, Context::Unknown));
        for (task, name) in heard.names_of_tasks() {
            prop_assert_eq!(name, comm(task));
        }
    }

    #[test]
    fn what_trace_cmd_prints_of_any_events_is_read_back(events in events(1000)) {
        let text: String = ["cpus=64\n".to_owned()].into_iter().chain(events.iter().map(trace_cmd_line)).collect();
        let (head, heard) = hear_text(&text);
        prop_assert_eq!(&head.losses, &[]);
        prop_assert_eq!((heard.found(), head.processors), (expected(&events, Context::Unknown), 64));
    }

    #[test]
    fn a_damaged_script_ends_in_events_and_losses(bytes in damaged(SCRIPT.as_bytes())) {
        let _ = hear(&bytes);
    }

    #[test]
    fn damaged_call_chains_end_in_events_and_losses(bytes in damaged(CHAINS.as_bytes())) {
        let _ = hear(&bytes);
    }
}
