//! What a team takes from the allocator: by its building in proportion to its ranks, by its first
//! run a little for each pair of ranks. (Messages' own memory comes from the system, page by page
//! as it is used: `docs/start.md`.)

#[path = "../../benches/raw/counting.rs"]
mod counting;

use counting::asked_for;
use phalanx::{Team, placement::Placement};

/// Bytes asked for while a team of `ranks` is built, and in its first run.
fn bytes(ranks: usize) -> [usize; 2] {
    let start = asked_for();
    let team = Team::builder().ranks(ranks).placement(Placement::Unpinned).build().unwrap();
    let built = asked_for();
    team.run(|_| ()).unwrap();
    [built - start, asked_for() - built]
}

/// Bytes that a rank keeps for each of its peers: addresses and counters.
const PER_PAIR: usize = 80;

/// Bytes that a rank has beside these.
const PER_RANK: usize = 16 << 10;
#[test]
fn alone() {
    crate::in_a_process(module_path!(), None, 1);
}

#[test]
#[ignore = "run by `alone`"]
fn memory_grows_with_ranks_and_little_with_pairs() {
    bytes(2); // what is allocated once
    let [small, large] = [64, 256].map(bytes);
    let built = large[0].saturating_sub(small[0]);
    assert!(built <= (256 - 64) * PER_RANK, "building 192 ranks more takes {built} bytes");
    let pairs = 256 * 256 - 64 * 64;
    let run = large[1].saturating_sub(small[1]);
    let most = pairs * PER_PAIR + (256 - 64) * PER_RANK;
    assert!(run <= most, "the first run of 192 ranks more takes {run} bytes, above {most}");
    // The workers of a team that never runs know nothing of each other.
    assert!(built < pairs * PER_PAIR, "{built}");
}
