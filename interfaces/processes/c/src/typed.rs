//! Functions on elements, whose type and operator are numbers of the header.

use super::{TeamHandle, guarded, place, with};
use phalanx::engine::Operation;
use phalanx_processes::foreign::{self, Call};
use std::ffi::{c_char, c_int, c_void};

/// A function of the header on a team, in a line of the caller's.
macro_rules! functions {
    ($($name:ident($team:ident, $at:ident, $($argument:ident: $type:ty),*) $body:block)*) => {$(
        /// See the header.
        ///
        /// # Safety
        /// As the header says.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            handle: *mut TeamHandle,
            $($argument: $type,)*
            file: *const c_char,
            line: c_int,
        ) -> c_int {
            guarded(|| {
                with(handle, |$team| {
                    let $at = place(file, line);
                    // SAFETY: the elements that the header asks for.
                    Ok(unsafe { $body }?)
                })
            })
        }
    )*};
}

/// A collective call in place.
macro_rules! in_place {
    ($team:ident, $at:ident, $operation:ident, $data:ident, $call:expr) => {{
        let both = ($data.cast_const().cast(), $data.cast());
        foreign::collective($team, $at, Operation::$operation, both, $call)
    }};
}

/// One from a buffer to another.
macro_rules! between {
    ($team:ident, $at:ident, $operation:ident, $from:ident, $to:ident, $call:expr) => {
        foreign::collective($team, $at, Operation::$operation, ($from.cast(), $to.cast()), $call)
    };
}

fn call(n: usize, kind: c_int, operator: c_int, root: c_int) -> Call {
    Call { n, kind, operator, root: root.into() }
}

functions! {
    phx_proc_broadcast(it, at, data: *mut c_void, n: usize, kind: c_int, root: c_int) {
        in_place!(it, at, Broadcast, data, call(n, kind, 0, root))
    }

    phx_proc_reduce(it, at, data: *mut c_void, n: usize, kind: c_int, operator: c_int,
        root: c_int)
    {
        in_place!(it, at, Reduce, data, call(n, kind, operator, root))
    }

    phx_proc_all_reduce(it, at, data: *mut c_void, n: usize, kind: c_int, operator: c_int) {
        in_place!(it, at, AllReduce, data, call(n, kind, operator, 0))
    }

    phx_proc_all_gather(it, at, mine: *const c_void, all: *mut c_void, n: usize, kind: c_int) {
        between!(it, at, AllGather, mine, all, call(n, kind, 0, 0))
    }

    phx_proc_gather(it, at, mine: *const c_void, all: *mut c_void, n: usize, kind: c_int,
        root: c_int)
    {
        between!(it, at, Gather, mine, all, call(n, kind, 0, root))
    }

    phx_proc_scatter(it, at, all: *const c_void, mine: *mut c_void, n: usize, kind: c_int,
        root: c_int)
    {
        between!(it, at, Scatter, all, mine, call(n, kind, 0, root))
    }

    phx_proc_reduce_scatter(it, at, all: *const c_void, mine: *mut c_void, n: usize, kind: c_int,
        operator: c_int)
    {
        between!(it, at, ReduceScatter, all, mine, call(n, kind, operator, 0))
    }

    phx_proc_all_to_all(it, at, given: *const c_void, taken: *mut c_void, n: usize, kind: c_int) {
        between!(it, at, AllToAll, given, taken, call(n, kind, 0, 0))
    }

    phx_proc_scan(it, at, data: *mut c_void, n: usize, kind: c_int, operator: c_int) {
        in_place!(it, at, Scan, data, call(n, kind, operator, 0))
    }

    phx_proc_exclusive_scan(it, at, data: *mut c_void, n: usize, kind: c_int, operator: c_int) {
        in_place!(it, at, ExclusiveScan, data, call(n, kind, operator, 0))
    }

    phx_proc_send(it, at, data: *const c_void, n: usize, kind: c_int, to: c_int, tag: u64) {
        foreign::send(it, at, data.cast(), (n, kind), (to.into(), tag))
    }

    phx_proc_receive(it, at, data: *mut c_void, n: usize, kind: c_int, from: c_int, tag: u64) {
        foreign::receive(it, at, data.cast(), (n, kind), (from.into(), tag))
    }
}
