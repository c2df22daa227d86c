//! The MPI calls that this package uses, each with its return code checked.
//!
//! All `unsafe` of this package but the start of transfers is here.

use mpi::ffi::{self, MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request};
use phalanx_nodes::net::{NetError, NetFold, NetNumber};
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// Fails with MPI's words.
pub(crate) fn check(what: &str, code: c_int) -> Result<(), NetError> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0 as c_char; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut len = 0;
    // SAFETY: there is room for the longest text.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr(), &mut len) };
    let bytes: Vec<u8> = text[..len.max(0) as usize].iter().map(|&c| c as u8).collect();
    Err(NetError::new(format!("{what}: {}", String::from_utf8_lossy(&bytes))))
}

/// A communicator. Handles are plain values; MPI's rule about threads is kept by
/// `Calls` (one call at a time, unless all may call).
#[derive(Clone, Copy)]
pub(crate) struct Handle(pub(crate) MPI_Comm);

// SAFETY: the handle names an object of MPI's, which may be used by any thread
// from MPI_THREAD_SERIALIZED on, one at a time.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// A request under way.
pub(crate) struct Request(pub(crate) MPI_Request);

/// "The input is where the output is". No binding has it: it is a cast in C.
/// MPICH, with communicators that are ints, has -1; Open MPI has 1.
pub(crate) fn in_place() -> *const c_void {
    let value: isize = if size_of::<MPI_Comm>() == size_of::<c_int>() { -1 } else { 1 };
    std::ptr::without_provenance(value as usize)
}

pub(crate) fn datatype(number: NetNumber) -> MPI_Datatype {
    // SAFETY: constants, set before the program runs.
    unsafe {
        match number {
            NetNumber::I8 => ffi::RSMPI_INT8_T,
            NetNumber::I16 => ffi::RSMPI_INT16_T,
            NetNumber::I32 => ffi::RSMPI_INT32_T,
            NetNumber::I64 => ffi::RSMPI_INT64_T,
            NetNumber::U8 => ffi::RSMPI_UINT8_T,
            NetNumber::U16 => ffi::RSMPI_UINT16_T,
            NetNumber::U32 => ffi::RSMPI_UINT32_T,
            NetNumber::U64 => ffi::RSMPI_UINT64_T,
            NetNumber::F32 => ffi::RSMPI_FLOAT,
            NetNumber::F64 => ffi::RSMPI_DOUBLE,
        }
    }
}

pub(crate) fn byte() -> MPI_Datatype {
    datatype(NetNumber::U8)
}

pub(crate) fn operator(fold: NetFold) -> MPI_Op {
    // SAFETY: as above.
    unsafe {
        match fold {
            NetFold::Sum => ffi::RSMPI_SUM,
            NetFold::Prod => ffi::RSMPI_PROD,
            NetFold::Min => ffi::RSMPI_MIN,
            NetFold::Max => ffi::RSMPI_MAX,
            NetFold::BitAnd => ffi::RSMPI_BAND,
            NetFold::BitOr => ffi::RSMPI_BOR,
            NetFold::BitXor => ffi::RSMPI_BXOR,
        }
    }
}

pub(crate) fn world() -> Handle {
    // SAFETY: as above.
    Handle(unsafe { ffi::RSMPI_COMM_WORLD })
}

impl Handle {
    pub(crate) fn size(self) -> usize {
        let mut n = 0;
        // SAFETY: a communicator; room for the answer.
        unsafe { ffi::MPI_Comm_size(self.0, &mut n) };
        n as usize
    }

    pub(crate) fn rank(self) -> usize {
        let mut n = 0;
        // SAFETY: as above.
        unsafe { ffi::MPI_Comm_rank(self.0, &mut n) };
        n as usize
    }

    /// Errors come back as codes.
    fn checked(self) -> Result<Self, NetError> {
        // SAFETY: a communicator and a constant.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(self.0, ffi::RSMPI_ERRORS_RETURN) };
        check("MPI_Comm_set_errhandler", code)?;
        Ok(self)
    }

