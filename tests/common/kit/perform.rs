//! Carries out one call on one rank, and compares its result with the oracle.

use super::dice::{Dice, mix};
use super::elements::{Canary, Reduction, Thing, Tick, buffers, folded, input};
use super::one_call::{Buffers, OneCall};
use super::program::{Act, CallKind, CallWay};
use super::run::RunNotes;
use super::started::StartedCalls;
use phalanx::dist::{Block, Distribution, Halo};
use phalanx::schedule::{Hierarchy, Operation, Request};
use phalanx::topology::Extents;
use phalanx::{Algorithm, Comm, Order, call, op};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::panic::resume_unwind;

/// An element type: the call in it, and the work beside the call.
pub(crate) struct Sort {
    call: fn(&mut Comm, &Act, usize, Tick<'_>),
    work: fn(&Act, usize, usize),
}

impl Sort {
    pub(crate) const fn of<T: Thing>() -> Self {
        Sort { call: typed::<T>, work: typed_work::<T> }
    }
}

/// Carries out `act` on `comm`: in the one of `sorts` that it says.
pub(crate) fn carry_out(sorts: &[Sort], comm: &mut Comm, act: &Act, longer: usize, tick: Tick<'_>) {
    (sorts[act.element % sorts.len()].call)(comm, act, longer, tick);
}

/// The work of rank `rank` of `p` in `act` beside the call: it makes its vector, and those of the
/// oracle.
pub(crate) fn work(sorts: &[Sort], act: &Act, rank: usize, p: usize) {
    (sorts[act.element % sorts.len()].work)(act, rank, p);
}

fn typed_work<T: Thing>(act: &Act, rank: usize, p: usize) {
    let combines = match act.kind {
        CallKind::Collective(op) | CallKind::Varied(op) => op.combines(),
        CallKind::While => !is_overlapped_barrier(act),
        CallKind::Whole | CallKind::Started => true,
        CallKind::Split | CallKind::Drop => return,
        _ => false,
    };
    let (n, which) = (length::<T>(act, p), act.operator % T::OPERATORS);
    let blocks = if has_blocks(act.kind) { p } else { 1 };
    let own = input::<T>(act.salt, rank, 0, n * blocks);
    let mut result = vec![T::make(0); own.len()];
    result.copy_from_slice(black_box(&own));
    let oracle: Vec<T> = (0..blocks).flat_map(|q| input(act.salt, rank, q * n, n)).collect();
    if black_box(result) != oracle {
        wrong("a copy", act);
    }
    if combines {
        black_box(folded::<T>(act.salt, 0..p, which, 0, n));
    }
}

/// Whether the larger buffer has a block for each rank.
fn has_blocks(kind: CallKind) -> bool {
    use CallKind::{Collective, Ghosts, Global, Peers, Started, Varied, Whole, Window};
    match kind {
        Collective(op) => op.has_blocks(),
        Varied(_) | Peers | Global | Window | Whole | Ghosts | Started => true,
        _ => false,
    }
}

/// Elements of a vector or block. Those of no bytes are counted as if they had some: they cost
/// nothing to move, but the oracle looks at each.
fn length<T>(act: &Act, p: usize) -> usize {
    const NO_BYTES: usize = 256;
    let bytes = if size_of::<T>() == 0 { NO_BYTES } else { size_of::<T>() };
    act.bytes / bytes / if has_blocks(act.kind) { p } else { 1 }
}

/// A call with everything that it needs; `n` elements in a vector or block, `longer` of which the
/// other ranks do not have.
struct RankCall<'a> {
    act: &'a Act,
    n: usize,
    longer: usize,
    which: usize,
    rank: usize,
    p: usize,
    root: usize,
    tick: Tick<'a>,
}

