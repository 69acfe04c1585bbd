//! Elevators against a drive of a few lines: what holds for all of them, and what each of them promises.

mod anticipation;
mod conformance;
mod deadlines;
mod fair;
mod insertion_scan;
mod rig;
mod textbook;
mod weights;
