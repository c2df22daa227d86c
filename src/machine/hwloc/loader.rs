//! libhwloc, loaded when the program runs: a program that was built beside it starts without it.
//!
//! `hwloc2` declares the functions of libhwloc as symbols of a shared library, and a program with
//! such symbols does not start where that library is missing. So the symbols are defined here: each
//! looks for the function of its name when it is first called, and calls it. The linker then needs
//! nothing of libhwloc and leaves its name out of the program (`--as-needed`, which rustc sets).
//! `.ci/package` looks at a built program.
//!
//! The symbols are hidden: no other library of the process (an MPI) is bound to them. Where the
//! process has a libhwloc, calls go to it.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The shared library of hwloc 2, all releases; hwloc 3 has another number.
const LIBRARY: &CStr = c"libhwloc.so.15";

/// Where `dlsym` is to look: a number, as a pointer cannot be shared.
fn library() -> Result<*mut c_void, String> {
    static HANDLE: OnceLock<Result<usize, String>> = OnceLock::new(); // A fact, asked once.
    let handle = HANDLE.get_or_init(|| {
        // SAFETY: the name is a C string.
        let present = unsafe { libc::dlsym(libc::RTLD_NEXT, c"hwloc_get_api_version".as_ptr()) };
        if !present.is_null() {
            return Ok(libc::RTLD_NEXT as usize);
        }
        // SAFETY: the name is a C string; libhwloc and the libraries that it needs ask nothing of
        // a program that loads them.
        let handle = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("{} cannot be loaded", LIBRARY.to_string_lossy()));
        }
        Ok(handle as usize)
    });
    handle.clone().map(|handle| handle as *mut c_void)
}

/// The function `name` of libhwloc.
fn function(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the handle is `RTLD_NEXT` or one that is never closed; the name is a C string.
    let at = unsafe { libc::dlsym(library()?, name.as_ptr()) };
    if at.is_null() { Err(format!("it has no {}", name.to_string_lossy())) } else { Ok(at) }
}

/// Where `name` is; without it, the end of the process: whatever was to come cannot be done, and
/// no panic may leave a function of C.
#[cold]
fn required(name: &CStr) -> usize {
    match function(name) {
        Ok(at) => at as usize,
        Err(reason) => {
            eprintln!("phalanx: {} was called, but: {reason}", name.to_string_lossy());
            std::process::abort()
        }
    }
}

/// The address of `name`, kept in `at`, which is 0 before. One body for all functions: each with a
/// lock of its own took 400 bytes.
#[inline(never)]
fn address(at: &AtomicUsize, name: &CStr) -> usize {
    // Relaxed: whoever finds none looks itself, and finds the same.
    match at.load(Relaxed) {
        0 => {
            let found = required(name);
            at.store(found, Relaxed);
            found
        }
        known => known,
    }
}

/// Defines functions of libhwloc that forward to the library.
macro_rules! forward {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            // Hidden: the program and its libraries do not see the symbol, whoever links them.
            std::arch::global_asm!(concat!(".hidden ", stringify!($name)));

            // No other object of the program defines the symbol. Cargo admits one package
            // that links hwloc, and that is `hwloc2`.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $type),*) $(-> $result)? {
                static AT: AtomicUsize = AtomicUsize::new(0);
                const NAME: &CStr =
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name ends in a zero"),
                    };
                let at = address(&AT, NAME);
                // SAFETY: the function of this name has this signature in hwloc's header, and the
                // caller answers for the arguments.
                unsafe {
                    let f = std::mem::transmute::<
                        usize,
                        unsafe extern "C" fn($($type),*) $(-> $result)?
                    >(at);
                    f($($arg),*)
                }
            }
        )*

        /// Names every function above, so that the linker has them all before it comes to
        /// `hwloc2`.
        fn name_all() {
            std::hint::black_box([$($name as *const ()),*]);
        }
    };
}

type Any = *mut c_void;

