//! Calls between nodes, on a network inside this process: every collective for several splits of
//! ranks over nodes, refused calls, and failures.

mod battery;
mod calls;
mod float_control;
mod memory;
mod misuse;
mod random;

use phalanx::{Error, Team, call, op};
use phalanx_nodes::NodeComm;
use phalanx_nodes::net::Net;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Threads of each node, and whether they have rails.
type Layout = (&'static [usize], bool);

/// Runs `f` on nodes with so many threads each; the results of each node's run.
fn run_on<R: Send>(
    threads: &[usize],
    rails: bool,
    deadline: Option<Duration>,
    f: impl Fn(&mut NodeComm) -> R + Sync,
) -> Vec<Result<Vec<R>, Error>> {
    run_over_nets(threads, &memory::nodes(threads.len(), rails), deadline, f)
}

fn run_over_nets<R: Send>(
    threads: &[usize],
    nets: &[Arc<dyn Net>],
    deadline: Option<Duration>,
    f: impl Fn(&mut NodeComm) -> R + Sync,
) -> Vec<Result<Vec<R>, Error>> {
    let results = Mutex::new((0..threads.len()).map(|_| None).collect::<Vec<_>>());
    std::thread::scope(|s| {
        for (node, (net, &t)) in nets.iter().zip(threads).enumerate() {
            let (f, results) = (&f, &results);
            s.spawn(move || {
                let mut builder = Team::builder().ranks(t).wait(phalanx::Wait::Yield);
                if let Some(deadline) = deadline {
                    builder = builder.deadline(deadline);
                }
                let result = phalanx_nodes::run_across(&builder.build().unwrap(), net, f);
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

/// The same bits on all splits, with rails and without.
#[test]
fn everything_on_many_layouts() {
    let by_size: [(usize, &[Layout]); 4] = [
        (2, &[(&[1, 1], false)]),
        (3, &[(&[1, 1, 1], false)]),
        (
            4,
            &[(&[4], false), (&[2, 2], false), (&[1, 3], false), (&[1; 4], false), (&[2, 2], true)],
        ),
        (6, &[(&[3, 1, 2], false), (&[1, 5], false)]),
    ];
    for (p, layouts) in by_size {
        let alone = phalanx_nodes::run(p, battery::all).unwrap();
        for &(threads, rails) in layouts {
            let digests = good(run_on(threads, rails, None, battery::all));
            assert_eq!(digests, alone, "{threads:?}, {rails}");
        }
    }
}

#[test]
fn nodes_of_two_sizes_have_no_rails() {
    // Whichever node finds it first; the others may hear of that.
    let uneven = causes(run_on(&[2, 1], true, None, |_| ()));
    assert!(uneven.iter().any(|what| what.contains("1 to 2")), "{uneven:?}");
}

/// Rank 0 waits for node 1, whose rank waits for a message of rank 1, which waits for calls that
/// ranks 0 and 1 have started on their node.
#[test]
fn a_wait_for_another_node_moves_what_was_started() {
    for n in [1, 3000] {
        let sums = good(run_on(&[2, 1], false, Some(Duration::from_secs(60)), |comm| {
            let (rank, mut part) = (comm.rank(), comm.split_by_node());
            let (mut x, mut word) = (vec![1u64; n], [rank]);
            part.requests(|scope| {
                let sum = scope.start(call::all_reduce(&mut x, op::Sum));
                if rank == 0 {
                    comm.broadcast(&mut word, 2);
                }
                let sum = scope.wait(sum)[n - 1];
                match rank {
                    0 => return sum,
                    1 => comm.send(&[1u8], 2),
                    _ => comm.recv(&mut [0u8], 1),
                }
                comm.broadcast(&mut word, 2);
                sum
            })
        }));
        assert_eq!(sums, [2, 2, 1]);
    }
}

/// The error of the node that found it; the others say that a node has failed.
fn causes<R: std::fmt::Debug>(results: Vec<Result<Vec<R>, Error>>) -> Vec<String> {
    assert!(results.iter().all(Result::is_err), "{results:?}");
    results.into_iter().map(|r| r.unwrap_err().to_string()).collect()
}

/// A run that fails on all nodes, with one of these texts, and long before its deadline.
#[track_caller]
fn told((threads, rails): Layout, texts: &[&str], f: impl Fn(&mut NodeComm) + Sync) {
    let errors = causes(run_on(threads, rails, Some(Duration::from_secs(30)), f));
    let has = |text: &&str| errors.iter().any(|e| e.contains(text));
    assert!(texts.iter().any(has) && !has(&"deadline"), "{texts:?}: {errors:?}");
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

/// The line is told however long the element's name is.
#[test]
fn elements_with_long_names_in_different_calls() {
    type Word = std::num::NonZero<u64>;
    type Words = (Word, Word, Word, Word, Word);
    type Long = [(Words, Words); 2];
    assert!(std::any::type_name::<Long>().len() > 256);
    let errors = causes(run_on(&[1, 1], false, None, |comm| {
        let words = (Word::MIN, Word::MIN, Word::MIN, Word::MIN, Word::MIN);
        let mut x = [[(words, words); 2]; 3];
        let same: Long = x[0];
        match comm.node() {
            0 => comm.all_reduce(&mut x, op::commutative(move |_, _| same)),
            _ => comm.broadcast(&mut x, 0),
        }
    }));
    let lines = |e: &String| e.matches("main.rs:").count() == 3;
    assert!(errors.iter().any(lines), "{errors:?}");
}

#[test]
fn lengths_roots_types_and_early_returns_are_compared_between_nodes() {
    let differ = |f: fn(&mut NodeComm)| told((&[2, 2], false), &["between nodes"], f);
    differ(|comm| comm.all_reduce(&mut vec![1u8; 4 + comm.node()], op::Sum));
    differ(|comm| {
        let root = comm.node();
        comm.broadcast(&mut [1u8; 4], root);
    });
    differ(|comm| match comm.node() {
        0 => comm.all_reduce(&mut [1u8; 4], op::Sum),
        _ => comm.all_reduce(&mut [1i8; 4], op::Sum),
    });
    differ(|comm| match comm.node() {
        0 => comm.all_reduce(&mut [1u8; 4], op::Sum),
        _ => comm.all_reduce(&mut [1u8; 4], op::Max),
    });
    differ(|comm| {
        if comm.node() == 0 {
            comm.barrier();
        }
    });
    // A message that is left over.
    differ(|comm| {
        if comm.rank() == 0 {
            comm.send(&[1u8], 2);
        }
    });
}

#[test]
fn ranks_of_one_node_that_disagree_are_found_by_the_steps_there() {
    // Both roots are on the other node.
    told((&[2, 1], false), &["disagree"], |comm| {
        let root = if comm.rank() == 1 { 0 } else { 2 };
        comm.broadcast(&mut [1u8; 4], root);
    });
}

#[test]
fn counts_of_pairs_and_messages_are_compared() {
    told((&[1, 1], false), &["counts", "expects"], |comm| {
        let r = comm.rank();
        let recv_counts = [2, 2 - r];
        let mut recv = vec![0u8; recv_counts.iter().sum()];
        comm.all_to_all_varied_into(&[1u8; 4], &[2, 2], &mut recv, &recv_counts);
    });
    told((&[1, 1], false), &["expected 3, got 2"], |comm| match comm.rank() {
        0 => comm.send(&[1u32, 2], 1),
        _ => comm.recv(&mut [0u32; 3], 0),
    });
    told((&[1, 1], false), &["element type"], |comm| match comm.rank() {
        0 => comm.send(&[1u32, 2], 1),
        _ => comm.recv(&mut [0.0f32; 2], 0),
    });
}

/// Forced algorithms, windows, tagged messages and started calls are there on the ranks of a node.
#[test]
fn what_needs_shared_memory_is_there_on_a_node() {
    let seen = good(run_on(&[2, 1], false, None, |comm| {
        let rank = comm.rank();
        let mut of_node = comm.split_by_node();
        of_node.ring().barrier();
        let mut window = of_node.shared_from(&[rank]);
        window.update(&mut of_node, |mine| mine[0] += 10);
        let (r, p) = (of_node.rank(), of_node.size());
        of_node.send_tagged(&[rank], (r + 1) % p, 3);
        let (from, _) = of_node.recv_vec::<usize>((r + p - 1) % p, 3);
        let mut sum = [1];
        of_node.requests(|scope| {
            let request = scope.start(call::all_reduce(&mut sum, op::Sum));
            scope.wait(request);
        });
        (window.global().iter().copied().collect::<Vec<_>>(), from[0], sum[0])
    }));
    assert_eq!(seen, [(vec![10, 11], 1, 2), (vec![10, 11], 0, 2), (vec![12], 2, 1)]);
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

#[test]
fn splits_of_splits_on_some_of_the_nodes() {
    good(run_on(&[2, 1, 2], false, None, |comm| {
        let (r, node) = (comm.rank(), comm.node());
        // Nodes 0 and 2, the other way round; node 1 alone.
        let mut some = comm.split(usize::from(node == 1), 10 - r);
        let want = if node == 1 { vec![2] } else { vec![4, 3, 1, 0] };
        assert_eq!(some.nodes(), if node == 1 { 1 } else { 2 });
        let mut all = vec![0; some.size()];
        some.all_gather_into(&[r], &mut all);
        assert_eq!(all, want);
        // Of these, one of each node; then each alone.
        let color = some.rank() % 2;
        let mut pair = some.split(color, 0);
        let mut all = vec![0; pair.size()];
        pair.all_gather_into(&[r], &mut all);
        let want = if node == 1 { vec![2] } else { vec![4 - color, 1 - color] };
        assert_eq!(all, want);
        let mut alone = pair.split(pair.rank(), 0);
        assert_eq!((alone.size(), alone.nodes()), (1, 1));
        alone.barrier();
        // Parents still work, the largest last.
        let [sum] = some.sum([r as u64]);
        assert_eq!(sum, if node == 1 { 2 } else { 8 });
        assert_eq!(comm.sum([r as u64]), [10]);
    }));
}

#[test]
fn large_calls_that_differ_are_told_with_rails_too() {
    const N: usize = 20_000;
    let differ = |f: fn(&mut NodeComm)| told((&[2, 2], true), &["between nodes"], f);
    differ(|comm| {
        let mut x = vec![1u64; N];
        match comm.node() {
            0 => comm.broadcast(&mut x, 0),
            _ => comm.all_reduce(&mut x, op::Sum),
        }
    });
    differ(|comm| comm.broadcast(&mut vec![1u64; N + comm.node()], 0));
    // By rails, and not.
    differ(|comm| {
        let n = if comm.node() == 0 { N } else { 1 };
        let mut all = vec![1u64; n * comm.size()];
        comm.all_gather_into(&vec![1; n], &mut all);
    });
    differ(|comm| {
        let n = N * comm.size();
        match comm.node() {
            0 => comm.reduce_scatter_into(&vec![1u64; n], &mut vec![1; N], op::Sum),
            _ => comm.reduce_scatter_into(&vec![1i64; n], &mut vec![1; N], op::Sum),
        }
    });
}

#[test]
fn a_split_that_not_all_nodes_call_is_told() {
    told((&[2, 1], false), &["between nodes"], |comm| match comm.node() {
        0 => drop(comm.split(0, 0)),
        _ => comm.barrier(),
    });
    // In a communicator of some of the nodes, while others work on.
    told((&[1, 1, 1], false), &["between nodes"], |comm| {
        let mut some = comm.split(usize::from(comm.node() == 1), 0);
        match comm.node() {
            0 => drop(some.split(0, 0)),
            1 => some.barrier(),
            _ => some.broadcast(&mut [0u8], 0),
        }
        comm.barrier();
    });
}

#[test]
fn a_panic_while_the_leader_waits_for_other_nodes() {
    for rails in [false, true] {
        let errors = causes(run_on(&[2, 2], rails, None, |comm| {
            let mut x = vec![1u64; 50_000];
            match comm.rank() {
                // The other node's leader waits for these meanwhile.
                0 | 1 => std::thread::sleep(Duration::from_millis(400)),
                2 => {}
                _ => {
                    std::thread::sleep(Duration::from_millis(100));
                    panic!("out of luck");
                }
            }
            comm.broadcast(&mut x, 0);
        }));
        assert!(errors[1].contains("out of luck"), "{errors:?}");
    }
}

#[test]
fn ranks_that_there_are_not() {
    let cases: [fn(&mut NodeComm); 4] = [
        |comm| comm.broadcast(&mut [0u8], 3),
        |comm| comm.with_root(&[0u8], 3, |_| ()),
        |comm| comm.send(&[0u8], 3),
        |comm| comm.reduce(&mut [0u8], op::Sum, usize::MAX),
    ];
    for (i, case) in cases.into_iter().enumerate() {
        causes(run_on(&[2, 1], false, Some(Duration::from_secs(30)), case))
            .iter()
            .for_each(|e| assert!(!e.contains("deadline"), "{i}: {e}"));
    }
}

/// Ranks 0 and 1 on one node, rank 2 on another: each pair of neighbours is told, however near.
#[test]
fn faces_of_neighbours_that_differ() {
    for odd in 0..3 {
        told((&[2, 1], false), &["message", "face across dimension 0"], |comm| {
            let n = 3 + usize::from(comm.rank() == odd);
            let halo = phalanx::dist::Halo::new(&[2, n], 1);
            comm.cart(&[3, 1], &[false; 2]).exchange_halo(&mut vec![1.0; halo.len()], &halo);
        });
    }
}

/// Ranks with grids of their own, which are told at the first face.
#[test]
fn grids_that_differ() {
    for threads in [&[2, 1][..], &[1, 1, 1]] {
        for odd in 0..3 {
            for dims in [[3, 1], [1, 3]] {
                let errors =
                    causes(run_on(threads, false, Some(Duration::from_secs(20)), |comm| {
                        let is_odd = comm.rank() == odd;
                        let halo = phalanx::dist::Halo::new(&[2, 2], 1);
                        let dims = if is_odd { dims } else { [3, 1] };
                        let mut grid = comm.cart(&dims, &[dims[0] == 1 || !is_odd, true]);
                        grid.exchange_halo(&mut vec![1; halo.len()], &halo);
                        grid.barrier();
                    }));
                let is_told = |e: &String| {
                    let lines = e.matches("main.rs:").count();
                    e.contains("face across dimension") && lines == 2
                };
                let is_late = errors.iter().any(|e| e.contains("deadline"));
                let is_told = errors.iter().any(is_told);
                assert!(is_told && !is_late, "{threads:?}, {odd}, {dims:?}: {errors:?}");
            }
        }
    }
}

/// Ranks that exchange different numbers of fields.
#[test]
fn numbers_of_fields_that_differ() {
    for (threads, odd) in [([2, 1], 0), ([2, 1], 1), ([2, 1], 2), ([1, 2], 1)] {
        for more in [false, true] {
            let errors = causes(run_on(&threads, false, Some(Duration::from_secs(20)), |comm| {
                let halo = phalanx::dist::Halo::new(&[2], 1);
                let fields = 2 + usize::from((comm.rank() == odd) == more);
                let mut fields = vec![vec![comm.rank(); halo.len()]; fields];
                let mut fields: Vec<_> = fields.iter_mut().map(|it| &mut it[..]).collect();
                comm.cart(&[3], &[false]).exchange_halos(&mut fields, &halo);
            }));
            let line = "exchange_halos at interfaces/nodes/tests/across/main.rs:";
            let is_told = |e: &String| e.contains("length of rank") && e.contains(line);
            assert!(errors.iter().any(is_told), "{threads:?}, {odd}, {more}: {errors:?}");
        }
    }
}

#[test]
fn a_field_on_a_grid_of_several_nodes() {
    use phalanx::dist::{Block, Halo};
    let fields = good(run_on(&[1, 3], false, None, |comm| {
        let mut grid = comm.cart(&[2, 2], &[false; 2]);
        let at = grid.coordinates();
        let (i, j) = (Block::new(3, 2).range(at[0]), Block::new(5, 2).range(at[1]));
        let halo = Halo::new(&[i.len(), j.len()], 1);
        let mut u = vec![-1; halo.len()];
        for (row, i) in halo.rows().zip(i) {
            u[row].iter_mut().zip(j.clone()).for_each(|(cell, j)| *cell = (i * 5 + j) as i32);
        }
        let mut v = u.clone();
        grid.exchange_halos(&mut [&mut u, &mut v], &halo);
        assert_eq!(u, v);
        grid.gather_grid(&v, &halo, 2)
    }));
    assert_eq!(fields[2], Some((0..15).collect()));
    assert!([0, 1, 3].iter().all(|&rank| fields[rank].is_none()));
}

#[test]
fn a_rank_that_cancels_ends_the_run_on_all_nodes() {
    let errors = causes(run_on(&[2, 1], false, None, |comm| {
        if comm.rank() == 1 {
            comm.cancel();
        }
        comm.phase("after", |comm| comm.barrier());
    }));
    assert!(errors[0].contains("cancelled"), "{errors:?}");
}

#[test]
fn threads_of_the_callers_own() {
    let nets = memory::nodes(2, false);
    std::thread::scope(|s| {
        for (net, threads) in nets.iter().zip([2, 1]) {
            s.spawn(move || {
                let team = Team::builder().ranks(threads).wait(phalanx::Wait::Yield);
                let comms = phalanx_nodes::external_across(team, net).unwrap();
                std::thread::scope(|s| {
                    for mut comm in comms {
                        s.spawn(move || {
                            assert_eq!(comm.sum([comm.rank()]), [3]);
                            let result = comm.protect(|comm| {
                                comm.barrier();
                                assert!(comm.rank() != 1, "out of luck");
                                comm.barrier();
                            });
                            let error = result.unwrap_err().to_string();
                            let is_told =
                                ["out of luck", "has failed before", "another node has failed"];
                            assert!(is_told.iter().any(|it| error.contains(it)), "{error}");
                        });
                    }
                });
            });
        }
    });
}

/// The public methods of `owner` in the sources of `folder`.
fn methods(folder: &str, owner: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut found = BTreeSet::new();
    for file in files.filter(|file| file.extension().is_some_and(|it| it == "rs")) {
        let (mut inside, text) = (false, std::fs::read_to_string(file).unwrap());
        for line in text.lines() {
            if line.starts_with("impl") || line == "}" {
                let of = line.split([' ', '<']).find(|&word| word == owner);
                inside = of.is_some() && !line.contains(" for ");
            } else if line == "methods! {" {
                inside = owner == "NodeComm";
            }
            if let Some(rest) = line.strip_prefix("    pub fn ").filter(|_| inside) {
                found.insert(rest.split(['(', '<', '[']).next().unwrap_or_default().to_string());
            }
        }
    }
    found
}

/// A method of a communicator is one of several nodes' too, or needs the memory of one.
#[test]
fn every_method_is_there_or_needs_shared_memory() {
    const OF_ONE_NODE: [&str; 23] = [
        "all_to_all_owned",
        "ghosts",
        "ghosts_of_columns",
        "groups",
        "hypercube",
        "mesh",
        "mesh_of",
        "neighborhood",
        "probe",
        "recv_owned",
        "recv_tagged",
        "recv_vec",
        "requests",
        "ring",
        "send_owned",
        "send_tagged",
        "shared",
        "shared_atomic",
        "shared_from",
        "tree",
        "try_probe",
        "with",
        "with_mesh",
    ];
    let mut of_one = methods("../../src/comm", "Comm");
    of_one.extend(methods("../../src/comm/neighborhood", "Comm"));
    of_one.extend(methods("../../src/comm/requests", "Comm"));
    assert!(of_one.len() > 60, "{of_one:?}");
    let of_several = methods("src", "NodeComm");
    let lacks: Vec<_> = of_one.difference(&of_several).map(String::as_str).collect();
    assert_eq!(lacks, OF_ONE_NODE);
    let (of_one, of_several) = (methods("../../src/comm", "Cart"), methods("src", "NodeCart"));
    assert!(of_one.len() > 8, "{of_one:?}");
    assert_eq!(of_one.difference(&of_several).collect::<Vec<_>>(), [""; 0]);
}

/// Sums of halves are rounded once, when all nodes' ranks are in them: as on one node.
#[test]
fn sums_of_halves_are_rounded_once() {
    use half::bf16;
    let bits = |comm: &mut NodeComm| {
        let r = comm.rank();
        let value = |i: usize| match r {
            0 => bf16::from_f32(100.0),
            _ => bf16::from_f32(((i * 7919 + r * 104_729) % 1000) as f32 / 500.0 - 1.0),
        };
        let mut all = float_control::combined(comm, value, (op::Sum, op::Sum));
        let ones = [bf16::from_f32(1.0 + 1.0 / 64.0); 1000];
        all.extend(comm.fixed_reduce(&ones, op::Sum, 1000 * r));
        all
    };
    for (threads, rails) in [(&[1, 1][..], false), (&[3, 1, 2], false), (&[2, 2], true)] {
        let alone = phalanx_nodes::run(threads.iter().sum(), bits).unwrap();
        assert_eq!(good(run_on(threads, rails, None, bits)), alone);
    }
}
