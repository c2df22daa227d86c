//! Runs that end well: gates, boards, messages, trees, splits.

use crate::harness::Fault::{Both, Twin};
use crate::harness::model;
use crate::{many, settled};
use checker::Memory;
use phalanx::dist::{Block, Halo};
use phalanx::schedule::Algorithm;
use phalanx::{Comm, Order, call, op};

fn sums(comm: &mut Comm) {
    let p = comm.size() as u64;
    for round in 0..3 {
        let mut x = Memory::new(vec![comm.rank() as u64 + round; 3]);
        comm.all_reduce(&mut x, op::Sum);
        assert_eq!(*x, [p * (p - 1) / 2 + p * round; 3]);
        comm.barrier();
    }
}

#[test]
fn gates_of_three() {
    model("gates: small all-reduce and barrier, three times", 3, 1500)
        .catches(&[Both("Gate"), Twin("gate: one slot")])
        .threads(sums);
}

#[test]
fn gates_of_eight() {
    model("gates: more ranks than cores, in eager buffers, too", 8, 200)
        .catches(&[Both("Gate"), Twin("gate: one slot")])
        .check(|| {
            checker::crowd();
            settled(8, |comm| {
                comm.barrier();
                let mut x = Memory::new(vec![1u64; 100]);
                comm.all_reduce(&mut x, op::Sum);
                assert_eq!(*x, [8; 100]);
            });
        });
}

/// The words that one rank wrote before a barrier another reads behind it.
#[test]
fn a_barrier_orders() {
    model("messages: dissemination barrier, memory behind it", 5, 600)
        .catches(&[Both("Word")])
        .check(|| {
            let memory: Vec<_> = (0..5).map(|_| many(Memory::new(vec![0u64]))).collect();
            let memory = std::sync::Arc::new(memory);
            settled(5, move |comm| {
                let p = comm.size();
                memory[comm.rank()].write(|m| m[0] = 7);
                comm.barrier();
                assert_eq!(memory[(comm.rank() + 2) % p].read(|m| m[0]), 7);
                comm.barrier();
                memory[(comm.rank() + 1) % p].write(|m| m[0] = 8);
            });
        });
}

#[test]
fn messages_and_rooms() {
    model("messages: six in a row, no room, then by address", 3, 1000)
        .catches(&[
            Both("Word"),
            Both("Ack"),
            Twin("message: posted without room"),
            Twin("message: memory is not settled"),
        ])
        .threads(|comm| {
            let p = comm.size();
            let (to, from) = ((comm.rank() + 1) % p, (comm.rank() + p - 1) % p);
            for k in 0..6 {
                if comm.rank() == 0 {
                    comm.send(&Memory::new(vec![k; 2]), to);
                } else if comm.rank() == 1 {
                    let mut x = Memory::new(vec![0; 2]);
                    comm.recv(&mut x, from);
                    assert_eq!(*x, [k; 2]);
                }
            }
            let send = Memory::new(vec![comm.rank() as u64; 200]);
            let mut recv = Memory::new(vec![9; 200]);
            comm.exchange(&send, to, &mut recv, from);
            assert_eq!(recv[199], from as u64);
        });
}

#[test]
fn boards_with_several_writers() {
    model("boards: all-to-all and all-reduce, everybody reads and writes", 4, 250)
        .catches(&[Both("Entered"), Both("Finished"), Twin("board: is not closed")])
        .threads(|comm| {
            let (p, me) = (comm.size(), comm.rank() as u64);
            let n = 300;
            let send = Memory::new((0..p * n).map(|i| me * 1000 + (i / n) as u64).collect());
            let mut recv = Memory::new(vec![0; p * n]);
            comm.with(Algorithm::TX_FUSED).all_to_all_into(&send, &mut recv);
            drop(send);
            // Looked at once: each look at a buffer notes all of it.
            let got = recv.to_vec();
            assert!((0..p * n).all(|i| got[i] == (i / n) as u64 * 1000 + me));
            drop(recv);
            let mut x = Memory::new(vec![me + 1; n]);
            comm.with(Algorithm::AR_FUSED).all_reduce(&mut x, op::Sum);
            assert_eq!(*x, [10; 300]);
        });
}