impl RankCall<'_> {
    fn check<T: PartialEq>(&self, what: &str, got: &[T], wanted: &[T]) {
        if got != wanted {
            wrong(what, self.act);
        }
    }

    /// Elements of a rank, of which there are `n`.
    fn check_view<T: Thing>(&self, what: &str, got: &[T], salt: u64, rank: usize, n: usize) {
        self.check(what, got, &input(salt, rank, 0, n));
    }

    /// Elements of a rank, which are overwritten before they are freed.
    fn own<T: Thing>(&self, rank: usize, n: usize) -> Canary<T> {
        Canary(input(self.act.salt, rank, 0, n))
    }

    /// Place for elements, which is overwritten, too.
    fn place<T: Thing>(&self, n: usize) -> Canary<T> {
        Canary(vec![T::make(0); n])
    }

    /// The elements of all ranks.
    fn all<T: Thing>(&self, count: impl Fn(usize) -> usize) -> Vec<T> {
        (0..self.p).flat_map(|q| input(self.act.salt, q, 0, count(q))).collect()
    }
}

/// Ends the run with a message: no assertion, as its text would fill the
/// standard error with vectors.
fn wrong(what: &str, act: &Act) -> ! {
    let text = format!("wrong result: {what} in {act:?}");
    RunNotes::mishap(text.clone());
    resume_unwind(Box::new(text))
}

fn typed<T: Thing>(comm: &mut Comm, act: &Act, longer: usize, tick: Tick<'_>) {
    let (rank, p) = (comm.rank(), comm.size());
    let call = RankCall {
        act,
        n: length::<T>(act, p) + longer,
        longer,
        which: act.operator % T::OPERATORS,
        rank,
        p,
        root: act.number % p,
        tick,
    };
    match act.kind {
        CallKind::Collective(op) => {
            let v = if op == Operation::Shift { distance(act, p) } else { call.root as isize };
            let it = OneCall::new(comm, op, v, call.n);
            forced(comm, act, op, T::is_commutative(call.which), |comm| {
                collective::<T>(comm, &it, &call);
            });
        }
        CallKind::Varied(op) => {
            let it = OneCall::varied(comm, op, call.root as isize, &counts(&call));
            match op {
                Operation::AllToAll => collective::<T>(comm, &it, &call),
                _ => forced(comm, act, op, T::is_commutative(call.which), |comm| {
                    collective::<T>(comm, &it, &call)
                }),
            }
        }
        CallKind::Peers => peers::<T>(comm, &call),
        CallKind::Root => root::<T>(comm, &call),
        CallKind::Global => global::<T>(comm, &call),
        CallKind::Window => window::<T>(comm, &call),
        CallKind::While => overlap::<T>(comm, &call),
        // A block of it is combined in lanes, by value: in a build without optimisation some of
        // these fill a thread's stack.
        CallKind::Whole if size_of::<T>() > 4096 => overlap::<T>(comm, &call),
        CallKind::Whole => whole::<T>(comm, &call),
        CallKind::Halo => halo::<T>(comm, &call),
        CallKind::Ghosts => ghosts::<T>(comm, &call),
        CallKind::Exchange => exchange::<T>(comm, &call),
        CallKind::Relay => relay::<T>(comm, &call),
        CallKind::Tagged => tagged::<T>(comm, &call),
        CallKind::Started => started::<T>(comm, &call),
        CallKind::Split | CallKind::Drop => unreachable!("the round does these"),
    }
}

/// Calls `call` with the algorithm that the act asks for, if it can serve.
fn forced(comm: &mut Comm, act: &Act, op: Operation, commutes: bool, call: impl FnOnce(&mut Comm)) {
    let p = comm.size();
    let dims = Extents::squarest(p);
    let request = Request::new(op, p).root(act.number % p).shift(distance(act, p));
    let serves = |request: &Request, a: &Algorithm| {
        let schedule = a.schedule(request);
        schedule.is_ok_and(|s| commutes || !op.combines() || s.is_ordered())
    };
    match act.way {
        CallWay::Auto => call(comm),
        CallWay::Ring if commutes => call(&mut comm.ring()),
        CallWay::Hypercube => call(&mut comm.hypercube()),
        CallWay::Tree if commutes => call(&mut comm.tree()),
        CallWay::Mesh if commutes => call(&mut comm.mesh_of(&dims)),
        CallWay::Fixed => call(&mut comm.with_order(Order::Fixed)),
        CallWay::Groups(k) => {
            let groups = Hierarchy::even(p, &[1 + k % 4, 1 + k / 4 % 4]);
            let request = request.levels(groups.clone());
            let fits = |a: Algorithm| !a.uses_levels() || serves(&request, &a);
            if Algorithm::for_operation(op).all(fits) {
                call(&mut comm.groups(&groups));
            } else {
                call(comm);
            }
        }
        CallWay::Named(k) => {
            let serves = |a: &Algorithm| serves(&request, a);
            let all: Vec<Algorithm> = Algorithm::for_operation(op).filter(serves).collect();
            match all.get(k % all.len().max(1)) {
                Some(&algorithm) => call(&mut comm.with(algorithm)),
                None => call(comm),
            }
        }
        CallWay::Ring | CallWay::Tree | CallWay::Mesh => call(comm),
    }
}

