//! Recordings of kernels, format by format. They are one program, so that the readers are compiled for the listeners of these tests once.

mod blocks;
mod dat;
mod listener;
mod open;
mod own;
mod perf;
mod perfetto;
#[path = "../sample/mod.rs"]
mod sample;
mod script;
mod text;
mod tracefs;
mod written_perfetto;
