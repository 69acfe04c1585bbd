//! Lines, words and numbers out of the kernel's text, without allocation, whatever the bytes are.

/// The lines of a file.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
}

/// The words of a line, whatever blanks are between them.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A whole number of nothing but digits; none if it does not fit.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// A whole number with or without a minus sign.
pub fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => number(digits).and_then(|value| i64::try_from(value).ok()).map(|value| -value),
        None => number(word).and_then(|value| i64::try_from(value).ok()),
    }
}

/// A number such as 0.23, as load averages and pressure are written.
pub fn decimal(word: &[u8]) -> Option<f64> {
    let point = word.iter().position(|&byte| byte == b'.');
    let (whole, part) = point.map_or((word, &b""[..]), |at| (&word[..at], &word[at + 1..]));
    let part = &part[..part.len().min(9)];
    let parts = if part.is_empty() { 0 } else { number(part)? };
    Some(number(whole)? as f64 + parts as f64 / 10f64.powi(part.len() as i32))
}

/// A short name, kept in place: of a disk, an interface, a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    bytes: [u8; Name::MOST],
    length: u8,
}

impl Name {
    /// Longer names are cut: the kernel's own are shorter.
    pub const MOST: usize = 32;

    /// A name of these bytes.
    pub fn new(text: &[u8]) -> Name {
        let text = &text[..text.len().min(Name::MOST)];
        let mut name = Name { bytes: [0; Name::MOST], length: text.len() as u8 };
        name.bytes[..text.len()].copy_from_slice(text);
        name
    }

    /// Its bytes, which need not be text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_or_are_none_give_nothing() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!([number(b""), number(b"-1"), number(b"1x"), number(b" 1")], [None; 4]);
        assert_eq!([signed(b"-20"), signed(b"19"), signed(b"--1")], [Some(-20), Some(19), None]);
    }

    #[test]
    fn a_decimal_has_its_places() {
        assert_eq!(decimal(b"0.23"), Some(0.23));
        assert_eq!(decimal(b"12.05"), Some(12.05));
        assert_eq!(decimal(b"7"), Some(7.0));
        assert_eq!([decimal(b"."), decimal(b"1.x"), decimal(b"nan")], [None; 3]);
    }
}
