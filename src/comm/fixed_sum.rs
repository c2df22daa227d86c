//! Reductions of a vector that is spread over the ranks, with the same bits for
//! every number of ranks.
//!
//! A message is a part's contribution (`dist/partial.rs`): its bounds, and numbers. The ranks
//! exchange as in recursive doubling, and join their partner's contribution with their own; so that
//! after `log2 p` steps everybody has the whole.

use super::Comm;
use super::arguments::CallAt;
use crate::dist::{BLOCK, Partial, Products, Values, Widened};
use crate::element::Element;
use crate::mailbox::EAGER;
use crate::op::float_control::FloatControl;
use crate::op::{Accumulating, Accumulation, OfInner, Operator, Sum, is_disturbed};
use crate::schedule::{Algorithm, Doubling};
use crate::shared::{
    CallParams, Fingerprint, GivenPart, Guard, PayloadKind, Port, Signature, Stop,
};
use std::mem::MaybeUninit;
use std::ops::Mul;
use std::panic::Location;

/// # The same bits on any number of ranks
impl Comm {
    /// The sum of a vector that is spread over the ranks, with the same bits
    /// whatever the number of ranks and wherever it is cut: `mine` are the
    /// elements from global index `offset` on; the parts follow one another in
    /// rank order, and may be empty.
    ///
    /// **Must agree on all ranks:** the element type, the operator; each rank's
    /// `offset` is where the part of the rank before ends (0 on rank 0).
    ///
    /// **Order.** Blocks of 256 elements by global index; in a block 16
    /// interleaved partial sums; over the blocks a balanced binary tree. That is
    /// also more accurate than adding from left to right: the error grows with
    /// `log N`, not `N`.
    ///
    /// **Cost** beside the sum over `mine`: `log2 p` exchanges (2 more steps
    /// where p is no power of two) of at most `2 log2 (N/256)` partial sums, and 16 sums and up to
    /// 255 elements of cut blocks (none: cut at multiples of 256, see
    /// [`Block::aligned`](crate::dist::Block::aligned)): copied up to 1 KiB. Two ranks that are cut
    /// inside of a block: a message to rank 1 and one back. Beside a dot product in 16 lanes by
    /// hand and a plain sum, on two ranks: `benches/ratios` (docs/performance.md, "Solvers").
    ///
    /// # Errors
    /// Parts that do not follow one another end the run.
    ///
    /// # Examples
    /// ```
    /// let x: Vec<f64> = (0..1000).map(|i| (i as f64).sin() * 10f64.powi(i % 30)).collect();
    /// let on = |p: usize| {
    ///     let sums = phalanx::run(p, |comm| {
    ///         let (from, to) = (1000 * comm.rank() / p, 1000 * (comm.rank() + 1) / p);
    ///         comm.fixed_sum(&x[from..to], from)
    ///     });
    ///     sums.map(|sums| sums[0].to_bits())
    /// };
    /// assert_eq!(on(1)?, on(3)?);
    /// assert_eq!(on(1)?, on(7)?);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn fixed_sum<T: Element>(&mut self, mine: &[T], offset: usize) -> T
    where
        Sum: Operator<T>,
    {
        let sig =
            const { &Signature::combining::<T, Sum>("fixed_sum", <Sum as Operator<T>>::NAME, "") };
        fixed_sum(&mut FixedCall(self, (sig, Location::caller())), mine, offset)
    }

    /// The dot product of two vectors that are spread over the ranks, with the
    /// same bits whatever the number of ranks: [`fixed_sum`](Comm::fixed_sum) of
    /// the products. `fixed_dot(x, x, offset).sqrt()` is the norm.
    ///
    /// **Must agree on all ranks:** the element type; each rank's `offset` is where the part of the
    /// rank before ends. `x` and `y` are equally long.
    ///
    /// **Order, cost** of the sum of the products: those of [`fixed_sum`](Comm::fixed_sum).
    ///
    /// **On a grid of ranks** of two or more dimensions the elements of a rank do not follow one
    /// another in the order of the whole array, so this call is not for them. Cut the array along
    /// its first dimension only (`cart(&[0, 1], ..)`): then each part is contiguous. Or take
    /// [`with_order`](Comm::with_order)`(Order::Fixed)` and [`sum`](Comm::sum) of each rank's own
    /// dot product: the same bits for every topology and algorithm, but others for another grid.
    ///
    /// # Errors
    /// Parts that do not follow one another, and vectors of two lengths, end the run.
    ///
    /// # Examples
    /// ```
    /// let dots = phalanx::run(4, |comm| {
    ///     let x = [0.5; 300];
    ///     comm.fixed_dot(&x, &x, 300 * comm.rank())
    /// })?;
    /// assert_eq!(dots, [300.0; 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn fixed_dot<T>(&mut self, x: &[T], y: &[T], offset: usize) -> T
    where
        T: Element + Mul<Output = T>,
        Sum: Operator<T>,
    {
        let sig = const { &dots::<T>("fixed_dot", "") };
        let [dot] = fixed_dots(&mut FixedCall(self, (sig, Location::caller())), [(x, y)], offset);
        dot
    }

