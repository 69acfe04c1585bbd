//! Memory that forked processes share, made of atomic numbers.

use crate::Fault;
use std::{
    ops::Deref,
    sync::atomic::{AtomicI32, AtomicU32, AtomicU64},
};

/// A type that may lie in shared memory and of which all bits zero is a value. [`shareable!`](crate::shareable) implements it for
/// a structure.
///
/// # Safety
/// Made of atomic numbers only, in a fixed layout.
pub unsafe trait Shareable: Sync + 'static {}

// SAFETY: an atomic number.
unsafe impl Shareable for AtomicI32 {}
// SAFETY: an atomic number.
unsafe impl Shareable for AtomicU32 {}
// SAFETY: an atomic number.
unsafe impl Shareable for AtomicU64 {}
// SAFETY: an array of such values has their layout, one after another.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {}

/// Defines a structure that may lie in shared memory. It gets the layout of C; a field that is not itself [`Shareable`] does not
/// compile.
#[macro_export]
macro_rules! shareable {
    ($(#[$about:meta])* $seen:vis struct $name:ident {
        $($(#[$doc:meta])* $field_seen:vis $field:ident: $kind:ty),+ $(,)?
    }) => {
        $(#[$about])*
        #[repr(C)]
        $seen struct $name {
            $($(#[$doc])* $field_seen $field: $kind),+
        }
        // SAFETY: the layout is that of C, and every field is such a value, as the function below shows.
        unsafe impl $crate::shared::Shareable for $name {}
        const _: () = {
            const fn is_shareable<T: $crate::shared::Shareable>() {}
            $(is_shareable::<$kind>();)+
        };
    };
}

/// Values in memory that all processes forked later share. It is never unmapped: it lives as long as the process.
pub struct Shared<T: Shareable>(&'static [T]);

impl<T: Shareable> Shared<T> {
    /// As many values, all zero and present in memory.
    pub fn new(count: usize) -> Result<Shared<T>, Fault> {
        let bytes = (count * size_of::<T>()).max(1);
        let (read_write, common) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice; its memory is zero.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, read_write, common | libc::MAP_POPULATE, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Fault::last(format!("getting {bytes} bytes of shared memory")));
        }
        // SAFETY: pages are aligned for every type of up to a page; the mapping is long enough and never unmapped, and zero is a
        // value of T, which changes only through atomics.
        Ok(Shared(unsafe { std::slice::from_raw_parts(start.cast::<T>(), count) }))
    }

    /// All of them.
    pub fn values(&self) -> &'static [T] {
        self.0
    }
}

impl<T: Shareable> Deref for Shared<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.0
    }
}
