//! Every fault in every call; with four ranks in each algorithm, else of each rank.

use super::common::{rounds, seed, team, watch};
use super::kit::Script;
use super::random::one_run;

fn every_fault(p: usize) {
    let (watch, team, first) = (watch(), team(p), seed(p as u64));
    let seeds = first..first + 3 * (if p == 4 { 1 } else { p } * rounds()) as u64;
    let all = || seeds.clone().flat_map(|seed| Script::of_every_fault(seed, p)).zip(0..);
    let fails =
        |(script, k): &(Script, u64)| one_run(&watch, &team, script, first, k.is_multiple_of(8));
    let (failed, runs) = (all().filter(fails).count(), all().count());
    println!("p={p}: {failed} of {runs} runs failed");
    assert!(p == 1 || failed > runs / 2, "p={p}: only {failed} of {runs}");
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
}