#[test]
fn views_of_three() {
    model("views: with_peers, with_root, counts of everybody", 3, 800)
        .catches(&[Both("Entered"), Both("Finished"), Twin("board: is not closed")])
        .threads(|comm| {
            let (p, me) = (comm.size(), comm.rank());
            let mine = Memory::new(vec![me as u64; 4]);
            let sum = comm.with_peers(&mine, |all| all.iter().map(|x| x[3]).sum::<u64>());
            assert_eq!(sum, 3);
            drop(mine);
            let data = Memory::new(vec![me as u64 + 5; 4]);
            assert_eq!(comm.with_root(&data, 1, |x| x[0]), 6);
            drop(data);
            let counts = [150, 0, 301];
            let mine = Memory::new(vec![me as u64; counts[me]]);
            let mut all = Memory::new(vec![9; 451]);
            comm.all_gather_varied_into(&mine, &mut all, &counts);
            drop(mine);
            assert_eq!((all[149], all[150], p), (0, 2, 3));
        });
}

/// The blocks that each rank has for each. Rank 1 has more than is copied, the others a few. (Not
/// on a stack: a twin may look at the counts of a rank that has gone on.)
static BLOCKS: [[usize; 3]; 3] = [[0, 1, 2], [150, 151, 152], [0, 1, 2]];

#[test]
fn blocks_of_different_lengths() {
    model("blocks: an all-to-all of few bytes and of addresses", 3, 400)
        .catches(&[Both("Word"), Both("Ack"), Twin("message: memory is not settled")])
        .threads(|comm| {
            let (p, me) = (comm.size(), comm.rank());
            let to = &BLOCKS[me];
            let from: Vec<usize> = BLOCKS.iter().map(|of| of[me]).collect();
            let send = Memory::new(vec![me as u64; to.iter().sum()]);
            let mut recv = Memory::new(vec![9; from.iter().sum()]);
            comm.all_to_all_varied_into(&send, to, &mut recv, &from);
            drop(send);
            let got = recv.to_vec();
            assert!((0..p).all(|q| got.iter().filter(|x| **x == q as u64).count() == from[q]));
        });
}

#[test]
fn blocks_in_a_vector() {
    model("blocks: few bytes and addresses, collected into a vector", 3, 400)
        .catches(&[Both("Word"), Both("Ack")])
        .threads(|comm| {
            let me = comm.rank();
            let mine = Memory::new(vec![me as u64; BLOCKS[me][0]]);
            let (all, lens) = comm.all_gather_vec(&mine);
            drop(mine);
            assert_eq!((lens, all[149], all.len()), (vec![0, 150, 0], 1, 150));
        });
}

#[test]
fn neighborhoods() {
    model("neighbourhoods: unsymmetric, in place and by message, and back", 3, 400)
        .catches(&[Both("Word"), Both("Ack"), Twin("message: memory is not settled")])
        .threads(|comm| {
            let (me, n) = (comm.rank(), 150);
            // Rank 1 has all of rank 0's, rank 2 one of rank 1's, rank 0 nothing.
            let wanted: Vec<usize> = match me {
                0 => vec![],
                1 => (0..n).collect(),
                _ => vec![2 * n - 1],
            };
            let plan = comm.ghosts(&Block::new(3 * n, 3), &wanted);
            let mine = Memory::new(vec![me as u64; n]);
            let mut ghosts = Memory::new(vec![9; wanted.len()]);
            plan.gather(comm, &mine, &mut ghosts);
            drop(mine);
            assert!(ghosts.iter().all(|&g| g + 1 == me as u64));
            let mut sums = Memory::new(vec![0; n]);
            plan.scatter_add(comm, &ghosts, &mut sums);
            drop(ghosts);
            let right = [0, 1, 0][me];
            assert_eq!(sums[n - 1], right);
        });
}

