//! Functions of real numbers, in software: the same result on every machine, in a page too. Those of the standard library are the
//! platform's own, which differ in the last bit.

pub use libm::{exp, exp2, pow};
