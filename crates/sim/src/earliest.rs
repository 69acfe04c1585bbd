//! On machines of many processors, the one that has something to do first: a tournament, in which a processor plays again only when what it
//! does has changed. Few processors are looked at one after the other, which is faster ([`Kernel::earliest`](crate::kernel::Kernel)).

use crate::cpu::Cpu;
use schedlab_model::{Nanos, processors::PerProcessor};

/// From this number of processors on, a tournament is faster.
const MANY: usize = 16;

/// The processors, paired in rounds.
#[derive(Debug)]
pub(crate) struct Earliest {
    /// By processor, what it plays with; none beyond the last processor.
    keys: Vec<Key>,
    /// The winners of the games: the first is that of the tournament, game g is between the winners of 2 g and 2 g + 1.
    winners: Vec<u16>,
    /// Processors that have to play again.
    changed: Vec<u16>,
}

/// When a processor has something to do, and whether that is not the end of a burst, which goes before the end of a slice.
type Key = (Nanos, bool);

const NONE: Key = (Nanos::MAX, true);

fn key(cpu: &Cpu) -> Key {
    let next = cpu.next();
    (next, cpu.burst_end != next)
}

impl Earliest {
    /// For a machine of many processors, all of which have to play.
    pub fn of(processors: usize) -> Option<Box<Earliest>> {
        let size = processors.next_power_of_two();
        let changed = (0..processors as u16).collect();
        // Before the first game each processor is the winner of its own part.
        let leftmost = |game: usize| (game << (size.ilog2() - game.max(1).ilog2())) - size;
        let winners = (0..size).map(|game| if game == 0 { 0 } else { leftmost(game) as u16 }).collect();
        (processors >= MANY).then(|| Box::new(Earliest { keys: vec![NONE; size], winners, changed }))
    }

    /// What a processor does next may have changed.
    #[inline]
    pub fn changes(&mut self, cpu: usize) {
        self.changed.push(cpu as u16);
    }

    /// The processor with the earliest end, of equal ones that of a burst, of these the first.
    pub fn first(&mut self, cpus: &PerProcessor<Cpu>) -> usize {
        while let Some(cpu) = self.changed.pop() {
            self.play(cpu.into(), key(&cpus[usize::from(cpu)]));
        }
        self.winners[1].into()
    }

    fn play(&mut self, cpu: usize, key: Key) {
        if self.keys[cpu] == key {
            return;
        }
        self.keys[cpu] = key;
        let size = self.keys.len();
        let mut game = (size + cpu) / 2;
        let (mut left, mut right) = (cpu & !1, cpu | 1);
        while game > 0 {
            let winner = if self.keys[right] < self.keys[left] { right } else { left };
            if winner != cpu && self.winners[game] == winner as u16 {
                return; // as before, and what the winner does has not changed: the same games follow
            }
            self.winners[game] = winner as u16;
            game /= 2;
            (left, right) = (self.winner(2 * game), self.winner(2 * game + 1));
        }
    }

    fn winner(&self, game: usize) -> usize {
        self.winners[game % self.keys.len()].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_one_found_by_looking_at_all(
            processors in prop_oneof![16..70usize, 1000..1024usize],
            steps in prop::collection::vec((any::<u16>(), 0..4u64, 0..4u64), 1..200),
        ) {
            let mut cpus = PerProcessor::new(processors as u16, |_| Cpu::default());
            let mut earliest = Earliest::of(processors).expect("they are many");
            for (cpu, burst, slice) in steps {
                let cpu = usize::from(cpu) % processors;
                let time = |number: u64| if number == 3 { Nanos::MAX } else { number };
                (cpus[cpu].burst_end, cpus[cpu].slice_end) = (time(burst), time(slice));
                earliest.changes(cpu);
                let first = (0..processors).min_by_key(|&cpu| key(&cpus[cpu]));
                prop_assert_eq!(Some(earliest.first(&cpus)), first);
            }
        }
    }

    #[test]
    fn few_processors_need_none() {
        assert!(Earliest::of(MANY - 1).is_none() && Earliest::of(MANY).is_some());
    }
}