    /// Several dot products at once, at the price of one exchange.
    ///
    /// **Must agree on all ranks:** the element type, the number of pairs; each rank's `offset` is
    /// where the parts of the rank before end. All vectors are cut alike.
    ///
    /// **Order:** that of [`fixed_sum`](Comm::fixed_sum). **Cost** of one such call; its messages
    /// have the partial sums of all pairs.
    ///
    /// # Errors
    /// Parts that do not follow one another, and vectors of two lengths, end the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (r, w) = ([2.0; 10], [3.0; 10]);
    ///     comm.fixed_dots([(&r, &r), (&r, &w)], 10 * comm.rank())
    /// })?;
    /// assert_eq!(out, [[120.0, 180.0]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn fixed_dots<T, const N: usize>(
        &mut self,
        pairs: [(&[T], &[T]); N],
        offset: usize,
    ) -> [T; N]
    where
        T: Element + Mul<Output = T>,
        Sum: Operator<T>,
    {
        let sig = const { &dots::<T>("fixed_dots", "number of pairs") };
        fixed_dots(&mut FixedCall(self, (sig, Location::caller())), pairs, offset)
    }

    /// The elements of a vector that is spread over the ranks, combined by `op` with the same bits
    /// whatever the number of ranks and wherever it is cut, as [`fixed_sum`](Comm::fixed_sum) adds
    /// them; none for a vector without elements. Operators that are not commutative see the
    /// elements in the order of their indices.
    ///
    /// **Must agree on all ranks:** the element type, the operator; each rank's `offset` is where
    /// the part of the rank before ends.
    ///
    /// **Order:** that of [`fixed_sum`](Comm::fixed_sum); for operators that are not commutative a
    /// block is combined from left to right. **Cost** that of `fixed_sum`.
    ///
    /// # Errors
    /// Parts that do not follow one another end the run.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mine = [comm.rank() as f64 - 1.0; 2];
    ///     comm.fixed_reduce(&mine, op::Max, 2 * comm.rank())
    /// })?;
    /// assert_eq!(out, [Some(1.0); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn fixed_reduce<T: Element, O: Operator<T>>(
        &mut self,
        mine: &[T],
        op: O,
        offset: usize,
    ) -> Option<T> {
        let sig = const { &Signature::combining::<T, O>("fixed_reduce", O::NAME, "") };
        fixed_reduce(&mut FixedCall(self, (sig, Location::caller())), mine, &op, offset)
    }
}

/// A rank that has a part of a vector: of a communicator, or of a layer above, in a call of it.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, JoinsParts, Partial};
/// use phalanx::{Element, op::Operator};
/// struct Alone;
/// impl JoinsParts for Alone {
///     fn rank(&self) -> usize {
///         0
///     }
///     fn joined<T: Element, O: Operator<T>, const N: usize>(
///         &mut self,
///         own: [Partial<T>; N],
///         op: &O,
///     ) -> [Option<T>; N] {
///         own.map(|part| part.result(op))
///     }
///     fn refuse(&mut self, _: usize, what: String) -> ! {
///         panic!("{what}")
///     }
/// }
/// assert_eq!(engine::fixed_dots(&mut Alone, [(&[1, 2], &[3, 4])], 0), [11]);
/// ```
pub trait JoinsParts {
    /// Its number.
    fn rank(&self) -> usize;

    /// Whether no part follows its own, if that is known.
    fn is_last(&self) -> bool {
        false
    }

    /// The results of the contributions of all ranks, of which these, cut alike, are its own.
    fn joined<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        own: [Partial<T>; N],
        op: &O,
    ) -> [Option<T>; N];

    /// Ends the run: an argument of the call, on so many elements, is wrong.
    fn refuse(&mut self, len: usize, what: String) -> !;
}

/// A call of a communicator's.
struct FixedCall<'c>(&'c mut Comm, CallAt);

