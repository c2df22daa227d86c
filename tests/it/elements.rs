//! Checks that every operation carries every kind of element (no size, large, aligned, padded, with
//! invalid bit patterns) at every length around the inline limit, in communicators and their
//! children.

use crate::common::{OneCall, again_and_again, all_at_once, succeeds, team, watch};
use phalanx::dist::Halo;
use phalanx::{Algorithm, Comm, Element, Order, Team, call, op};
use std::fmt::Debug;

/// Values that differ by rank and index.
trait Make: Element + PartialEq + Debug {
    fn make(k: usize) -> Self;
}

/// Associative, not commutative, and good for any type: the last rank's wins.
fn later<T: Make>(_: T, b: T) -> T {
    b
}

macro_rules! make {
    ($($t:ty: |$k:ident| $e:expr;)*) => {$(
        impl Make for $t {
            fn make($k: usize) -> Self {
                $e
            }
        }
    )*};
}

/// Types of every alignment, without a size and with one: more than a line, a page, a block of
/// the engine's, a place on the eager buffer.
macro_rules! alignments {
    ($($align:literal $empty:ident $full:ident;)*) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq)]
            #[repr(align($align))]
            struct $empty;

            #[derive(Clone, Copy, Debug, PartialEq)]
            #[repr(align($align))]
            struct $full(u8);

            impl Make for $empty {
                fn make(_: usize) -> Self {
                    $empty
                }
            }

            impl Make for $full {
                fn make(k: usize) -> Self {
                    $full(k as u8)
                }
            }
        )*

        #[test]
        fn every_alignment() {
            // Without optimisation a function keeps dozens of copies of its elements.
            const STACK: usize = 256 << 20;
            let all = || {
                for p in 1..=5 {
                    let team = Team::builder().ranks(p).stack_size(STACK).build().unwrap();
                    $(
                        team.run(in_every_way::<$empty>).unwrap();
                        team.run(in_every_way::<$full>).unwrap();
                    )*
                }
            };
            // Rank 0 has this thread's.
            let thread = std::thread::Builder::new().stack_size(STACK);
            let _watch = watch();
            thread.spawn(all).unwrap().join().unwrap();
        }
    };
}

with_alignments!(alignments);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Large([u32; 256]);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Suit {
    Clubs,
    Hearts(bool),
    Spades(char),
}

make! {
    u8: |k| k as u8;
    u16: |k| k as u16;
    u64: |k| k as u64;
    f64: |k| k as f64;
    u128: |k| k as u128;
    bool: |k| k.count_ones().is_multiple_of(2);
    char: |k| char::from_u32(0x1f600 + k as u32 % 64).unwrap();
    (): |_k| ();
    Large: |k| Large(std::array::from_fn(|i| (k * 1000 + i) as u32));
    (u8, u64, bool): |k| (k as u8, k as u64, k.is_multiple_of(3));
    (u8, [u16; 9]): |k| (k as u8, [k as u16; 9]);
    [u8; 40]: |k| [k as u8; 40];
    [u8; 41]: |k| [k as u8; 41];
    Option<char>: |k| k.is_multiple_of(2).then(|| char::make(k));
    Suit: |k| match k % 3 {
        0 => Suit::Clubs,
        1 => Suit::Hearts(k.is_multiple_of(2)),
        _ => Suit::Spades(char::make(k)),
    };
    &'static str: |k| ["", "a", "phalanx", "rank"][k % 4];
    fn(usize) -> usize: |k| if k.is_multiple_of(2) { |x| x } else { |x| x + 1 };
}

fn make<T: Make>(rank: usize, i: usize) -> T {
    T::make(rank * 7919 + i)
}

fn data<T: Make>(rank: usize, n: usize) -> Vec<T> {
    (0..n).map(|i| make(rank, i)).collect()
}

/// Every operation, with ordered reductions, and calls of a rank's own shape, on `n` elements.
fn every_operation<T: Make>(comm: &mut Comm, n: usize) {
    let (r, p) = (comm.rank(), comm.size());
    let root = n % p;
    for it in OneCall::all(comm, n, &[root], &[-1]) {
        it.check(comm, op::ordered(later::<T>), &make::<T>);
    }

    let mine: Vec<T> = data(r, n);
    let mut x = vec![T::make(77); n];
    comm.exchange(&mine, (r + 1) % p, &mut x, (r + p - 1) % p);
    assert_eq!(x, data((r + p - 1) % p, n));

    comm.with_peers(&mine[..n - n.min(r)], |peers| {
        assert_eq!(peers.len(), p);
        for (q, x) in peers.iter().enumerate() {
            assert_eq!(x, &data::<T>(q, n)[..n - n.min(q)]);
        }
    });
    let seen = comm.with_root(&mine, root, |x| {
        assert_eq!(x, data(root, n));
        x.len()
    });
    assert_eq!(seen, n);
}

