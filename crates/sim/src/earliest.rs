//! On machines of many processors, the one that has something to do first: a tournament, in which a processor plays again only when what it
//! does has changed. Few processors are looked at one after the other, which is faster ([`Kernel::earliest`](crate::kernel::Kernel)).

use crate::cpu::Cpu;
use schedlab_model::processors::PerProcessor;

/// From this number of processors on, a tournament is faster.
const MANY: usize = 16;

/// Players of a game. What they have is one line of a real processor's cache.
const PLAYERS: usize = 4;

/// When a processor has something to do, whether that is not the end of a burst, which goes before the end of a slice, and the number of
/// the processor: of two, the lesser one is first.
///
///   time (64 bits), whether no burst ends (1), processor (16)
type Key = u128;

/// Behind every key.
const NONE: Key = Key::MAX;

fn key(cpu: &Cpu, number: u16) -> Key {
    let next = cpu.next();
    Key::from(next) << 17 | Key::from(cpu.burst_end != next) << 16 | Key::from(number)
}

/// The processors, in rounds of games of four.
#[derive(Debug)]
pub(crate) struct Earliest {
    /// Game g of a round is between the winners of games 4 g to 4 g + 3 of the round before, in the first round between processors.
    rounds: Vec<Vec<[Key; PLAYERS]>>,
    /// The winner of the last game.
    first: Key,
    /// Processors that have to play again.
    changed: Vec<u16>,
}

impl Earliest {
    /// For a machine of many processors, all of which have to play.
    pub fn of(processors: usize) -> Option<Box<Earliest>> {
        let (mut rounds, mut players) = (Vec::new(), processors);
        while players > 1 {
            players = players.div_ceil(PLAYERS);
            rounds.push(vec![[NONE; PLAYERS]; players]);
        }
        let changed = (0..processors as u16).collect();
        (processors >= MANY).then(|| Box::new(Earliest { rounds, first: NONE, changed }))
    }

    /// What a processor does next may have changed.
    #[inline]
    pub fn changes(&mut self, cpu: usize) {
        self.changed.push(cpu as u16);
    }

    /// The processor with the earliest end, of equal ones that of a burst, of these the first.
    pub fn first(&mut self, cpus: &PerProcessor<Cpu>) -> usize {
        while let Some(cpu) = self.changed.pop() {
            self.play(cpu.into(), key(&cpus[usize::from(cpu)], cpu));
        }
        usize::from(self.first as u16)
    }

    /// A processor plays again, and the winners of its games play in the next round. Of a game all are compared, so that nothing has to
    /// be guessed.
    fn play(&mut self, mut player: usize, mut key: Key) {
        for round in &mut self.rounds {
            let game = &mut round[player / PLAYERS];
            if std::mem::replace(&mut game[player % PLAYERS], key) == key {
                return; // the same games follow
            }
            let &mut [a, b, c, d] = game;
            key = a.min(b).min(c.min(d));
            player /= PLAYERS;
        }
        self.first = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schedlab_model::Nanos;

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
                let first = (0..processors).min_by_key(|&cpu| key(&cpus[cpu], 0));
                prop_assert_eq!(Some(earliest.first(&cpus)), first);
            }
        }
    }

    #[test]
    fn few_processors_need_none() {
        assert!(Earliest::of(MANY - 1).is_none() && Earliest::of(MANY).is_some());
    }
}
