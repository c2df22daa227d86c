//! Plans of neighbourhoods: copies of other ranks' elements, for sparse matrices and meshes.

use crate::arguments::{apart, input, output, rank_number};
use crate::call::{From, call, look};
use crate::error::{Answer, answer};
use crate::names::*;
use crate::objects::Objects;
use crate::types::{Type, with_type};
use phalanx::dist::Block;
use phalanx::{Comm, Neighborhood};
use std::ffi::{c_int, c_void};

static PLANS: Objects<Neighborhood> = Objects::new(6, "plan", |plan| PLANS.free(plan));

/// The plan of a handle, and its communicator.
fn find(plan: *const phx_plan) -> Result<(*mut phx_comm, &'static Neighborhood), phx_err> {
    // SAFETY: of this thread alone, and not changed until it is freed, which no call of the plan's
    // does.
    let made = unsafe { PLANS.find(plan)?.made() }.as_ref().expect("a plan is never taken out");
    Ok((made.comm, &made.it))
}

pub(crate) unsafe fn plan_blocks(
    comm: *mut phx_comm,
    from: From,
    total: usize,
    indices: *const usize,
    n: usize,
    plan: *mut *mut phx_plan,
) -> Answer {
    // SAFETY: by the contract.
    unsafe {
        PLANS.make(comm, from, plan, |comm| {
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

pub(crate) unsafe fn plan_lists(
    comm: *mut phx_comm,
    from: From,
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
) -> Answer {
    // SAFETY: by the contract.
    unsafe {
        PLANS.make(comm, from, plan, |comm| {
            let gives = lists(givers, give_ranks, give_counts, give)?;
            let wants = lists(wanters, want_ranks, want_counts, want)?;
            Ok(comm.neighborhood(owned, &gives, ghosts, &wants))
        })
    }
}

pub(crate) fn plan_free(plan: *mut phx_plan) -> Answer {
    find(plan)?;
    PLANS.free(plan as usize as u64);
    Ok(())
}

pub(crate) fn plan_owned(plan: *const phx_plan) -> usize {
    find(plan).map_or(0, |(_, plan)| plan.owned())
}

pub(crate) fn plan_ghosts(plan: *const phx_plan) -> usize {
    find(plan).map_or(0, |(_, plan)| plan.ghosts())
}

/// Does what a function on a plan does.
///
/// # Safety
/// As [`call`].
unsafe fn by_plan(
    plan: *const phx_plan,
    from: From,
    body: impl FnOnce(&mut Comm, &Neighborhood) -> Result<(), String>,
) -> Answer {
    let (comm, made) = find(plan)?;
    look(comm, |_| ())?;
    // SAFETY: passed on.
    answer(unsafe { call(comm, from, |comm| body(comm, made)) })
}

pub(crate) unsafe fn plan_gather(
    plan: *const phx_plan,
    from: From,
    owned: *const c_void,
    ghosts: *mut c_void,
    ty: phx_type,
) -> Answer {
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

pub(crate) unsafe fn plan_scatter_add(
    plan: *const phx_plan,
    from: From,
    ghosts: *const c_void,
    owned: *mut c_void,
    ty: phx_type,
) -> Answer {
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
