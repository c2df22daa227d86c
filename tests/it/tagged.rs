//! Checks tagged messages: their order, wildcards, probes, lengths, owned values, and the ways in
//! which they go wrong.

mod endings;
mod owned;
mod started;
mod unread;

use crate::common::{Dice, on_threads, rounds, seed, succeeds, team, told, until, watch};
use phalanx::{Comm, Error, Source, Status, Tag, Team, call};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Elements of 8 bytes that are not copied: they wait until they are received.
const LONG: usize = 4096;

/// The test is not about a call's result.
fn ignore<T>(_: T) {}

// ---- Receives ----

#[test]
fn tags_are_received_out_of_order_and_equal_tags_in_order() {
    let _watch = watch();
    let run = team(2).run(|comm| {
        let mut got = Vec::new();
        if comm.rank() == 0 {
            for (i, tag) in [5, 1, 5, 0, u32::MAX, 1].into_iter().enumerate() {
                comm.send_tagged(&[i as i32], 1, tag);
            }
            comm.barrier();
        } else {
            comm.barrier();
            let tags = [Tag::Is(1), Tag::Is(u32::MAX), Tag::Any, Tag::Is(5), 0.into(), Tag::Any];
            for tag in tags {
                let mut x = [99];
                let status = comm.recv_tagged(&mut x, 0, tag);
                got.push((x[0], status.tag));
            }
        }
        got
    });
    let got = run.unwrap().swap_remove(1);
    assert_eq!(got, [(1, 1), (4, u32::MAX), (0, 5), (2, 5), (3, 0), (5, 1)]);
}

#[test]
fn any_source_takes_what_came_first() {
    let _watch = watch();
    let out = team(4).run(|comm| {
        let mut sources = Vec::new();
        // One after the other: 3, 1, 2.
        for turn in [3, 1, 2] {
            if comm.rank() == turn {
                comm.send_tagged(&[turn as u8; 3], 0, 7);
            }
            comm.barrier();
        }
        if comm.rank() == 0 {
            for _ in 0..3 {
                let mut x = [0u8; 3];
                let status = comm.recv_tagged(&mut x, Source::Any, 7);
                assert_eq!((x, status.len), ([status.source as u8; 3], 3));
                sources.push(status.source);
            }
        }
        sources
    });
    assert_eq!(out.unwrap()[0], [3, 1, 2]);
}

#[test]
fn every_length_arrives_whether_sender_or_receiver_is_first() {
    let _watch = watch();
    let lens = [0, 1, 2, 8, 9, 100, 2047, 2048, 2049, 5000, 100_000];
    succeeds(&team(2), |comm| {
        for (n, late) in lens.iter().flat_map(|&n| [(n, 0), (n, 1), (n, 2)]) {
            let data: Vec<u64> = (0..n as u64).map(|i| i * i + n as u64).collect();
            if comm.rank() == late {
                std::thread::sleep(Duration::from_millis(2));
            }
            if comm.rank() == 0 {
                comm.send_tagged(&data, 1, n as u32);
            } else {
                let mut got = vec![u64::MAX; n + 3];
                let status = comm.recv_tagged(&mut got, 0, n as u32);
                assert_eq!(status, Status { source: 0, tag: n as u32, len: n });
                assert_eq!(got[..n], data);
                assert_eq!(got[n..], [u64::MAX; 3]);
            }
        }
    });
}

#[test]
fn a_probe_says_what_the_receive_then_gets() {
    let _watch = watch();
    succeeds(&team(3), |comm| {
        if comm.rank() != 0 {
            comm.send_tagged(&vec![comm.rank() as u32; comm.rank() * LONG], 0, 4);
            comm.send_owned(format!("of {}", comm.rank()), 0, 5);
            return;
        }
        assert_eq!(comm.try_probe(Source::Any, 77), None);
        for _ in 0..2 {
            let status = comm.probe(Source::Any, 4);
            assert_eq!(status.len, status.source * LONG);
            assert_eq!(comm.try_probe(status.source, Tag::Any), Some(status));
            let (data, again) = comm.recv_vec::<u32>(status.source, status.tag);
            assert_eq!(again, status);
            assert!(data.iter().all(|&x| x == status.source as u32));
            let (word, of) = comm.recv_owned::<String>(status.source, Tag::Any);
            assert_eq!((word, of.len), (format!("of {}", of.source), 1));
        }
        assert_eq!(comm.try_probe(Source::Any, Tag::Any), None);
    });
}

