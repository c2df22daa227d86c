//! Attempts to access another rank's memory by calls between nodes, and user code that fails in
//! them.

use super::{causes, good, run_on};
use phalanx::call;
use phalanx::dist::Halo;
use phalanx::op::{self, And, Operator, Sum};
use phalanx_nodes::NodeComm;
use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// An operator of the user's that has the name of one of the network's, and a part of it in it.
struct Liar<O>(O);

impl<O> Operator<u8> for Liar<O> {
    const NAME: &'static str = "sum";
    const COMMUTATIVE: bool = true;
    fn combine(&self, a: u8, b: u8) -> u8 {
        a.max(b)
    }
}

/// The network combines by the library's own types only.
#[test]
fn an_operator_that_is_not_what_it_says() {
    let bytes = good(run_on(&[1, 2], false, None, |comm| {
        let mut x = [comm.rank() as u8 + 1; 5];
        comm.all_reduce(&mut x[1..4], Liar(Sum));
        x
    }));
    assert_eq!(bytes, [[1, 3, 3, 3, 1], [2, 3, 3, 3, 2], [3, 3, 3, 3, 3]]);
    let bits = good(run_on(&[1, 2], false, None, |comm| {
        let mut x = [true, comm.rank() != 1];
        comm.all_reduce(&mut x, And);
        x.map(u8::from)
    }));
    assert_eq!(bits, [[1, 0]; 3]);
}

/// Cells of a face: more bytes than are copied by the sender.
const WIDTH: usize = 400;
/// Bytes that a face is packed into; nothing else here is as long.
const MESSAGE: usize = WIDTH * size_of::<u64>();
/// The content of such a message when it has been freed.
const FOREIGN: u64 = 0xdead_dead_dead_dead;

/// Overwrites packed faces as they are freed: whoever reads one after that does not go unnoticed.
struct Canaries;

// SAFETY: the system's, but for memory that is never given back.
unsafe impl GlobalAlloc for Canaries {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if layout.size() != MESSAGE {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(at, layout) };
        }
        for i in 0..WIDTH {
            // SAFETY: within the memory, which is not the owner's any more, and stays.
            unsafe { at.cast::<u64>().add(i).write_volatile(FOREIGN) };
        }
    }
}

#[global_allocator]
static CANARIES: Canaries = Canaries;

/// A field, which is looked at when the call is over, however it ended.
struct Looks(Vec<u64>);

impl Drop for Looks {
    fn drop(&mut self) {
        if self.0.contains(&FOREIGN) {
            eprintln!("a neighbour's face was read when it was gone");
            std::process::abort();
        }
    }
}

/// The work beside an exchange of halos panics while a neighbour on the same node
/// has yet to read the face that this rank has posted.
#[test]
fn work_that_panics_beside_an_exchange_of_halos() {
    for corners in [false, true] {
        for round in 0..5 {
            let errors = causes(run_on(&[2, 1], false, None, |comm| {
                let rank = comm.rank();
                let mut halo = Halo::new(&[WIDTH], WIDTH);
                if corners {
                    halo = halo.with_corners();
                }
                let mut field = Looks(vec![rank as u64; halo.len()]);
                let mut cart = comm.cart(&[3], &[true]);
                cart.exchange_halo_while(&mut field.0, &halo, |_| {
                    match rank {
                        0 => panic!("out of luck"),
                        1 => std::thread::sleep(Duration::from_millis(20)),
                        _ => {}
                    };
                });
            }));
            assert!(errors[0].contains("out of luck"), "{round}: {errors:?}");
        }
    }
}

/// The work uses another communicator, catches that this fails, and the exchange goes
/// on: the rank has not left while it may read the memory that its neighbour has posted, which
/// panics meanwhile.
#[test]
fn work_that_fails_elsewhere_beside_an_exchange_of_halos() {
    for _ in 0..5 {
        causes(run_on(&[2, 1], false, None, |comm| {
            let rank = comm.rank();
            let mut child = comm.split_by_node();
            let halo = Halo::new(&[WIDTH], WIDTH);
            let mut field = Looks(vec![rank as u64; halo.len()]);
            let mut cart = comm.cart(&[3], &[true]);
            cart.exchange_halo_while(&mut field.0, &halo, |_| {
                if child.size() == 1 {
                    return;
                }
                let caught = catch_unwind(AssertUnwindSafe(|| match rank {
                    0 => child.barrier(),
                    _ => child.broadcast(&mut [1u8; 2000], 1),
                }));
                assert!(caught.is_err());
                match rank {
                    0 => panic!("out of luck"),
                    _ => std::thread::sleep(Duration::from_millis(20)),
                }
            });
        }));
    }
}

