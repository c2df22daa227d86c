//! What the library promises about a machine, checked on the one at hand (`phalanx check
//! --machine`).
//!
//! | file | promise |
//! |---|---|
//! | `back_ends.rs` | hwloc, sysfs and the machine's own XML describe the same machine |
//! | `allowed_units.rs` | masks and cgroups are respected |
//! | `binding.rs` | ranks run where the placement says |
//! | `level_groups.rs` | `split_by` gives the groups that the machine has |
//! | `placement_gain.rs` | placements cost no more than those that know nothing |
//! | `first_touch.rs` | a rank's memory lies in its own NUMA node |
//! | `right_results.rs` | every call is right, with as many ranks as units and with twice as many |
//! | `expectation.rs` | the machine is the one that the caller says |
//! | `page_nodes.rs` | in which node a page lies |

mod allowed_units;
mod back_ends;
mod binding;
mod expectation;
mod first_touch;
mod level_groups;
mod page_nodes;
mod placement_gain;
mod right_results;

pub(crate) use expectation::ExpectedMachine;

use phalanx::machine::Machine;
use phalanx::{Builder, MAX_RANKS, Team};
use std::time::{Duration, Instant};

/// What came of a check that found nothing wrong.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// The promise holds; what was looked at.
    Holds(String),
    /// There is nothing to check here, and why.
    NotHere(String),
}

/// A promise, and what came of it; `Err` says what is broken.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) name: &'static str,
    pub(crate) result: Result<Kept, String>,
    pub(crate) seconds: f64,
}

/// What is checked.
pub(crate) struct Subject<'a> {
    machine: &'a Machine,
    expected: &'a ExpectedMachine,
    /// The most ranks of a team.
    most: usize,
    deadline: Duration,
}

type PromiseCheck = fn(&Subject<'_>) -> Result<Kept, String>;

const CHECKS: [(&str, PromiseCheck); 8] = [
    ("machine is read alike", back_ends::check),
    ("machine is as expected", expectation::check),
    ("masks are respected", allowed_units::check),
    ("ranks are bound", binding::check),
    ("groups are the machine's", level_groups::check),
    ("placement pays", placement_gain::check),
    ("memory is the rank's own", first_touch::check),
    ("results are right", right_results::check),
];

/// Checks all promises on this machine; `begin` hears the name of each.
pub(crate) fn check_all(
    machine: &Machine,
    expected: &ExpectedMachine,
    most: usize,
    deadline: Duration,
    mut begin: impl FnMut(&str),
) -> Vec<Promise> {
    let subject = Subject { machine, expected, most: most.clamp(1, MAX_RANKS), deadline };
    let check = |&(name, check): &(&'static str, PromiseCheck)| {
        begin(name);
        let since = Instant::now();
        let result = check(&subject);
        Promise { name, result, seconds: since.elapsed().as_secs_f64() }
    };
    CHECKS.iter().map(check).collect()
}

/// The number of promises.
pub(crate) const COUNT: usize = CHECKS.len();

impl Subject<'_> {
    /// A team that ends with an error where it would hang.
    fn builder(&self, ranks: usize) -> Builder {
        Team::builder().ranks(ranks).deadline(self.deadline)
    }

    /// As many ranks as usable cores, and as usable units, as far as they may be.
    fn rank_numbers(&self) -> Vec<usize> {
        let usable = |pus: &[usize]| pus.iter().any(|&pu| self.machine.is_allowed(pu));
        let cores = self.machine.cores().iter().filter(|core| usable(&core.pus)).count();
        let mut numbers = vec![cores, self.machine.allowed_pus().len()];
        numbers.iter_mut().for_each(|n| *n = (*n).clamp(1, self.most));
        numbers.dedup();
        numbers
    }

    /// The usable units; where they are more than a team may have ranks, some from everywhere.
    fn spread_units(&self) -> Vec<usize> {
        let all = self.machine.allowed_pus();
        let n = all.len().min(self.most);
        (0..n).map(|i| all[i * all.len() / n]).collect()
    }
}

/// An error as one line.
fn said(error: impl std::fmt::Display) -> String {
    phalanx_bench::failure::one_line(&error.to_string())
}
