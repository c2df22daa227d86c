//! Counted steps and words against the closed forms of the catalogue.
//!
//! Words are in units of m and count, per step, the largest message; that is
//! the t_w term on a network without congestion.

use crate::schedule::rule_parts::ceil_log;
use crate::schedule::{Algorithm, Request, cases, trace};
use crate::topology::Extents;

/// Steps, and words as (numerator, denominator).
fn count(a: Algorithm, call: &Request) -> (usize, usize, usize) {
    let s = a.schedule(call).unwrap();
    let mut worst = vec![0; s.steps()];
    for m in trace(&s) {
        let blocks: usize = m.blocks.iter().map(|r| r.count).sum();
        worst[m.step - 1] = worst[m.step - 1].max(blocks);
    }
    (s.steps(), worst.iter().sum(), s.contract().split)
}

fn expect(
    id: &str,
    range: std::ops::RangeInclusive<usize>,
    form: impl Fn(&Request) -> (usize, usize),
) {
    let a: Algorithm = id.parse().unwrap();
    for p in range {
        for call in cases(a, p) {
            let (steps, words, split) = count(a, &call);
            let (want_steps, want_words) = form(&call);
            assert_eq!((steps, words), (want_steps, want_words * split), "{id} {call:?}");
        }
    }
}

fn dims(call: &Request) -> impl Iterator<Item = usize> {
    let e = call.dims.clone().unwrap_or_else(|| Extents::squarest(call.ranks));
    (0..e.dimensions()).map(move |j| e.extent(j))
}

#[test]
fn trees() {
    for id in ["BC-RING", "BC-HCUBE-SRC", "BC-ANY", "RED-RING", "RED-HCUBE", "RED-ANY"] {
        expect(id, 1..=19, |c| (ceil_log(c.ranks), ceil_log(c.ranks)));
    }
    for id in ["BC-MESH", "BC-MESHD", "RED-MESH", "RED-MESHD", "RED-MESH-ROWS"] {
        expect(id, 1..=24, |c| {
            let steps = dims(c).map(ceil_log).sum();
            (steps, steps)
        });
    }
    for id in ["BC-NAIVE", "RED-NAIVE"] {
        expect(id, 1..=9, |c| (c.ranks - 1, c.ranks - 1));
    }
    for h in 0..5 {
        expect("BC-TREE-NODE", (2 << h) - 1..=(2 << h) - 1, |_| (2 * h, 2 * h));
        expect("BC-AP-TREE-NODE", (2 << h) - 1..=(2 << h) - 1, |_| (h, h));
    }
    for id in ["SC-ANY", "GA-ANY", "SC-HCUBE", "GA-RING", "SC-LINEAR"] {
        expect(id, 1..=19, |c| (ceil_log(c.ranks), c.ranks - 1));
    }
    for id in ["SC-MESH", "GA-MESH"] {
        expect(id, 1..=24, |c| (dims(c).map(ceil_log).sum(), c.ranks - 1));
    }
}

#[test]
fn gathers() {
    for id in ["AG-RING", "AG-LINEAR", "AG-LINEAR-NN", "AG-PIPE", "RS-RING", "RS-LINEAR-NN"] {
        expect(id, 1..=19, |c| (c.ranks - 1, c.ranks - 1));
    }
    for id in ["AG-MESH", "AG-MESHD", "RS-MESH", "RS-MESHD"] {
        expect(id, 1..=24, |c| (dims(c).map(|n| n - 1).sum(), c.ranks - 1));
    }
    for id in ["AG-HCUBE", "AG-HCUBE-DESC", "AG-ANY", "RS-HCUBE", "RS-HCUBE-ASC", "RS-ANY"] {
        expect(id, 1..=33, |c| (ceil_log(c.ranks), c.ranks - 1));
    }
    expect("AG-NAIVE", 1..=9, |c| (c.ranks * ceil_log(c.ranks), c.ranks * ceil_log(c.ranks)));
    expect("AG-AP-RING", 1..=12, |c| (c.ranks / 2, c.ranks / 2));
}

