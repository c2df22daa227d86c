//! Rayon's pool. (Its traits have the names of paralight's.)

use phalanx_regions::Pool;
use rayon::prelude::*;

/// Inside of the pool: a region from outside takes longer.
pub(crate) struct Rayon(pub(crate) usize);

impl Pool for Rayon {
    fn tasks(&self) -> usize {
        self.0
    }

    fn region(&mut self, task: &(dyn Fn(usize) + Sync)) {
        (0..self.0).into_par_iter().with_max_len(1).for_each(task);
    }
}