/// Once or twice around, in both directions.
fn distance(act: &Act, p: usize) -> isize {
    (act.number % (4 * p)) as isize - 2 * p as isize
}

fn collective<T: Thing>(comm: &mut Comm, it: &OneCall, call: &RankCall<'_>) {
    let &RankCall { act, which, tick, .. } = call;
    let Buffers { input, output, wanted } = buffers::<T>(it, act.salt, which);
    let (input, mut output) = (Canary(input), Canary(output));
    let before = input.to_vec();
    T::reduce(comm, which, Reduction::Of(it, (&input, &mut output)), tick);
    call.check(it.operation.name(), &output, &wanted);
    call.check("an input", &input, &before);
}

/// Blocks of 0 to 2n elements, and on the odd rank of one more, each of them.
fn counts(call: &RankCall<'_>) -> Vec<usize> {
    let mut dice = Dice::of_seed(call.act.salt);
    let n = call.n - call.longer;
    (0..call.p).map(|_| dice.below(2 * n + 1) + call.longer).collect()
}

fn peers<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let counts = counts(call);
    comm.with_peers(&call.own::<T>(call.rank, counts[call.rank]), |all| {
        (call.tick)();
        for (q, slice) in all.iter().enumerate() {
            call.check_view("with_peers", slice, call.act.salt, q, counts[q]);
        }
    });
}

/// Parts that are written twice, and counters that all ranks raise.
fn window<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { act, rank, p, tick, .. } = call;
    let counts = counts(call);
    let mut window = comm.shared_from(&call.own::<T>(rank, counts[rank]));
    let mut counters = comm.shared_atomic::<u64>(1);
    for salt in [act.salt, act.salt ^ 1] {
        if salt != act.salt {
            let mine = input::<T>(salt, rank, 0, counts[rank]);
            window.update(comm, |part| {
                tick();
                part.copy_from_slice(&mine);
            });
        }
        for (q, part) in window.parts().iter().enumerate() {
            call.check_view("a window", part, salt, q, counts[q]);
            counters.part(q)[0].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let raised = counters.read(comm, |all| (0..p).map(|q| all[q][0]).collect::<Vec<u64>>());
    call.check("a window of atomics", &raised, &vec![2 * p as u64; p]);
}

fn root<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { act, n, rank, root, .. } = call;
    let mine = call.own::<T>(root, if rank == root { n } else { 0 });
    comm.with_root(&mine, root, |data| {
        (call.tick)();
        call.check_view("with_root", data, act.salt, root, n);
    });
}

/// Everybody's slices as one array.
fn global<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    comm.with_global(&call.own::<T>(call.rank, call.n), |all| {
        (call.tick)();
        let copy: Vec<T> = (0..all.len()).map(|i| all[i]).collect();
        call.check("with_global", &copy, &call.all(|_| call.n));
    });
}

pub(super) fn is_overlapped_barrier(act: &Act) -> bool {
    act.number.is_multiple_of(4)
}

/// A reduction, or a barrier, beside other work.
fn overlap<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { act, n, which, rank, p, tick, .. } = call;
    if is_overlapped_barrier(act) {
        return comm.overlap(call::barrier(), tick).1;
    }
    let mut x = call.own::<T>(rank, n);
    T::reduce(comm, which, Reduction::AllReduceWhile(&mut x, tick), tick);
    call.check("overlapped all_reduce", &x, &folded(act.salt, 0..p, which, 0, n));
}

