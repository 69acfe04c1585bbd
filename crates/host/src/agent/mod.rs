//! Real tasks: the step language as work on files, pipes, timers and memory.

pub mod command;
