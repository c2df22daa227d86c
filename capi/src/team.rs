//! Teams, runs, and communicators for threads of the user's own.

use crate::arguments::input;
use crate::call::{free, lend, own, phx_comm};
use crate::error::{
    PHX_ERR_ARGUMENT, PHX_ERR_HANDLE, PHX_ERR_OTHER, PHX_OK, fail, fail_with, phx_err,
};
use phalanx::engine::Lock;
use phalanx::placement::Placement;
use phalanx::{Builder, Comm, Error, Team, Wait};
use std::collections::BTreeMap;
use std::ffi::{c_double, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Threads that run functions together. Only pointers to it are used, and they are no addresses.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Debug)]
pub struct phx_team {
    _nothing: [u8; 0],
}

/// What a rank runs: with its communicator, which is there until it returns, and the argument of
/// the run. It returns as any function does: nothing is thrown out of it, and no `longjmp` or
/// `pthread_exit` leaves it.
#[allow(non_camel_case_types)]
pub type phx_rank_fn =
    Option<unsafe extern "C-unwind" fn(comm: *mut phx_comm, argument: *mut c_void)>;

/// How to build a team. Set to zeros, with `ranks`; zeros are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct phx_options {
    /// `sizeof(phx_options)`, or 0: what the caller was compiled with.
    pub size: usize,
    /// Ranks; 0: as many as there are cores.
    pub ranks: c_int,
    /// `PHX_WAIT_AUTO`, `PHX_WAIT_SPIN`, `PHX_WAIT_YIELD` or `PHX_WAIT_PARK`.
    pub wait: c_int,
    /// A rank that has waited so many seconds for another ends the run; 0: never. A rank that is in
    /// its own code meanwhile keeps `run` from returning until it makes a call or returns.
    pub deadline: c_double,
    /// Bytes of a worker's stack; 0: the system's.
    pub stack: usize,
    /// 1: rank 0, which is the caller of `run`, is bound to its core, too; -1: never; 0: only
    /// while a run lasts.
    pub pin_caller: c_int,
    /// Where ranks run: `PHX_PLACE_AUTO` and its likes.
    pub placement: c_int,
    /// What that takes: the list of processing units, the extents of a mesh or torus, or a seed.
    pub numbers: *const usize,
    /// How many of them.
    pub count: usize,
    /// A rank that has waited so many seconds says once in a run on the standard error which ranks
    /// wait for which, and waits on; 0: after those in PHALANX_STALL_WARNING, else 30, or never if
    /// there is a deadline; less than 0: never.
    pub stall_warning: c_double,
}

impl Default for phx_options {
    fn default() -> Self {
        let (numbers, count) = (std::ptr::null(), 0);
        let (size, ranks, wait, deadline, stack, pin_caller) = (0, 0, 0, 0.0, 0, 0);
        let (placement, stall_warning) = (PHX_PLACE_AUTO, 0.0);
        phx_options {
            size,
            ranks,
            wait,
            deadline,
            stack,
            pin_caller,
            placement,
            numbers,
            count,
            stall_warning,
        }
    }
}

/// Neighbouring ranks on neighbouring cores.
pub const PHX_PLACE_AUTO: c_int = 0;
/// On cores in the machine's order.
pub const PHX_PLACE_COMPACT: c_int = 1;
/// As far apart as possible.
pub const PHX_PLACE_SCATTER: c_int = 2;
/// In the order of the operating system's numbers.
pub const PHX_PLACE_IDENTITY: c_int = 3;
/// Bound to nothing.
pub const PHX_PLACE_UNPINNED: c_int = 4;
/// Shuffled, by `numbers[0]`.
pub const PHX_PLACE_RANDOM: c_int = 5;
/// Rank r on processing unit `numbers[r]`.
pub const PHX_PLACE_LIST: c_int = 6;
/// For exchanges in a ring.
pub const PHX_PLACE_RING: c_int = 7;
/// For exchanges in a row.
pub const PHX_PLACE_LINEAR: c_int = 8;
/// For exchanges between ranks that differ in one bit.
pub const PHX_PLACE_HYPERCUBE: c_int = 9;
/// For exchanges in a mesh with the extents `numbers`.
pub const PHX_PLACE_MESH: c_int = 10;
/// For exchanges in a torus with the extents `numbers`.
pub const PHX_PLACE_TORUS: c_int = 11;
/// For a binomial tree from rank 0.
pub const PHX_PLACE_TREE: c_int = 12;
/// For exchanges between all ranks.
pub const PHX_PLACE_ALL_TO_ALL: c_int = 13;

/// By the machine: spin, yield, park.
pub const PHX_WAIT_AUTO: c_int = 0;
/// Spin.
pub const PHX_WAIT_SPIN: c_int = 1;
/// Yield.
pub const PHX_WAIT_YIELD: c_int = 2;
/// Park.
pub const PHX_WAIT_PARK: c_int = 3;

static TEAMS: Lock<BTreeMap<u64, Arc<Team>>> = Lock::new(BTreeMap::new());

