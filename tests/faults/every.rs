//! Every fault in every call: of two ranks each has it, four take each algorithm.

use super::common::{rounds, seed, team, watch};
use super::kit::Script;
use super::random::one_run;
use std::collections::BTreeSet;

fn every_fault(p: usize) {
    let (watch, team, first) = (watch(), team(p), seed(p as u64));
    let turns = if p > 2 { 1 } else { p };
    let seeds = first..first + 3 * (turns * rounds()) as u64;
    let (mut failed, mut must) = (BTreeSet::new(), BTreeSet::new());
    for (script, k) in seeds.flat_map(|seed| Script::of_every_fault(seed, p)).zip(0u64..) {
        let pair = format!("{:?}, {:?}", script.acts[1].kind, script.fault.map(|it| it.2));
        if script.must_fail(p) {
            must.insert(pair.clone());
        }
        if one_run(&watch, &team, &script, first, k.is_multiple_of(8)) {
            failed.insert(pair);
        }
    }
    println!("p={p}: {} pairs of a call and a fault failed", failed.len());
    assert!(must.is_subset(&failed), "{:?}", must.difference(&failed));
    assert!(p == 1 || must.len() > 200, "only {} pairs must fail", must.len());
}

macro_rules! of {
    ($($name:ident $p:literal;)*) => {$(
        #[test]
        fn $name() {
            every_fault($p);
        }
    )*};
}

of! {
    one_rank 1;
    two_ranks 2;
    three_ranks 3;
    four_ranks 4;
    five_ranks 5;
    nine_ranks 9;
}
