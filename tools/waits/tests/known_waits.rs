//! Programs with known waits, because a rank sleeps: the record must name the rank, the line
//! and the time. The ranks measure themselves when they came, since a busy machine wakes them late.

mod common;

use common::{TestFile, in_one_of_eight, is_near, recorded, sleep, waited};
use phalanx::{Team, op};
use phalanx_waits::record::END;
use phalanx_waits::summary::{self, By};
use phalanx_waits::wait_state::WaitState;
use std::time::{Duration, Instant};

#[test]
fn the_rank_that_is_late_at_a_barrier_is_named_with_its_line_and_time() {
    in_one_of_eight(late_barrier);
}

fn late_barrier() {
    let mut line = 0;
    let (_, summary, came) = {
        line += line!() + 7;
        recorded("late-barrier", 4, |comm| {
            comm.barrier();
            if comm.rank() == 3 {
                sleep(60);
            }
            let came = Instant::now();
            comm.barrier();
            came
        })
    };
    let first = &summary.culprits[0];
    assert_eq!((first.rank, first.by), (3, By::Work), "{:#?}", summary.culprits);
    assert!(first.at.contains(&format!("known_waits.rs:{line}:")), "{first:?}");
    for rank in 0..3 {
        let waited = waited(&summary, rank, 3, &first.at);
        let wanted = came[3] - came[rank];
        assert!(is_near(waited, wanted), "rank {rank} waited {waited} ns for {wanted:?}");
    }
    let row = summary.calls.iter().find(|row| row.at == first.at).unwrap();
    assert_eq!(row.waiting.iter().max_by_key(|it| it.1).unwrap().0, WaitState::Barrier);
    // And the run is as long as it is because of that.
    let path = &summary.path[0];
    assert_eq!((path.rank, path.by, &path.at), (3, By::Work, &first.at));
    assert!(path.time > 50_000_000, "{path:?}");
}

#[test]
fn a_pipeline_waits_for_its_first_rank() {
    in_one_of_eight(pipeline);
}

fn pipeline() {
    let (run, summary, came) = recorded("pipeline", 4, |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        comm.barrier();
        let mut x = [0_u64; 8];
        if rank == 0 {
            sleep(80);
        }
        let came = Instant::now();
        if rank > 0 {
            comm.recv(&mut x, rank - 1);
        }
        if rank + 1 < size {
            comm.send(&x, rank + 1);
        }
        came
    });
    let first = &summary.culprits[0];
    // Ranks 2 and 3 wait for 1 and 2, which wait themselves: it is rank 0's work in the end.
    assert_eq!((first.rank, first.by, first.call.as_str()), (0, By::Work, "send of u64"));
    for rank in 1..4 {
        let waited = waited(&summary, rank, 0, &first.at);
        let wanted = came[0] - came[rank];
        assert!(is_near(waited, wanted), "rank {rank} waited {waited} ns for {wanted:?}");
        let late = &summary.late[rank];
        assert!(late.iter().any(|it| it.state == WaitState::LateSender && it.culprit == rank - 1));
    }
    assert!(summary.ranks[0].caused > 150_000_000, "{:?}", summary.ranks[0]);
    let recv = summary.lines[1].calls.iter().find(|call| run.text(call.name) == "recv").unwrap();
    assert_eq!((recv.bytes, recv.peer), (64, Some(0)));
}

#[test]
fn a_reduction_a_broadcast_and_a_long_message_have_their_states() {
    in_one_of_eight(states);
}

fn states() {
    let (_, summary, _) = recorded("states", 3, |comm| {
        let rank = comm.rank();
        comm.barrier();
        if rank == 2 {
            sleep(40);
        }
        comm.reduce(&mut [1.0; 4], op::Sum, 0);
        comm.barrier();
        if rank == 1 {
            sleep(40);
        }
        comm.broadcast(&mut [0.0; 4], 1);
        comm.barrier();
        // Longer than a buffered message.
        let mut long = vec![0_u8; 100_000];
        match rank {
            0 => comm.send(&long, 1),
            1 => {
                sleep(40);
                comm.recv(&mut long, 0);
            }
            _ => {}
        }
        comm.barrier();
        if rank == 0 {
            sleep(40);
        }
        comm.all_reduce(&mut [1.0; 4], op::Sum);
    });
    let longest = |rank: usize, state: WaitState| {
        let late = summary.late[rank].iter().filter(|it| it.state == state);
        late.max_by_key(|it| it.end - it.begin).map(|it| (it.culprit, it.end - it.begin))
    };
    let ms = 1_000_000;
    for (rank, state, culprit) in [
        (0, WaitState::EarlyReduce, 2),
        (0, WaitState::LateBroadcast, 1),
        (2, WaitState::LateBroadcast, 1),
        (0, WaitState::LateReceiver, 1),
        (1, WaitState::NxN, 0),
        (2, WaitState::NxN, 0),
    ] {
        let Some((whom, time)) = longest(rank, state) else { panic!("{rank} {state:?}") };
        assert_eq!(whom, culprit, "{rank} {state:?}");
        assert!(time > 20 * ms, "{rank} {state:?}: {time} ns");
    }
}

