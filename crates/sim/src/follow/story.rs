//! A kernel's recording on one processor as a policy is led through it: what of it is followed, who can run at its begin, and when
//! the clock ticks.

use super::AT_ONCE;
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave},
    task::TaskId,
};
use std::collections::BTreeMap;

/// Width of the places that are counted to find the ticks.
const BIN: Nanos = 1_000;
const EARLY: Nanos = 5_000; // some ticks are looked from earlier than most
/// What of a recording is followed.
const FOLLOWED: [Kind; 5] = [Kind::Charged, Kind::Wakeup, Kind::SwitchIn, Kind::SwitchOut, Kind::Idle];

/// A kernel's story on one processor.
#[derive(Debug, Clone, Copy)]
pub struct Story<'a> {
    /// Names of the jobs, which its events give by number.
    pub jobs: &'a [String],
    /// What happened, in order of time.
    pub events: &'a [Event],
    /// Earlier events are not followed: tasks that can run then count as woken then, in the order in which they have waited.
    pub from: Nanos,
    /// Nor is what comes from then on.
    pub until: Nanos,
    /// Length of a tick.
    pub tick: Nanos,
}

impl Story<'_> {
    /// What is followed.
    pub fn followed(&self) -> impl Iterator<Item = &Event> {
        let within = self.from..self.until;
        self.events.iter().filter(move |it| within.contains(&it.time) && FOLLOWED.contains(&it.kind))
    }

    /// Tasks that can run when it begins: the one that has waited longest first, the running task last.
    pub fn ready(&self) -> Vec<TaskId> {
        let mut since = BTreeMap::new();
        for it in self.events.iter().take_while(|it| it.time < self.from) {
            match it.kind {
                Kind::SwitchOut if it.flag == Leave::Blocked as u8 || it.flag == Leave::Exited as u8 => {
                    since.remove(&it.task);
                }
                Kind::Wakeup | Kind::SwitchOut => _ = since.insert(it.task, it.time),
                Kind::SwitchIn => _ = since.insert(it.task, self.from),
                _ => {}
            }
        }
        let mut ready: Vec<_> = since.into_iter().map(|(task, since)| (since, task)).collect();
        ready.sort_unstable();
        ready.into_iter().map(|(_, task)| task).collect()
    }

    /// The time of the first tick: two places within a tick are looked from most often, at the tick and at the choice that
    /// it brings about; the tick's is the one before. `silent`: nothing is reported at most ticks, so switches count too.
    pub fn phase(&self, silent: bool) -> Nanos {
        let places = self.tick / BIN;
        let mut looks = vec![0u64; places as usize];
        let switches = |it: &Event| silent && it.kind == Kind::SwitchOut && it.flag == Leave::Preempted as u8;
        for look in self.followed().filter(|it| it.kind == Kind::Charged || switches(it)) {
            looks[(look.time % self.tick / BIN) as usize % places as usize] += 1;
        }
        let most = (0..places).max_by_key(|&place| looks[place as usize]).unwrap_or(0);
        let mut before = (0..AT_ONCE / BIN).map(|back| (most + places - back) % places);
        let often = |place: &Nanos| looks[*place as usize] * 4 > looks[most as usize];
        let tick = before.rfind(often).unwrap_or(most) * BIN;
        (tick + self.tick - EARLY) % self.tick
    }
}
