//! The textbook's figures and listings as golden tests (traces T1..T14).

use crate::schedule::{Algorithm, Operation, Request, Schedule, trace};
use crate::topology::Extents;

fn make(a: Algorithm, p: usize) -> Schedule {
    a.schedule(&Request::new(a.operations()[0], p)).unwrap()
}

fn on(a: Algorithm, dims: Extents) -> Schedule {
    a.schedule(&Request::new(a.operations()[0], dims.ranks()).dims(dims)).unwrap()
}

/// `src>dst` of every message, one entry per step.
fn arcs(s: &Schedule) -> Vec<String> {
    let mut steps = vec![Vec::new(); s.steps()];
    for m in trace(s) {
        steps[m.step - 1].push(format!("{}>{}", m.src, m.dst));
    }
    steps.into_iter().map(|s| s.join(" ")).collect()
}

/// Messages with blocks, sorted, for comparing schedules as a whole.
fn messages(s: &Schedule) -> Vec<(usize, usize, usize, Vec<usize>)> {
    let list = |m: crate::schedule::Message| {
        let mut blocks: Vec<usize> = m.blocks.iter().flat_map(|r| r.range()).collect();
        blocks.sort_unstable();
        (m.step, m.src, m.dst, blocks)
    };
    trace(s).map(list).collect()
}

/// The blocks that `rank` receives in `step` (from 0).
fn received(s: &Schedule, step: usize, rank: usize) -> Vec<usize> {
    let part = s.step(step, rank);
    part.recvs.iter().flat_map(|r| &r.blocks).flat_map(|r| r.range()).collect()
}

fn sent(s: &Schedule, step: usize, rank: usize) -> Vec<usize> {
    let part = s.step(step, rank);
    part.sends.iter().flat_map(|r| &r.blocks).flat_map(|r| r.range()).collect()
}

/// `ab>cd` of what a rank sends in a total exchange.
fn pairs(s: &Schedule, step: usize, rank: usize) -> String {
    let p = s.contract().ranks;
    let blocks = sent(s, step, rank);
    let list = |f: &dyn Fn(usize) -> usize| -> String {
        let mut v: Vec<usize> = blocks.iter().map(|&b| f(b)).collect();
        v.sort_unstable();
        v.dedup();
        v.iter().map(usize::to_string).collect()
    };
    let (x, y) = (list(&|b| b / p), list(&|b| b % p));
    assert_eq!(x.len() * y.len(), blocks.len());
    format!("{x}>{y}")
}

/// T1, Fig. 4.9: node v receives block v - i in step i.
#[test]
fn t1_all_gather_on_a_ring() {
    let s = make(Algorithm::AG_RING, 8);
    assert_eq!(s.steps(), 7);
    for i in 1..8 {
        for v in 0..8 {
            assert_eq!(received(&s, i - 1, v), [(v + 8 - i) % 8]);
            assert_eq!(s.step(i - 1, v).sends[0].to, (v + 1) % 8);
        }
    }
}

/// T1b, Alg. 4.5 written out: in step i node v sends block v + i to v - 1.
#[test]
fn t1b_reduce_scatter_on_a_ring() {
    for p in 1..=9 {
        let s = make(Algorithm::RS_RING, p);
        assert_eq!(s.steps(), p - 1);
        for i in 1..p {
            for v in 0..p {
                assert_eq!(sent(&s, i - 1, v), [(v + i) % p]);
                assert_eq!(s.step(i - 1, v).sends[0].to, (v + p - 1) % p);
            }
        }
    }
}

/// T2, Fig. 4.10.
#[test]
fn t2_all_gather_on_a_mesh() {
    let s = on(Algorithm::AG_MESH, Extents::mesh(3, 3));
    let rows = [[2, 0, 1, 5, 3, 4, 8, 6, 7], [1, 2, 0, 4, 5, 3, 7, 8, 6]];
    let columns = [[2, 0, 1], [1, 2, 0]]; // the mesh row whose blocks arrive
    for v in 0..9 {
        for step in 0..2 {
            assert_eq!(received(&s, step, v), [rows[step][v]]);
            let row = columns[step][v / 3] * 3;
            assert_eq!(received(&s, step + 2, v), [row, row + 1, row + 2]);
        }
    }
}

/// T3, Alg. 4.7 written out, Fig. 4.11.
#[test]
fn t3_all_gather_on_a_hypercube() {
    for d in 0..6 {
        let s = make(Algorithm::AG_HCUBE, 1 << d);
        assert_eq!(s.steps(), d);
        for i in 0..d {
            for r in 0..1 << d {
                let b = r & !((1 << i) - 1);
                assert_eq!(sent(&s, i, r), (b..b + (1 << i)).collect::<Vec<_>>());
                assert_eq!(s.step(i, r).sends[0].to, r ^ (1 << i));
            }
        }
    }
    let mesh = on(Algorithm::AG_MESHD, Extents::hypercube(3));
    assert_eq!(messages(&mesh), messages(&make(Algorithm::AG_HCUBE, 8)));
}

