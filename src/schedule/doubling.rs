//! The partners in step-by-step exchanges: rules for schedules, and for executors that send the
//! messages themselves.

use super::rule_parts::ceil_log;

/// Recursive doubling on a line of any length, with the neighbours (0,1), (2,3), ..
/// of the first 2e positions folded into one (G3: two more steps).
#[derive(Clone, Copy)]
pub(crate) struct Doubling {
    active: usize,
    folded: usize,
}

/// One position's part of a step: to whom, and from whom (true: a result to store).
#[derive(Default)]
pub(crate) struct LineStep {
    pub(crate) send: Option<usize>,
    pub(crate) recv: Option<(usize, bool)>,
}

impl Doubling {
    #[inline(always)]
    pub(crate) fn of(n: usize) -> Self {
        let active = 1 << n.ilog2();
        Doubling { active, folded: n - active }
    }

    /// Of two positions, of which one is folded into the other, instead of both giving and taking.
    #[inline(always)]
    pub(crate) fn folded_pair() -> Self {
        Doubling { active: 1, folded: 1 }
    }

    /// The positions that remain when each of the first odd ones has taken in its
    /// even neighbour.
    #[inline(always)]
    pub(crate) fn active(&self) -> usize {
        self.active
    }

    /// Number `id` of those that remain, and the neighbour that it has taken in.
    #[inline(always)]
    pub(crate) fn folded(&self, id: usize) -> (Option<usize>, usize) {
        if id < self.folded { (Some(2 * id), 2 * id + 1) } else { (None, id + self.folded) }
    }

    /// Whether some are folded, which takes a first and a last step.
    #[inline(always)]
    pub(crate) fn has_folded(&self) -> bool {
        self.folded > 0
    }

    #[inline(always)]
    pub(crate) fn steps(&self) -> usize {
        self.active.trailing_zeros() as usize + if self.folded > 0 { 2 } else { 0 }
    }

    #[inline(always)]
    pub(crate) fn step(&self, step: usize, x: usize) -> LineStep {
        let paired = x < 2 * self.folded;
        let last = step + 1 == self.steps();
        if self.folded > 0 && (step == 0 || last) {
            return match (paired, x.is_multiple_of(2), last) {
                (false, _, _) => LineStep::default(),
                (_, true, false) => LineStep { send: Some(x + 1), recv: None },
                (_, false, false) => LineStep { send: None, recv: Some((x - 1, false)) },
                (_, true, true) => LineStep { send: None, recv: Some((x + 1, true)) },
                (_, false, true) => LineStep { send: Some(x - 1), recv: None },
            };
        }
        if paired && x.is_multiple_of(2) {
            return LineStep::default();
        }
        let i = if self.folded > 0 { step - 1 } else { step };
        let id = if paired { x / 2 } else { x - self.folded };
        let (_, partner) = self.folded(id ^ (1 << i));
        LineStep { send: Some(partner), recv: Some((partner, false)) }
    }
}

/// Steps of a dissemination among `n`.
pub(crate) fn rounds(n: usize) -> usize {
    ceil_log(n)
}

/// Dissemination (G7): to whom `x` of `n` sends in step `k`, and from whom it receives.
/// After it, `x` has heard, directly or not, of the `2^(k+1)` positions before it.
#[inline(always)]
pub(crate) fn disseminate(k: usize, x: usize, n: usize) -> (usize, usize) {
    let h = 1 << k;
    let to = if x + h < n { x + h } else { x + h - n };
    let from = if x >= h { x - h } else { x + n - h };
    (to, from)
}
