//! Started calls of blocks of different lengths, and calls that are set up once.

use crate::common::{failure, team, watched, watched_cases};
use phalanx::{Comm, Error, Persistent, Requests, Source, call, op};

/// Elements of each rank: none of some, and on the third one many.
fn counts(p: usize, n: usize) -> Vec<usize> {
    (0..p).map(|r| if r == 2 { 40 * n } else { (r + 1) % 3 * n }).collect()
}

fn data(rank: usize, len: usize, salt: usize) -> Vec<u64> {
    (0..len).map(|i| (rank * 1009 + i * 31 + salt * 7) as u64 % 997).collect()
}

/// The elements that rank `from` sends to rank `to` of an all-to-all.
fn pair(from: usize, to: usize, n: usize) -> usize {
    (3 * from + to) % 5 * n
}

const CALLS: usize = 17;

/// The arguments of every call on one rank, and its two buffers.
struct Setting {
    root: usize,
    counts: Vec<usize>,
    send: Vec<usize>,
    recv: Vec<usize>,
    input: Vec<Vec<u64>>,
    output: Vec<Vec<u64>>,
}

fn setting(rank: usize, p: usize, n: usize, salt: usize) -> Setting {
    let counts = counts(p, n);
    let send: Vec<usize> = (0..p).map(|to| pair(rank, to, n)).collect();
    let recv: Vec<usize> = (0..p).map(|from| pair(from, rank, n)).collect();
    let (own, total) = (counts[rank], counts.iter().sum::<usize>());
    // Input and output of each call; in place there is no input.
    let lens = |k: usize| match k {
        0 | 2 | 3 => (own, total),
        1 => (total, own),
        4 => (send.iter().sum(), recv.iter().sum()),
        5 => (total, own),
        6 => (n, n * p),
        7 => (n * p, n * p),
        8 => (n * p, n),
        9 => (n, n * p),
        10 => (n * p, n),
        _ => (0, n),
    };
    let input = (0..CALLS).map(|k| data(rank, lens(k).0, k + salt)).collect();
    let output = (0..CALLS).map(|k| data(rank, lens(k).1, k + salt + 50)).collect();
    Setting { root: n % p, counts, send, recv, input, output }
}

/// Call `k`, at once.
fn blocking(comm: &mut Comm, k: usize, it: &mut Setting) {
    let Setting { root, counts, send, recv, input, output } = it;
    let (x, y, root) = (&input[k][..], &mut output[k][..], *root);
    match k {
        0 => comm.all_gather_varied_into(x, y, counts),
        1 => comm.scatter_varied_into(x, y, counts, root),
        2 | 3 => comm.gather_varied_into(x, y, counts, root),
        4 => comm.all_to_all_varied_into(x, send, y, recv),
        5 => comm.reduce_scatter_varied_into(x, y, counts, op::Sum),
        6 => comm.all_gather_into(x, y),
        7 => comm.all_to_all_into(x, y),
        8 => comm.reduce_scatter_into(x, y, op::Sum),
        9 => comm.gather_into(x, y, root),
        10 => comm.scatter_into(x, y, root),
        11 => comm.scan(y, op::Sum),
        12 => comm.exclusive_scan(y, op::Sum),
        13 => comm.broadcast(y, root),
        14 => comm.reduce(y, op::Sum, root),
        15 => comm.all_reduce(y, op::Sum),
        _ => comm.shift(y, 1),
    }
}

