//! How long before the switch to it an idle processor picks a task: from then on the task is charged. Where the switch was not recorded, the
//! charge says when the task was picked, and it came as much later as is usual.

/// What is usual goes towards each that is seen by at most this part of it: half of them are longer.
const STEP: u64 = 16;

/// What is usual among those seen so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Usual(Option<u64>);

impl Usual {
    /// One that was recorded took so long, ns.
    pub fn seen(&mut self, length: u64) {
        let usual = self.0.unwrap_or(length);
        let step = usual / STEP + 1;
        self.0 = Some(length.clamp(usual.saturating_sub(step), usual.saturating_add(step)));
    }

    /// None before the first.
    pub fn ns(self) -> u64 {
        self.0.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_long_ones_do_not_count() {
        let mut usual = Usual::default();
        assert_eq!(usual.ns(), 0);
        for n in 0..1000 {
            usual.seen(if n % 10 == 0 { 1_000_000 } else { 2000 + n % 3 });
        }
        assert!((2000..2300).contains(&usual.ns()), "{usual:?}");
    }
}
