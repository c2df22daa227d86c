//! The numbers of the book and of the catalogue: figures, embeddings, crossovers.

use super::rational::{ratio, to_f64};
use super::{
    BadNetwork, Congestion, Cost, MOST_NODES, Network, Rates, Ties, bound, closed_form, rank,
};
use phalanx::schedule::{Algorithm, Message, Operation, Request, trace};
use phalanx::topology::{Extents, gray, gray_inverse};
use std::collections::BTreeMap;

fn on(network: &Network, algorithm: Algorithm, p: usize) -> Congestion {
    on_call(network, algorithm, &Request::new(algorithm.operations()[0], p))
}

fn on_call(network: &Network, algorithm: Algorithm, call: &Request) -> Congestion {
    Congestion::on(network, &algorithm.schedule(call).unwrap()).unwrap()
}

fn congestion(c: &Congestion) -> Vec<usize> {
    c.steps.iter().map(|s| s.congestion).collect()
}

fn dilation(c: &Congestion) -> Vec<usize> {
    c.steps.iter().map(|s| s.dilation).collect()
}

/// T4, Fig. 4.12: the hypercube's all-gather on other networks.
#[test]
fn figure_4_12() {
    for network in [Network::ring(8), Network::linear(8), Network::tree(8)] {
        assert_eq!(congestion(&on(&network, Algorithm::AG_HCUBE, 8)), [1, 2, 4], "{network}");
    }
    let torus = Network::torus(Extents::mesh(2, 4));
    assert_eq!(congestion(&on(&torus, Algorithm::AG_HCUBE, 8)), [1, 2, 1]);
    // The last step, link by link, each way.
    for network in [Network::ring(8), Network::linear(8)] {
        let mut load = [[0; 2]; 7];
        for rank in 0..8 {
            for c in network.route(rank, rank ^ 4) {
                load[c.from.min(c.to)][usize::from(c.from > c.to)] += 1;
            }
        }
        assert_eq!(load.map(|l| l[0]), [1, 2, 3, 4, 3, 2, 1]);
        assert_eq!(load.map(|l| l[1]), [1, 2, 3, 4, 3, 2, 1]);
    }
    let step = &on(&Network::ring(8), Algorithm::AG_HCUBE, 8).steps[2];
    assert_eq!((step.load, step.largest, step.factor), (16.into(), 4.into(), 4.into()));
    // All upwards: four everywhere. Split over both ways: two.
    let up = Network::ring(8).ties(Ties::Up);
    assert_eq!(congestion(&on(&up, Algorithm::AG_HCUBE, 8)), [1, 2, 4]);
    let split = Network::ring(8).ties(Ties::Split);
    assert_eq!(congestion(&on(&split, Algorithm::AG_HCUBE, 8)), [1, 2, 2]);
}

/// Section 2, EMB-HC-RING, -LINEAR, -MESH, -TREE: the exchange over dimension
/// i, as the all-reduce does it.
#[test]
fn cube_exchanges_on_other_networks() {
    let powers = |d: usize| (0..d).map(|i| 1 << i).collect::<Vec<usize>>();
    for d in 1..=7usize {
        let p = 1 << d;
        for network in [Network::ring(p), Network::linear(p)] {
            let found = on(&network, Algorithm::AR_HCUBE, p);
            assert_eq!((dilation(&found), congestion(&found)), (powers(d), powers(d)));
        }
        let leaves = on(&Network::tree(p), Algorithm::AR_HCUBE, p);
        assert_eq!(dilation(&leaves), (0..d).map(|i| 2 * (i + 1)).collect::<Vec<_>>());
        assert_eq!(congestion(&leaves), powers(d));
        if d >= 2 {
            // Ties split over both halves of the ring: p/4 in the last step.
            let split = Network::ring(p).ties(Ties::Split);
            assert_eq!(congestion(&on(&split, Algorithm::AR_HCUBE, p))[d - 1], p / 4);
        }
        if d.is_multiple_of(2) {
            let side = 1 << (d / 2);
            let torus = Network::torus(Extents::mesh(side, side));
            let found = on(&torus, Algorithm::AR_HCUBE, p);
            assert_eq!(congestion(&found), [powers(d / 2), powers(d / 2)].concat());
        }
        if d >= 3 {
            // Ring position = inverse Gray code.
            let call = Request::new(Operation::AllReduce, p);
            let schedule = Algorithm::AR_HCUBE.schedule(&call).unwrap();
            let found = Congestion::placed(&Network::ring(p), &schedule, gray_inverse).unwrap();
            let mut far: Vec<usize> = (0..d).map(|i| (2 << i) - 1).collect();
            far[d - 1] = p / 2 - 1;
            assert_eq!(dilation(&found), far);
            let mut most = powers(d);
            most[d - 1] = p / 4;
            assert_eq!(congestion(&found), most, "p {p}");
        }
    }
}

