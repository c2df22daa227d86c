//! Lengths and counts that differ, also where their sums or digests are equal.

use super::told;
use crate::common::{fails, failure, succeeds, team, watch};
use phalanx::{Algorithm, Error, Order, op};

/// Whatever way a block takes, its length is said in elements, exactly.
#[test]
fn lengths_of_messages_are_in_elements() {
    let _watch = watch();
    let team = team(2);
    for (sent, wanted, words) in [
        (1, 2, "message length: expected 2, got 1"),
        (20, 2, "message length: expected 2, got 20"),
        (2, 400, "message length: expected 400, got 2"),
        (30, 20, "message length: expected 20, got 30"),
    ] {
        told(&team, [1, 0], &[words], |comm| match comm.rank() {
            0 => {
                let (send, mut recv) = (vec![0u32; 1 + sent], [0; 2]);
                comm.all_to_all_varied_into(&send, &[1, sent], &mut recv, &[1, 1]);
            }
            _ => {
                let mut recv = vec![0; wanted + 1];
                comm.all_to_all_varied_into(&[0u32; 2], &[1, 1], &mut recv, &[wanted, 1]);
            }
        });
    }
}

/// The own block in its place beside one that is not: two calls.
#[test]
fn in_place_beside_not_in_place() {
    let _watch = watch();
    let team = team(3);
    let names = "operation: expected all_gather_in_place, got all_gather_into";
    told(&team, [0, 2], &[names], |comm| match comm.rank() {
        2 => comm.all_gather_into(&[1], &mut [0; 3]),
        _ => comm.all_gather_in_place(&mut [0; 3]),
    });
    let names = "operation: expected gather_into, got gather_in_place";
    told(&team, [0, 1], &[names], |comm| match comm.rank() {
        1 => comm.gather_in_place(&mut [0; 3], 1),
        _ => comm.gather_into(&[1], &mut [], 1),
    });
}

#[test]
fn counts_that_differ_with_the_same_sum() {
    let _watch = watch();
    let team = team(3);
    for (unit, k) in [1, 20, 63, 63 << 20].into_iter().flat_map(|u| (0..5).map(move |k| (u, k))) {
        if unit > 1 << 20 && k != 1 {
            continue; // Too much memory for the others.
        }
        let error = fails(&team, |comm| {
            // Rank 1 agrees about its own part and about the sum.
            let counts = if comm.rank() == 1 { [1, 2, 3] } else { [2, 2, 2] };
            let counts = counts.map(|n| n * unit);
            let (mut one, mut all) = (vec![0u8; counts[comm.rank()]], vec![0u8; 6 * unit]);
            match k {
                0 => comm.all_gather_varied_into(&one, &mut all, &counts),
                1 => comm.gather_varied_into(&one, &mut all, &counts, 0),
                2 => comm.scatter_varied_into(&all, &mut one, &counts, 0),
                3 => comm.reduce_scatter_varied_into(&all, &mut one, &counts, op::Sum),
                _ => {
                    let own = [2 * unit; 3];
                    comm.all_to_all_varied_into(&all.clone(), &counts, &mut all, &own)
                }
            }
        });
        let text = error.to_string();
        if k < 4 {
            assert!(matches!(error, Error::Mismatch { .. }), "{text}");
            assert!(text.contains("counts: expected [") && text.contains("], got ["), "{text}");
        } else {
            assert!(matches!(error, Error::Mismatch { .. } | Error::Argument { .. }), "{text}");
        }
    }
}

/// Blocks of 63 elements: the ranks disagree in their order alone: six bits of a sum of multiples
/// of 31 did not notice.
#[test]
fn counts_in_another_order() {
    let _watch = watch();
    let team = team(3);
    told(&team, [0, 1], &["counts: expected [63, 5, 0], got [0, 5, 63]"], |comm| {
        let counts = if comm.rank() == 1 { [0, 5, 63] } else { [63, 5, 0] };
        let mut mine = vec![0u64; counts[comm.rank()]];
        comm.reduce_scatter_varied_into(&[1; 68], &mut mine, &counts, op::Sum);
    });
}

/// Counts that multiply to a number of bytes that wraps must not get anywhere.
#[test]
fn counts_beyond_memory() {
    let _watch = watch();
    let team = team(4);
    for counts in [[1, 1 << 61, 0, 0], [1, (1 << 61) + 5, (3 << 61) - 4, 0], [1, 0, 0, usize::MAX]]
    {
        for k in 0..4 {
            let error = fails(&team, |comm| {
                let mut counts = if comm.rank() == 1 { counts } else { [1, 0, 0, 0] };
                counts.rotate_right(comm.rank());
                let (mut one, mut all) = ([0u64], [0u64; 4]);
                let mut view = comm.with(if k < 2 { Algorithm::GA_ANY } else { Algorithm::SC_ANY });
                match k % 2 {
                    _ if k < 2 => view.gather_varied_into(&one, &mut all, &counts, 0),
                    _ => view.scatter_varied_into(&all, &mut one, &counts, 0),
                }
            });
            let text = error.to_string();
            // Rank 1's argument, or the others' words about theirs.
            let is_local = matches!(error, Error::Argument { .. });
            assert!(is_local || matches!(error, Error::Mismatch { .. }), "{text}");
        }
    }
    let error = failure(team.run(|comm| {
        let mut counts = [1; 4];
        counts[3] = 1 << 61;
        if comm.rank() == 1 {
            comm.scatter_varied_into(&[], &mut [0u64], &counts, 0);
        }
    }));
    let text = error.to_string();
    assert!(matches!(error, Error::Argument { rank: 1, .. }), "{text}");
    assert!(text.contains("more than memory can hold"), "{text}");
    // Of elements of no size there can be any number.
    succeeds(&team, |comm| {
        let counts = [usize::MAX / 8; 4];
        let mine = vec![(); counts[0]];
        let mut all = vec![(); if comm.rank() == 0 { counts[0] * 4 } else { 0 }];
        comm.gather_varied_into(&mine, &mut all, &counts, 0);
    });
}

