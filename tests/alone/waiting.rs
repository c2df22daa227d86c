//! Calls and their failures while ranks sleep, as they do beside other busy threads: forced by
//! `PHALANX_TEST_SLEEP`, which the process must have from its start.

use crate::common::on_threads;
use phalanx::{Comm, Error, Team, op};
use std::time::Duration;

#[test]
fn alone() {
    crate::in_a_process(module_path!(), "", Some(("PHALANX_TEST_SLEEP", "1")), 6);
}

fn team(ranks: usize) -> Team {
    let limit = Duration::from_secs(60);
    Team::builder().ranks(ranks).deadline(limit).build().expect("a team")
}

/// Gates, boards, messages; everybody with everybody, from one, to one.
fn calls(comm: &mut Comm) {
    let (rank, p) = (comm.rank(), comm.size());
    for round in 0..20 {
        comm.barrier();
        let mut x = [rank + round];
        comm.all_reduce(&mut x, op::Sum);
        assert_eq!(x[0], p * (p - 1) / 2 + p * round);
        let mut x = vec![(rank + round) as u64; 5000];
        comm.all_reduce(&mut x, op::Max);
        assert_eq!(x, vec![(p - 1 + round) as u64; 5000]);
        let root = round % p;
        let mut x = [if rank == root { round } else { 0 }];
        comm.broadcast(&mut x, root);
        assert_eq!(x, [round]);
        let table = [rank; 3];
        assert_eq!(comm.with_root(&table, root, |table| table[1]), root);
        assert_eq!(
            comm.with_peers(&[rank], |all| (0..p).map(|r| all[r][0]).sum::<usize>()),
            p * (p - 1) / 2
        );
        let mut all = vec![0; if rank == root { 200 * p } else { 0 }];
        comm.gather_into(&[rank; 200], &mut all, root);
        assert!(rank != root || all[200 * p - 1] == p - 1);
        let mut x = [rank];
        comm.shift(&mut x, 1);
        assert_eq!(x, [(rank + p - 1) % p]);
    }
}

#[test]
#[ignore = "run by `alone`"]
fn every_sort_of_call() {
    for p in [2, 3, 4, 7, 16] {
        team(p).run(calls).unwrap_or_else(|e| panic!("{p} ranks: {e}"));
    }
}

#[test]
#[ignore = "run by `alone`"]
fn in_parts() {
    let halves = |comm: &mut Comm| {
        let (rank, p) = (comm.rank(), comm.size());
        calls(&mut comm.split(rank % 2, rank));
        calls(&mut comm.split(rank / 2, rank));
        calls(&mut comm.split(usize::from(rank < p / 3), rank));
    };
    for p in [4, 9, 16] {
        team(p).run(halves).unwrap_or_else(|e| panic!("{p} ranks: {e}"));
    }
}

#[test]
#[ignore = "run by `alone`"]
fn on_threads_of_ones_own() {
    for p in [3, 8] {
        on_threads(Team::external(p).expect("communicators"), |mut comm| calls(&mut comm));
    }
}

#[test]
#[ignore = "run by `alone`"]
fn a_panic_and_a_departure_wake_sleepers() {
    let waits: [fn(&mut Comm); 4] = [
        |comm| comm.barrier(),
        |comm| comm.all_reduce(&mut [0_u64; 9000], op::Sum),
        |comm| comm.broadcast(&mut [0_u64; 9000], 1),
        |comm| comm.split(0, 0).barrier(),
    ];
    for wait in waits {
        let team = team(5);
        let failed = team.run(|comm| {
            if comm.rank() == 1 {
                std::thread::sleep(Duration::from_millis(20));
                panic!("on purpose");
            }
            wait(comm);
        });
        assert!(matches!(failed, Err(Error::Panicked { rank: 1, .. })), "{failed:?}");
        let left = team.run(|comm| {
            if comm.rank() != 1 {
                wait(comm);
            }
        });
        assert!(matches!(left, Err(Error::Left { peer: 1, .. })), "{left:?}");
    }
}

#[test]
#[ignore = "run by `alone`"]
fn a_circle_of_sleepers_is_found() {
    let found = team(4).run(|comm| {
        let before = (comm.rank() + 3) % 4;
        comm.recv(&mut [0_u8], before);
    });
    assert!(matches!(found, Err(Error::Deadlock { .. })), "{found:?}");
}

#[test]
#[ignore = "run by `alone`"]
fn a_deadline_reaches_sleepers() {
    let team = Team::builder().ranks(4).deadline(Duration::from_millis(50)).build();
    let found = team.expect("a team").run(|comm| {
        if comm.rank() == 2 {
            std::thread::sleep(Duration::from_millis(400));
        }
        comm.barrier();
    });
    assert!(matches!(found, Err(Error::Deadline { .. })), "{found:?}");
}
