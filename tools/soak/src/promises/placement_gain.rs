//! Placements for a pattern cost at most as much as those that know nothing of it, by the library's
//! own cost.

use super::subject::{Kept, Subject, said};
use phalanx::placement::{Assignment, Placement, PlacementReport, assign};
use std::collections::BTreeSet;

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let machine = subject.machine;
    let cores = machine.cores();
    let slowest = |assignment: &Assignment| {
        let units = assignment.pus().iter().flatten();
        units.filter_map(|&pu| Some(cores[machine.core_of(pu)?].kind)).min()
    };
    let (mut compared, mut better) = (0, 0);
    let mut beat_identity = BTreeSet::new();
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
                if cost < others - 1e-9 {
                    better += 1;
                    if other == Placement::Identity {
                        beat_identity.insert(name(&placement));
                    }
                }
            }
        }
    }
    let named = Vec::from_iter(beat_identity.iter().map(String::as_str)).join(", ");
    if let Some(wanted) = subject.expected.cheaper().iter().find(|w| !beat_identity.contains(*w)) {
        return Err(format!("{wanted} is no cheaper than identity; cheaper are: {named}"));
    }
    let which = if named.is_empty() { String::new() } else { format!(" (than identity: {named})") };
    Ok(Kept::Holds(format!(
        "of {compared} comparisons with identity and compact, none dearer and {better} cheaper by \
         the library's own cost{which}"
    )))
}

/// Without its extents: "mesh" of "mesh:2x4".
fn name(placement: &Placement) -> String {
    let text = placement.to_string();
    text.split_once(':').map_or(text.as_str(), |(name, _)| name).to_string()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::ExpectedMachine;
    use phalanx::machine::Machine;
    use std::time::Duration;

    /// Rows of 4 on packages of 4 cores cut 4 messages, halves of 2 by 2 only 2.
    #[test]
    fn what_must_be_cheaper_is_named() {
        let machine = &Machine::from_synthetic("pack:2 [numa] core:4 pu:1").unwrap();
        let said = |text: &str| {
            let expected = &text.parse::<ExpectedMachine>().unwrap();
            check(&Subject { machine, expected, most: 8, deadline: Duration::from_secs(60) })
        };
        assert!(matches!(said("cheaper=mesh"), Ok(Kept::Holds(what)) if what.contains("mesh")));
        assert!(said("cheaper=mesh,ring").unwrap_err().starts_with("ring is no cheaper"));
    }
}
