//! Checks that a team does no harm to the program around it: masks of its threads, pools that start
//! later, cores that other teams have.
#![cfg(target_os = "linux")]

use crate::common::{again, bomb, check_usable, succeeds, team, watch};
use phalanx::machine::affinity::{allowed_pus, current_mask, restore};
use phalanx::placement::Placement;
use phalanx::{Error, Team};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The units that a team's ranks are meant for.
fn pus(team: &Team) -> Vec<usize> {
    team.bindings().iter().map(|binding| binding.pu.unwrap()).collect()
}

#[test]
fn the_mask_after_a_run_is_that_before_it() {
    let _watch = watch();
    let before = current_mask().unwrap();
    let team = team(2);
    assert_eq!(current_mask().unwrap(), before, "no run yet");
    for round in 0..3 {
        let masks = team.run(|_| current_mask().unwrap()).unwrap();
        if round == 0 {
            assert_eq!(masks[0], [pus(&team)[0]], "bound in its first run");
        }
        assert_eq!(current_mask().unwrap(), before);
    }
    team.run(|comm| {
        if comm.rank() == 0 {
            bomb()
        }
    })
    .unwrap_err();
    assert_eq!(current_mask().unwrap(), before);
    check_usable(&team, 1);
    assert_eq!(current_mask().unwrap(), before);
    phalanx::run(2, |comm| comm.barrier()).unwrap();
    assert_eq!(current_mask().unwrap(), before);
    // Also a mask that the program chooses by other means, of which the library hears nothing.
    for unit in allowed_pus().unwrap() {
        phalanx::run(2, |comm| comm.barrier()).unwrap();
        assert!(core_affinity::set_for_current(core_affinity::CoreId { id: unit }));
        assert_eq!(allowed_pus().unwrap(), [unit], "the mask from before the run is forgotten");
        restore(&before).unwrap();
    }
    // And one that it chooses by the library, and may choose anew.
    for unit in allowed_pus().unwrap() {
        restore(&[unit]).unwrap();
        phalanx::run(2, |comm| comm.barrier()).unwrap();
        check_usable(&team, 1);
        assert_eq!(current_mask().unwrap(), [unit]);
        assert_eq!(allowed_pus().unwrap(), [unit], "nothing older is remembered");
    }
    restore(&before).unwrap();
}

#[test]
fn what_starts_after_a_run_has_all_cores() {
    let _watch = watch();
    let cores = std::thread::available_parallelism().unwrap().get();
    let team = team(2);
    check_usable(&team, 1);
    assert_eq!(std::thread::available_parallelism().unwrap().get(), cores);
    let pool = rayon::ThreadPoolBuilder::new().build().unwrap();
    assert_eq!(pool.current_num_threads(), cores);
    let mask = current_mask().unwrap();
    let masks = pool.broadcast(|_| current_mask().unwrap());
    assert!(masks.iter().all(|m| *m == mask), "{masks:?}");
    check_usable(&team, 2);
}

#[test]
fn a_caller_that_is_to_stay_bound() {
    let _watch = watch();
    let before = current_mask().unwrap();
    let kept = Team::builder().ranks(2).pin_caller(true).build().unwrap();
    let other = Team::builder().ranks(1).pin_caller(true).build().unwrap();
    let usual = team(2);
    check_usable(&kept, 1);
    let bound = [pus(&kept)[0]];
    assert_eq!(current_mask().unwrap(), bound);
    // Nobody else changes that.
    drop(other);
    check_usable(&usual, 1);
    assert_eq!(current_mask().unwrap(), bound);
    drop(usual);
    phalanx::run(1, |_| ()).unwrap();
    assert_eq!(current_mask().unwrap(), bound);
    assert_eq!(allowed_pus().unwrap(), before);
    // Dropped on another thread, it leaves that one alone.
    std::thread::scope(|s| s.spawn(|| drop(team(1))).join().unwrap());
    assert_eq!(current_mask().unwrap(), bound);
    drop(kept);
    assert_eq!(current_mask().unwrap(), before);
    // Of the next such team the thread is the caller as it was of the first.
    let next = Team::builder().ranks(2).pin_caller(true).build().unwrap();
    check_usable(&next, 1);
    assert_eq!(current_mask().unwrap(), [pus(&next)[0]]);
    drop(next);
    assert_eq!(current_mask().unwrap(), before);
}