fn at_lengths<T: Make>(lengths: impl IntoIterator<Item = usize>) {
    let lengths: Vec<usize> = lengths.into_iter().collect();
    let _watch = watch();
    for p in 1..=4 {
        let team = team(p);
        for &n in &lengths {
            let result = team.run(|comm| {
                every_operation::<T>(comm, n);
                every_operation::<T>(&mut comm.ring(), n);
                every_operation::<T>(&mut comm.hypercube(), n);
            });
            if let Err(e) = result {
                panic!("{} of {} on {p} ranks: {e}", n, std::any::type_name::<T>());
            }
        }
    }
}

macro_rules! test_elements {
    ($($name:ident: $t:ty, $lengths:expr;)*) => {$(
        #[test]
        fn $name() {
            at_lengths::<$t>($lengths);
        }
    )*};
}

test_elements! {
    bytes: u8, (0..=50).chain([4095, 4096, 4097]);
    shorts: u16, (0..=24).step_by(2);
    floats: f64, (0..=8).chain([1000]);
    wide_integers: u128, 0..=4;
    truths: bool, [0, 1, 39, 40, 41, 300];
    characters: char, [0, 1, 9, 10, 11, 300];
    nothing: (), [0, 1, 7, 1000];
    units: E1, [0, 1, 7, 1000];
    aligned_units: E128, [0, 1, 7];
    aligned: F128, [0, 1, 2, 9];
    pages: F4096, [0, 1, 3];
    large: Large, [0, 1, 2, 9];
    padded: (u8, u64, bool), [0, 1, 2, 3, 50];
    odd_sizes: (u8, [u16; 9]), [0, 1, 2, 3, 50];
    just_inline: [u8; 40], [0, 1, 2];
    just_not_inline: [u8; 41], [0, 1, 2];
    options: Option<char>, [0, 1, 10, 11, 100];
    enums: Suit, [0, 1, 5, 6, 100];
    texts: &'static str, [0, 1, 2, 3, 100];
    functions: fn(usize) -> usize, [0, 1, 5, 6];
}

#[test]
fn views_of_different_lengths() {
    let _watch = watch();
    for p in 1..=5 {
        succeeds(&team(p), |comm| {
            let r = comm.rank();
            for n in [0, 1, 7] {
                let mine: Vec<f64> = data(r, n * r);
                let sizes = comm.with_peers(&mine, |all| {
                    assert_eq!((all.get(p), &all[r]), (None, &mine[..]));
                    all.iter().map(<[f64]>::len).collect::<Vec<_>>()
                });
                assert_eq!(sizes, (0..p).map(|q| n * q).collect::<Vec<_>>());
                // The other ranks' elements are not looked at.
                let root = n % p;
                comm.with_root(&mine, root, |x| assert_eq!(x, data(root, n * root)));
            }
        });
    }
}

/// Every operation on blocks of `counts[q]` elements.
fn varied<T: Make>(comm: &mut Comm, counts: &[usize]) {
    let root = counts.iter().sum::<usize>() % comm.size();
    for it in OneCall::all_varied(comm, counts, &[root]) {
        it.check(comm, op::ordered(later), &make::<T>);
    }
}

/// Calls that are started, once and again and again, and those of which only the sender knows the
/// length.
fn started<T: Make>(comm: &mut Comm, n: usize) {
    let (r, p) = (comm.rank(), comm.size());
    let (root, to, from) = (n % p, (r + 1) % p, (r + p - 1) % p);
    let last = op::ordered(later::<T>);
    let calls = OneCall::all(comm, n, &[root], &[1]);
    all_at_once(comm, &calls, n as u64, last, &make);
    again_and_again(comm, &calls, last, &|k, rank, i| make::<T>(rank + 100 * k, i));
    let mine: Vec<T> = data(r, n + r);
    let (got, status) = comm.requests(|scope| {
        let sent = scope.start(call::send_tagged(&mine, to, 3));
        let got = scope.comm().recv_vec::<T>(from, 3);
        scope.wait(sent);
        got
    });
    assert_eq!((&got, status.len), (&data(from, n + from), n + from));
    let mut x = data::<T>(r, n);
    comm.segmented_scan(&mut x, &vec![true; n], last);
    assert_eq!(x, data(r, n));
    let halo = Halo::new(&[n.max(1)], 1);
    let whole = comm.cart(&[0], &[true]).gather_grid(&data::<T>(r, halo.len()), &halo, root);
    assert_eq!(whole.map(|it| it.len()), (r == root).then_some(n.max(1) * p));
}

