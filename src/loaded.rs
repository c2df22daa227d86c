//! The shared object that has this library in it: a program, `libphalanx.so`, or a plug-in of
//! somebody's that a program loads by `dlopen`, and may close by `dlclose`.
//!
//! The system keeps addresses in that object: of threads, of destructors of thread-locals (the
//! standard library's have a key of `pthread_key_create`, which nobody deletes), of the functions
//! that a fork calls. So it stays in memory from its first team on, and `dlclose` returns without
//! unloading it.

/// From now on the object stays in memory until the process ends.
#[cfg(all(unix, not(any(miri, loom, shuttle))))]
pub(crate) fn stay() {
    // SAFETY: plain data, for which zeros are a value.
    let mut of: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = stay as *const () as *const libc::c_void;
    // SAFETY: an address of this object's, and room for what is said of it.
    if unsafe { libc::dladdr(here, &raw mut of) } == 0 || of.dli_fname.is_null() {
        // A program without shared objects.
        return;
    }
    let how = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: a name that the system gave. Nothing is loaded. A program's own name is of no object
    // that could be closed: that is refused, and nobody asks why.
    unsafe { libc::dlopen(of.dli_fname, how) };
}

#[cfg(not(all(unix, not(any(miri, loom, shuttle)))))]
pub(crate) fn stay() {}