fn find(team: *const phx_team) -> Result<Arc<Team>, phx_err> {
    let found = TEAMS.with(|teams| teams.get(&(team as usize as u64)).cloned());
    found.ok_or_else(|| {
        let what = match team.is_null() {
            true => "the team is null",
            false => "no such team: it was freed, or it never was one",
        };
        fail(PHX_ERR_HANDLE, what)
    })
}

/// Runs `f`, in which no panic is expected, and returns what it returns.
fn guarded(f: impl FnOnce() -> phx_err) -> phx_err {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        fail(PHX_ERR_OTHER, "an error in the library itself; the standard error has its text")
    })
}

impl phx_options {
    /// # Safety
    /// `numbers` is null or has `count` numbers.
    unsafe fn placement(&self) -> Result<Placement, String> {
        let count = self.count.min(isize::MAX as usize / size_of::<usize>());
        // SAFETY: by the contract.
        let numbers = unsafe { input::<usize>("numbers", self.numbers.cast(), count)? }.to_vec();
        Ok(match self.placement {
            PHX_PLACE_AUTO => Placement::Auto,
            PHX_PLACE_COMPACT => Placement::Compact,
            PHX_PLACE_SCATTER => Placement::Scatter,
            PHX_PLACE_IDENTITY => Placement::Identity,
            PHX_PLACE_UNPINNED => Placement::Unpinned,
            PHX_PLACE_RANDOM => Placement::Random(numbers.first().map_or(0, |&seed| seed as u64)),
            PHX_PLACE_LIST => Placement::List(numbers),
            PHX_PLACE_RING => Placement::Ring,
            PHX_PLACE_LINEAR => Placement::Linear,
            PHX_PLACE_HYPERCUBE => Placement::Hypercube,
            PHX_PLACE_MESH => Placement::Grid(numbers),
            PHX_PLACE_TORUS => Placement::Torus(numbers),
            PHX_PLACE_TREE => Placement::Tree,
            PHX_PLACE_ALL_TO_ALL => Placement::AllToAll,
            other => return Err(format!("{other} is no placement")),
        })
    }

    /// # Safety
    /// As [`placement`](phx_options::placement).
    unsafe fn builder(&self) -> Result<Builder, String> {
        // SAFETY: passed on.
        let mut builder = Team::builder().placement(unsafe { self.placement()? });
        match usize::try_from(self.ranks) {
            Ok(0) => {}
            // Too many are an error when the team is built.
            Ok(ranks) => builder = builder.ranks(ranks),
            Err(_) => return Err(format!("{} ranks are too few", self.ranks)),
        }
        builder = match self.wait {
            PHX_WAIT_AUTO => builder,
            PHX_WAIT_SPIN => builder.wait(Wait::Spin),
            PHX_WAIT_YIELD => builder.wait(Wait::Yield),
            PHX_WAIT_PARK => builder.wait(Wait::Park),
            other => return Err(format!("{other} is no way to wait")),
        };
        if self.deadline != 0.0 {
            let limit = Duration::try_from_secs_f64(self.deadline)
                .map_err(|_| format!("a deadline of {} seconds", self.deadline))?;
            builder = builder.deadline(limit);
        }
        if self.stall_warning != 0.0 {
            let after = Duration::try_from_secs_f64(self.stall_warning.max(0.0))
                .map_err(|_| format!("a warning after {} seconds", self.stall_warning))?;
            builder = builder.stall_warning(after);
        }
        if self.stack > 0 {
            builder = builder.stack_size(self.stack);
        }
        Ok(match self.pin_caller {
            0 => builder,
            pin => builder.pin_caller(pin > 0),
        })
    }
}

/// # Safety
/// `options` is null, or valid for its `size` bytes.
unsafe fn read_options(options: *const phx_options) -> Result<phx_options, String> {
    let mut read = phx_options::default();
    if options.is_null() {
        return Ok(read);
    }
    // SAFETY: by the contract.
    let size = unsafe { (*options).size };
    let known = size_of::<phx_options>();
    let size = if size == 0 { known } else { size };
    if size > known {
        return Err(format!("options of {size} bytes; this library knows {known}"));
    }
    // SAFETY: so many bytes are there, and there is room for them.
    unsafe { std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut read).cast(), size) };
    Ok(read)
}

/// Builds a team: starts its threads and binds them to cores. Null options are the defaults.
///
/// # Safety
/// `options` is null or valid; `team` is null or has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_team_new(
    options: *const phx_options,
    team: *mut *mut phx_team,
) -> phx_err {
    guarded(|| {
        if team.is_null() {
            return fail(PHX_ERR_ARGUMENT, "phx_team_new: the place of the result is null");
        }
        // SAFETY: by the contract.
        let builder = unsafe { read_options(options).and_then(|options| options.builder()) };
        let builder = match builder {
            Ok(builder) => builder,
            Err(what) => return fail(PHX_ERR_ARGUMENT, format!("phx_team_new: {what}")),
        };
        match builder.build() {
            Ok(built) => {
                let handle = TEAMS.with(|teams| {
                    static NEXT: std::sync::atomic::AtomicU64 =
                        std::sync::atomic::AtomicU64::new(1);
                    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let handle = number << 8 | 2;
                    teams.insert(handle, Arc::new(built));
                    handle
                });
                // SAFETY: by the contract.
                unsafe { *team = handle as usize as *mut phx_team };
                PHX_OK
            }
            Err(error) => fail_with(&error),
        }
    })
}

