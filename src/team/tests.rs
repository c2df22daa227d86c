//! Ranks in several NUMA nodes, as if, on any machine; a caller that the system has moved.

use super::Team;
use crate::comm::Roster;
use crate::dist::{Block, chunk};
use crate::error::Error;
use crate::machine::Machine;
use crate::op;
use crate::sync::this_thread;
use std::sync::Arc;

#[test]
fn ranks_come_to_a_place_and_work_as_ever() {
    for ranks in [1, 2, 3, 7] {
        let mut builder = Team::builder().ranks(ranks);
        builder.always_apart = true;
        let team = builder.build().unwrap();
        for round in 0..3 {
            let sums = team.run(|comm| {
                let mut half = comm.split(comm.rank() % 2, comm.rank());
                let mut x = [comm.rank() + round, 1];
                half.all_reduce(&mut x, op::Sum);
                comm.all_reduce(&mut x, op::Max);
                comm.barrier();
                x[1]
            });
            assert_eq!(sums.unwrap(), vec![ranks.div_ceil(2); ranks]);
            // After a failure there are new mailboxes to move into.
            let left = team.run(|comm| {
                if comm.rank() + 1 < comm.size() {
                    comm.barrier();
                }
            });
            assert_eq!(matches!(left, Err(Error::Left { .. })), ranks > 1, "{left:?}");
        }
    }
}

#[test]
fn mailboxes_are_apart_where_ranks_sit_in_several_memories() {
    let machine = Arc::new(Machine::from_synthetic("numa:2 core:2 pu:1").unwrap());
    let roster = |pus: &[Option<usize>]| Roster {
        machine: machine.clone(),
        pus: pus.to_vec(),
        model: None,
        always_apart: false,
    };
    let four = roster(&[Some(0), Some(1), Some(2), Some(3)]);
    assert!(four.spans_numa_nodes(&[0, 1, 2, 3]) && four.spans_numa_nodes(&[1, 2]));
    assert!(
        !four.spans_numa_nodes(&[0, 1])
            && !four.spans_numa_nodes(&[2])
            && !four.spans_numa_nodes(&[])
    );
    assert!(!roster(&[None; 4]).spans_numa_nodes(&[0, 1, 2, 3]), "unpinned ranks are nowhere");
    let crowded = roster(&[Some(0), Some(1), Some(2), Some(3), Some(0)]);
    assert!(!crowded.spans_numa_nodes(&[0, 1, 2, 3, 4]));
}

/// Beside other programs; here because they are told to.
#[cfg(all(target_os = "linux", not(any(miri, shuttle))))]
#[test]
fn ranks_that_roam_stay_in_their_memory_and_come_home() {
    use crate::machine::{
        Level,
        affinity::{allowed_pus, current_mask},
    };
    use crate::placement::Placement;
    let allowed = allowed_pus().unwrap();
    for (is_apart, is_listed) in [(false, false), (true, false), (false, true)] {
        // A list names a unit once.
        for ranks in [1, 2].map(|k| k * allowed.len()).into_iter().take(2 - is_listed as usize) {
            let list = Placement::List(allowed.clone());
            let placement = if is_listed { list } else { Placement::Auto };
            let mut builder = Team::builder().ranks(ranks).placement(placement);
            builder.always_apart = is_apart;
            let (team, meeting) = (builder.build().unwrap(), std::sync::Barrier::new(ranks));
            let before = current_mask().unwrap();
            let seen = team.run(|comm| {
                let rank = comm.rank();
                meeting.wait();
                if rank + 1 == ranks {
                    team.shared.world.roam();
                }
                meeting.wait();
                let seen = (current_mask().unwrap(), team.bindings()[rank].clone());
                meeting.wait();
                seen
            });
            for (rank, (mask, binding)) in seen.unwrap().into_iter().enumerate() {
                let own = binding.pu.unwrap();
                let of = |pu| (0..ranks).find(|&it| team.bindings()[it].pu == Some(pu)).unwrap();
                let memory = |pu| match is_apart {
                    true => Some(of(pu) % 2),
                    false => team.machine().group_of(pu, Level::Numa),
                };
                let is_near = |&pu: &usize| memory(pu) == memory(own);
                let mut range: Vec<usize> = allowed.iter().copied().filter(is_near).collect();
                if is_listed {
                    range = vec![own];
                }
                let roams = (range.len() > 1).then(|| range.clone().into_boxed_slice());
                assert_eq!((mask, binding.roams), (range, roams), "rank {rank}");
                assert_eq!(binding.problem, None);
            }
            let home = |it: &super::Binding| it.problem.is_none() && it.roams.is_none();
            assert!(team.bindings().iter().all(home), "{:?}", team.bindings());
            assert_eq!(current_mask().unwrap(), before);
        }
    }
}

