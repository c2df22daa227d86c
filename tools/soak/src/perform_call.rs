//! Carries out one call on one rank, and compares its result with the oracle.

use crate::one_call::{Buffers, OneCall};
use crate::random::{Dice, mix};
use crate::script::{Act, CallKind, CallWay};
use crate::soak_elements::{Huge, NothingFarApart, Padded};
use crate::soak_elements::{Reduction, Thing, Tick, Triple, buffers, folded, input};
use crate::started_calls::StartedCalls;
use phalanx::dist::{Block, Distribution, Halo};
use phalanx::schedule::{Hierarchy, Operation, Request};
use phalanx::topology::Extents;
use phalanx::{Algorithm, Comm, Order, call, op};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::panic::resume_unwind;

/// An element type: the call in it, and the work beside the call.
struct Sort {
    call: fn(&mut Comm, &Act, usize, Tick<'_>),
    work: fn(&Act, usize, usize),
}

impl Sort {
    // Each costs half a minute of compiling.
    const ALL: [Sort; 6] = [
        Sort::of::<u8>(),
        Sort::of::<f64>(),
        Sort::of::<Triple>(),
        Sort::of::<Padded>(),
        Sort::of::<Huge>(),
        Sort::of::<NothingFarApart>(),
    ];

    const fn of<T: Thing>() -> Self {
        Sort { call: typed::<T>, work: typed_work::<T> }
    }

    fn number(which: usize) -> &'static Self {
        const ALL: &[Sort] = &Sort::ALL;
        &ALL[which % ALL.len()]
    }
}

/// Carries out `act` on `comm`: in the element type that it says.
pub(crate) fn carry_out(comm: &mut Comm, act: &Act, longer: usize, tick: Tick<'_>) {
    (Sort::number(act.element).call)(comm, act, longer, tick);
}

/// The work of rank `rank` of `p` in `act` beside the call: it makes its vector, and those of the
/// oracle.
pub(crate) fn work(act: &Act, rank: usize, p: usize) {
    (Sort::number(act.element).work)(act, rank, p);
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
    let oracle = concat(blocks, |q| input::<T>(act.salt, rank, q * n, n));
    check("a copy", act, black_box(&result), &oracle);
    if combines {
        black_box(folded::<T>(act.salt, 0..p, which, 0, n));
    }
}

/// Whether the larger buffer has a block for each rank.
fn has_blocks(kind: CallKind) -> bool {
    match kind {
        CallKind::Collective(op) => op.has_blocks(),
        CallKind::Varied(_) | CallKind::Peers | CallKind::Global => true,
        CallKind::Window | CallKind::Whole | CallKind::Ghosts | CallKind::Started => true,
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

/// A call with everything that it needs; `n` elements in a vector or block.
struct SoakCall<'a> {
    act: &'a Act,
    n: usize,
    which: usize,
    rank: usize,
    p: usize,
    root: usize,
    tick: Tick<'a>,
}

/// Ends the run with a message: no assertion, as its text would fill the
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
    let call = SoakCall {
        act,
        n: length::<T>(act, p) + longer,
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

fn collective<T: Thing>(comm: &mut Comm, it: &OneCall, call: &SoakCall<'_>) {
    let &SoakCall { act, which, rank, tick, .. } = call;
    let Buffers { input, mut output, wanted } = buffers(it, act.salt, which);
    let before = input.clone();
    T::reduce(comm, which, Reduction::Of(it, (&input, &mut output)), tick);
    // The first rank of an exclusive scan has the identity, or its own value.
    if it.operation != Operation::ExclusiveScan || rank > 0 {
        check(it.operation.name(), act, &output, &wanted);
    }
    check("an input", act, &input, &before);
}

fn concat<T>(p: usize, block: impl FnMut(usize) -> Vec<T>) -> Vec<T> {
    (0..p).flat_map(block).collect()
}

/// Blocks of 0 to 2n elements; `longer` is in `n` of the odd rank only, so the
/// counts are made from the act.
fn counts(call: &SoakCall<'_>) -> Vec<usize> {
    let mut dice = Dice::new(call.act.salt);
    (0..call.p).map(|_| dice.roll(2 * call.n + 1)).collect()
}

fn peers<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, rank, tick, .. } = call;
    let counts = counts(call);
    let mine = input::<T>(act.salt, rank, 0, counts[rank]);
    comm.with_peers(&mine, |all| {
        tick();
        for (q, slice) in all.iter().enumerate() {
            check("with_peers", act, slice, &input(act.salt, q, 0, counts[q]));
        }
    });
}