/// The calls that a sum in fixed order is made of, where ranks are not in the order
/// of nodes, are met by nobody else's: here by one with room for numbers in place of
/// numbers.
#[test]
fn the_parts_of_a_sum_are_met_by_its_own_parts_only() {
    let errors = causes(run_on(&[2, 2], false, None, |comm| {
        let (r, p) = (comm.rank(), comm.size());
        let mut child = comm.split(7, r % 2 * p + r);
        let me = child.rank();
        if me == 1 {
            let mut all = [(0usize, 0usize); 4];
            child.all_gather_into(&[(10usize, 20usize)], &mut all);
            let holes = [MaybeUninit::<f64>::uninit(); 10];
            let mut all = [MaybeUninit::<f64>::uninit(); 40];
            child.all_gather_varied_into(&holes, &mut all, &[10; 4]);
        } else {
            child.fixed_sum(&[1.0; 10], 10 * me);
        }
    }));
    assert!(errors.iter().any(|e| e.contains("element type") || e.contains("all_gather")));
}

/// Closures of the user's, in calls between nodes, that panic on one rank.
#[test]
fn user_code_that_panics_inside_of_calls() {
    type Case = fn(&mut NodeComm, usize);
    fn now(comm_rank: usize, rank: usize) {
        assert!(comm_rank != rank, "out of luck");
    }
    // Combined anywhere: the largest operand is of that rank.
    fn unlucky(a: u64, b: u64) -> u64 {
        assert!(a < 1000 && b < 1000, "out of luck");
        a + b
    }
    let cases: [Case; 11] = [
        |comm, who| {
            let mut x = [if comm.rank() == who { 1000 } else { 1 }; 5];
            comm.all_reduce(&mut x, op::commutative(unlucky));
        },
        |comm, who| {
            let mut x = vec![if comm.rank() == who { 1000 } else { 1 }; 900];
            comm.reduce(&mut x, op::ordered(unlucky), 1);
        },
        |comm, who| {
            let mut x = [if comm.rank() == who { 1000 } else { 1 }; 5];
            comm.with_order(phalanx::Order::Fixed).all_reduce(&mut x, op::ordered(unlucky));
        },
        |comm, who| {
            let mut x = vec![if comm.rank() == who { 1000 } else { 1 }; 3 * comm.size()];
            comm.reduce_scatter_into(&x.clone(), &mut x[..3], op::commutative(unlucky));
        },
        |comm, who| {
            let mut x = [if comm.rank() == who { 1000 } else { 1 }; 5];
            comm.scan(&mut x, op::commutative(unlucky));
            // The last rank's is nobody's prefix but its own.
            comm.broadcast(&mut x, 0);
            comm.all_reduce(&mut x, op::commutative(unlucky));
            now(comm.rank(), who);
        },
        |comm, who| {
            let rank = comm.rank();
            comm.overlap(call::barrier(), || now(rank, who));
        },
        |comm, who| {
            let rank = comm.rank();
            comm.with_peers(&[1u8; 3], |_| now(rank, who));
        },
        |comm, who| {
            let rank = comm.rank();
            comm.with_root(&[1u8; 3], 1, |_| now(rank, who));
        },
        |comm, who| {
            let x = [if comm.rank() == who { 1000 } else { 1 }; 4];
            comm.fixed_reduce(&x, op::ordered(unlucky), 4 * comm.rank());
        },
        |comm, who| {
            let (rank, halo) = (comm.rank(), Halo::new(&[2], 1));
            let mut grid = comm.cart(&[0], &[true]);
            grid.exchange_halo_while(&mut [0u8; 4], &halo, |_| now(rank, who));
        },
        |comm, who| {
            let rank = comm.rank();
            comm.phase("a part", |comm| {
                let mut part = comm.split(rank % 2, 0);
                now(rank, who);
                part.barrier();
            });
        },
    ];
    for (i, case) in cases.into_iter().enumerate() {
        for threads in [[2, 1], [1, 2]] {
            for who in 0..threads.iter().sum() {
                let errors =
                    causes(run_on(&threads, false, Some(Duration::from_secs(20)), |comm| {
                        case(comm, who);
                        comm.barrier();
                    }));
                let is_told = errors.iter().any(|e| e.contains("out of luck"));
                let is_late = errors.iter().any(|e| e.contains("deadline"));
                assert!(is_told && !is_late, "{i}, {who} of {threads:?}: {errors:?}");
            }
        }
    }
}
