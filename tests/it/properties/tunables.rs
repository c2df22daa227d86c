//! Every algorithm with every tunable: extents of meshes, segments of pipelines,
//! ways of waiting, from one table.

use crate::common::{every_operation, one_call, runs, watch};
use phalanx::schedule::Request;
use phalanx::topology::Extents;
use phalanx::{Algorithm, Team, Wait};

/// All ordered factorisations of `p`, in up to four factors (1 among them).
fn meshes(p: usize) -> Vec<Vec<usize>> {
    fn go(p: usize, left: usize) -> Vec<Vec<usize>> {
        if left == 1 {
            return vec![vec![p]];
        }
        let divisors = (1..=p).filter(|d| p.is_multiple_of(*d));
        let mut all = go(p, left - 1);
        for d in divisors {
            all.extend(go(p / d, left - 1).into_iter().map(|rest| [vec![d], rest].concat()));
        }
        all.sort();
        all.dedup();
        all
    }
    go(p, 4)
}

#[test]
fn every_algorithm_with_every_tunable() {
    let mut ran = std::collections::BTreeMap::new();
    let watch = watch();
    for p in [4, 6, 8, 12] {
        let team = Team::builder().ranks(p).build().unwrap();
        for &algorithm in Algorithm::ALL.iter().filter(|a| a.uses_dims()) {
            for extents in meshes(p) {
                let dims = Extents::new(extents).unwrap();
                for &operation in algorithm.operations() {
                    let root = p - 1;
                    let request = Request::new(operation, p).root(root).shift(root as isize);
                    if algorithm.schedule(&request.dims(dims.clone())).is_err() {
                        continue;
                    }
                    watch.case(format!("{algorithm} on {dims}: {operation}"));
                    runs(&team, format!("{algorithm} on {dims}: {operation}"), |comm| {
                        for n in [1, 20] {
                            let comm = &mut comm.with_mesh(algorithm, &dims);
                            one_call(comm, operation, root, n, 0);
                        }
                    });
                    *ran.entry(algorithm).or_insert(0) += 1;
                }
            }
        }
    }
    for algorithm in Algorithm::ALL.iter().filter(|a| a.uses_dims()) {
        assert!(ran.get(algorithm) > Some(&3), "{algorithm}: {:?}", ran.get(algorithm));
    }
}

#[test]
fn every_way_of_waiting_in_every_operation() {
    let watch = watch();
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        for p in [2, 3, 6] {
            let team = Team::builder().ranks(p).wait(wait).build().unwrap();
            for n in [1, 100] {
                watch.case(format!("{wait:?}, p={p}, n={n}"));
                let run = team.run(|comm| every_operation(comm, n, p));
                run.unwrap_or_else(|e| panic!("{wait:?}, p={p}, n={n}: {e}"));
            }
        }
    }
}
