//! What the fair schedulers of Linux share: groups, bandwidth, load tracking, balancing, real-time classes.

pub(super) mod balance;
pub(super) mod balancer;
pub(super) mod bandwidth;
pub(super) mod busiest;
pub(super) mod change;
pub(super) mod classes;
pub(super) mod domains;
pub(super) mod entity;
pub(super) mod fair;
pub(super) mod hierarchy;
pub(super) mod linux;
pub(super) mod load_avg;
pub(super) mod loads;
pub(super) mod nice_weights;
pub(super) mod pelt;
pub(super) mod placement;
pub(super) mod pools;
pub(super) mod realtime;
pub(super) mod slice_tree;
