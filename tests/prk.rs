//! The example `prk` in small: every kernel validates on any number of ranks, whole and uneven parts alike; sizes that do
//! not fit are refused.

#![allow(dead_code)] // The example's own report uses more.

#[path = "../examples/prk/kernel.rs"]
mod kernel;
#[path = "../examples/prk/nstream.rs"]
mod nstream;
#[path = "../examples/prk/reduce.rs"]
mod reduce;
#[path = "../examples/prk/sparse.rs"]
mod sparse;
#[path = "../examples/prk/stencil.rs"]
mod stencil;
#[path = "../examples/prk/synch_global.rs"]
mod synch_global;
#[path = "../examples/prk/synch_p2p.rs"]
mod synch_p2p;
#[path = "../examples/prk/transpose.rs"]
mod transpose;

use kernel::{Check, Kernel};
use phalanx::Algorithm;

fn validates(kernel: &impl Kernel) {
    for p in [1, 2, 3, 4, 8] {
        kernel.fits(p).unwrap();
        for iterations in [1, 3] {
            let outcomes = phalanx::run(p, |comm| kernel.run(comm, iterations)).unwrap();
            for outcome in outcomes {
                assert!(outcome.check.is_good(), "{} on {p}: {outcome:?}", kernel.title());
            }
        }
    }
}

#[test]
fn a_check_can_fail() {
    assert!(Check::absolute(1.0, 1.0 + 1e-9, 1e-8).is_good());
    assert!(!Check::absolute(1.0, 1.1, 1e-8).is_good());
    assert!(!Check::relative(1e9, 1.001e9, 1e-8).is_good());
    assert!(!Check::absolute(f64::NAN, 1.0, 1e-8).is_good());
}

#[test]
fn stencils() {
    for (n, radius) in [(32, 1), (33, 2), (50, 3), (41, 4)] {
        validates(&stencil::Stencil { n, radius });
    }
    // As small as it may be: some ranks have no point with a whole star.
    validates(&stencil::Stencil { n: 17, radius: 4 });
    let small = stencil::Stencil { n: 4, radius: 2 };
    assert!(small.fits(1).unwrap_err().contains("smaller than the stencil"));
    let short = stencil::Stencil { n: 9, radius: 4 };
    assert!(short.fits(9).unwrap_err().contains("12 is enough"));
}

#[test]
fn transposes() {
    for (n, tile) in [(64, 8), (61, 16), (100, 64), (3, 8)] {
        validates(&transpose::Transpose { n, tile });
    }
}

#[test]
fn wavefronts() {
    for (m, n, group) in [(40, 30, 1), (16, 2, 1), (19, 17, 4), (50, 20, 64)] {
        validates(&synch_p2p::SynchP2p { m, n, group });
    }
    let narrow = synch_p2p::SynchP2p { m: 7, n: 9, group: 1 };
    assert!(narrow.fits(4).unwrap_err().contains("from 8 x 2 on"));
}

#[test]
fn streams_and_sums() {
    for length in [1, 7, 1000] {
        validates(&nstream::Nstream { length });
        validates(&reduce::Reduce { length, block: 300, algorithm: None });
    }
    for algorithm in [Algorithm::RED_ANY, Algorithm::RED_FUSED] {
        validates(&reduce::Reduce { length: 300, block: 1000, algorithm: Some(algorithm) });
    }
}

#[test]
fn sparse_products() {
    for (log_side, radius) in [(2, 1), (4, 4), (5, 7)] {
        validates(&sparse::Sparse { log_side, radius });
    }
    assert!(sparse::Sparse { log_side: 2, radius: 2 }.fits(1).is_err());
}

#[test]
fn strings() {
    for length in [8, 11, 100, 1024] {
        validates(&synch_global::SynchGlobal { length });
    }
    assert!(synch_global::SynchGlobal { length: 3 }.fits(4).is_err());
}
