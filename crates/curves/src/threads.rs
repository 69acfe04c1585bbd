//! Jobs on all threads of the present rayon pool. A page has none but its own.

/// What each job gives, in the order of the jobs.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn each<J: Sync, R: Send>(jobs: &[J], run: impl Fn(&J) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;
    jobs.par_iter().with_max_len(1).map(run).collect()
}

/// What each job gives, in the order of the jobs.
#[cfg(target_family = "wasm")]
pub(crate) fn each<J, R>(jobs: &[J], run: impl Fn(&J) -> R) -> Vec<R> {
    jobs.iter().map(run).collect()
}
