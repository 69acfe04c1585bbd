//! The evidence that the simulated kernel is right. One program of many modules: the kernel is compiled for every policy
//! and listener, and once is enough.

mod audit;
mod audited;
mod closed_forms;
mod conformance;
mod contract;
mod every_hook;
mod fair;
mod linux_1_0;
mod loads;
mod machine_effects;
mod measure;
mod minix_rules;
mod muqss;
mod o1;
mod random_scenarios;
mod stride;
mod waking;
