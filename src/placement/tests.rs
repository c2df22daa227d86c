//! The quality of placements on machines that are not here.

use super::*;
use crate::machine::{Level, Machine};

fn machine(text: &str) -> Machine {
    Machine::from_synthetic(text).unwrap()
}

fn report(machine: &Machine, placement: &Placement, pattern: &Pattern) -> PlacementReport {
    PlacementReport::new(machine, pattern, &assign(placement, machine, pattern.ranks()).unwrap())
}

#[test]
fn a_ring_passes_every_channel_once() {
    let machine = machine("pack:2 [numa] l3:4 core:8 pu:2");
    for ranks in [2, 3, 8, 20, 33, 64] {
        let ring = Pattern::ring(ranks).unwrap();
        let report = report(&machine, &Placement::Ring, &ring);
        assert!(report.steps.iter().all(|step| step.congestion == 1), "{ranks}: {report:?}");
        assert_eq!(report.node_load, 1);
    }
}

#[test]
fn low_dimensions_of_a_hypercube_stay_inside_the_cache() {
    let machine = machine("pack:2 [numa] l3:4 core:8 pu:1");
    let report = report(&machine, &Placement::Hypercube, &Pattern::hypercube(64).unwrap());
    for (bit, step) in report.steps.iter().enumerate() {
        let crosses = step.by_level.iter().any(|(level, _)| *level == Level::L3);
        assert_eq!(crosses, bit >= 3, "{step:?}");
    }
    assert_eq!(report.steps[5].by_level[0], (Level::Package, 32));
}

#[test]
fn numbers_in_odd_order_are_put_right() {
    // OS numbers go round the packages.
    let machine = machine("pack:2 l3:2 core:4 pu:1(indexes=l3:pack)");
    let ring = Pattern::ring(16).unwrap();
    let placed = report(&machine, &Placement::Ring, &ring);
    let identity = report(&machine, &Placement::Identity, &ring);
    assert_eq!(placed.congestion, 1);
    assert!(identity.congestion > 1 && placed.cost < identity.cost);
}

#[test]
fn few_ranks_share_a_cache() {
    let machine = machine("pack:2 [numa] l3:4 core:6 pu:2");
    for placement in [Placement::Auto, Placement::Ring, Placement::Tree, Placement::Mesh(2, 3)] {
        let assignment = assign(&placement, &machine, 6).unwrap();
        let caches: std::collections::BTreeSet<_> =
            assignment.pus().iter().map(|pu| machine.group_of(pu.unwrap(), Level::L3)).collect();
        assert_eq!(caches.len(), 1, "{placement}");
    }
    // 8 ranks need two caches: cut in the middle one step has 4 messages on a channel, and a pair
    // on its own has two steps with 2, which is less in all.
    let cube = report(&machine, &Placement::Hypercube, &Pattern::hypercube(8).unwrap());
    assert_eq!(cube.congestion, 2);
}

/// Topology-driven placements for this number of ranks.
fn placements(ranks: usize) -> Vec<Placement> {
    let mut list = vec![Placement::Auto, Placement::Ring, Placement::Linear, Placement::Tree];
    if ranks <= 64 {
        list.push(Placement::AllToAll);
    }
    for rows in (2..ranks).filter(|rows| ranks.is_multiple_of(*rows)) {
        list.push(Placement::Mesh(rows, ranks / rows));
        list.push(Placement::Torus(vec![rows, ranks / rows]));
    }
    if ranks.is_power_of_two() {
        list.push(Placement::Hypercube);
    }
    list
}