/// Section 2: the t_w terms of cube algorithms on ring, array, leaf tree, torus.
#[test]
fn cube_algorithms_on_other_networks() {
    use Algorithm as A;
    for d in 1..=6usize {
        let p = 1 << d;
        let own = |a: A| closed_form(a, &Request::new(a.operations()[0], p)).unwrap().cost();
        for network in [Network::ring(p), Network::linear(p), Network::tree(p)] {
            let tw = |a| on(&network, a, p).cost.tw;
            for a in [A::BC_HCUBE, A::RED_HCUBE, A::SC_HCUBE, A::GA_HCUBE] {
                let found = on(&network, a, p);
                assert_eq!((found.cost, found.congestion), (own(a), 1), "{a} on {network}");
            }
            assert_eq!(tw(A::AG_HCUBE), ratio(p * p - 1, 3), "{network}");
            assert_eq!(tw(A::RS_HCUBE), ratio(p * p - 1, 3), "{network}");
            assert_eq!(tw(A::AR_HCUBE), ratio(p - 1, 1), "{network}");
            assert_eq!(tw(A::SCAN_HCUBE), ratio(p - 1, 1), "{network}");
            assert_eq!(tw(A::TX_HCUBE), ratio(p * (p - 1), 2), "{network}");
            assert_eq!(tw(A::TX_ANY), ratio(p * p, 4), "{network}");
            if network.name() != "ring" {
                assert_eq!(tw(A::TX_HCUBE_XOR), ratio(p * p - 1, 3), "{network}");
            }
        }
        if d.is_multiple_of(2) {
            let side = 1 << (d / 2);
            let torus = Network::torus(Extents::mesh(side, side));
            let tw = |a| on(&torus, a, p).cost.tw;
            assert_eq!(tw(A::AG_HCUBE), ratio((p - 1) * (side + 1), 3));
            assert_eq!(tw(A::AR_HCUBE), ratio(2 * (side - 1), 1));
            assert_eq!(tw(A::TX_HCUBE), ratio(p * (side - 1), 1));
        }
    }
}

/// Section 2: which order of dimensions a tree machine wants. t_w m units, and blocks over the top
/// each way.
#[test]
fn all_gathers_of_64_on_a_tree() {
    let tree = Network::tree(64);
    for (a, words, top) in [
        (Algorithm::AG_HCUBE, 1365, 1024),
        (Algorithm::AG_HCUBE_DESC, 192, 32),
        (Algorithm::AG_RING, 63, 63),
        (Algorithm::RS_HCUBE, 1365, 1024),
        (Algorithm::RS_HCUBE_ASC, 192, 32),
        (Algorithm::RS_RING, 63, 63),
    ] {
        let found = on(&tree, a, 64);
        assert_eq!((found.cost.tw, found.crossing.most()), (words.into(), top.into()), "{a}");
    }
    // The same on a machine of four sockets, with cores that hang side by side.
    let machine = phalanx::machine::Machine::from_synthetic("pack:4 core:16 pu:1").unwrap();
    let machine = Network::machine(&machine);
    assert_eq!(on(&machine, Algorithm::AG_RING, 64).congestion, 1);
    assert_eq!(on(&machine, Algorithm::AG_HCUBE, 64).congestion, 16);
}

