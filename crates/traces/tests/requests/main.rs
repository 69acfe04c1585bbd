//! Traces of requests are read as they are; what is wrong in one is said with its place.

mod formats;

use formats::{LAYOUTS, trace};
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use schedlab_traces::requests::{FORMATS, MOST_LINE, Numbered, Problem, Wanted, number, read};
use std::{
    io::{Cursor, Write},
    path::Path,
};

fn numbered(bytes: &[u8], wanted: &Wanted) -> Result<Numbered, Problem> {
    number(Box::new(Cursor::new(bytes.to_vec())), wanted)
}

fn keys(text: &str) -> Vec<u32> {
    numbered(text.as_bytes(), &Wanted::default()).unwrap().keys
}

fn with_columns(columns: &str) -> Wanted {
    Wanted { columns: Some(columns.to_owned()), ..Wanted::default() }
}

fn record(key: u64, size: u32, next: i64) -> Vec<u8> {
    [&7u32.to_le_bytes()[..], &key.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
}

const TWITTER: &str = "\
0,q:q:1:8WTfjZU14ee,17,213,4,get,0
0,yDqF:3q:1AJrrJ1nnCJKKrnGx1A,27,27,5,set,86400
1,q:q:1:8WTfjZU14ee,17,213,4,gets,0
1,with,a comma,12,1,4,delete,0
";

#[test]
fn a_csv_is_read_with_any_separator_of_columns() {
    for text in [
        "1,a,10\n2,b,20\n3,a,10",
        "1\ta\t10\n2\tb\t20\r\n3\ta\t10\n",
        "1.5  a 10\n 2.5 b   20\n\n1e3 a 10\n",
        "1; \"a\" ;10\n2;b;20\n3;a;10\n",
        "\u{feff}time,key,size\n1,a,10\n2,b,20\n3,a,10",
        "size,note,OBJ_ID\n10,x,a\n20,y,b\n10,z,a\n",
        "a\nb\na",
    ] {
        assert_eq!(keys(text), [0, 1, 0], "{text}");
    }
}

#[test]
fn the_user_says_what_the_columns_are() {
    let read = |text: &str, columns| numbered(text.as_bytes(), &with_columns(columns)).unwrap();
    assert_eq!(read("k1,5,x\nk2,5,y\nk1,5,z\n", "key,size,-").keys, [0, 1, 0]);
    assert_eq!(read("k1,5,x\nk1,6,y\n", "-,key,-").keys, [0, 1]);
    assert_eq!(read("KEY,bytes,x\nk1,6,y\n", "key,size,-").keys, [0]);
    assert_eq!(read("name,how much\nk1,6\n", "key,size").keys, [0]);
    assert_eq!(read("time,key,size\n1,a,6\n", "-,-,key").keys, [0]);
}

#[test]
fn an_object_called_key_is_no_heading() {
    assert_eq!(keys("1,key,10\n2,id,20\n3,key,10\n"), [0, 1, 0]);
    assert_eq!(numbered(b"key,10\nid,10\n", &with_columns("key,size")).unwrap().keys, [0, 1]);
}

#[test]
fn quoted_keys_may_hold_what_separates() {
    assert_eq!(keys("1,\"a,b\",10\n2,\"a,c\",10\n3,\"a,b\",10\n4,\"say \"\"x,\"\"\",1\n"), [0, 1, 0, 2]);
}

#[test]
fn sizes_are_listed_from_smallest_to_largest() {
    let sizes = |text: &[u8]| numbered(text, &Wanted::default()).unwrap().sizes;
    let found = sizes(b"1,a,10\n2,b,2000\n3,a,30\n").unwrap();
    assert_eq!((found.smallest, found.largest, found.footprint, found.requested), (10, 2000, 2010, 2040));
    assert_eq!(sizes(b"a\nb\n"), None);
}

#[test]
fn operations_choose_requests_and_the_first_are_enough() {
    let text = b"1,a,1,get\n2,b,1,SET\n3,c,1,get\n4,a,1,get\n";
    let only = Wanted { operations: vec!["get".to_owned()], ..Wanted::default() };
    assert_eq!(numbered(text, &only).unwrap().keys, [0, 1, 0]);
    assert_eq!(numbered(text, &Wanted { first: Some(2), ..only }).unwrap().keys, [0, 1]);
}

#[test]
fn twitters_traces_are_known_by_their_look_and_a_key_may_hold_commas() {
    let read = numbered(TWITTER.as_bytes(), &Wanted::default()).unwrap();
    let sizes = read.sizes.unwrap();
    assert_eq!((read.format, read.keys), ("twitter", vec![0, 1, 0, 2]));
    assert_eq!((sizes.smallest, sizes.largest), (13, 230));
}

#[test]
fn records_of_oracle_general_are_known_by_their_look_packed_or_not() {
    let bytes = [record(1 << 40, 4096, 2), record(3, 512, -1), record(1 << 40, 4096, i64::MAX)].concat();
    for file in [bytes.clone(), compress_to_vec(&bytes[..], CompressionLevel::Fastest), gzip(&bytes)] {
        let read = numbered(&file, &Wanted::default()).unwrap();
        assert_eq!((read.format, read.keys), ("oracle_general", vec![0, 1, 0]));
    }
}

#[test]
fn many_records_are_read_in_blocks() {
    let bytes: Vec<u8> = (0..20_000).flat_map(|i| record(i % 7000, 1, -1)).collect();
    let read = numbered(&bytes, &Wanted::default()).unwrap();
    assert!(read.keys.iter().copied().eq((0..20_000).map(|i| i % 7000)) && read.objects == 7000);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn a_file_may_be_packed_with_gzip_in_parts_but_not_twice_nor_damaged() {
    let text = b"1,a,10\n2,b,20\n".repeat(100);
    let parts = [gzip(&text[..77]), gzip(&text[77..])].concat();
    assert!(said(&parts, &Wanted::default()).contains("goes back"), "the content is read");
    assert_eq!(numbered(&parts, &with_columns("time,key,size")).unwrap().keys.len(), 200);
    assert!(said(&gzip(&gzip(b"a\nb\n")), &Wanted::default()).contains("is packed twice"));
    assert!(said(&gzip(&compress_to_vec(&text[..], CompressionLevel::Fastest)), &Wanted::default()).contains("twice"));
    for length in 2..parts.len() {
        assert!(
            numbered(&parts[..length], &with_columns("time,key,size")).is_err() || length == gzip(&text[..77]).len()
        );
    }
}

#[test]
fn a_text_of_single_words_is_a_trace_of_them() {
    let read = |text: &str| numbered(text.as_bytes(), &Wanted::default()).unwrap();
    assert_eq!((read("42932745\n42932746\n42932745\n").format, read("a\nb\na").keys), ("txt", vec![0, 1, 0]));
    assert_eq!((read("lbn\n7\n8\n").format, read("lbn\n7\n8\n").keys), ("csv", vec![0, 1]));
    let all = Wanted { format: Some("txt".to_owned()), ..Wanted::default() };
    assert_eq!(numbered(b"a,1\na,2\r\na,1\n", &all).unwrap().keys, [0, 1, 0]);
}

#[test]
fn columns_that_may_be_others_are_not_guessed() {
    let plain = Wanted::default();
    let back = said(b"5,a,10\n4,b,10\n", &plain);
    assert!(back.contains("the first of its columns goes back from 5 to 4") && back.contains("--columns"), "{back}");
    let either = said(b"1,100,10\n2,108,10\n", &plain);
    assert!(either.contains("either may be the time") && either.contains("--columns time,key,size"), "{either}");
    assert_eq!(numbered(b"1,100,10\n2,108,10\n", &with_columns("key,time,size")).unwrap().objects, 2);
    assert_eq!(keys("1,100,10\n2,108,10\n3,100,10\n"), [0, 1, 0]);
    assert_eq!(keys("time,key,size\n1,100,10\n2,108,10\n"), [0, 1]);
}

#[test]
fn bytes_are_counted_only_where_there_are_sizes() {
    let bytes = Wanted { bytes: true, ..Wanted::default() };
    let read = numbered(b"1,a,10\n2,b,0\n3,a,30\n", &bytes).unwrap();
    assert_eq!((read.keys, read.bytes, read.left_out), (vec![0, 0], Some(vec![10, 30]), 1));
    assert!(said(b"a\nb\n", &bytes).contains("has no sizes: bytes cannot be counted"));
    assert!(said(b"1,a,0\n", &bytes).contains("has no requests that have a size"));
}

/// The message for a trace.
fn said(bytes: &[u8], wanted: &Wanted) -> String {
    numbered(bytes, wanted).unwrap_err().to_string()
}

#[test]
fn a_wrong_line_is_named_with_what_was_found_and_what_would_be_right() {
    let plain = Wanted::default();
    for (text, message) in [
        ("1,a,10\n2,b,20\nx,c,30\n", ":3: the time is \"x\", not a number"),
        ("1,a,10\n2,b,-20\n", ":2: the size is \"-20\", not a whole number of bytes"),
        ("1,a,10\n\n2,b\n", ":3: the line has 2 columns, not 3"),
        ("1,a,10\n2,b,20,get\n", ":2: the line has 4 columns, not 3"),
        ("1,a,10\n2,,20\n", ":2: the key is empty"),
        ("1,a\n", ":1: the line has 2 columns: say which is the key"),
        ("when,what,how much\n1,a,10\n", ":1: the line names none of its columns key"),
        ("key,id\n1,a\n", ":1: the columns that this line names have one twice"),
    ] {
        assert!(said(text.as_bytes(), &plain).starts_with(message), "{text}: {}", said(text.as_bytes(), &plain));
    }
    let wrong = TWITTER.replace("gets", "fetch");
    assert!(said(wrong.as_bytes(), &plain).starts_with(":3: the operation is \"fetch\", none of get,"));
    let wrong = TWITTER.replace("86400", "soon");
    assert!(said(wrong.as_bytes(), &plain).starts_with(":2: the TTL is \"soon\", not a whole number"));
    let long = format!("1,a,10\n2,{},10\n", "b".repeat(MOST_LINE));
    assert!(said(long.as_bytes(), &plain).starts_with(":2: is longer than 65536 bytes"));
}

#[test]
fn a_wrong_record_is_named_by_its_byte() {
    let plain = Wanted { format: Some("oracle_general".to_owned()), ..Wanted::default() };
    let good: Vec<u8> = (0..1000).flat_map(|i| record(i, 1, -1)).collect();
    let cut = said(&good[..good.len() - 1], &plain);
    assert!(cut.contains("byte 23976: 23 bytes are left and a record has 24"), "{cut}");
    let strange = said(&[good, record(1, 1, -5)].concat(), &plain);
    assert!(strange.contains("byte 24000: the next request for this object is -5"), "{strange}");
}

#[test]
fn what_is_no_trace_is_refused() {
    let plain = Wanted::default();
    for (bytes, message) in [
        (&b""[..], "has no requests"),
        (b"time,key,size\n", "has no requests"),
        (b"\n \n", "has no requests"),
        (b"\x1f\x8b\x08\x00", "the gzip file is damaged or cut off"),
        (b"\xfd7zXZ\0\x00\x04", "is packed with xz, which is not read here: unpack it (xz -dc)"),
        (b"BZh91AY&SY\x01\x02", "is packed with bzip2"),
    ] {
        assert!(said(bytes, &plain).contains(message), "{}", said(bytes, &plain));
    }
    assert!(said(&[0, 255].repeat(100), &plain).contains("is neither text nor records of a known format"));
    let packed = compress_to_vec(&b"1,a,10\n".repeat(9)[..], CompressionLevel::Fastest);
    assert!(said(&packed[..packed.len() - 2], &plain).contains("damaged or cut off"));
}

#[test]
fn wrong_wishes_are_refused() {
    let with = |change: fn(&mut Wanted)| {
        let mut wanted = Wanted::default();
        change(&mut wanted);
        said(b"1,a,10\n", &wanted)
    };
    assert!(with(|w| w.format = Some("cvs".to_owned())).contains("there are: oracle_general, oracle_general_op_ns,"));
    assert!(with(|w| w.columns = Some("time,name,size".to_owned())).contains("no column is called \"name\""));
    assert!(with(|w| w.columns = Some("time,size,-".to_owned())).contains("have no key"));
    assert!(with(|w| w.columns = Some("key,key,size".to_owned())).contains("have one twice"));
    assert!(with(|w| w.columns = Some("time,key".to_owned())).contains("has 3 columns, and 2 were named"));
    assert!(with(|w| w.operations = vec!["get".to_owned()]).contains("has no operations to choose get from"));
    let other = Wanted { columns: Some("key".to_owned()), ..Wanted::default() };
    assert!(said(TWITTER.as_bytes(), &other).contains("columns are fixed"));
    let none = Wanted { operations: vec!["incr".to_owned()], ..Wanted::default() };
    assert!(said(TWITTER.as_bytes(), &none).contains("has no requests with the operation incr"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let missing = read(Path::new("no/such/trace.csv"), &Wanted::default()).unwrap_err().to_string();
    assert_eq!(missing, "no/such/trace.csv: No such file or directory");
    let device = read(Path::new("/dev/zero"), &Wanted::default()).unwrap_err().to_string();
    assert_eq!(device, "/dev/zero: is a device, not a trace");
    let folder = read(Path::new("."), &Wanted::default()).unwrap_err().to_string();
    assert_eq!(folder, ".: is a folder, not a trace");
}

/// Good files of every kind, small.
fn samples() -> Vec<Vec<u8>> {
    let records: Vec<u8> = (0..40u32).flat_map(|i| record(u64::from(i % 9), i, i64::from(i) + 9)).collect();
    let csv = b"time,key,size,op\n1,a,10,get\n2,\"b,c\",20,set\n3,a,10,get\n".to_vec();
    let packed = [&records, &csv].map(|bytes| compress_to_vec(&bytes[..], CompressionLevel::Fastest));
    let zipped = [&records, &csv].map(|bytes| gzip(bytes));
    let binary = LAYOUTS.iter().map(|(_, of)| trace(*of, 40)).collect();
    [
        vec![records, csv, TWITTER.as_bytes().to_vec(), b"1 a 10\n2 b 20\n".to_vec()],
        packed.to_vec(),
        zipped.to_vec(),
        binary,
    ]
    .concat()
}

/// The inputs that fuzzing starts from (fuzz/fuzz_targets/requests.rs): each sample behind a byte that says how to read it.
#[test]
#[ignore = "writes crates/traces/fuzz/corpus: --ignored"]
fn each_sample_is_an_input_of_the_fuzzer_in_its_own_format_and_recognised() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/requests");
    std::fs::create_dir_all(&folder).unwrap();
    for (number, sample) in samples().into_iter().chain((1..=8).map(formats::lcs)).enumerate() {
        let format = numbered(&sample, &Wanted::default()).unwrap().format;
        let own = FORMATS.iter().position(|it| it.name == format).unwrap();
        for choice in [own, FORMATS.len()].map(|choice| choice as u8) {
            for flags in [0, 0x40, 0x80] {
                let input = [&[choice | flags], &sample[..]].concat();
                std::fs::write(folder.join(format!("sample-{number}-{}", choice | flags)), input).unwrap();
            }
        }
    }
}

fn formats() -> impl Strategy<Value = Option<String>> {
    let names = FORMATS.iter().map(|format| format.name.to_owned()).collect::<Vec<_>>();
    prop::option::of(prop::sample::select(names))
}

/// What a damaged file may do: replace, insert or remove some bytes.
fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, Option<u8>, bool)>> {
    let bytes = prop_oneof![any::<u8>(), prop::sample::select(b",\"\n\r\t; -0".to_vec())];
    prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(bytes), any::<bool>()), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_in_requests_or_one_problem(bytes in prop::collection::vec(any::<u8>(), 0..400), format in formats()) {
        check(numbered(&bytes, &Wanted { format, ..Wanted::default() }))?;
    }

    #[test]
    fn a_damaged_trace_ends_in_requests_or_one_problem(
        sample in prop::sample::select(samples()), damage in damage(), format in formats()
    ) {
        let mut bytes = sample;
        for (at, byte, insert) in damage {
            let at = at.index(bytes.len() + 1).min(bytes.len());
            match byte {
                Some(byte) if insert || at == bytes.len() => bytes.insert(at, byte),
                Some(byte) => bytes[at] = byte,
                None => bytes.truncate(at.max(1)),
            }
        }
        check(numbered(&bytes, &Wanted { format, ..Wanted::default() }))?;
    }

    #[test]
    fn a_csv_of_any_keys_is_numbered_by_first_appearance(names in prop::collection::vec("[a-z]{1,2}|[1-9]{1,2}", 1..60)) {
        let text: String = names.iter().enumerate().map(|(at, name)| format!("{at},{name},1\n")).collect();
        let read = numbered(text.as_bytes(), &with_columns("time,key,size")).unwrap();
        let mut met: Vec<&String> = Vec::new();
        for (name, number) in names.iter().zip(read.keys) {
            if !met.contains(&name) {
                met.push(name);
            }
            prop_assert_eq!(met[number as usize], name);
        }
        prop_assert_eq!(read.objects as usize, met.len());
    }
}

/// Whatever was read is a numbering; whatever was refused says why.
fn check(outcome: Result<Numbered, Problem>) -> Result<(), TestCaseError> {
    match outcome {
        Ok(read) => {
            prop_assert!(!read.keys.is_empty());
            prop_assert_eq!(read.keys.iter().max().map(|&key| key + 1), Some(read.objects));
        }
        Err(problem) => prop_assert!(problem.what.len() > 8 && problem.what.len() < 600, "{}", problem),
    }
    Ok(())
}
