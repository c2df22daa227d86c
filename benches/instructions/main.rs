//! Counts the instructions of a small call in which no rank waits. `tools/instructions` runs this
//! program under callgrind, which counts only inside `counted_*`.
//!
//! `instructions CASE CALLS`. The other ranks are in the call before rank 0 begins it, so that rank
//! 0 never waits: the count is that of the shortest way through the call, and the same each time.
//! Messages are sent and received on one thread that holds both ranks.
//!
//! The case `names` is no count: see `loops_in_closures`.

use phalanx::dist::{Block, Halo, dynamic};
use phalanx::{Comm, Neighborhood, Team, Wait, call, op};
use std::hint::black_box;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::*};

type Call = fn(&mut Comm, &mut [f64]);

/// Name, ranks, the counted call, and the same on a way that is not.
const CASES: &[(&str, usize, Call, Call)] = &[
    ("barrier", 2, counted_barrier, |comm, _| comm.barrier()),
    ("all-reduce-8", 2, counted_all_reduce::<1>, |comm, x| comm.all_reduce(&mut x[..1], op::Sum)),
    ("all-reduce-64", 2, counted_all_reduce::<8>, |comm, x| comm.all_reduce(&mut x[..8], op::Sum)),
    ("all-reduce-8-of-4", 4, counted_all_reduce::<1>, |comm, x| {
        comm.all_reduce(&mut x[..1], op::Sum);
    }),
    ("all-reduce-64-of-4", 4, counted_all_reduce::<8>, |comm, x| {
        comm.all_reduce(&mut x[..8], op::Sum);
    }),
    ("all-gather-8", 2, counted_all_gather, |comm, x| {
        let (mine, all) = x.split_at_mut(1);
        comm.all_gather_into(mine, &mut all[..2]);
    }),
    ("all-gather-8-varied", 2, counted_all_gather_varied, all_gather_varied),
    ("all-to-all-8", 2, counted_all_to_all, all_to_all),
    ("all-to-all-8-varied", 2, counted_all_to_all_varied, all_to_all_varied),
    ("gather-8", 2, counted_gather, gather),
    ("gather-8-varied", 2, counted_gather_varied, gather_varied),
    ("reduce-8", 2, counted_reduce, |comm, x| comm.reduce(&mut x[..1], op::Sum, 1)),
    ("reduce-scatter-8", 2, counted_reduce_scatter, reduce_scatter),
    ("reduce-scatter-8-varied", 2, counted_reduce_scatter_varied, reduce_scatter_varied),
    ("scatter-8", 2, counted_scatter, scatter),
    ("scatter-8-varied", 2, counted_scatter_varied, scatter_varied),
    ("scan-8", 2, counted_scan, |comm, x| comm.scan(&mut x[..1], op::Sum)),
    ("exchange-8", 2, counted_exchange, |comm, x| exchange(comm, x)),
    // With the grid made in the loop, as programs write it; one cell to each side.
    ("halo-8", 2, counted_halo, |comm, x| halo(comm, x)),
    ("cart", 1, counted_cart, |_, _| ()),
    ("started-sum-8", 2, counted_started, started),
    ("started-10-alone", 1, counted_started_anew, |_, _| ()),
    ("persistent-10-alone", 1, counted_persistent, |_, _| ()),
    ("barrier-alone", 1, counted_barrier, |_, _| ()),
    ("all-reduce-8-alone", 1, counted_all_reduce::<1>, |_, _| ()),
    ("barrier-recorded", 1, counted_barrier, |_, _| ()),
    ("all-reduce-8-recorded", 1, counted_all_reduce::<1>, |_, _| ()),
    ("broadcast-8-alone", 1, counted_broadcast, |_, _| ()),
    ("all-gather-8-alone", 1, counted_all_gather, |_, _| ()),
    ("gather-8-varied-alone", 1, counted_gather_varied, |_, _| ()),
    ("fixed-dot-1024-alone", 1, counted_fixed_dot, |_, _| ()),
    // The program beside it: a loop by hand, as the compiler makes it of the baseline's vectors.
    ("dot-1024-by-hand", 1, counted_hand_dot, |_, _| ()),
];

