//! # stream
//!
//! Writes a file from its begin to its end, waits until it is on the drive, reads it back, deletes it: `dd` both ways. What is read
//! back from the block cache shows how much of it the cache kept.

use super::{Load, count, fixed, repeat, size};
use schedlab_model::{
    info::{Info, Params},
    program::{FileSet, Place, Step},
    units::Size,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "stream",
        summary: "writes a file, syncs, reads it back, deletes it",
        year: 1974,
        origin: "dd",
        promises: &[],
        parameters: &[
            size("size", "size of the file", "16MiB"),
            size("block", "bytes of each read and write", "64KiB"),
            count("reads", "how often it is read back", 0, "1"),
            super::time("think", "user time before each read and write", "0us"),
        ],
        source: schedlab_model::documentation!("stream.rs"),
    },
    steps,
};

fn steps(params: &Params) -> Vec<Step> {
    let (bytes, block) = (params.whole("size"), params.whole("block"));
    // One name, so that what is deleted is what was created.
    let file = FileSet { files: 1, size: Size(bytes), name: Some("stream".to_owned()), own: true, direct: false };
    let blocks = bytes.div_ceil(block);
    let each = |step: Step| repeat(blocks, vec![Step::Compute(fixed(params, "think")), step]);
    let mut steps = vec![Step::Create(file.clone()), each(Step::Write(Size(block))), Step::Sync];
    if params.whole("reads") > 0 {
        steps.push(repeat(params.whole("reads"), vec![Step::Seek(Place::Start), each(Step::Read(Size(block)))]));
    }
    steps.extend([Step::Close, Step::Delete(file)]);
    steps
}