impl JoinsParts for FixedCall<'_> {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn is_last(&self) -> bool {
        self.0.rank() + 1 == self.0.size()
    }

    fn joined<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        own: [Partial<T>; N],
        op: &O,
    ) -> [Option<T>; N] {
        let FixedCall(comm, (sig, at)) = self;
        let (start, end) = own.first().map_or((0, 0), Partial::bounds);
        let params = CallParams {
            algorithm: Algorithm::AR_ANY.index(),
            own_len: Some(end - start),
            parameter: N.min(Fingerprint::NO_PARAMETER - 1),
            ..CallParams::of(N)
        };
        if !comm.enter((sig, at), params) {
            comm.nothing_to_return();
        }
        let results = exchange(&mut comm.port, own, op);
        results.unwrap_or_else(|stop| comm.stop_for_good(stop))
    }

    fn refuse(&mut self, len: usize, what: String) -> ! {
        self.0.wrong(self.1, len, what);
        self.0.nothing_to_return()
    }
}

/// [`Comm::fixed_sum`] by any rank. See [`JoinsParts`].
pub fn fixed_sum<T: Element>(by: &mut impl JoinsParts, mine: &[T], offset: usize) -> T
where
    Sum: Operator<T>,
{
    let [sum] = whole(by, [mine], &Sum, offset);
    or_zero(by, sum)
}

/// [`Comm::fixed_reduce`] by any rank. See [`JoinsParts`].
pub fn fixed_reduce<T: Element, O: Operator<T>>(
    by: &mut impl JoinsParts,
    mine: &[T],
    op: &O,
    offset: usize,
) -> Option<T> {
    let [result] = whole(by, [mine], op, offset);
    result
}

/// [`Comm::fixed_dots`] by any rank. See [`JoinsParts`].
pub fn fixed_dots<T, const N: usize>(
    by: &mut impl JoinsParts,
    pairs: [(&[T], &[T]); N],
    offset: usize,
) -> [T; N]
where
    T: Element + Mul<Output = T>,
    Sum: Operator<T>,
{
    let n = pairs.first().map_or(0, |(x, _)| x.len());
    if let Some(odd) = pairs.iter().flat_map(|(x, y)| [x.len(), y.len()]).find(|&len| len != n) {
        by.refuse(n, format!("a vector has {odd} elements, must have {n}"));
    }
    let dots = whole(by, pairs.map(|(x, y)| Products(x, y)), &Sum, offset);
    dots.map(|dot| or_zero(by, dot))
}

/// The sum of nothing is the identity.
fn or_zero<T: Element>(by: &mut impl JoinsParts, sum: Option<T>) -> T
where
    Sum: Operator<T>,
{
    sum.or_else(|| Sum.identity()).unwrap_or_else(|| {
        by.refuse(0, "no elements on any rank, and the sum has no identity".to_string())
    })
}

/// The results of `values`, which are rounded once if partial results are wide.
fn whole<T: Element, O: Operator<T>, V: Values<T>, const N: usize>(
    by: &mut impl JoinsParts,
    values: [V; N],
    op: &O,
    offset: usize,
) -> [Option<T>; N] {
    fn of<T: Element, O: Operator<T>, V: Values<T>, S: Accumulation<T, O>, const N: usize>(
        by: &mut impl JoinsParts,
        values: [V; N],
        (op, accumulation): (&O, S),
        offset: usize,
    ) -> [Option<T>; N] {
        if !S::IS_WIDE {
            return whole_of_elements(by, values, op, offset);
        }
        let values = values.map(Widened::<V, T, O, S>::new);
        let op = Accumulating::new(op, &OfInner(accumulation));
        let results = whole_of_elements(by, values, &op, offset);
        results.map(|it| it.map(S::round))
    }
    if is_disturbed::<T, O>() {
        return FloatControl::STANDARD.lend(|| whole(by, values, op, offset));
    }
    of(by, values, (op, O::accumulation()), offset)
}

fn whole_of_elements<T: Element, O: Operator<T>, const N: usize>(
    by: &mut impl JoinsParts,
    values: [impl Values<T>; N],
    op: &O,
    offset: usize,
) -> [Option<T>; N] {
    let len = values.first().map_or(0, Values::len);
    if by.rank() == 0 && offset != 0 {
        let what = format!("`offset` is {offset}; on rank 0, where the vector begins, it is 0");
        by.refuse(len, what);
    }
    if offset.checked_add(len).and_then(|end| end.checked_add(BLOCK)).is_none() {
        by.refuse(len, format!("{len} elements from {offset} on are too many"));
    }
    let is_last = by.is_last();
    by.joined(values.map(|x| Partial::of(&x, offset, is_last, op)), op)
}