#[test]
fn an_unbalanced_halo_shows_in_its_phase() {
    in_one_of_eight(unbalanced_halo);
}

fn unbalanced_halo() {
    const ROUNDS: usize = 3;
    let (_, summary, slept) = recorded("halo", 3, |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let mut slept = Duration::ZERO;
        for _ in 0..ROUNDS {
            comm.phase("compute", |_| slept += sleep(if rank == 1 { 60 } else { 20 }));
            comm.cart(&[0], &[true]).phase("halo", |comm| {
                let mut got = [0.0; 4];
                comm.exchange(&[1.0; 4], (rank + 1) % size, &mut got, (rank + size - 1) % size);
                comm.exchange(&[1.0; 4], (rank + size - 1) % size, &mut got, (rank + 1) % size);
            });
        }
        slept
    });
    let compute = summary.phases.iter().find(|row| row.name == "compute").unwrap();
    for (rank, slept) in slept.iter().enumerate() {
        let work = compute.spent[rank].work;
        assert!(is_near(work, *slept), "rank {rank}: {work} ns for {slept:?}");
    }
    let mean = slept.iter().sum::<Duration>() / 3;
    let wanted = slept[1].as_secs_f64() / mean.as_secs_f64();
    assert!((compute.imbalance() / wanted - 1.0).abs() < 0.1, "{} {wanted}", compute.imbalance());
    assert_eq!(compute.longest().0, 1);
    assert!(compute.on_path > 170_000_000, "{compute:?}");
    assert!(is_near(compute.balance_saves(), slept[1] - mean), "{}", compute.balance_saves());
    let first = &summary.culprits[0];
    assert_eq!((first.rank, first.by, first.phase.as_str()), (1, By::Work, "compute"));
    let halo = summary.phases.iter().find(|row| row.name == "halo").unwrap();
    assert!(halo.spent[0].waiting > 60_000_000, "{halo:?} {slept:?}");
}

#[test]
fn the_path_and_the_ranks_times_add_up() {
    let (_, summary, _) = recorded("sums", 3, |comm| {
        for round in 0..20 {
            if comm.rank() == round % 3 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let mut x = vec![1.0; 1 << (round % 12)];
            comm.all_reduce(&mut x, op::Sum);
            comm.with_peers(&x, |peers| peers[0].len());
        }
        comm.split(comm.rank() % 2, 0).barrier();
    });
    for (rank, line) in summary.lines.iter().enumerate() {
        let spent = summary.ranks[rank].spent;
        let all = spent.work + spent.transfer + spent.waiting + spent.late_start;
        assert_eq!(all, line.over - line.dispatched);
        let by_phase: u64 = summary.phases.iter().map(|row| row.spent[rank].work).sum();
        assert_eq!(by_phase, spent.work);
    }
    let pieces: u64 = summary.pieces.iter().map(|it| it.end - it.begin).sum();
    let first = summary.pieces[0].begin;
    let last = summary.lines.iter().map(|line| line.ended).max().unwrap();
    assert_eq!(pieces, last - first);
    assert_eq!(summary.path.iter().map(|row| row.time).sum::<u64>(), pieces);
    assert!(summary.pieces.windows(2).all(|two| two[0].end == two[1].begin));
}

#[test]
fn a_failed_run_and_a_full_ring_are_recorded_and_runs_are_appended() {
    let file = TestFile::new("failed");
    let team = Team::builder().ranks(2).record(&file.0).record_events(10).build().unwrap();
    let error = team.run(|comm| {
        (0..50).for_each(|_| comm.barrier());
        assert_eq!(comm.rank(), 0, "rank 1 fails");
        comm.barrier();
    });
    let error = error.unwrap_err().to_string();
    team.run(|comm| comm.barrier()).unwrap();
    let runs = file.runs();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].outcome, error);
    for rank in &runs[0].ranks {
        assert!(rank.lost >= 40 && rank.events.len() == 10, "{rank:?}");
    }
    assert_eq!((runs[1].outcome.as_str(), runs[1].ranks[1].lost), ("", 0));
    assert!(!runs[1].ranks[1].events.is_empty());
    summary::read(&runs[0]);
}

