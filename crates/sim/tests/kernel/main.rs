//! The evidence that the simulated kernel is right. One program of many modules: the kernel is compiled for every policy
//! and listener, and once is enough.

mod audit;
mod audited;
mod balancing;
mod bsd4;
mod cfs;
mod cfs_v3;
mod closed_forms;
mod conformance;
mod contract;
mod edf;
mod eevdf;
mod every_hook;
mod fair;
mod groups;
mod loads;
mod lottery;
mod machine_effects;
mod measure;
mod measured;
mod minix_rules;
mod mlfq;
mod muqss;
mod o1;
mod random_scenarios;
mod rate_monotonic;
mod realtime;
mod refresh_cycle;
mod rsdl;
mod sleeper;
mod slice_size;
mod srtf;
mod stride;
mod ule;
mod waking;
mod watched;
