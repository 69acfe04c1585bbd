//! Traces of drives: binary ones of blktrace, and what blkparse prints of them.

use crate::text::{damaged, hear, hear_text};
use proptest::prelude::*;
use schedlab_traces::kernel::{Event, Kind};

/// Sixty requests of three programs on two processors, one after the other as `blktrace` writes them, and what blkparse 1.3 prints of it.
const BINARY: &[u8] = include_bytes!("../data/two-processors.blktrace");
const TEXT: &str = include_str!("../data/blkparse.txt");

/// Lines with that action, by the columns of blkparse.
fn lines(action: &str) -> usize {
    TEXT.lines().filter(|line| line.starts_with("  8,16") && line.split_whitespace().nth(5) == Some(action)).count()
}

#[test]
fn the_binary_and_its_text_tell_the_same() {
    let (binary_head, binary) = hear(BINARY);
    let (text_head, text) = hear_text(TEXT);
    let (binary_head, found) = (binary_head.unwrap(), text.found());
    // blkparse prints times since the first one.
    let first = binary.found()[0].time - found[0].time;
    let since: Vec<_> = binary.found().into_iter().map(|event| Event { time: event.time - first, ..event }).collect();
    assert_eq!(since, found);
    assert_eq!((binary_head.recorded.clone(), binary_head.losses), (text_head.recorded, text_head.losses));
    assert_eq!((found.len(), binary_head.processors, text_head.processors), (120, 2, 2));
    for action in ["Q", "G", "I", "D", "C"] {
        assert!(lines(action) > 0, "{action}");
        assert_eq!(binary_head.recorded[action].events as usize, lines(action), "{action}");
    }
    let count = |kind| found.iter().filter(|event| event.kind == kind).count();
    assert_eq!((count(Kind::BlockIssue), count(Kind::BlockComplete)), (lines("D"), lines("C")));
    assert_eq!(binary.names_of_tasks(), text.names_of_tasks());
    assert_eq!(text.names_of_tasks()[&202], "my app");
}

#[test]
fn a_line_says_what_goes_where() {
    let line = "  8,0    1       12     0.000123500  1234  D  WS 223490 + 8 [kjournald]\n  8,0    1       13     0.100000000     0  C  WS 223490 + 8 [0]\n\
                \x20 8,0    1       14     0.200000000     7  D  DS 16 + 2048 [fs trim]\n  8,0    1       15     0.300000000     7  D  FN [flush]\n";
    let (head, heard) = hear_text(line);
    let [issue, complete, discard, flush] = heard.found()[..] else { panic!("{heard:?}") };
    assert_eq!((issue.time, issue.cpu, issue.other, issue.task), (123_500, 1, 1234, 8 << 20));
    assert_eq!((issue.kind, issue.value, issue.extra, issue.flag()), (Kind::BlockIssue, 223_490, 4096, 1));
    assert_eq!((complete.kind, complete.value, complete.extra), (Kind::BlockComplete, 223_490, 4096));
    assert_eq!((discard.flag(), discard.extra, flush.flag(), flush.extra), (2, 2048 * 512, 2, 0));
    assert_eq!((head.format.as_str(), heard.names_of_tasks()[&1234]), ("blkparse", "kjournald"));
}

/// The binary with the numbers of the other byte order.
fn swapped(bytes: &[u8]) -> Vec<u8> {
    let (mut swapped, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let (record, more) = rest.split_at(48);
        let mut at = 0;
        for width in [4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2] {
            swapped.extend(record[at..at + width].iter().rev());
            at += width;
        }
        let length = usize::from(u16::from_le_bytes([record[46], record[47]]));
        swapped.extend(&more[..length]);
        rest = &more[length..];
    }
    swapped
}

#[test]
fn the_other_byte_order_is_read() {
    let (head, heard) = hear(&swapped(BINARY));
    assert_eq!((head.unwrap(), heard), (hear(BINARY).0.unwrap(), hear(BINARY).1));
}

#[test]
fn what_is_cut_off_or_damaged_is_a_loss_with_its_place() {
    let (head, heard) = hear(&BINARY[..BINARY.len() - 5]);
    assert_eq!(heard.found().len(), 119);
    assert!(head.unwrap().losses[0].why.ends_with(": the file ends within a record"));
    let mut bytes = BINARY.to_vec();
    bytes[64 + 3] ^= 1;
    let why = hear(&bytes).0.unwrap().losses[0].why.clone();
    assert_eq!(why, "byte 64: a record begins with [07, 74, 61, 64] instead of the magic number of version 7");
    bytes = BINARY.to_vec();
    bytes[0] = 6;
    let why = hear(&bytes).0.unwrap_err().to_string();
    assert_eq!(why, "blktrace: a record begins with [06, 74, 61, 65] instead of the magic number of version 7");
}

#[test]
fn a_line_that_cannot_be_read_is_a_loss_and_totals_end_the_text() {
    let good = "  8,0    1       12     0.000123500  1234  D  WS 223490 + 8 [a]\n";
    let (head, heard) = hear_text(&format!("{good}  8,0    1  what\n{good}CPU0 (sda):\n Reads Queued:  5,  20KiB\n"));
    assert_eq!((heard.found().len(), head.lost()), (2, 1));
    assert_eq!(head.losses[0].why, "lines that cannot be read: line 2: \"8,0    1  what\"");
}

proptest! {
    #[test]
    fn any_request_is_read_back(
        sector in 0..u64::MAX, sectors in 0..1u64 << 22, pid in 0..1 << 22, ns in 0..1u64 << 50, write: bool, done: bool, minor in 0..1 << 20,
    ) {
        let (action, operation) = (if done { "C" } else { "D" }, if write { "WS" } else { "RA" });
        let time = crate::text::seconds(ns, 9);
        let line = format!("{:>3},{minor:<4} {:>2} {:>8} {time:>15} {pid:>5} {action:>2} {operation:>3} {sector} + {sectors} [x y]\n", 254, 3, 77);
        let [event] = hear_text(&line).1.found()[..] else { panic!("{line}") };
        let kind = if done { Kind::BlockComplete } else { Kind::BlockIssue };
        prop_assert_eq!((event.kind, event.time, event.value, u64::from(event.extra)), (kind, ns, sector, sectors * 512));
        prop_assert_eq!((event.other, event.cpu, event.flag(), event.task), (pid, 3, u8::from(write), 254 << 20 | minor));
        prop_assert_ne!(event.cpu, Event::ALL);
    }

    #[test]
    fn damaged_binaries_end_in_events_and_losses(bytes in damaged(BINARY)) {
        let _ = hear(&bytes);
    }

    #[test]
    fn damaged_texts_end_in_events_and_losses(bytes in damaged(TEXT.as_bytes())) {
        let _ = hear(&bytes);
    }
}
