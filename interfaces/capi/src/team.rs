//! Teams, runs, and communicators for threads of the user's own.

use crate::arguments::{input, place};
use crate::call::{free, lend, own};
use crate::error::{Answer, fail, fail_with};
use crate::names::*;
use phalanx::engine::{FloatControl, Lock, call_back};
use phalanx::placement::Placement;
use phalanx::{Builder, Comm, Error, Team, Wait};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

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

/// Runs `f`, in which no panic is expected, and returns its result.
fn guarded(f: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        let what = "an error in the library itself; the standard error has its text";
        Err(fail(PHX_ERR_OTHER, what))
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

/// An argument of `function` is wrong.
fn wrong(function: &str) -> impl Fn(String) -> phx_err {
    move |what| fail(PHX_ERR_ARGUMENT, format!("{function}: {what}"))
}

pub(crate) unsafe fn team_new(options: *const phx_options, team: *mut *mut phx_team) -> Answer {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    guarded(|| {
        place(team).map_err(wrong("phx_team_new"))?;
        // SAFETY: by the contract.
        let builder = unsafe { read_options(options).and_then(|options| options.builder()) };
        let built = builder.map_err(wrong("phx_team_new"))?.build();
        let built = built.map_err(|error| fail_with(&error))?;
        let handle = NEXT.fetch_add(1, Relaxed) << 8 | 2;
        TEAMS.with(|teams| teams.insert(handle, Arc::new(built)));
        // SAFETY: by the contract.
        unsafe { *team = handle as usize as *mut phx_team };
        Ok(())
    })
}

pub(crate) fn team_free(team: *mut phx_team) -> Answer {
    guarded(|| match TEAMS.with(|teams| teams.remove(&(team as usize as u64))) {
        Some(_) => Ok(()),
        None => find(team).map(|_| ()),
    })
}

pub(crate) fn team_size(team: *const phx_team) -> c_int {
    find(team).map_or(-1, |team| team.size() as c_int)
}

pub(crate) fn team_cancel(team: *const phx_team) -> Answer {
    find(team)?.canceller().cancel();
    Ok(())
}

pub(crate) fn team_clear_cancel(team: *const phx_team) -> Answer {
    find(team)?.clear_cancel();
    Ok(())
}

/// The handle of a rank's communicator, given back however its function ends.
struct Lent(*mut phx_comm);

impl Drop for Lent {
    fn drop(&mut self) {
        free(self.0);
    }
}

fn run_on(team: &Team, f: phx_rank_fn, argument: *mut c_void) -> Answer {
    // (The caller of the run hands it to all ranks.)
    let argument = argument.expose_provenance();
    let f = f.ok_or_else(|| fail(PHX_ERR_ARGUMENT, "the function to run is null"))?;
    // As with OpenMP: all ranks compute with the caller's.
    let control = FloatControl::here();
    let result = team.run(|comm: &mut Comm| {
        #[cfg(target_os = "linux")]
        crate::overflow::watch(comm.rank());
        let (is_caller, comm) = (comm.rank() == 0, Lent(lend(comm)));
        let argument = std::ptr::with_exposed_provenance_mut(argument);
        // SAFETY: by the contract of the caller.
        let work = || call_back(|| unsafe { f(comm.0, argument) });
        if is_caller { work() } else { control.lend(work) }
    });
    result.map(|_| ()).map_err(|error| fail_with(&error))
}

pub(crate) unsafe fn team_run(
    team: *mut phx_team,
    f: phx_rank_fn,
    argument: *mut c_void,
) -> Answer {
    guarded(|| run_on(&*find(team)?, f, argument))
}

pub(crate) unsafe fn run(ranks: c_int, f: phx_rank_fn, argument: *mut c_void) -> Answer {
    guarded(|| {
        let options = phx_options { ranks, ..phx_options::default() };
        // SAFETY: it has no numbers.
        let team = unsafe { options.builder() }.map_err(wrong("phx_run"))?.build();
        run_on(&team.map_err(|error| fail_with(&error))?, f, argument)
    })
}

pub(crate) unsafe fn external(
    ranks: c_int,
    options: *const phx_options,
    comms: *mut *mut phx_comm,
) -> Answer {
    guarded(|| {
        place(comms).map_err(wrong("phx_external"))?;
        if ranks < 1 {
            return Err(fail_with(&Error::Ranks { asked: 0, limit: phalanx::MAX_RANKS }));
        }
        // SAFETY: by the contract.
        let builder = unsafe {
            read_options(options).and_then(|options| phx_options { ranks, ..options }.builder())
        };
        let made = builder.map_err(wrong("phx_external"))?.external();
        for (rank, comm) in made.map_err(|error| fail_with(&error))?.into_iter().enumerate() {
            // SAFETY: by the contract.
            unsafe { *comms.add(rank) = own(comm) };
        }
        Ok(())
    })
}
