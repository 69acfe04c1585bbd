//! The idle states of a processor: how deep it sleeps while it has nothing to run, and what it takes to come back.

use super::Sourced;
use crate::{Nanos, units::Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An idle state (ACPI C-state), by what the kernel's cpuidle says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// A processor that has been idle for this long is in this state, or in one of longer residency.
    pub residency: Sourced<Duration>,
    /// What it takes to leave it: from an interrupt to the choice of a task, or to the wakeup that a timer makes there. It counts as idle
    /// time.
    pub latency: Sourced<Duration>,
}

/// What leaving the idle state takes after so long an idle time, ns; nothing where there is no state of such a residency.
pub fn exit_latency(states: &[IdleState], idle: Nanos) -> Nanos {
    let entered = states.iter().take_while(|state| state.residency.get().0 <= idle).last();
    entered.map_or(0, |state| state.latency.get().0)
}