#[test]
fn a_message_to_oneself_and_a_team_of_one() {
    let _watch = watch();
    for p in [1, 3] {
        succeeds(&team(p), |comm| {
            let me = comm.rank();
            comm.send_tagged(&[me, 7], me, 1);
            comm.send_owned(vec![Box::new(me)], me, 2);
            let (boxes, status) = comm.recv_owned::<Vec<Box<usize>>>(Source::Any, 2);
            assert_eq!((*boxes[0], status.source), (me, me));
            assert_eq!(comm.recv_vec::<usize>(me, Tag::Any).0, [me, 7]);
        });
        let team = team(p);
        let own = "waits until it is received: for ever";
        told(&team, &[own], |comm| comm.send_tagged(&[0u64; LONG], comm.rank(), 0));
        let nothing = "only this rank can send it";
        told(&team, &[nothing], |comm| ignore(comm.recv_vec::<u8>(comm.rank(), 0)));
        told(&team, &[nothing, "tagged.rs"], |comm| {
            ignore(comm.recv_tagged(&mut [0u8], comm.rank(), Tag::Any));
        });
    }
    told(&team(1), &["only this rank can send it"], |comm| {
        ignore(comm.probe(Source::Any, Tag::Any));
    });
}

/// The messages that one rank has yet to receive, by source, in the order of sending.
type Remaining = Vec<Vec<Letter>>;

#[derive(Clone, Copy, Debug)]
struct Letter {
    id: usize,
    from: usize,
    to: usize,
    tag: u32,
    len: usize,
}

/// Tags from 4 on are those of owned values.
const OWNED: u32 = 4;

fn letters(p: usize, count: usize, dice: &mut Dice) -> Vec<Letter> {
    (0..count)
        .map(|id| {
            let (from, to) = (dice.below(p), dice.below(p));
            let len = match dice.below(40) {
                0 if from != to => LONG + dice.below(LONG),
                1..5 => 9 + dice.below(2000),
                _ => 1 + dice.below(12),
            };
            Letter { id, from, to, tag: dice.below(6) as u32, len }
        })
        .collect()
}

/// Receives one message that `source` and `tag` ask for, and compares it with the oracle.
fn receive(
    comm: &mut Comm,
    remaining: &mut Remaining,
    source: Source,
    tag: Tag,
    way: usize,
) -> usize {
    let status = comm.probe(source, tag);
    let of_source = &mut remaining[status.source];
    let fits = |it: &Letter| tag == Tag::Any || tag == Tag::Is(it.tag);
    let at = of_source.iter().position(fits).expect("a message that nobody sent");
    let it = of_source.remove(at);
    let (from, tag) = (Source::Rank(status.source), Tag::Is(status.tag));
    let (data, again) = match way {
        _ if status.tag >= OWNED => comm.recv_owned::<Vec<u64>>(from, tag),
        0 => comm.recv_vec::<u64>(from, tag),
        _ => {
            let mut data = vec![0; it.len + way];
            let status = comm.recv_tagged(&mut data, from, tag);
            data.truncate(status.len);
            (data, status)
        }
    };
    assert_eq!(again, status);
    assert_eq!((status.source, status.tag), (it.from, it.tag), "{it:?}");
    assert_eq!(data.len(), it.len, "{it:?}");
    assert!(data.iter().all(|&x| x == it.id as u64), "{it:?}: {}", data[0]);
    it.id
}

