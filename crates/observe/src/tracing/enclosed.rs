//! A recording as text that goes with an answer, where the file itself cannot be had: out of a guest.
//!
//!   text = base 64 of (zlib of the recording's file)
//!
//! Its length is bounded: what takes more is not sent, and said to be missing.

use super::{Recorded, Roster};
use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::ZlibEncoder};
use schedlab_linux::Fault;
use std::io::{self, Write};

impl Recorded {
    /// The recording as text of which no more than `most` bytes are compressed ones.
    pub fn enclosed(&self, roster: &Roster, most: u64) -> Result<String, Fault> {
        let fault = |why: io::Error| Fault::Wrong(format!("the recording cannot be sent: {why}"));
        let room = Bounded { bytes: Vec::new(), most: usize::try_from(most).unwrap_or(usize::MAX) };
        // The quickest: an emulated processor does it, and events are alike enough for any level.
        let out = ZlibEncoder::new(room, Compression::fast());
        let packed = self.write_to(out, roster).and_then(ZlibEncoder::finish).map_err(fault)?;
        Ok(STANDARD.encode(packed.bytes))
    }
}

/// Bytes in memory, up to a bound.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > self.most {
            return Err(io::Error::other(format!("it takes more than {} bytes, compressed", self.most)));
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn empty() -> (Recorded, Roster) {
        let recorded = Recorded { raw_events: Vec::new(), losses: Default::default(), overrun: 0, own: Vec::new() };
        (recorded, Roster { jobs: vec!["hogs".to_owned()], processors: vec![0], ..Roster::default() })
    }

    #[test]
    fn what_is_enclosed_is_the_file() {
        let (recorded, roster) = empty();
        let text = recorded.enclosed(&roster, 1 << 20).unwrap();
        let mut unpacked = Vec::new();
        let packed = STANDARD.decode(text).unwrap();
        flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, recorded.write_to(Vec::new(), &roster).unwrap());
    }

    #[test]
    fn a_recording_that_is_too_long_is_not_sent() {
        let (recorded, roster) = empty();
        let why = recorded.enclosed(&roster, 10).unwrap_err().to_string();
        assert!(why.contains("more than 10 bytes"), "{why}");
    }
}
