//! Plans of neighbourhoods: copies of other ranks' elements, for sparse matrices and meshes.

use crate::arguments::{apart, input, output, rank_number};
use crate::call::{From, adopt_object, call, look, may_use, phx_comm, this_thread};
use crate::error::{PHX_ERR_HANDLE, PHX_ERR_OTHER, PHX_OK, fail, phx_err};
use crate::handle::{Table, Unused};
use crate::types::{PHX_F32, PHX_F64, PHX_I32, PHX_I64, Type, phx_type, with_type};
use phalanx::dist::Block;
use phalanx::{Comm, Neighborhood};
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A plan by which ranks get copies of each other's elements. Only pointers to it are used, and
/// they are no addresses.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Debug)]
pub struct phx_plan {
    _nothing: [u8; 0],
}

struct MadePlan {
    comm: usize,
    plan: Neighborhood,
}

/// The object of a handle.
struct PlanSeat {
    thread: AtomicUsize,
    made: UnsafeCell<Option<MadePlan>>,
}

// SAFETY: `made` is used by the thread that `thread` names only, or by one that takes it over.
unsafe impl Sync for PlanSeat {}

impl Unused for PlanSeat {
    const UNUSED: PlanSeat = PlanSeat { thread: AtomicUsize::new(0), made: UnsafeCell::new(None) };
}

static PLANS: Table<PlanSeat> = Table::new(6);

fn find(plan: *const phx_plan) -> Result<&'static MadePlan, phx_err> {
    let seat = PLANS.find(plan as usize as u64);
    let own = seat.filter(|seat| {
        // SAFETY: threads use a rank's objects one after the other.
        may_use(&seat.thread, || unsafe { &*seat.made.get() }.as_ref().map(|made| made.comm))
    });
    // SAFETY: of this thread alone, and not changed until it is freed, which no call of the plan's
    // does.
    let made = own.and_then(|seat| unsafe { &*seat.made.get() }.as_ref());
    made.ok_or_else(|| fail(PHX_ERR_HANDLE, "no such plan: it is null, freed, or another rank's"))
}

/// Frees a plan of the calling thread.
pub(crate) fn free(handle: u64) {
    if let Some(seat) = PLANS.find(handle)
        && PLANS.retire(handle)
    {
        // SAFETY: the handle is nobody's any more, and was this thread's.
        drop(unsafe { (*seat.made.get()).take() });
        seat.thread.store(0, Relaxed);
        PLANS.recycle(handle);
    }
}

/// # Safety
/// `plan` is null or valid; the file is null or a string that stays.
unsafe fn make(
    comm: *mut phx_comm,
    from: From,
    plan: *mut *mut phx_plan,
    f: impl FnOnce(&mut Comm) -> Result<Neighborhood, String>,
) -> phx_err {
    let mut made = None;
    // SAFETY: passed on.
    let code = unsafe {
        call(comm, from, |on| {
            if plan.is_null() {
                return Err("the place of the result is null".into());
            }
            made = Some(f(on)?);
            Ok(())
        })
    };
    let (PHX_OK, Some(neighborhood)) = (code, made) else { return code };
    let (handle, seat) = match PLANS.reserve() {
        Ok(place) => place,
        Err(code) => return code,
    };
    seat.thread.store(this_thread(), Relaxed);
    // SAFETY: the handle is nobody's yet.
    unsafe { *seat.made.get() = Some(MadePlan { comm: comm as usize, plan: neighborhood }) };
    PLANS.publish(handle);
    if adopt_object(comm, handle).is_err() {
        free(handle);
        return PHX_ERR_OTHER;
    }
    // SAFETY: passed on.
    unsafe { *plan = handle as usize as *mut phx_plan };
    PHX_OK
}

/// Makes the plan by which this rank gets the elements `indices` of a vector of `total` elements,
/// which the ranks have in blocks: rank r those from r total / p on, the first ranks one more where
/// that does not divide. Ghost k is a copy of element `indices[k]`. All ranks call it.
///
/// # Safety
/// `indices` has `n` numbers; `plan` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_plan_blocks_at(
    comm: *mut phx_comm,
    total: usize,
    indices: *const usize,
    n: usize,
    plan: *mut *mut phx_plan,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_plan_blocks", file, line };
    // SAFETY: by the contract.
    unsafe {
        make(comm, from, plan, |comm| {
            let n = n.min(isize::MAX as usize / size_of::<usize>());
            let indices = input::<usize>("the list of indices", indices.cast(), n)?;
            Ok(comm.ghosts(&Block::new(total, comm.size()), indices))
        })
    }
}

/// Lists of numbers for some ranks.
///
/// # Safety
/// `ranks` and `counts` have `n` numbers each, `numbers` as many as the counts sum to.
unsafe fn lists(
    n: c_int,
    ranks: *const c_int,
    counts: *const usize,
    numbers: *const usize,
) -> Result<Vec<(usize, Vec<usize>)>, String> {
    let n = usize::try_from(n).map_err(|_| format!("{n} neighbours"))?;
    // SAFETY: by the contract.
    unsafe {
        let ranks = input::<c_int>("the list of ranks", ranks.cast(), n)?;
        let counts = input::<usize>("the list of counts", counts.cast(), n)?;
        let total = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
        let total = total.filter(|&it| it <= isize::MAX as usize / size_of::<usize>());
        let total = total.ok_or("the counts sum to more than memory can hold")?;
        let mut rest = input::<usize>("the list of numbers", numbers.cast(), total)?;
        let mut lists = Vec::with_capacity(n);
        for (&rank, &count) in ranks.iter().zip(counts) {
            let (list, tail) = rest.split_at(count);
            lists.push((rank_number("a neighbour", rank)?, list.to_vec()));
            rest = tail;
        }
        Ok(lists)
    }
}