#[test]
fn all_reduce_and_scan() {
    expect("AR-HCUBE", 1..=32, |c| (ceil_log(c.ranks), ceil_log(c.ranks)));
    expect("AR-NAIVE", 1..=19, |c| (2 * ceil_log(c.ranks), 2 * ceil_log(c.ranks)));
    expect("AR-ANY", 1..=33, |c| {
        let q = c.ranks.ilog2() as usize;
        let steps = q + if c.ranks.is_power_of_two() { 0 } else { 2 };
        (steps, steps)
    });
    // Groups of about sqrt p, or one of all; radix 8 unless another is given.
    for id in ["AR-RADIX", "BAR-RADIX"] {
        expect(id, 1..=33, |c| {
            let levels = id.parse::<Algorithm>().unwrap().levels(c).unwrap();
            let steps = |stage: usize| {
                let n = levels.members(stage).iter().map(Vec::len).max().unwrap();
                let radix = Some(levels.degree(stage)).filter(|&r| r > 0).unwrap_or(8).max(2);
                (0..).find(|&k| radix.pow(k) >= n).unwrap() as usize
            };
            let steps = (0..levels.stages()).map(steps).sum();
            (steps, steps)
        });
    }
    expect("BAR-ANY", 1..=19, |c| (ceil_log(c.ranks), ceil_log(c.ranks)));
    expect("SCAN-HCUBE", 1..=19, |c| (ceil_log(c.ranks), ceil_log(c.ranks)));
    expect("SCAN-CHAIN", 1..=19, |c| (c.ranks - 1, c.ranks - 1));
    // Split in p parts: words are counted in parts.
    let parts = |id: &str, steps: &dyn Fn(usize) -> usize| {
        let a: Algorithm = id.parse().unwrap();
        for p in 1..=19 {
            for call in cases(a, p) {
                assert_eq!(count(a, &call), (steps(p), 2 * (p - 1), p), "{id} {call:?}");
            }
        }
    };
    for id in ["BC-SPLIT-ANY", "RED-SPLIT-ANY", "AR-SPLIT-ANY", "AR-SPLIT-HCUBE", "BC-SPLIT-HCUBE"]
    {
        parts(id, &|p| 2 * ceil_log(p));
    }
    parts("AR-SPLIT-RING", &|p| 2 * (p - 1));
    parts("BC-SPLIT-RING", &|p| ceil_log(p) + p - 1);
    parts("RED-SPLIT-RING", &|p| ceil_log(p) + p - 1);
}

#[test]
fn exchanges_and_shifts() {
    expect("TX-RING", 1..=12, |c| (c.ranks - 1, c.ranks * (c.ranks - 1) / 2));
    for id in ["TX-MESH", "TX-MESHD"] {
        expect(id, 1..=24, |c| {
            let words = dims(c).map(|n| c.ranks / n * (n * (n - 1) / 2)).sum();
            (dims(c).map(|n| n - 1).sum(), words)
        });
    }
    expect("TX-HCUBE", 1..=32, |c| (ceil_log(c.ranks), c.ranks / 2 * ceil_log(c.ranks)));
    expect("TX-HCUBE-XOR", 1..=32, |c| (c.ranks - 1, c.ranks - 1));
    expect("TX-ANY", 1..=19, |c| (c.ranks - 1, c.ranks - 1));
    expect("TX-PAIRS", 2..=19, |c| (c.ranks - 1 + c.ranks % 2, c.ranks - 1 + c.ranks % 2));
    expect("TX-BRUCK", 1..=19, |c| {
        let words = (0..c.ranks).map(|x| x.count_ones() as usize).sum();
        (ceil_log(c.ranks), words)
    });
    expect("TX-AP-RING", 1..=12, |c| (c.ranks / 2, (c.ranks / 2) * (c.ranks / 2 + 1) / 2));
    let q = |c: &Request| c.shift.rem_euclid(c.ranks as isize) as usize;
    expect("CS-RING", 1..=19, |c| (q(c).min(c.ranks - q(c)), q(c).min(c.ranks - q(c))));
    for d in 0..4 {
        for a in [Algorithm::CS_MESH, Algorithm::CS_MESH_MIN] {
            let side = 1 << d;
            for shift in 0..side * side {
                let call = Request::new(a.operations()[0], side * side);
                let call = call.shift(shift as isize).dims(Extents::mesh(side, side));
                let (steps, ..) = count(a, &call);
                let bound = if a == Algorithm::CS_MESH { 2 * side - 1 } else { side + 1 };
                assert!(steps <= bound, "{a} {call:?}: {steps}");
            }
        }
    }
}

/// All ports (book 4.7.2): words per step are the largest message, of which
/// d travel at once.
#[test]
fn all_ports() {
    for d in 1..=5usize {
        let p = 1 << d;
        let counted = |id: &str| {
            let a: Algorithm = id.parse().unwrap();
            count(a, &Request::new(a.operations()[0], p))
        };
        for id in ["AG-AP-HCUBE", "RS-AP-HCUBE", "SC-AP-HCUBE", "GA-AP-HCUBE"] {
            assert_eq!(counted(id), (d, p - 1, d), "{id}");
        }
        for id in ["BC-AP-HCUBE", "RED-AP-HCUBE", "AR-AP-HCUBE"] {
            assert_eq!(counted(id), (2 * d, 2 * (p - 1), p * d), "{id}");
        }
        assert_eq!(counted("TX-AP-HCUBE"), (d, d * p / 2, d));
    }
}