    /// The same group, apart from all other traffic.
    pub(crate) fn duplicate(self) -> Result<Self, NetError> {
        let mut new = MaybeUninit::uninit();
        // SAFETY: a communicator; room for another.
        check("MPI_Comm_dup", unsafe { ffi::MPI_Comm_dup(self.0, new.as_mut_ptr()) })?;
        // SAFETY: it was made.
        Handle(unsafe { new.assume_init() }).checked()
    }

    /// One of these members, in their order, all of which call it.
    pub(crate) fn group(self, members: &[c_int], tag: c_int) -> Result<Self, NetError> {
        let (mut all, mut some) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let mut new = MaybeUninit::uninit();
        // SAFETY: a communicator, its group, members of it; room for the answers.
        unsafe {
            check("MPI_Comm_group", ffi::MPI_Comm_group(self.0, all.as_mut_ptr()))?;
            let (mut all, n) = (all.assume_init(), members.len() as c_int);
            let code = ffi::MPI_Group_incl(all, n, members.as_ptr(), some.as_mut_ptr());
            check("MPI_Group_incl", code)?;
            let mut some = some.assume_init();
            let code = ffi::MPI_Comm_create_group(self.0, some, tag, new.as_mut_ptr());
            check("MPI_Comm_create_group", code)?;
            ffi::MPI_Group_free(&mut some);
            ffi::MPI_Group_free(&mut all);
            Handle(new.assume_init()).checked()
        }
    }

    /// Waits until all members are here.
    pub(crate) fn barrier(
        self,
        pause: &mut dyn FnMut() -> Result<(), NetError>,
    ) -> Result<(), NetError> {
        // SAFETY: a constant.
        let mut request = Request(unsafe { ffi::RSMPI_REQUEST_NULL });
        // SAFETY: a communicator; room for the request.
        check("MPI_Ibarrier", unsafe { ffi::MPI_Ibarrier(self.0, &mut request.0) })?;
        while !request.test()? {
            pause()?;
        }
        Ok(())
    }

    /// The numbers of its members that share this one's memory, which is among them.
    pub(crate) fn neighbours(self) -> Result<Vec<usize>, NetError> {
        let mut new = MaybeUninit::uninit();
        // SAFETY: a communicator, constants; room for another.
        let code = unsafe {
            let (kind, info) = (ffi::RSMPI_COMM_TYPE_SHARED, ffi::RSMPI_INFO_NULL);
            ffi::MPI_Comm_split_type(self.0, kind, 0, info, new.as_mut_ptr())
        };
        check("MPI_Comm_split_type", code)?;
        // SAFETY: it was made; freed, it is not used again.
        unsafe {
            let mut new = new.assume_init();
            let mut all = vec![0 as c_int; Handle(new).size()];
            all[Handle(new).rank()] = self.rank() as c_int;
            let (n, to) = (all.len() as c_int, all.as_mut_ptr().cast::<c_void>());
            let (of, by) = (datatype(NetNumber::I32), operator(NetFold::Max));
            let code = ffi::MPI_Allreduce(in_place(), to, n, of, by, new);
            ffi::MPI_Comm_free(&mut new);
            check("MPI_Allreduce", code)?;
            Ok(all.into_iter().map(|n| n as usize).collect())
        }
    }

    /// The largest tag.
    pub(crate) fn largest_tag(self) -> usize {
        let mut value: *mut c_int = std::ptr::null_mut();
        let mut flag = 0;
        let key = ffi::MPI_TAG_UB as c_int;
        let to = (&raw mut value).cast::<c_void>();
        // SAFETY: for this key the answer is the address of an int of MPI's.
        unsafe {
            let code = ffi::MPI_Comm_get_attr(self.0, key, to, &mut flag);
            if code == 0 && flag != 0 && !value.is_null() { *value as usize } else { 32767 }
        }
    }
}

