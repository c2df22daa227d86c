//! Functions on elements, whose type and operator are numbers of the header.

use super::{TeamHandle, Wrong, argument, guarded, index, place, team};
use half::{bf16, f16};
use phalanx_processes::{Plain, op};
use std::ffi::{c_char, c_int, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// `n` elements for reading.
///
/// # Safety
/// There are so many, which nobody writes.
unsafe fn input<'a, T: Plain>(at: *const c_void, n: usize) -> Result<&'a [T], Wrong> {
    check::<T>(at, n)?;
    if n == 0 {
        return Ok(&[]);
    }
    // SAFETY: by the contract; aligned, and not null.
    Ok(unsafe { from_raw_parts(at.cast(), n) })
}

/// `n` elements for writing.
///
/// # Safety
/// There are so many, which nobody else uses.
unsafe fn output<'a, T: Plain>(at: *mut c_void, n: usize) -> Result<&'a mut [T], Wrong> {
    check::<T>(at, n)?;
    if n == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `input`.
    Ok(unsafe { from_raw_parts_mut(at.cast(), n) })
}

fn check<T>(at: *const c_void, n: usize) -> Result<(), Wrong> {
    let bytes = n.checked_mul(size_of::<T>());
    match at.addr() {
        _ if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) => {
            Err(argument(&format!("{n} elements are more than there are addresses")))
        }
        0 if n > 0 => Err(argument("the address of elements is null")),
        at if !at.is_multiple_of(align_of::<T>()) => Err(argument(&format!(
            "the address of elements is not a multiple of {}",
            align_of::<T>()
        ))),
        _ => Ok(()),
    }
}

/// Runs `$body` with `$t` for the type of a number.
macro_rules! typed {
    ($type:expr, $t:ident => $body:expr) => {
        typed!(@ $type, $t => $body, 0 i8, 1 u8, 2 i16, 3 u16, 4 i32, 5 u32, 6 i64, 7 u64, 8 f16,
            9 bf16, 10 f32, 11 f64)
    };
    (@ $type:expr, $t:ident => $body:expr, $($number:literal $name:ident),*) => {
        match $type {
            $($number => {
                type $t = $name;
                $body
            })*
            other => Err(argument(&format!("there is no type {other}"))),
        }
    };
}

/// The same with `$op` for the operator, too.
macro_rules! combined {
    ($type:expr, $operator:expr, $t:ident, $op:ident => $body:expr) => {
        match $operator {
            0 => { let $op = op::Sum; typed!($type, $t => $body) }
            1 => { let $op = op::Prod; typed!($type, $t => $body) }
            2 => { let $op = op::Min; typed!($type, $t => $body) }
            3 => { let $op = op::Max; typed!($type, $t => $body) }
            4 => { let $op = op::BitAnd; combined!(@ $type, $t => $body) }
            5 => { let $op = op::BitOr; combined!(@ $type, $t => $body) }
            6 => { let $op = op::BitXor; combined!(@ $type, $t => $body) }
            other => Err(argument(&format!("there is no operator {other}"))),
        }
    };
    (@ $type:expr, $t:ident => $body:expr) => {
        match $type {
            8..=11 => Err(argument("floats have no bitwise operators")),
            number => {
                typed!(@ number, $t => $body, 0 i8, 1 u8, 2 i16, 3 u16, 4 i32, 5 u32, 6 i64, 7 u64)
            }
        }
    };
}

/// A function of the header on a team, in a line of the caller's.
macro_rules! functions {
    ($($name:ident($team:ident, $($argument:ident: $type:ty),*) $body:block)*) => {$(
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
                let $team = team(handle)?;
                $team.team.at(place(file, line));
                // SAFETY: of all slices below: the elements that the header asks for.
                unsafe { $body }
            })
        }
    )*};
}

