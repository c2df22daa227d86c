//! Disagreements that the table cannot express, and calls that only look like disagreements.

mod counts;

use crate::common::{self, bomb, check_usable, fails, failure, succeeds, team, watch};
use crate::saying::{CALLS, Fact, Saying, Way, usual};
use phalanx::topology::Extents;
use phalanx::{Algorithm, Comm, Element, Error, Source, Tag, Team, op};

/// Runs `f`, which must fail with a mismatch in which `expected` expected something else of rank
/// `got` (the pair), with a text that has all of `words`.
fn told(team: &Team, pair: [usize; 2], words: &[&str], f: impl Fn(&mut Comm) + Sync) {
    match common::told(team, words, f) {
        Error::Mismatch { rank, peer, there: Some(_), .. } => assert_eq!([rank, peer], pair),
        error => panic!("{error}"),
    }
}

// ---- Calls that send nothing ----

#[test]
fn calls_that_send_nothing_are_counted() {
    let _watch = watch();
    let team = team(3);
    for odd in 0..3 {
        let error = fails(&team, |comm| {
            if comm.rank() == odd {
                comm.shift(&mut [1, 2], 3);
            }
        });
        assert!(error.to_string().contains("1 collective call(s) more"), "{error}");
    }
}

#[test]
fn calls_that_send_nothing_are_compared() {
    let _watch = watch();
    let team = team(3);
    told(&team, [0, 1], &["length: expected 2, got 4"], |comm| {
        comm.shift(&mut vec![1; if comm.rank() == 1 { 4 } else { 2 }], 3);
    });
    told(&team, [0, 2], &["element type: expected i32, got u8"], |comm| match comm.rank() {
        2 => comm.shift(&mut [1u8], 0),
        _ => comm.shift(&mut [1i32], 0),
    });
    // In another order, in a child.
    told(&team, [0, 1], &["length: expected 1, got 2"], |comm| {
        let mut child = comm.split(0, comm.rank());
        let lens = if child.rank() == 1 { [2, 1] } else { [1, 2] };
        lens.into_iter().for_each(|n| child.shift(&mut vec![1; n], 0));
    });
    // Too long ago to be on record: noticed all the same.
    told(&team, [0, 2], &["shifts by 0", "barrier at"], |comm| {
        comm.shift(&mut vec![1; if comm.rank() == 2 { 4 } else { 2 }], 3);
        (0..40).for_each(|_| comm.barrier());
    });
    team.run(|comm| [1, 2, 3].map(|n| comm.shift(&mut vec![1; n], 0))).unwrap();
}

/// A short scan of two ranks is one message; the tree's, by recursive doubling, has one back.
#[test]
fn a_scan_of_two_ranks_by_another_algorithm_is_told() {
    let _watch = watch();
    let team = team(2);
    for odd in 0..2 {
        for n in [1, 100] {
            let error = fails(&team, |comm| {
                let mut x = vec![1_u64; n];
                match comm.rank() == odd {
                    true => comm.tree().scan(&mut x, op::Sum),
                    false => comm.scan(&mut x, op::Sum),
                }
                comm.barrier();
            });
            let text = error.to_string();
            assert!(matches!(error, Error::Mismatch { .. }), "{text}");
        }
    }
}

// ---- The words of errors ----

#[test]
fn lengths_that_may_differ_are_shown() {
    let _watch = watch();
    let team = team(3);
    let words = ["all_to_all_varied_into of 6 u16", "with_peers of 4 u16"];
    told(&team, [0, 2], &words, |comm| match comm.rank() {
        2 => comm.with_peers(&[7u16; 4], |_| ()),
        _ => comm.all_to_all_varied_into(&[1u16; 6], &[2; 3], &mut [0; 6], &[2; 3]),
    });
    // They do differ, in calls that are right.
    succeeds(&team, |comm| {
        let n = comm.rank() + 1;
        let sent: Vec<usize> = (0..3).map(|q| q + n).collect();
        let total = sent.iter().sum();
        comm.all_to_all_varied_into(&vec![n; total], &sent, &mut vec![0; total], &sent);
        comm.with_peers(&vec![1; n], |_| ());
    });
}

#[test]
fn elements_of_no_size_have_lengths_too() {
    let _watch = watch();
    let team = team(3);
    told(&team, [0, 1], &["length: expected 3, got 5"], |comm| {
        let mut x = vec![(); if comm.rank() == 1 { 5 } else { 3 }];
        comm.broadcast(&mut x, 0);
    });
}

