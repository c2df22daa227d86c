//! One call, carried out by one rank, and its result compared with the oracle.

use super::element::{Padded, Reduction, Thing, Tick, Triple, Wide, folded, input};
use super::script::{Act, Kind, Way};
use phalanx::model::Rates;
use phalanx::schedule::{Operation, Request};
use phalanx::topology::Extents;
use phalanx::{Algorithm, Comm};
use std::panic::resume_unwind;

/// Carries out `act` on `comm`: in the element type that it says.
pub(crate) fn carry_out(comm: &mut Comm, act: &Act, longer: usize, tick: Tick<'_>) {
    match act.element % 6 {
        0 => typed::<u8>(comm, act, longer, tick),
        1 => typed::<u64>(comm, act, longer, tick),
        2 => typed::<f64>(comm, act, longer, tick),
        3 => typed::<Triple>(comm, act, longer, tick),
        4 => typed::<Padded>(comm, act, longer, tick),
        _ => typed::<Wide>(comm, act, longer, tick),
    }
}

/// A call with everything that it needs; `n` elements in a vector or block.
struct Job<'a> {
    act: &'a Act,
    n: usize,
    which: usize,
    rank: usize,
    p: usize,
    root: usize,
    tick: Tick<'a>,
}

/// Ends the run with a message: not an assertion, whose text would fill the
/// standard error with vectors.
fn wrong(what: &str, act: &Act) -> ! {
    resume_unwind(Box::new(format!("wrong result: {what} in {act:?}")))
}

fn check<T: PartialEq>(what: &str, act: &Act, got: &[T], expected: &[T]) {
    if got != expected {
        wrong(what, act);
    }
}

fn typed<T: Thing>(comm: &mut Comm, act: &Act, longer: usize, tick: Tick<'_>) {
    let (rank, p) = (comm.rank(), comm.size());
    let elements = act.bytes / size_of::<T>();
    let blocks = match act.kind {
        Kind::Collective(op) => op.has_blocks(),
        Kind::Varied(_) | Kind::Peers => true,
        _ => false,
    };
    let job = Job {
        act,
        n: if blocks { elements / p } else { elements } + longer,
        which: act.operator % T::OPERATORS,
        rank,
        p,
        root: act.number % p,
        tick,
    };
    match act.kind {
        Kind::Collective(op) => {
            forced(comm, act, op, T::is_commutative(job.which), |comm| {
                collective::<T>(comm, op, &job);
            });
        }
        Kind::Varied(Operation::AllToAll) => pairs::<T>(comm, &job),
        Kind::Varied(op) => {
            forced(comm, act, op, T::is_commutative(job.which), |comm| varied::<T>(comm, op, &job));
        }
        Kind::Peers => peers::<T>(comm, &job),
        Kind::Root => root::<T>(comm, &job),
        Kind::Exchange => exchange::<T>(comm, &job),
        Kind::Relay => relay::<T>(comm, &job),
        Kind::Split | Kind::Drop => unreachable!("the round does these"),
    }
}

/// Calls `call` with the algorithm that the act asks for, if it can serve.
fn forced(comm: &mut Comm, act: &Act, op: Operation, commutes: bool, call: impl FnOnce(&mut Comm)) {
    let p = comm.size();
    let dims = Extents::squarest(p);
    match act.way {
        Way::Auto => call(comm),
        Way::Ring if commutes => call(&mut comm.ring()),
        Way::Hypercube => call(&mut comm.hypercube()),
        Way::Tree if commutes => call(&mut comm.tree()),
        Way::Mesh if commutes => call(&mut comm.mesh_of(&dims)),
        Way::Cheapest => {
            let rates = Rates { t_s: (act.number % 500) as f64, t_w: 1.0, ports: 1 };
            call(&mut comm.cheapest(rates));
        }
        Way::Named(k) => {
            let request = Request::new(op, p).root(act.number % p).shift(distance(act, p));
            let serves = |a: &Algorithm| {
                let schedule = a.schedule(&request);
                schedule.is_ok_and(|s| commutes || !op.combines() || s.is_ordered())
            };
            let all: Vec<Algorithm> = Algorithm::for_operation(op).filter(serves).collect();
            match all.get(k % all.len().max(1)) {
                Some(&algorithm) => call(&mut comm.with(algorithm)),
                None => call(comm),
            }
        }
        Way::Ring | Way::Tree | Way::Mesh => call(comm),
    }
}

