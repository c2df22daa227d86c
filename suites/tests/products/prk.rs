//! The example `prk` in small sizes: every kernel validates on any number of ranks, with even and
//! uneven parts; sizes that do not fit are refused; and the peers validate, too, if their compilers
//! are installed.

#![allow(dead_code)] // The example's own report uses more.

#[path = "../../prk/kernel.rs"]
mod kernel;
#[path = "../../prk/nstream.rs"]
mod nstream;
#[path = "../../peers/program.rs"]
mod program;
#[path = "../../prk/reduce.rs"]
mod reduce;
#[path = "../../prk/sparse.rs"]
mod sparse;
#[path = "../../prk/stencil.rs"]
mod stencil;
#[path = "../../prk/synch_global.rs"]
mod synch_global;
#[path = "../../prk/synch_p2p.rs"]
mod synch_p2p;
#[path = "../../prk/transpose.rs"]
mod transpose;

use kernel::{Check, Kernel};
use phalanx::{Algorithm, Team};
use program::{Kind, Program};
use std::io::Write;

fn validates(kernel: &impl Kernel) {
    for p in [1, 2, 3, 4, 8] {
        kernel.fits(p).unwrap();
        let team = Team::builder().ranks(p).build().unwrap();
        for iterations in [1, 3] {
            let outcomes = kernel::run(kernel, &team, iterations).unwrap();
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
    let algorithm = Some(Algorithm::RED_HCUBE);
    let halving = reduce::Reduce { length: 300, block: 1000, algorithm };
    halving.fits(4).unwrap();
    assert!(halving.fits(3).unwrap_err().contains("needs a power of two of ranks"));
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

fn peers_validate<K: Kernel>(kernel: &K, peers: &[Program]) {
    for p in [1, 2] {
        for iterations in ["1", "4"] {
            let mut call = vec![iterations.to_string(), K::NAME.to_string()];
            call.extend(kernel.sizes().iter().map(usize::to_string));
            for peer in peers {
                let numbers = peer.run(p, &call).unwrap();
                let &[seconds, found, expected, within] = &numbers[..] else {
                    panic!("{} prints {numbers:?}", peer.name);
                };
                let check = Check { found, expected, within };
                assert!(seconds > 0.0 && check.is_good(), "{} {call:?}: {numbers:?}", peer.name);
            }
        }
    }
}

#[test]
fn peers() {
    let common = ("prk.h", include_str!("../../prk/peers/prk.h"));
    let openmp = ("openmp.c", include_str!("../../prk/peers/openmp.c"));
    let mpi = ("mpi.c", include_str!("../../prk/peers/mpi.c"));
    let mut built = program::build(Kind::Openmp, &[openmp, common]);
    built.extend(program::build(Kind::Mpi, &[mpi, common]));
    let mut there = Vec::new();
    for peer in built {
        match peer {
            Ok(program) => there.push(program),
            Err(why @ program::Missing::NotFound(_)) => {
                let _: Result<_, _> = writeln!(std::io::stderr(), "skipped: {why}");
            }
            Err(why) => panic!("{why}"),
        }
    }
    peers_validate(&stencil::Stencil { n: 33, radius: 2 }, &there);
    peers_validate(&stencil::Stencil { n: 41, radius: 4 }, &there);
    peers_validate(&transpose::Transpose { n: 61, tile: 16 }, &there);
    peers_validate(&synch_p2p::SynchP2p { m: 83, n: 17, group: 1 }, &there);
    peers_validate(&synch_p2p::SynchP2p { m: 19, n: 17, group: 4 }, &there);
    peers_validate(&nstream::Nstream { length: 1001 }, &there);
    peers_validate(&reduce::Reduce { length: 1001, block: 300, algorithm: None }, &there);
    peers_validate(&sparse::Sparse { log_side: 4, radius: 4 }, &there);
    peers_validate(&synch_global::SynchGlobal { length: 101 }, &there);
    // Sizes that it is not made for, it names.
    for peer in &there {
        let refused = peer.run(1, &["1".into(), "dgemm".into(), "9".into()]).unwrap_err();
        assert!(refused.contains("usage"), "{refused}");
    }
}