/// The signature of a method that computes dot products; the two meet.
const fn dots<T: Element>(call: &'static str, parameter: &'static str) -> Signature
where
    Sum: Operator<T>,
{
    let operator = <Sum as Operator<T>>::NAME;
    Signature::combining::<T, Sum>(call, operator, parameter).meets("fixed_dots")
}

/// Bytes of where a part begins and ends.
const BOUNDS: usize = 2 * size_of::<usize>();

/// In the place of a part's begin: results follow. No part begins there.
const RESULTS: usize = usize::MAX;

/// Recursive doubling with contributions, as in `exec/eager.rs`: partners always
/// have parts next to each other.
fn exchange<T: Element, O: Operator<T>, const N: usize>(
    port: &mut Port,
    mut parts: [Partial<T>; N],
    op: &O,
) -> Result<[Option<T>; N], Stop> {
    // All are cut alike.
    let bounds_of = |parts: &[Partial<T>; N]| parts.first().map_or((0, 0), Partial::bounds);
    let (rank, own) = (port.rank(), bounds_of(&parts));
    let behind_cut = N * elements_behind_cut(own, rank) * size_of::<T>();
    let doubling = match port.size() == 2 && behind_cut > MOST_BEHIND_CUT {
        true => Doubling::folded_pair(),
        false => Doubling::of(port.size()),
    };
    // Before the guard, which awaits those that read it.
    let mut lent = vec![];
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    let mut results = None;
    for step in 0..doubling.steps() {
        let hop = doubling.step(step, rank);
        if let Some(peer) = hop.send {
            // Those that were folded get results, in the last step.
            if doubling.has_folded() && step > 0 && step + 1 == doubling.steps() {
                let all = boxed_results(&parts, op);
                let n = all.iter().flatten().count();
                let numbers = (n, all.iter().flatten().copied());
                send(port, peer, (RESULTS, n), numbers, &mut lent)?;
                results = Some(all);
            } else {
                let n = parts.iter().map(Partial::len).sum();
                let numbers = (n, parts.iter().flat_map(Partial::numbers));
                send(port, peer, bounds_of(&parts), numbers, &mut lent)?;
            }
        }
        if let Some((peer, is_result)) = hop.recv {
            let came = port.take_any(peer, |kind, body| {
                // SAFETY: in this call messages are sent so, of elements of the same type
                // (fingerprint).
                let message = unsafe { SentNumbers::read(kind, body) };
                match is_result {
                    true => message.results(own.1).map(|all| results = Some(Box::new(all))),
                    false => message.join_to(&mut parts, peer < rank, op),
                }
            })?;
            came.map_err(|apart| differs::<N>(peer, rank, apart))?;
        }
    }
    if !lent.is_empty() {
        port.wait_all_acked()?;
    }
    let results = match results {
        Some(all) => *all,
        None => parts.each_ref().map(|part| part.result(op)),
    };
    guard.disarm();
    Ok(results)
}

/// The results of contributions of whole vectors. On the heap: elements may be aligned to pages,
/// and a build without optimisation keeps each copy on a thread's stack.
#[inline(never)]
fn boxed_results<T: Element, O: Operator<T>, const N: usize>(
    parts: &[Partial<T>; N],
    op: &O,
) -> Box<[Option<T>; N]> {
    Box::new(parts.each_ref().map(|part| part.result(op)))
}

/// Bytes of a cut block behind the cut of two ranks' vector up to which they travel: with the rest
/// of the contribution they are copied. Of more the first rank's part is folded into the second's,
/// and results come back: of 2 x 1100 elements (1440 bytes behind the cut) that takes 1.34 us
/// instead of 1.96 us, of 2 x 1000 (192 bytes) 1.32 us instead of 0.99 us. (Dot products in a loop,
/// distant cores, 2 virtual cores, AMD EPYC.)
const MOST_BEHIND_CUT: usize = 3 * EAGER / 4;

/// Elements of a cut block that the second of two parts has, as the rank of the part with these
/// bounds believes.
#[inline(always)]
fn elements_behind_cut((start, end): (usize, usize), rank: usize) -> usize {
    let cut = if rank == 0 { end } else { start };
    cut.next_multiple_of(BLOCK) - cut
}