// Those that the objects of `hwloc2` name; `hwloc.rs` calls few of them.
forward! {
    fn hwloc_topology_init(topology: *mut Any) -> c_int;
    fn hwloc_topology_load(topology: Any) -> c_int;
    fn hwloc_topology_destroy(topology: Any);
    fn hwloc_topology_set_flags(topology: Any, flags: c_ulong) -> c_int;
    fn hwloc_topology_get_flags(topology: Any) -> c_ulong;
    fn hwloc_topology_get_support(topology: Any) -> Any;
    fn hwloc_topology_get_depth(topology: Any) -> c_int;
    fn hwloc_get_type_depth(topology: Any, object_type: c_uint) -> c_int;
    fn hwloc_get_depth_type(topology: Any, depth: c_int) -> c_uint;
    fn hwloc_get_nbobjs_by_depth(topology: Any, depth: c_int) -> c_uint;
    fn hwloc_get_obj_by_depth(topology: Any, depth: c_int, index: c_uint) -> Any;
    fn hwloc_compare_types(a: c_uint, b: c_uint) -> c_int;
    fn hwloc_obj_type_snprintf(into: *mut c_char, size: usize, object: Any, v: c_int) -> c_int;
    fn hwloc_obj_attr_snprintf(
        into: *mut c_char, size: usize, object: Any, separator: *const c_char, verbose: c_int
    ) -> c_int;

    fn hwloc_set_cpubind(topology: Any, set: Any, flags: c_int) -> c_int;
    fn hwloc_get_cpubind(topology: Any, set: Any, flags: c_int) -> c_int;
    fn hwloc_set_proc_cpubind(t: Any, pid: libc::pid_t, set: Any, flags: c_int) -> c_int;
    fn hwloc_get_proc_cpubind(t: Any, pid: libc::pid_t, set: Any, flags: c_int) -> c_int;
    fn hwloc_set_thread_cpubind(t: Any, id: libc::pthread_t, set: Any, flags: c_int) -> c_int;
    fn hwloc_get_thread_cpubind(t: Any, id: libc::pthread_t, set: Any, flags: c_int) -> c_int;
    fn hwloc_get_last_cpu_location(topology: Any, set: Any, flags: c_int) -> c_int;
    fn hwloc_get_proc_last_cpu_location(t: Any, pid: libc::pid_t, set: Any, flags: c_int) -> c_int;

    fn hwloc_bitmap_alloc() -> Any;
    fn hwloc_bitmap_alloc_full() -> Any;
    fn hwloc_bitmap_free(set: Any);
    fn hwloc_bitmap_dup(set: Any) -> Any;
    fn hwloc_bitmap_list_asprintf(into: *mut *mut c_char, set: Any) -> c_int;
    fn hwloc_bitmap_set(set: Any, id: c_uint) -> c_int;
    fn hwloc_bitmap_set_range(set: Any, begin: c_uint, end: c_int) -> c_int;
    fn hwloc_bitmap_clr(set: Any, id: c_uint) -> c_int;
    fn hwloc_bitmap_clr_range(set: Any, begin: c_uint, end: c_int) -> c_int;
    fn hwloc_bitmap_zero(set: Any);
    fn hwloc_bitmap_not(into: Any, set: Any) -> c_int;
    fn hwloc_bitmap_singlify(set: Any) -> c_int;
    fn hwloc_bitmap_weight(set: Any) -> c_int;
    fn hwloc_bitmap_iszero(set: Any) -> c_int;
    fn hwloc_bitmap_isfull(set: Any) -> c_int;
    fn hwloc_bitmap_isset(set: Any, id: c_uint) -> c_int;
    fn hwloc_bitmap_isequal(a: Any, b: Any) -> c_int;
    fn hwloc_bitmap_first(set: Any) -> c_int;
    fn hwloc_bitmap_last(set: Any) -> c_int;
    fn hwloc_bitmap_next(set: Any, before: c_int) -> c_int;
}

/// Loads libhwloc; whether it is there, and of version 2. `hwloc2` may be called after this only.
pub(super) fn open() -> Result<(), String> {
    name_all();
    let version = function(c"hwloc_get_api_version")?;
    // SAFETY: `unsigned hwloc_get_api_version(void)`, in every hwloc.
    let version =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_uint>(version)() };
    if version >> 16 == 2 { Ok(()) } else { Err(format!("it is version {}", version >> 16)) }
}
