//! Sends and receives that are started, and waited for later.

use super::{LONG, told};
use crate::common::{Canary, Dice, bomb_if, fails, look_alive, seed, succeeds, team, watch};
use phalanx::{Error, Source, Status, Tag, call};
use std::time::Duration;

#[test]
fn all_send_to_all_before_anybody_receives() {
    let _watch = watch();
    for (p, n) in [(1, 3), (2, LONG), (4, 3), (5, LONG)] {
        succeeds(&team(p), |comm| {
            let me = comm.rank();
            let mine: Vec<Vec<usize>> = (0..p).map(|to| vec![100 * me + to; n]).collect();
            let mut theirs = vec![vec![0; n + 1]; p];
            comm.requests(|scope| {
                let sent: Vec<_> = mine
                    .iter()
                    .enumerate()
                    .map(|(to, x)| scope.start(call::send_tagged(x, to, 3)))
                    .collect();
                let from = (0..p).rev().zip(theirs.iter_mut().rev());
                let got: Vec<_> =
                    from.map(|(from, x)| scope.start(call::recv_tagged(x, from, 3))).collect();
                for (from, request) in (0..p).rev().zip(got) {
                    let (x, status) = scope.wait(request);
                    assert_eq!(status, Status { source: from, tag: 3, len: n });
                    assert_eq!(x[..n], vec![100 * from + me; n]);
                }
                sent.into_iter().for_each(|request| scope.wait(request));
            });
        });
    }
}

#[test]
fn started_receives_get_messages_in_their_order() {
    let _watch = watch();
    team(3)
        .run(|comm| {
            if comm.rank() != 0 {
                comm.barrier();
                comm.send_tagged(&[comm.rank() as u32; LONG], 0, 1);
                comm.send_tagged(&[7 + comm.rank() as u32; 2], 0, 2);
                return;
            }
            let (mut a, mut b, mut c) = ([0u32; LONG], [0u32; LONG], [0u32; 2]);
            comm.requests(|scope| {
                let any = scope.start(call::recv_tagged(&mut a, Source::Any, 1));
                let of_two = scope.start(call::recv_tagged(&mut c, 2, Tag::Any));
                let late = scope.start(call::recv_tagged(&mut b, Source::Any, Tag::Any));
                scope.comm().barrier();
                let mut late = late;
                while !scope.test(&mut late) {}
                let statuses = [scope.wait(late).1, scope.wait(any).1];
                let (c, of_two) = scope.wait(of_two);
                // The long one from rank 2 goes to `any`, or, if rank 1's was before it, to
                // the receive that has no room for it: then the run ends.
                assert_eq!((c.len(), of_two.source), (2, 2));
                assert!(statuses.iter().any(|it| it.source == 1), "{statuses:?}");
                let (rest, _) = scope.comm().recv_vec::<u32>(1, 2);
                assert_eq!(rest, [8, 8]);
            });
        })
        .map(drop)
        .or_else(|error| match error {
            Error::Mismatch { .. } if error.to_string().contains("truncation") => Ok(()),
            other => Err(other),
        })
        .unwrap();
}

#[test]
fn a_scope_completes_what_was_not_waited_for() {
    let _watch = watch();
    succeeds(&team(2), |comm| {
        let (me, mut got) = (comm.rank(), [0; LONG]);
        let mine = [me + 5; LONG];
        comm.requests(|scope| {
            drop(scope.start(call::send_tagged(&mine, 1 - me, 0)));
            _ = scope.start(call::recv_tagged(&mut got, 1 - me, 0));
        });
        assert_eq!(got, [6 - me; LONG]);
    });
}

#[test]
fn requests_that_cannot_be_completed_are_told() {
    let _watch = watch();
    let team = team(2);
    told(&team, &["in a circle", "started send_tagged of 4096 u64"], |comm| {
        let (x, peer) = ([0u64; LONG], 1 - comm.rank());
        comm.requests(|scope| {
            let sent = scope.start(call::send_tagged(&x, peer, 0));
            scope.wait(sent);
        });
    });
    told(&team, &["in a circle: rank", "started recv_tagged"], |comm| {
        let (me, mut x) = (comm.rank(), [0u8]);
        comm.requests(|scope| {
            let got = scope.start(call::recv_tagged(&mut x, me, 4));
            scope.wait(got);
        });
    });
    told(&team, &["truncation", "started recv_tagged of 1"], |comm| {
        let (me, mut x) = (comm.rank(), [0u8]);
        comm.requests(|scope| {
            let got = scope.start(call::recv_tagged(&mut x, 1 - me, 4));
            scope.comm().send_tagged(&[1u8, 2], 1 - me, 4);
            scope.wait(got);
        });
    });
    told(&team, &["returned while rank 0 waited"], |comm| {
        let mut x = [0u8];
        if comm.rank() == 0 {
            comm.requests(|scope| {
                let got = scope.start(call::recv_tagged(&mut x, Source::Any, Tag::Any));
                scope.wait(got);
            });
        }
    });
}

