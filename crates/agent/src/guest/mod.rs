//! The agent as the only program of a guest kernel: as process 1 it mounts what the kernel offers, loads modules, waits until
//! the kernel's own work of the boot is done, and lets the emulator pause and keep the machine; then it runs one order by an
//! ordinary agent, reports the result, and powers off.
//!
//!   in the initial file system          /init            this program
//!                                       /modules/*.ko    the modules to load, in the order of their names
//!                                       /sched_ext/      a scheduler for the kernel to take, if there is to be one ([`ext`])
//!                                       /setup.json      how to get ready ([`Setup`])
//!   from the emulator, after the pause  opt/schedlab/order   the order ([`Order`])
//!                                       opt/schedlab/given   what the order gives its agent on standard input, if anything
//!
//! The initial file system is the same for all orders, so one kept machine serves them all.
//!
//! The answer goes to a serial port of its own, a line of JSON ([`Report`]), so that the kernel's console cannot get into it.

mod emulator;
mod ext;
mod init;
mod order;

pub use init::live;
pub use order::{Order, Report, Setup};
