//! The part of the kernel's FUSE protocol (linux/fuse.h, version 7.31) that a file system of two files needs: requests as the
//! device gives them, answers as it takes them. All numbers are in the machine's own order. Whatever is malformed is answered
//! with an error.

/// Bytes of a request's head, and of a read's or write's own part.
const HEAD: usize = 40;
const TRANSFER: usize = 40;
/// Largest transfer, and what a request can be at most.
pub const MOST: usize = 1 << 20;
pub const LONGEST: usize = MOST + HEAD + TRANSFER + 4096;

/// Of the flags of FUSE_INIT: reads and direct transfers without waiting for each, writes longer than a page, `max_pages`.
const FLAGS: u32 = 1 | 1 << 5 | 1 << 15 | 1 << 22;
const VERSION: (u32, u32) = (7, 31);
/// Requests that may be under way at a time: more than any queue above has.
const BACKGROUND: u16 = 256;
/// The kernel need not ask again for a day.
const VALID: u64 = 86_400;
/// FOPEN_DIRECT_IO: the file is not cached.
const UNCACHED: u32 = 1;

/// Numbers of the folder and the two files.
pub const ROOT: u64 = 1;
pub const DISK: u64 = 2;
pub const CONTROL: u64 = 3;
/// Their names.
pub const DISK_NAME: &str = "disk";
pub const CONTROL_NAME: &str = "control";

/// What is asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    Init,
    Lookup(&'a [u8]),
    Attributes,
    Open,
    Read {
        offset: u64,
        size: usize,
    },
    Write {
        offset: u64,
        bytes: &'a [u8],
    },
    /// Of the whole file system.
    Space,
    /// What succeeds by doing nothing.
    Nothing,
    /// What wants no answer.
    Silence,
    /// What this file system does not have.
    Unknown,
}

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub unique: u64,
    pub file: u64,
    pub asked: Asked<'a>,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Reads a request; none if it has not even a head.
pub fn read(bytes: &[u8]) -> Option<Request<'_>> {
    let (code, unique, file) = (u32_at(bytes, 4)?, u64_at(bytes, 8)?, u64_at(bytes, 16)?);
    let body = bytes.get(HEAD..)?;
    Some(Request { unique, file, asked: asked(code, body).unwrap_or(Asked::Unknown) })
}

/// By the operation's number in `enum fuse_opcode`.
fn asked(code: u32, body: &[u8]) -> Option<Asked<'_>> {
    Some(match code {
        1 => Asked::Lookup(body.split(|byte| *byte == 0).next()?),
        3 | 4 => Asked::Attributes,
        14 => Asked::Open,
        15 => Asked::Read { offset: u64_at(body, 8)?, size: (u32_at(body, 16)? as usize).min(MOST) },
        16 => {
            let (offset, size) = (u64_at(body, 8)?, u32_at(body, 16)? as usize);
            Asked::Write { offset, bytes: body.get(TRANSFER..)?.get(..size)? }
        }
        17 => Asked::Space,
        // Release, fsync, flush, destroy.
        18 | 20 | 25 | 38 => Asked::Nothing,
        26 => Asked::Init,
        // Forget, interrupt, forget many.
        2 | 36 | 42 => Asked::Silence,
        _ => Asked::Unknown,
    })
}

/// Begins an answer; [`end`] completes it.
pub fn begin(answer: &mut Vec<u8>, unique: u64, error: i32) {
    answer.clear();
    answer.extend_from_slice(&[0; 4]);
    answer.extend_from_slice(&(-error).to_ne_bytes());
    answer.extend_from_slice(&unique.to_ne_bytes());
}

/// Writes the answer's length into its head.
pub fn end(answer: &mut [u8]) {
    let length = (answer.len() as u32).to_ne_bytes();
    answer[..4].copy_from_slice(&length);
}

fn put32(answer: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| answer.extend_from_slice(&number.to_ne_bytes()));
}

fn put64(answer: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| answer.extend_from_slice(&number.to_ne_bytes()));
}

/// The answer to [`Asked::Init`].
pub fn init(answer: &mut Vec<u8>) {
    put32(answer, &[VERSION.0, VERSION.1, 0, FLAGS]);
    answer.extend_from_slice(&BACKGROUND.to_ne_bytes());
    answer.extend_from_slice(&BACKGROUND.to_ne_bytes());
    put32(answer, &[MOST as u32, 1]);
    answer.extend_from_slice(&((MOST / 4096) as u16).to_ne_bytes());
    answer.extend_from_slice(&[0; 2]);
    put32(answer, &[0; 8]);
}

/// The attributes of the folder or a file of that size.
fn attributes(answer: &mut Vec<u8>, file: u64, size: u64) {
    let mode = if file == ROOT { libc::S_IFDIR | 0o700 } else { libc::S_IFREG | 0o600 };
    put64(answer, &[file, size, size.div_ceil(512), 0, 0, 0]);
    put32(answer, &[0, 0, 0, mode, 1, 0, 0, 0, 4096, 0]);
}

/// The answer to [`Asked::Lookup`].
pub fn entry(answer: &mut Vec<u8>, file: u64, size: u64) {
    put64(answer, &[file, 0, VALID, VALID]);
    put32(answer, &[0, 0]);
    attributes(answer, file, size);
}

/// The answer to [`Asked::Attributes`].
pub fn about(answer: &mut Vec<u8>, file: u64, size: u64) {
    put64(answer, &[VALID]);
    put32(answer, &[0, 0]);
    attributes(answer, file, size);
}

/// The answer to [`Asked::Open`].
pub fn opened(answer: &mut Vec<u8>, file: u64) {
    put64(answer, &[file]);
    put32(answer, &[if file == CONTROL { UNCACHED } else { 0 }, 0]);
}

/// The answer to [`Asked::Write`].
pub fn written(answer: &mut Vec<u8>, bytes: usize) {
    put32(answer, &[bytes as u32, 0]);
}

/// The answer to [`Asked::Space`].
pub fn space(answer: &mut Vec<u8>, size: u64) {
    put64(answer, &[size / 4096, 0, 0, 2, 0]);
    put32(answer, &[4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(code: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put32(&mut bytes, &[(HEAD + body.len()) as u32, code]);
        put64(&mut bytes, &[7, DISK]);
        put32(&mut bytes, &[0; 4]);
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn a_write_that_says_more_than_it_brings_is_unknown() {
        let mut body = Vec::new();
        put64(&mut body, &[0, 4096]);
        put32(&mut body, &[8, 0, 0, 0, 0, 0]);
        body.extend_from_slice(b"7 bytes");
        assert_eq!(read(&request(16, &body)).unwrap().asked, Asked::Unknown);
        body.push(b'!');
        assert_eq!(read(&request(16, &body)).unwrap().asked, Asked::Write { offset: 4096, bytes: b"7 bytes!" });
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), code in 0u32..60) {
            let _ = read(&bytes);
            let _ = read(&request(code, &bytes));
        }
    }
}
