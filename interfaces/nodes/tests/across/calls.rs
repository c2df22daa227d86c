//! Calls of all methods as data, of elements of many types, and random programs of them. Results
//! are those of an oracle, or are noted: they are the same on one node as on several.

#[path = "../../../../src/mix.rs"]
mod mix;
#[macro_use]
#[path = "../../../../tests/common/one_call.rs"]
mod one_call;

pub(crate) use mix::SplitMix as Dice;
use one_call::{Buffers, HasPlace, MakesCalls, OneCall};
use phalanx::dist::Halo;
use phalanx::op::{self, Operator};
use phalanx::schedule::Operation;
use phalanx::{Element, Order, call};
use phalanx_nodes::NodeComm;
use std::fmt::Debug;

makes_calls!(NodeComm<'_>);

/// The element of rank `rank`, at `i`, of call `seed`.
fn number(rank: usize, i: usize, seed: u64) -> u64 {
    Dice(seed ^ (rank as u64) << 48 ^ i as u64).word()
}

/// Elements of several sizes and alignments.
trait Sample: Element + PartialEq + Debug {
    fn of(x: u64) -> Self;
    fn word(&self) -> u64;
}

macro_rules! plain {
    ($($t:ty),*) => {$(
        impl Sample for $t {
            fn of(x: u64) -> Self { x as $t }
            fn word(&self) -> u64 { *self as u64 }
        }
    )*};
}
plain!(u8, i16, u32, u64, i128);

impl Sample for f64 {
    fn of(x: u64) -> Self {
        let size = [1e16, -1e16, 1.0, 1e-8, 3e8][(x % 5) as usize];
        size * ((x >> 8 & 1023) as f64 / 1000.0 + 0.5)
    }
    fn word(&self) -> u64 {
        self.to_bits()
    }
}

impl Sample for () {
    fn of(_: u64) {}
    fn word(&self) -> u64 {
        7
    }
}

/// A zero of either sign, a number, an infinity or a NaN, of several payloads: by place zeros
/// only, numbers, with NaNs, NaNs only.
fn float(x: u64, i: usize) -> f64 {
    const FLOATS: [u64; 12] = {
        let (nan, sign) = (f64::NAN.to_bits(), 1 << 63);
        let (one, most, all) = (1.5f64.to_bits(), f64::MAX.to_bits(), f64::INFINITY.to_bits());
        [0, sign, one, one | sign, 1, most, all, all | sign, nan, nan | sign, nan | 77, u64::MAX]
    };
    f64::from_bits(FLOATS[[x % 2, x % 8, x % 12, 8 + x % 4][i % 4] as usize])
}

fn place(x: u64, i: usize) -> (f64, u32) {
    (float(x, i), (x >> 16) as u32 % 3)
}

impl Sample for (f64, u32) {
    fn of(x: u64) -> Self {
        place(x, 0)
    }
    fn word(&self) -> u64 {
        self.0.to_bits() ^ u64::from(self.1) << 9
    }
}

impl Sample for (u64, u8) {
    fn of(x: u64) -> Self {
        (x, x as u8)
    }
    fn word(&self) -> u64 {
        self.0 ^ u64::from(self.1) << 9
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Wide(u32, [u16; 5]);

impl Sample for Wide {
    fn of(x: u64) -> Self {
        Wide(x as u32, [x as u16; 5])
    }
    fn word(&self) -> u64 {
        u64::from(self.0) ^ self.1.iter().fold(0, |sum, &x| sum * 3 + u64::from(x))
    }
}

/// A 2 x 2 matrix: products do not commute.
type Matrix = [u32; 4];

impl Sample for Matrix {
    fn of(x: u64) -> Self {
        [x as u32, (x >> 9) as u32, (x >> 17) as u32, (x >> 31) as u32]
    }
    fn word(&self) -> u64 {
        self.iter().fold(0, |sum, &x| sum * 31 + u64::from(x))
    }
}

fn times(a: Matrix, b: Matrix) -> Matrix {
    let e = |i: usize, j: usize| {
        let left = a[2 * i].wrapping_mul(b[j]);
        left.wrapping_add(a[2 * i + 1].wrapping_mul(b[2 + j]))
    };
    [e(0, 0), e(0, 1), e(1, 0), e(1, 1)]
}

fn some<T: Sample>(rank: usize, n: usize, seed: u64) -> Vec<T> {
    (0..n).map(|i| T::of(number(rank, i, seed))).collect()
}

fn note<T: Sample>(out: &mut Vec<u64>, data: &[T]) {
    let digest = data.iter().fold(data.len() as u64, |sum, x| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(x.word())
    });
    out.push(digest);
}

/// A call of a program: all that it takes.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) kind: usize,
    pub(crate) n: usize,
    pub(crate) root: usize,
    pub(crate) seed: u64,
    pub(crate) counts: Vec<usize>,
    pub(crate) is_fixed: bool,
    /// Its result depends on the order.
    pub(crate) rounds: bool,
}

/// The catalogue's operations, and those that have a form for blocks of different lengths.
fn operations() -> impl Iterator<Item = (Operation, bool)> {
    let has_form = |it: &Operation| it.has_blocks() && *it != Operation::AllToAllInPlace;
    let varied = Operation::ALL.into_iter().filter(has_form).map(|it| (it, true));
    Operation::ALL.into_iter().map(|it| (it, false)).chain(varied)
}

/// Kinds of calls (these operations, an overlapped one, others), and types of their elements.
pub(crate) const KINDS: usize = 29;
pub(crate) const TYPES: usize = 10;

/// Whether calls of a kind combine; whether they only move.
pub(crate) fn sort(kind: usize) -> (bool, bool) {
    let combines = operations().nth(kind).map_or(kind == 18, |(it, _)| it.combines());
    (combines, !combines && kind < 24)
}

impl Call {
    pub(crate) fn any(dice: &mut Dice, p: usize) -> Call {
        // Nothing, a few, or a length that needs pieces.
        let few = dice.below(40);
        let n =
            [0, 0, 0, few, few, few, few, few, few, 40 * few, 40 * few, 300 * few][dice.below(12)];
        let (kind, root, seed) = (dice.below(KINDS), dice.below(p), dice.word());
        let counts = (0..p).map(|_| [0, 1, n % 7, 30][dice.below(4)]).collect();
        Call { kind, n, root, seed, counts, is_fixed: dice.below(2) == 0, rounds: false }
    }

    /// Makes it, with elements of the type of this number.
    pub(crate) fn make(&self, comm: &mut NodeComm, of: usize, depth: usize, out: &mut Vec<u64>) {
        match sort(self.kind) {
            (_, true) => match of {
                0 => moves::<u8>(comm, self, out),
                1 => moves::<()>(comm, self, out),
                2 => moves::<(u64, u8)>(comm, self, out),
                3 => moves::<Wide>(comm, self, out),
                4 => moves::<i128>(comm, self, out),
                5 => moves::<Matrix>(comm, self, out),
                _ => moves::<u64>(comm, self, out),
            },
            (true, _) => match of {
                0 => folds::<u64, _>(comm, self, (op::Sum, |x, _| x), out),
                1 => folds::<i16, _>(comm, self, (op::Min, |x, _| x as i16), out),
                2 => folds::<f64, _>(comm, self, (op::Max, float), out),
                3 => folds::<i128, _>(comm, self, (op::BitXor, |x, _| x.into()), out),
                4 => {
                    folds::<Matrix, _>(comm, self, (op::ordered(times), |x, _| Sample::of(x)), out)
                }
                5 => {
                    let modulus = (1 << 20) + self.seed % 1000;
                    let op = op::commutative(move |a: u32, b: u32| {
                        ((u64::from(a) + u64::from(b)) % modulus) as u32
                    });
                    folds::<u32, _>(comm, self, (op, |x, _| x as u32), out);
                }
                6 => folds::<f64, _>(comm, self, (op::Min, float), out),
                7 => folds::<(f64, u32), _>(comm, self, (op::MaxLoc, place), out),
                8 => folds(comm, self, (op::commutative(|_: (), _: ()| ()), |_, _| ()), out),
                _ => floats(comm, self, out),
            },
            _ => others(comm, self, depth, out),
        }
        out.push(u64::MAX);
    }
}

/// A call of the catalogue on elements that `make` makes of a random number and a place. The result
/// is that of the ranks in their order, but for sums that are rounded.
fn catalogue<T: Sample, O: Operator<T> + Copy>(
    comm: &mut NodeComm,
    call: &Call,
    (operation, is_varied): (Operation, bool),
    (op, make): (O, fn(u64, usize) -> T),
    out: &mut Vec<u64>,
) {
    let Call { n, root, seed, ref counts, is_fixed, .. } = *call;
    let v = if operation == Operation::Shift { seed as i8 as isize } else { root as isize };
    let it = match is_varied {
        true => OneCall::varied(comm, operation, v, counts),
        false => OneCall::new(comm, operation, v, n),
    };
    let Buffers { input, mut output, wanted } =
        it.buffers(op, &|rank, i| make(number(rank, i, seed), i));
    let mut comm = comm.with_order(if is_fixed { Order::Fixed } else { Order::Ranked });
    comm.make(&it, op, (&input, &mut output));
    note(out, &output);
    if !operation.combines() {
        assert_eq!(output, wanted, "{it:?}");
        output.fill(T::of(0));
        comm.check_forms(&it, Buffers { input, output, wanted });
    } else if !call.rounds {
        assert!(output.iter().map(T::word).eq(wanted.iter().map(T::word)), "{it:?}");
    }
}

fn moves<T: Sample>(comm: &mut NodeComm, call: &Call, out: &mut Vec<u64>) {
    let (r, p) = (comm.rank(), comm.size());
    let Call { kind, n, root, seed, ref counts, .. } = *call;
    if let Some(which) = operations().nth(kind) {
        let last = op::ordered(|_, last: T| last);
        return catalogue(comm, call, which, (last, |x, _| T::of(x)), out);
    }
    let (zero, is_root) = (T::of(0), r == root);
    let (mine, own) = (some::<T>(r, n, seed), some::<T>(r, counts[r], seed));
    // To any rank, the own one, too.
    let (to, from) = ((r + 1 + seed as usize % p) % p, (r + p - (1 + seed as usize % p) % p) % p);
    let mut x = vec![zero; if kind == 19 { n } else { 0 }];
    match kind {
        19 => comm.exchange(&mine, to, &mut x, from),
        // All to the root, in another order.
        20 if !is_root => comm.send(&own, root),
        20 => {
            for from in (0..p).rev().filter(|&from| from != root) {
                let mut got = vec![zero; counts[from]];
                comm.recv(&mut got, from);
                x.extend(got);
            }
        }
        21 => {
            x = comm.with_peers(&own, |all| {
                assert!(all.iter().map(<[T]>::len).eq(counts.iter().copied()));
                all.iter().flatten().copied().collect()
            });
        }
        22 => x = comm.with_root(if is_root { &mine } else { &[] }, root, <[T]>::to_vec),
        _ => x = comm.with_global(&own, |all| (0..all.len()).map(|i| all[i]).collect()),
    }
    note(out, &x);
}

/// Of elements that `make` makes of a random number and a place.
fn folds<T: Sample, O: Operator<T> + Copy>(
    comm: &mut NodeComm,
    call: &Call,
    (op, make): (O, fn(u64, usize) -> T),
    out: &mut Vec<u64>,
) {
    if let Some(which) = operations().nth(call.kind) {
        return catalogue(comm, call, which, (op, make), out);
    }
    let (r, &Call { n, seed, .. }) = (comm.rank(), call);
    let mut x: Vec<T> = (0..n).map(|i| make(number(r, i, seed), i)).collect();
    assert_eq!(comm.overlap(call::all_reduce(&mut x, op), || 5).1, 5);
    note(out, &x);
}

/// A rounded sum has the same bits in a fixed order.
fn floats(comm: &mut NodeComm, call: &Call, out: &mut Vec<u64>) {
    let Call { n, seed, .. } = *call;
    let (r, p) = (comm.rank(), comm.size());
    let prefixes = [Operation::Scan, Operation::ExclusiveScan];
    if !operations().nth(call.kind).is_some_and(|(it, _)| prefixes.contains(&it)) {
        let call = Call { is_fixed: true, rounds: true, ..call.clone() };
        return folds::<f64, _>(comm, &call, (op::Sum, |x, _| Sample::of(x)), out);
    }
    // Parts of different lengths, some of them empty.
    let mut dice = Dice(seed);
    let mut cuts: Vec<usize> = (1..p).map(|_| dice.below(n + 1)).collect();
    cuts.extend([0, n]);
    cuts.sort_unstable();
    let part = cuts[r]..cuts[r + 1];
    let x: Vec<f64> = part.clone().map(|i| f64::of(number(0, i, seed))).collect();
    let y: Vec<f64> = part.clone().map(|i| f64::of(number(1, i, seed))).collect();
    let [a, b] = comm.fixed_dots([(&x, &y), (&y, &y)], part.start);
    note(out, &[comm.fixed_sum(&x, part.start), a, b, comm.fixed_dot(&x, &x, part.start)]);
    let least = comm.fixed_reduce(&x, op::Min, part.start);
    note(out, &least.into_iter().collect::<Vec<_>>());
}

fn others(comm: &mut NodeComm, call: &Call, depth: usize, out: &mut Vec<u64>) {
    let (r, p) = (comm.rank(), comm.size());
    let Call { kind, n, seed, root, .. } = *call;
    let word = |rank: usize, of: u64| number(rank, 77, seed ^ of) as usize;
    match kind {
        24 if depth < 3 => {
            let mut part = comm.split(word(r, 1) % (1 + seed as usize % 3), word(r, 2) % 4);
            out.push((part.rank() + 100 * part.size()) as u64);
            program(&mut part, seed, 4, depth + 1, out);
        }
        25 => {
            comm.barrier();
            assert_eq!(comm.overlap(call::barrier(), || 3).1, 3);
            note(out, &comm.sum([r as u64, number(r, 1, seed)]));
            note(out, &comm.all_reduce_values([number(r, 1, seed)], op::Max));
            let flags: Vec<bool> = (0..n).map(|i| (i + r) % 3 == 1).collect();
            let (mut x, mut y) = (some::<u64>(r, n, seed), some::<Matrix>(r, n, seed));
            comm.segmented_scan(&mut x, &flags, op::Sum);
            comm.exclusive_segmented_scan(&mut y, &flags, op::ordered(times));
            note(out, &x);
            note(out, &y);
            comm.check();
        }
        26 => {
            comm.phase("a part", |comm| {
                let mut x = some::<u32>(r, n, seed);
                comm.all_reduce(&mut x, op::BitXor);
                note(out, &x);
            });
        }
        _ => {
            let periodic = [seed & 1 == 1, seed & 2 == 2];
            let extents = [1 + n % 4, 1 + seed as usize % 5];
            let widths = [seed as usize >> 3 & 1, seed as usize >> 4 & 1];
            let width = |d: usize| widths[d].min(extents[d]);
            let mut halo = Halo::with_widths(&extents, &[width(0), width(1)]);
            if seed & 4 == 4 {
                halo = halo.with_corners();
            }
            let mut grid = comm.cart(&[0, 0], &periodic);
            out.push(grid.coordinates().iter().fold(p, |sum, x| sum * 9 + x) as u64);
            let mut u = some::<u64>(r, halo.len(), seed);
            let mut v = some::<u64>(r, halo.len(), seed + 1);
            grid.exchange_halos(&mut [&mut u, &mut v], &halo);
            note(out, &u);
            note(out, &v);
            let mut w = some::<(u64, u8)>(r, halo.len(), seed);
            grid.exchange_halo_while(&mut w, &halo, |_| ());
            note(out, &w);
            let mut w = some::<Wide>(r, halo.len(), seed);
            grid.exchange_halo(&mut w, &halo);
            note(out, &w);
            let whole = grid.gather_grid(&u, &halo, root);
            assert_eq!(whole.is_some(), r == root);
            note(out, &whole.unwrap_or_default());
            if depth < 3 {
                let keep = [seed & 8 == 8, seed & 16 == 16];
                program(&mut grid.sub(&keep), seed, 2, depth + 1, out);
            }
        }
    }
}

/// So many calls of the program of this seed.
pub(crate) fn program(
    comm: &mut NodeComm,
    seed: u64,
    calls: usize,
    depth: usize,
    out: &mut Vec<u64>,
) {
    let (mut dice, p) = (Dice(seed), comm.size());
    for _ in 0..calls {
        let call = Call::any(&mut dice, p);
        let of = dice.below(TYPES);
        call.make(comm, of, depth, out);
    }
}
