//! Shares of the processor by nice level, for policies whose originals have tickets: a level is worth a quarter more than
//! the next one, as in Linux.

/// Tickets of a task of nice level 0.
const AT_ZERO: u64 = 1024;

/// 1024 * 1.25^-nice, rounded, from nice -20 to 20.
const TABLE: [u64; 41] = {
    let mut table = [0; 41];
    let mut level = 0;
    while level <= 20 {
        let (five, four) = (5u128.pow(level), 4u128.pow(level));
        let (many, few) = (AT_ZERO as u128 * five, AT_ZERO as u128 * four);
        table[20 - level as usize] = ((2 * many + four) / (2 * four)) as u64;
        table[20 + level as usize] = ((2 * few + five) / (2 * five)) as u64;
        level += 1;
    }
    table
};

/// The tickets of a task of that nice level: 12 to 88818.
#[inline]
pub fn tickets(nice: i8) -> u64 {
    TABLE[(nice.clamp(-20, 20) + 20) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_worth_a_quarter_more_than_the_next() {
        assert_eq!((tickets(-20), tickets(-1), tickets(0), tickets(1), tickets(20)), (88_818, 1280, 1024, 819, 12));
        for nice in -20..10 {
            let ratio = tickets(nice) as f64 / tickets(nice + 1) as f64;
            assert!((ratio - 1.25).abs() < 0.01, "{ratio} at {nice}");
        }
    }
}