/// Whatever ends a run, its ranks are counted no longer: later ones have cores again.
#[cfg(not(any(miri, shuttle)))]
#[test]
fn a_crowd_goes_when_its_run_ends() {
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "team::tests::a_crowd_alone", "--ignored"]);
    let run = alone.output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}

#[cfg(not(any(miri, shuttle)))]
#[test]
#[ignore = "run by the test above, in a process of its own"]
fn a_crowd_alone() {
    use crate::{Comm, Wait, machine::affinity, wait::is_oversubscribed_by};
    let (small, cores) = (Team::builder().ranks(1).build().unwrap(), || {
        (0..).find(|&more| is_oversubscribed_by(more + 1)).unwrap()
    });
    let all = cores();
    let bodies: [fn(&mut Comm); 5] = [
        |_| (),
        |comm| assert!(comm.rank() != 1, "on purpose"),
        |comm| {
            if comm.rank() == 1 {
                comm.barrier()
            }
        },
        |comm| comm.cancel(),
        |comm| comm.recv(&mut [0_u8], (comm.rank() + 1) % comm.size()),
    ];
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        let team = Team::builder().ranks(all + 1).wait(wait).build().unwrap();
        for body in bodies {
            drop(team.run(|comm| {
                if comm.rank() == 0 {
                    small.run(|_| assert_eq!(cores(), 0)).unwrap();
                    assert!(small.shared.world.is_crowded() && team.shared.world.is_crowded());
                }
                body(comm);
            }));
            assert_eq!(cores(), all);
            small.run(|_| assert_eq!(cores(), all - 1)).unwrap();
            assert!(!small.shared.world.is_crowded());
        }
    }
    // The process has known more cores than there are for this team.
    let allowed = affinity::allowed_pus().unwrap();
    assert!(affinity::change(affinity::thread_number(), &allowed, &allowed[..1]));
    let [one, two] = [1, 2].map(|ranks| Team::builder().ranks(ranks).build().unwrap());
    assert!(affinity::change(affinity::thread_number(), &allowed[..1], &allowed));
    for (team, is_crowded) in [(&one, false), (&two, true), (&one, false)] {
        team.run(|comm| comm.barrier()).unwrap();
        assert_eq!(team.shared.world.is_crowded(), is_crowded);
    }
    // In a run, others leave its ranks one core, or all: a cpuset, `taskset`.
    if allowed.len() == 1 {
        return eprintln!("SKIPPED: one processor");
    }
    let cases = [(2, Wait::Auto), (2, Wait::Park), (3, Wait::Auto), (2 * all + 1, Wait::Auto)];
    for (ranks, wait) in cases {
        let team = Team::builder().ranks(ranks).wait(wait).build().unwrap();
        let (threads, world) = (team.run(|_| affinity::thread_number()), &team.shared.world);
        let follow = |comm: &mut Comm, has_shrunk: bool| {
            let to = if has_shrunk { &allowed[..1] } else { &allowed[..] };
            let change = |&it: &u64| affinity::change(it, &allowed, to);
            let (since, mut agree) = (std::time::Instant::now(), [false]);
            let mut is_due = comm.rank() == 0;
            while !agree[0] {
                assert!(!is_due || threads.iter().flatten().all(change));
                is_due &= has_shrunk; // Again and again: ranks that roam come home.
                assert!(since.elapsed().as_secs() < 60, "{ranks} {wait:?}, {has_shrunk}");
                for late in 0..ranks {
                    comm.barrier();
                    let is_late = |_: &u32| late == comm.rank(); // The others' waits are long.
                    (0..500).filter(is_late).for_each(|_| crate::sync::yield_now());
                }
                let is_home = comm.rank() == 0 || team.bindings()[comm.rank()].problem.is_none();
                let is_crowded = has_shrunk || ranks > allowed.len();
                agree = [world.is_crowded_now() == is_crowded && (has_shrunk || is_home)];
                comm.all_reduce(&mut agree, crate::op::And);
            }
        };
        // In one run, and from one to the next.
        team.run(|comm| [true, false, true, false].map(|it| follow(comm, it))).unwrap();
        for has_shrunk in [true, false] {
            team.run(|comm| follow(comm, has_shrunk)).unwrap();
            team.run(|comm| comm.barrier()).unwrap();
            assert_eq!(world.is_crowded(), has_shrunk || ranks > allowed.len());
        }
    }
}

