//! The cores of this process, and the number of ranks when none is given.

use phalanx::machine::{Machine, affinity};
use std::env;
use std::thread;

/// How many ranks can run all the time: one a core, within the quota of the process.
fn at_once() -> usize {
    let cores = available();
    // (Of a container's groups the standard library does not know the quota of version 1.)
    let machine = Machine::this().ok();
    let quota = machine.and_then(|machine| machine.quota().map(|it| it.ranks()));
    quota.map_or(cores, |quota| cores.min(quota))
}

/// The number of ranks: the given one, else PHALANX_RANKS, else as many as can run all the time.
///
/// # Errors
/// If PHALANX_RANKS is no positive number.
pub fn ranks(given: Option<usize>) -> Result<usize, String> {
    if let Some(given) = given.filter(|it| *it > 0) {
        return Ok(given);
    }
    match env::var("PHALANX_RANKS") {
        Ok(text) => match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("PHALANX_RANKS is {text:?}: not a positive number")),
        },
        Err(_) => Ok(at_once()),
    }
}

/// The cores that this process may use; none if that is not known.
pub(crate) fn cores() -> Vec<usize> {
    affinity::current_mask().unwrap_or_default()
}

/// How many there are.
pub(crate) fn available() -> usize {
    // (The standard library does not read a mask of more than 1024 processors.)
    let all = thread::available_parallelism().map_or(1, usize::from);
    Some(cores().len()).filter(|it| *it > 0).map_or(all, |it| it.min(all))
}

/// Keeps the calling thread to these cores, if there are any, and the system allows.
pub(crate) fn pin(cores: &[usize]) {
    drop(affinity::restore(cores));
}

/// The cores of a rank; empty if nothing is known of cores. Each rank has its share of them, or as
/// many as are `wanted`: neighbours of each other. Where ranks want more than there are, they share
/// them: a rank that waits gives its core to one that it waits for sooner than the system would
/// move either.
pub(crate) fn share_of(
    rank: usize,
    ranks: usize,
    cores: &[usize],
    wanted: Option<usize>,
) -> Vec<usize> {
    let share = (cores.len() / ranks.max(1)).max(1);
    let each = wanted.unwrap_or(share).clamp(1, cores.len().max(1));
    let is_room = each.saturating_mul(ranks) <= cores.len();
    let start = if is_room { rank * each } else { rank * cores.len() / ranks };
    let start = start.min(cores.len().saturating_sub(each));
    cores.iter().skip(start).take(each).copied().collect()
}

/// How many cores a rank is to have: the given number, else as many as OpenMP is to have threads
/// (OMP_NUM_THREADS, its outermost level).
pub(crate) fn wanted(given: Option<usize>) -> Option<usize> {
    let threads = || {
        let text = env::var("OMP_NUM_THREADS").ok()?;
        text.split(',').next()?.trim().parse().ok().filter(|it| *it > 0)
    };
    given.or_else(threads)
}

#[cfg(test)]
mod tests {
    use super::share_of;

    fn all(ranks: usize, cores: &[usize], wanted: Option<usize>) -> Vec<Vec<usize>> {
        (0..ranks).map(|it| share_of(it, ranks, cores, wanted)).collect()
    }

    #[test]
    fn ranks_beyond_the_cores_share_them_by_neighbours() {
        assert_eq!(all(5, &[3, 5], None), [[3], [3], [3], [5], [5]]);
        assert_eq!(all(2, &[], None), [[0; 0], []]);
    }

    #[test]
    fn a_rank_has_its_share_of_the_mask() {
        assert_eq!(all(2, &[3, 5, 7], None), [[3], [5]]);
        assert_eq!(all(2, &[0, 1, 2, 3, 8], None), [[0, 1], [2, 3]]);
        assert_eq!(all(1, &[0, 1], None), [[0, 1]]);
    }

    #[test]
    fn as_many_as_are_wanted() {
        assert_eq!(all(2, &[0, 1, 2, 3], Some(1)), [[0], [1]]);
        assert_eq!(all(2, &[0, 1, 2, 3, 4, 5, 6, 7], Some(2)), [[0, 1], [2, 3]]);
        // More than there are: they overlap.
        assert_eq!(all(3, &[0, 1, 2, 3], Some(2)), [[0, 1], [1, 2], [2, 3]]);
        assert_eq!(all(2, &[0, 1], Some(9)), [[0, 1], [0, 1]]);
    }
}
