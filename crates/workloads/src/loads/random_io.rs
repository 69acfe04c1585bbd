//! # random_io
//!
//! Reads and writes blocks at random places of one file, as `fio` does with `rw=randrw`: a database without its cache. After
//! every `reads` blocks read it writes `writes` blocks, and, with `sync`, calls sync.

use super::{Load, count, fixed, repeat, size};
use schedlab_model::{
    info::{Info, Params},
    program::{FileSet, Place, Step},
    units::Size,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "random_io",
        summary: "reads and writes blocks at random places of a file",
        year: 2005,
        origin: "fio, rw=randrw",
        promises: &[],
        parameters: &[
            size("size", "size of the file", "64MiB"),
            size("block", "bytes of each read and write", "4KiB"),
            count("rounds", "rounds in one pass", 1, "1000"),
            count("reads", "blocks read in a round", 0, "1"),
            count("writes", "blocks written in a round", 0, "0"),
            super::switch("sync", "whether a round ends with sync", "false"),
            super::time("think", "user time before each read and write", "20us"),
        ],
        source: schedlab_model::documentation!("random_io.rs"),
    },
    steps,
};

fn steps(params: &Params) -> Vec<Step> {
    let block = Size(params.whole("block"));
    let at_random = |step: Step| vec![Step::Compute(fixed(params, "think")), Step::Seek(Place::Random), step];
    let mut round = Vec::new();
    for (name, step) in [("reads", Step::Read(block)), ("writes", Step::Write(block))] {
        if params.whole(name) > 0 {
            round.push(repeat(params.whole(name), at_random(step)));
        }
    }
    if params.switch("sync") {
        round.push(Step::Sync);
    }
    // A round without anything to read or write still thinks.
    round.push(Step::Compute(fixed(params, "think")));
    let file = FileSet { files: 1, size: Size(params.whole("size")), name: None, own: true, direct: false };
    vec![Step::Open(file), repeat(params.whole("rounds"), round), Step::Close]
}
