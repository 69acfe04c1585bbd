//! What listens to a run that a page asks for: its spans are kept, or a stretch of it is drawn.
//!
//! One type for both: the kernels of all schedulers are compiled once for each type of listener, and are most of the module.

use crate::schedule::Schedule;
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Observer},
};
use schedlab_traces::gantt::Drafting;

/// One of the two.
pub enum Listener<'a, 'names> {
    /// Keeps spans.
    Spans(&'a mut Schedule),
    /// Draws.
    Drawing(&'a mut Drafting<'names>),
}

impl Observer for Listener<'_, '_> {
    #[inline(always)]
    fn observe(&mut self, event: Event) {
        match self {
            Listener::Spans(schedule) => schedule.observe(event),
            Listener::Drawing(drafting) if is_drawn(event.kind) => draw(drafting, event),
            Listener::Drawing(_) => {}
        }
    }

    /// Ticks and interrupts are no part of either.
    #[inline]
    fn observe_row(&mut self, _: Event, _: u16, _: impl ExactSizeIterator<Item = Nanos> + Clone) {}
}

/// Whether a drawing shows such events.
#[inline(always)]
fn is_drawn(kind: Kind) -> bool {
    use Kind::{Created, Exited, Idle, SwitchIn, SwitchOut, Wakeup};
    matches!(kind, Created | Exited | Idle | SwitchIn | SwitchOut | Wakeup)
}

#[cold]
#[inline(never)]
fn draw(drafting: &mut Drafting<'_>, event: Event) {
    drafting.observe(event);
}