/// Sends bounds and `n` numbers: copied, if they are few, else from where `lent` keeps them.
#[inline(always)]
fn send<T: Element>(
    port: &mut Port,
    peer: usize,
    (start, end): (usize, usize),
    (n, numbers): (usize, impl Iterator<Item = T>),
    lent: &mut Vec<Vec<MaybeUninit<u8>>>,
) -> Result<(), Stop> {
    let bytes = BOUNDS + n * size_of::<T>();
    let write = |to: *mut u8| {
        // SAFETY: there is room for `bytes` bytes.
        unsafe {
            to.cast::<[usize; 2]>().write_unaligned([start, end]);
            let mut to = to.wrapping_add(BOUNDS).cast::<T>();
            for number in numbers.take(n) {
                to.write_unaligned(number);
                to = to.wrapping_add(1);
            }
        }
    };
    if bytes <= EAGER {
        return port.post_copy(peer, bytes, 1, write);
    }
    let mut room = Vec::<MaybeUninit<u8>>::with_capacity(bytes);
    write(room.as_mut_ptr().cast());
    let at = room.as_ptr().cast();
    lent.push(room);
    port.lend_part(peer, GivenPart { at, bytes, has_gaps: false })
}

/// What a peer has [sent](send), where it lies: contributions that are cut alike, or results.
struct SentNumbers<T> {
    bounds: (usize, usize),
    bytes: usize,
    numbers: *const T,
}

impl<T: Element> SentNumbers<T> {
    /// # Safety
    /// [`send`] has sent it, with numbers of type T; it is not consumed while it is looked at.
    #[inline(always)]
    unsafe fn read(kind: PayloadKind, body: *const u8) -> Self {
        // SAFETY: by the contract, as below.
        let GivenPart { at, bytes, .. } = unsafe { GivenPart::of(kind, body, 1) };
        // SAFETY: each begins with bounds.
        let [start, end] = unsafe { at.cast::<[usize; 2]>().read_unaligned() };
        let numbers = at.wrapping_add(BOUNDS).cast();
        SentNumbers { bounds: (start, end), bytes: bytes - BOUNDS, numbers }
    }

    /// # Safety
    /// So many numbers are there.
    #[inline(always)]
    unsafe fn number(&self, i: usize) -> T {
        // SAFETY: by the contract.
        unsafe { self.numbers.wrapping_add(i).read_unaligned() }
    }

    /// Joins the contributions to `parts`, before which they are, or behind which. Fails with where
    /// the left ones end and the right ones begin, if they are of as many sums.
    #[inline(always)]
    fn join_to<const N: usize>(
        self,
        parts: &mut [Partial<T>; N],
        is_before: bool,
        op: &impl Operator<T>,
    ) -> Result<(), Option<(usize, usize)>> {
        let each = match size_of::<T>() * N {
            0 => Partial::<T>::len_between(self.bounds),
            size if self.bytes.is_multiple_of(size) => self.bytes / size,
            _ => return Err(None),
        };
        for (k, own) in parts.iter_mut().enumerate() {
            // SAFETY: `N * each` numbers are there.
            let number = |i| unsafe { self.number(k * each + i) };
            let mut theirs = Partial::from_some(self.bounds, each, number).ok_or(None)?;
            if is_before {
                theirs.append(own, op)?;
                *own = theirs;
            } else {
                own.append(&theirs, op)?;
            }
        }
        Ok(())
    }

    /// The results; instead of them there are contributions, if a rank's part begins at the
    /// beginning of a block, and not at `end`, where that of this rank ends.
    #[inline(always)]
    fn results<const N: usize>(self, end: usize) -> Result<[Option<T>; N], Option<(usize, usize)>> {
        let (RESULTS, n) = self.bounds else { return Err(Some((end, self.bounds.0))) };
        // SAFETY: all of them are there, or none.
        Ok(std::array::from_fn(|i| (i < n).then(|| unsafe { self.number(i) })))
    }
}

/// Why the call ends: the left one of the parts of two ranks ends at an index at which the right
/// one does not begin.
#[cold]
fn differs<const N: usize>(peer: usize, rank: usize, apart: Option<(usize, usize)>) -> Stop {
    let (low, high) = (peer.min(rank), peer.max(rank));
    let what = match apart {
        None => format!("sums at once, expected {N}"),
        Some((expected, got)) => format!(
            "`offset`, the global index at which the part of rank {high} (or the first one joined \
             to it) begins: expected {expected}, where that of rank {low} ends, got {got}"
        ),
    };
    Stop::Differs { peer, what }
}