#[test]
fn meshes_of_many_dimensions() {
    let _watch = watch();
    let team = team(8);
    let pairs =
        [("2x2x2", "2x4", "2x2x2"), ("2x1x2x1x1x2", "2x2x2x1x1x1", "mesh"), ("8x1", "1x8", "8x1")];
    for (a, b, word) in pairs {
        let [a, b]: [Extents; 2] = [a, b].map(|s| s.parse().unwrap());
        let odd = 5;
        told(&team, [0, odd], &[word, "extents of the mesh: expected "], |comm| {
            let dims = if comm.rank() == odd { &b } else { &a };
            comm.with_mesh(Algorithm::AG_MESHD, dims).all_gather_into(&[1], &mut [0; 8]);
        });
    }
}

/// Ranks 0 and 1 meet each other's messages; but it is rank 2 that left a call out.
#[test]
fn the_cause_is_named_and_not_its_victims() {
    let _watch = watch();
    for p in [3, 4, 7] {
        let team = team(p);
        for odd in 0..p {
            let usual = (odd + 1) % p;
            let error = fails(&team, |comm| {
                if comm.rank() != odd {
                    comm.shift(&mut [1; 50], 1);
                }
                comm.all_reduce(&mut [1; 50], op::Sum);
                comm.broadcast(&mut [1; 50], usual);
                comm.all_gather_into(&[1; 50], &mut vec![1; 50 * p]);
            });
            let text = error.to_string();
            let Error::Mismatch { rank, peer, .. } = error else { panic!("{text}") };
            // Whoever noticed it: all have made their first call when the cause is named.
            assert_eq!([rank, peer], [usize::from(odd == 0), odd], "{text}");
            let words = "operation: expected shift, got all_reduce";
            assert!(text.contains(words), "{text}");
        }
    }
}

/// Three opinions: the majority's is the expected one, and the first rank of another is named.
#[test]
fn three_opinions() {
    let _watch = watch();
    let team = team(6);
    for round in 0..6 {
        let lens = |rank: usize| [3, 4, 3, 5, 3, 3][(rank + round) % 6];
        let error = fails(&team, |comm| {
            comm.broadcast(&mut vec![1; lens(comm.rank())], 0);
        });
        let text = error.to_string();
        let Error::Mismatch { rank, peer, .. } = error else { panic!("{text}") };
        let first = |is: fn(usize) -> bool| (0..6).find(|&r| is(lens(r))).unwrap();
        assert_eq!([rank, peer], [first(|n| n == 3), first(|n| n != 3)], "{text}");
        assert!(text.contains(&format!("length: expected 3, got {}", lens(peer))), "{text}");
    }
}

/// The call that waits is named, though the rank made others in another
/// communicator since.
#[test]
fn calls_within_calls() {
    let _watch = watch();
    let team = team(2);
    let error = fails(&team, |comm| {
        let mut child = comm.split(comm.rank(), 0);
        if comm.rank() == 0 {
            comm.with_peers(&[1, 2], |_| child.barrier());
        }
    });
    let Error::Left { rank: 0, site: Some(site), peer: 1, .. } = &error else { panic!("{error}") };
    assert!(site.call.starts_with("with_peers of 2"), "{error}");
}

// ---- Sub-communicators ----

#[test]
fn a_child_is_compared_when_it_ends() {
    let _watch = watch();
    for p in [2, 3, 5] {
        let team = team(p);
        // A message that nobody receives.
        let error = fails(&team, |comm| {
            let mut child = comm.split(0, p - comm.rank());
            if child.rank() == 1 {
                child.send(&[1], 0);
            }
        });
        let text = error.to_string();
        let from = p - 2; // In the world.
        assert!(
            matches!(error, Error::Unreceived { rank, peer, messages: 1, .. }
                if rank == from && peer == p - 1),
            "{text}"
        );
        assert!(text.contains("the last in send of 1 i32") && text.contains(file!()), "{text}");
        // One call more, of a kind that waits for nobody.
        for last in 0..3 {
            let error = fails(&team, |comm| {
                let mut child = comm.split(0, comm.rank());
                child.barrier();
                if child.rank() == 0 {
                    child.broadcast(&mut [1], 0);
                }
                // Whoever is the last to drop it.
                if comm.rank() != last {
                    drop(child);
                    comm.barrier();
                } else {
                    comm.barrier();
                }
            });
            let text = error.to_string();
            let words =
                ["broadcast of 1 i32, from root 0", "barrier at", "1 collective call(s) more"];
            let left = matches!(error, Error::Left { .. });
            assert!(left || words.iter().all(|w| text.contains(w)), "{text}");
        }
        // A child's child.
        let error = fails(&team, |comm| {
            let mut child = comm.split(0, comm.rank()).split(0, comm.rank());
            if child.rank() == 0 {
                child.send(&[1], 1);
            }
        });
        assert!(matches!(error, Error::Unreceived { rank: 0, peer: 1, .. }), "{error}");
    }
}

