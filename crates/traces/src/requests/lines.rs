//! Lines of bounded length, without a copy of each.

use super::{Beginning, Place, Problem, reason};
use std::io::Read;

/// Bytes of the longest line.
pub const MOST_LINE: usize = 64 << 10;
/// Most lines of the beginning that are looked at.
const MOST_LINES: usize = 1000;
/// Bytes per read.
const BLOCK: usize = 256 << 10;
/// Some programs put this before text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The whole lines of the beginning that are not blank.
pub(super) fn lines_of<'a>(beginning: &Beginning<'a>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let end = match beginning.whole {
        true => beginning.bytes.len(),
        // The last line may go on.
        false => memchr::memrchr(b'\n', beginning.bytes).unwrap_or(0),
    };
    let bytes = beginning.bytes[..end].strip_prefix(b"\xef\xbb\xbf").unwrap_or(&beginning.bytes[..end]);
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(MOST_LINES)
}

/// The lines of a text that are not blank.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is not read yet.
    start: usize,
    end: usize,
    /// Where the line given last begins.
    last: usize,
    number: u64,
    ended: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Lines { input, buffer: vec![0; BLOCK], start: 0, end: 0, last: 0, number: 0, ended: false }
    }

    /// The next line that is not blank, without its end, and its place.
    pub(super) fn next(&mut self) -> Result<Option<(Place, &[u8])>, Problem> {
        while let Some((start, end)) = self.advance()? {
            if !self.buffer[start..end].trim_ascii().is_empty() {
                let line = &self.buffer[start..end];
                return Ok(Some((self.place(), line.strip_suffix(b"\r").unwrap_or(line))));
            }
        }
        Ok(None)
    }

    /// Goes back to before the line given last.
    pub(super) fn back(&mut self) {
        self.start = self.last;
        self.number -= 1;
    }

    fn place(&self) -> Place {
        Place::Line(self.number)
    }

    /// Bounds of the next line in the buffer.
    fn advance(&mut self) -> Result<Option<(usize, usize)>, Problem> {
        let mut searched = self.start;
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                return self.line(searched + length, searched + length + 1);
            }
            if self.ended {
                return if self.start == self.end { Ok(None) } else { self.line(self.end, self.end) };
            }
            let waiting = self.end - self.start;
            if waiting > MOST_LINE {
                return self.line(self.end, self.end);
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end, searched) = (0, waiting, waiting);
            let read = self.input.read(&mut self.buffer[waiting..]);
            let read = read.map_err(|why| Place::Line(self.number + 1).problem(reason(&why)))?;
            self.end += read;
            self.ended = read == 0;
        }
    }

    /// Takes the line up to `end`; the one after it begins at `next`.
    fn line(&mut self, end: usize, next: usize) -> Result<Option<(usize, usize)>, Problem> {
        self.number += 1;
        self.last = std::mem::replace(&mut self.start, next);
        let mut start = self.last;
        if self.number == 1 && self.buffer[start..end].starts_with(BYTE_ORDER_MARK) {
            start += BYTE_ORDER_MARK.len();
        }
        if end - start > MOST_LINE {
            return Err(self.place().problem(format!("is longer than {MOST_LINE} bytes: is this a text?")));
        }
        Ok(Some((start, end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let most = into.len().min(self.1);
            self.0.read(&mut into[..most])
        }
    }

    fn all(text: &[u8], at_once: usize) -> Vec<(Place, Vec<u8>)> {
        let mut lines = Lines::new(Slow(text, at_once));
        let mut found = Vec::new();
        while let Some((place, line)) = lines.next().unwrap() {
            found.push((place, line.to_vec()));
        }
        found
    }

    #[test]
    fn blank_lines_are_counted_but_not_given() {
        let found = all(b"\xef\xbb\xbfa b\r\n\n  \nc", 2);
        assert_eq!(found, [(Place::Line(1), b"a b".to_vec()), (Place::Line(4), b"c".to_vec())]);
    }

    #[test]
    fn a_line_can_be_given_again() {
        let mut lines = Lines::new(&b"\xef\xbb\xbfa\nb\n"[..]);
        let first = lines.next().unwrap().map(|(place, line)| (place, line.to_vec()));
        lines.back();
        assert_eq!(lines.next().unwrap().map(|(place, line)| (place, line.to_vec())), first);
        assert_eq!(lines.next().unwrap(), Some((Place::Line(2), &b"b"[..])));
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut lines = Lines::new(std::io::repeat(b'x'));
        assert!(lines.next().unwrap_err().what.contains("longer than"));
    }

    proptest! {
        #[test]
        fn any_text_is_split_as_the_standard_library_does(text in "[ab \n]{0,300}", at_once in 1usize..40) {
            let expected: Vec<Vec<u8>> =
                text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.as_bytes().to_vec()).collect();
            let found: Vec<Vec<u8>> = all(text.as_bytes(), at_once).into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