/// T3b, Alg. 4.8 written out, with the listing's senloc and recloc.
#[test]
fn t3b_reduce_scatter_on_a_hypercube() {
    for d in 0..6 {
        let s = make(Algorithm::RS_HCUBE, 1 << d);
        for r in 0..1usize << d {
            let mut recloc = 0;
            for (step, i) in (0..d).rev().enumerate() {
                let bit = 1 << i;
                let senloc = recloc + ((r ^ bit) & bit);
                recloc += r & bit;
                assert_eq!(sent(&s, step, r), (senloc..senloc + bit).collect::<Vec<_>>());
                assert_eq!(received(&s, step, r), (recloc..recloc + bit).collect::<Vec<_>>());
                assert_eq!(s.step(step, r).sends[0].to, r ^ bit);
            }
        }
    }
    let s = make(Algorithm::RS_HCUBE, 8);
    assert_eq!((sent(&s, 0, 0), sent(&s, 0, 5)), (vec![4, 5, 6, 7], vec![0, 1, 2, 3]));
    assert_eq!((sent(&s, 1, 0), sent(&s, 1, 5)), (vec![2, 3], vec![6, 7]));
    assert_eq!((sent(&s, 2, 0), sent(&s, 2, 5)), (vec![1], vec![4]));
}

/// T3c and T4: the all-reduce has the pairs of the all-gather.
#[test]
fn t3c_t4_pairs_of_the_cube() {
    let (gather, reduce) = (make(Algorithm::AG_HCUBE, 8), make(Algorithm::AR_HCUBE, 8));
    assert_eq!(arcs(&gather), arcs(&reduce));
    assert_eq!(arcs(&gather)[2], "0>4 1>5 2>6 3>7 4>0 5>1 6>2 7>3");
}

/// T5, Fig. 4.13: which ranks result and total cover after every step.
#[test]
fn t5_prefix_sums() {
    let s = make(Algorithm::SCAN_HCUBE, 8);
    let mut state: Vec<[(usize, usize); 2]> = (0..8).map(|r| [(r, r); 2]).collect();
    let after = [[0, 0, 2, 2, 4, 4, 6, 6], [0, 0, 0, 0, 4, 4, 4, 4], [0, 0, 0, 0, 0, 0, 0, 0]];
    for (step, lows) in after.iter().enumerate() {
        let before = state.clone();
        for r in 0..8 {
            let part = s.step(step, r);
            let [recv] = &part.recvs[..] else { panic!() };
            let got = before[recv.from][0];
            let own = &mut state[r];
            own[0] = (own[0].0.min(got.0), own[0].1.max(got.1));
            for _ in &recv.also {
                own[1].0 = got.0;
            }
            let size = 2 << step;
            assert_eq!(own[0], (lows[r], lows[r] + size - 1), "total of {r}");
            assert_eq!(own[1], (lows[r], r), "result of {r}");
        }
    }
}

/// T6: scatter and broadcast down the same tree; root 3; the from/to loop.
#[test]
fn t6_trees() {
    let tree = ["0>4", "0>2 4>6", "0>1 2>3 4>5 6>7"];
    for a in ["SC-HCUBE", "BC-HCUBE", "BC-RING", "BC-LOOP", "SC-RING", "BC-TREE-LEAF", "SC-ANY"] {
        assert_eq!(arcs(&make(a.parse().unwrap(), 8)), tree, "{a}");
    }
    let s = make(Algorithm::SC_HCUBE, 8);
    assert_eq!((sent(&s, 0, 0), sent(&s, 1, 4)), (vec![4, 5, 6, 7], vec![6, 7]));
    let call = Request::new(Operation::Broadcast, 8).root(3);
    let s = Algorithm::BC_HCUBE_SRC.schedule(&call).unwrap();
    assert_eq!(arcs(&s), ["3>7", "3>1 7>5", "1>0 3>2 5>4 7>6"]);
    assert_eq!(arcs(&make(Algorithm::RED_RING, 8))[0], "1>0 3>2 5>4 7>6");
    for d in 0..6 {
        let (a, b) = (make(Algorithm::BC_LOOP, 1 << d), make(Algorithm::BC_HCUBE, 1 << d));
        assert_eq!(messages(&a), messages(&b));
    }
}