/// All elements of a vector that is spread over the ranks, combined.
fn whole<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { which, rank, tick, .. } = call;
    let counts = counts(call);
    let mine = call.own::<T>(rank, counts[rank]);
    let mut result = None;
    let offset = counts[..rank].iter().sum();
    T::reduce(comm, which, Reduction::Whole(&mine, offset, &mut result), tick);
    let wanted = call.all(|q| counts[q]).into_iter().reduce(|l, r| T::fold(which, l, r));
    let (result, wanted): (Vec<T>, Vec<T>) =
        (result.into_iter().collect(), wanted.into_iter().collect());
    call.check("fixed_reduce", &result, &wanted);
}

/// Ghosts that each rank draws of all elements, gathered twice by one plan; and given back, each
/// in the place of its element.
fn ghosts<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { act, rank, p, tick, .. } = call;
    // Not the call's, which is another on the odd rank.
    let n = length::<T>(act, p);
    let total = n * p;
    // A rank without neighbours would not hear of another element type.
    comm.broadcast::<T>(&mut [], 0);
    let block = Block::new(total, p);
    let draw = |q: usize| -> Vec<usize> {
        let mut dice = Dice::of_seed(act.salt ^ (7 + q as u64));
        let (len, start, stride) =
            (dice.below(total.min(1000) + 1), dice.below(total.max(1)), 1 + dice.below(3));
        (0..len).map(|k| (start + k * stride) % total).collect()
    };
    let wanted = draw(rank);
    let plan = comm.ghosts(&block, &wanted);
    let own = |salt| input::<T>(salt, rank, 0, n);
    let element = |salt, i: usize| {
        let q = block.owner(i);
        input::<T>(salt, q, block.local(i), 1)[0]
    };
    let right = |salt| wanted.iter().map(|&i| element(salt, i)).collect::<Vec<T>>();
    let mut got = vec![T::make(0); wanted.len()];
    plan.gather(comm, &own(act.salt), &mut got);
    call.check("gathered ghosts", &got, &right(act.salt));
    let mine = own(act.salt + 1);
    plan.gather_while(comm, &mine, &mut got, tick);
    call.check("gathered ghosts, beside work", &got, &right(act.salt + 1));
    let mut back = own(act.salt);
    plan.scatter_with(comm, &got, &mut back, op::ordered(|_, ghost| ghost));
    let all: BTreeSet<usize> = (0..p).flat_map(draw).collect();
    let (changed, start) = (own(act.salt + 1), block.range(rank).start);
    let oracle = own(act.salt).into_iter().zip(changed).enumerate();
    let oracle: Vec<T> =
        oracle.map(|(i, (old, new))| if all.contains(&(start + i)) { new } else { old }).collect();
    call.check("scattered ghosts", &back, &oracle);
}

