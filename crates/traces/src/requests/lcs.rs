//! `lcs`: libCacheSim's own format since 2024, versions 1 to 8.
//!
//! A header of 8,192 bytes begins and ends with a magic number, and has the version (u64 at byte 8). Then records, little
//! endian, without gaps:
//!
//! | version | bytes | fields |
//! |---|---:|---|
//! | 1 | 24 | time in s (u32), object (u64), size (u32), next request (i64) |
//! | 2 | 28 | time, object, size, operation (u8), tenant (24 bits), next request |
//! | 3 | 36 | time, object, size (i64), operation, tenant, time to live (u32), next request |
//! | 4 to 8 | 40 to 100 | as 3, and 1, 2, 4, 8 or 16 features (u32) |

use super::{
    Beginning, Format, Input, Place,
    records::{Layout, Operation, Records, Size, Time},
};
use std::io::Read;

pub(super) const FORMAT: Format = Format {
    name: "lcs",
    summary: "libCacheSim's lcs, versions 1 to 8: a header and records of 24 to 100 bytes",
    fits: |beginning| layout(beginning).map(drop),
    open: |input, _, beginning| {
        let layout = layout(beginning).map_err(|why| Place::Whole.problem(format!("is not lcs: {why}")))?;
        let input = behind_header(input).map_err(|why| Place::Whole.problem(super::reason(&why)))?;
        Ok(Box::new(Records::new(layout, input, HEADER)))
    },
};

const HEADER: usize = 8192;
const MAGIC: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();
/// Records of version 1; those of 2 have an operation, those of 3 more bytes for the size.
const FIRST: Layout = Layout {
    record: 24,
    time: Time::Seconds(0),
    key: 4,
    size: Size::Four(12),
    operation: None,
    next: Some(16),
    mark: None,
};
const SECOND: Layout = Layout { record: 28, operation: Some(Operation::Cache(16)), next: Some(20), ..FIRST };
const THIRD: Layout =
    Layout { record: 36, size: Size::Eight(12), operation: Some(Operation::Cache(20)), next: Some(28), ..FIRST };

/// Whether a file begins with the magic number, which no other format does.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// By the header. The records are held to it while they are read.
fn layout(beginning: &Beginning<'_>) -> Result<Layout, String> {
    let header = beginning.bytes.get(..HEADER).unwrap_or(beginning.bytes);
    if !begins(header) {
        return Err("it does not begin with the magic number".to_owned());
    }
    if header.len() < HEADER || !header.ends_with(&MAGIC) {
        return Err(format!(
            "the header of {HEADER} bytes does not end with the magic number: it is damaged or cut off"
        ));
    }
    match u64::from_le_bytes(header[8..16].try_into().expect("eight bytes")) {
        1 => Ok(FIRST),
        2 => Ok(SECOND),
        3 => Ok(THIRD),
        version @ 4..=8 => Ok(Layout { record: THIRD.record + 4 * (1 << (version - 4)), ..THIRD }),
        other => Err(format!("the version is {other}, not 1 to 8")),
    }
}

fn behind_header(mut input: Input) -> std::io::Result<Input> {
    input.read_exact(&mut [0; HEADER])?;
    Ok(input)
}