#[test]
fn lists() {
    model("lists: all-to-all over a hypercube, uneven blocks over a tree", 4, 250)
        .catches(&[Both("Word"), Both("Ack"), Twin("message: memory is not settled")])
        .threads(|comm| {
            let (p, me) = (comm.size(), comm.rank() as u64);
            let n = 200;
            let send = Memory::new((0..p * n).map(|i| me * 1000 + (i / n) as u64).collect());
            let mut recv = Memory::new(vec![0; p * n]);
            comm.with(Algorithm::TX_HCUBE).all_to_all_into(&send, &mut recv);
            drop(send);
            // Looked at once: each look at a buffer notes all of it.
            let got = recv.to_vec();
            assert!((0..p * n).all(|i| got[i] == (i / n) as u64 * 1000 + me));
            drop(recv);
            let counts = [1, 300, 0, 250];
            let all = Memory::new((0..551u64).collect());
            let mut mine = Memory::new(vec![0; counts[comm.rank()]]);
            comm.scatter_varied_into(&all, &mut mine, &counts, 1);
            let begin: usize = counts[..comm.rank()].iter().sum();
            assert!(mine.iter().zip(begin as u64..).all(|(&x, i)| x == i));
        });
}

#[test]
fn halos() {
    model("halos: a 2 x 2 torus, two fields, with work meanwhile", 4, 200)
        .catches(&[Both("Word"), Both("Ack")])
        .threads(|comm| {
            let me = comm.rank() as u64;
            let halo = Halo::new(&[12, 12], 1).with_corners();
            let mut cart = comm.cart(&[2, 2], &[true, true]);
            let mut u = Memory::new(vec![me; halo.len()]);
            cart.exchange_halo(&mut u, &halo);
            assert_eq!(u[halo.index(&[-1, 0])], me ^ 2);
            assert_eq!(u[halo.index(&[12, 12])], me ^ 3);
            drop(u);
            let mut u = Memory::new(vec![me; halo.len()]);
            cart.exchange_halo_while(&mut u, &halo, |u| assert_eq!(u[halo.index(&[0, 0])], me));
            assert_eq!(u[halo.index(&[0, 12])], me ^ 1);
        });
}

#[test]
fn fixed_trees() {
    model("fixed trees: all-reduce and reduce in fixed order, parts of a sum", 3, 400)
        .catches(&[Both("Entered"), Both("Finished"), Both("Word"), Twin("board: is not closed")])
        .threads(|comm| {
            let me = comm.rank();
            {
                let mut fixed = comm.with_order(Order::Fixed);
                let mut x = Memory::new(vec![me as f64; 300]);
                fixed.all_reduce(&mut x, op::Sum);
                assert_eq!(x[299], 3.0);
                drop(x);
                let mut x = Memory::new(vec![me as f64; 300]);
                fixed.reduce(&mut x, op::Sum, 2);
                assert!(me != 2 || x[0] == 3.0);
            }
            let parts = Memory::new(vec![1.0; 5 + me]);
            let offset = [0, 5, 11][me];
            assert_eq!(comm.fixed_sum(&parts, offset), 18.0);
        });
}

#[test]
fn overlapped() {
    model("overlap: all-reduce and barrier with work meanwhile, broadcast in halves", 3, 600)
        .catches(&[Both("Word")])
        .threads(|comm| {
            let mut x = [comm.rank() as u64 + 1];
            comm.overlap(call::all_reduce(&mut x, op::Sum), || 7);
            assert_eq!(x, [6]);
            comm.overlap(call::barrier(), || ());
            let mut data = Memory::new(vec![comm.rank() as u64; 2000]);
            comm.broadcast(&mut data, 1);
            assert_eq!((data[0], data[1999]), (1, 1));
            drop(data);
            let mut x = Memory::new(vec![1u64; 40]);
            comm.with(Algorithm::AR_ANY).all_reduce(&mut x, op::Sum);
            assert_eq!(*x, [3; 40]);
        });
}