/// The system may move the caller between two runs, and it is bound in the first of them only.
#[cfg(all(target_os = "linux", not(any(miri, shuttle))))]
#[test]
fn the_caller_touches_its_memory_at_home() {
    use crate::machine::affinity::{allowed_pus, current_mask, current_unit, restore};
    let allowed = allowed_pus().unwrap();
    if allowed.len() < 2 {
        return eprintln!("SKIPPED: one processor");
    }
    #[derive(Clone, Copy)]
    struct Maker(usize);
    impl Default for Maker {
        fn default() -> Self {
            Maker(current_unit().unwrap())
        }
    }
    for (ranks, pins) in [(2, None), (2, Some(true)), (2, Some(false)), (1, None)] {
        let mut builder = Team::builder().ranks(ranks);
        // One memory for each rank.
        builder.always_apart = true;
        builder.pin_caller = pins;
        let team = builder.build().unwrap();
        team.run(|comm| comm.barrier()).unwrap();
        let pus = &team.shared.roster().pus;
        let own = pus[0].unwrap();
        let other = *pus.iter().flatten().chain(&allowed).find(|&&pu| pu != own).unwrap();
        let mask = if pins == Some(true) { own } else { other };
        restore(&[mask]).unwrap();
        let near = if pins == Some(false) { other } else { own };
        let part = crate::dist::Block::new(200, ranks);
        let array = team.distributed(&part, |_| current_unit().unwrap()).unwrap();
        let windows = team.run(|comm| comm.shared::<Maker>(1).mine()[0].0).unwrap();
        assert!(array.part(0).iter().all(|&unit| unit == near), "{pins:?}: {:?}", array.part(0));
        if ranks == 2 {
            assert!(array.part(1).iter().all(|&unit| unit == other), "{pins:?}");
        }
        assert_eq!(windows, [near, other][..ranks], "{pins:?}");
        assert_eq!(current_mask().unwrap(), [mask], "{pins:?}: its own mask again");
        drop(team);
        restore(&allowed).unwrap();
    }
}

/// Even ranks share one copy of a mirrored array, and odd ranks another.
#[test]
fn each_memory_has_a_copy_of_a_mirrored_array() {
    for ranks in [1, 2, 3, 7] {
        let mut builder = Team::builder().ranks(ranks);
        builder.always_apart = true;
        let team = builder.build().unwrap();
        let threads = team.run(|_| this_thread()).unwrap();
        for len in [0, 1, 5, 3000] {
            let array = team.mirrored(len, |i| (i, this_thread())).unwrap();
            assert_eq!(array.copies().len(), ranks.min(2));
            for rank in 0..ranks {
                let near = array.near(rank);
                assert!(near.iter().map(|x| x.0).eq(0..len));
                assert!(std::ptr::eq(near, array.near(rank % 2)), "rank {rank}");
                // Its ranks have made it, in equal parts.
                let makers: Vec<_> = (rank % 2..ranks).step_by(2).map(|of| threads[of]).collect();
                let part = |k| chunk(len, k, makers.len());
                let is_made = |k: usize| near[part(k)].iter().all(|x| x.1 == makers[k]);
                assert!((0..makers.len()).all(is_made), "{ranks} ranks, {len} elements");
            }
            assert!(ranks == 1 || len == 0 || !std::ptr::eq(array.near(0), array.near(1)));
        }
        // A distributed array is one array still, with cuts between memories.
        let whole = team.distributed(&Block::new(1 << 20, ranks), |i| i).unwrap();
        assert!(whole.iter().copied().eq(0..1 << 20));
    }
}

#[test]
fn memories_are_numbered_by_their_first_ranks() {
    let machine = Arc::new(Machine::from_synthetic("numa:3 core:2 pu:1").unwrap());
    let memories = |pus: &[Option<usize>]| {
        let (machine, pus) = (machine.clone(), pus.to_vec());
        Roster { machine, pus, model: None, always_apart: false }.memories()
    };
    assert_eq!(*memories(&[Some(4), Some(0), Some(5), Some(1)]), [0, 1, 0, 1]);
    assert_eq!(*memories(&[Some(0), None, Some(5), Some(2)]), [0, 0, 1, 2]);
    assert_eq!(*memories(&[None; 3]), [0; 3]);
    assert_eq!(*memories(&[None, Some(4), Some(0)]), [0, 0, 1]);
}

/// By the masks of the system.
#[cfg(all(target_os = "linux", not(any(miri, shuttle))))]
#[test]
fn a_caller_that_was_moved_to_a_workers_core_comes_back() {
    use crate::machine::affinity::{current_unit, pin_current_thread, unpin};
    let team = Team::builder().ranks(2).build().unwrap();
    let units = team.shared.roster().pus.clone();
    let &[Some(home), Some(other)] = &units[..] else {
        return eprintln!("skipped: two ranks are not bound here");
    };
    if home == other {
        return eprintln!("skipped: one core");
    }
    let comes_back = |_: &i32| {
        // As the system moves a thread: the mask stays.
        pin_current_thread(other).unwrap();
        unpin().unwrap();
        team.shared.leave_worker(Some(home));
        current_unit() == Some(home)
    };
    // The system may move it at any time.
    assert!((0..40).filter(comes_back).count() > 30);
    let stays = |_: &i32| {
        pin_current_thread(other).unwrap();
        unpin().unwrap();
        team.shared.leave_worker(None);
        current_unit() == Some(other)
    };
    assert!((0..40).filter(stays).count() > 10);
}