/// `$counted` is counted and calls `$plain`, which has closures: theirs are functions of its name,
/// and must not have that of `$counted`, at which callgrind turns its counting on and off.
macro_rules! counted {
    ($counted:ident, $plain:ident, |$of:ident: $ranks:ty, $x:ident| $body:expr) => {
        #[inline(always)]
        fn $plain($of: $ranks, $x: &mut [f64]) {
            $body
        }

        #[inline(never)]
        fn $counted(ranks: $ranks, x: &mut [f64]) {
            $plain(ranks, x);
        }
    };
}

/// The walks of docs/walks.md (`tools/instructions walk`), and the elements of a rank's vector.
const WALKS: &[(&str, usize, Call, Call)] = &[
    ("walk-all-reduce-8", 1, counted_all_reduce_whole, all_reduce_whole),
    ("walk-all-reduce-4m", (4 << 20) / 8, counted_all_reduce_whole, all_reduce_whole),
    ("walk-ring-all-gather", 2, counted_ring, ring),
];

counted!(counted_all_reduce_whole, all_reduce_whole, |comm: &mut Comm, x| {
    comm.all_reduce(x, op::Sum);
});

counted!(counted_ring, ring, |comm: &mut Comm, x| {
    let own = [x[0]];
    comm.ring().all_gather_into(&own, x);
});

static NUMBERS: [f64; 1024] = [0.5; 1024];

#[inline(never)]
fn counted_fixed_dot(comm: &mut Comm, _: &mut [f64]) {
    black_box(comm.fixed_dot(black_box(&NUMBERS), black_box(&NUMBERS), 0));
}

#[inline(never)]
fn counted_hand_dot(_: &mut Comm, _: &mut [f64]) {
    let (xs, _) = black_box(&NUMBERS).as_chunks::<16>();
    let (ys, _) = black_box(&NUMBERS).as_chunks::<16>();
    let mut sums = [0.0; 16];
    for (x, y) in xs.iter().zip(ys) {
        for k in 0..16 {
            sums[k] += x[k] * y[k];
        }
    }
    black_box(sums.iter().sum::<f64>());
}

#[inline(never)]
fn counted_barrier(comm: &mut Comm, _: &mut [f64]) {
    comm.barrier();
}

#[inline(never)]
fn counted_all_reduce<const N: usize>(comm: &mut Comm, x: &mut [f64]) {
    comm.all_reduce(&mut x[..N], op::Sum);
}

counted!(counted_exchange, exchange, |comm: &mut Comm, x| {
    let (mine, theirs) = x.split_at_mut(1);
    let peer = 1 - comm.rank();
    comm.exchange(mine, peer, &mut theirs[..1], peer);
});

counted!(counted_halo, halo, |comm: &mut Comm, x| {
    static SHAPE: LazyLock<Halo> = LazyLock::new(|| Halo::new(&[62], 1));
    comm.cart(&[0], &[true]).exchange_halo(x, &SHAPE);
});

#[inline(never)]
fn counted_cart(comm: &mut Comm, _: &mut [f64]) {
    black_box(comm.cart(black_box(&[1, 0]), black_box(&[true, false])).dims());
}

#[inline(never)]
fn counted_broadcast(comm: &mut Comm, x: &mut [f64]) {
    comm.broadcast(&mut x[..1], 0);
}

#[inline(never)]
fn counted_reduce(comm: &mut Comm, x: &mut [f64]) {
    comm.reduce(&mut x[..1], op::Sum, 1);
}

#[inline(never)]
fn counted_scan(comm: &mut Comm, x: &mut [f64]) {
    comm.scan(&mut x[..1], op::Sum);
}

// A scope, in which an all-reduce is started and waited for.
counted!(counted_started, started, |comm: &mut Comm, x| {
    let own = x[0];
    [x[0]] = comm.requests(|scope| {
        let request = scope.start(call::sum([own]));
        scope.wait(request)
    });
});

// Ten of them in one scope.
counted!(counted_started_anew, started_anew, |comm: &mut Comm, x| {
    comm.requests(|scope| {
        let mut x = &mut x[..1];
        for _ in 0..10 {
            let request = scope.start(call::all_reduce(x, op::Sum));
            x = scope.wait(request);
        }
    });
});

// The same, set up once.
counted!(counted_persistent, persistent, |comm: &mut Comm, x| {
    comm.requests(|scope| {
        let mut sum = scope.set_up(call::all_reduce(&mut x[..1], op::Sum));
        for _ in 0..10 {
            let request = scope.start(sum);
            sum = scope.wait(request);
        }
    });
});

