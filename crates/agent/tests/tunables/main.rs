//! Settings are applied, watched and put back: on trees of files as kernels have them, and on this kernel where it permits.

mod applied;
mod killed;
mod live;
mod lost;
mod order;
mod ours;
mod permits;
mod refused;
mod stay;
mod tree;
