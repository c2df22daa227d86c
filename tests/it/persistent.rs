//! Started calls of blocks of different lengths, and calls that are set up once.

use crate::common::{OneCall, again_and_again, all_at_once, failure, team, value, watch};
use phalanx::{Comm, Error, Source, call, op};

/// Elements of each rank: none of some, and on the third one many.
fn counts(p: usize, n: usize) -> Vec<usize> {
    (0..p).map(|r| if r == 2 { 40 * n } else { (r + 1) % 3 * n }).collect()
}

#[test]
fn every_varied_call_gives_its_result() {
    let watch = watch();
    for p in 1..=6 {
        watch.case(format!("p = {p}"));
        let blocks = |comm: &mut Comm, n: usize| {
            let calls = OneCall::all_varied(comm, &counts(p, n), &[n % p, p - 1]);
            all_at_once(comm, &calls, n as u64, op::Sum, &value(0));
        };
        team(p).run(|comm| [0, 1, 2, 7, 300].map(|n| blocks(comm, n))).unwrap();
    }
}

#[test]
fn every_persistent_call_gives_its_result_each_time() {
    let watch = watch();
    for p in 1..=5 {
        watch.case(format!("p = {p}"));
        let again = |comm: &mut Comm, n: usize| {
            let mut calls = OneCall::all(comm, n, &[n % p], &[1]);
            calls.extend(OneCall::all_varied(comm, &counts(p, n), &[n % p]));
            again_and_again(comm, &calls, op::Sum, &|time, rank, i| value(time)(rank, i));
        };
        team(p).run(|comm| [0, 1, 3, 200].map(|n| again(comm, n))).unwrap();
    }
}

/// One rank sets its calls up, the others start anew: all the same to the others.
#[test]
fn a_persistent_call_meets_one_that_is_not() {
    let _watch = watch();
    let out = team(3).run(|comm| {
        let (mut few, mut many) = ([comm.rank() as u64; 2], [comm.rank() as u64; 900]);
        comm.requests(|scope| {
            if scope.comm().rank() == 1 {
                let few = scope.set_up(call::all_reduce(&mut few, op::Sum));
                let many = scope.set_up(call::all_reduce(&mut many, op::Max));
                let (few, many) = (scope.start(few), scope.start(many));
                return (scope.wait(few).buf()[1], scope.wait(many).buf()[899]);
            }
            let few = scope.start(call::all_reduce(&mut few, op::Sum));
            let many = scope.start(call::all_reduce(&mut many, op::Max));
            (scope.wait(few)[1], scope.wait(many)[899])
        })
    });
    assert_eq!(out.unwrap(), [(3, 2); 3]);
}

#[test]
fn barriers_and_messages_are_started_again_and_again() {
    let _watch = watch();
    for (p, len) in [(1, 3), (2, 3), (4, 3), (3, 5000)] {
        let sums = team(p).run(|comm| {
            let (rank, p) = (comm.rank() as u64, comm.size());
            let (to, from) = ((comm.rank() + 1) % p, (comm.rank() + p - 1) % p);
            let (mut x, mut y, mut sum) = (vec![0; len], vec![0; len + 2], 0);
            comm.requests(|scope| {
                let mut together = scope.set_up(call::barrier());
                let mut sent = scope.set_up(call::send_tagged(&mut x, to, 3));
                let mut got = scope.set_up(call::recv_tagged(&mut y, Source::Any, 3));
                assert!(got.status().is_none() && sent.status().is_none());
                for step in 0..50 {
                    sent.buf_mut().fill(100 * step + rank);
                    let (a, b) = (scope.start(got), scope.start(sent));
                    sent = scope.wait(b);
                    got = scope.wait(a);
                    let status = got.status().unwrap();
                    assert_eq!((status.source, status.tag, status.len), (from, 3, len));
                    assert_eq!(got.buf()[..len], vec![100 * step + from as u64; len]);
                    sum += got.buf()[len - 1];
                    let all = scope.start(together);
                    together = scope.wait(all);
                }
                assert!(sent.status().is_none());
            });
            sum
        });
        let wanted = |rank: usize| 50 * ((rank + p - 1) % p) as u64 + 100 * 49 * 25;
        assert_eq!(sums.unwrap(), (0..p).map(wanted).collect::<Vec<_>>());
    }
}

/// Set up and never started, or dropped while it is under way.
#[test]
fn what_was_set_up_may_be_dropped() {
    let _watch = watch();
    for p in [1, 3] {
        let run = team(p).run(|comm| {
            let (mut x, mut y, mut z) = ([1u64; 500], [1u64; 2], [7u64; 9]);
            comm.requests(|scope| {
                drop(scope.set_up(call::recv_tagged(&mut z, Source::Any, 0)));
                let long = scope.set_up(call::all_reduce(&mut x, op::Sum));
                drop(scope.start(long));
                let brief = scope.set_up(call::all_reduce(&mut y, op::Sum));
                std::mem::forget(scope.start(brief));
            });
            (x[499], y[1], z[8])
        });
        assert_eq!(run.unwrap(), vec![(p as u64, p as u64, 7); p]);
    }
}

#[test]
fn counts_that_differ_end_the_run() {
    let _watch = watch();
    // (The words of each rank about three blocks, of so many elements on the second rank.)
    for long in [1, 100] {
        let error = failure(team(3).run(|comm| {
            let rank = comm.rank();
            let counts = if rank == 2 { [long, long, long] } else { [2 * long, 0, long] };
            let (mine, mut all) = (vec![0u8; counts[rank]], vec![0; 3 * long]);
            comm.requests(|scope| {
                let request = scope.start(call::all_gather_varied_into(&mine, &mut all, &counts));
                scope.wait(request);
            });
        }));
        let Error::Mismatch { what, .. } = &error else { panic!("{error}") };
        assert!(what.contains("counts"), "{what}");
    }
    // Rank 0 sends rank 1 another number of elements than that expects.
    let error = failure(team(2).run(|comm| {
        let (send, recv) = match comm.rank() {
            0 => ([1, 2], [1, 4]),
            _ => ([4, 1], [3, 1]),
        };
        let x = vec![0u8; send.iter().sum()];
        let mut y = vec![0; recv.iter().sum()];
        comm.requests(|scope| {
            let request = scope.start(call::all_to_all_varied_into(&x, &send, &mut y, &recv));
            scope.wait(request);
        });
    }));
    let Error::Mismatch { rank: 1, peer: 0, what, there: Some(_), .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(what, "message length: expected 3, got 2");
}

#[test]
fn wrong_counts_are_told() {
    let _watch = watch();
    for (words, counts) in
        [("2 counts for 3 ranks", vec![1, 1]), ("says 2", vec![2; 3]), ("has 4", vec![1; 3])]
    {
        let error = failure(team(3).run(|comm| {
            let (mine, mut all) = ([0u8; 1], [0; 4]);
            comm.requests(|scope| {
                let blocks = (&mine, &mut all);
                let request =
                    scope.start(call::all_gather_varied_into(blocks.0, blocks.1, &counts));
                scope.wait(request);
            });
        }));
        assert!(error.to_string().contains(words), "{error}");
    }
}