/// Schedules made for a network do not congest it.
#[test]
fn at_home_there_is_no_congestion() {
    use Algorithm as A;
    for p in 2..=24usize {
        for root in 0..p {
            let free = |network: &Network, a: A| {
                let call = Request::new(a.operations()[0], p).root(root).shift(root as isize);
                let Ok(schedule) = a.schedule(&call) else { return };
                let found = Congestion::on(network, &schedule).unwrap();
                assert!(found.congestion <= 1, "{a} on {network}, root {root}");
                assert_eq!(found.cost, Cost::of(&schedule), "{a} on {network}, root {root}");
            };
            for a in [A::BC_RING, A::RED_RING, A::AG_RING, A::RS_RING, A::TX_RING, A::CS_RING] {
                free(&Network::ring(p), a);
            }
            for a in [A::BC_LINEAR, A::RED_LINEAR, A::AG_LINEAR, A::AG_LINEAR_NN, A::SCAN_CHAIN] {
                free(&Network::linear(p), a);
            }
            let torus = Network::torus(Extents::squarest(p));
            for a in [A::BC_MESH, A::RED_MESH, A::AG_MESH, A::RS_MESH, A::TX_MESH, A::CS_MESH_MIN] {
                free(&torus, a);
            }
            for a in [A::AG_AP_RING, A::TX_AP_RING] {
                free(&Network::ring(p), a);
            }
            if let Ok(cube) = Network::named("hypercube", p, None) {
                for &a in A::ALL.iter().filter(|a| a.id().contains("HC")) {
                    free(&cube, a);
                }
            }
            if p.is_power_of_two() {
                for a in [A::BC_TREE_LEAF, A::RED_TREE_LEAF, A::SC_TREE_LEAF, A::GA_TREE_LEAF] {
                    free(&Network::tree(p), a);
                }
            }
        }
    }
}

/// EMB-ECUBE-XOR and -SHIFT: congestion 1 for every distance, and the longest
/// path of a shift.
#[test]
fn e_cube_routing() {
    for d in 1..=6usize {
        let p = 1 << d;
        let cube = Network::hypercube(d);
        assert_eq!(on(&cube, Algorithm::TX_HCUBE_XOR, p).congestion, 1);
        for q in 1..p {
            let call = Request::new(Operation::Shift, p).shift(q as isize);
            let found = on_call(&cube, Algorithm::CS_HC_ECUBE, &call);
            let longest = d - q.trailing_zeros() as usize;
            assert_eq!((found.congestion, found.dilation), (1, longest), "p {p} q {q}");
        }
    }
    // T13, two paths of q = 3.
    let path = |a, b| Network::hypercube(3).route(a, b).iter().map(|c| c.to).collect::<Vec<_>>();
    assert_eq!((path(2, 5), path(6, 1)), (vec![3, 1, 5], vec![7, 5, 1]));
}

/// EMB-RGC-RING: neighbours stay neighbours, 2^j apart are two links apart; and
/// EMB-RGC-MESH: a torus in the cube.
#[test]
fn gray_code_embeddings() {
    for d in 1..=8usize {
        let (p, cube) = (1 << d, Network::hypercube(d));
        for i in 0..p {
            assert_eq!(cube.distance(gray(i), gray((i + 1) % p)), 1);
            assert!((1..d).all(|j| cube.distance(gray(i), gray((i + (1 << j)) % p)) == 2));
        }
    }
    let (rows, columns) = (4, 8);
    let call = Request::new(Operation::AllGather, 32).dims(Extents::mesh(rows, columns));
    let schedule = Algorithm::AG_MESH.schedule(&call).unwrap();
    let node = |rank: usize| gray(rank / columns) * columns + gray(rank % columns);
    let found = Congestion::placed(&Network::hypercube(5), &schedule, node).unwrap();
    assert_eq!((found.dilation, found.congestion), (1, 1));
}

/// Three digits, as the tables print them.
fn three_digits(x: f64) -> String {
    let digits = if x >= 10.0 { 1 } else { 2 };
    format!("{x:.digits$}")
}

