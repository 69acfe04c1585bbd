//! The subcommands: what each is given, and what it prints.

pub mod attend;
pub mod background;
pub mod capture;
pub mod peaks;
pub mod profiles;
pub mod record;
pub mod run;
pub mod sample;
pub mod serve;
pub mod settings;
pub mod suspects;
pub mod time;
pub mod volume;
