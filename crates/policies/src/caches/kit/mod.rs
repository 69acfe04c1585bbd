//! What caches are built from: linked lists, ghosts, shares of two lists, weights in bytes.

pub(super) mod bytes;
pub(super) mod ghosts;
pub(super) mod links;
pub(super) mod share;
#[cfg(test)]
pub(super) mod trial;
pub(super) mod weights;
