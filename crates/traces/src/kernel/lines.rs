//! Lines of bounded length, without a copy of each. One that is longer is passed over.

use std::io::{self, Read};

/// Bytes of the longest line that is read.
pub(super) const MOST_LINE: usize = 64 << 10;
/// Bytes per read.
const BLOCK: usize = 256 << 10;

/// What the next line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line without its end.
    Text(&'a [u8]),
    /// It is longer than [`MOST_LINE`].
    TooLong,
    /// The file ends within it: nothing tells how it goes on.
    CutOff,
}

/// The lines of a text.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is not read yet.
    start: usize,
    end: usize,
    ended: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Lines { input, buffer: vec![0; BLOCK], start: 0, end: 0, ended: false }
    }

    /// The next line; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = self.start;
        let mut passed = false;
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let (start, end) = (self.start, searched + length);
                self.start = end + 1;
                let line = &self.buffer[start..end];
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                return Ok(Some(if passed || line.len() > MOST_LINE { Line::TooLong } else { Line::Text(line) }));
            }
            if self.ended {
                let within = passed || self.start < self.end;
                self.start = self.end;
                return Ok(within.then_some(Line::CutOff));
            }
            // What is too long in any case need not be kept.
            if self.end - self.start > MOST_LINE {
                (passed, self.start) = (true, self.end);
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            searched = self.end;
            let read = self.fill()?;
            self.end += read;
            self.ended = read == 0;
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(self.1);
            self.0.read(&mut into[..most])
        }
    }

    fn all(text: &[u8], at_once: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(Slow(text, at_once));
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(if let Line::Text(line) = line { Some(line.to_vec()) } else { None });
        }
        found
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_counted() {
        let text = [b"a\n".as_slice(), &vec![b'x'; MOST_LINE * 5], b"\nb\r\n"].concat();
        assert_eq!(all(&text, 4096), [Some(b"a".to_vec()), None, Some(b"b".to_vec())]);
    }

    #[test]
    fn a_line_without_an_end_is_cut_off() {
        assert_eq!(all(b"a\nb", 1), [Some(b"a".to_vec()), None]);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_much_is_read_at_once(
            words in prop::collection::vec("[a-z \t]{0,6}", 0..40), at_once in 1..9usize,
        ) {
            let text: String = words.iter().flat_map(|word| [word, "\n"]).collect();
            let expected: Vec<_> = words.iter().map(|word| Some(word.clone().into_bytes())).collect();
            prop_assert_eq!(all(text.as_bytes(), at_once), expected);
        }
    }
}