/// Parts that are written twice, and counters that all ranks raise.
fn window<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, rank, p, tick, .. } = call;
    let counts = counts(call);
    let mut window = comm.shared_from(&input::<T>(act.salt, rank, 0, counts[rank]));
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
            check("a window", act, part, &input(salt, q, 0, counts[q]));
            counters.part(q)[0].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let raised = counters.read(comm, |all| concat(p, |q| all[q].to_vec()));
    check("a window of atomics", act, &raised, &vec![2 * p as u64; p]);
}

fn root<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, n, rank, root, tick, .. } = call;
    let mine = if rank == root { input::<T>(act.salt, root, 0, n) } else { vec![] };
    comm.with_root(&mine, root, |data| {
        tick();
        check("with_root", act, data, &input(act.salt, root, 0, n));
    });
}

/// Everybody's slices as one array.
fn global<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, n, rank, p, tick, .. } = call;
    let mine = input::<T>(act.salt, rank, 0, n);
    comm.with_global(&mine, |all| {
        tick();
        let copy: Vec<T> = (0..all.len()).map(|i| all[i]).collect();
        check("with_global", act, &copy, &concat(p, |q| input(act.salt, q, 0, n)));
    });
}

fn is_overlapped_barrier(act: &Act) -> bool {
    act.number.is_multiple_of(4)
}

/// A reduction, or a barrier, beside other work.
fn overlap<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, n, which, rank, p, tick, .. } = call;
    if is_overlapped_barrier(act) {
        let done = comm.overlap(call::barrier(), || act.salt).1;
        check("overlapped barrier", act, &[done], &[act.salt]);
        return;
    }
    let mut x = input::<T>(act.salt, rank, 0, n);
    T::reduce(comm, which, Reduction::AllReduceWhile(&mut x), tick);
    check("overlapped all_reduce", act, &x, &folded(act.salt, 0..p, which, 0, n));
}

/// All elements of a vector that is spread over the ranks, combined.
fn whole<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, which, rank, p, tick, .. } = call;
    let counts = counts(call);
    let mine = input::<T>(act.salt, rank, 0, counts[rank]);
    let mut result = None;
    let offset = counts[..rank].iter().sum();
    T::reduce(comm, which, Reduction::Whole(&mine, offset, &mut result), tick);
    let all = concat(p, |q| input::<T>(act.salt, q, 0, counts[q]));
    let oracle = all.into_iter().reduce(|l, r| T::fold(which, l, r));
    check("fixed_reduce", act, &[result], &[oracle]);
}

/// Ghosts that each rank draws of all elements, gathered twice by one plan; and given back, each
/// in the place of its element.
fn ghosts<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, rank, p, tick, .. } = call;
    // Not the call's, which is another on the odd rank.
    let n = length::<T>(act, p);
    let total = n * p;
    // A rank without neighbours would not hear of another element type.
    comm.with_peers::<T, _>(&[], |_| ());
    let block = Block::new(total, p);
    let draw = |q: usize| -> Vec<usize> {
        let mut dice = Dice::new(act.salt ^ (7 + q as u64));
        let (len, start, stride) =
            (dice.roll(total.min(1000) + 1), dice.roll(total.max(1)), 1 + dice.roll(3));
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
    check("gathered ghosts", act, &got, &right(act.salt));
    let mine = own(act.salt + 1);
    plan.gather_while(comm, &mine, &mut got, tick);
    check("gathered ghosts, beside work", act, &got, &right(act.salt + 1));
    let mut back = own(act.salt);
    plan.scatter_with(comm, &got, &mut back, op::ordered(|_, ghost| ghost));
    let all: BTreeSet<usize> = (0..p).flat_map(draw).collect();
    let (changed, start) = (own(act.salt + 1), block.range(rank).start);
    let oracle = own(act.salt).into_iter().zip(changed).enumerate();
    let oracle: Vec<T> =
        oracle.map(|(i, (old, new))| if all.contains(&(start + i)) { new } else { old }).collect();
    check("scattered ghosts", act, &back, &oracle);
}

