//! The weights of tasks in Linux since 2.6.24, and virtual time.

use schedlab_model::task::{Policy, Task};

pub use schedlab_model::nice::weight;

/// A weight that rounding must not lose.
pub const LEAST_WEIGHT: u64 = 2;

/// Weight of nice 0.
pub const NICE_0: u64 = 1024;
/// Weight of SCHED_IDLE, whatever the nice level.
pub const IDLE: u64 = 3;

/// The weight of a task.
pub fn of(task: &Task) -> u64 {
    if task.policy == Policy::Idle { IDLE } else { weight(task.nice) }
}

/// Bits behind the point of an inverse weight.
const POINT: u32 = 32;

/// Processor time in the virtual time of such a weight: at nice 0 they are the same.
///
///     virtual time  =  time * f / 2^shift          f  =  1024 * round(2^32 / weight), shortened to 32 bits
///
/// The kernel multiplies by inverse weights (`__calc_delta`), and rounds towards 0 what an exact division would give to
/// within a hundred-millionth. Over a minute that decides which of two tasks is first, so it is done likewise here.
#[inline(always)]
pub fn virtual_time(time: u64, weight: u64) -> i64 {
    if weight == NICE_0 {
        return time as i64;
    }
    let inverse = ((1 << POINT) + weight / 2) / weight;
    let factor = NICE_0 * inverse;
    let excess = (u64::BITS - factor.leading_zeros()).saturating_sub(POINT);
    ((u128::from(time) * u128::from(factor >> excess)) >> (POINT - excess)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_is_that_of_the_inverse_weights_in_the_kernels_table() {
        // sched_prio_to_wmult and WMULT_IDLEPRIO: nice -20, -5, 5, 10, 15, 19, SCHED_IDLE.
        let table =
            [(88761, 48388), (3121, 1376151), (335, 12820798), (110, 39045157), (36, 119304647), (15, 286331153)];
        for (weight, inverse) in table.into_iter().chain([(IDLE, 1431655765u128)]) {
            for time in [1, 999_983, 4_000_000, 59_999_999_999] {
                let exact = (u128::from(time) * inverse) >> (POINT - NICE_0.ilog2());
                // What is lost where the factor is shortened.
                let lost = exact >> 24;
                let found = virtual_time(time, weight) as u128;
                assert!((exact - lost..=exact).contains(&found), "{time} of weight {weight}: {found}, {exact}");
            }
        }
    }
}
