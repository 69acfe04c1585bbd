//! How a guest gets ready, what it is to do, and what it reports.

use schedlab_model::units::Duration;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// What does not depend on the order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Time after the modules are loaded in which the kernel's own work of the boot comes to an end.
    pub settle: Duration,
    /// Whether the machine is paused then, to be kept.
    #[serde(default)]
    pub pause: bool,
    /// Parameters of the modules, by file name.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// One task of the guest, which then powers off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The program and its arguments; `/init` is the agent.
    pub command: Vec<String>,
    /// Time from when the guest is ready, or goes on, to the beginning of the command. It hides how long this took to read.
    pub lead: Duration,
    /// Where the report goes; the command has the console instead, if there is none.
    #[serde(default)]
    pub port: Option<PathBuf>,
}

/// Its result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Exit status of the command, as a shell reports it: 128 and the signal's number, if one ended it.
    pub status: i32,
    /// What the command wrote to standard output.
    pub output: String,
    /// And to standard error.
    pub errors: String,
    /// What the guest could not do beforehand, in words.
    pub troubles: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_without_a_port_and_a_setup_without_parameters_are_understood() {
        let order: Order = serde_json::from_str(r#"{"command": ["/init", "check"], "lead": "1000000000ns"}"#).unwrap();
        assert_eq!((order.lead.0, order.port), (1_000_000_000, None));
        let setup: Setup = serde_json::from_str(r#"{"settle": "8s"}"#).unwrap();
        assert_eq!((setup.settle.0, setup.pause, setup.parameters.len()), (8_000_000_000, false, 0));
    }

    #[test]
    fn a_word_that_is_not_known_is_refused() {
        assert!(serde_json::from_str::<Order>(r#"{"command": [], "lead": "0ns", "comand": []}"#).is_err());
        assert!(serde_json::from_str::<Setup>(r#"{"settle": "0ns", "port": "/dev/ttyS1"}"#).is_err());
    }
}