/// Halos of one or two fields, in 1 to 3 dimensions.
fn halo<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { act, p, .. } = call;
    let mut dice = Dice::of_seed(act.salt);
    let dims = 1 + dice.below(3);
    let mut left = p;
    let mut grid = Vec::new();
    for d in 1..=dims {
        let divisors: Vec<usize> = (1..=left).filter(|k| left % k == 0).collect();
        grid.push(if d == dims { left } else { dice.of(&divisors) });
        left /= grid[d - 1];
    }
    let periodic: Vec<bool> = grid.iter().map(|_| dice.below(2) == 0).collect();
    let longest = if size_of::<T>() > 256 { 1 } else { 5 };
    let extents: Vec<usize> = grid.iter().map(|_| 1 + dice.below(longest)).collect();
    let widths: Vec<usize> = extents.iter().map(|&e| dice.below(e + 1)).collect();
    let mut halo = Halo::with_widths(&extents, &widths);
    if dice.below(2) == 0 {
        halo = halo.with_corners();
    }
    let fields = 1 + dice.below(2);
    let beside = dice.below(2) == 0;

    let mut cart = comm.cart(&grid, &periodic);
    let place = cart.coordinates();
    // Cells by their distance from the first own one.
    let cell = |mut i: usize| {
        let mut at = vec![0; dims];
        for d in (0..dims).rev() {
            at[d] = (i % halo.total(d)) as isize - widths[d] as isize;
            i /= halo.total(d);
        }
        at
    };
    let outside =
        |at: &[isize]| (0..dims).filter(|&d| !(0..extents[d] as isize).contains(&at[d])).count();
    // The value that the whole grid has there, if it is not beyond its end.
    let value = |field: usize, at: &[isize]| {
        let mut hash = act.salt ^ field as u64;
        for d in 0..dims {
            let (x, all) = (at[d] + (place[d] * extents[d]) as isize, grid[d] * extents[d]);
            let x = if periodic[d] { x.rem_euclid(all as isize) } else { x };
            if !(0..all as isize).contains(&x) {
                return None;
            }
            hash = mix(hash.wrapping_add(mix(1 + x as u64)));
        }
        Some(T::make(hash))
    };
    let untouched = T::make(act.salt);
    let cells = |field: usize, most_outside: usize| -> Vec<T> {
        let of = |at: Vec<isize>| {
            let seen = outside(&at) <= most_outside;
            seen.then(|| value(field, &at)).flatten().unwrap_or(untouched)
        };
        (0..halo.len()).map(|i| of(cell(i))).collect()
    };
    let mut all: Vec<Vec<T>> = (0..fields).map(|field| cells(field, 0)).collect();
    match &mut all[..] {
        [one] if beside => {
            let done = cart.exchange_halo_while(one, &halo, |_| act.salt);
            call.check("exchange_halo_while", &[done], &[act.salt]);
        }
        [one] => cart.exchange_halo(one, &halo),
        more => {
            let mut more: Vec<&mut [T]> = more.iter_mut().map(|field| &mut field[..]).collect();
            cart.exchange_halos(&mut more, &halo);
        }
    }
    for (field, got) in all.iter().enumerate() {
        let most = if halo.corners() { dims } else { 1 };
        call.check("a halo", got, &cells(field, most));
    }
}

fn exchange<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { n, rank, p, root: by, .. } = call;
    let from = (rank + p - by) % p;
    let mut got = call.place::<T>(n);
    comm.exchange(&call.own::<T>(rank, n), (rank + by) % p, &mut got, from);
    call.check("exchange", &got, &call.own::<T>(from, n));
}

/// From the root to the next rank, and so on, once around: each sends after it has received. Its
/// own elements, as in an exchange, which may take the message if a rank makes another call.
fn relay<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { n, rank, p, root, .. } = call;
    let (place, from) = ((rank + p - root) % p, (rank + p - 1) % p);
    if place > 0 {
        let mut got = call.place::<T>(n);
        comm.recv(&mut got, from);
        call.check("a relay", &got, &call.own::<T>(from, n));
    }
    if place + 1 < p {
        comm.send(&call.own::<T>(rank, n), (rank + 1) % p);
    }
}

fn tagged<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { act, n, rank, p, root: distance, .. } = call;
    let (to, from) = ((rank + distance) % p, (rank + p - distance) % p);
    let tag = (act.salt as u32).wrapping_add(2 * act.number as u32);
    let (own, mut got) = (call.own::<T>(rank, n), call.place::<T>(n));
    comm.requests(|scope| {
        let received = scope.start(call::recv_tagged(&mut got, from, tag));
        let sent = scope.start(call::send_tagged(&own[..], to, tag));
        scope.wait(received);
        scope.wait(sent);
    });
    call.check("a tagged message", &got, &call.own::<T>(from, n));
    comm.send_owned(own.to_vec(), to, !tag);
    let (owned, _) = comm.recv_owned::<Vec<T>>(from, !tag);
    call.check_view("an owned value", &owned, act.salt, from, n);
}

/// Several collectives at a time.
fn started<T: Thing>(comm: &mut Comm, call: &RankCall<'_>) {
    let &RankCall { act, n, which, root, tick, .. } = call;
    let mut calls = StartedCalls::<T>::draw(comm, act.salt, n, root, which);
    T::reduce(comm, which, Reduction::Started(&mut calls), tick);
    if let Some(kind) = calls.wrong() {
        wrong(&format!("started {kind:?}"), act);
    }
}
