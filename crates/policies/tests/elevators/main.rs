//! Elevators against a drive of a few lines: what holds for all of them, and what each of them promises.

mod drive;
mod insertion_scan;
mod textbook;
