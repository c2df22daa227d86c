//! Ranks run where the placement says: the mask read back in each rank, and the processor on which
//! it finds itself in the midst of reductions and after every collective. Beside other programs
//! they roam within their memories instead, and are bound again after the run.

use super::subject::{Kept, Subject, said};
use phalanx::machine::{Level, affinity};
use phalanx::op;
use phalanx::placement::{Placement, assign};
use std::cell::RefCell;

/// Looks at the processor, each after a collective.
const LOOKS: usize = 12;

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let machine = subject.machine;
    if let Err(why) = affinity::current_mask() {
        return Ok(Kept::NotHere(said(why)));
    }
    let (mut teams, mut bound, mut looks, mut roaming) = (0, 0, 0, 0);
    for ranks in subject.rank_numbers() {
        for placement in placements(ranks) {
            let at = |rank: usize| format!("{placement}, {ranks} ranks, rank {rank}");
            let planned = assign(&placement, machine, ranks).map_err(said)?;
            let team = subject.builder(ranks).placement(placement.clone());
            let team = team.build().map_err(said)?;
            let seen = team.run(|comm| {
                let places = RefCell::new(Vec::new());
                for look in 0..LOOKS {
                    match look % 3 {
                        0 => comm.barrier(),
                        1 => {
                            let looking = op::commutative(|a: usize, b: usize| {
                                places.borrow_mut().extend(processor());
                                a + b
                            });
                            comm.all_reduce(&mut [comm.rank()], looking);
                        }
                        _ => comm.all_gather_into(&[look], &mut vec![0; comm.size()]),
                    }
                    places.borrow_mut().extend(processor());
                }
                (affinity::current_mask(), places.into_inner())
            });
            for (rank, (mask, places)) in seen.map_err(said)?.into_iter().enumerate() {
                let binding = &team.bindings()[rank];
                let Some(pu) = planned.pu(rank) else {
                    return Err(format!("{}: it has no place", at(rank)));
                };
                if let Some(problem) = &binding.problem {
                    return Err(format!("{}: {problem}", at(rank)));
                }
                if binding.pu != Some(pu) {
                    return Err(format!(
                        "{}: PU {pu} is planned, {:?} taken",
                        at(rank),
                        binding.pu
                    ));
                }
                let memory = |pu| machine.group_of(pu, Level::Numa);
                let near = |&unit: &usize| memory(unit) == memory(pu);
                let mut range: Vec<usize> =
                    planned.pus().iter().flatten().copied().filter(near).collect();
                range.sort_unstable();
                range.dedup();
                let mask = mask.map_err(said)?;
                if mask != [pu] && mask != range {
                    return Err(format!(
                        "{}: PU {pu} is planned, of {range:?} in its memory; the mask is {mask:?}",
                        at(rank)
                    ));
                }
                if let Some(other) = places.iter().find(|place| !range.contains(place)) {
                    return Err(format!(
                        "{}: it ran on PU {other}, not {pu}, nor another of {range:?}",
                        at(rank)
                    ));
                }
                roaming += usize::from(mask != [pu] || places.iter().any(|&place| place != pu));
                bound += 1;
                looks += places.len();
            }
            teams += 1;
        }
    }
    let which = match roaming {
        0 => "all bound to their cores".to_owned(),
        _ => format!("{roaming} of them roaming within their memories, beside load"),
    };
    Ok(Kept::Holds(format!(
        "{bound} ranks of {teams} teams, {which}, by their masks and by {looks} looks at the PU \
         that each was on, in reductions and after {LOOKS} collectives"
    )))
}

/// The placements that serve `ranks`.
fn placements(ranks: usize) -> Vec<Placement> {
    let mut found = vec![
        Placement::Auto,
        Placement::Compact,
        Placement::Scatter,
        Placement::Identity,
        Placement::Random(7),
        Placement::Ring,
        Placement::Tree,
    ];
    if ranks.is_power_of_two() {
        found.push(Placement::Hypercube);
    }
    if ranks.is_multiple_of(2) {
        found.push(Placement::Mesh(2, ranks / 2));
    }
    found
}

/// The processor that the calling thread runs on, where the system tells: field 39 of its `stat`.
/// (The second field is a name in brackets, which may have spaces in it.)
fn processor() -> Option<usize> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(39 - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_thread_is_on_its_processor() {
        std::thread::spawn(|| {
            let pu = *affinity::allowed_pus().unwrap().last().unwrap();
            affinity::pin_current_thread(pu).unwrap();
            assert_eq!(processor(), Some(pu));
        })
        .join()
        .unwrap();
    }
}
