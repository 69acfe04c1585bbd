//! What nice levels weigh in Linux since 2.6.24 (`sched_prio_to_weight`): one level more moves about a tenth of the processor between two
//! tasks that never wait, wherever on the scale they are. Groups of sessions have nice levels and weights of the same kind.

/// Weights from nice -20 to 19; each is about 1.25 times the next.
#[rustfmt::skip]
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291,
    29154, 23254, 18705, 14949, 11916,
     9548,  7620,  6100,  4904,  3906,
     3121,  2501,  1991,  1586,  1277,
     1024,   820,   655,   526,   423,
      335,   272,   215,   172,   137,
      110,    87,    70,    56,    45,
       36,    29,    23,    18,    15,
];

/// The weight of a nice level; one above 19 counts as 19, as the system call has it.
pub fn weight(nice: i8) -> u64 {
    WEIGHTS[(i32::from(nice) + 20).clamp(0, 39) as usize]
}
