//! Calls between nodes, on a network inside this process: every collective for
//! several splits of ranks over nodes, what is refused, and how failures end.

mod battery;
mod memory;
mod misuse;

use phalanx::{Comm, Error, Team, op};
use std::sync::Mutex;
use std::time::Duration;

/// Runs `f` on nodes with so many threads each; what each node's run returned.
fn run_on<R: Send>(
    threads: &[usize],
    lanes: bool,
    deadline: Option<Duration>,
    f: impl Fn(&mut Comm) -> R + Sync,
) -> Vec<Result<Vec<R>, Error>> {
    let nets = memory::nodes(threads.len(), lanes);
    let results = Mutex::new((0..threads.len()).map(|_| None).collect::<Vec<_>>());
    std::thread::scope(|s| {
        for (node, (net, &t)) in nets.iter().zip(threads).enumerate() {
            let (f, results) = (&f, &results);
            s.spawn(move || {
                let mut builder = Team::builder().ranks(t).wait(phalanx::Wait::Yield);
                if let Some(deadline) = deadline {
                    builder = builder.deadline(deadline);
                }
                let result = builder.build().unwrap().run_across(net, f);
                results.lock().unwrap()[node] = Some(result);
            });
        }
    });
    results.into_inner().unwrap().into_iter().flatten().collect()
}

fn good<R>(results: Vec<Result<Vec<R>, Error>>) -> Vec<R> {
    results.into_iter().flat_map(|r| r.unwrap()).collect()
}

#[test]
fn ranks_are_numbered_by_node_and_thread() {
    let at = good(run_on(&[2, 1, 3], false, None, |comm| {
        (comm.rank(), comm.size(), comm.node(), comm.nodes())
    }));
    let nodes = [0, 0, 1, 2, 2, 2];
    let want: Vec<_> = (0..6).map(|r| (r, 6, nodes[r], 3)).collect();
    assert_eq!(at, want);
}

#[test]
fn everything_on_many_layouts() {
    for threads in [&[1, 1][..], &[2, 2], &[1, 3], &[3, 1, 2], &[1, 1, 1]] {
        let digests = good(run_on(threads, false, None, battery::all));
        let p: usize = threads.iter().sum();
        let alone = phalanx::run(p, battery::all).unwrap();
        assert_eq!(digests, alone, "{threads:?}: the same bits as on one node");
    }
}

#[test]
fn fixed_order_gives_the_same_bits_on_all_splits_of_four() {
    let alone = phalanx::run(4, battery::all).unwrap();
    for threads in [&[4][..], &[2, 2], &[1, 3], &[1, 1, 1, 1]] {
        assert_eq!(good(run_on(threads, false, None, battery::all)), alone, "{threads:?}");
    }
}

#[test]
fn lanes_give_the_same() {
    let alone = phalanx::run(4, battery::all).unwrap();
    assert_eq!(good(run_on(&[2, 2], true, None, battery::all)), alone);
    let uneven = run_on(&[2, 1], true, None, |_| ());
    let Err(Error::Network { what, .. }) = &uneven[0] else { panic!("{uneven:?}") };
    assert!(what.contains("1 to 2"), "{what}");
}

/// The error of the node that found it; the others say that a node has failed.
fn causes<R: std::fmt::Debug>(results: Vec<Result<Vec<R>, Error>>) -> Vec<String> {
    assert!(results.iter().all(Result::is_err), "{results:?}");
    results.into_iter().map(|r| r.unwrap_err().to_string()).collect()
}

#[test]
fn a_panic_ends_the_run_on_all_nodes() {
    for panics in 0..4 {
        let errors = causes(run_on(&[2, 2], false, None, |comm| {
            let mut x = [1.0; 4];
            comm.all_reduce(&mut x, op::Sum);
            if comm.rank() == panics {
                panic!("out of luck");
            }
            comm.all_reduce(&mut x, op::Sum);
        }));
        assert!(errors[panics / 2].contains("out of luck"), "{errors:?}");
    }
}

#[test]
fn nodes_in_different_calls_are_told_so() {
    let errors = causes(run_on(&[1, 2], false, None, |comm| {
        let mut x = [1u32; 8];
        if comm.node() == 0 {
            comm.all_reduce(&mut x, op::Sum);
        } else {
            comm.broadcast(&mut x, 0);
        }
    }));
    let told = errors.iter().find(|e| e.contains("between nodes")).expect("a cause");
    assert!(errors.iter().any(|e| e.contains("all_reduce of 8 u32 with sum")), "{errors:?}");
    assert!(errors.iter().any(|e| e.contains("broadcast of 8 u32, from root 0")), "{told}");
}

