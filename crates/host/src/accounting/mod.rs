//! Where the time of a command went.

pub mod command;