/// A message that is left over because a rank panicked is not reported in its stead.
#[test]
fn a_child_in_a_run_that_fails_otherwise() {
    let _watch = watch();
    let team = team(2);
    for round in 0..50 {
        let error = failure(team.run(|comm| {
            let mut child = comm.split(0, comm.rank());
            if child.rank() == 0 {
                child.send(&[1], 1);
                if round % 2 == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            } else {
                bomb();
            }
        }));
        assert!(matches!(error, Error::Panicked { rank: 1, .. }), "{error}");
    }
    // Children that outlive their run are nobody's concern.
    let kept = team.run(|comm| {
        let mut child = comm.split(0, comm.rank());
        if child.rank() == 0 {
            child.send(&[1], 1);
        }
        child
    });
    check_usable(&team, 1);
    drop(kept);
    check_usable(&team, 1);
}

/// Calls that wait for nobody, in which ranks differ, with so many after them that no record
/// of them is left.
#[test]
fn a_difference_of_long_ago_is_told() {
    let _watch = watch();
    for p in [2, 3] {
        let team = team(p);
        for more in [false, true] {
            for in_child in [false, true] {
                let error = fails(&team, |comm| {
                    let odd = comm.rank() == 1;
                    let mut child = comm.split(0, comm.rank());
                    let one = if in_child { &mut child } else { &mut *comm };
                    one.shift(&mut vec![1; if odd && !more { 4 } else { 3 }], 0);
                    if odd && more {
                        one.shift(&mut [1; 3], p as isize);
                    }
                    let many = if in_child { comm } else { &mut child };
                    (0..40).for_each(|_| many.barrier());
                });
                let text = error.to_string();
                let Error::Mismatch { rank, peer, .. } = error else { panic!("{text}") };
                assert!([rank, peer].contains(&1), "{text}");
                assert!(text.contains("longer ago than is on record"), "{text}");
            }
        }
    }
}

// ---- Types ----

mod a {
    #[derive(Clone, Copy)]
    pub(super) struct Same(#[allow(dead_code)] pub(super) u64);
}
mod b {
    #[derive(Clone, Copy)]
    pub(super) struct Same(#[allow(dead_code)] pub(super) u64);
}

#[test]
fn types_that_look_alike() {
    fn cast<A: Element, B: Element>(team: &Team, a: A, b: B, words: &[&str]) {
        for n in [1, 100] {
            told(team, [0, 1], words, |comm| match comm.rank() {
                0 => comm.broadcast(&mut vec![a; n], 0),
                _ => comm.broadcast(&mut vec![b; n], 0),
            });
            // A message is looked at by its receiver.
            told(team, [1, 0], &["element type"], |comm| match comm.rank() {
                0 => comm.send(&vec![a; n], 1),
                _ => comm.recv(&mut vec![b; n], 0),
            });
            told(team, [0, 1], words, |comm| match comm.rank() {
                0 => comm.with_peers(&vec![a; n], |_| ()),
                _ => comm.with_peers(&vec![b; n], |_| ()),
            });
        }
    }
    let _watch = watch();
    let team = team(2);
    cast(&team, 1u8, true, &["u8", "bool"]);
    cast(&team, 1u32, 'x', &["u32", "char"]);
    cast(&team, 1usize, 1u64, &["usize", "u64"]);
    cast(&team, 1u64, [1u64], &["u64", "[u64; 1]"]);
    cast(&team, a::Same(1), b::Same(1), &["a::Same", "b::Same"]);
    cast(&team, Some('a'), 7u32, &["Option<char>", "u32"]);
    cast(&team, "a", (1usize, 2usize), &["&str", "(usize, usize)"]);
}

// ---- Operators ----

/// An operator of which there are two types, both "kind".
struct Kind<const N: usize>;

impl<const N: usize> op::Operator<u64> for Kind<N> {
    const NAME: &'static str = "kind";
    const COMMUTATIVE: bool = true;

