//! # read_files
//!
//! `cat *.c`: opens every file, reads it block by block to its end, optionally prints each block to the terminal, closes.
//! Every block is a system call, and every print another, with a little user time before each.

use super::{Load, fixed, repeat};
use schedlab_model::{
    SECOND,
    info::{Domain, Info, Parameter, Params},
    program::{FileSet, Step},
    units::Size,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "read_files",
        summary: "reads many files block by block, to the terminal or to nowhere",
        year: 1990,
        origin: "cat *.c in the Minix kernel folder",
        promises: &[],
        parameters: &[
            Parameter {
                name: "files",
                meaning: "how many files",
                domain: Domain::Count { low: 1, high: 1_000_000 },
                default: Some("100"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "size",
                meaning: "size of each file",
                domain: Domain::Size { low: 1, high: 1 << 40 },
                default: Some("4KiB"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "block",
                meaning: "bytes asked for by each read",
                domain: Domain::Size { low: 1, high: 1 << 30 },
                default: Some("1KiB"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "print",
                meaning: "whether each block is written to the terminal",
                domain: Domain::Switch,
                default: Some("false"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "user",
                meaning: "user time before each call",
                domain: Domain::Duration { low: 0, high: 100 * SECOND },
                default: Some("200us"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("read_files.rs"),
    },
    steps,
};

fn steps(params: &Params) -> Vec<Step> {
    let (size, block) = (params.whole("size"), params.whole("block"));
    let user = || Step::Compute(fixed(params, "user"));
    let transfer = |bytes: u64| {
        let mut steps = vec![user(), Step::Read(Size(bytes))];
        if params.switch("print") {
            steps.extend([user(), Step::Print(Size(bytes))]);
        }
        steps
    };
    let files = params.whole("files");
    let mut one = vec![
        user(),
        Step::Open(FileSet { files: files as u32, size: Size(size), name: None, own: false, direct: false }),
    ];
    if size >= block {
        one.push(repeat(size / block, transfer(block)));
    }
    if !size.is_multiple_of(block) {
        one.extend(transfer(size % block));
    }
    one.extend([user(), Step::Read(Size(block)), user(), Step::Close]); // the read that finds the end
    vec![repeat(files, one)]
}