/// All ranks go through one list of messages. Each sends its own; it receives short ones at any
/// later time, and a long one, for which the sender waits, at its place in the list.
fn against_oracle(p: usize, count: usize, seed: u64) {
    let list = letters(p, count, &mut Dice(seed));
    succeeds(&team(p), |comm| {
        let me = comm.rank();
        let mut dice = Dice(seed ^ (me as u64 + 1) << 32);
        let mut remaining: Remaining = vec![Vec::new(); p];
        for it in &list {
            // Messages of other ranks count once their senders are sure to have come to them.
            if it.to == me {
                remaining[it.from].push(*it);
            }
            if it.from == me {
                let data = vec![it.id as u64; it.len];
                match it.tag {
                    OWNED.. => comm.send_owned(data, it.to, it.tag),
                    tag => comm.send_tagged(&data, it.to, tag),
                }
            }
            if it.to != me {
                continue;
            }
            let is_long = it.len >= LONG && it.tag < OWNED;
            while is_long
                && receive(comm, &mut remaining, it.from.into(), it.tag.into(), 1) != it.id
            {
            }
            // From any source a later one of the list may come: that waits until all is known.
            if !is_long && dice.below(3) > 0 {
                let tag = if dice.below(2) == 0 { Tag::Any } else { it.tag.into() };
                let has = |it: &Letter| tag == Tag::Any || tag == Tag::Is(it.tag);
                if remaining[it.from].iter().any(has) {
                    receive(comm, &mut remaining, it.from.into(), tag, dice.below(4));
                }
            }
        }
        // All that is left is known: from any source, too.
        while remaining.iter().any(|it| !it.is_empty()) {
            let any = dice.below(4);
            let left: Vec<Letter> = remaining.iter().flatten().copied().collect();
            let it = left[dice.below(left.len())];
            let source = if any & 1 == 0 { Source::Any } else { it.from.into() };
            let tag = if any & 2 == 0 { Tag::Any } else { it.tag.into() };
            receive(comm, &mut remaining, source, tag, dice.below(4));
        }
    });
}

#[test]
fn random_messages_come_as_an_oracle_says() {
    let watch = watch();
    for p in 2..=8 {
        for round in 0..rounds() as u64 {
            watch.case(format!("p = {p}, round {round}"));
            against_oracle(p, 10_000, seed(100 * p as u64) + round);
        }
    }
}

#[test]
fn communicators_have_queues_of_their_own() {
    let _watch = watch();
    let out = team(4).run(|comm| {
        let me = comm.rank();
        let mut child = comm.split(me % 2, 4 - me);
        let peer = 1 - child.rank();
        child.send_tagged(&[me, 1], peer, 0);
        comm.send_tagged(&[me, 2], me ^ 1, 0);
        let mut got = [[0; 2]; 2];
        comm.recv_tagged(&mut got[0], Source::Any, 0);
        child.recv_tagged(&mut got[1], Source::Any, Tag::Any);
        got
    });
    for (me, got) in out.unwrap().into_iter().enumerate() {
        assert_eq!(got, [[me ^ 1, 2], [me ^ 2, 1]]);
    }
}

#[test]
fn threads_of_the_users_own_send_and_receive() {
    let _watch = watch();
    on_threads(Team::external(3).unwrap(), |mut comm| {
        let (me, p) = (comm.rank(), comm.size());
        for round in 0..200u32 {
            comm.send_owned(vec![me; 3], (me + 1) % p, round);
            comm.send_tagged(&[me as u64; 70], (me + 2) % p, round);
            let (left, _) = comm.recv_owned::<Vec<usize>>((me + 2) % p, round);
            let (right, _) = comm.recv_vec::<u64>((me + 1) % p, round);
            assert_eq!((left[2], right[69]), ((me + 2) % p, ((me + 1) % p) as u64));
        }
    });
}

#[test]
fn a_receiver_that_sleeps_is_woken_by_any_sender() {
    let _watch = watch();
    for p in [2, 3, 8] {
        let team = team(p);
        for turn in 1..p {
            succeeds(&team, |comm| {
                if comm.rank() == turn {
                    std::thread::sleep(Duration::from_millis(20));
                    comm.send_tagged(&[turn], 0, 0);
                } else if comm.rank() == 0 {
                    assert_eq!(comm.recv_vec::<usize>(Source::Any, 0).0, [turn]);
                }
            });
        }
    }
}

