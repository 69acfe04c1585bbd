//! What elevators are built from: sorted queues, sweeps, the order in which tasks are served, and statistics of their requests.

pub(super) mod arrivals;
pub(super) mod bursts;
pub(super) mod habits;
pub(super) mod knobs;
pub(super) mod nearest;
pub(super) mod owners;
pub(super) mod queue;
pub(super) mod raising;
pub(super) mod rate;
pub(super) mod sorted;
pub(super) mod sweep;
pub(super) mod turns;
pub(super) mod wf2q;
