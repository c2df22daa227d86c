//! Operators that have one result, bit by bit, on every way that a reduction can take.

use super::OneCall;
use phalanx::op::{self, Operator};
use phalanx::schedule::Request;
use phalanx::{Algorithm, Comm, Element, Order};

/// The bits of a value that two values share only if nothing tells them apart.
pub(crate) trait Bits: Element {
    fn bits(self) -> Vec<u128>;
}

macro_rules! bits {
    ($($type:ty: |$x:ident| $bits:expr;)*) => {$(
        impl Bits for $type {
            fn bits(self) -> Vec<u128> {
                let $x = self;
                vec![u128::from($bits)]
            }
        }
    )*};
}

bits! {
    f64: |x| x.to_bits();
    f32: |x| x.to_bits();
    u64: |x| x;
    u32: |x| x;
    u16: |x| x;
    u8: |x| x;
    i64: |x| x.cast_unsigned();
    i32: |x| x.cast_unsigned();
    i8: |x| x.cast_unsigned();
    bool: |x| x;
    Weight: |x| x.0.to_bits();
}

#[cfg(feature = "half")]
bits! {
    half::f16: |x| x.to_bits();
    half::bf16: |x| x.to_bits();
}

impl<T: Bits, const N: usize> Bits for [T; N] {
    fn bits(self) -> Vec<u128> {
        self.into_iter().flat_map(Bits::bits).collect()
    }
}

impl<A: Bits, B: Bits> Bits for (A, B) {
    fn bits(self) -> Vec<u128> {
        [self.0.bits(), self.1.bits()].concat()
    }
}

/// A user's value, for pairs with a place.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Weight(pub(crate) f32);

/// A number of no pattern.
pub(crate) fn noise(r: usize, i: usize) -> u64 {
    let x = (r as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (i as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95);
    x ^ x >> 29
}

/// The kinds of floats: zeros, then numbers, then infinities, then NaNs of both signs and of
/// several payloads, one of them signalling.
const FLOATS: [u64; 16] = {
    let sign = 1 << 63;
    [
        0,
        sign,
        1.5f64.to_bits(),
        (-2.5f64).to_bits(),
        1,
        f64::MAX.to_bits(),
        f64::INFINITY.to_bits(),
        f64::NEG_INFINITY.to_bits(),
        f64::NAN.to_bits(),
        f64::NAN.to_bits() | sign,
        f64::NAN.to_bits() | 77 << 42,
        f64::NAN.to_bits() | sign | 5 << 48,
        0x7ff0_0400_0000_0000,
        u64::MAX,
        f64::NAN.to_bits() | 1 << 50,
        0xfff0_0000_4000_0000,
    ]
};

/// A float for the operand `x` of element `i`: of zeros only, of numbers, with a few NaNs, of NaNs
/// only.
pub(crate) fn double(x: usize, i: usize) -> f64 {
    let pick = match i % 5 {
        0 => x % 2,
        1 => x % 8,
        2 => 8 + x % 8,
        3 if x.is_multiple_of(7) => 8 + x / 7 % 8,
        3 => x % 8,
        _ => x % 16,
    };
    f64::from_bits(FLOATS[pick])
}

/// The same, with the upper bits only: a conversion would change a signalling NaN.
pub(crate) fn single(x: usize, i: usize) -> f32 {
    let bits = double(x, i).to_bits();
    let (sign, rest) = ((bits >> 32) as u32 & 1 << 31, bits & u64::MAX >> 1);
    if rest >> 52 == 0x7ff {
        return f32::from_bits(sign | 0xff << 23 | (rest >> 29) as u32 & 0x7f_ffff);
    }
    f64::from_bits(bits) as f32
}

#[cfg(feature = "half")]
pub(crate) fn short(x: usize, i: usize) -> half::f16 {
    let bits = single(x, i).to_bits();
    let nan = (bits >> 16) as u16 & 0x8000 | 0x7c00 | ((bits >> 13) as u16 & 0x3ff).max(1);
    if single(x, i).is_nan() {
        half::f16::from_bits(nan)
    } else {
        half::f16::from_f32(single(x, i))
    }
}

#[cfg(feature = "half")]
pub(crate) fn brain(x: usize, i: usize) -> half::bf16 {
    let bits = (single(x, i).to_bits() >> 16) as u16;
    half::bf16::from_bits(if single(x, i).is_nan() { bits | 0x10 } else { bits })
}

/// Every way to reduce `n` elements `make(operand, i)`, each against the fold in rank order.
fn every_way<T: Bits, O: Operator<T> + Copy + 'static>(
    comm: &mut Comm,
    n: usize,
    op: O,
    make: fn(usize, usize) -> T,
) {
    let fold = |all: &[T]| all[1..].iter().fold(all[0], |x, &y| op.combine(x, y));
    every_way_to(comm, n, op, make, &fold);
}

