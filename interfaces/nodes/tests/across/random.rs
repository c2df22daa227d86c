//! Random programs of all methods, on nodes and on one; their results are compared; with a failure
//! of the network, of a rank, or none.

use super::calls::{Call, Dice, program};
use super::{Layout, memory, run_over_nets};
use phalanx::{Error, Team};
use phalanx_nodes::NodeComm;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

type Results = Vec<Result<Vec<Vec<u64>>, Error>>;

/// Runs it on nodes with so many threads each, until a cable is cut.
fn run_over(
    (threads, rails): (&[usize], bool),
    cut: &Arc<AtomicUsize>,
    f: impl Fn(&mut NodeComm, &mut Vec<u64>) + Sync,
) -> Results {
    let nets = memory::nodes_until(threads.len(), rails, cut.clone());
    run_over_nets(threads, &nets, Some(Duration::from_secs(40)), |comm| {
        let mut out = Vec::new();
        f(comm, &mut out);
        out
    })
}

const LAYOUTS: [Layout; 7] = [
    (&[2, 1], false),
    (&[1, 1, 1], false),
    (&[1, 3], false),
    (&[2, 2], true),
    (&[3, 1, 1], false),
    (&[1, 1], true),
    (&[2, 3], false),
];

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_programs_give_what_they_give_on_one_node() {
    let (first, count) = (from_environment("SEED", 1), from_environment("COUNT", 16));
    for seed in first..first + count {
        let (threads, rails) = LAYOUTS[seed as usize % LAYOUTS.len()];
        let p = threads.iter().sum();
        let wanted = phalanx_nodes::run(p, |comm| {
            let mut out = Vec::new();
            program(comm, seed, 30, 0, &mut out);
            out
        });
        let layout = (threads, rails);
        let got = run_over(layout, &Arc::default(), |comm, out| program(comm, seed, 30, 0, out));
        let got: Vec<_> = got.into_iter().flat_map(|it| it.unwrap()).collect();
        assert_eq!(got, wanted.unwrap(), "seed {seed} on {threads:?}");
    }
}

#[test]
fn a_cut_cable_ends_random_programs_at_any_place() {
    let (first, count) = (from_environment("SEED", 1), from_environment("COUNT", 1));
    for seed in first..first + count {
        let (threads, rails) = LAYOUTS[seed as usize % LAYOUTS.len()];
        for cut in 0.. {
            let left = Arc::new(AtomicUsize::new(cut));
            let layout = (threads, rails);
            let results = run_over(layout, &left, |comm, out| program(comm, seed, 6, 1, out));
            if cut > 0 && left.load(SeqCst) > 0 {
                assert!(results.iter().all(Result::is_ok), "{seed}: {results:?}");
                break;
            }
            if cut == 0 {
                assert!(results.iter().all(Result::is_ok), "{seed}: {results:?}");
                continue;
            }
            let text: Vec<String> =
                results.iter().filter_map(|it| Some(it.as_ref().err()?.to_string())).collect();
            // At the very end some nodes may have all that they need.
            let is_end = text.iter().any(|it| it.contains("the end of the closure"));
            assert!(is_end || text.len() == threads.len(), "{seed}, {cut}: {results:?}");
            assert!(
                text.iter().any(|it| it.contains("a cable was cut")),
                "{seed}, {cut}: {text:?}"
            );
            assert!(!text.iter().any(|it| it.contains("deadline")), "{seed}, {cut}: {text:?}");
        }
    }
}

#[test]
fn a_rank_that_fails_ends_random_programs_at_any_place() {
    let (first, count) = (from_environment("SEED", 1), from_environment("COUNT", 4));
    for seed in first..first + count {
        let (threads, rails) = LAYOUTS[seed as usize % LAYOUTS.len()];
        let p: usize = threads.iter().sum();
        for at in 0..8 {
            for panics in [true, false] {
                let who = (seed as usize + at) % p;
                let results = run_over((threads, rails), &Arc::default(), |comm, out| {
                    for call in 0..8 {
                        if call == at && comm.rank() == who {
                            match panics {
                                true => panic!("out of luck"),
                                false => return,
                            }
                        }
                        // A rank that waits for a message of a rank that has returned waits for
                        // ever.
                        let has_messages = |seed: &u64| {
                            matches!(Call::any(&mut Dice(*seed), p).kind, 19 | 20 | 24 | 27..)
                        };
                        let mut seeds = (0..).map(|i| seed * 1000 + 100 * call as u64 + i);
                        let one = seeds.find(|seed| panics || !has_messages(seed)).unwrap();
                        program(comm, one, 1, 1, out);
                    }
                    comm.barrier();
                });
                assert!(results.iter().all(Result::is_err), "{seed}, {at}: {results:?}");
                let text: Vec<String> =
                    results.iter().map(|it| it.as_ref().unwrap_err().to_string()).collect();
                if panics {
                    let is_told = text.iter().any(|it| it.contains("out of luck"));
                    assert!(is_told, "{seed}, {at}: {text:?}");
                }
                if std::env::var("SHOW").is_ok() {
                    println!("{seed} {at} {panics} rank {who}: {text:#?}");
                }
                assert!(!text.iter().any(|it| it.contains("deadline")), "{seed}, {at}: {text:?}");
            }
        }
    }
}

#[test]
fn a_cable_that_is_cut_before_the_first_call() {
    for cut in [1, 2] {
        let nets = memory::nodes_until(2, false, Arc::new(AtomicUsize::new(cut)));
        let errors: Vec<String> = std::thread::scope(|s| {
            let begin = |net| {
                s.spawn(move || {
                    let team = Team::builder().ranks(1).deadline(Duration::from_secs(30));
                    let comm = phalanx_nodes::external_across(team, net).map(|mut it| it.remove(0));
                    // A node that had all that it needs before the cut hears of it at its first
                    // call.
                    let result = comm.and_then(|mut comm| comm.protect(|comm| comm.barrier()));
                    result.unwrap_err().to_string()
                })
            };
            let threads: Vec<_> = nets.iter().map(begin).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(errors.iter().any(|it| it.contains("a cable was cut")), "{errors:?}");
        assert!(errors.iter().any(|it| it.contains("another node has failed")), "{errors:?}");
    }
}