#[inline(never)]
fn counted_all_gather(comm: &mut Comm, x: &mut [f64]) {
    let (mine, all) = x.split_at_mut(1);
    let p = comm.size();
    comm.all_gather_into(mine, &mut all[..p]);
}

/// Defines a call of blocks, of one element each, by rank 0 (counted) and by the other.
macro_rules! blocks {
    ($counted:ident, $plain:ident, |$comm:ident, $one:ident, $all:ident, $ones:ident| $f:expr) => {
        counted!($counted, $plain, |$comm: &mut Comm, x| {
            let p = $comm.size();
            let ($one, x) = x.split_at_mut(2);
            let ($one, $all) = (&mut $one[..p], &mut x[..p]);
            let $ones = &black_box([1; 2])[..p];
            $f
        });
    };
}

blocks!(counted_all_gather_varied, all_gather_varied, |comm, one, all, ones| {
    comm.all_gather_varied_into(&one[..1], all, ones);
});
blocks!(counted_all_to_all, all_to_all, |comm, one, all, _ones| comm.all_to_all_into(one, all));
blocks!(counted_all_to_all_varied, all_to_all_varied, |comm, one, all, ones| {
    comm.all_to_all_varied_into(one, ones, all, ones);
});
blocks!(counted_gather, gather, |comm, one, all, _ones| comm.gather_into(
    &one[..1],
    all,
    comm.size() - 1
));
blocks!(counted_gather_varied, gather_varied, |comm, one, all, ones| {
    comm.gather_varied_into(&one[..1], all, ones, comm.size() - 1);
});
blocks!(counted_reduce_scatter, reduce_scatter, |comm, one, all, _ones| {
    comm.reduce_scatter_into(all, &mut one[..1], op::Sum);
});
blocks!(counted_reduce_scatter_varied, reduce_scatter_varied, |comm, one, all, ones| {
    comm.reduce_scatter_varied_into(all, &mut one[..1], ones, op::Sum);
});
blocks!(counted_scatter, scatter, |comm, one, all, _ones| {
    comm.scatter_into(all, &mut one[..1], 0);
});
blocks!(counted_scatter_varied, scatter_varied, |comm, one, all, ones| {
    comm.scatter_varied_into(all, &mut one[..1], ones, 0);
});

#[inline(never)]
fn counted_send_recv<const N: usize>(comms: &mut [Comm], x: &mut [f64]) {
    let (a, b) = x.split_at_mut(N);
    comms[0].send(a, 1);
    comms[1].recv(&mut b[..N], 0);
}

#[inline(never)]
fn counted_send_recv_tagged(comms: &mut [Comm], x: &mut [f64]) {
    let (a, b) = x.split_at_mut(1);
    comms[0].send_tagged(a, 1, 7);
    comms[1].recv_tagged(&mut b[..1], 0, 7);
}

// The second one finds the first, which has to wait until it is asked again.
counted!(counted_started_both, started_both, |comms: &mut [Comm], x| {
    let [a, b] = comms else { return };
    let own = x[0];
    a.requests(|first| {
        let request = first.start(call::sum([own]));
        b.requests(|second| {
            let request = second.start(call::sum([own]));
            black_box(second.wait(request));
        });
        black_box(first.wait(request));
    });
});

// Ten on each rank.
counted!(counted_started_both_10, started_both_10, |comms: &mut [Comm], x| {
    let ([a, b], (x, y)) = (comms, x.split_at_mut(1)) else { return };
    let y = &mut y[..1];
    a.requests(|first| {
        b.requests(|second| {
            let (mut x, mut y) = (x, y);
            for _ in 0..10 {
                let one = first.start(call::all_reduce(x, op::Sum));
                let other = second.start(call::all_reduce(y, op::Sum));
                y = second.wait(other);
                x = first.wait(one);
            }
        });
    });
});

// The same, set up once.
counted!(counted_persistent_both_10, persistent_both_10, |comms: &mut [Comm], x| {
    let ([a, b], (x, y)) = (comms, x.split_at_mut(1)) else { return };
    let y = &mut y[..1];
    a.requests(|first| {
        let mut x = first.set_up(call::all_reduce(x, op::Sum));
        b.requests(|second| {
            let mut y = second.set_up(call::all_reduce(y, op::Sum));
            for _ in 0..10 {
                let one = first.start(x);
                let other = second.start(y);
                y = second.wait(other);
                x = first.wait(one);
            }
        });
    });
});

