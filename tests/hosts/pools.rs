//! Teams beside other people's threads: Rayon's, Tokio's, OpenMP's, and ForkUnion's, which spin for
//! work. On the same cores, on the threads of such a pool, and with those threads as ranks.
#![cfg(target_os = "linux")]

mod pool;

use phalanx::machine::affinity::current_mask;
use phalanx::{Comm, Team};
use pool::{Kind, Pool};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// One test at a time: each has pools on all cores.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// The pools that can be had, each with two threads. The others are said where the harness does not
/// swallow it.
fn pools() -> impl Iterator<Item = (Kind, Pool)> {
    let kinds = [Kind::Rayon, Kind::Tokio, Kind::Openmp, Kind::Forkunion];
    kinds.into_iter().filter_map(|kind| match kind.pool(2) {
        Ok(pool) => Some((kind, pool)),
        Err(why) => {
            let _: Result<_, _> = writeln!(std::io::stderr(), "skipped: {kind:?}: {why}");
            None
        }
    })
}

/// Two ranks. One that waits for a minute ends the run with an error.
fn team() -> Team {
    Team::builder().ranks(2).deadline(Duration::from_secs(60)).build().unwrap()
}

fn sums(comm: &mut Comm) -> usize {
    (0..500).map(|i| comm.sum([i + comm.rank()])[0]).sum()
}

/// On both ranks.
fn are_right(sums: &[usize]) -> bool {
    sums == [500 * 499 + 500; 2]
}

#[test]
fn a_team_and_a_pool_take_turns_on_the_same_cores() {
    let _alone = alone();
    for (kind, mut pool) in pools() {
        let before = current_mask().unwrap();
        let team = team();
        let calls = Arc::new(AtomicUsize::new(0));
        for round in 1..=20 {
            assert!(are_right(&team.run(sums).unwrap()), "{kind:?}");
            let count = calls.clone();
            pool.on_all(move |_| {
                count.fetch_add(1, Relaxed);
            });
            assert_eq!(calls.load(Relaxed), 2 * round, "{kind:?}");
        }
        // The caller's mask is its own again, and a pool that begins now may use all cores.
        assert_eq!(current_mask().unwrap(), before, "{kind:?}");
        let mut late = kind.pool(2).unwrap();
        let masks = Arc::new(Mutex::new(Vec::new()));
        let list = masks.clone();
        // ForkUnion binds threads itself, each to one core of those.
        late.on_all(move |_| list.lock().unwrap().push(current_mask().unwrap()));
        for mask in masks.lock().unwrap().iter().filter(|_| kind != Kind::Forkunion) {
            assert_eq!(*mask, before, "{kind:?}");
        }
    }
}

/// Both at the same time: more threads that want a core than there are.
#[test]
fn a_team_runs_while_a_pool_computes() {
    let _alone = alone();
    for (kind, mut pool) in pools() {
        let runs = Arc::new(AtomicUsize::new(0));
        let seen = runs.clone();
        let other = std::thread::spawn(move || {
            let team = team();
            for _ in 0..20 {
                assert!(are_right(&team.run(sums).unwrap()));
                seen.fetch_add(1, Relaxed);
            }
        });
        // Until the team has done its runs all threads of the pool compute.
        while !other.is_finished() {
            pool.on_all(|_| {
                let end = std::time::Instant::now() + Duration::from_millis(5);
                while std::time::Instant::now() < end {}
            });
        }
        other.join().unwrap();
        assert_eq!(runs.load(Relaxed), 20, "{kind:?}");
    }
}

/// A team of two ranks by each thread of a pool, at the same time, and the mask of that thread
/// after it.
#[test]
fn teams_of_the_threads_of_a_pool() {
    let _alone = alone();
    for (kind, mut pool) in pools() {
        let right = Arc::new(AtomicUsize::new(0));
        let count = right.clone();
        for _ in 0..10 {
            let count = count.clone();
            pool.on_all(move |_| {
                let before = current_mask().unwrap();
                let is_right = are_right(&team().run(sums).unwrap());
                let is_left_alone = current_mask().unwrap() == before;
                count.fetch_add(usize::from(is_right && is_left_alone), Relaxed);
            });
        }
        assert_eq!(right.load(Relaxed), 20, "{kind:?}");
    }
}

/// The threads of a pool as ranks.
#[test]
fn threads_of_a_pool_are_ranks() {
    let _alone = alone();
    for (kind, mut pool) in pools() {
        for _ in 0..10 {
            let builder = Team::builder().ranks(2).deadline(Duration::from_secs(60));
            let comms = builder.external().unwrap();
            let comms: Vec<_> = comms.into_iter().map(|comm| Mutex::new(Some(comm))).collect();
            let done = Arc::new(Mutex::new(Vec::new()));
            let list = done.clone();
            pool.on_all(move |thread| {
                let mut comm = comms[thread].lock().unwrap().take().unwrap();
                let sums = comm.protect(sums).unwrap();
                list.lock().unwrap().push(sums);
            });
            assert!(are_right(&done.lock().unwrap()), "{kind:?}");
        }
    }
}

/// As the last act of a thread of a pool, when the pool goes.
#[test]
fn teams_of_destructors_of_a_pools_threads() {
    thread_local! {
        static LAST: Last = const { Last };
    }
    static ENDS: AtomicUsize = AtomicUsize::new(0);
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            if are_right(&team().run(sums).unwrap()) {
                ENDS.fetch_add(1, Relaxed);
            }
        }
    }

    let _alone = alone();
    // The others' threads end with the process, or are the caller's.
    for kind in [Kind::Rayon, Kind::Tokio] {
        ENDS.store(0, Relaxed);
        let mut pool = kind.pool(2).unwrap();
        pool.on_all(|_| {
            LAST.with(|_| assert!(are_right(&team().run(sums).unwrap())));
        });
        drop(pool);
        // Rayon's threads are not waited for.
        for _ in 0..10_000 {
            if ENDS.load(Relaxed) == 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ENDS.load(Relaxed), 2, "{kind:?}");
    }
}

/// A child of a process that has such threads: none of them, and no rank, is there.
#[test]
fn a_child_of_a_process_with_pools() {
    let _alone = alone();
    let parents = team();
    let mut all: Vec<_> = pools().collect();
    for (_, pool) in &mut all {
        pool.on_all(|_| ());
    }
    assert!(are_right(&parents.run(sums).unwrap()));
    // SAFETY: the child calls what is made for that, allocates as the C library allows, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_refused = matches!(parents.run(sums), Err(phalanx::Error::Forked));
        let is_right = team().run(sums).is_ok_and(|sums| are_right(&sums));
        // SAFETY: the process ends, without destructors of pools.
        unsafe { libc::_exit(i32::from(!(is_refused && is_right))) };
    }
    let mut status = -1;
    // SAFETY: a child of ours, and room for its status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "refused, and right with a team of its own");
    assert!(are_right(&parents.run(sums).unwrap()));
}