/// Ends a team's threads.
#[unsafe(no_mangle)]
pub extern "C" fn phx_team_free(team: *mut phx_team) -> phx_err {
    guarded(|| match TEAMS.with(|teams| teams.remove(&(team as usize as u64))) {
        Some(_) => PHX_OK,
        None => find(team).err().unwrap_or(PHX_OK),
    })
}

/// The number of ranks; -1 for a wrong handle.
#[unsafe(no_mangle)]
pub extern "C" fn phx_team_size(team: *const phx_team) -> c_int {
    find(team).map_or(-1, |team| team.size() as c_int)
}

/// Ends the run that is under way, and all later ones until
/// [`phx_team_clear_cancel`] is called. From any thread.
#[unsafe(no_mangle)]
pub extern "C" fn phx_team_cancel(team: *const phx_team) -> phx_err {
    match find(team) {
        Ok(team) => {
            team.canceller().cancel();
            PHX_OK
        }
        Err(code) => code,
    }
}

/// Takes [`phx_team_cancel`] back.
#[unsafe(no_mangle)]
pub extern "C" fn phx_team_clear_cancel(team: *const phx_team) -> phx_err {
    match find(team) {
        Ok(team) => {
            team.clear_cancel();
            PHX_OK
        }
        Err(code) => code,
    }
}

#[derive(Clone, Copy)]
struct Argument(*mut c_void);
// SAFETY: the caller of the run hands it to all ranks.
unsafe impl Send for Argument {}
// SAFETY: as above.
unsafe impl Sync for Argument {}

impl Argument {
    fn get(self) -> *mut c_void {
        self.0
    }
}

/// The handle of a rank's communicator, given back however its function ends.
struct Lent(*mut phx_comm);

impl Drop for Lent {
    fn drop(&mut self) {
        free(self.0);
    }
}

fn run(team: &Team, f: phx_rank_fn, argument: Argument) -> phx_err {
    let Some(f) = f else {
        return fail(PHX_ERR_ARGUMENT, "the function to run is null");
    };
    let result = team.run(|comm: &mut Comm| {
        let comm = Lent(lend(comm));
        // SAFETY: by the contract of the caller.
        unsafe { f(comm.0, argument.get()) }
    });
    match result {
        Ok(_) => PHX_OK,
        Err(error) => fail_with(&error),
    }
}

/// Runs `f` once on every rank, at the same time, and returns when all have returned. The caller is
/// rank 0. Returns the first cause if the run has failed; the team can be used again.
///
/// # Safety
/// `f` may be called with `argument` on several threads at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_team_run(
    team: *mut phx_team,
    f: phx_rank_fn,
    argument: *mut c_void,
) -> phx_err {
    guarded(|| match find(team) {
        Ok(team) => run(&team, f, Argument(argument)),
        Err(code) => code,
    })
}

/// Runs `f` on `ranks` ranks (0: as many as there are cores) of a team that is built for it.
///
/// # Safety
/// As [`phx_team_run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_run(ranks: c_int, f: phx_rank_fn, argument: *mut c_void) -> phx_err {
    guarded(|| {
        let options = phx_options { ranks, ..phx_options::default() };
        // SAFETY: it has no numbers.
        let team = match unsafe { options.builder() } {
            Ok(builder) => builder.build(),
            Err(what) => return fail(PHX_ERR_ARGUMENT, format!("phx_run: {what}")),
        };
        match team {
            Ok(team) => run(&team, f, Argument(argument)),
            Err(error) => fail_with(&error),
        }
    })
}

/// Makes communicators for threads that are there already (of OpenMP, pthreads, or any other), one
/// a thread: `comms[r]` is rank `r`'s. Its calls may come from any thread, one after the other.
/// Each is to be freed by [`phx_comm_free`](crate::call::phx_comm_free).
///
/// # Safety
/// `options` is null or valid; `comms` is null or has room for as many pointers as there are ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_external(
    ranks: c_int,
    options: *const phx_options,
    comms: *mut *mut phx_comm,
) -> phx_err {
    guarded(|| {
        if comms.is_null() {
            return fail(PHX_ERR_ARGUMENT, "phx_external: the place of the result is null");
        }
        if ranks < 1 {
            return fail_with(&Error::Ranks { asked: 0, limit: phalanx::MAX_RANKS });
        }
        // SAFETY: by the contract.
        let builder = unsafe {
            read_options(options).and_then(|options| phx_options { ranks, ..options }.builder())
        };
        let builder = match builder {
            Ok(builder) => builder,
            Err(what) => return fail(PHX_ERR_ARGUMENT, format!("phx_external: {what}")),
        };
        match builder.external() {
            Ok(made) => {
                for (rank, comm) in made.into_iter().enumerate() {
                    // SAFETY: by the contract.
                    unsafe { *comms.add(rank) = own(comm) };
                }
                PHX_OK
            }
            Err(error) => fail_with(&error),
        }
    })
}