/// A rank fails between its requests and their completion, while its peer may be copying.
#[test]
fn nothing_is_freed_while_a_request_has_it() {
    let _watch = watch();
    let team = team(3);
    for turn in 0..120u64 {
        let n = LONG * (1 + turn as usize % 7);
        let error = fails(&team, |comm| {
            let me = comm.rank();
            let (mine, mut theirs) = (Canary(vec![me as u64; n]), Canary(vec![9; n]));
            let (to, from) = ((me + 1) % 3, (me + 2) % 3);
            comm.requests(|scope| {
                let got = match turn % 2 {
                    0 => scope.start(call::recv_tagged(&mut theirs.0, Source::Any, 0)),
                    _ => scope.start(call::recv_tagged(&mut theirs.0, from, Tag::Any)),
                };
                std::thread::sleep(Duration::from_micros((turn * 31 + me as u64 * 17) % 90));
                let sent = scope.start(call::send_tagged(&mine.0, to, 0));
                bomb_if(me == turn as usize % 3);
                let (got, _) = scope.wait(got);
                look_alive(got);
                scope.wait(sent);
                scope.comm().barrier();
            });
        });
        assert!(matches!(error, Error::Panicked { .. }), "{error}");
    }
}

/// Receives from one rank in an order of their own: started ones, short and long, of which the
/// short ones are early, with calls that wait and probes between them. Of each tag every receive
/// gets the message that is next.
#[test]
fn receives_that_are_early_keep_their_order() {
    let _watch = watch();
    let team = team(2);
    succeeds(&team, |comm| {
        let peer = 1 - comm.rank();
        for turn in 0..600u64 {
            // The same on both ranks.
            let mut dice = Dice(seed(29) ^ turn << 32);
            let sizes = [0, 1, 2, 8, 9, 100, 128, 129, LONG];
            let mut sent = Vec::new();
            for i in 0..1 + dice.below(12) {
                let (tag, len) = (dice.below(3) as u32, dice.of(&sizes));
                sent.push((tag, vec![turn << 8 | i as u64; len]));
            }
            if comm.rank() == 0 {
                comm.requests(|scope| {
                    for (tag, data) in &sent {
                        let request = scope.start(call::send_tagged(data, peer, *tag));
                        drop(request);
                    }
                });
                continue;
            }
            // The tags in another order, and for each the message that comes.
            let mut order: Vec<u32> = sent.iter().map(|it| it.0).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, dice.below(i + 1));
            }
            let mut left: Vec<_> = sent.iter().map(Some).collect();
            let mut next = |tag| {
                let at = left.iter().position(|it| it.is_some_and(|it| it.0 == tag)).unwrap();
                &left[at].take().unwrap().1
            };
            let wanted: Vec<&Vec<u64>> = order.iter().map(|&tag| next(tag)).collect();
            let mut rooms: Vec<_> = wanted.iter().map(|it| vec![0; it.len()]).collect();
            comm.requests(|scope| {
                let mut open = Vec::new();
                for ((&tag, &wanted), room) in order.iter().zip(&wanted).zip(&mut rooms) {
                    match dice.below(8) {
                        0 => {
                            let came = scope.comm().probe(peer, tag);
                            assert_eq!(came.len, wanted.len());
                            scope.comm().recv_tagged(room, peer, tag);
                            assert_eq!(room, wanted);
                        }
                        1 => {
                            scope.comm().recv_tagged(room, peer, tag);
                            assert_eq!(room, wanted);
                        }
                        2 => {
                            let set_up = scope.set_up(call::recv_tagged(room, peer, tag));
                            let request = scope.start(set_up);
                            assert_eq!(scope.wait(request).buf(), wanted);
                        }
                        3 => {
                            let mut request = scope.start(call::recv_tagged(room, peer, tag));
                            while !scope.test(&mut request) {}
                            assert_eq!(scope.wait(request).0, wanted);
                        }
                        _ => open.push((scope.start(call::recv_tagged(room, peer, tag)), wanted)),
                    }
                    if dice.below(4) == 0 && !open.is_empty() {
                        let (request, wanted) = open.swap_remove(dice.below(open.len()));
                        assert_eq!(scope.wait(request).0, wanted);
                    }
                }
                while !open.is_empty() {
                    let (request, wanted) = open.swap_remove(dice.below(open.len()));
                    let (got, status) = scope.wait(request);
                    assert_eq!((&*got, status.len), (&wanted[..], wanted.len()));
                }
            });
        }
    });
}