/// Halos of one or two fields, in 1 to 3 dimensions.
fn halo<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, p, .. } = call;
    let mut dice = Dice::new(act.salt);
    let dims = 1 + dice.roll(3);
    let mut left = p;
    let mut grid = Vec::new();
    for d in 1..=dims {
        let divisors: Vec<usize> = (1..=left).filter(|k| left % k == 0).collect();
        grid.push(if d == dims { left } else { *dice.pick(&divisors) });
        left /= grid[d - 1];
    }
    let periodic: Vec<bool> = grid.iter().map(|_| dice.once_in(2)).collect();
    let longest = if size_of::<T>() > 256 { 1 } else { 5 };
    let extents: Vec<usize> = grid.iter().map(|_| 1 + dice.roll(longest)).collect();
    let widths: Vec<usize> = extents.iter().map(|&e| dice.roll(e + 1)).collect();
    let mut halo = Halo::with_widths(&extents, &widths);
    if dice.once_in(2) {
        halo = halo.with_corners();
    }
    let fields = 1 + dice.roll(2);
    let beside = dice.once_in(2);

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
            check("exchange_halo_while", act, &[done], &[act.salt]);
        }
        [one] => cart.exchange_halo(one, &halo),
        more => {
            let mut more: Vec<&mut [T]> = more.iter_mut().map(|field| &mut field[..]).collect();
            cart.exchange_halos(&mut more, &halo);
        }
    }
    for (field, got) in all.iter().enumerate() {
        let most = if halo.corners() { dims } else { 1 };
        check("a halo", act, got, &cells(field, most));
    }
}

fn exchange<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, n, rank, p, .. } = call;
    let by = act.number % p;
    let from = (rank + p - by) % p;
    let (mine, mut got) = (input::<T>(act.salt, rank, 0, n), vec![T::make(0); n]);
    comm.exchange(&mine, (rank + by) % p, &mut got, from);
    check("exchange", act, &got, &input(act.salt, from, 0, n));
}

/// From the root to the next rank, and so on, once around.
fn relay<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, n, rank, p, root, .. } = call;
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

fn tagged<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, n, rank, p, .. } = call;
    let distance = act.number % p;
    let (to, from, tag) = ((rank + distance) % p, (rank + p - distance) % p, act.salt as u32);
    let own = input::<T>(act.salt, rank, 0, n);
    let mut got = vec![T::make(0); n];
    comm.requests(|scope| {
        let received = scope.start(call::recv_tagged(&mut got, from, tag));
        let sent = scope.start(call::send_tagged(&own, to, tag));
        scope.wait(received);
        scope.wait(sent);
    });
    check("a tagged message", act, &got, &input(act.salt, from, 0, n));
    comm.send_owned(own, to, !tag);
    let (owned, _) = comm.recv_owned::<Vec<T>>(from, !tag);
    check("an owned value", act, &owned, &got);
}

/// Several collectives at a time.
fn started<T: Thing>(comm: &mut Comm, call: &SoakCall<'_>) {
    let &SoakCall { act, n, which, root, tick, .. } = call;
    let mut calls = StartedCalls::<T>::draw(comm, act.salt, n, root, which);
    T::reduce(comm, which, Reduction::Started(&mut calls), tick);
    if let Some(kind) = calls.wrong() {
        wrong(&format!("started {kind:?}"), act);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::UNEVEN;

    #[test]
    fn every_operation_is_soaked() {
        let even = Operation::ALL.map(CallKind::Collective);
        for kind in even.into_iter().chain(UNEVEN.map(CallKind::Varied)) {
            for element in 0..Sort::ALL.len() {
                let act = Act {
                    comm: 0,
                    kind,
                    way: CallWay::Auto,
                    element,
                    operator: 0,
                    bytes: 100,
                    number: 1,
                    salt: 5,
                };
                let result = phalanx::run(3, |comm| carry_out(comm, &act, 0, &|| ()));
                assert!(result.is_ok(), "{act:?}: {result:?}");
            }
        }
    }
}