/// Makes the plan by lists: of this rank's `owned` elements, those that each of `givers` ranks
/// reads (`give_counts[k]` numbers in `give` for rank `give_ranks[k]`, one list after the other);
/// and of its `ghosts` the places to which the elements of each of `wanters` ranks go, in the order
/// in which that rank lists them. All ranks call it.
///
/// # Safety
/// The lists are as long as they say; `plan` is null or valid; `file` is null or a string that
/// stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_plan_lists_at(
    comm: *mut phx_comm,
    owned: usize,
    givers: c_int,
    give_ranks: *const c_int,
    give_counts: *const usize,
    give: *const usize,
    ghosts: usize,
    wanters: c_int,
    want_ranks: *const c_int,
    want_counts: *const usize,
    want: *const usize,
    plan: *mut *mut phx_plan,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_plan_lists", file, line };
    // SAFETY: by the contract.
    unsafe {
        make(comm, from, plan, |comm| {
            let gives = lists(givers, give_ranks, give_counts, give)?;
            let wants = lists(wanters, want_ranks, want_counts, want)?;
            Ok(comm.neighborhood(owned, &gives, ghosts, &wants))
        })
    }
}

/// Frees a plan. Those that are left are freed with their communicator.
#[unsafe(no_mangle)]
pub extern "C" fn phx_plan_free(plan: *mut phx_plan) -> phx_err {
    match find(plan) {
        Ok(_) => {
            free(plan as usize as u64);
            PHX_OK
        }
        Err(code) => code,
    }
}

/// How many elements the rank owns, by a plan; 0 for a wrong handle.
#[unsafe(no_mangle)]
pub extern "C" fn phx_plan_owned(plan: *const phx_plan) -> usize {
    find(plan).map_or(0, |made| made.plan.owned())
}

/// How many ghosts the rank has, by a plan; 0 for a wrong handle.
#[unsafe(no_mangle)]
pub extern "C" fn phx_plan_ghosts(plan: *const phx_plan) -> usize {
    find(plan).map_or(0, |made| made.plan.ghosts())
}

/// Does what a function on a plan does.
///
/// # Safety
/// As [`call`].
unsafe fn by_plan(
    plan: *const phx_plan,
    from: From,
    body: impl FnOnce(&mut Comm, &Neighborhood) -> Result<(), String>,
) -> phx_err {
    let made = match find(plan) {
        Ok(made) => made,
        Err(code) => return code,
    };
    let comm = made.comm as *mut phx_comm;
    if let Err(code) = look(comm, |_| ()) {
        return code;
    }
    // SAFETY: passed on.
    unsafe { call(comm, from, |comm| body(comm, &made.plan)) }
}

/// Fills `ghosts` with copies of the owners' elements. All ranks call it.
///
/// # Safety
/// The buffers have as many elements of `ty` as the plan says, and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_plan_gather_at(
    plan: *const phx_plan,
    owned: *const c_void,
    ghosts: *mut c_void,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_plan_gather", file, line };
    // SAFETY: by the contract.
    unsafe {
        by_plan(plan, from, |comm, plan| {
            let ty = Type::of(ty)?;
            if ty.is_bytes() && ty.size > 1 {
                return Err("a plan is of numbers, not of PHX_BYTES(n)".into());
            }
            let (n, m) = (plan.owned(), plan.ghosts());
            ty.count(n)?;
            ty.count(m)?;
            with_type!(ty, T => {
                let own = input::<T>("the own elements", owned, n)?;
                apart((own.as_ptr().cast(), size_of_val(own)), (ghosts, m * size_of::<T>()))?;
                plan.gather(comm, own, output::<T>("the ghosts", ghosts, m)?);
            });
            Ok(())
        })
    }
}

/// Adds the ghosts to the owners' elements: of `PHX_F64`, `PHX_F32`, `PHX_I32` or `PHX_I64`. All
/// ranks call it.
///
/// # Safety
/// As [`phx_plan_gather_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_plan_scatter_add_at(
    plan: *const phx_plan,
    ghosts: *const c_void,
    owned: *mut c_void,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_plan_scatter_add", file, line };
    // SAFETY: by the contract.
    unsafe {
        by_plan(plan, from, |comm, plan| {
            let (n, m) = (plan.owned(), plan.ghosts());
            Type::of(ty)?.count(n)?;
            Type::of(ty)?.count(m)?;
            macro_rules! of {
                ($T:ty) => {{
                    let from = input::<$T>("the ghosts", ghosts, m)?;
                    let room = (owned, n * size_of::<$T>());
                    apart((from.as_ptr().cast(), size_of_val(from)), room)?;
                    plan.scatter_add(comm, from, output::<$T>("the own elements", owned, n)?);
                }};
            }
            match ty {
                PHX_F64 => of!(f64),
                PHX_F32 => of!(f32),
                PHX_I32 => of!(i32),
                PHX_I64 => of!(i64),
                _ => return Err("ghosts are added of PHX_F64, PHX_F32, PHX_I32, PHX_I64".into()),
            }
            Ok(())
        })
    }
}
