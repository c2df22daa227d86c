//! All-reduce and barrier (section 1.5).

use super::combine::{Boxed, ceil_log, rule};
use super::{Chain, Mode, Run, Step};
use crate::topology::Extents;

/// AR-HCUBE, AR-MESH, AR-ANY: along one dimension after the other, lowest
/// first, pairs 2^i apart exchange the whole vector and combine, the lower
/// rank's operand on the left (Fig. 4.11 reread, Eq. 4.5). An extent that is
/// no power of two is folded first and unfolded last (G3: two more steps).
/// Rank order holds: a dimension combines neighbouring intervals of ranks.
pub(crate) fn doubling(extents: &Extents, blocks: Run) -> Boxed {
    let phase = |dim| {
        let e = extents.clone();
        let n = e.extent(dim);
        rule(Fold::new(n).steps(), move |s, rank| {
            let hop = Fold::new(n).step(s, e.coordinate(rank, dim));
            let mut step = Step::default();
            if let Some(x) = hop.send {
                step.send(e.on_line(rank, dim, x), vec![blocks]);
            }
            if let Some((x, store)) = hop.recv {
                let from = e.on_line(rank, dim, x);
                let mode = if store { Mode::Store } else { Mode::combine(from, rank) };
                step.recv(from, vec![blocks], mode);
            }
            step
        })
    };
    Box::new(Chain::new((0..extents.dimensions()).map(phase).collect()))
}

/// Recursive doubling on a line of any length, with the neighbours
/// (0,1), (2,3), .. of the first 2e positions folded into one.
pub(super) struct Fold {
    cube: usize,
    folded: usize,
}

/// Positions on the line: to whom, and from whom (true: store).
#[derive(Default)]
pub(super) struct LineStep {
    pub(super) send: Option<usize>,
    pub(super) recv: Option<(usize, bool)>,
}

impl Fold {
    pub(super) fn new(n: usize) -> Self {
        let cube = n.ilog2() as usize;
        Fold { cube, folded: n - (1 << cube) }
    }

    pub(super) fn steps(&self) -> usize {
        self.cube + if self.folded > 0 { 2 } else { 0 }
    }

    pub(super) fn step(&self, step: usize, x: usize) -> LineStep {
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
        let partner = id ^ (1 << i);
        let x = if partner < self.folded { 2 * partner + 1 } else { partner + self.folded };
        LineStep { send: Some(x), recv: Some((x, false)) }
    }
}

/// BAR-ANY: dissemination (G7), ceil(log p) steps for any p. Contributions may
/// arrive more than once, which only an idempotent combination forgives; a
/// barrier's does.
pub(crate) fn dissemination(p: usize) -> Boxed {
    rule(ceil_log(p), move |k, rank| {
        let h = 1 << k;
        let mut step = Step::default();
        step.send((rank + h) % p, vec![Run::one(0)]);
        step.recv((rank + p - h) % p, vec![Run::one(0)], Mode::Left);
        step
    })
}