/// The table of section 1.2, from the closed forms. The mesh columns need a
/// square mesh; the catalogue takes the root of 8 and 32 as a real number.
#[test]
fn crossovers_of_split_messages() {
    use Algorithm as A;
    let table = [
        (4, ["4.00", "6.00", "4.00", "8.00", "4.00"], 1.000),
        (8, ["2.40", "5.60", "2.93", "8.80", "3.45"], 0.800),
        (16, ["1.88", "7.06", "2.82", "12.2", "3.76"], 0.647),
        (32, ["1.63", "10.1", "3.04", "18.6", "4.45"], 0.531),
        (64, ["1.49", "15.6", "3.47", "29.8", "5.46"], 0.442),
        (256, ["1.33", "42.4", "4.99", "83.6", "8.66"], 0.321),
    ];
    for (p, row, exchange) in table {
        let form = |a: A| closed_form(a, &Request::new(a.operations()[0], p)).unwrap().cost();
        let from = |a: A, b: A| form(a).crossover(&form(b)).unwrap();
        let d = p.ilog2() as usize;
        // K = log p - 2 (p-1)/p.
        let k = ratio(d, 1) - ratio(2 * (p - 1), p);
        let cube = ratio(d, 1) / k;
        for (whole, split) in [
            (A::BC_HCUBE, A::BC_SPLIT_HCUBE),
            (A::RED_HCUBE, A::RED_SPLIT_HCUBE),
            (A::AR_HCUBE, A::AR_SPLIT_HCUBE),
        ] {
            assert_eq!(from(whole, split), cube);
            assert_eq!(three_digits(to_f64(from(whole, split))), row[0], "p {p}");
        }
        let ring = from(A::BC_RING, A::BC_SPLIT_RING);
        assert_eq!(ring, ratio(p - 1, 1) / k);
        assert_eq!(three_digits(to_f64(ring)), row[1], "p {p}");
        let ring = from(A::AR_HCUBE, A::AR_SPLIT_RING);
        assert_eq!(three_digits(to_f64(ring)), row[3], "p {p}");
        let side = (p as f64).sqrt();
        let (bc, ar) = (2.0 * (side - 1.0), 4.0 * (side - 1.0) - d as f64);
        assert_eq!(three_digits(bc / to_f64(k)), row[2], "p {p}");
        assert_eq!(three_digits(ar / to_f64(k)), row[4], "p {p}");
        if d.is_multiple_of(2) {
            let mesh = from(A::BC_MESH, A::BC_SPLIT_MESH);
            assert_eq!(three_digits(to_f64(mesh)), row[2], "p {p}");
            let mesh = from(A::AR_HCUBE, A::AR_SPLIT_MESH);
            assert_eq!(three_digits(to_f64(mesh)), row[4], "p {p}");
        }
        let tx = from(A::TX_HCUBE, A::TX_HCUBE_XOR);
        assert_eq!(tx, ratio(p - 1 - d, p * d / 2 - (p - 1)));
        assert_eq!(format!("{:.3}", to_f64(tx)), format!("{exchange:.3}"), "p {p}");
    }
    // None for p = 2.
    let form = |a: A| closed_form(a, &Request::new(Operation::AllReduce, 2)).unwrap().cost();
    assert_eq!(form(A::AR_HCUBE).crossover(&form(A::AR_SPLIT_HCUBE)), None);
}

/// Section 1.3: from where on the ring rule beats the cube rule on a ring.
#[test]
fn crossovers_of_all_gather_on_a_ring() {
    for (p, about) in [(8usize, "0.29"), (16, "0.16"), (64, "0.04")] {
        let ring = Network::ring(p);
        let cube = on(&ring, Algorithm::AG_HCUBE, p).cost;
        let own = on(&ring, Algorithm::AG_RING, p).cost;
        let from = cube.crossover(&own).unwrap();
        let d = p.ilog2() as usize;
        assert_eq!(from, ratio(3 * (p - 1 - d), (p - 1) * (p - 2)));
        assert_eq!(format!("{:.2}", to_f64(from)), about);
    }
}

/// The ranking changes its mind at the crossover, not before.
#[test]
fn rankings_follow_the_crossovers() {
    let rates = Rates { t_s: 1000.0, t_w: 1.0, ports: 1 };
    let place = |call: &Request, m: f64, a: Algorithm| {
        rank(call, m, rates, None).iter().position(|r| r.algorithm == a).unwrap()
    };
    let reduce = Request::new(Operation::AllReduce, 64);
    let (whole, split) = (Algorithm::AR_HCUBE, Algorithm::AR_SPLIT_HCUBE);
    for (m, whole_first) in [(1.0, true), (1488.0, true), (1489.0, false), (1e9, false)] {
        assert_eq!(place(&reduce, m, whole) < place(&reduce, m, split), whole_first, "m {m}");
    }
    // Everything that fits is ranked, and nothing else.
    let odd = Request::new(Operation::AllGather, 6);
    let ranked = rank(&odd, 10.0, rates, None);
    assert!(ranked.iter().all(|r| !r.algorithm.id().contains("HCUBE")));
    assert!(ranked.windows(2).all(|w| w[0].time <= w[1].time));
    assert!(ranked.iter().any(|r| r.algorithm == Algorithm::AG_ANY));
    // With all ports of a cube the rotated version wins for large m.
    let all_ports = Rates { ports: 6, ..rates };
    let best = &rank(&Request::new(Operation::AllGather, 64), 1e6, all_ports, None)[0];
    assert_eq!(best.algorithm, Algorithm::AG_AP_HCUBE);
    // On a leaf tree the ring wins for large m, and the cube never congests less.
    let tree = Network::tree(64);
    let best = &rank(&Request::new(Operation::AllGather, 64), 1e6, rates, Some(&tree))[0];
    assert!(
        [Algorithm::AG_RING, Algorithm::AG_LINEAR, Algorithm::AG_PIPE].contains(&best.algorithm)
    );
    // A long chain beats the split for very large m.
    let best = &rank(&Request::new(Operation::Broadcast, 64), 1e9, rates, None)[0];
    assert_eq!(best.algorithm, Algorithm::BC_CHAIN);
}