/// Two lists of counts with one sum, and of which a digest of 17 bits was the same; no rank's
/// own block, or messages, tell them apart.
#[test]
fn counts_with_one_digest() {
    let _watch = watch();
    let team = team(4);
    let (usual, other) = ([1, 1, 63, 637], [1, 1, 404, 296]);
    for k in 0..8 {
        told(&team, [1, 0], &["counts: expected [1, 1, 63, 637]", "got [1, 1, 404, 296]"], |c| {
            let counts = if c.rank() == 0 { other } else { usual };
            let own = usual[c.rank()];
            let (mut one, mut all) = (vec![1u8; own], vec![0u8; 702]);
            match k {
                0 => c.all_gather_varied_into(&one, &mut all, &counts),
                1 => c.hypercube().all_gather_varied_into(&one, &mut all, &counts),
                2 => c.ring().all_gather_varied_into(&one, &mut all, &counts),
                3 => c.tree().all_gather_varied_into(&one, &mut all, &counts),
                4 => c.hypercube().gather_varied_into(&one, &mut all, &counts, 0),
                5 => c.scatter_varied_into(&all, &mut one, &counts, 3),
                6 => c.mesh(2, 2).gather_varied_into(&one, &mut all, &counts, 2),
                _ => c.reduce_scatter_varied_into(&all, &mut one, &counts, op::Sum),
            }
        });
    }
}

/// In a fixed order, where the counts say only which part of the result is which rank's.
#[test]
fn counts_in_a_fixed_order() {
    let _watch = watch();
    let team = team(3);
    for k in 0..4 {
        told(&team, [0, 1], &["counts: expected [5, 289, 112], got [5, 165, 236]"], |c| {
            let one = c.rank() == 1;
            let counts = if one { [5, 165, 236] } else { [5, 289, 112] };
            let (x, mut y) = (vec![1u64; 406], vec![0; counts[c.rank()]]);
            let mut ways = match k {
                1 => c.ring(),
                2 => c.tree(),
                3 => c.with(Algorithm::RS_FUSED),
                _ => c.with_order(Order::Fixed),
            };
            match k {
                1 | 2 => {
                    let mut fixed = ways.with_order(Order::Fixed);
                    fixed.reduce_scatter_varied_into(&x, &mut y, &counts, op::Sum);
                }
                _ => ways.reduce_scatter_varied_into(&x, &mut y, &counts, op::Sum),
            }
        });
    }
    // Agreed upon, also of nothing.
    succeeds(&team, |c| {
        let r = c.rank();
        for counts in [[5, 289, 112], [0, 0, 0], [0, 1, 0], [0, 1, 0]] {
            let (x, mut y) = (vec![1u64; counts.iter().sum()], vec![0; counts[r]]);
            c.with_order(Order::Fixed).reduce_scatter_varied_into(&x, &mut y, &counts, op::Sum);
            let mut ring = c.ring();
            ring.with_order(Order::Fixed).reduce_scatter_varied_into(&x, &mut y, &counts, op::Sum);
            assert_eq!(y, vec![3; counts[r]]);
        }
    });
}

/// Counts that change all the time, in three communicators in turn; then one rank keeps those
/// of the call before.
#[test]
fn counts_that_change_all_the_time() {
    let _watch = watch();
    let team = team(4);
    for (last, odd) in [(0, 2), (31, 1), (32, 3), (70, 2)] {
        let words = ["counts: expected [", "all_gather_varied_into of"];
        told(&team, [0, odd], &words, |c| {
            let mut half = c.split(c.rank() % 2, 0);
            for call in 0..=last {
                let behind = usize::from(call == last && call > 0 && c.rank() == odd);
                let at = call - behind + usize::from(call == 0 && c.rank() == odd);
                // The own block is as long as before.
                let mut counts = [4; 4];
                let (a, b) = ((c.rank() + 1) % 4, (c.rank() + 2) % 4);
                if c.rank() == odd && at != call {
                    (counts[a], counts[b]) = (3, 5);
                }
                counts.iter_mut().for_each(|n| *n += call % 3);
                let mut all = vec![0; counts.iter().sum()];
                c.all_gather_varied_into(&vec![7; counts[c.rank()]], &mut all, &counts);
                let counts = [call, 2];
                let mut all = vec![0; call + 2];
                let mine = vec![7; counts[half.rank()]];
                half.all_gather_varied_into(&mine, &mut all, &counts);
            }
        });
    }
}
