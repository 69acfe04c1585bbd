//! The evidence that the simulated kernel is right, whatever its policy. One program of many modules: the kernel is compiled for
//! every policy and listener, and once is enough. What only one policy does is tested next to this folder.

mod attention;
mod audit;
mod balancing;
mod calls;
mod closed_forms;
mod deadline;
mod ends;
mod every_hook;
mod exec;
mod fair;
mod groups;
mod idle_states;
mod inversion;
mod least_turnaround;
mod linux_balancing;
mod linux_domains;
mod linux_favoured;
mod linux_placement;
mod linux_rests;
mod loads;
mod machine_effects;
mod one_queue;
mod overhead;
mod preempts;
mod realtime;
mod realtime_placement;
mod seeds;
mod speeds;
mod table;
mod treatment;
mod waking;
mod wasted;
