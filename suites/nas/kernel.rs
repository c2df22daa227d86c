//! The common interface of the kernels.

use super::cg::Cg;
use super::class::Class;
use super::ep::Ep;
use super::ft::Ft;
use super::is::Is;
use super::mg::Mg;
use super::outcome::Outcome;
use super::spmd::Spmd;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Ep,
    Cg,
    Is,
    Ft,
    Mg,
}

impl Kernel {
    pub(crate) const ALL: [Kernel; 5] =
        [Kernel::Ep, Kernel::Cg, Kernel::Is, Kernel::Ft, Kernel::Mg];
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_uppercase())
    }
}

/// A kernel with its data: all ranks start from it, and its making is not timed.
pub(crate) struct Problem {
    pub(crate) kernel: Kernel,
    pub(crate) class: Class,
    data: Data,
}

enum Data {
    Ep(Ep),
    Cg(Cg),
    Is(Is),
    Ft(Ft),
    Mg(Mg),
}

impl Problem {
    pub(crate) fn new(kernel: Kernel, class: Class) -> Self {
        let data = match kernel {
            Kernel::Ep => Data::Ep(Ep::new(class)),
            Kernel::Cg => Data::Cg(Cg::new(class)),
            Kernel::Is => Data::Is(Is::new(class)),
            Kernel::Ft => Data::Ft(Ft::new(class)),
            Kernel::Mg => Data::Mg(Mg::new(class)),
        };
        Problem { kernel, class, data }
    }

    /// Whether that many ranks can share it.
    pub(crate) fn check_ranks(&self, ranks: usize) -> Result<(), String> {
        let (most, what) = match &self.data {
            Data::Ft(ft) => (ft.most_ranks(), "a plane of both kinds"),
            Data::Mg(mg) => (mg.most_ranks(), "two planes"),
            Data::Ep(_) | Data::Cg(_) | Data::Is(_) => return Ok(()),
        };
        if ranks <= most {
            return Ok(());
        }
        Err(format!(
            "{} {} takes at most {most} ranks, so that each has {what}",
            self.kernel, self.class
        ))
    }

    /// Millions of operations, as the benchmark counts them.
    pub(crate) fn mops(&self) -> f64 {
        match &self.data {
            Data::Ep(ep) => ep.mops(),
            Data::Cg(cg) => cg.mops(),
            Data::Is(is) => is.mops(),
            Data::Ft(ft) => ft.mops(),
            Data::Mg(mg) => mg.mops(),
        }
    }

    /// A rank's part.
    pub(crate) fn spmd<C: Spmd>(&self, comm: &mut C) -> Outcome {
        match &self.data {
            Data::Ep(ep) => ep.spmd(comm),
            Data::Cg(cg) => cg.spmd(comm),
            Data::Is(is) => is.spmd(comm),
            Data::Ft(ft) => ft.spmd(comm),
            Data::Mg(mg) => mg.spmd(comm),
        }
    }
}
