//! What the tasks of a command wait for while they sleep, and its connections.
//!
//! ```text
//! cause        what a sleeping task waits for: its system call, and what the descriptor there is
//! descriptors  what a descriptor of another process is
//! tasks        the tasks of the command: those below this process
//! sampler      looks at all of them again and again
//! tcp          what the kernel counts of each TCP connection (sock_diag), also of one that ends
//! remotes      the connections of the command, by remote end
//! ```
//!
//! The kernel accounts for waits for a processor, a drive and memory, and for no others. The rest is estimated: a look finds a task in a wait
//! with the probability that it is in it, so the share of looks is the share of the time, with the error of a sample. Nothing is traced
//! and nothing is changed, so no privilege is needed to look at one's own tasks.

mod cause;
mod descriptors;
mod remotes;
mod sampler;
mod tasks;
pub mod tcp;

pub use cause::Cause;
pub use remotes::Remote;
pub use sampler::{Sampler, Slept, Waits, asleep_on};