// Ten messages; their receives are posted first.
counted!(counted_started_messages_10, started_messages_10, |comms: &mut [Comm], x| {
    let ([a, b], (x, y)) = (comms, x.split_at_mut(1)) else { return };
    let y = &mut y[..1];
    b.requests(|receiver| {
        a.requests(|sender| {
            let mut y = y;
            for _ in 0..10 {
                let received = receiver.start(call::recv_tagged(y, 0, 7));
                let sent = sender.start(call::send_tagged(&*x, 1, 7));
                sender.wait(sent);
                (y, _) = receiver.wait(received);
            }
        });
    });
});

// The same, set up once.
counted!(counted_persistent_messages_10, persistent_messages_10, |comms: &mut [Comm], x| {
    let ([a, b], (x, y)) = (comms, x.split_at_mut(1)) else { return };
    let y = &mut y[..1];
    b.requests(|receiver| {
        let mut y = receiver.set_up(call::recv_tagged(y, 0, 7));
        a.requests(|sender| {
            let mut x = sender.set_up(call::send_tagged(x, 1, 7));
            for _ in 0..10 {
                let received = receiver.start(y);
                let sent = sender.start(x);
                x = sender.wait(sent);
                y = receiver.wait(received);
            }
        });
    });
});

/// A thousand messages, with tags of their own, received in the order of their sending or the
/// other way about; their receives come after them, or before.
fn messages_1000(comms: &mut [Comm], is_reversed: bool, are_posted: bool) {
    let [a, b] = comms else { return };
    let tags = |is_reversed: bool| (0..1000).map(move |i| if is_reversed { 999 - i } else { i });
    let mut room = [[0u32]; 1000];
    b.requests(|receiver| {
        let send = |a: &mut Comm, is_reversed| {
            tags(is_reversed).for_each(|tag| {
                a.send_tagged(&[tag], 1, tag);
            })
        };
        if !are_posted {
            send(a, false);
        }
        let receives = tags(is_reversed && !are_posted).zip(&mut room);
        let open: Vec<_> = receives
            .map(|(tag, to)| (tag, receiver.start(call::recv_tagged(to, 0, tag))))
            .collect();
        if are_posted {
            send(a, is_reversed);
        }
        for (tag, request) in open {
            let ([got], _) = receiver.wait(request) else { unreachable!("one element") };
            assert_eq!(*got, tag);
        }
    });
}

#[inline(never)]
fn counted_messages_1000(comms: &mut [Comm], _: &mut [f64]) {
    messages_1000(comms, false, false);
}

#[inline(never)]
fn counted_messages_1000_reversed(comms: &mut [Comm], _: &mut [f64]) {
    messages_1000(comms, true, false);
}

#[inline(never)]
fn counted_receives_1000(comms: &mut [Comm], _: &mut [f64]) {
    messages_1000(comms, false, true);
}

#[inline(never)]
fn counted_receives_1000_reversed(comms: &mut [Comm], _: &mut [f64]) {
    messages_1000(comms, true, true);
}

#[inline(never)]
fn counted_broadcasts(comms: &mut [Comm], x: &mut [f64]) {
    comms[0].broadcast(&mut x[..1], 0);
    comms[1].broadcast(&mut x[..1], 0);
}

/// One rank alone: the caller of a run.
#[inline(always)]
fn run(team: &Team) {
    team.run(|_| ()).expect("nothing can go wrong");
}

#[inline(never)]
fn counted_run(team: &Team) {
    run(team);
}

/// A region, of two slices.
type Region = fn(&Team, &mut [f64], &[f64]);

/// Regions of a team of one rank: of slices, and with a value.
const REGIONS: &[(&str, Region)] = &[
    ("run-alone", |team, _, _| counted_run(team)),
    ("run-chunks-alone", counted_run_chunks),
    ("reduce-chunks-alone", counted_reduce_chunks),
];

#[inline(never)]
fn counted_run_chunks(team: &Team, x: &mut [f64], y: &[f64]) {
    let _ = black_box(team.run_chunks((x, y), |_, (x, y), at| x[0] += y[0] + at as f64));
}

