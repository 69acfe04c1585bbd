//! What a guest is to do, and what it reports.

use schedlab_model::units::Duration;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// One thing to do; then the guest powers off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The program and its arguments; `/init` is the agent.
    pub command: Vec<String>,
    /// Time after the kernel has started us in which its own work of the boot comes to an end.
    pub settle: Duration,
    /// Where the report goes; the command has the console instead, if there is none.
    #[serde(default)]
    pub port: Option<PathBuf>,
    /// Parameters of the modules, by file name.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Exit status of the command, as a shell tells it: 128 and the signal's number, if one ended it.
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
    fn an_order_without_a_port_or_parameters_is_understood() {
        let order: Order =
            serde_json::from_str(r#"{"command": ["/init", "check"], "settle": "8000000000ns"}"#).unwrap();
        assert_eq!((order.settle.0, order.port, order.parameters.len()), (8_000_000_000, None, 0));
    }

    #[test]
    fn an_order_with_a_word_that_is_not_known_is_refused() {
        assert!(serde_json::from_str::<Order>(r#"{"command": [], "settle": "0ns", "comand": []}"#).is_err());
    }
}
