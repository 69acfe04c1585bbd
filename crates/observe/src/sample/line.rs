//! Samples as JSON, a line each, written into a buffer that stays: no allocation and no library between a sample and its
//! line. All keys are always there, in the same order; what is not known is null.

use super::column::Column;

/// A line in the making.
#[derive(Debug)]
pub struct Line {
    text: Vec<u8>,
}

impl Line {
    /// With room for a number of bytes; a longer line takes more.
    pub fn with_room(bytes: usize) -> Line {
        Line { text: Vec::with_capacity(bytes) }
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn begin(&mut self) {
        self.text.clear();
        self.text.push(b'{');
    }

    pub(super) fn end(&mut self) {
        self.text.extend_from_slice(b"}\n");
    }

    /// A key; names in tables need no escapes.
    pub(super) fn key(&mut self, name: &str) {
        self.comma();
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    fn comma(&mut self) {
        if !matches!(self.text.last(), Some(b'{' | b'[' | b':')) {
            self.text.push(b',');
        }
    }

    pub(super) fn null(&mut self) {
        self.text.extend_from_slice(b"null");
    }

    pub(super) fn whole(&mut self, value: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = value;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.text.extend_from_slice(&digits[at..]);
    }

    /// A number to three places; null for what JSON has no number for.
    pub(super) fn number(&mut self, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite() && value.abs() < 1e15) else { return self.null() };
        let thousandths = (value.abs() * 1000.0).round() as u64;
        if value < 0.0 && thousandths > 0 {
            self.text.push(b'-');
        }
        self.whole(thousandths / 1000);
        let part = thousandths % 1000;
        if part > 0 {
            let places = [b'0' + (part / 100) as u8, b'0' + (part / 10 % 10) as u8, b'0' + (part % 10) as u8];
            let used = 3 - places.iter().rev().take_while(|&&place| place == b'0').count();
            self.text.push(b'.');
            self.text.extend_from_slice(&places[..used]);
        }
    }

    /// A whole number that may have a sign.
    pub(super) fn signed(&mut self, value: Option<i64>) {
        let Some(value) = value else { return self.null() };
        if value < 0 {
            self.text.push(b'-');
        }
        self.whole(value.unsigned_abs());
    }

    /// Bytes as a JSON string; what is no text becomes the sign for that.
    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.text.push(b'"');
        for chunk in bytes.utf8_chunks() {
            for &byte in chunk.valid().as_bytes() {
                match byte {
                    b'"' | b'\\' => self.text.extend_from_slice(&[b'\\', byte]),
                    0..0x20 | 0x7f => {
                        let hex = |half: u8| b"0123456789abcdef"[usize::from(half)];
                        self.text.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]);
                    }
                    _ => self.text.push(byte),
                }
            }
            if !chunk.invalid().is_empty() {
                self.text.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        self.text.push(b'"');
    }

    /// The columns of a section from two readings; all null where there are not both.
    pub(super) fn columns<T>(&mut self, table: &[Column<T>], readings: Option<(&T, &T)>, seconds: f64) {
        for column in table {
            self.key(column.name);
            self.number(readings.and_then(|(now, before)| (column.of)(now, before, seconds)));
        }
    }

    pub(super) fn section<T>(&mut self, table: &[Column<T>], readings: Option<(&T, &T)>, seconds: f64) {
        self.object(|line| line.columns(table, readings, seconds));
    }

    /// An object, or null where there is nothing to report.
    pub(super) fn object(&mut self, inside: impl FnOnce(&mut Line)) {
        self.comma();
        self.text.push(b'{');
        inside(self);
        self.text.push(b'}');
    }

    pub(super) fn array(&mut self, inside: impl FnOnce(&mut Line)) {
        self.comma();
        self.text.push(b'[');
        inside(self);
        self.text.push(b']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Line)) -> String {
        let mut line = Line::with_room(100);
        write(&mut line);
        String::from_utf8(line.bytes().to_vec()).unwrap()
    }

    #[test]
    fn numbers_have_three_places_and_no_more_than_needed() {
        let spelled = |value| written(|line| line.number(Some(value)));
        assert_eq!(
            [0.0, 12.5, 0.001, -3.25, 99.9996, 1e14].map(spelled),
            ["0", "12.5", "0.001", "-3.25", "100", "100000000000000"]
        );
        assert_eq!([f64::NAN, f64::INFINITY, 1e15].map(spelled), ["null"; 3]);
    }

    proptest! {
        #[test]
        fn any_bytes_make_a_valid_string(bytes: Vec<u8>) {
            let text = written(|line| line.string(&bytes));
            let read: String = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read, String::from_utf8_lossy(&bytes).into_owned());
        }

        #[test]
        fn any_number_is_read_back_to_a_thousandth(value in -1e12..1e12f64) {
            let read: f64 = serde_json::from_str(&written(|line| line.number(Some(value)))).unwrap();
            prop_assert!((read - value).abs() <= 0.000_51 + value.abs() * 1e-15);
        }
    }
}