#[test]
fn a_rank_that_runs_another_team_keeps_its_core() {
    let _watch = watch();
    let before = current_mask().unwrap();
    let outer = team(2);
    for pin in [None, Some(true), Some(false)] {
        let builder = Team::builder().ranks(2);
        let builder = pin.into_iter().fold(builder, phalanx::Builder::pin_caller);
        let inner = builder.build().unwrap();
        for _ in 0..2 {
            succeeds(&outer, |comm| {
                let mine = current_mask().unwrap();
                if comm.rank() == 1 {
                    inner.run(|inner| inner.barrier()).unwrap();
                }
                assert_eq!(current_mask().unwrap(), mine);
            });
        }
        drop(inner);
        assert_eq!(current_mask().unwrap(), before);
    }
}

/// Teams of one rank each, on as many cores as there are, and one more. The tests of this program
/// run at the same time and take cores, too: only a process of its own can count.
#[test]
fn teams_take_different_cores() {
    const CHILD: &str = "PHALANX_TEST_CORES";
    if std::env::var_os(CHILD).is_none() {
        let child =
            again(module_path!(), "teams_take_different_cores").env(CHILD, "1").output().unwrap();
        let text = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{text}");
        return;
    }
    let _watch = watch();
    let machine = phalanx::machine::Machine::this().unwrap();
    let cores = machine.cores().iter();
    let cores = cores.filter(|c| c.pus.iter().any(|&pu| machine.is_allowed(pu))).count();
    let placements = [Placement::Auto, Placement::Compact, Placement::Scatter, Placement::Ring];
    for placement in placements {
        let one = || Team::builder().ranks(1).placement(placement.clone()).build().unwrap();
        let mut teams: Vec<Team> = (0..cores).map(|_| one()).collect();
        let mut taken: Vec<_> =
            teams.iter().map(|team| machine.core_of(pus(team)[0]).unwrap()).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), cores, "{placement}: each has a core of its own");
        // A core that is given back is the next one's.
        let freed = pus(&teams.remove(cores / 2));
        teams.push(one());
        assert_eq!(pus(teams.last().unwrap()), freed, "{placement}");
        // Two teams from two threads at once, and more than there are cores.
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| check_usable(&Team::builder().ranks(cores).build().unwrap(), 1));
            }
        });
        teams.iter().for_each(|team| check_usable(team, 1));
    }
    // What is asked for by number is had.
    let pu = machine.allowed_pus()[0];
    let list = || Team::builder().ranks(1).placement(Placement::List(vec![pu])).build();
    let (a, b) = (list().unwrap(), list().unwrap());
    assert_eq!((pus(&a), pus(&b)), (vec![pu], vec![pu]));
    // A team that cannot be built takes nothing.
    let absent = Placement::List(vec![usize::MAX]);
    let none = Team::builder().ranks(1).placement(absent).build();
    assert!(matches!(none, Err(Error::Placement(_))));
}

/// Each thread that runs a team has its own mask back.
#[test]
fn callers_on_several_threads() {
    let _watch = watch();
    let team = team(2);
    let runs = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                let before = current_mask().unwrap();
                for _ in 0..20 {
                    team.run_queued(|comm| comm.barrier()).unwrap();
                    assert_eq!(current_mask().unwrap(), before);
                    runs.fetch_add(1, Relaxed);
                }
            });
        }
    });
    assert_eq!(runs.into_inner(), 80);
}
