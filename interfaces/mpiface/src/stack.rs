//! How large a rank's stack is, if nobody says it.

/// At least so many bytes: Fortran's automatic arrays are on the stack.
const LEAST: usize = 64 << 20;

/// Where `ulimit -s` is `unlimited`. Address space: a page is taken when it is first used.
const UNLIMITED: usize = 1 << 30;

/// Bytes: the larger of 64 MiB and the limit that a process's first thread has (`ulimit -s`), which
/// programs are written for; 1 GiB if there is no limit.
pub fn usual() -> usize {
    of_limit(limit(libc::RLIMIT_STACK).unwrap_or(0))
}

/// A limit of the process, if the system says it.
pub(crate) fn limit(of: libc::__rlimit_resource_t) -> Option<libc::rlim_t> {
    // SAFETY: a structure of numbers that lives through the call.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        (libc::getrlimit(of, &raw mut limit) == 0).then_some(limit.rlim_cur)
    }
}

fn of_limit(limit: libc::rlim_t) -> usize {
    match limit {
        libc::RLIM_INFINITY => UNLIMITED,
        limit => usize::try_from(limit).unwrap_or(UNLIMITED).max(LEAST),
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST, UNLIMITED, of_limit};

    #[test]
    fn the_limit_counts_if_it_is_larger() {
        assert_eq!(of_limit(0), LEAST);
        assert_eq!(of_limit(8 << 20), LEAST);
        assert_eq!(of_limit(100 << 20), 100 << 20);
        assert_eq!(of_limit(libc::RLIM_INFINITY), UNLIMITED);
    }
}
