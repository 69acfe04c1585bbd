//! Tasks that give their processors to others though they could go on (`sched_yield(2)`). A recording has that call only if system calls
//! are recorded. Else a switch shows it, from a task that could go on, before which nothing came to its processor since the task did that
//! could have made the kernel choose anew: no interrupt, and no task that was woken for that processor or moved there.
//!
//! Some such switches are no yields: what came to the processor right before the task may take effect after it. So a task yields by itself
//! where more than half of those of its switches that leave it ready are such, and at least 20. Recordings that lack the interrupts of the
//! processors' timers show none: a tick may be the reason of any switch.

/// Fewer are chance.
const FEW: u32 = 20;

/// How it is known that a task yielded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yield {
    /// It called the kernel for that.
    Called,
    /// It left its processor, and nothing else explains that.
    Unexplained,
}

/// What came to a processor since its task did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Came {
    /// Something that can make the kernel choose anew.
    reason: bool,
}

impl Came {
    /// An interrupt, or another task.
    pub fn reason(&mut self) {
        self.reason = true;
    }

    /// The task leaves: whether nothing came. What did is over.
    pub fn leaves(&mut self) -> bool {
        !std::mem::take(self).reason
    }
}

/// How often a task called the kernel to yield, and left its processor while it could go on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shown {
    called: u32,
    left: u32,
    unexplained: u32,
}

impl Shown {
    /// It called.
    pub fn called(&mut self) {
        self.called = self.called.saturating_add(1);
    }

    /// It left.
    pub fn left(&mut self, unexplained: bool) {
        self.left = self.left.saturating_add(1);
        self.unexplained = self.unexplained.saturating_add(u32::from(unexplained));
    }

    /// Whether it yielded where it did so by what is known, in a recording that has ticks or not. One whose calls are recorded did there only.
    pub fn is_yield(self, how: Yield, ticks: bool) -> bool {
        let often = self.unexplained >= FEW && self.unexplained > self.left / 2;
        how == Yield::Called || ticks && self.called == 0 && often
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(called: u32, unexplained: u32, explained: u32) -> Shown {
        let mut shown = Shown::default();
        (0..called).for_each(|_| shown.called());
        (0..unexplained).for_each(|_| shown.left(true));
        (0..explained).for_each(|_| shown.left(false));
        shown
    }

    #[test]
    fn a_task_yields_where_most_of_what_nothing_else_explains_is_such() {
        let by_itself = |unexplained, explained| shown(0, unexplained, explained).is_yield(Yield::Unexplained, true);
        assert_eq!(
            [by_itself(19, 0), by_itself(20, 0), by_itself(20, 19), by_itself(20, 20)],
            [false, true, true, false]
        );
        assert!(!shown(0, 20, 0).is_yield(Yield::Unexplained, false), "ticks are not recorded");
        assert!(!shown(1, 20, 0).is_yield(Yield::Unexplained, true), "its calls are");
        assert!(shown(1, 20, 90).is_yield(Yield::Called, false));
    }

    #[test]
    fn what_came_to_the_processor_explains_one_switch_only() {
        let mut came = Came::default();
        came.reason();
        assert_eq!([came.leaves(), came.leaves()], [false, true]);
    }
}
