//! Binary formats, as libCacheSim writes them: recognised by what the records hold, and refused where they contradict one another.

use super::{Wanted, numbered, record, said};

/// A request as all binary formats know it.
#[derive(Clone, Copy)]
pub struct One {
    time: u32,
    key: u64,
    size: u32,
    next: i64,
}

impl One {
    /// Time, key and size, as most formats begin.
    fn head(self) -> Vec<u8> {
        [&self.time.to_le_bytes()[..], &self.key.to_le_bytes(), &self.size.to_le_bytes()].concat()
    }

    fn next(self) -> [u8; 8] {
        self.next.to_le_bytes()
    }

    fn vscsi(self, version: u16) -> Vec<u8> {
        let (serial, segments, command, time) = (self.time ^ 77, 1u32, 0x2au16, 5_000_000 + u64::from(self.time));
        let command = command.to_le_bytes();
        let version_bytes = (version << 8).to_le_bytes();
        let sizes = [serial.to_le_bytes(), self.size.to_le_bytes(), segments.to_le_bytes()].concat();
        let rest = [self.key.to_le_bytes(), time.to_le_bytes()].concat();
        match version {
            1 => [&sizes[..], &command, &version_bytes, &rest].concat(),
            _ => [&command[..], &version_bytes, &sizes, &rest, &9u64.to_le_bytes()].concat(),
        }
    }

    fn lcs(self, version: u32) -> Vec<u8> {
        let size = u64::from(self.size).to_le_bytes();
        let wide = [&self.time.to_le_bytes()[..], &self.key.to_le_bytes(), &size, &[1, 0, 0, 0], &[0; 4], &self.next()];
        match version {
            1 => [self.head(), self.next().to_vec()].concat(),
            2 => [&self.head()[..], &[1, 0, 0, 0], &self.next()].concat(),
            3 => wide.concat(),
            more => [wide.concat(), vec![7; 4 << (more - 4)]].concat(),
        }
    }
}

fn lcs_header(version: u64) -> Vec<u8> {
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    [&magic[..], &version.to_le_bytes(), &[0; 8168], &magic].concat()
}

/// A small file of that version.
pub fn lcs(version: u32) -> Vec<u8> {
    let records = (0..30).flat_map(|number| One { time: 0, key: number % 7, size: 9, next: 0 }.lcs(version));
    lcs_header(version.into()).into_iter().chain(records).collect()
}

pub type Writer = fn(One) -> Vec<u8>;

/// How each format writes a request. From libCacheSim's readers; its sample traces were read, too.
pub const LAYOUTS: &[(&str, Writer)] = &[
    ("oracle_general", |one| [one.head(), one.next().to_vec()].concat()),
    ("oracle_general_op_ns", |one| [&one.head()[..], &[1, 3, 0], &one.next()].concat()),
    ("oracle_sim_twr_ns", |one| [&one.head()[..], &[9; 6], &one.next()].concat()),
    ("oracle_sys_twr_ns", |one| {
        let key_and_value = [&7u16.to_le_bytes()[..], &(one.size - 7).to_le_bytes()].concat();
        [&one.head()[..12], &key_and_value, &[1, 0], &[9; 6], &one.next()].concat()
    }),
    ("vscsi", |one| one.vscsi(1)),
    ("vscsi", |one| one.vscsi(2)),
];

/// A trace of n requests for 50 objects, going round; the last for each object is followed by none.
pub fn trace(write: Writer, requests: u64) -> Vec<u8> {
    let one = |number: u64| One {
        time: 1000 + (number / 3) as u32,
        key: (number % 50) * 0x1_0000_0008,
        size: 512 * (1 + number as u32 % 50),
        next: if number + 50 < requests { number as i64 + 51 } else { -1 },
    };
    (0..requests).flat_map(|number| write(one(number))).collect()
}