/// Once or twice around, in both directions.
fn distance(act: &Act, p: usize) -> isize {
    (act.number % (4 * p)) as isize - 2 * p as isize
}

fn collective<T: Thing>(comm: &mut Comm, op: Operation, job: &Job<'_>) {
    let &Job { act, n, which, rank: r, p, root, tick } = job;
    let salt = act.salt;
    let own = || input::<T>(salt, r, 0, n);
    let nothing = |n: usize| vec![T::make(0); n];
    let only_root = |x: Vec<T>| if r == root { x } else { vec![] };
    let name = op.name();
    match op {
        Operation::Broadcast => {
            let mut x = own();
            comm.broadcast(&mut x, root);
            check(name, act, &x, &input(salt, root, 0, n));
        }
        Operation::Reduce => {
            let mut x = own();
            T::reduce(comm, which, Reduction::Reduce(&mut x, root), tick);
            let sum = if r == root { folded(salt, 0..p, which, 0, n) } else { own() };
            check(name, act, &x, &sum);
        }
        Operation::AllReduce => {
            let mut x = own();
            T::reduce(comm, which, Reduction::AllReduce(&mut x), tick);
            check(name, act, &x, &folded(salt, 0..p, which, 0, n));
        }
        Operation::Scan => {
            let mut x = own();
            T::reduce(comm, which, Reduction::Scan(&mut x), tick);
            check(name, act, &x, &folded(salt, 0..r + 1, which, 0, n));
        }
        Operation::ExclusiveScan => {
            let mut x = own();
            T::reduce(comm, which, Reduction::ExclusiveScan(&mut x), tick);
            // Rank 0 has the identity, or what it had.
            if r > 0 {
                check(name, act, &x, &folded(salt, 0..r, which, 0, n));
            }
        }
        Operation::ReduceScatter => {
            let (all, mut x) = (input::<T>(salt, r, 0, n * p), nothing(n));
            T::reduce(comm, which, Reduction::ReduceScatter(&all, &mut x), tick);
            check(name, act, &x, &folded(salt, 0..p, which, r * n, n));
            check(name, act, &all, &input(salt, r, 0, n * p));
        }
        Operation::AllGather => {
            let mut all = nothing(n * p);
            comm.all_gather_into(&own(), &mut all);
            check(name, act, &all, &concat(p, |q| input(salt, q, 0, n)));
        }
        Operation::Gather => {
            let mut all = only_root(nothing(n * p));
            comm.gather_into(&own(), &mut all, root);
            check(name, act, &all, &only_root(concat(p, |q| input(salt, q, 0, n))));
        }
        Operation::Scatter => {
            let (all, mut x) = (only_root(input(salt, root, 0, n * p)), nothing(n));
            comm.scatter_into(&all, &mut x, root);
            check(name, act, &x, &input(salt, root, r * n, n));
        }
        Operation::AllToAll => {
            let (send, mut recv) = (input::<T>(salt, r, 0, n * p), nothing(n * p));
            comm.all_to_all_into(&send, &mut recv);
            check(name, act, &recv, &concat(p, |q| input(salt, q, r * n, n)));
        }
        Operation::Shift => {
            let (mut x, distance) = (own(), distance(act, p));
            comm.shift(&mut x, distance);
            let from = (r as isize - distance).rem_euclid(p as isize) as usize;
            check(name, act, &x, &input(salt, from, 0, n));
        }
        Operation::Barrier => comm.barrier(),
        other => unreachable!("no act for {other}"),
    }
}

fn concat<T>(p: usize, block: impl FnMut(usize) -> Vec<T>) -> Vec<T> {
    (0..p).flat_map(block).collect()
}

/// Blocks of 0 to 2n elements; `longer` is in `n` of the odd rank only, so the
/// counts are made from the act.
fn counts(job: &Job<'_>, salt: u64) -> Vec<usize> {
    let mut dice = super::dice::Dice::new(job.act.salt ^ salt);
    (0..job.p).map(|_| dice.roll(2 * job.n + 1)).collect()
}

