//! The shim's functions for ordinary programs (include/phalanx_mpi.h), and the world of one
//! to which a shim binds itself that no launcher bound.
//!
//! Each takes, as the functions of MPI do, the calling rank's state and the caller's address. They
//! are the last entries of the table (build.rs).

use crate::begun_by;
use crate::cores::ranks;
use crate::launch::binding;
use crate::load::image::{Copy, Function};
use crate::rt::rank::Rank;
use crate::rt::run::Run;
use crate::team::{Started, Team};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

/// A function that each rank calls.
pub(crate) type Body = unsafe extern "C" fn(*mut c_void);

/// The shim's function that binds it.
type Bind = unsafe extern "C" fn(*const c_void, *const c_void);

/// A team that runs with the caller as rank 0, and the caller's former binding of the shim.
pub(crate) struct Joined {
    started: Started,
    bind: Bind,
    before: *const Rank,
}

/// An argument that goes to all ranks.
#[derive(Clone, Copy)]
struct SharedPointer(*mut c_void);

// SAFETY: an address that the program hands to its own functions, which share its memory.
unsafe impl Send for SharedPointer {}
// SAFETY: as above.
unsafe impl Sync for SharedPointer {}

impl SharedPointer {
    fn get(self) -> *mut c_void {
        self.0
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Zero, or -1 with the text kept for `phalanx_mpi_message`.
fn code(outcome: Result<(), String>) -> c_int {
    match outcome {
        Ok(()) => 0,
        Err(text) => {
            let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
            MESSAGE.with(|it| *it.borrow_mut() = text);
            -1
        }
    }
}

fn given(ranks: c_int) -> Option<usize> {
    usize::try_from(ranks).ok().filter(|it| *it > 0)
}

/// A rank of a team: calls its copy's form of the function.
fn calls(function: Function, argument: *mut c_void) -> impl Fn(usize, &Copy) + Send + Sync {
    let argument = SharedPointer(argument);
    move |_, copy| {
        // SAFETY: the same place in a copy of the file in which the program's function lies.
        let body: Body = unsafe { std::mem::transmute(copy.function(&function)) };
        // SAFETY: the program's function with its argument, as phalanx_mpi.h says.
        unsafe { body(argument.get()) };
    }
}

/// Binds a shim that no launcher bound to a world of one rank: the calling thread's.
///
/// # Safety
/// `bind` is the shim's function; it is called once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn phalanx_mpi_guest(bind: Bind) {
    begun_by::end_if_ranks_are_lost();
    begun_by::end_if_one_of_several();
    let world = Run::new(1, None);
    world.enter(0);
    // Never freed: the program may call MPI until it ends.
    let rank: *const Rank = Box::leak(Box::new(Rank::hosted(world, 0)));
    let binding = binding(rank);
    // SAFETY: the caller's promise.
    unsafe { bind(binding.table, binding.rank) };
}

pub(crate) unsafe extern "C" fn count(_: *const Rank, _: usize, size: c_int) -> c_int {
    match ranks(given(size)) {
        Ok(size) => c_int::try_from(size).unwrap_or(c_int::MAX),
        Err(text) => code(Err(text)),
    }
}

pub(crate) unsafe extern "C" fn message(_: *const Rank, _: usize) -> *const c_char {
    // Valid until the thread's next failure, as the header says.
    MESSAGE.with(|it| it.borrow().as_ptr())
}

pub(crate) unsafe extern "C" fn run(
    _: *const Rank,
    _: usize,
    size: c_int,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    code((|| {
        let function = Function::at(body as usize)?;
        let image = Arc::clone(&function.image);
        Team::new(given(size))?.call(&image, &calls(function, argument))
    })())
}

pub(crate) unsafe extern "C" fn create(
    _: *const Rank,
    _: usize,
    size: c_int,
    out: *mut *mut Team,
) -> c_int {
    code(Team::new(given(size)).map(|team| {
        // SAFETY: phalanx_mpi.h asks for a place for the team.
        unsafe { *out = Box::into_raw(Box::new(team)) };
    }))
}

pub(crate) unsafe extern "C" fn invoke(
    _: *const Rank,
    _: usize,
    team: *mut Team,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    code((|| {
        // SAFETY: phalanx_mpi.h asks for a team that lives, used by one thread at a time.
        let team = unsafe { team.as_mut() }.ok_or("there is no team")?;
        let function = Function::at(body as usize)?;
        let image = Arc::clone(&function.image);
        team.call(&image, &calls(function, argument))
    })())
}

pub(crate) unsafe extern "C" fn destroy(_: *const Rank, _: usize, team: *mut Team) {
    if !team.is_null() {
        // SAFETY: made by `create`; phalanx_mpi.h asks that it is destroyed once.
        drop(unsafe { Box::from_raw(team) });
    }
}

pub(crate) unsafe extern "C" fn start(
    rank: *const Rank,
    _: usize,
    bind: Bind,
    size: c_int,
    body: Body,
    argument: *mut c_void,
    out: *mut *mut Joined,
) -> c_int {
    code((|| {
        let function = Function::at(body as usize)?;
        let image = Arc::clone(&function.image);
        let body = Box::new(calls(function, argument));
        let started = Team::start_outside(given(size), &image, body)?;
        let binding = binding(started.caller());
        let joined = Box::new(Joined { started, bind, before: rank });
        // SAFETY: the caller's shim's own function; phalanx_mpi.h asks for a place for the team.
        unsafe {
            bind(binding.table, binding.rank);
            *out = Box::into_raw(joined);
        }
        Ok(())
    })())
}

pub(crate) unsafe extern "C" fn join(_: *const Rank, _: usize, joined: *mut Joined) {
    if joined.is_null() {
        return;
    }
    // SAFETY: made by `start`; phalanx_mpi.h asks that it is joined once.
    let Joined { started, bind, before } = *unsafe { Box::from_raw(joined) };
    started.join();
    let binding = binding(before);
    // SAFETY: its former binding lives: the caller's world of one, or its launched rank.
    unsafe { bind(binding.table, binding.rank) };
}
