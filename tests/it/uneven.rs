//! Blocks of different lengths, against one thread's results: nothing, all of one rank's, lengths
//! around the copied ones and those that stay where they are; by every way, also with counts that
//! change from call to call; and calls that collect into a `Vec`.

use crate::common::{
    Dice, UNEVEN, Watch, check_usable, common_counts, every_uneven, fails, failure, lists, pairs,
    runs, team, watch,
};
use phalanx::{Comm, Error, Order, op};

fn of_every_length(watch: &Watch, p: usize) {
    let team = team(p);
    for n in UNEVEN {
        watch.case(format!("p={p}, n={n}"));
        team.run(|comm| every_uneven(comm, n)).unwrap_or_else(|e| panic!("p={p}, n={n}: {e}"));
    }
}

#[test]
fn every_length() {
    let watch = watch();
    (1..=9).for_each(|p| of_every_length(&watch, p));
}

/// Whatever is forced.
#[test]
fn by_topologies_in_fixed_order_and_in_parts() {
    let _watch = watch();
    for p in [1, 2, 4, 6] {
        runs(&team(p), format!("p={p}"), |comm| {
            for n in [1, 130] {
                for counts in lists(p, n) {
                    common_counts::<u64>(&mut comm.ring(), &counts, |x| x);
                    common_counts::<u64>(&mut comm.tree(), &counts, |x| x);
                    common_counts::<u64>(&mut comm.hypercube(), &counts, |x| x);
                    common_counts::<u64>(&mut comm.mesh(p / 2 + p % 2, 2 - p % 2), &counts, |x| x);
                    common_counts::<u64>(&mut comm.with_order(Order::Fixed), &counts, |x| x);
                    common_counts::<u64>(comm, &counts, |x| x);
                }
                let ring = phalanx::Algorithm::TX_ANY;
                pairs::<u64>(&mut comm.with(ring), &|i, j| (i + 2 * j) % 3 * n, |x| x);
                pairs::<u64>(&mut comm.with(phalanx::Algorithm::TX_FUSED), &|i, j| i + j, |x| x);
                let mut half = comm.split(comm.rank() % 2, 0);
                pairs::<u64>(&mut half, &|i, j| (i + 2 * j) % 3 * n, |x| x);
                let counts: Vec<usize> = (0..half.size()).map(|q| q * n).collect();
                common_counts::<u64>(&mut half, &counts, |x| x);
            }
        });
    }
}

/// More lists than a rank knows, in turn and at random, in calls of all kinds: each goes by its
/// own plan.
#[test]
fn counts_in_turn() {
    let _watch = watch();
    for p in [2, 3, 5] {
        runs(&team(p), format!("p={p}"), |comm| {
            let mut dice = Dice(p as u64);
            for round in 0..400 {
                let k = if round % 3 == 0 { dice.below(30) } else { dice.below(4) };
                let counts: Vec<usize> = (0..p).map(|q| (k * (q + 1)) % 7).collect();
                common_counts::<u64>(comm, &counts, |x| x);
            }
        });
    }
}

// ---- Errors ----

/// Two ranks that disagree about a block, whichever way it goes: in elements, with both ranks.
#[test]
fn a_block_of_another_length() {
    let _watch = watch();
    for p in 2..=5 {
        let team = team(p);
        for (sent, wanted) in [(3, 8), (1, 0), (0, 5), (129, 128), (128, 129), (4000, 4001)] {
            let error = fails(&team, |comm| {
                let (r, last) = (comm.rank(), p - 1);
                let (mut to, mut from) = (vec![2; p], vec![2; p]);
                if r == 0 {
                    to[last] = sent;
                }
                if r == last {
                    from[0] = wanted;
                }
                let send = vec![r as u64; to.iter().sum()];
                let mut recv = vec![0; from.iter().sum()];
                comm.all_to_all_varied_into(&send, &to, &mut recv, &from);
            });
            let text = error.to_string();
            let Error::Mismatch { rank, peer, .. } = error else { panic!("{text}") };
            assert_eq!((rank, peer), (p - 1, 0), "{text}");
            let words = format!("expected {wanted}, got {sent}");
            assert!(text.contains(&words), "{text}");
            assert_eq!(text.matches("uneven.rs:").count(), 2, "{text}");
        }
    }
}

