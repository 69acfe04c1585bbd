//! Parts of a file, read as if they were files: as they are, or in chunks that were packed one by one.

use ruzstd::decoding::StreamingDecoder;
use std::{
    fs::File,
    io::{self, BufReader, Read},
    os::unix::fs::FileExt,
};

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// How parts are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Not at all.
    Plain,
    /// With zlib.
    Zlib,
    /// With zstd.
    Zstd,
}

impl Packing {
    /// By the name in the file.
    pub fn of(name: &str) -> Option<Packing> {
        Some(match name {
            "none" | "" => Packing::Plain,
            "zlib" => Packing::Zlib,
            "zstd" => Packing::Zstd,
            _ => return None,
        })
    }

    /// What these bytes hold.
    pub fn unpack<'a>(self, packed: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Packing::Plain => Box::new(packed),
            Packing::Zlib => Box::new(flate2::read::ZlibDecoder::new(packed)),
            Packing::Zstd => Box::new(StreamingDecoder::new(packed).map_err(damaged)?),
        })
    }
}

fn damaged(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("what is packed cannot be unpacked: {why}"))
}

/// The bytes of a file from one place to another.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(usize::try_from(self.end - self.at).unwrap_or(usize::MAX));
        let read = self.file.read_at(&mut into[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// So many bytes of a file, from there on.
pub(super) fn part(file: &File, offset: u64, length: u64) -> impl Read + '_ {
    BufReader::with_capacity(PIECE, Part { file, at: offset, end: offset.saturating_add(length) })
}

/// Chunks: their number (u32), and of each its length (u32), that of what it holds (u32), itself.
pub(super) struct Chunks<R> {
    from: R,
    packing: Packing,
    /// Chunks that follow; none as long as their number was not read.
    left: Option<u32>,
    most: usize,
    chunk: io::Cursor<Vec<u8>>,
}

impl<R: Read> Chunks<R> {
    /// Reads chunks of bounded length.
    pub fn new(from: R, packing: Packing, most: usize) -> Self {
        Chunks { from, packing, left: None, most, chunk: io::Cursor::default() }
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.from.read_exact(&mut bytes).map_err(|_| damaged("it ends within a chunk"))?;
        Ok(u32::from_ne_bytes(bytes))
    }

    fn next_chunk(&mut self) -> io::Result<()> {
        let (packed, unpacked) = (self.number()?, self.number()? as usize);
        if unpacked > self.most {
            return Err(damaged(format!("a chunk of {unpacked} bytes; {} are the most", self.most)));
        }
        let mut content = std::mem::take(&mut self.chunk).into_inner();
        content.clear();
        let mut source = self.from.by_ref().take(packed.into());
        self.packing.unpack(&mut source)?.take(unpacked as u64).read_to_end(&mut content).map_err(damaged)?;
        io::copy(&mut source, &mut io::sink())?;
        if content.len() < unpacked {
            return Err(damaged(format!("a chunk of {} bytes that should have {unpacked}", content.len())));
        }
        self.chunk = io::Cursor::new(content);
        Ok(())
    }
}

impl<R: Read> Read for Chunks<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.chunk.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let left = match self.left {
                Some(left) => left,
                None => self.number()?,
            };
            if left == 0 {
                self.left = Some(0);
                return Ok(0);
            }
            self.left = Some(left - 1);
            self.next_chunk()?;
        }
    }
}
