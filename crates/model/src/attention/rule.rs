//! Which program is at which level: by its rule in the layout, by recent attention, and by what its level has to do.
//!
//! ```text
//! fixed          a rule puts it at a level, and attention does not move it
//! foreground     it has been in focus for `dwell`, and there is room: at most `foreground` programs, of which the one out of focus with
//!                the least attention makes room. It leaves when it is out of focus and its attention is below `leave`
//! home           the level of its rule, or the one named background
//! batch          out of focus, attention below `rest`, and busy: an average use above `busy`, and not below half of it since
//! ```
//!
//! Attention takes no program out of the foreground, into batch or back before it has been where it is for `stay`. So a click elsewhere
//! changes nothing at once, and a few changes of focus a second change nothing at all.

use super::{
    check::MOVED,
    layout::Layout,
    overload::{Levels, Program, User},
    rank::{after, kept},
};
use crate::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where a program belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// The number of its level.
    pub level: usize,
    /// Attention moves it.
    pub follows: bool,
}

/// Why a program is at its level, before overload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A rule puts it there.
    Fixed,
    /// It has attention.
    Foreground,
    /// It has little, or had none yet.
    Home,
    /// It has none, and is busy.
    Batch,
}

/// Where a program is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// The number of the level.
    pub level: usize,
    /// Why.
    pub standing: Standing,
    /// Levels of these that overload took, at most two.
    pub lowered: usize,
    /// Recent attention, 0 to 1.
    pub attention: f64,
    /// Processors that it used in the last period.
    pub used: f64,
}

#[derive(Debug, Clone)]
struct State {
    home: Home,
    standing: Standing,
    /// When its standing changed last.
    since: Nanos,
    attention: f64,
    /// Average use, in processors.
    average: f64,
    busy: bool,
}

/// The rule, with what it knows of the past. Times never go back; one that does is taken as the last one.
#[derive(Debug, Clone)]
pub struct Attention {
    layout: Layout,
    moved: [usize; 3],
    programs: BTreeMap<Program, State>,
    users: BTreeMap<Program, User>,
    levels: Levels,
    focus: Option<(Program, Nanos)>,
    as_of: Nanos,
    period_began: Nanos,
}

impl Attention {
    /// Nothing known yet, at that time, on a machine with that number of processors. The layout is a checked one.
    pub fn new(layout: Layout, processors: usize, at: Nanos) -> Attention {
        let moved = MOVED.map(|name| layout.number(name).expect("the layout is checked"));
        let levels = Levels::new(layout.level.len(), processors);
        let (programs, users) = (BTreeMap::new(), BTreeMap::new());
        Attention { layout, moved, programs, users, levels, focus: None, as_of: at, period_began: at }
    }

    /// Where a program belongs that no rule names.
    pub fn usual_home(&self) -> Home {
        Home { level: self.moved[1], follows: true }
    }

    /// A program appears. One that is there already stays as it is.
    pub fn enter(&mut self, program: Program, home: Home) {
        let standing = if home.follows { Standing::Home } else { Standing::Fixed };
        let state = State { home, standing, since: self.as_of, attention: 0.0, average: 0.0, busy: false };
        self.programs.entry(program).or_insert(state);
        let user = User { base: home.level, lowered: 0, used: 0.0, calm_since: None };
        self.users.entry(program).or_insert(user);
    }

    /// A program is gone.
    pub fn leave(&mut self, program: Program) {
        self.programs.remove(&program);
        self.users.remove(&program);
        self.focus = self.focus.filter(|(focus, _)| *focus != program);
    }

    /// The focus changes, to a program that has appeared or to none.
    pub fn focus(&mut self, at: Nanos, program: Option<Program>) {
        // What was due before counts first.
        self.settle(at);
        let program = program.filter(|program| self.programs.contains_key(program));
        if program != self.focus.map(|(program, _)| program) {
            self.focus = program.map(|program| (program, self.as_of));
        }
        self.settle(at);
    }

    /// A period ends, in which programs have used that much processor time, ns. Those that are not named used none.
    pub fn period(&mut self, at: Nanos, used: &BTreeMap<Program, Nanos>) {
        self.advance(at);
        let (began, length) = (self.period_began, self.as_of.saturating_sub(self.period_began));
        if length == 0 {
            return;
        }
        self.period_began = self.as_of;
        let (kept, busy) = (kept(length, self.layout.attention.half_life.0), self.layout.attention.busy);
        for (program, state) in &mut self.programs {
            let now = used.get(program).copied().unwrap_or(0) as f64 / length as f64;
            // average use = average * kept + use in this period * (1 - kept)
            state.average = state.average * kept + now * (1.0 - kept);
            state.busy = state.average > if state.busy { busy / 2.0 } else { busy };
            self.users.get_mut(program).expect("each program is a user").used = now;
        }
        self.settle(at);
        self.levels.period(began, self.as_of, &self.layout.overload, &mut self.users);
    }