/// Counts that differ on one rank: at once, in another order only, on the third call, back to those
/// of the call before, with one sum and one digest of 17 bits.
#[test]
fn counts_that_differ() {
    type Counted = fn(&mut Comm, &[usize], usize);
    fn with_parts(comm: &mut Comm, counts: &[usize], kind: usize) {
        let r = comm.rank();
        let total = counts.iter().sum();
        let (mut one, mut all) = (vec![1u8; counts[r]], vec![0u8; total]);
        match kind {
            0 => comm.all_gather_varied_into(&one, &mut all, counts),
            1 => comm.gather_varied_into(&one, &mut all, counts, 0),
            2 => comm.scatter_varied_into(&all, &mut one, counts, 0),
            _ => comm.reduce_scatter_varied_into(&all, &mut one, counts, op::Max),
        }
    }
    let ways: [Counted; 5] = [
        with_parts,
        |comm, counts, kind| with_parts(&mut comm.ring(), counts, kind),
        |comm, counts, kind| with_parts(&mut comm.tree(), counts, kind),
        |comm, counts, kind| with_parts(&mut comm.hypercube(), counts, kind),
        |comm, counts, kind| with_parts(&mut comm.with_order(Order::Fixed), counts, kind),
    ];
    // Of the other ranks, and of rank 1, the own block of which is as long.
    let lists: [([usize; 3], [usize; 3]); 5] = [
        ([1, 2, 3], [3, 2, 1]),
        ([5, 165, 236], [112, 165, 129]),
        ([5, 289, 112], [112, 289, 5]),
        ([700, 0, 900], [900, 0, 700]),
        ([3000, 7, 1], [1, 7, 3000]),
    ];
    let watch = watch();
    for p in [3, 4, 5, 8] {
        let team = team(p);
        for (w, way) in ways.iter().enumerate() {
            for (kind, (usual, other)) in
                (0..4).flat_map(|kind| lists.iter().map(move |it| (kind, it)))
            {
                for at in [0, 2] {
                    watch.case(format!("p={p}, way {w}, call {kind}, {usual:?}, at {at}"));
                    let error = failure(team.run(|comm| {
                        let full = |list: &[usize; 3]| {
                            let mut counts = vec![2; p];
                            counts[..3].copy_from_slice(list);
                            counts
                        };
                        for call in 0..=at {
                            let differs = comm.rank() == 1 && call == at;
                            way(comm, &full(if differs { other } else { usual }), kind);
                        }
                        comm.barrier();
                    }));
                    let text = error.to_string();
                    assert!(matches!(error, Error::Mismatch { .. }), "{text}");
                    assert!(text.contains("counts: expected ["), "{text}");
                    assert_eq!(text.matches("uneven.rs:").count(), 2, "{text}");
                }
            }
        }
        check_usable(&team, 1);
    }
}

/// A call that collects is compared as any; and a failure in it leaves nobody behind.
#[test]
fn collected_beside_something_else() {
    let _watch = watch();
    for p in [2, 3, 6] {
        let team = team(p);
        for n in [1, 500] {
            let run = team.run(|comm| match comm.rank() {
                0 => drop(comm.all_gather_vec(&vec![1u64; n])),
                _ => drop(comm.gather_vec(&vec![1u64; n], 0)),
            });
            let text = failure(run).to_string();
            assert!(text.contains("all_gather_vec") && text.contains("gather_vec of"), "{text}");
            let run = team.run(|comm| comm.gather_vec(&vec![1u64; n], comm.rank() % 2));
            let text = failure(run).to_string();
            assert!(text.contains("root: expected"), "{text}");
            let run = team.run(|comm| match comm.rank() {
                0 => panic!("over"),
                _ => drop(comm.all_to_all_vec(&vec![1u64; n * p], &vec![n; p])),
            });
            assert!(matches!(failure(run), Error::Panicked { rank: 0, .. }));
            check_usable(&team, 1);
        }
        for counts in [vec![1; p + 1], vec![2; p], vec![usize::MAX; p]] {
            let run = team.run(|comm| drop(comm.all_to_all_vec(&vec![1u8; p], &counts)));
            assert!(matches!(failure(run), Error::Argument { .. }));
        }
        let run = team.run(|comm| drop(comm.gather_vec(&[1], p)));
        assert!(matches!(failure(run), Error::Argument { .. }));
    }
}
