//! Ranks run where the placement says: the mask read back in each rank, and the processor on which
//! it finds itself in the midst of reductions and after every collective.

use super::subject::{Kept, Subject, said};
use phalanx::machine::affinity;
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
    let (mut teams, mut bound, mut looks) = (0, 0, 0);
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
                let mask = mask.map_err(said)?;
                if mask != [pu] {
                    return Err(format!("{}: PU {pu} is planned, the mask is {mask:?}", at(rank)));
                }
                if let Some(other) = places.iter().find(|&&place| place != pu) {
                    return Err(format!("{}: it ran on PU {other}, not {pu}", at(rank)));
                }
                bound += 1;
                looks += places.len();
            }
            teams += 1;
        }
    }
    Ok(Kept::Holds(format!(
        "{bound} ranks of {teams} teams, by their masks and by {looks} looks at the PU that each \
         was on, in reductions and after {LOOKS} collectives"
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
