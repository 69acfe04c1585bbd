//! An allocator that counts, for tests that code allocates nothing. With the feature `allocations` only.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting; made the test's own with `#[global_allocator]`.
pub struct Counting;

// SAFETY: every request goes to the system's allocator unchanged; counting touches a number of this thread only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Allocations of this thread so far.
pub fn of_this_thread() -> u64 {
    ALLOCATIONS.with(Cell::get)
}