/// T6b: broadcast on a 4x4 mesh, and on a tree with ranks at its nodes.
#[test]
fn t6b_mesh_and_tree() {
    let s = on(Algorithm::BC_MESH, Extents::mesh(4, 4));
    assert_eq!(
        arcs(&s),
        ["0>2", "0>1 2>3", "0>8 1>9 2>10 3>11", "0>4 1>5 2>6 3>7 8>12 9>13 10>14 11>15"]
    );
    let s = make(Algorithm::BC_TREE_NODE, 7);
    assert_eq!(arcs(&s), ["0>1", "0>2 1>3", "1>4 2>5", "2>6"]);
    let s = make(Algorithm::BC_AP_TREE_NODE, 7);
    assert_eq!(arcs(&s), ["0>1 0>2", "1>3 1>4 2>5 2>6"]);
}

/// T7, Fig. 4.18.
#[test]
fn t7_total_exchange_on_a_ring() {
    let s = make(Algorithm::TX_RING, 6);
    let figure = [
        ["0>12345", "1>02345", "2>01345", "3>01245", "4>01235", "5>01234"],
        ["5>1234", "0>2345", "1>0345", "2>0145", "3>0125", "4>0123"],
        ["4>123", "5>234", "0>345", "1>045", "2>015", "3>012"],
        ["3>12", "4>23", "5>34", "0>45", "1>05", "2>01"],
        ["2>1", "3>2", "4>3", "5>4", "0>5", "1>0"],
    ];
    for (step, row) in figure.iter().enumerate() {
        for (rank, want) in row.iter().enumerate() {
            assert_eq!(pairs(&s, step, rank), *want);
        }
    }
}

/// T8, Fig. 4.19.
#[test]
fn t8_total_exchange_on_a_mesh() {
    let s = on(Algorithm::TX_MESH, Extents::mesh(3, 3));
    let figure = [
        ["0>124578", "2>147", "012>36", "678>3"],
        ["1>023568", "0>258", "012>47", "678>4"],
        ["2>013467", "1>036", "012>58", "678>5"],
        ["3>124578", "5>147", "345>06", "012>6"],
        ["4>023568", "3>258", "345>17", "012>7"],
        ["5>013467", "4>036", "345>28", "012>8"],
        ["6>124578", "8>147", "678>03", "345>0"],
        ["7>023568", "6>258", "678>14", "345>1"],
        ["8>013467", "7>036", "678>25", "345>2"],
    ];
    for (rank, row) in figure.iter().enumerate() {
        for (step, want) in row.iter().enumerate() {
            assert_eq!(pairs(&s, step, rank), *want);
        }
    }
}

/// T9, Fig. 4.20.
#[test]
fn t9_total_exchange_on_a_hypercube() {
    let s = make(Algorithm::TX_HCUBE, 8);
    let figure = [
        ["0>1357", "01>26", "0123>4"],
        ["1>0246", "01>37", "0123>5"],
        ["2>1357", "23>04", "0123>6"],
        ["3>0246", "23>15", "0123>7"],
        ["4>1357", "45>26", "4567>0"],
        ["5>0246", "45>37", "4567>1"],
        ["6>1357", "67>04", "4567>2"],
        ["7>0246", "67>15", "4567>3"],
    ];
    for (rank, row) in figure.iter().enumerate() {
        for (step, want) in row.iter().enumerate() {
            assert_eq!(pairs(&s, step, rank), *want);
        }
    }
}

/// T10, Fig. 4.21; and T14: four ranks, row k becomes column k.
#[test]
fn t10_t14_pairwise_exchange() {
    let s = make(Algorithm::TX_HCUBE_XOR, 8);
    for i in 1..8 {
        for r in 0..8 {
            assert_eq!(s.step(i - 1, r).sends[0].to, r ^ i);
            assert_eq!(sent(&s, i - 1, r), [r * 8 + (r ^ i)]);
        }
    }
    let s = make(Algorithm::TX_HCUBE_XOR, 4);
    let mut column: Vec<usize> = (0..3).flat_map(|i| received(&s, i, 2)).collect();
    column.sort_unstable();
    assert_eq!(column, [2, 6, 14]);
}

/// The origin of the datum at every rank after every step of a shift.
fn tour(a: Algorithm, p: usize, q: isize, dims: Option<Extents>) -> Vec<Vec<usize>> {
    let mut call = Request::new(Operation::Shift, p).shift(q);
    call.dims = dims;
    let s = a.schedule(&call).unwrap();
    let mut at: Vec<usize> = (0..p).collect();
    let mut states = Vec::new();
    for step in 0..s.steps() {
        for (rank, holds) in at.iter_mut().enumerate() {
            if let [only] = received(&s, step, rank)[..] {
                *holds = only;
            }
        }
        states.push(at.clone());
    }
    states
}