/// Three ranks, two groups; four, two groups of two, each with a group of its own.
#[test]
fn splits() {
    model("split: three ranks, two groups; a group splits again", 3, 600)
        .catches(&[Both("Entered"), Both("Gate")])
        .team(|team| {
            team.run(|comm| {
                let me = comm.rank();
                let mut child = comm.split(usize::from(me == 1), 10 - me);
                let mut x = [me as u64];
                child.all_reduce(&mut x, op::Sum);
                assert_eq!(x, [if me == 1 { 1 } else { 2 }]);
                assert_eq!(child.rank(), usize::from(me == 0));
                let mut again = child.split(0, child.rank());
                again.barrier();
                drop(child);
                comm.barrier();
                again.barrier();
            })
            .unwrap();
        });
}

/// Every sleep lasts until somebody wakes the sleeper.
fn asleep(cores: usize) {
    checker::cores(cores);
    checker::sleep(checker::Asleep::Untimed);
}

#[test]
fn asleep_on_one_core() {
    model("sleeping: gates, three ranks on a core, no nap ends by itself", 3, 5000)
        .catches(&[Twin("events: no look after the mark")])
        .check(|| {
            asleep(1);
            settled(3, sums);
        });
}

#[test]
fn asleep_on_two_cores() {
    model("sleeping: gates, three ranks on two cores, no nap ends by itself", 3, 5000)
        .catches(&[
            Twin("events: no look after the mark"),
            Twin("events: the last of a core sleeps with it"),
            Twin("events: leaders are not woken"),
        ])
        .check(|| {
            asleep(2);
            settled(3, sums);
        });
}

#[test]
fn asleep_on_three_cores() {
    model("sleeping: gates, boards and messages, eight ranks on three cores", 8, 300)
        .catches(&[Twin("events: leaders are not woken"), Twin("berth: not the one who is named")])
        .check(|| {
            asleep(3);
            settled(8, |comm| {
                let (p, me) = (comm.size(), comm.rank());
                comm.barrier();
                let mut x = Memory::new(vec![1u64; 300]);
                comm.with(Algorithm::AR_FUSED).all_reduce(&mut x, op::Sum);
                assert_eq!(x[299], 8);
                let send = Memory::new(vec![me as u64; 200]);
                let mut recv = Memory::new(vec![9; 200]);
                comm.exchange(&send, (me + 1) % p, &mut recv, (me + p - 1) % p);
                assert_eq!(recv[0], ((me + p - 1) % p) as u64);
            });
        });
}

/// Each rank has one call left to test when it is done with those that the others test first.
#[test]
fn ranks_that_test_in_other_orders() {
    model("progress: two started calls, tested in other orders, then a message", 3, 300)
        .catches(&[Twin("progress: a call goes on with its own alone")])
        .threads(|comm| {
            let rank = comm.rank();
            let (mut x, mut y, mut z) =
                (Memory::new(vec![1u64; 70]), Memory::new(vec![rank as u64; 70]), [0u8]);
            let mut other = comm.split(0, 0);
            comm.requests(|scope| {
                let mut a = scope.start(call::all_reduce(&mut x, op::Sum));
                other.requests(|inner| {
                    let mut b = inner.start(call::all_reduce(&mut y, op::Max));
                    if rank == 0 {
                        while !scope.test(&mut a) {
                            checker::threads::yield_now();
                        }
                        inner.comm().send_tagged(&[7u8], 1, 0);
                    } else if rank == 1 {
                        while inner.comm().try_probe(0, 0).is_none() {
                            checker::threads::yield_now();
                        }
                        inner.comm().recv_tagged(&mut z, 0, 0);
                    } else {
                        while !inner.test(&mut b) {
                            checker::threads::yield_now();
                        }
                    }
                    assert_eq!(inner.wait(b)[69], 2);
                });
                assert_eq!(scope.wait(a)[69], 3);
            });
        });
}