/// The same, each against `result` of the operands.
pub(crate) fn every_way_to<T: Bits, O: Operator<T> + Copy + 'static>(
    comm: &mut Comm,
    n: usize,
    op: O,
    make: fn(usize, usize) -> T,
    result: &dyn Fn(&[T]) -> T,
) {
    let (p, root) = (comm.size(), n % comm.size());
    let value = |q: usize, i: usize| make(noise(q, i) as u32 as usize, i);
    let same = |it: &OneCall, got: &[T], wanted: &[T], way: &str| {
        for (i, (x, y)) in got.iter().zip(wanted).enumerate() {
            let types = std::any::type_name::<(O, T)>();
            assert_eq!(x.bits(), y.bits(), "{way}, {types}: {i} of {n}, {it:?}");
        }
    };
    let mut calls = OneCall::all(comm, n, &[root], &[]);
    calls.retain(|it| it.operation.combines());
    let all = calls.iter().map(|it| (it, it.buffers_to(op.identity(), &value, result)));
    let mut all: Vec<_> = all.collect();
    for (it, b) in &all {
        let blocking = |comm: &mut Comm, way: &str| {
            let mut y = b.output.clone();
            it.make(comm, op, (&b.input, &mut y));
            same(it, &y, &b.wanted, way);
        };
        blocking(comm, "blocking");
        blocking(&mut comm.with_order(Order::Fixed), "in fixed order");
        let request = Request::new(it.operation, p).root(root);
        // The result of a catalogue's tree does not depend on the length.
        let forced = Algorithm::for_operation(it.operation);
        for algorithm in forced.filter(|_| (2..40).contains(&n)) {
            if algorithm.schedule(&request).is_ok() {
                blocking(&mut comm.with(algorithm), algorithm.id());
            }
        }
    }
    let mut copies = all.clone();
    comm.requests(|scope| {
        let open: Vec<_> = copies
            .iter_mut()
            .map(|(it, b)| (*it, &b.wanted, it.start(scope, op, (&b.input, &mut b.output))))
            .collect();
        for (it, wanted, request) in open {
            same(it, &*scope.wait(request), wanted, "started");
        }
    });
    comm.requests(|scope| {
        let set_up: Vec<_> = all
            .iter_mut()
            .map(|(it, b)| (*it, &b.wanted, it.set_up(scope, op, (&mut b.input, &mut b.output))))
            .collect();
        for (it, wanted, call) in set_up {
            let request = scope.start(call);
            same(it, scope.wait(request).buf(), wanted, "set up");
        }
    });
}

/// The floats among them.
pub(crate) fn one_result_of_floats(comm: &mut Comm, n: usize) {
    every_way(comm, n, op::Min, double);
    every_way(comm, n, op::Max, double);
    every_way(comm, n, op::MaxLoc, |x, i| (double(x, i), (x >> 16) as u32 % 3));
}

/// All operators with results that do not round, on each sort of elements.
pub(crate) fn one_result(comm: &mut Comm, n: usize) {
    macro_rules! all {
        ($($op:ident)*, $make:expr) => {$(every_way(comm, n, op::$op, $make);)*};
    }
    one_result_of_floats(comm, n);
    all!(Min Max, single);
    all!(Min, |x, i| [double(x, i), double(x / 3, i), double(x / 7, i + 1)]);
    all!(Min Max Prod, |x, _| x as i8);
    all!(MinLoc, |x, i| (double(x, i), (x >> 16) as u32 % 3));
    all!(MinLoc MaxLoc, |x, i| (single(x, i), x as i8));
    all!(MinLoc, |x, _| (x as u8 % 4, (x >> 8) as i64 % 9));
    all!(MinLoc MaxLoc, |x, i| (Weight(single(x, i)), x as u32));
    all!(Sum, |x, _| (x as u32, [x as u16, (x >> 8) as u16]));
    all!(And Or Xor, |x, _| (x % 3) as i32);
    all!(And Xor, |x: usize, _| !x.is_multiple_of(9));
    all!(BitAnd BitOr BitXor, |x, _| x as u16 | 1);
    #[cfg(feature = "half")]
    {
        all!(Min Max, short);
        all!(Min Max, brain);
        all!(MinLoc, |x, i| (short(x, i), x as u8 % 2));
    }
}