/// T11, Fig. 4.22, and the shortest directions with q = 7.
#[test]
fn t11_shifts_on_a_mesh() {
    let square = Some(Extents::mesh(4, 4));
    let states = tour(Algorithm::CS_MESH, 16, 5, square.clone());
    let figure = [
        [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14],
        [15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        [11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    ];
    assert_eq!(states, figure);
    let states = tour(Algorithm::CS_MESH_MIN, 16, 7, square.clone());
    assert_eq!(states.len(), 4);
    assert_eq!(states[0][..8], [1, 2, 3, 0, 5, 6, 7, 4]);
    assert_eq!(states[1], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0]);
    assert_eq!(states[3], [9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(tour(Algorithm::CS_MESH, 16, 7, square).len(), 5);
}

/// T12, Fig. 4.23: ranks are ring positions on the cube nodes of the Gray code.
#[test]
fn t12_gray_code_shift() {
    let states = tour(Algorithm::CS_HC_RGC_F, 8, 5, None);
    let figure = [[3, 2, 1, 0, 7, 6, 5, 4], [4, 5, 6, 7, 0, 1, 2, 3], [3, 4, 5, 6, 7, 0, 1, 2]];
    assert_eq!(states, figure);
    assert_eq!(tour(Algorithm::CS_HC_RGC_FB, 8, 6, None).len(), 2);
    // Every hop crosses one link of the cube.
    for a in [Algorithm::CS_HC_RGC_F, Algorithm::CS_HC_RGC_FB] {
        for q in 0..32 {
            let s = a.schedule(&Request::new(Operation::Shift, 32).shift(q)).unwrap();
            for m in trace(&s) {
                let crossed = crate::topology::gray(m.src) ^ crate::topology::gray(m.dst);
                assert_eq!(crossed.count_ones(), 1);
            }
        }
    }
}

/// T13, Fig. 4.24: one message, and no directed link of the cube twice when it
/// goes lowest dimension first; the longest path is log p - gamma(q).
#[test]
fn t13_direct_shift() {
    for d in 1..=6 {
        let p = 1usize << d;
        for q in 1..p {
            let s = Algorithm::CS_HC_ECUBE;
            let s = s.schedule(&Request::new(Operation::Shift, p).shift(q as isize)).unwrap();
            let mut used = std::collections::HashSet::new();
            let mut longest = 0;
            for m in trace(&s) {
                assert_eq!(m.dst, (m.src + q) % p);
                let (mut at, mut hops) = (m.src, 0);
                for bit in (0..d).map(|k| 1 << k).filter(|bit| (m.src ^ m.dst) & bit != 0) {
                    assert!(used.insert((at, at ^ bit)), "q {q}: link {at}>{} twice", at ^ bit);
                    at ^= bit;
                    hops += 1;
                }
                longest = longest.max(hops);
            }
            assert_eq!(longest, d - q.trailing_zeros() as usize);
        }
    }
}

/// Duality: an id and its dual have the same messages backwards.
#[test]
fn duals_are_each_other_backwards() {
    for (forward, backward) in [
        ("BC-MESH", "RED-MESH"),
        ("BC-TREE-NODE", "RED-TREE-NODE"),
        ("AG-RING", "RS-RING"),
        ("AG-MESH", "RS-MESH"),
        ("AG-ANY", "RS-ANY"),
        ("SC-MESH", "GA-MESH"),
    ] {
        let (a, b) = (make(forward.parse().unwrap(), 12), make(backward.parse().unwrap(), 12));
        let turn = |(step, src, dst, blocks)| (a.steps() + 1 - step, dst, src, blocks);
        let mut turned: Vec<_> = messages(&a).into_iter().map(turn).collect();
        turned.sort();
        let mut dual = messages(&b);
        dual.sort();
        assert_eq!(turned, dual, "{forward} {backward}");
    }
}

#[test]
fn labels_and_words_are_those_of_the_tool() {
    let s = Algorithm::AR_SPLIT_RING.schedule(&Request::new(Operation::AllReduce, 4)).unwrap();
    let m = trace(&s).next().unwrap();
    assert_eq!((m.step, m.label().as_str()), (1, "1"));
    assert_eq!(m.words(6).to_string(), "3/2");
    let m = trace(&make(Algorithm::TX_RING, 3)).next().unwrap();
    assert_eq!((m.label().as_str(), m.words(2).to_string().as_str()), ("0>1,0>2", "4"));
    assert_eq!(trace(&make(Algorithm::BC_RING, 3)).next().unwrap().label(), "*");
    assert_eq!(trace(&make(Algorithm::AG_AP_HCUBE, 4)).next().unwrap().label(), "0.0");
}
