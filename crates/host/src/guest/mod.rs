//! The agent as the only program of a guest kernel: as process 1 it mounts what the kernel offers, loads modules, waits until
//! the kernel's own work of the boot is done, runs one order by an ordinary agent, tells what came of it, and powers off.
//!
//!   /init            this program
//!   /modules/*.ko    the modules to load, in the order of their names
//!   /order.json      the order ([`Order`])
//!   /plan.json       what the order gives its agent on standard input, if anything
//!
//! The answer goes to a serial port of its own, a line of JSON ([`Report`]), so that the kernel's console cannot get into it.

mod init;
mod order;

pub use init::live;
pub use order::{Order, Report};