/// More than a queue keeps: the sender then waits, and nothing is lost.
#[test]
fn what_is_unreceived_has_a_bound() {
    let _watch = watch();
    const N: usize = 6000; // times 16 KiB: 94 MiB, of which 64 are kept
    let sent = AtomicUsize::new(0);
    succeeds(&team(2), |comm| {
        if comm.rank() == 0 {
            for i in 0..N {
                comm.send_tagged(&[i as u64; 2048], 1, 0);
                sent.fetch_add(1, Relaxed);
            }
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
        until(|| sent.load(Relaxed) >= 3000);
        std::thread::sleep(Duration::from_millis(300));
        assert!(sent.load(Relaxed) < 4200, "{} are kept", sent.load(Relaxed));
        for i in 0..N {
            let mut x = [0; 2048];
            comm.recv_tagged(&mut x, 0, 0);
            assert_eq!((x[0], x[2047]), (i as u64, i as u64));
        }
    });
}

// ---- Disagreements ----

#[test]
fn a_message_that_is_too_long_names_both_ends() {
    let _watch = watch();
    let team = team(2);
    for (n, late) in [(5, 0), (5, 1), (LONG, 0), (LONG, 1)] {
        let error = told(
            &team,
            &["truncation: the message has", "the buffer has room for 4", "tag 3", "tagged.rs"],
            |comm| {
                if comm.rank() == late {
                    std::thread::sleep(Duration::from_millis(5));
                }
                match comm.rank() {
                    0 => comm.send_tagged(&vec![1u64; n], 1, 3),
                    _ => ignore(comm.recv_tagged(&mut [0u64; 4], 0, Tag::Any)),
                }
                comm.barrier();
            },
        );
        let Error::Mismatch { here, there: Some(there), .. } = &error else {
            panic!("{error}");
        };
        let calls = [&here.call, &there.call];
        assert!(calls.iter().any(|it| **it == format!("send_tagged of {n} u64, to rank 1, tag 3")));
        assert!(calls.iter().any(|it| **it == "recv_tagged of 4 u64, from rank 0, any tag"));
    }
}

#[test]
fn types_are_compared() {
    let _watch = watch();
    let team = team(2);
    told(&team, &["elements of type u64", "elements of type i64"], |comm| match comm.rank() {
        0 => comm.send_tagged(&[1u64], 1, 0),
        _ => ignore(comm.recv_tagged(&mut [0i64], 0, 0)),
    });
    told(&team, &["elements of type u8", "an owned alloc::vec::Vec<u8>"], |comm| {
        match comm.rank() {
            0 => comm.send_owned(vec![1u8], 1, 0),
            _ => ignore(comm.recv_vec::<u8>(0, 0)),
        }
    });
    told(&team, &["an owned u8", "elements of type u8"], |comm| match comm.rank() {
        0 => comm.send_tagged(&[1u8], 1, 0),
        _ => ignore(comm.recv_owned::<u8>(Source::Any, 0)),
    });
    told(&team, &["rank 2 is no rank of a communicator of 2"], |comm| {
        comm.send_tagged(&[1], 2, 0);
    });
}

#[test]
fn tagged_and_plain_messages_do_not_meet() {
    let _watch = watch();
    let team = team(2);
    told(&team, &["recv of 1", "send_tagged of 1", "returned"], |comm| match comm.rank() {
        0 => comm.send_tagged(&[1], 1, 0),
        _ => comm.recv(&mut [0], 0),
    });
    told(&team, &["recv of", "send_tagged of", "in a circle"], |comm| match comm.rank() {
        0 => comm.send_tagged(&[1u64; LONG], 1, 0),
        _ => comm.recv(&mut [0u64; LONG], 0),
    });
    told(&team, &["recv_tagged of", "last in send of", "tag 8"], |comm| match comm.rank() {
        0 => comm.send(&[1], 1),
        _ => {
            comm.send_tagged(&[1], 1, 8);
            comm.recv_tagged(&mut [0], 1, 8);
        }
    });
}

#[test]
fn messages_that_nobody_receives_are_told() {
    let _watch = watch();
    let team = team(3);
    let error = told(&team, &["rank 1 sent 3 message(s) to rank 2", "tag 6"], |comm| {
        if comm.rank() == 1 {
            (4..7).for_each(|tag| comm.send_tagged(&[0; 10], 2, tag));
        }
    });
    assert!(matches!(error, Error::Unreceived { rank: 1, peer: 2, messages: 3, .. }));
    // Named is the message, not a later call or a message to another rank.
    told(&team, &["rank 1 sent 1 message(s) to rank 2", "the last in send_owned"], |comm| {
        match comm.rank() {
            0 => comm.recv(&mut [0u8], 1),
            1 => {
                comm.send_owned(7u8, 2, 9);
                comm.send(&[1u8], 0);
            }
            _ => {}
        }
        comm.barrier();
    });
}

/// From here on short messages between two ranks take the ring, which the first one asks for.
fn warm_up(comm: &mut Comm) {
    let peer = 1 - comm.rank();
    for _ in 0..2 {
        comm.send_tagged(&[1u8], peer, 0);
        comm.recv_tagged(&mut [0u8], peer, 0);
    }
    comm.barrier();
}

#[test]
fn short_messages_that_nobody_receives_are_told_and_gone() {
    let _watch = watch();
    let team = team(2);
    for unreceived in [1, 5, 20] {
        let words = format!("rank 0 sent {unreceived} message(s) to rank 1");
        told(&team, &[&words, "tag 6"], |comm| {
            warm_up(comm);
            if comm.rank() == 0 {
                (0..=unreceived).for_each(|it| comm.send_tagged(&[it], 1, 6));
            } else {
                let mut first = [9];
                comm.recv_tagged(&mut first, 0, 6);
                assert_eq!(first, [0]);
            }
        });
        // Nothing of it is left.
        let found = team.run(|comm| comm.try_probe(Source::Any, Tag::Any).is_some()).unwrap();
        assert_eq!(found, [false; 2]);
    }
}

#[test]
fn messages_of_all_lengths_keep_their_order() {
    let _watch = watch();
    // In the slot, in its second line, in its body, kept, lent.
    let lengths = [1, 8, 9, 64, 65, 1024, 1025, 16 << 10, (16 << 10) + 1, 0];
    let length = |it: usize| lengths[(it * 7 + it / 10) % 10];
    succeeds(&team(2), |comm| {
        warm_up(comm);
        for it in 0..400 {
            if comm.rank() == 0 {
                comm.send_tagged(&vec![it as u8; length(it)], 1, it as u32 % 3);
                continue;
            }
            // Now and then the sender is ahead, now and then it is awaited.
            if it % 50 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let mut data = vec![0; 1 << 15];
            let status = comm.recv_tagged(&mut data, 0, Tag::Any);
            assert_eq!((status.len, status.tag), (length(it), it as u32 % 3));
            assert!(data[..status.len].iter().all(|&x| x == it as u8));
        }
    });
}

#[test]
fn a_short_message_that_does_not_fit_a_started_receive_is_told_by_its_rank() {
    let _watch = watch();
    let team = team(2);
    let wanted = ["truncation", "started recv_tagged of 1 u8, from rank 0, tag 4"];
    for started_first in [true, false] {
        let error = told(&team, &wanted, |comm| {
            warm_up(comm);
            if comm.rank() == 0 {
                if started_first {
                    comm.barrier();
                }
                comm.send_tagged(&[1u8, 2], 1, 4);
                comm.send_tagged(&[1u8], 1, 5);
            } else {
                let mut x = [[0u8]; 2];
                let [a, b] = &mut x;
                comm.requests(|scope| {
                    let first = scope.start(call::recv_tagged(a, 0, 4));
                    if started_first {
                        scope.comm().barrier();
                    }
                    let second = scope.start(call::recv_tagged(b, 0, 5));
                    scope.wait(second);
                    scope.wait(first);
                });
            }
        });
        let Error::Mismatch { there: Some(there), .. } = &error else { panic!("{error}") };
        assert_eq!(there.call, "send_tagged of 2 u8, to rank 1, tag 4");
    }
}