/// Section 1.9: the bounds hold for every distance and square.
#[test]
fn shift_bounds() {
    for side in 1..=8usize {
        for q in 0..side * side {
            let call = Request::new(Operation::Shift, side * side).shift(q as isize);
            for (a, most) in
                [(Algorithm::CS_MESH, 2 * side - 1), (Algorithm::CS_MESH_MIN, side + 1)]
            {
                let bound = bound(a, &call).unwrap();
                assert!(bound.ts <= most && closed_form(a, &call).unwrap().ts <= bound.ts);
            }
        }
    }
}

/// Nonsense is refused, or cut, and nothing overflows.
#[test]
fn networks_stay_within_reason() {
    let call = Request::new(Operation::AllGather, 4);
    let schedule = Algorithm::AG_RING.schedule(&call).unwrap();
    let huge = Extents::new([1 << 30, 1 << 30]).unwrap();
    for network in [Network::torus(huge.clone()), Network::mesh(huge)] {
        assert!(matches!(Congestion::on(&network, &schedule), Err(BadNetwork::TooLarge(_))));
        assert_eq!(network.distance(0, 5), 5);
    }
    assert_eq!(Network::ring(usize::MAX).nodes(), MOST_NODES);
    assert_eq!(Network::tree(0).nodes(), 1);
    assert!(Network::named("ring", usize::MAX, None).is_err());
    assert!(matches!(
        Congestion::placed(&Network::ring(4), &schedule, |rank| rank + 1),
        Err(BadNetwork::Node { rank: 3, node: 4, nodes: 4 })
    ));
    // All on one node: no channel is used, and only the ports are left.
    let one = Congestion::placed(&Network::ring(4), &schedule, |_| 2).unwrap();
    assert_eq!((one.dilation, one.congestion, one.cost), (0, 0, Cost::of(&schedule)));
}

/// The messages of a rank in one direction in a step, by the peer.
type EndTraffic = BTreeMap<usize, Vec<usize>>;

/// Counted once more, message by message, from the trace: of every step the busiest rank's.
#[test]
fn costs_are_those_of_the_messages() {
    let mut compared = 0;
    for &algorithm in Algorithm::ALL {
        for p in [1, 2, 3, 4, 6, 8, 9, 16] {
            for &operation in algorithm.operations() {
                let request = Request::new(operation, p);
                let Ok(schedule) = algorithm.schedule(&request) else { continue };
                let (ports, split) = (schedule.ports(), schedule.contract().split.max(1));
                // Of each step, rank and direction the peers, and the blocks of their messages.
                let mut steps = vec![BTreeMap::<_, EndTraffic>::new(); schedule.steps()];
                for Message { step, src, dst, blocks, .. } in trace(&schedule) {
                    let blocks = blocks.iter().map(|run| run.count).sum();
                    for (end, peer) in [((src, true), dst), ((dst, false), src)] {
                        let end = steps[step - 1].entry(end).or_default();
                        end.entry(peer).or_default().push(blocks);
                    }
                }
                let busiest = |of: &dyn Fn(&EndTraffic) -> usize| -> usize {
                    steps.iter().map(|step| step.values().map(of).max().unwrap_or(0)).sum()
                };
                let ts = busiest(&|end| end.values().flatten().count().div_ceil(ports));
                let tw = busiest(&|end| {
                    let pair = end.values().map(|own| own.iter().sum::<usize>()).max();
                    (pair.unwrap_or(0) * ports).max(end.values().flatten().sum())
                });
                let tw = ratio(tw, split * ports);
                let cost = Cost::of(&schedule);
                assert_eq!((cost.ts, cost.tw), (ts, tw), "{algorithm} {operation} {p}");
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}
