//! Groups: lists of ranks of the world.

use super::keep::NewGroup;
use super::prelude::*;

// The standard's answers to comparisons: one and the same; the same ranks in the same order; the
// same ranks; none of these.
pub(super) use crate::rt::standard::{CONGRUENT, IDENT as SAME, SIMILAR, UNEQUAL};

pub(super) fn alike(one: &[usize], two: &[usize]) -> c_int {
    let sorted = |list: &[usize]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    match () {
        () if one == two => CONGRUENT,
        () if sorted(one) == sorted(two) => SIMILAR,
        () => UNEQUAL,
    }
}

fn member(group: &[usize], index: c_int) -> Outcome<usize> {
    let no = || format!("rank {index} is none of the group's {}", group.len());
    let found = usize::try_from(index).ok().and_then(|it| group.get(it).copied());
    found.ok_or_else(|| Error::new(Class::Rank, no()))
}

fn members(group: &[usize], ranks: &[c_int]) -> NewGroup {
    ranks.iter().map(|it| member(group, *it)).collect()
}

/// The ranks of triplets (first, last, stride).
fn ranges(group: &[usize], ranges: &[[c_int; 3]]) -> NewGroup {
    let mut chosen = Vec::new();
    for [first, last, stride] in ranges {
        if *stride == 0 {
            return error(Class::Arg, "a stride is zero");
        }
        let mut at = *first;
        while (*stride > 0 && at <= *last) || (*stride < 0 && at >= *last) {
            chosen.push(member(group, at)?);
            at += stride;
        }
    }
    Ok(chosen)
}

fn without(group: &[usize], other: &[usize]) -> Vec<usize> {
    group.iter().copied().filter(|it| !other.contains(it)).collect()
}

pub(super) fn group_size(_: Caller<'_>, group: &[usize]) -> Outcome<c_int> {
    Ok(int(group.len()))
}

pub(super) fn group_rank(caller: Caller<'_>, group: &[usize]) -> Outcome<c_int> {
    Ok(group.iter().position(|it| *it == caller.me).map_or(UNDEFINED, int))
}

pub(super) fn group_incl(_: Caller<'_>, group: &[usize], n: c_int, ranks: List<c_int>) -> NewGroup {
    members(group, ranks.take(n))
}

pub(super) fn group_excl(_: Caller<'_>, group: &[usize], n: c_int, ranks: List<c_int>) -> NewGroup {
    Ok(without(group, &members(group, ranks.take(n))?))
}

pub(super) fn group_translate_ranks(
    _: Caller<'_>,
    from: &[usize],
    n: c_int,
    ranks: List<c_int>,
    to: &[usize],
    out: Out<c_int>,
) -> Outcome {
    for (index, one) in ranks.take(n).iter().enumerate() {
        let found = if *one == PROC_NULL {
            PROC_NULL
        } else {
            let world = member(from, *one)?;
            // In the group of all ranks each has its own place.
            let place = Some(world).filter(|it| to.get(*it) == Some(it));
            place.or_else(|| to.iter().position(|it| *it == world)).map_or(UNDEFINED, int)
        };
        out.at(index).set(found);
    }
    Ok(())
}

pub(super) fn group_free(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    caller.group(handle.get())?;
    caller.groups.borrow_mut().remove(handle.get());
    handle.set(standard::GROUP_NULL);
    Ok(())
}

pub(super) fn group_union(_: Caller<'_>, one: &[usize], two: &[usize]) -> NewGroup {
    Ok(one.iter().copied().chain(without(two, one)).collect())
}

pub(super) fn group_intersection(_: Caller<'_>, one: &[usize], two: &[usize]) -> NewGroup {
    Ok(one.iter().copied().filter(|it| two.contains(it)).collect())
}

pub(super) fn group_difference(_: Caller<'_>, one: &[usize], two: &[usize]) -> NewGroup {
    Ok(without(one, two))
}

pub(super) fn group_compare(_: Caller<'_>, one: &[usize], two: &[usize]) -> Outcome<c_int> {
    let found = alike(one, two);
    Ok(if found == CONGRUENT { SAME } else { found })
}

pub(super) fn group_range_incl(
    _: Caller<'_>,
    group: &[usize],
    n: c_int,
    triplets: List<[c_int; 3]>,
) -> NewGroup {
    ranges(group, triplets.take(n))
}

pub(super) fn group_range_excl(
    _: Caller<'_>,
    group: &[usize],
    n: c_int,
    triplets: List<[c_int; 3]>,
) -> NewGroup {
    Ok(without(group, &ranges(group, triplets.take(n))?))
}
