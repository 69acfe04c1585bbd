//! The writer of `trace.dat`: what it writes is read here again by the format's own description (trace-cmd.dat.v7), section by section.

use proptest::prelude::*;
use schedlab_observe::capture::dat::{Description, Pages, write};
use schedlab_traces::kernel::state;
use std::{
    collections::BTreeMap,
    io::{self, Cursor, ErrorKind, Read},
};

/// Takes values off the front of bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(length);
        self.0 = rest;
        front
    }

    fn number(&mut self, size: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(self.take(size));
        u64::from_le_bytes(bytes)
    }

    fn text(&mut self) -> &'a str {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap();
        let text = std::str::from_utf8(self.take(length)).unwrap();
        self.take(1);
        text
    }
}

/// A file, read again.
#[derive(Debug, Default)]
struct Dat {
    /// Contents of sections but those of pages, by number.
    sections: BTreeMap<u16, Vec<u8>>,
    options: Vec<(u16, Vec<u8>)>,
    pages: Vec<(u32, Vec<u8>)>,
}

/// The contents of a section, and whether they were compressed.
fn section(file: &[u8], at: usize) -> (u16, Vec<u8>) {
    let mut bytes = Bytes(&file[at..]);
    let (kind, flags, _name, length) = (bytes.number(2) as u16, bytes.number(2), bytes.number(4), bytes.number(8));
    let mut contents = Bytes(bytes.take(length as usize));
    if flags & 1 == 0 {
        return (kind, contents.0.to_vec());
    }
    let (packed, plain) = (contents.number(4) as usize, contents.number(4) as usize);
    (kind, zstd::bulk::decompress(contents.take(packed), plain).unwrap())
}

fn chunks(file: &[u8], at: usize, length: usize) -> Vec<u8> {
    let mut bytes = Bytes(&file[at..at + length]);
    let mut all = Vec::new();
    for _ in 0..bytes.number(4) {
        let (packed, plain) = (bytes.number(4) as usize, bytes.number(4) as usize);
        all.extend(zstd::bulk::decompress(bytes.take(packed), plain).unwrap());
    }
    assert!(bytes.0.is_empty());
    all
}

fn read(file: &[u8], page: usize) -> Dat {
    let mut head = Bytes(file);
    assert_eq!(head.take(10), b"\x17\x08\x44tracing");
    assert_eq!((head.text(), head.number(1), head.number(1), head.number(4)), ("7", 0, 8, page as u64));
    let (compression, _) = (head.text(), head.text());
    let mut options_at = head.number(8) as usize;
    let first = file.len() - head.0.len();
    // Sections follow one another without gaps: the names of sections are found so.
    let (mut at, mut last) = (first, 0);
    while at < file.len() {
        let mut bytes = Bytes(&file[at..]);
        (last, _) = (bytes.number(2) as u16, bytes.take(6));
        at += 16 + bytes.number(8) as usize;
    }
    assert_eq!((at, last), (file.len(), 15));
    let mut dat = Dat::default();
    while options_at != 0 {
        let (kind, contents) = section(file, options_at);
        assert_eq!(kind, 0);
        let mut options = Bytes(&contents);
        loop {
            let (kind, length) = (options.number(2) as u16, options.number(4) as usize);
            let value = options.take(length);
            match kind {
                0 => {
                    options_at = Bytes(value).number(8) as usize;
                    break;
                }
                3 => {
                    let mut value = Bytes(value);
                    assert_eq!(section_kind(file, value.number(8) as usize), 3);
                    assert_eq!((value.text(), value.text(), value.number(4)), ("", "mono", page as u64));
                    for _ in 0..value.number(4) {
                        let (processor, at, length) = (value.number(4), value.number(8), value.number(8));
                        let (at, length) = (at as usize, length as usize);
                        assert_eq!(at % page, 0);
                        let found = match compression {
                            _ if length == 0 => Vec::new(),
                            "none" => file[at..at + length].to_vec(),
                            _ => chunks(file, at, length),
                        };
                        dat.pages.push((processor as u32, found));
                    }
                }
                16..=21 | state::OPTION => {
                    let (found, contents) = section(file, Bytes(value).number(8) as usize);
                    assert_eq!(found, kind);
                    dat.sections.insert(kind, contents);
                }
                _ => dat.options.push((kind, value.to_vec())),
            }
        }
    }
    dat
}

fn section_kind(file: &[u8], at: usize) -> u16 {
    Bytes(&file[at..]).number(2) as u16
}

fn about(page: usize) -> Description {
    Description {
        headers: [b"field: u64 timestamp;".to_vec(), b"# compressed".to_vec()],
        systems: vec![("sched".to_owned(), vec![b"name: sched_switch\n".to_vec()])],
        names: vec![(1, "init".to_owned())],
        clocks: "local [mono]".to_owned(),
        clock: "mono".to_owned(),
        kernel: "Linux host 6.18 x86_64".to_owned(),
        writer: "schedlab".to_owned(),
        page,
        state: b"{\"version\":1}".to_vec(),
    }
}

