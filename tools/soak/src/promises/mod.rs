//! The library's promises about a machine, checked on the one at hand (`phalanx check
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
//! | `arrays.rs` | distributed and mirrored arrays lie with their ranks |
//! | `right_results.rs` | every call is right, with as many ranks as units and with twice as many |
//! | `expectation.rs` | the machine is the one that the caller says |
//! | `page_nodes.rs` | in which node a page lies |
//! | `subject.rs` | the checked machine, and the result of a check |

mod allowed_units;
mod arrays;
mod back_ends;
mod binding;
mod expectation;
mod first_touch;
mod level_groups;
mod page_nodes;
mod placement_gain;
mod right_results;
mod subject;

pub(crate) use expectation::ExpectedMachine;
pub(crate) use subject::Kept;

use phalanx::MAX_RANKS;
use phalanx::machine::Machine;
use std::time::{Duration, Instant};
use subject::Subject;

/// A promise, and its result; `Err` says which part is broken.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) name: &'static str,
    pub(crate) result: Result<Kept, String>,
    pub(crate) seconds: f64,
}

type PromiseCheck = fn(&Subject<'_>) -> Result<Kept, String>;

const CHECKS: [(&str, PromiseCheck); 9] = [
    ("machine is read alike", back_ends::check),
    ("machine is as expected", expectation::check),
    ("masks are respected", allowed_units::check),
    ("ranks are bound", binding::check),
    ("groups are the machine's", level_groups::check),
    ("placement pays", placement_gain::check),
    ("memory is the rank's own", first_touch::check),
    ("arrays are their ranks'", arrays::check),
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
