//! `vscsi`: requests to the disks of virtual machines, as recorded on VMware ESX (vscsiStats) and read by libCacheSim.
//!
//! Two versions of records, little endian. Every record has its version, which is how they are recognised:
//!
//! | version | bytes | fields |
//! |---|---:|---|
//! | 1 | 32 | serial number (u32), bytes (u32), segments (u32), command (u16), version (u16), block (u64), time in us (u64) |
//! | 2 | 40 | command, version, serial number, bytes, segments, block, time, response time in us (u64) |
//!
//! An object is the block at which a request begins, of as many bytes as are requested, as in libCacheSim. The
//! operation is `read`, `write` or `other`, by the first byte of the SCSI command.

use super::{
    Beginning, Format, Place,
    records::{Layout, Operation, Records, Size, Time},
};

pub(super) const FORMAT: Format = Format {
    name: "vscsi",
    summary: "vscsiStats of VMware ESX, versions 1 and 2: records of 32 or 40 bytes",
    fits: |beginning| version(beginning).map(drop),
    open: |input, _, beginning| {
        let layout = version(beginning).map_err(|why| Place::Whole.problem(format!("is not vscsi: {why}")))?;
        Ok(Box::new(Records::new(layout, input, 0)))
    },
};

const FIRST: Layout = Layout {
    record: 32,
    time: Time::Microseconds(24),
    key: 16,
    size: Size::Four(4),
    operation: Some(Operation::Scsi(12)),
    next: None,
    mark: Some((15, 1)),
};
const SECOND: Layout =
    Layout { record: 40, size: Size::Four(8), operation: Some(Operation::Scsi(0)), mark: Some((3, 2)), ..FIRST };

/// The version that every record of the beginning has.
fn version(beginning: &Beginning<'_>) -> Result<Layout, String> {
    let versions = [FIRST, SECOND].map(|layout| layout.fits(beginning, 0).map(|()| layout));
    match versions {
        [Ok(_), Ok(_)] => Err("its records may be of version 1 and of version 2".to_owned()),
        [Ok(layout), _] | [_, Ok(layout)] => Ok(layout),
        [Err(first), Err(second)] => Err(format!("as version 1, {first}; as version 2, {second}")),
    }
}
