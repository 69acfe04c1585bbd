//! Unpacks zstd: any number of frames, frames to be skipped among them, each held to its checksum.

use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use std::io::{self, BufRead, Read};

/// How a frame begins, and how one that is to be skipped does but for the low half of its first byte.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const SKIPPED: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];

/// Whether a file that begins so is packed.
pub(super) fn packed(beginning: &[u8]) -> bool {
    let skipped = beginning.len() >= 4 && beginning[0] & 0xf0 == SKIPPED[0] && beginning[1..4] == SKIPPED[1..];
    beginning.starts_with(&MAGIC) || skipped
}

/// The content of a packed file. A window of more than 128 MiB (`zstd --long=27`) is refused.
pub(super) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(source: R) -> Self {
        Frames { source, decoder: FrameDecoder::new(), inside: false }
    }

    /// Goes to the next frame; false if there is none.
    fn enter(&mut self) -> io::Result<bool> {
        while !self.inside && !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => self.inside = true,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(damaged("it ends within a frame"));
                    }
                }
                Err(why) => return Err(damaged(why)),
            }
        }
        Ok(self.inside)
    }

    /// Leaves a frame that has given all it has.
    fn leave(&mut self) -> io::Result<()> {
        self.inside = false;
        let (stored, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if stored.is_some() && stored != found { Err(damaged("a checksum does not fit")) } else { Ok(()) }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() && self.enter()? {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let decoded = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
                decoded.map_err(damaged)?;
            }
            let read = self.decoder.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            self.leave()?;
        }
        Ok(0)
    }
}

fn damaged(why: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("the zstd file is damaged or cut off: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn packed_text(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Frames::new(bytes).read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn frames_follow_one_another_and_some_are_skipped() {
        let skipped = [&SKIPPED[..], &3u32.to_le_bytes(), b"xyz"].concat();
        let file = [skipped.clone(), packed_text(b"one "), skipped, packed_text(b""), packed_text(b"two")].concat();
        assert!(packed(&file) && packed(&packed_text(b"one")) && !packed(b"1,2,3"));
        assert_eq!(unpack(&file).unwrap(), b"one two");
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused_wherever_the_cut_is() {
        let file = packed_text(&b"a line of some length\n".repeat(50));
        for length in 1..file.len() {
            assert!(unpack(&file[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_content_comes_back(content in prop::collection::vec(0..4u8, 0..5000)) {
            prop_assert_eq!(unpack(&packed_text(&content)).unwrap(), content);
        }

        #[test]
        fn a_damaged_file_ends_in_bytes_or_an_error(at in any::<prop::sample::Index>(), change in 1..=255u8) {
            let mut file = packed_text(&b"a line of some length\n".repeat(20));
            let at = at.index(file.len());
            file[at] ^= change;
            let _ = unpack(&file);
        }
    }
}