/// Every operation, each way of small and of large calls, in both orders.
fn in_every_way<T: Make>(comm: &mut Comm) {
    let (r, p) = (comm.rank(), comm.size());
    for n in [0, 1, 3] {
        every_operation::<T>(comm, n);
        every_operation::<T>(&mut comm.hypercube(), n);
        every_operation::<T>(&mut comm.with_order(Order::Fixed), n);
        let counts: Vec<usize> = (0..p).map(|q| (q + n) % 3).collect();
        varied::<T>(comm, &counts);
        varied::<T>(&mut comm.with_order(Order::Fixed), &counts);
        started::<T>(comm, n);
        started::<T>(&mut comm.split(r % 2, r), n);

        let mut x = data::<T>(r, n);
        comm.overlap(call::all_reduce(&mut x, op::ordered(later)), || ());
        assert_eq!(x, data(p - 1, n));

        let halo = Halo::new(&[n.max(1), 2], 1);
        let mut field = data::<T>(r, halo.len());
        comm.cart(&[0, 1], &[true, true]).exchange_halo(&mut field, &halo);
        let above = data::<T>((r + p - 1) % p, halo.len());
        let (own, theirs) = (halo.index(&[-1, 0]), halo.index(&[n.max(1) as isize - 1, 0]));
        assert_eq!(field[own..own + 2], above[theirs..theirs + 2]);
    }
    let fused =
        [Algorithm::AR_FUSED, Algorithm::BC_FUSED, Algorithm::SCAN_FUSED, Algorithm::RED_FUSED];
    for algorithm in fused {
        let (mut x, op) = (data::<T>(r, 2), op::ordered(later));
        let mut forced = comm.with(algorithm);
        match algorithm {
            Algorithm::AR_FUSED => forced.all_reduce(&mut x, op),
            Algorithm::BC_FUSED => forced.broadcast(&mut x, p - 1),
            Algorithm::RED_FUSED => forced.reduce(&mut x, op, 0),
            _ => forced.scan(&mut x, op),
        }
        let last = matches!(algorithm, Algorithm::AR_FUSED | Algorithm::BC_FUSED);
        let whose = if last || (algorithm == Algorithm::RED_FUSED && r == 0) { p - 1 } else { r };
        assert_eq!(x, data(whose, 2), "{algorithm}");
    }
    let sum = comm.fixed_reduce(&data::<T>(r, 1), op::ordered(later), r);
    assert_eq!(sum, Some(T::make((p - 1) * 7919)));
}

#[test]
fn varied_counts() {
    let _watch = watch();
    for p in 1..=5 {
        let team = team(p);
        // All combinations of no, one, an inline and a large block.
        for code in 0..4usize.pow(p as u32) {
            let counts: Vec<usize> =
                (0..p).map(|q| [0, 1, 5, 30][code / 4usize.pow(q as u32) % 4]).collect();
            let result = team.run(|comm| {
                varied::<u64>(comm, &counts);
                varied::<(u8, u64, bool)>(comm, &counts);
                varied::<E1>(comm, &counts);
            });
            if let Err(e) = result {
                panic!("{counts:?}: {e}");
            }
        }
    }
}

#[test]
fn children() {
    let _watch = watch();
    for p in 2..=6 {
        succeeds(&team(p), |comm| {
            let r = comm.rank();
            let mut reversed = comm.split(0, p - r);
            let mut half = comm.split(r % 2, r);
            for n in [0, 1, 5, 6, 40, 100] {
                every_operation::<u64>(&mut half, n);
                every_operation::<u8>(&mut reversed, n);
                every_operation::<u8>(&mut half.hypercube(), n);
                let counts: Vec<usize> = (0..half.size()).map(|q| n * q).collect();
                varied::<f64>(&mut half, &counts);
            }
        });
    }
}

#[test]
fn numbers_of_elements_without_bytes_are_compared() {
    for n in [2, 70, 2000] {
        let run = phalanx::run(2, |comm| match comm.rank() {
            0 => comm.send(&vec![(); n + 1], 1),
            _ => comm.recv(&mut vec![(); n], 0),
        });
        assert!(matches!(run, Err(phalanx::Error::Mismatch { .. })), "{n}: {run:?}");
    }
}