#[inline(never)]
fn counted_reduce_chunks(team: &Team, x: &mut [f64], y: &[f64]) {
    let _ = black_box(team.reduce_chunks((&*x, y), |_, (x, y), _| x[0] * y[0], op::Sum));
}

type Both = fn(&mut [Comm], &mut [f64]);

/// Every second element of rank 1's is a ghost on rank 0, and none the other way: too many for a
/// message, and none beside the next, as the cost of copies of runs is the C library's.
const GHOSTS: usize = 130;

#[inline(never)]
fn gather_ghosts(plan: &Neighborhood, comm: &mut Comm, x: &mut [f64]) {
    let (own, ghosts) = x.split_at_mut(plan.owned());
    plan.gather(comm, own, &mut ghosts[..plan.ghosts()]);
}

#[inline(never)]
fn counted_gather_ghosts(plan: &Neighborhood, comm: &mut Comm, x: &mut [f64]) {
    gather_ghosts(plan, comm, x);
}

/// Lets the other ranks go into call `k` before rank 0 does. Whether this is rank 0.
fn goes_last(rank: usize, ranks: usize, k: u64, come: &AtomicU64) -> bool {
    if rank != 0 {
        come.fetch_add(1, Release);
        return false;
    }
    while come.load(Acquire) < k * (ranks as u64 - 1) {
        std::thread::yield_now();
    }
    // They go in now: callgrind runs one thread at a time, in turns.
    (0..3 * (ranks - 1)).for_each(|_| std::thread::yield_now());
    true
}

fn gathers(calls: u64) -> Result<(), phalanx::Error> {
    let come = AtomicU64::new(0);
    let team = Team::builder().ranks(2).wait(Wait::Spin).build()?;
    team.run(|comm| {
        let (rank, n) = (comm.rank(), 2 * GHOSTS);
        let wanted: Vec<usize> = (n..2 * n).step_by(2).filter(|_| rank == 0).collect();
        let plan = comm.ghosts(&Block::new(2 * n, 2), &wanted);
        let x = &mut vec![1.0; 2 * n][..];
        for k in 1..=calls {
            match goes_last(rank, 2, k, &come) {
                true => counted_gather_ghosts(&plan, comm, black_box(x)),
                false => gather_ghosts(&plan, comm, black_box(x)),
            }
        }
    })?;
    Ok(())
}

/// The parts of two ranks on one thread.
const PAIRS: &[(&str, Both)] = &[
    ("send-recv-8", counted_send_recv::<1>),
    ("send-recv-8-recorded", counted_send_recv::<1>),
    ("send-recv-64", counted_send_recv::<8>),
    ("send-recv-tagged-8", counted_send_recv_tagged),
    ("broadcast-8-both", counted_broadcasts),
    ("started-sum-8-both", counted_started_both),
    ("started-10-both", counted_started_both_10),
    ("persistent-10-both", counted_persistent_both_10),
    ("messages-10-both", counted_started_messages_10),
    ("persistent-messages-10", counted_persistent_messages_10),
    ("messages-1000", counted_messages_1000),
    ("messages-1000-reversed", counted_messages_1000_reversed),
    ("receives-1000", counted_receives_1000),
    ("receives-1000-reversed", counted_receives_1000_reversed),
];

/// A loop of a program's, two million instructions and more, in the closure that says it.
macro_rules! own_loop {
    () => {{
        let mut sum = 0.0;
        for i in 1..=black_box(500_000_u32) {
            sum += 1.0 / f64::from(i);
        }
        black_box(sum)
    }};
}

