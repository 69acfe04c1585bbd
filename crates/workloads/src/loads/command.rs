//! # command
//!
//! Runs a command of the shell, whatever it is: `{ load = "command", run = "make -j4" }`. Only real machines (a host, a guest)
//! have commands; a simulated one refuses it.

use super::Load;
use schedlab_model::{
    info::{Domain, Info, Parameter},
    program::Step,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "command",
        summary: "runs a command of the shell, on real machines only",
        year: 2026,
        origin: "loads that no model describes: a build, a benchmark, a script",
        promises: &[],
        parameters: &[Parameter {
            name: "run",
            meaning: "what the shell is given; the task waits for its end",
            domain: Domain::Text,
            default: None,
            logarithmic: false,
            grows: false,
            host: None,
        }],
        source: schedlab_model::documentation!("command.rs"),
    },
    steps: |params| vec![Step::Run(params.name("run").to_owned())],
};
