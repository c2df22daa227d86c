//! The limits of this process.

/// What a process may have of only so much.
#[derive(Clone, Copy)]
pub(crate) enum Limited {
    Descriptors,
    FileSize,
    Addresses,
}

/// The limit of this process, if there is one.
pub(crate) fn limit(of: Limited) -> Option<u64> {
    let resource = match of {
        Limited::Descriptors => libc::RLIMIT_NOFILE,
        Limited::FileSize => libc::RLIMIT_FSIZE,
        Limited::Addresses => libc::RLIMIT_AS,
    };
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: the system writes to `limit` only.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    // Of either width, by target.
    #[allow(clippy::unnecessary_cast)]
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64)
}
