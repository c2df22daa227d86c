//! Random programs of all methods, on nodes and on one; their results are compared; with a failure
//! of the network, of a rank, or none.

use super::memory;
use phalanx::dist::Halo;
use phalanx::op;
use phalanx::{Comm, Element, Error, Order, Team, call};
use phalanx_nodes::NodeComm;
use phalanx_nodes::net::{Net, NetError, Pending, Transfer};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Numbers that look like chance; equal on all ranks, of which each draws as many.
#[derive(Clone)]
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }

    /// A length: nothing, a few, or one that needs pieces.
    fn len(&mut self) -> usize {
        let n = self.below(40);
        match self.below(12) {
            0..3 => 0,
            3..9 => n,
            9 | 10 => 40 * n,
            _ => 300 * n,
        }
    }
}

/// The element of rank `rank`, at `i`, of call `seed`.
fn number(rank: usize, i: usize, seed: u64) -> u64 {
    Chance(seed ^ (rank as u64) << 48 ^ i as u64).next()
}

/// Elements of several sizes and alignments.
trait Sample: Element {
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

impl Sample for (u64, u8) {
    fn of(x: u64) -> Self {
        (x, x as u8)
    }
    fn word(&self) -> u64 {
        self.0 ^ u64::from(self.1) << 9
    }
}

#[derive(Clone, Copy)]
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
struct Call {
    kind: usize,
    n: usize,
    root: usize,
    seed: u64,
    counts: Vec<usize>,
    is_fixed: bool,
}

const KINDS: usize = 34;

impl Call {
    fn any(chance: &mut Chance, p: usize) -> Call {
        let (kind, n, root, seed) =
            (chance.below(KINDS), chance.len(), chance.below(p), chance.next());
        let counts = (0..p).map(|_| [0, 1, n % 7, 30][chance.below(4)]).collect();
        Call { kind, n, root, seed, counts, is_fixed: chance.below(2) == 0 }
    }
}

macro_rules! program {
    ($name:ident, $moves:ident, $folds:ident, $floats:ident, $others:ident, $comm:ty) => {
        fn $moves<T: Sample>(comm: &mut $comm, call: &Call, out: &mut Vec<u64>) {
            let (r, p) = (comm.rank(), comm.size());
            let Call { kind, n, root, seed, ref counts, .. } = *call;
            let zero = T::of(0);
            let total = counts.iter().sum();
            let mine = some::<T>(r, n, seed);
            let own = some::<T>(r, counts[r], seed);
            match kind {
                0 => {
                    let mut x = mine;
                    comm.broadcast(&mut x, root);
                    note(out, &x);
                }
                1 => {
                    let mut all = vec![zero; n * p];
                    comm.all_gather_into(&mine, &mut all);
                    note(out, &all);
                }
                2 => {
                    let mut all = some::<T>(r, n * p, seed);
                    comm.all_gather_in_place(&mut all);
                    note(out, &all);
                }
                3 => {
                    let mut all = vec![zero; total];
                    comm.all_gather_varied_into(&own, &mut all, counts);
                    note(out, &all);
                }
                4 => {
                    let (all, lens) = comm.all_gather_vec(&own);
                    note(out, &all);
                    assert_eq!(&lens, counts);
                }
                5 => {
                    let mut all = vec![zero; if r == root { n * p } else { 0 }];
                    comm.gather_into(&mine, &mut all, root);
                    note(out, &all);
                }
                6 => {
                    let mut x = some::<T>(r, if r == root { n * p } else { n }, seed);
                    comm.gather_in_place(&mut x, root);
                    note(out, &x);
                }
                7 => {
                    let mut all = vec![zero; if r == root { total } else { 0 }];
                    comm.gather_varied_into(&own, &mut all, counts, root);
                    note(out, &all);
                }
                8 => {
                    let got = comm.gather_vec(&own, root);
                    assert_eq!(got.is_some(), r == root);
                    if let Some((all, lens)) = got {
                        note(out, &all);
                        assert_eq!(&lens, counts);
                    }
                }
                9 => {
                    let all = some::<T>(r, if r == root { n * p } else { 0 }, seed);
                    let mut x = mine;
                    comm.scatter_into(&all, &mut x, root);
                    note(out, &x);
                }
                10 => {
                    let all = some::<T>(r, if r == root { total } else { 0 }, seed);
                    let mut x = own;
                    comm.scatter_varied_into(&all, &mut x, counts, root);
                    note(out, &x);
                }
                11 => {
                    let mut all = vec![zero; n * p];
                    comm.all_to_all_into(&some::<T>(r, n * p, seed), &mut all);
                    note(out, &all);
                }
                12 => {
                    let mut all = some::<T>(r, n * p, seed);
                    comm.all_to_all_in_place(&mut all);
                    note(out, &all);
                }
                13 | 14 => {
                    let of = |from: usize, to: usize| counts[from] * (1 + to) % 9;
                    let sends: Vec<_> = (0..p).map(|q| of(r, q)).collect();
                    let recvs: Vec<_> = (0..p).map(|q| of(q, r)).collect();
                    let send = some::<T>(r, sends.iter().sum(), seed);
                    if kind == 13 {
                        let mut all = vec![zero; recvs.iter().sum()];
                        comm.all_to_all_varied_into(&send, &sends, &mut all, &recvs);
                        note(out, &all);
                    } else {
                        let (all, lens) = comm.all_to_all_vec(&send, &sends);
                        note(out, &all);
                        assert_eq!(lens, recvs);
                    }
                }
                15 => {
                    let mut x = mine;
                    comm.shift(&mut x, seed as i8 as isize);
                    note(out, &x);
                }
                16 => {
                    // To any rank, the own one, too.
                    let by = 1 + seed as usize % p;
                    let (to, from) = ((r + by) % p, (r + p - by % p) % p);
                    let mut got = vec![zero; n];
                    comm.exchange(&mine, to, &mut got, from);
                    note(out, &got);
                }
                17 => {
                    // All to the root, in another order.
                    if r != root {
                        comm.send(&own, root);
                    } else {
                        for from in (0..p).rev().filter(|&from| from != root) {
                            let mut got = vec![zero; counts[from]];
                            comm.recv(&mut got, from);
                            note(out, &got);
                        }
                    }
                }
                18 => comm.with_peers(&own, |all| {
                    for rank in 0..p {
                        note(out, &all[rank]);
                    }
                }),
                19 => {
                    let all = if r == root { mine } else { vec![] };
                    comm.with_root(&all, root, |all| note(out, all));
                }
                _ => comm.with_global(&own, |all| {
                    let all: Vec<T> = (0..all.len()).map(|i| all[i]).collect();
                    note(out, &all);
                }),
            }
        }

        fn $folds<T: Sample, O: op::Operator<T> + Clone>(
            comm: &mut $comm,
            call: &Call,
            op: O,
            out: &mut Vec<u64>,
        ) {
            let (r, p) = (comm.rank(), comm.size());
            let Call { kind, n, root, seed, ref counts, is_fixed } = *call;
            let mut x = some::<T>(r, n, seed);
            let total = counts.iter().sum();
            let order = if is_fixed { Order::Fixed } else { Order::Ranked };
            let mut comm = comm.with_order(order);
            match kind {
                22 => comm.reduce(&mut x, op, root),
                23 => comm.all_reduce(&mut x, op),
                24 => assert_eq!(comm.overlap(call::all_reduce(&mut x, op), || 5).1, 5),
                25 => {
                    let all = some::<T>(r, n * p, seed);
                    comm.reduce_scatter_into(&all, &mut x, op);
                }
                26 => {
                    let all = some::<T>(r, total, seed);
                    x = some::<T>(r, counts[r], seed);
                    comm.reduce_scatter_varied_into(&all, &mut x, counts, op);
                }
                27 => comm.scan(&mut x, op),
                _ => comm.exclusive_scan(&mut x, op),
            }
            note(out, &x);
        }

        /// A rounded sum has the same bits in a fixed order.
        fn $floats(comm: &mut $comm, call: &Call, out: &mut Vec<u64>) {
            let Call { n, seed, .. } = *call;
            let (r, p) = (comm.rank(), comm.size());
            if call.kind < 27 {
                let call = Call { is_fixed: true, ..call.clone() };
                return $folds::<f64, _>(comm, &call, op::Sum, out);
            }
            // Parts of different lengths, some of them empty.
            let mut chance = Chance(seed);
            let mut cuts: Vec<usize> = (1..p).map(|_| chance.below(n + 1)).collect();
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

        fn $others(comm: &mut $comm, call: &Call, depth: usize, out: &mut Vec<u64>) {
            let (r, p) = (comm.rank(), comm.size());
            let Call { kind, n, seed, root, .. } = *call;
            let word = |rank: usize, of: u64| number(rank, 77, seed ^ of) as usize;
            match kind {
                29 if depth < 3 => {
                    let mut part = comm.split(word(r, 1) % (1 + seed as usize % 3), word(r, 2) % 4);
                    out.push((part.rank() + 100 * part.size()) as u64);
                    $name(&mut part, seed, 4, depth + 1, out);
                }
                30 => {
                    comm.barrier();
                    assert_eq!(comm.overlap(call::barrier(), || 3).1, 3);
                    note(out, &comm.sum([r as u64, number(r, 1, seed)]));
                    comm.check();
                }
                31 => {
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
                        $name(&mut grid.sub(&keep), seed, 2, depth + 1, out);
                    }
                }
            }
        }

        /// So many calls of the program of this seed.
        fn $name(comm: &mut $comm, seed: u64, calls: usize, depth: usize, out: &mut Vec<u64>) {
            let (mut chance, p) = (Chance(seed), comm.size());
            for _ in 0..calls {
                let call = Call::any(&mut chance, p);
                let of = chance.below(7);
                match call.kind {
                    0..22 => match of {
                        0 => $moves::<u8>(comm, &call, out),
                        1 => $moves::<()>(comm, &call, out),
                        2 => $moves::<(u64, u8)>(comm, &call, out),
                        3 => $moves::<Wide>(comm, &call, out),
                        4 => $moves::<i128>(comm, &call, out),
                        5 => $moves::<Matrix>(comm, &call, out),
                        _ => $moves::<u64>(comm, &call, out),
                    },
                    22..29 => match of {
                        0 => $folds::<u64, _>(comm, &call, op::Sum, out),
                        1 => $folds::<i16, _>(comm, &call, op::Min, out),
                        2 => $folds::<f64, _>(comm, &call, op::Max, out),
                        3 => $folds::<i128, _>(comm, &call, op::BitXor, out),
                        4 => $folds::<Matrix, _>(comm, &call, op::ordered(times), out),
                        5 => {
                            let modulus = (1 << 20) + call.seed % 1000;
                            let op = op::commutative(move |a: u32, b: u32| {
                                ((u64::from(a) + u64::from(b)) % modulus) as u32
                            });
                            $folds::<u32, _>(comm, &call, op, out);
                        }
                        _ => $floats(comm, &call, out),
                    },
                    _ => $others(comm, &call, depth, out),
                }
                out.push(u64::MAX);
            }
        }
    };
}

program!(on_one, moves_on_one, folds_on_one, floats_on_one, others_on_one, Comm);
program!(on_nodes, moves_on_nodes, folds_on_nodes, floats_on_nodes, others_on_nodes, NodeComm<'_>);

/// A network of which the transfer after so many cannot be started, or is not done ever.
struct Faulty {
    of: Arc<dyn Net>,
    left: Arc<AtomicUsize>,
    is_late: bool,
}

struct Broken {
    _of: Box<dyn Pending>,
}

impl Pending for Broken {
    fn test(&mut self) -> Result<bool, NetError> {
        Err(NetError::new("a cable was cut"))
    }
}

impl Faulty {
    fn is_cut(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.left.fetch_update(SeqCst, SeqCst, one_less) == Ok(1)
    }

    fn with(&self, of: Arc<dyn Net>) -> Arc<dyn Net> {
        Arc::new(Faulty { of, left: self.left.clone(), is_late: self.is_late })
    }
}

// SAFETY: passed on.
unsafe impl Net for Faulty {
    fn nodes(&self) -> usize {
        self.of.nodes()
    }

    fn node(&self) -> usize {
        self.of.node()
    }

    fn name(&self) -> String {
        self.of.name()
    }

    fn tags(&self) -> usize {
        self.of.tags()
    }

    unsafe fn start(&self, transfer: Transfer<'_>) -> Result<Box<dyn Pending>, NetError> {
        let is_cut = self.is_cut();
        if is_cut && !self.is_late {
            return Err(NetError::new("a cable was cut"));
        }
        // SAFETY: passed on.
        let pending = unsafe { self.of.start(transfer) }?;
        Ok(if is_cut { Box::new(Broken { _of: pending }) } else { pending })
    }

    fn groups(
        &self,
        groups: &[Vec<usize>],
        pause: &mut dyn FnMut() -> Result<(), NetError>,
    ) -> Result<Vec<Option<Arc<dyn Net>>>, NetError> {
        if self.is_cut() {
            return Err(NetError::new("a cable was cut"));
        }
        pause()?;
        let made = self.of.groups(groups, pause)?;
        Ok(made.into_iter().map(|net| Some(self.with(net?))).collect())
    }

    fn rail(&self, rail: usize) -> Option<Arc<dyn Net>> {
        self.of.rail(rail).map(|net| self.with(net))
    }

    fn abort(&self) {
        self.of.abort();
        // All others hear of it before this rank says why.
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Such a network, of which nothing is broken before so many transfers.
fn faulty(threads: &[usize], rails: bool, cut: usize) -> (Vec<Arc<dyn Net>>, Arc<AtomicUsize>) {
    let left = Arc::new(AtomicUsize::new(cut));
    let net = |of| {
        Arc::new(Faulty { of, left: left.clone(), is_late: cut.is_multiple_of(2) }) as Arc<dyn Net>
    };
    (memory::nodes(threads.len(), rails).into_iter().map(net).collect(), left)
}

type Results = Vec<Result<Vec<Vec<u64>>, Error>>;

fn run_over(
    threads: &[usize],
    nets: &[Arc<dyn Net>],
    f: impl Fn(&mut NodeComm, &mut Vec<u64>) + Sync,
) -> Results {
    let results = Mutex::new((0..threads.len()).map(|_| None).collect::<Vec<_>>());
    std::thread::scope(|s| {
        for (node, (net, &t)) in nets.iter().zip(threads).enumerate() {
            let (f, results) = (&f, &results);
            s.spawn(move || {
                let builder = Team::builder().ranks(t).wait(phalanx::Wait::Yield);
                let team = builder.deadline(Duration::from_secs(40)).build().unwrap();
                let result = phalanx_nodes::run_across(&team, net, |comm| {
                    let mut out = Vec::new();
                    f(comm, &mut out);
                    out
                });
                results.lock().unwrap()[node] = Some(result);
            });
        }
    });
    results.into_inner().unwrap().into_iter().flatten().collect()
}

const LAYOUTS: [(&[usize], bool); 8] = [
    (&[1], false),
    (&[2, 1], false),
    (&[1, 1, 1], false),
    (&[1, 3], false),
    (&[2, 2], true),
    (&[3, 1, 1], false),
    (&[1, 1], true),
    (&[2, 3], false),
];

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_programs_give_what_they_give_on_one_node() {
    let (first, count) = (from_environment("SEED", 1), from_environment("COUNT", 16));
    for seed in first..first + count {
        let (threads, rails) = LAYOUTS[seed as usize % LAYOUTS.len()];
        let p = threads.iter().sum();
        let wanted = phalanx::run(p, |comm| {
            let mut out = Vec::new();
            on_one(comm, seed, 30, 0, &mut out);
            out
        });
        let nets = memory::nodes(threads.len(), rails);
        let got = run_over(threads, &nets, |comm, out| on_nodes(comm, seed, 30, 0, out));
        let got: Vec<_> = got.into_iter().flat_map(|it| it.unwrap()).collect();
        assert_eq!(got, wanted.unwrap(), "seed {seed} on {threads:?}");
    }
}

#[test]
fn a_cut_cable_ends_random_programs_at_any_place() {
    let (first, count) = (from_environment("SEED", 1), from_environment("COUNT", 1));
    for seed in first..first + count {
        let (threads, rails) = LAYOUTS[1 + seed as usize % (LAYOUTS.len() - 1)];
        for cut in 0.. {
            let (nets, left) = faulty(threads, rails, cut);
            let results = run_over(threads, &nets, |comm, out| on_nodes(comm, seed, 6, 1, out));
            if cut > 0 && left.load(SeqCst) > 0 {
                assert!(results.iter().all(Result::is_ok), "{seed}: {results:?}");
                break;
            }
            if cut == 0 {
                assert!(results.iter().all(Result::is_ok), "{seed}: {results:?}");
                continue;
            }
            let text: Vec<String> =
                results.iter().filter_map(|it| Some(it.as_ref().err()?.to_string())).collect();
            // At the very end some nodes may have all that they need.
            let is_end = text.iter().any(|it| it.contains("the end of the closure"));
            assert!(is_end || text.len() == threads.len(), "{seed}, {cut}: {results:?}");
            assert!(
                text.iter().any(|it| it.contains("a cable was cut")),
                "{seed}, {cut}: {text:?}"
            );
            assert!(!text.iter().any(|it| it.contains("deadline")), "{seed}, {cut}: {text:?}");
        }
    }
}

#[test]
fn a_rank_that_fails_ends_random_programs_at_any_place() {
    let (first, count) = (from_environment("SEED", 1), from_environment("COUNT", 4));
    for seed in first..first + count {
        let (threads, rails) = LAYOUTS[1 + seed as usize % (LAYOUTS.len() - 1)];
        let p: usize = threads.iter().sum();
        for at in 0..8 {
            for panics in [true, false] {
                let (nets, _) = faulty(threads, rails, 0);
                let who = (seed as usize + at) % p;
                let results = run_over(threads, &nets, |comm, out| {
                    for call in 0..8 {
                        if call == at && comm.rank() == who {
                            match panics {
                                true => panic!("out of luck"),
                                false => return,
                            }
                        }
                        // A rank that waits for a message of a rank that has returned waits for
                        // ever.
                        let has_messages = |seed: &u64| {
                            matches!(Call::any(&mut Chance(*seed), p).kind, 16 | 17 | 29 | 32..)
                        };
                        let mut seeds = (0..).map(|i| seed * 1000 + 100 * call as u64 + i);
                        let one = seeds.find(|seed| panics || !has_messages(seed)).unwrap();
                        on_nodes(comm, one, 1, 1, out);
                    }
                    comm.barrier();
                });
                assert!(results.iter().all(Result::is_err), "{seed}, {at}: {results:?}");
                let text: Vec<String> =
                    results.iter().map(|it| it.as_ref().unwrap_err().to_string()).collect();
                if panics {
                    let is_told = text.iter().any(|it| it.contains("out of luck"));
                    assert!(is_told, "{seed}, {at}: {text:?}");
                }
                if std::env::var("SHOW").is_ok() {
                    println!("{seed} {at} {panics} rank {who}: {text:#?}");
                }
                assert!(!text.iter().any(|it| it.contains("deadline")), "{seed}, {at}: {text:?}");
            }
        }
    }
}

#[test]
fn a_cable_that_is_cut_before_the_first_call() {
    for cut in [1, 2] {
        let (nets, _) = faulty(&[1, 1], false, cut);
        let errors: Vec<String> = std::thread::scope(|s| {
            let begin = |net| {
                s.spawn(move || {
                    let team = Team::builder().ranks(1).deadline(Duration::from_secs(30));
                    let comm = phalanx_nodes::external_across(team, net).map(|mut it| it.remove(0));
                    // A node that had all that it needs before the cut hears of it at its first
                    // call.
                    let result = comm.and_then(|mut comm| comm.protect(|comm| comm.barrier()));
                    result.unwrap_err().to_string()
                })
            };
            let threads: Vec<_> = nets.iter().map(begin).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(errors.iter().any(|it| it.contains("a cable was cut")), "{errors:?}");
        assert!(errors.iter().any(|it| it.contains("another node has failed")), "{errors:?}");
    }
}
