//! Counts the instructions of a small call in which no rank waits. `tools/instructions` runs this
//! program under callgrind, which counts only inside `counted_*`.
//!
//! `instructions CASE CALLS`. Rank 1 is in the call before rank 0 begins it, so that rank 0 never
//! waits: the count is that of the shortest way through the call, and the same each time. Messages
//! are sent and received on one thread that holds both ranks.

use phalanx::{Comm, Team, Wait, op};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::*};

type Call = fn(&mut Comm, &mut [f64]);

/// Name, ranks, what is counted, and the same on a way that is not.
const CASES: &[(&str, usize, Call, Call)] = &[
    ("barrier", 2, counted_barrier, |comm, _| comm.barrier()),
    ("all-reduce-8", 2, counted_all_reduce::<1>, |comm, x| comm.all_reduce(&mut x[..1], op::Sum)),
    ("all-reduce-64", 2, counted_all_reduce::<8>, |comm, x| comm.all_reduce(&mut x[..8], op::Sum)),
    ("all-gather-8", 2, counted_all_gather, |comm, x| {
        let (mine, all) = x.split_at_mut(1);
        comm.all_gather_into(mine, &mut all[..2]);
    }),
    ("scan-8", 2, counted_scan, |comm, x| comm.scan(&mut x[..1], op::Sum)),
    ("started-sum-8", 2, counted_started, counted_started),
    ("started-10-alone", 1, counted_started_anew, |_, _| ()),
    ("persistent-10-alone", 1, counted_persistent, |_, _| ()),
    ("barrier-alone", 1, counted_barrier, |_, _| ()),
    ("all-reduce-8-alone", 1, counted_all_reduce::<1>, |_, _| ()),
    ("broadcast-8-alone", 1, counted_broadcast, |_, _| ()),
    ("all-gather-8-alone", 1, counted_all_gather, |_, _| ()),
];

#[inline(never)]
fn counted_barrier(comm: &mut Comm, _: &mut [f64]) {
    comm.barrier();
}

#[inline(never)]
fn counted_all_reduce<const N: usize>(comm: &mut Comm, x: &mut [f64]) {
    comm.all_reduce(&mut x[..N], op::Sum);
}

#[inline(never)]
fn counted_broadcast(comm: &mut Comm, x: &mut [f64]) {
    comm.broadcast(&mut x[..1], 0);
}

#[inline(never)]
fn counted_scan(comm: &mut Comm, x: &mut [f64]) {
    comm.scan(&mut x[..1], op::Sum);
}

/// A scope, in which an all-reduce is started and waited for.
#[inline(never)]
fn counted_started(comm: &mut Comm, x: &mut [f64]) {
    let own = x[0];
    [x[0]] = comm.requests(|scope| {
        let request = scope.sum([own]);
        scope.wait(request)
    });
}

/// Ten of them in one scope.
#[inline(never)]
fn counted_started_anew(comm: &mut Comm, x: &mut [f64]) {
    comm.requests(|scope| {
        let mut x = &mut x[..1];
        for _ in 0..10 {
            let request = scope.all_reduce(x, op::Sum);
            x = scope.wait(request);
        }
    });
}

/// The same, set up once.
#[inline(never)]
fn counted_persistent(comm: &mut Comm, x: &mut [f64]) {
    comm.requests(|scope| {
        let mut sum = scope.persistent_all_reduce(&mut x[..1], op::Sum);
        for _ in 0..10 {
            let request = scope.start(sum);
            sum = scope.wait(request);
        }
    });
}

#[inline(never)]
fn counted_all_gather(comm: &mut Comm, x: &mut [f64]) {
    let (mine, all) = x.split_at_mut(1);
    let p = comm.size();
    comm.all_gather_into(mine, &mut all[..p]);
}

#[inline(never)]
fn counted_send_recv<const N: usize>(comms: &mut [Comm], x: &mut [f64]) {
    let (a, b) = x.split_at_mut(N);
    comms[0].send(a, 1);
    comms[1].recv(&mut b[..N], 0);
}

#[inline(never)]
fn counted_broadcasts(comms: &mut [Comm], x: &mut [f64]) {
    comms[0].broadcast(&mut x[..1], 0);
    comms[1].broadcast(&mut x[..1], 0);
}

/// One rank alone: what the caller of a run does.
#[inline(never)]
fn counted_run(team: &Team) {
    team.run(|_| ()).expect("nothing can go wrong");
}

type Both = fn(&mut [Comm], &mut [f64]);

/// What two ranks on one thread do.
const PAIRS: &[(&str, Both)] = &[
    ("send-recv-8", counted_send_recv::<1>),
    ("send-recv-64", counted_send_recv::<8>),
    ("broadcast-8-both", counted_broadcasts),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let [name, calls] = &args[..] else {
        let names = CASES.iter().map(|c| c.0).chain(PAIRS.iter().map(|p| p.0)).chain(["run-alone"]);
        println!("{}", names.collect::<Vec<_>>().join(" "));
        return Ok(());
    };
    let calls: u64 = calls.parse()?;
    if let Some((_, pair)) = PAIRS.iter().find(|p| p.0 == name) {
        let mut comms = Team::external(2)?;
        let x = &mut [1.0; 64][..];
        for _ in 0..calls {
            pair(&mut comms, black_box(x));
        }
        return Ok(());
    }
    if name == "run-alone" {
        let team = Team::builder().ranks(1).build()?;
        (0..calls).for_each(|_| counted_run(black_box(&team)));
        return Ok(());
    }
    let Some(&(_, ranks, call, uncounted)) = CASES.iter().find(|c| c.0 == name) else {
        return Err(format!("no case is called {name}").into());
    };
    // With `Spin` nobody is ever to be woken.
    let team = Team::builder().ranks(ranks).wait(Wait::Spin).build()?;
    let come = AtomicU64::new(0);
    team.run(|comm| {
        let x = &mut [1.0; 64][..];
        for k in 1..=calls {
            if comm.rank() == 1 {
                come.store(k, Release);
                uncounted(comm, x);
                continue;
            }
            while ranks == 2 && come.load(Acquire) < k {
                std::thread::yield_now();
            }
            // Rank 1 goes in now.
            (0..20 * (ranks - 1)).for_each(|_| std::thread::yield_now());
            call(comm, black_box(x));
        }
    })?;
    Ok(())
}