#[test]
fn threads_of_ones_own_are_recorded_when_the_last_has_gone() {
    let file = TestFile::new("external");
    let builder = Team::builder().ranks(2).record(&file.0);
    let comms = builder.external().unwrap();
    std::thread::scope(|s| {
        for mut comm in comms {
            s.spawn(move || {
                if comm.rank() == 1 {
                    sleep(30);
                }
                comm.barrier();
            });
        }
    });
    let runs = file.runs();
    assert_eq!((runs.len(), runs[0].ranks.len()), (1, 2));
    let summary = summary::read(&runs[0]);
    let late = &summary.late[0][0];
    assert_eq!((late.state, late.culprit), (WaitState::Barrier, 1));
}

#[test]
fn a_team_of_one_a_sub_communicator_and_calls_in_calls_are_recorded() {
    let (run, summary, _) = recorded("alone", 1, |comm| {
        comm.all_reduce(&mut [1], op::Sum);
        comm.barrier();
    });
    let names: Vec<&str> = summary.lines[0].calls.iter().map(|call| run.text(call.name)).collect();
    assert_eq!(names, ["all_reduce", "barrier", END]);
    let (run, summary, _) = recorded("nested", 4, |comm| {
        let mut half = comm.split(comm.rank() % 2, 0);
        comm.with_peers(&[1], |_| half.barrier());
    });
    for line in &summary.lines {
        let names: Vec<&str> = line.calls.iter().map(|call| run.text(call.name)).collect();
        assert_eq!(names, ["split", "split", "with_peers", "barrier", END]);
        let (outer, inner) = (&line.calls[2], &line.calls[3]);
        assert!(outer.begin <= inner.begin && inner.end <= outer.end, "{outer:?} {inner:?}");
        assert_ne!(outer.comm, inner.comm);
    }
}

/// Whole sections only, whichever comes first; and a panic is one run's.
#[test]
fn teams_write_to_one_file() {
    const RUNS: usize = 20;
    let file = TestFile::new("teams");
    std::thread::scope(|s| {
        for ranks in [1, 2, 5] {
            let team = Team::builder().ranks(ranks).record(&file.0).build().unwrap();
            s.spawn(move || {
                for run in 0..RUNS {
                    let result = team.run(|comm| {
                        comm.barrier();
                        assert!(run != 7 || comm.rank() > 0, "rank 0 fails in run 7");
                        comm.all_reduce(&mut [1.0; 100], op::Sum);
                    });
                    assert_eq!(result.is_err(), run == 7);
                }
            });
        }
    });
    let runs = file.runs();
    assert_eq!(runs.len(), 3 * RUNS);
    for ranks in [1, 2, 5] {
        let its: Vec<_> = runs.iter().filter(|run| run.ranks.len() == ranks).collect();
        assert_eq!(its.len(), RUNS);
        assert!(its.windows(2).all(|two| two[0].team == two[1].team && two[0].run < two[1].run));
        assert_eq!(its.iter().filter(|run| run.outcome.contains("fails in run 7")).count(), 1);
    }
    runs.iter().for_each(|run| drop(summary::read(run)));
}

#[test]
fn a_file_that_cannot_be_opened_and_a_rank_that_calls_nothing() {
    let error = Team::builder().ranks(1).record("/no/such/folder/run.phx").build().unwrap_err();
    assert!(error.to_string().contains("/no/such/folder/run.phx"), "{error}");
    assert!(matches!(error, phalanx::Error::Record { .. }));
    let many = Team::builder().ranks(1).record("/dev/null").record_events(usize::MAX);
    let error = many.build().unwrap_err().to_string();
    assert!(error.contains("events of each rank are more than 16777216"), "{error}");
    let (run, summary, _) = recorded("nothing", 6, |_| sleep(2));
    assert!(run.ranks.iter().all(|rank| rank.events.is_empty() && rank.lost == 0));
    assert!(summary.calls.iter().all(|row| row.call == END), "{:?}", summary.calls);
    assert!(summary.length >= 2_000_000, "{}", summary.length);
}
