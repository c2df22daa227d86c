//! The environment: begin and end, clocks, names, memory.

use super::arguments::{Caller, Out, TextOut};
use crate::home;
use crate::rt::attributes;
use crate::rt::error::{Class, Outcome, end, error};
use crate::rt::handle::Handle;
use crate::rt::rank::Stage;
use crate::rt::standard;
use crate::rt::started::close;
use std::ffi::{c_char, c_int, c_void};

pub(super) fn init(caller: Caller<'_>, _argc: Out<c_int>, _argv: Out<*mut *mut c_char>) -> Outcome {
    caller.init()
}

pub(super) fn init_thread(
    caller: Caller<'_>,
    argc: Out<c_int>,
    argv: Out<*mut *mut c_char>,
    required: c_int,
    provided: Out<c_int>,
) -> Outcome {
    init(caller, argc, argv)?;
    caller.level.set(required.min(standard::THREAD_SERIALIZED));
    provided.set(caller.level.get());
    Ok(())
}

pub(super) fn initialized(caller: Caller<'_>) -> Outcome<c_int> {
    Ok(c_int::from(caller.stage() != Stage::Before))
}

pub(super) fn finalize(caller: Caller<'_>) -> Outcome {
    // The standard's way to be told of the end: an attribute of MPI_COMM_SELF, before all else. Its
    // functions, and then those of MPI_COMM_WORLD's attributes, may still call anything.
    attributes::delete_all(caller.rank, caller.comm(standard::COMM_SELF)?.holder())?;
    let world = caller.comm(standard::COMM_WORLD)?;
    attributes::delete_all(caller.rank, world.holder())?;
    caller.on(&world).barrier();
    close(&world, true);
    caller.go_to(Stage::Finalized);
    Ok(())
}

pub(super) fn finalized(caller: Caller<'_>) -> Outcome<c_int> {
    Ok(c_int::from(caller.stage() == Stage::Finalized))
}

pub(super) fn abort(caller: Caller<'_>, _comm: Handle, code: c_int) -> Outcome {
    let (me, place) = (caller.me, caller.site.describe());
    end(code, &format!("phalanx: rank {me}: {place}: the program ends itself with code {code}"))
}

pub(super) fn wtime(caller: Caller<'_>) -> f64 {
    // A rank that looks at the clock may give up by it.
    caller.polls.call();
    caller.world.seconds()
}

pub(super) fn wtick(_: Caller<'_>) -> f64 {
    1e-9
}

pub(super) fn get_processor_name(_: Caller<'_>, name: TextOut) -> Outcome {
    name.set(&home::host(), standard::MAX_PROCESSOR_NAME);
    Ok(())
}

pub(super) fn get_version(_: Caller<'_>) -> Outcome<(c_int, c_int)> {
    Ok((5, 0))
}

pub(super) fn get_library_version(_: Caller<'_>, text: TextOut) -> Outcome {
    text.set(
        concat!("Phalanx MPI on threads ", env!("CARGO_PKG_VERSION")),
        standard::MAX_LIBRARY_VERSION_STRING,
    );
    Ok(())
}

pub(super) fn query_thread(caller: Caller<'_>) -> Outcome<c_int> {
    Ok(caller.level.get())
}

pub(super) fn is_thread_main(caller: Caller<'_>) -> Outcome<c_int> {
    Ok(c_int::from(caller.world.is_on(caller.me)))
}

pub(super) fn pcontrol(_: Caller<'_>, _level: c_int) -> Outcome {
    Ok(())
}

pub(super) fn get_address(_: Caller<'_>, of: *const c_void) -> Outcome<isize> {
    Ok(of as isize)
}

pub(super) fn alloc_mem(_: Caller<'_>, size: isize, _info: Handle, base: *mut c_void) -> Outcome {
    let size = usize::try_from(size).unwrap_or(0);
    // SAFETY: any size may be asked for.
    let memory = unsafe { libc::malloc(size.max(1)) };
    if memory.is_null() {
        return error(Class::Other, format!("no memory for {size} bytes"));
    }
    // SAFETY: the standard's argument is the address of a pointer.
    unsafe { *base.cast::<*mut c_void>() = memory };
    Ok(())
}

pub(super) fn free_mem(_: Caller<'_>, base: *mut c_void) -> Outcome {
    // SAFETY: the program gives an address of `alloc_mem`.
    unsafe { libc::free(base) };
    Ok(())
}

pub(super) fn aint_add(_: Caller<'_>, base: isize, by: isize) -> isize {
    base.wrapping_add(by)
}

pub(super) fn aint_diff(_: Caller<'_>, one: isize, other: isize) -> isize {
    one.wrapping_sub(other)
}
