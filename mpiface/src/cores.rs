//! The cores of this process, and the number of ranks when none is given.

use std::env;
use std::thread;

/// The number of ranks: the given one, else PHALANX_RANKS, else one a core.
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
        Err(_) => Ok(thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// The cores that this process may use.
pub(crate) fn cores() -> Vec<usize> {
    // SAFETY: a set of bits, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set lives through the call, and its length is told.
    let failed = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    if failed != 0 {
        return Vec::new();
    }
    // SAFETY: the index is below the set's length.
    (0..libc::CPU_SETSIZE as usize).filter(|it| unsafe { libc::CPU_ISSET(*it, &set) }).collect()
}

/// Keeps the calling thread to a core, if the system allows.
pub(crate) fn pin(core: usize) {
    // SAFETY: as in `cores`; a failure leaves the thread unpinned, which is allowed.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// The core of a rank; none if nothing is known of cores. Where ranks outnumber cores, neighbours
/// share one: a rank that waits gives its core to one that it waits for sooner than the system
/// would move either.
pub(crate) fn core_of(rank: usize, ranks: usize, cores: &[usize]) -> Option<usize> {
    let at = if ranks <= cores.len() { rank } else { rank * cores.len() / ranks };
    cores.get(at).copied()
}

#[cfg(test)]
mod tests {
    use super::core_of;

    #[test]
    fn ranks_beyond_the_cores_share_them_by_neighbours() {
        let all = |ranks, cores: &[usize]| -> Vec<_> {
            (0..ranks).map(|it| core_of(it, ranks, cores)).collect()
        };
        assert_eq!(all(2, &[3, 5, 7]), [Some(3), Some(5)]);
        assert_eq!(all(5, &[3, 5]), [Some(3), Some(3), Some(3), Some(5), Some(5)]);
        assert_eq!(all(2, &[]), [None, None]);
    }
}