    /// Time passes: whatever is due happens.
    pub fn settle(&mut self, at: Nanos) {
        self.advance(at);
        self.rest();
        self.attend();
        self.place();
    }

    /// When something is due before the next period: the focus has lasted, or there is room for the program that has it.
    pub fn due(&self) -> Option<Nanos> {
        let (program, since) = self.focus?;
        let state = &self.programs[&program];
        if !state.home.follows || state.standing == Standing::Foreground {
            return None;
        }
        let dwelt = since + self.layout.attention.dwell.0;
        if dwelt > self.as_of {
            return Some(dwelt);
        }
        let stayed = self.foreground().map(|(_, state)| state.since + self.layout.attention.stay.0);
        stayed.min().filter(|due| *due > self.as_of)
    }

    /// Where a program is.
    pub fn placement(&self, program: Program) -> Option<Placement> {
        let (state, user) = (self.programs.get(&program)?, self.users.get(&program)?);
        Some(Placement {
            level: user.level(self.layout.level.len()),
            standing: state.standing,
            lowered: user.lowered,
            attention: state.attention,
            used: user.used,
        })
    }

    /// All programs and where they are, in the order of their numbers.
    pub fn placements(&self) -> impl Iterator<Item = (Program, Placement)> {
        self.programs.keys().filter_map(|program| Some((*program, self.placement(*program)?)))
    }

    /// The program in focus.
    pub fn focused(&self) -> Option<Program> {
        self.focus.map(|(program, _)| program)
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn advance(&mut self, at: Nanos) {
        let Some(passed) = at.checked_sub(self.as_of).filter(|passed| *passed > 0) else { return };
        self.as_of = at;
        let (kept, focus) = (kept(passed, self.layout.attention.half_life.0), self.focused());
        for (program, state) in &mut self.programs {
            state.attention = after(state.attention, kept, Some(*program) == focus);
        }
    }

    fn foreground(&self) -> impl Iterator<Item = (&Program, &State)> {
        self.programs.iter().filter(|(_, state)| state.standing == Standing::Foreground)
    }

    /// Programs out of focus leave the foreground, become batch work, or are none any more.
    fn rest(&mut self) {
        let (by, as_of, focus) = (self.layout.attention.clone(), self.as_of, self.focused());
        let stayed = |state: &State| as_of - state.since >= by.stay.0;
        for (_, state) in self.programs.iter_mut().filter(|(program, state)| Some(**program) != focus && stayed(state))
        {
            let next = match state.standing {
                Standing::Foreground if state.attention < by.leave => Standing::Home,
                Standing::Home if state.busy && state.attention < by.rest => Standing::Batch,
                Standing::Batch if !state.busy => Standing::Home,
                _ => continue,
            };
            (state.standing, state.since) = (next, as_of);
        }
    }

    /// The program in focus comes to the foreground, if it has been in focus long enough and there is room.
    fn attend(&mut self) {
        let Some((program, since)) = self.focus else { return };
        let state = &self.programs[&program];
        let dwelt = self.as_of - since >= self.layout.attention.dwell.0;
        if !dwelt || !state.home.follows || state.standing == Standing::Foreground || !self.make_room() {
            return;
        }
        let as_of = self.as_of;
        let state = self.programs.get_mut(&program).expect("it was just there");
        (state.standing, state.since) = (Standing::Foreground, as_of);
    }

    /// Whether there is room for one more in the foreground, if need be because another leaves it.
    fn make_room(&mut self) -> bool {
        let (as_of, by) = (self.as_of, &self.layout.attention);
        if self.foreground().count() < by.foreground {
            return true;
        }
        let stayed = self.foreground().filter(|(_, state)| as_of - state.since >= by.stay.0);
        let least =
            stayed.min_by(|one, other| one.1.attention.total_cmp(&other.1.attention)).map(|(program, _)| *program);
        let Some(state) = least.and_then(|program| self.programs.get_mut(&program)) else { return false };
        (state.standing, state.since) = (Standing::Home, as_of);
        true
    }

    fn place(&mut self) {
        let [foreground, _, batch] = self.moved;
        for (program, state) in &self.programs {
            self.users.get_mut(program).expect("each program is a user").base = match state.standing {
                Standing::Fixed | Standing::Home => state.home.level,
                Standing::Foreground => foreground.min(state.home.level),
                Standing::Batch => batch.max(state.home.level),
            };
        }
    }
}
