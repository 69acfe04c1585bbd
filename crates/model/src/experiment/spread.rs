//! Work on the cells of a large sweep, spread over the processors.

use std::{
    ops::Range,
    thread::{available_parallelism, scope},
};

/// A thread is started for at least this many cells: fewer take no longer than the thread itself.
const WORTH_A_THREAD: u64 = 256;

/// What `work` makes of some of the cells, in their order; or the error of the first of these parts that has one.
pub(super) fn spread<T: Send, E: Send>(
    cells: Range<u64>,
    work: impl Fn(Range<u64>) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let count = cells.end.saturating_sub(cells.start);
    let threads = available_parallelism().map_or(1, |found| found.get() as u64).min(count / WORTH_A_THREAD).max(1);
    let part = |number: u64| cells.start + count * number / threads..cells.start + count * (number + 1) / threads;
    scope(|scope| {
        let work = &work;
        let others: Vec<_> = (1..threads).map(|number| scope.spawn(move || work(part(number)))).collect();
        let first = work(part(0));
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_order_and_leave_no_cell_out() {
        for (first, last) in [(0, 0), (0, 1), (3, 700), (0, 10_000)] {
            let parts = spread(first..last, |part| Ok::<_, ()>(part.collect::<Vec<_>>())).unwrap();
            assert_eq!(parts.concat(), (first..last).collect::<Vec<_>>());
        }
    }

    #[test]
    fn of_several_errors_the_first_one_counts() {
        let refused = |part: Range<u64>| part.into_iter().find(|cell| cell % 1000 == 7).map_or(Ok(()), Err);
        assert_eq!(spread(0..10_000, refused), Err(7));
    }
}