#[test]
fn never_worse_than_identity_or_compact() {
    for text in [
        "pack:2 l3:2 core:4 pu:1(indexes=l3:pack)",
        "pack:3 l3:2 core:3 pu:2",
        "node:4 core:4 pu:2(indexes=core:node)",
        "pack:2 l3:3 l2:2 core:1 pu:2",
    ] {
        let machine = machine(text);
        for ranks in [1, 2, 6, 8, 12, 18] {
            for placement in placements(ranks) {
                let pattern = placement.pattern(ranks).unwrap().unwrap();
                let placed = report(&machine, &placement, &pattern);
                for other in [Placement::Identity, Placement::Compact] {
                    let other = report(&machine, &other, &pattern);
                    assert!(placed.cost <= other.cost + 1e-9, "{text} {placement} {ranks}");
                }
                if ranks <= machine.cores().len() {
                    assert_eq!(placed.node_load, 1, "{text} {placement} {ranks}");
                }
            }
        }
    }
}

#[test]
fn small_cases_are_as_good_as_the_best_of_all_permutations() {
    fn permutations(left: &mut Vec<usize>, at: usize, visit: &mut impl FnMut(&[usize])) {
        if at == left.len() {
            return visit(left);
        }
        for other in at..left.len() {
            left.swap(at, other);
            permutations(left, at + 1, visit);
            left.swap(at, other);
        }
    }
    for (text, ranks) in
        [("pack:2 l2:2 core:2 pu:1", 8), ("pack:2 core:3 pu:1", 6), ("l2:3 core:2 pu:1", 6)]
    {
        let machine = machine(text);
        for placement in placements(ranks).split_off(1) {
            let pattern = placement.pattern(ranks).unwrap().unwrap();
            let placed = report(&machine, &placement, &pattern).cost;
            let weights = Weights::default();
            let mut network = network::ChannelLoads::new(&machine);
            let mut best = f64::INFINITY;
            permutations(&mut (0..ranks).collect(), 0, &mut |cores| {
                best = best.min(network.score(&pattern, &weights, cores).cost);
            });
            assert!(placed <= best + 1e-9, "{text} {placement}: {placed}, best {best}");
        }
    }
}

#[test]
fn a_thousand_ranks_are_placed_at_all() {
    let machine = machine("pack:8 [numa] l3:8 l2:4 core:4 pu:2(indexes=core:pack)");
    for placement in [
        Placement::Auto,
        Placement::Ring,
        Placement::Hypercube,
        Placement::Mesh(32, 32),
        Placement::Torus(vec![8, 8, 16]),
        Placement::AllToAll,
    ] {
        let assignment = assign(&placement, &machine, 1024).unwrap();
        assert_eq!(assignment.most_on_one_core(), 1, "{placement}");
    }
}

#[test]
fn names_are_read_back() {
    for placement in placements(16) {
        assert_eq!(placement.to_string().parse(), Ok(placement));
    }
    for wrong in ["", "rings", "random", "random:x", "mesh:2x", "mesh", "list:1,,2", "torus:ax2"] {
        assert!(wrong.parse::<Placement>().is_err(), "{wrong}");
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let machine = machine("core:8 pu:1");
    for (placement, ranks) in [
        (Placement::Mesh(2, 3), 5),
        (Placement::Mesh(0, 3), 3),
        (Placement::Mesh(usize::MAX, 2), 4),
        (Placement::Torus(vec![]), 1),
        (Placement::Hypercube, 6),
    ] {
        let error = assign(&placement, &machine, ranks).unwrap_err();
        assert!(matches!(error, PlacementError::Shape { .. }), "{placement}: {error}");
    }
    assert_eq!(assign(&Placement::Auto, &machine, 0), Err(PlacementError::NoRanks));
}

#[test]
fn lists_are_checked_by_name() {
    let machine = machine("core:4 pu:1");
    let place = |list: &[usize], ranks| assign(&Placement::List(list.to_vec()), &machine, ranks);
    assert_eq!(place(&[3, 1], 2).unwrap().pus(), [Some(3), Some(1)]);
    assert_eq!(place(&[3, 3], 2), Err(PlacementError::Duplicate { pu: 3, ranks: [0, 1] }));
    assert_eq!(place(&[0, 9], 2), Err(PlacementError::Absent { pu: 9, rank: 1 }));
    assert_eq!(place(&[0], 2), Err(PlacementError::ListTooShort { entries: 1, ranks: 2 }));
}