    fn combine(&self, a: u64, b: u64) -> u64 {
        a + b * N as u64
    }
}

#[test]
fn operators_of_two_types() {
    let _watch = watch();
    for p in [2, 3, 5] {
        let team = team(p);
        let ways = [Way::Auto, Way::Fixed, Way::Hypercube];
        let calls = CALLS.into_iter().filter(|call| call.has(Fact::Operator));
        let calls: Vec<_> = calls
            .flat_map(|call| ways.map(|way| Saying { way, ..Saying::new(call, 3) }))
            .filter(|it| it.way == Way::Auto || it.call.operation().is_some())
            .collect();
        for (it, len) in calls.iter().flat_map(|it| [1, 10, 5000].map(|n| (it, n))) {
            let it = Saying { len, ..*it };
            let error = failure(team.run(|c| match c.rank() {
                0 => usual::say_with::<u64, _>(&it, c, Kind::<1>),
                _ => usual::say_with::<u64, _>(&it, c, Kind::<2>),
            }));
            let text = error.to_string();
            assert!(matches!(error, Error::Mismatch { .. }), "{it:?}: {text}");
            let words = "operators of two types: expected ";
            assert!(text.contains(words) && text.contains("Kind<1>"), "{it:?}: {text}");
            let error = fails(&team, |c| match c.rank() {
                0 => usual::say_with::<u64, _>(&it, c, op::commutative(|a: u64, b: u64| a + b)),
                _ => usual::say_with::<u64, _>(&it, c, op::commutative(|a: u64, b: u64| a * b)),
            });
            let text = error.to_string();
            assert!(matches!(error, Error::Mismatch { .. }), "{it:?}: {text}");
            assert!(text.contains("operators of two types, both named"), "{it:?}: {text}");
        }
        // One closure, whatever it has captured and for however long.
        succeeds(&team, |c| {
            let own = (c.rank() as u64, 1);
            let op = op::commutative(|a: u64, b: u64| a + b * own.1);
            calls.iter().for_each(|it| usual::say_with::<u64, _>(it, c, op));
        });
    }
}

// ---- Tagged messages ----

/// Whatever is wrong between a sender and a receiver, whichever comes first: both calls, with both
/// lines.
#[test]
fn tagged_messages_that_do_not_fit() {
    type Half = fn(&mut Comm);
    let sends: [(Half, &str); 4] = [
        (|c| c.send_tagged(&[1u64; 5], 1, 2), "send_tagged of 5 u64, to rank 1, tag 2"),
        (|c| c.send_tagged(&[1i64; 9000], 1, 2), "send_tagged of 9000 i64, to rank 1, tag 2"),
        (|c| c.send_owned(5u64, 1, 2), "send_owned of 1 u64, to rank 1, tag 2"),
        (|c| c.send_owned(vec![5u64], 1, 2), "send_owned of 1 alloc::vec::Vec<u64>, to rank 1"),
    ];
    let receives: [(Half, &str); 4] = [
        (
            |c| _ = c.recv_tagged(&mut [0u64; 4], Source::Any, 2),
            "recv_tagged of 4 u64, from any rank, tag 2",
        ),
        (
            |c| _ = c.recv_tagged(&mut [0u8; 9000], 0, Tag::Any),
            "recv_tagged of 9000 u8, from rank 0",
        ),
        (|c| _ = c.recv_vec::<u32>(0, 2), "recv_vec of"),
        (|c| _ = c.recv_owned::<String>(0, Tag::Any), "recv_owned of 1 alloc::string::String"),
    ];
    let _watch = watch();
    let team = team(3);
    for ((send, sent), (receive, received)) in
        sends.iter().flat_map(|s| receives.iter().map(move |r| (s, r)))
    {
        for late in [0, 1] {
            let error = fails(&team, |comm| {
                if comm.rank() == late {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                match comm.rank() {
                    0 => send(comm),
                    1 => receive(comm),
                    _ => {}
                }
            });
            let text = error.to_string();
            let Error::Mismatch { rank, peer, there: Some(_), .. } = error else {
                panic!("{text}");
            };
            assert_eq!(rank + peer, 1, "{text}");
            for words in [*sent, *received, "expected", "singles.rs"] {
                let is_said = text.contains(words) || text.contains("truncation");
                assert!(is_said, "`{words}` is not in: {text}");
            }
        }
    }
}