#[test]
fn every_binary_format_is_recognised_by_its_records_whatever_its_length() {
    for (name, write) in LAYOUTS {
        // Among these lengths are multiples of every other format's records.
        for requests in (2..130).chain([3 * 4 * 5 * 7 * 9, 9180]) {
            let read = numbered(&trace(*write, requests), &Wanted { bytes: true, ..Wanted::default() });
            let read = read.unwrap_or_else(|why| panic!("{name} of {requests}: {why}"));
            assert_eq!((read.format, read.objects.into()), (*name, requests.min(50)), "{requests} requests");
            assert!(read.bytes.unwrap().iter().zip(&read.keys).all(|(size, key)| *size == 512 * (1 + u64::from(*key))));
        }
    }
}

#[test]
fn all_versions_of_lcs_are_recognised_by_the_magic_number() {
    for version in 1..=8u32 {
        let read = numbered(&lcs(version), &Wanted::default()).unwrap();
        assert_eq!((read.format, read.objects, read.keys.len()), ("lcs", 7, 30), "version {version}");
    }
    let plain = Wanted::default();
    assert!(said(&lcs_header(9), &plain).contains("the version is 9, not 1 to 8"));
    assert!(said(&lcs_header(1)[..8000], &plain).contains("does not end with the magic number"));
    let lcs = Wanted { format: Some("lcs".to_owned()), ..Wanted::default() };
    assert!(said(b"1,a,10\n", &lcs).contains("is not lcs: it does not begin with the magic number"));
    assert!(said(&[lcs_header(1), vec![1; 25]].concat(), &lcs).contains("byte 8216: 1 bytes are left"));
}

#[test]
fn records_that_contradict_one_another_are_of_no_format() {
    let good: Vec<One> = (0..20).map(|n| One { time: n, key: n.into(), size: 9, next: i64::from(n) + 21 }).collect();
    let write = LAYOUTS[0].1;
    let with = |change: fn(&mut Vec<One>)| {
        let mut records = good.clone();
        change(&mut records);
        said(&records.into_iter().flat_map(write).collect::<Vec<u8>>(), &Wanted::default())
    };
    assert!(with(|all| all[7].time = 3).contains("record 8: the time goes back from 6 to 3"));
    assert!(with(|all| all[7].next = 25).contains("record 8: the next request is 25 as of a record before"));
    assert!(with(|all| all[7].next = 0).contains("record 8: the next request is 0"));
    assert!(with(|all| all[7].next = 1 << 50).contains("record 8: the next request is 1125899906842624"));
    assert!(with(|all| all[7].size = u32::MAX).contains("record 8: a size of 4294967295"));
    let after = with(|all| (all[7].next, all[9].key) = (-1, 7));
    assert!(after.contains("record 10: object 7 is asked for after its last request"), "{after}");
    assert!(after.contains("say which with --format, of oracle_general,"), "{after}");
    assert!(after.contains("begins with 00 00 00 00 00 00 00 00"), "{after}");
    assert!(with(|all| all.truncate(1)).contains("1 records of 24 bytes show too little"));
    // A format that is given is not checked against the recognised one.
    let records: Vec<u8> = good.iter().rev().copied().flat_map(write).collect();
    let wanted = Wanted { format: Some("oracle_general".to_owned()), ..Wanted::default() };
    assert_eq!(numbered(&records, &wanted).unwrap().keys.len(), 20);
}

#[test]
fn next_requests_that_were_not_filled_in_are_ignored() {
    let bytes: Vec<u8> = (0..2000).flat_map(|n| record(n % 7, 1 + n as u32 % 7, -1)).collect();
    assert_eq!(numbered(&bytes, &Wanted::default()).unwrap().format, "oracle_general");
}

#[test]
fn zeros_and_ones_are_no_trace() {
    for byte in [0u8, 1, 255] {
        let what = said(&[byte].repeat(10_000), &Wanted::default());
        assert!(what.contains("is neither text nor records"), "{what}");
    }
}