#[test]
fn lengths_roots_types_and_early_returns_are_compared_between_nodes() {
    type Case = (&'static str, fn(&mut Comm));
    let cases: [Case; 6] = [
        ("length", |comm| {
            let mut x = vec![1u8; 4 + comm.node()];
            comm.all_reduce(&mut x, op::Sum);
        }),
        ("root", |comm| {
            let mut x = [1u8; 4];
            let root = comm.node();
            comm.broadcast(&mut x, root);
        }),
        ("type", |comm| match comm.node() {
            0 => comm.all_reduce(&mut [1u8; 4], op::Sum),
            _ => comm.all_reduce(&mut [1i8; 4], op::Sum),
        }),
        ("operator", |comm| match comm.node() {
            0 => comm.all_reduce(&mut [1u8; 4], op::Sum),
            _ => comm.all_reduce(&mut [1u8; 4], op::Max),
        }),
        ("return", |comm| {
            if comm.node() == 0 {
                comm.barrier();
            }
        }),
        ("left over", |comm| {
            if comm.rank() == 0 {
                comm.send(&[1u8], 2);
            }
        }),
    ];
    for (name, case) in cases {
        let errors = causes(run_on(&[2, 2], false, None, case));
        assert!(errors.iter().any(|e| e.contains("between nodes")), "{name}: {errors:?}");
    }
}

#[test]
fn ranks_of_one_node_that_disagree_are_found_by_the_steps_there() {
    let errors = causes(run_on(&[2, 1], false, None, |comm| {
        let mut x = [1u8; 4];
        // Both roots are on the other node.
        let root = if comm.rank() == 1 { 0 } else { 2 };
        comm.broadcast(&mut x, root);
    }));
    assert!(errors.iter().any(|e| e.contains("disagree")), "{errors:?}");
}

#[test]
fn counts_of_pairs_and_messages_are_compared() {
    let errors = causes(run_on(&[1, 1], false, None, |comm| {
        let r = comm.rank();
        let recv_counts = [2, 2 - r];
        let mut recv = vec![0u8; recv_counts.iter().sum()];
        comm.all_to_all_varied_into(&[1u8; 4], &[2, 2], &mut recv, &recv_counts);
    }));
    assert!(errors.iter().any(|e| e.contains("counts") || e.contains("expects")), "{errors:?}");
    let errors = causes(run_on(&[1, 1], false, None, |comm| match comm.rank() {
        0 => comm.send(&[1u32, 2], 1),
        _ => comm.recv(&mut [0u32; 3], 0),
    }));
    assert!(errors.iter().any(|e| e.contains("expected 3, got 2")), "{errors:?}");
    let errors = causes(run_on(&[1, 1], false, None, |comm| match comm.rank() {
        0 => comm.send(&[1u32, 2], 1),
        _ => comm.recv(&mut [0.0f32; 2], 0),
    }));
    assert!(errors.iter().any(|e| e.contains("element type")), "{errors:?}");
}

#[test]
fn forced_algorithms_are_refused_between_nodes() {
    let errors = causes(run_on(&[1, 1], false, None, |comm| {
        comm.ring().barrier();
    }));
    assert!(errors.iter().any(|e| e.contains("cannot be forced")), "{errors:?}");
    // On one node's ranks they are not.
    good(run_on(&[2, 2], false, None, |comm| comm.split_by_node().ring().barrier()));
}

#[test]
fn a_deadline_covers_waits_for_other_nodes() {
    let errors = causes(run_on(&[1, 2], false, Some(Duration::from_millis(300)), |comm| {
        if comm.node() == 0 {
            std::thread::sleep(Duration::from_millis(2500));
        }
        comm.barrier();
    }));
    assert!(errors.iter().any(|e| e.contains("deadline")), "{errors:?}");
    // A message that nobody sends.
    let errors = causes(run_on(&[1, 1], false, Some(Duration::from_millis(300)), |comm| {
        if comm.rank() == 0 {
            comm.recv(&mut [0u8], 1);
        }
    }));
    assert!(errors.iter().any(|e| e.contains("deadline")), "{errors:?}");
}
