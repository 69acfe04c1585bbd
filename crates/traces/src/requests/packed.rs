//! What a file is packed with, by how it begins. zstd and gzip are unpacked as they are read; others are named.

use super::{Input, Place, Problem, look, reason, zstd};
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Read};

/// How packed files begin that are not read here, and what unpacks them.
const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"BZh", "bzip2", "bzip2 -dc"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
    (b"\x1f\x9d", "compress", "gzip -dc"),
];
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The beginning of the content, and all of it.
pub(crate) fn unpack(input: Input) -> Result<(Vec<u8>, Input), Problem> {
    let whole = |why: io::Error| Place::Whole.problem(reason(&why));
    let (beginning, input) = look(input).map_err(whole)?;
    let unpacked: Input = match () {
        () if zstd::packed(&beginning) => Box::new(zstd::Frames::new(BufReader::new(input))),
        () if beginning.starts_with(GZIP) => Box::new(Gzip(MultiGzDecoder::new(BufReader::new(input)))),
        () => {
            return match OTHERS.iter().find(|(magic, ..)| beginning.starts_with(magic)) {
                // A text may begin with any of these letters; what follows in a packed file is no text.
                Some((_, name, command)) if beginning.iter().any(|byte| *byte < 9) => Err(Place::Whole.problem(format!(
                    "is packed with {name}, which is not read here: unpack it ({command}), or pack it with zstd or gzip"
                ))),
                _ => Ok((beginning, input)),
            };
        }
    };
    let (beginning, input) = look(unpacked).map_err(whole)?;
    if zstd::packed(&beginning) || beginning.starts_with(GZIP) {
        return Err(Place::Whole.problem("is packed twice: unpack it once"));
    }
    Ok((beginning, input))
}

/// The content of a gzip file of any number of members, each held to its checksum.
struct Gzip<R>(MultiGzDecoder<R>);

impl<R: io::BufRead> Read for Gzip<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|why| io::Error::other(format!("the gzip file is damaged or cut off: {why}")))
    }
}
