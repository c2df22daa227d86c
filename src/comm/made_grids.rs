//! The grids that a communicator has made: the latest are kept.

use crate::topology::{BadGrid, Cartesian};

/// A grid that was made, and what was asked for.
pub(super) struct MadeGrid {
    ranks: usize,
    dims: Box<[usize]>,
    pub(super) grid: Cartesian,
    pub(super) number: u64,
}

impl MadeGrid {
    #[inline(always)]
    pub(super) fn is_for(&self, ranks: usize, dims: &[usize], periodic: &[bool]) -> bool {
        // Element by element: of so few a call of `memcmp` takes longer.
        self.ranks == ranks && self.dims.iter().eq(dims) && self.grid.periodic().iter().eq(periodic)
    }
}

/// The latest grids of a communicator.
#[derive(Default)]
pub(super) struct Grids {
    made: Vec<MadeGrid>,
    /// Which of them was used last.
    latest: usize,
    /// The number of the next one.
    next: u64,
}

/// Grids that are kept.
const KEPT: usize = 4;

impl Grids {
    #[inline(always)]
    pub(super) fn latest(&self) -> Option<&MadeGrid> {
        self.made.get(self.latest)
    }

    /// The grid, made if it is not kept.
    pub(super) fn make(
        &mut self,
        ranks: usize,
        dims: &[usize],
        periodic: &[bool],
    ) -> Result<&MadeGrid, BadGrid> {
        let kept = self.made.iter().position(|made| made.is_for(ranks, dims, periodic));
        self.latest = match kept {
            Some(at) => at,
            None => {
                let grid = Cartesian::new(ranks, dims, periodic)?;
                let made = MadeGrid { ranks, dims: dims.into(), grid, number: self.next };
                self.next += 1;
                if self.made.len() < KEPT {
                    self.made.push(made);
                    self.made.len() - 1
                } else {
                    // In turn: the one that is older than all others.
                    let at = (made.number % KEPT as u64) as usize;
                    self.made[at] = made;
                    at
                }
            }
        };
        Ok(&self.made[self.latest])
    }
}