fn written(about: &Description, pages: &[(u16, Vec<u8>)], compress: bool) -> Vec<u8> {
    let pages = pages.iter().map(|(processor, bytes)| Pages {
        processor: *processor,
        pages: Cursor::new(bytes.clone()),
        counters: "overrun: 3\n".to_owned(),
    });
    write(Cursor::new(Vec::new()), about, pages.collect(), compress).unwrap().into_inner()
}

proptest! {
    #[test]
    fn pages_are_those_that_were_given(
        page in prop_oneof![Just(64usize), Just(4096)],
        lengths in proptest::collection::vec((0usize..300, 0u8..4), 0..4),
        compress: bool,
    ) {
        let contents = |(at, (pages, fill)): (usize, &(usize, u8))| {
            let bytes = (0..pages * page).map(|i| if *fill == 0 { ((i * i) >> 3) as u8 } else { *fill });
            // Numbers of processors have gaps.
            (at as u16 * 3, bytes.collect::<Vec<u8>>())
        };
        let given: Vec<(u16, Vec<u8>)> = lengths.iter().enumerate().map(contents).collect();
        let dat = read(&written(&about(page), &given, compress), page);
        let expected: Vec<(u32, Vec<u8>)> = given.iter().map(|(number, bytes)| ((*number).into(), bytes.clone())).collect();
        prop_assert!(dat.pages == expected, "pages differ");
        let counters = dat.options.iter().filter(|(kind, _)| *kind == 2).count();
        prop_assert_eq!(counters, given.len());
    }

    #[test]
    fn whatever_tasks_are_called_each_has_a_line(names in proptest::collection::vec("(?s).{0,20}", 0..8), compress: bool) {
        let mut about = about(64);
        about.names = names.iter().cloned().enumerate().map(|(at, name)| (at as i32, name)).collect();
        about.kernel = names.concat();
        let dat = read(&written(&about, &[], compress), 64);
        let mut section = Bytes(&dat.sections[&21]);
        let length = section.number(8) as usize;
        let text = std::str::from_utf8(section.take(length)).unwrap();
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        prop_assert_eq!(lines.len(), names.len());
        for (at, line) in lines.iter().enumerate() {
            let number = at.to_string();
            prop_assert_eq!(line.split(' ').next(), Some(number.as_str()));
            prop_assert!(!line.contains(char::is_control));
        }
        // A text of an option has one end.
        let kernel = &dat.options.iter().find(|(kind, _)| *kind == 5).unwrap().1;
        prop_assert_eq!(kernel.iter().position(|&byte| byte == 0), Some(kernel.len() - 1));
    }
}

#[test]
fn descriptions_and_the_state_are_as_they_were_given() {
    for compress in [false, true] {
        let dat = read(&written(&about(4096), &[(0, vec![7; 4096])], compress), 4096);
        assert_eq!(dat.sections[&state::OPTION], b"{\"version\":1}");
        let mut formats = Bytes(&dat.sections[&18]);
        assert_eq!((formats.number(4), formats.text(), formats.number(4), formats.number(8)), (1, "sched", 1, 19));
        assert_eq!(formats.0, b"name: sched_switch\n");
        let mut headers = Bytes(&dat.sections[&16]);
        assert_eq!(
            (headers.text(), headers.number(8), headers.take(21)),
            ("header_page", 21, &b"field: u64 timestamp;"[..])
        );
        assert_eq!((headers.text(), headers.number(8), headers.0), ("header_event", 12, &b"# compressed"[..]));
        let option = |wanted| dat.options.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| &value[..]);
        assert_eq!(option(4), Some(&b"local [mono]\0"[..]));
        assert_eq!(option(5), Some(&b"Linux host 6.18 x86_64\0"[..]));
        assert_eq!(option(8), Some(&1u32.to_le_bytes()[..]));
        assert_eq!(option(2), Some(&b"CPU: 0\noverrun: 3\n\0"[..]));
    }
}

#[test]
fn a_page_that_is_cut_short_is_filled_up() {
    let dat = read(&written(&about(64), &[(0, vec![1; 70])], true), 64);
    assert_eq!(dat.pages, [(0, [vec![1; 70], vec![0; 58]].concat())]);
}

/// Fails after some bytes.
struct Broken(usize);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.0.min(buffer.len());
        self.0 -= length;
        if length == 0 { Err(ErrorKind::BrokenPipe.into()) } else { Ok(length) }
    }
}

#[test]
fn pages_that_cannot_be_read_are_an_error() {
    let pages = Pages { processor: 0, pages: Broken(100), counters: String::new() };
    let done = write(Cursor::new(Vec::new()), &about(64), vec![pages], true);
    assert_eq!(done.unwrap_err().kind(), ErrorKind::BrokenPipe);
}
