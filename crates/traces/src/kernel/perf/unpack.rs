//! Records that perf compressed (`perf record -z`): one stream of zstd, cut into pieces without regard to records.

use super::FORMAT;
use crate::kernel::ReadError;

/// Bytes that are unpacked at once.
#[cfg(feature = "zstd")]
const PIECE: usize = 1 << 18;
/// The largest window that is accepted, as a power of two: what `zstd --long` asks for.
#[cfg(feature = "zstd")]
const WINDOW: u32 = 27;

fn wrong(why: impl Into<String>) -> ReadError {
    ReadError::Wrong { format: FORMAT, why: why.into() }
}

/// The stream, and what of it is no whole record yet.
#[derive(Default)]
pub(super) struct Unpacker {
    #[cfg(feature = "zstd")]
    stream: Option<zstd::stream::raw::Decoder<'static>>,
    bytes: Vec<u8>,
}

impl Unpacker {
    /// Whether a record is not complete.
    pub fn is_within_record(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Unpacks a piece and passes it on; what was not used is passed on again with the next.
    #[cfg(feature = "zstd")]
    pub fn unpack(
        &mut self,
        packed: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<usize, ReadError>,
    ) -> Result<(), ReadError> {
        use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};
        if self.stream.is_none() {
            let mut stream = Decoder::new()?;
            stream.set_parameter(DParameter::WindowLogMax(WINDOW))?;
            self.stream = Some(stream);
        }
        let stream = self.stream.as_mut().expect("it was made above");
        let mut input = InBuffer::around(packed);
        loop {
            let kept = self.bytes.len();
            self.bytes.resize(kept + PIECE, 0);
            let mut output = OutBuffer::around_pos(&mut self.bytes, kept);
            stream.run(&mut input, &mut output).map_err(|why| wrong(format!("its compressed records: {why}")))?;
            let end = output.pos();
            self.bytes.truncate(end);
            let used = take(&self.bytes)?;
            self.bytes.drain(..used);
            // A full output means that more may be held back.
            if input.pos() == packed.len() && end < kept + PIECE {
                return Ok(());
            }
            if end == kept && input.pos() < packed.len() {
                return Err(wrong("its compressed records make no progress"));
            }
        }
    }

    /// Refuses.
    #[cfg(not(feature = "zstd"))]
    pub fn unpack(
        &mut self,
        _packed: &[u8],
        _take: impl FnMut(&[u8]) -> Result<usize, ReadError>,
    ) -> Result<(), ReadError> {
        Err(wrong("its records are compressed, and this program was built without zstd: record without perf's -z"))
    }
}
