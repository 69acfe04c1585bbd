//! Memory: the pages of the machine, the pages of its tasks, the block cache, and reclaim.
//!
//! Data and rules only: nothing here waits or knows a drive. The simulated kernel asks; the answer says what must be transferred
//! before it can continue. `cache.rs` is the block cache, `swap.rs` the swap area, `pages.rs` the tasks' pages and faults,
//! `room.rs` how blocks find room, `reclaim.rs` how pages are gained.

mod cache;
mod pages;
mod reclaim;
mod room;
mod swap;

pub use cache::{Block, BlockCache, Evicted, Name, Part, State};
pub use pages::{Fault, Memory, Setup, Usage};
pub use reclaim::Found;
pub use room::Room;
pub use swap::SwapArea;
