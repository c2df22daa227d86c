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
    let here = stay as *const () as usize;
    let Some(of) = object(here) else { return };
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // The program's headers are in the program, which nobody closes (and whose name the loader
        // would search for).
        // SAFETY: asks for a number.
        let headers = unsafe { libc::getauxval(libc::AT_PHDR) };
        if object(headers as usize).is_some_and(|program| program.dli_fbase == of.dli_fbase) {
            return;
        }
    }
    let how = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: a name that the system gave, of an object that is there: nothing is loaded.
    unsafe { libc::dlopen(of.dli_fname, how) };
}

/// What the system says of the object that has this address; nothing in a program without shared
/// objects.
#[cfg(all(unix, not(any(miri, loom, shuttle))))]
fn object(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: plain data, for which zeros are a value.
    let mut of: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address will do, and there is room for what is said.
    let is_found = unsafe { libc::dladdr(address as *const libc::c_void, &raw mut of) } != 0;
    (is_found && !of.dli_fname.is_null()).then_some(of)
}

#[cfg(not(all(unix, not(any(miri, loom, shuttle)))))]
pub(crate) fn stay() {}