impl Request {
    /// Whether it is done; after that the request is not used again.
    pub(crate) fn test(&mut self) -> Result<bool, NetError> {
        let mut flag = 0;
        // SAFETY: a request under way.
        let code = unsafe { ffi::MPI_Test(&mut self.0, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
        check("MPI_Test", code)?;
        Ok(flag != 0)
    }
}

/// The name of this process' host.
pub(crate) fn host() -> String {
    let mut text = [0 as c_char; ffi::MPI_MAX_PROCESSOR_NAME as usize + 1];
    let mut len = 0;
    // SAFETY: there is room for the longest name.
    unsafe { ffi::MPI_Get_processor_name(text.as_mut_ptr(), &mut len) };
    let bytes: Vec<u8> = text[..len.max(0) as usize].iter().map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn is_finalized() -> bool {
    let mut flag = 0;
    // SAFETY: may be called at any time.
    unsafe { ffi::MPI_Finalized(&mut flag) };
    flag != 0
}

/// Whether any thread may call at any time; or at least any thread, one at a time.
pub(crate) fn threads() -> (bool, bool) {
    let mut level = 0;
    // SAFETY: MPI is initialised; constants.
    unsafe {
        ffi::MPI_Query_thread(&mut level);
        (level >= ffi::RSMPI_THREAD_MULTIPLE, level >= ffi::RSMPI_THREAD_SERIALIZED)
    }
}

/// The longest that the end of MPI may take.
const LONGEST_END: std::time::Duration = std::time::Duration::from_secs(30);

/// Ends MPI, with all processes. Where that does not return, this process ends with
/// its own code all the same: in MPICH before 4.2 over UCX, processes that have let go
/// of the others wait for those which are still being let go of, and help them no more.
pub(crate) fn finalize(code: Option<c_int>) {
    if let Some(code) = code {
        let node = world().rank();
        std::thread::spawn(move || {
            std::thread::sleep(LONGEST_END);
            eprintln!(
                "phalanx: node {node}: all nodes have come to their ends, but MPI_Finalize has not \
                 returned in {LONGEST_END:?}; ended without it"
            );
            // SAFETY: writes the output of C programs; ends the process.
            unsafe {
                libc::fflush(std::ptr::null_mut());
                libc::_exit(code)
            }
        });
    }
    // SAFETY: initialised, not finalised (the caller has asked).
    unsafe { ffi::MPI_Finalize() };
}

/// Has `f` called when the program ends, with its exit code where the C library
/// tells it. Such functions run from the last to the first.
#[cfg(target_env = "gnu")]
pub(crate) fn at_exit(f: fn(Option<c_int>)) {
    unsafe extern "C" {
        fn on_exit(f: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    extern "C" fn call(code: c_int, f: *mut c_void) {
        // SAFETY: the function that was given below.
        let f = unsafe { std::mem::transmute::<*mut c_void, fn(Option<c_int>)>(f) };
        f(Some(code));
    }
    // SAFETY: as glibc declares it; a function that does not unwind.
    unsafe { on_exit(call, f as *mut c_void) };
}

/// The same elsewhere.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn at_exit(f: fn(Option<c_int>)) {
    static CALLED: std::sync::OnceLock<fn(Option<c_int>)> = std::sync::OnceLock::new();
    extern "C" fn call() {
        if let Some(f) = CALLED.get() {
            f(None);
        }
    }
    if CALLED.set(f).is_ok() {
        // SAFETY: a function that does not unwind.
        unsafe { libc::atexit(call) };
    }
}

/// Ends all processes of the job with this code.
pub(crate) fn abort(code: c_int) -> ! {
    // With the network gone, aborting may itself wait for ever.
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(10));
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) }
    });
    // A launcher that hears of the end may not read any more the text from before it (MPICH's loses
    // the reason in one of ten): let it come first.
    std::thread::sleep(std::time::Duration::from_millis(200));
    // SAFETY: the world is there from the start. Then this process ends, if MPI has
    // left it.
    unsafe {
        ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code);
        libc::_exit(code)
    }
}
