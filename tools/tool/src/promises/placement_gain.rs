//! Placements for a pattern cost at most as much as those that know nothing of it, by the library's
//! own cost.

use super::{Kept, Subject, said};
use phalanx::placement::{Assignment, Placement, PlacementReport, assign};

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let machine = subject.machine;
    let cores = machine.cores();
    let slowest = |assignment: &Assignment| {
        let units = assignment.pus().iter().flatten();
        units.filter_map(|&pu| Some(cores[machine.core_of(pu)?].kind)).min()
    };
    let (mut compared, mut better) = (0, 0);
    for ranks in subject.rank_numbers() {
        for placement in patterns(ranks) {
            let Some(pattern) = placement.pattern(ranks).map_err(said)? else { continue };
            let placed = assign(&placement, machine, ranks).map_err(said)?;
            let cost = PlacementReport::new(machine, &pattern, &placed).cost;
            for other in [Placement::Identity, Placement::Compact] {
                let beside = assign(&other, machine, ranks).map_err(said)?;
                // Slower cores than are needed may be nearer to each other.
                if slowest(&beside) < slowest(&placed) {
                    continue;
                }
                let others = PlacementReport::new(machine, &pattern, &beside).cost;
                if cost > others + 1e-9 {
                    return Err(format!(
                        "{placement}, {ranks} ranks: costs {cost}, {other} {others}"
                    ));
                }
                compared += 1;
                better += usize::from(cost < others - 1e-9);
            }
        }
    }
    Ok(Kept::Holds(format!(
        "of {compared} comparisons with identity and compact, none dearer and {better} cheaper by \
         the library's own cost"
    )))
}

fn patterns(ranks: usize) -> Vec<Placement> {
    let mut found = vec![Placement::Auto, Placement::Ring, Placement::Linear, Placement::Tree];
    if ranks.is_power_of_two() {
        found.push(Placement::Hypercube);
    }
    if ranks.is_multiple_of(2) {
        found.push(Placement::Mesh(2, ranks / 2));
        found.push(Placement::Torus(vec![ranks / 2, 2]));
    }
    found
}
