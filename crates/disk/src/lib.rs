//! Drives, and the queue of requests above each: what a drive does when, and which request is next.