functions! {
    phx_proc_broadcast(it, data: *mut c_void, n: usize, kind: c_int, root: c_int) {
        typed!(kind, T => Ok(it.team.broadcast(output::<T>(data, n)?, index(root, "root")?)?))
    }

    phx_proc_reduce(it, data: *mut c_void, n: usize, kind: c_int, operator: c_int, root: c_int) {
        combined!(kind, operator, T, op => {
            Ok(it.team.reduce(output::<T>(data, n)?, op, index(root, "root")?)?)
        })
    }

    phx_proc_all_reduce(it, data: *mut c_void, n: usize, kind: c_int, operator: c_int) {
        combined!(kind, operator, T, op => {
            let buffer = it.buffers.iter().find(|it| it.as_mut_ptr().addr() == data.addr());
            match buffer.and_then(|buffer| buffer.of_elements::<T>(n)) {
                Some(buffer) => Ok(it.team.all_reduce_symmetric(&buffer, op)?),
                None => Ok(it.team.all_reduce(output::<T>(data, n)?, op)?),
            }
        })
    }

    phx_proc_all_gather(it, mine: *const c_void, all: *mut c_void, n: usize, kind: c_int) {
        let p = it.team.size();
        typed!(kind, T => {
            Ok(it.team.all_gather(input::<T>(mine, n)?, output::<T>(all, n.saturating_mul(p))?)?)
        })
    }

    phx_proc_gather(it, mine: *const c_void, all: *mut c_void, n: usize, kind: c_int, root: c_int) {
        let root = index(root, "root")?;
        let blocks = if it.team.rank() == root { it.team.size() } else { 0 };
        typed!(kind, T => {
            let all = output::<T>(all, n.saturating_mul(blocks))?;
            Ok(it.team.gather(input::<T>(mine, n)?, all, root)?)
        })
    }

    phx_proc_scatter(it, all: *const c_void, mine: *mut c_void, n: usize, kind: c_int,
        root: c_int)
    {
        let root = index(root, "root")?;
        let blocks = if it.team.rank() == root { it.team.size() } else { 0 };
        typed!(kind, T => {
            let all = input::<T>(all, n.saturating_mul(blocks))?;
            Ok(it.team.scatter(all, output::<T>(mine, n)?, root)?)
        })
    }

    phx_proc_reduce_scatter(it, all: *const c_void, mine: *mut c_void, n: usize, kind: c_int,
        operator: c_int)
    {
        let p = it.team.size();
        combined!(kind, operator, T, op => {
            let all = input::<T>(all, n.saturating_mul(p))?;
            Ok(it.team.reduce_scatter(all, output::<T>(mine, n)?, op)?)
        })
    }

    phx_proc_all_to_all(it, given: *const c_void, taken: *mut c_void, n: usize, kind: c_int) {
        let all = n.saturating_mul(it.team.size());
        typed!(kind, T => {
            Ok(it.team.all_to_all(input::<T>(given, all)?, output::<T>(taken, all)?)?)
        })
    }

    phx_proc_scan(it, data: *mut c_void, n: usize, kind: c_int, operator: c_int) {
        combined!(kind, operator, T, op => Ok(it.team.scan(output::<T>(data, n)?, op)?))
    }

    phx_proc_exclusive_scan(it, data: *mut c_void, n: usize, kind: c_int, operator: c_int) {
        combined!(kind, operator, T, op => Ok(it.team.exclusive_scan(output::<T>(data, n)?, op)?))
    }

    phx_proc_send(it, data: *const c_void, n: usize, kind: c_int, to: c_int, tag: u64) {
        typed!(kind, T => Ok(it.team.send(input::<T>(data, n)?, index(to, "rank")?, tag)?))
    }

    phx_proc_receive(it, data: *mut c_void, n: usize, kind: c_int, from: c_int, tag: u64) {
        typed!(kind, T => Ok(it.team.receive(output::<T>(data, n)?, index(from, "rank")?, tag)?))
    }
}