/// Loops in closures of each kind: `tools/instructions` looks under which names they are counted.
fn loops_in_closures() -> Result<(), Box<dyn std::error::Error>> {
    let team = Team::builder().ranks(1).build()?;
    team.run(|_| own_loop!())?;
    team.run(|_| vec![own_loop!()])?;
    team.run_queued(|_| own_loop!())?;
    team.run_with(&mut [0.0], |_, own| *own = own_loop!())?;
    team.run_chunks(&mut [0.0; 2], |_, own, _| own[0] = own_loop!())?;
    team.run_chunks((&mut [0; 2], &[0; 2]), |_, _, _| own_loop!())?;
    team.run_chunks(dynamic(2).cut(&mut [0; 2]), |_, _, _| own_loop!())?;
    team.reduce_chunks(&[0; 2], |_, _, _| own_loop!(), op::Sum)?;
    team.try_run(|_| Ok::<f64, String>(own_loop!()))?;
    team.try_run_with(&mut [0.0], |_, _| Ok::<f64, String>(own_loop!()))?;
    team.try_run_chunks(&mut [0.0; 2], |_, _, _| Ok::<f64, String>(own_loop!()))?;
    team.run(|comm| {
        let x = [1.0; 100];
        comm.requests(|_| own_loop!());
        comm.with_peers(&x, |_| own_loop!());
        comm.with_root(&x, 0, |_| own_loop!());
        comm.with_global(&x, |_| own_loop!());
        comm.overlap(call::all_reduce(&mut [1.0], op::Sum), || own_loop!());
        comm.overlap(call::all_reduce(&mut [1.0; 100], op::Sum), || own_loop!());
        comm.overlap(call::barrier(), || own_loop!());
        comm.phase("own", |_| own_loop!());
        let _ = comm.protect(|_| own_loop!());
        comm.shared::<f64>(1).update(comm, |own| own[0] = own_loop!());
        let plan = comm.ghosts(&Block::new(2, 1), &[]);
        plan.gather_while(comm, &[1.0, 2.0], &mut [], || own_loop!());
        let halo = Halo::new(&[3], 1);
        let cart = &mut comm.cart(&[1], &[true]);
        cart.exchange_halo_while(&mut [1.0; 5], &halo, |_| own_loop!());
    })?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let [name, calls] = &args[..] else {
        let names = CASES.iter().map(|c| c.0).chain(PAIRS.iter().map(|p| p.0));
        let names = names.chain(REGIONS.iter().map(|r| r.0));
        let names = names.chain(["gather-130-ghosts", "names"]);
        println!("{}", names.collect::<Vec<_>>().join(" "));
        return Ok(());
    };
    let calls: u64 = calls.parse()?;
    if let Some((_, pair)) = PAIRS.iter().find(|p| p.0 == name) {
        let mut comms = match name.ends_with("-recorded") {
            true => Team::builder().ranks(2).record("/dev/null").external()?,
            false => Team::external(2)?,
        };
        let x = &mut [1.0; 64][..];
        for _ in 0..calls {
            pair(&mut comms, black_box(x));
        }
        return Ok(());
    }
    if name == "names" {
        return loops_in_closures();
    }
    if let Some((_, region)) = REGIONS.iter().find(|r| r.0 == name) {
        let team = Team::builder().ranks(1).build()?;
        let (mut x, y) = ([1.0; 8], [2.0; 8]);
        (0..calls).for_each(|_| region(black_box(&team), black_box(&mut x), black_box(&y)));
        return Ok(());
    }
    if name == "gather-130-ghosts" {
        return Ok(gathers(calls)?);
    }
    if let Some(&(_, length, call, uncounted)) = WALKS.iter().find(|walk| walk.0 == name) {
        let team = Team::builder().ranks(2).wait(Wait::Spin).build()?;
        let come = AtomicU64::new(0);
        team.run(|comm| {
            let x = &mut vec![1.0; length][..];
            for k in 1..=calls {
                // The work that is done once comes before the last call, which is counted.
                match goes_last(comm.rank(), 2, k, &come) && k == calls {
                    true => call(comm, black_box(x)),
                    false => uncounted(comm, black_box(x)),
                }
            }
        })?;
        return Ok(());
    }
    let Some(&(_, ranks, call, uncounted)) = CASES.iter().find(|c| c.0 == name) else {
        return Err(format!("no case is called {name}").into());
    };
    // With `Spin` nobody is ever to be woken.
    let builder = Team::builder().ranks(ranks).wait(Wait::Spin);
    let team = match name.ends_with("-recorded") {
        true => builder.record("/dev/null").build()?,
        false => builder.build()?,
    };
    let come = AtomicU64::new(0);
    team.run(|comm| {
        let x = &mut [1.0; 64][..];
        for k in 1..=calls {
            match goes_last(comm.rank(), ranks, k, &come) {
                true => call(comm, black_box(x)),
                false => uncounted(comm, x),
            }
        }
    })?;
    Ok(())
}