/// Call `k`, set up.
fn set_up<'s, 'e>(
    scope: &mut Requests<'s, 'e>,
    k: usize,
    (x, y): (&'e mut [u64], &'e mut [u64]),
    (root, counts): (usize, &'e [usize]),
    (send, recv): (&'e [usize], &'e [usize]),
) -> Persistent<'s, 'e, u64> {
    match k {
        0 => scope.set_up(call::all_gather_varied_into(x, y, counts)),
        1 => scope.set_up(call::scatter_varied_into(x, y, counts, root)),
        2 | 3 => scope.set_up(call::gather_varied_into(x, y, counts, root)),
        4 => scope.set_up(call::all_to_all_varied_into(x, send, y, recv)),
        5 => scope.set_up(call::reduce_scatter_varied_into(x, y, counts, op::Sum)),
        6 => scope.set_up(call::all_gather_into(x, y)),
        7 => scope.set_up(call::all_to_all_into(x, y)),
        8 => scope.set_up(call::reduce_scatter_into(x, y, op::Sum)),
        9 => scope.set_up(call::gather_into(x, y, root)),
        10 => scope.set_up(call::scatter_into(x, y, root)),
        11 => scope.set_up(call::scan(y, op::Sum)),
        12 => scope.set_up(call::exclusive_scan(y, op::Sum)),
        13 => scope.set_up(call::broadcast(y, root)),
        14 => scope.set_up(call::reduce(y, op::Sum, root)),
        15 => scope.set_up(call::all_reduce(y, op::Sum)),
        _ => scope.set_up(call::shift(y, 1)),
    }
}

#[test]
fn every_varied_call_gives_what_the_blocking_one_gives() {
    watched_cases(|watch| {
        for p in 1..=6 {
            watch.case(format!("p = {p}"));
            let blocks = |comm: &mut Comm, n: usize| {
                let (rank, p) = (comm.rank(), comm.size());
                let (mut wanted, mut it) = (setting(rank, p, n, 0), setting(rank, p, n, 0));
                (0..6).for_each(|k| blocking(comm, k, &mut wanted));
                let Setting { root, counts, send, recv, input, output } = &mut it;
                let (x, root) = (&*input, *root);
                let [a, b, c, d, e, f, ..] = &mut output[..] else { unreachable!() };
                comm.requests(|scope| {
                    let mut open = vec![
                        scope.start(call::all_gather_varied_into(&x[0], a, counts)),
                        scope.start(call::scatter_varied_into(&x[1], b, counts, root)),
                        scope.start(call::gather_varied_into(&x[2], c, counts, root)),
                        scope.start(call::gather_varied_into(&x[3], d, counts, root)),
                        scope.start(call::all_to_all_varied_into(&x[4], send, e, recv)),
                        scope.start(call::reduce_scatter_varied_into(&x[5], f, counts, op::Sum)),
                    ];
                    // Each rank in an order of its own.
                    while !open.is_empty() {
                        let request = open.swap_remove(rank % open.len());
                        scope.wait(request);
                    }
                });
                assert_eq!(it.output, wanted.output, "n = {n}");
            };
            team(p).run(|comm| [0, 1, 2, 7, 300].map(|n| blocks(comm, n))).unwrap();
        }
    });
}

#[test]
fn every_persistent_call_gives_what_the_blocking_one_gives_each_time() {
    watched_cases(|watch| {
        for p in 1..=5 {
            watch.case(format!("p = {p}"));
            let again = |comm: &mut Comm, n: usize| {
                let (rank, p) = (comm.rank(), comm.size());
                let mut it = setting(rank, p, n, 0);
                let Setting { root, counts, send, recv, input, output } = &mut it;
                let args = (*root, &counts[..]);
                let pairs = (&send[..], &recv[..]);
                let buffers = input.iter_mut().zip(output.iter_mut());
                comm.requests(|scope| {
                    let mut calls: Vec<_> = buffers
                        .enumerate()
                        .map(|(k, (x, y))| set_up(scope, k, (x, y), args, pairs))
                        .collect();
                    for salt in 0..4 {
                        let mut wanted = setting(rank, p, n, salt);
                        for (k, call) in calls.iter_mut().enumerate() {
                            if k < 11 {
                                call.input_mut().copy_from_slice(&wanted.input[k]);
                            }
                            call.buf_mut().copy_from_slice(&wanted.output[k]);
                        }
                        let open: Vec<_> = calls.into_iter().map(|it| scope.start(it)).collect();
                        (0..CALLS).for_each(|k| blocking(scope.comm(), k, &mut wanted));
                        calls = scope.wait_all(open);
                        for (k, call) in calls.iter().enumerate() {
                            assert_eq!(call.buf(), wanted.output[k], "call {k}, n = {n}");
                            assert!(k >= 11 || call.input() == wanted.input[k]);
                        }
                    }
                });
            };
            team(p).run(|comm| [0, 1, 3, 200].map(|n| again(comm, n))).unwrap();
        }
    });
}

/// One rank sets its calls up, the others start anew: all the same to the others.
#[test]
fn a_persistent_call_meets_one_that_is_not() {
    watched(|| {
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
    });
}

#[test]
fn barriers_and_messages_are_started_again_and_again() {
    watched(|| {
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
    });
}

/// Set up and never started, or dropped while it is under way.
#[test]
fn what_was_set_up_may_be_dropped() {
    watched(|| {
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
    });
}

#[test]
fn counts_that_differ_end_the_run() {
    watched(|| {
        // (The words of each rank about three blocks, of so many elements on the second rank.)
        for long in [1, 100] {
            let error = failure(team(3).run(|comm| {
                let rank = comm.rank();
                let counts = if rank == 2 { [long, long, long] } else { [2 * long, 0, long] };
                let (mine, mut all) = (vec![0u8; counts[rank]], vec![0; 3 * long]);
                comm.requests(|scope| {
                    let request =
                        scope.start(call::all_gather_varied_into(&mine, &mut all, &counts));
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
    });
}

#[test]
fn wrong_counts_are_told() {
    watched(|| {
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
    });
}