fn varied<T: Thing>(comm: &mut Comm, op: Operation, job: &Job<'_>) {
    let &Job { act, which, rank: r, p, root, tick, .. } = job;
    let salt = act.salt;
    let counts = counts(job, 0);
    let total: usize = counts.iter().sum();
    let start: usize = counts[..r].iter().sum();
    let n = counts[r];
    let own = || input::<T>(salt, r, 0, n);
    let nothing = |n: usize| vec![T::make(0); n];
    let only_root = |x: Vec<T>| if r == root { x } else { vec![] };
    let gathered = || concat(p, |q| input::<T>(salt, q, 0, counts[q]));
    let name = "uneven blocks";
    match op {
        Operation::AllGather => {
            let mut all = nothing(total);
            comm.all_gather_varied_into(&own(), &mut all, &counts);
            check(name, act, &all, &gathered());
        }
        Operation::Gather => {
            let mut all = only_root(nothing(total));
            comm.gather_varied_into(&own(), &mut all, &counts, root);
            check(name, act, &all, &only_root(gathered()));
        }
        Operation::Scatter => {
            let (all, mut x) = (only_root(input(salt, root, 0, total)), nothing(n));
            comm.scatter_varied_into(&all, &mut x, &counts, root);
            check(name, act, &x, &input(salt, root, start, n));
        }
        _ => {
            let (all, mut x) = (input::<T>(salt, r, 0, total), nothing(n));
            T::reduce(comm, which, Reduction::ReduceScatterVaried(&all, &mut x, &counts), tick);
            check(name, act, &x, &folded(salt, 0..p, which, start, n));
        }
    }
}

/// An all-to-all in which every pair of ranks has a length of its own.
fn pairs<T: Thing>(comm: &mut Comm, job: &Job<'_>) {
    let &Job { act, rank: r, p, .. } = job;
    let from = |q: usize| counts(job, 1 + q as u64);
    let send_counts = from(r);
    let recv_counts: Vec<usize> = (0..p).map(|q| from(q)[r]).collect();
    let send = input::<T>(act.salt, r, 0, send_counts.iter().sum());
    let mut recv = vec![T::make(0); recv_counts.iter().sum()];
    comm.all_to_all_varied_into(&send, &send_counts, &mut recv, &recv_counts);
    let block = |q: usize| {
        let start = from(q)[..r].iter().sum();
        input::<T>(act.salt, q, start, recv_counts[q])
    };
    check("uneven all-to-all", act, &recv, &concat(p, block));
}

fn peers<T: Thing>(comm: &mut Comm, job: &Job<'_>) {
    let &Job { act, rank, tick, .. } = job;
    let counts = counts(job, 0);
    let mine = input::<T>(act.salt, rank, 0, counts[rank]);
    comm.with_peers(&mine, |all| {
        tick();
        for (q, slice) in all.iter().enumerate() {
            check("with_peers", act, slice, &input(act.salt, q, 0, counts[q]));
        }
    });
}

fn root<T: Thing>(comm: &mut Comm, job: &Job<'_>) {
    let &Job { act, n, rank, root, tick, .. } = job;
    let mine = if rank == root { input::<T>(act.salt, root, 0, n) } else { vec![] };
    comm.with_root(&mine, root, |data| {
        tick();
        check("with_root", act, data, &input(act.salt, root, 0, n));
    });
}

fn exchange<T: Thing>(comm: &mut Comm, job: &Job<'_>) {
    let &Job { act, n, rank, p, .. } = job;
    let by = act.number % p;
    let from = (rank + p - by) % p;
    let (mine, mut got) = (input::<T>(act.salt, rank, 0, n), vec![T::make(0); n]);
    comm.exchange(&mine, (rank + by) % p, &mut got, from);
    check("exchange", act, &got, &input(act.salt, from, 0, n));
}

/// From the root to the next rank, and so on, once around.
fn relay<T: Thing>(comm: &mut Comm, job: &Job<'_>) {
    let &Job { act, n, rank, p, root, .. } = job;
    let mut x = if rank == root { input::<T>(act.salt, root, 0, n) } else { vec![T::make(0); n] };
    let place = (rank + p - root) % p;
    if place > 0 {
        comm.recv(&mut x, (rank + p - 1) % p);
    }
    if place + 1 < p {
        comm.send(&x, (rank + 1) % p);
    }
    check("a relay", act, &x, &input(act.salt, root, 0, n));
}
