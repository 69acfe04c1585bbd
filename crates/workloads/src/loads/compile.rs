//! # compile
//!
//! `make -j`: starts a compiler for each file, at most `jobs` at a time; each waits for its source, computes and exits. The
//! computing times are exponentially distributed. One pass is one build.

use super::{Load, repeat};
use schedlab_model::{
    MILLISECOND, SECOND,
    info::{Domain, Info, Parameter, Params},
    program::{Span, Step},
    units::Duration,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "compile",
        summary: "one compiler per file, a limited number in parallel, like make -j",
        year: 1988,
        origin: "make -j of GNU make",
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
                name: "jobs",
                meaning: "compilers that run in parallel",
                domain: Domain::Count { low: 1, high: 10_000 },
                default: Some("4"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "compute",
                meaning: "processor time of a compiler, the mean",
                domain: Domain::Duration { low: MILLISECOND / 1000, high: 1000 * SECOND },
                default: Some("100ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "wait",
                meaning: "time until its source is there, the mean",
                domain: Domain::Duration { low: 0, high: 1000 * SECOND },
                default: Some("5ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("compile.rs"),
    },
    steps,
};

fn steps(params: &Params) -> Vec<Step> {
    let mean = |name| Span::Exp { exp: Duration(params.whole(name)) };
    let compiler = || Step::Fork(vec![Step::Sleep(mean("wait")), Step::Compute(mean("compute"))]);
    let files = params.whole("files");
    let jobs = params.whole("jobs").min(files);
    let mut steps = vec![repeat(jobs, vec![compiler()])];
    if files > jobs {
        steps.push(repeat(files - jobs, vec![Step::Wait, compiler()]));
    }
    steps.push(repeat(jobs, vec![Step::Wait]));
    steps
}
