//! Reductions of a vector that is spread over the ranks, with the same bits for
//! every number of ranks.
//!
//! The messages are described in `dist/partial.rs`. The ranks exchange as in recursive doubling:
//! each posts the address of its part's contribution to its partner (or the contribution itself,
//! where that fits the mailbox's line), and joins the partner's with its own; so that after `log2
//! p` steps everybody has the whole. Where addresses are posted a rank's earlier contributions stay
//! until the end of the call, when all readers are known to be done.

use super::Comm;
use super::fixed_sum_forms::{BOUNDS, PARTIALS, bounds_in, bounds_of, params_of, write};
use crate::dist::{BLOCK, FirstPart, LANES, Partial, Products, Values, Widened};
use crate::element::Element;
use crate::op::{Accumulating, Accumulation, OfInner, Operator, Sum};
use crate::schedule::Doubling;
use crate::shared::{Guard, PayloadKind, Port, Signature, Stop, WordBytes};
use std::cell::Cell;
use std::ops::{Mul, Range};
use std::panic::Location;

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
    /// where p is no power of two) of at most `2 log2 (N/256)` partial sums and
    /// two cut blocks, by address; up to 24 bytes of partial sums (few: cut at
    /// multiples of 256, see [`Block::aligned`](crate::dist::Block::aligned)) in
    /// the mailbox's line. Two ranks that are cut inside of a block: a message to rank 1
    /// and one back. Beside a dot product in 16 lanes by
    /// hand and a plain sum, on two ranks: `benches/solver.rs` (docs/performance.md, "Solvers").
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
        let [sum] = self.whole(sig, Location::caller(), [mine], &Sum, offset);
        self.or_zero(sum, sig, Location::caller())
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
        let [dot] = self.fixed_dots_as(sig, Location::caller(), [(x, y)], offset);
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
        self.fixed_dots_as(sig, Location::caller(), pairs, offset)
    }

    /// [`fixed_dots`](Comm::fixed_dots), as a call of the method of `sig`.
    fn fixed_dots_as<T, const N: usize>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        pairs: [(&[T], &[T]); N],
        offset: usize,
    ) -> [T; N]
    where
        T: Element + Mul<Output = T>,
        Sum: Operator<T>,
    {
        let len = pairs.first().map_or(0, |(x, _)| x.len());
        let odd = pairs.iter().flat_map(|(x, y)| [x.len(), y.len()]).find(|&n| n != len);
        if !self.check_len("a vector", odd.unwrap_or(len), Some(len), sig, at, len) {
            self.nothing_to_return();
        }
        let products = pairs.map(|(x, y)| Products(x, y));
        let dots = self.whole(sig, at, products, &Sum, offset);
        dots.map(|dot| self.or_zero(dot, sig, at))
    }

    /// [`fixed_sum`](Comm::fixed_sum) with another operator; none for a vector
    /// without elements. Operators that are not commutative see the elements in
    /// the order of their indices.
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
        let [result] = self.whole(sig, Location::caller(), [mine], &op, offset);
        result
    }

    /// The sum of nothing is the identity.
    fn or_zero<T: Element>(
        &mut self,
        sum: Option<T>,
        sig: &'static Signature,
        at: &'static Location<'static>,
    ) -> T
    where
        Sum: Operator<T>,
    {
        sum.or_else(|| Sum.identity()).unwrap_or_else(|| {
            let what = "no elements on any rank, and the sum has no identity".to_string();
            self.wrong(sig, at, 0, what);
            self.nothing_to_return()
        })
    }

    /// The results of `values`, which are rounded once if partial results are wide.
    fn whole<T: Element, O: Operator<T>, V: Values<T>, const N: usize>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        values: [V; N],
        op: &O,
        offset: usize,
    ) -> [Option<T>; N] {
        fn of<T: Element, O: Operator<T>, V: Values<T>, S: Accumulation<T, O>, const N: usize>(
            comm: &mut Comm,
            (sig, at): (&'static Signature, &'static Location<'static>),
            values: [V; N],
            (op, accumulation): (&O, S),
            offset: usize,
        ) -> [Option<T>; N] {
            if !S::IS_WIDE {
                return comm.whole_of_elements(sig, at, values, op, offset);
            }
            let values = values.map(Widened::<V, T, O, S>::new);
            let op = Accumulating::new(op, &OfInner(accumulation));
            let results = comm.whole_of_elements(sig, at, values, &op, offset);
            results.map(|it| it.map(S::round))
        }
        of(self, (sig, at), values, (op, O::accumulation()), offset)
    }

    fn whole_of_elements<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        values: [impl Values<T>; N],
        op: &O,
        offset: usize,
    ) -> [Option<T>; N] {
        let len = values.first().map_or(0, Values::len);
        if self.rank() == 0 && offset != 0 {
            let what = format!("`offset` is {offset}; on rank 0, where the vector begins, it is 0");
            self.wrong(sig, at, len, what);
            self.nothing_to_return();
        }
        if offset.checked_add(len).and_then(|end| end.checked_add(BLOCK)).is_none() {
            self.wrong(sig, at, len, format!("{len} elements from {offset} on are too many"));
            self.nothing_to_return();
        }
        let values = values.map(Vectorised);
        if N > 0 && self.size() == 2 {
            let cut = if self.rank() == 0 { len } else { offset };
            if cut.is_multiple_of(BLOCK) {
                return self.whole_of_halves(sig, at, &values, op, offset);
            }
            if FirstPart::<T>::fits(cut) {
                return self.whole_of_two(sig, at, &values, op, offset);
            }
        }
        let parts = values.map(|x| Partial::new(&x, offset, op));
        let params = params_of(N, len);
        if !self.enter(sig, at, params) {
            self.nothing_to_return();
        }
        let mut results = [None; N];
        if let Err(stop) = exchange_partials(&mut self.port, parts, op, &mut results) {
            self.stop_for_good(stop);
        }
        results
    }
}

/// The signature of a method that computes dot products; the two meet.
const fn dots<T: Element>(call: &'static str, parameter: &'static str) -> Signature
where
    Sum: Operator<T>,
{
    let operator = <Sum as Operator<T>>::NAME;
    Signature::combining::<T, Sum>(call, operator, parameter).meets("fixed_dots")
}

/// Values with lanes that are combined with the vectors of the processor at hand. The same bits:
/// the lanes are part of the definition, and Rust never contracts a multiplication and an addition.
pub(crate) struct Vectorised<V>(pub(crate) V);

impl<T: Element, V: Values<T>> Values<T> for Vectorised<V> {
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn at(&self, i: usize) -> T {
        self.0.at(i)
    }

    /// Never inlined: next to the code that joins the lanes by a last step of two numbers, the
    /// compiler takes vectors of two.
    #[inline(never)]
    fn rows(&self, at: Range<usize>, op: &impl Operator<T>, sums: &mut [T; LANES], begun: bool) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn avx2<T: Element>(
                x: &impl Values<T>,
                at: Range<usize>,
                op: &impl Operator<T>,
                sums: &mut [T; LANES],
                begun: bool,
            ) {
                x.rows(at, op, sums, begun);
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                return unsafe { avx2(&self.0, at, op, sums, begun) };
            }
        }
        self.0.rows(at, op, sums, begun);
    }

    /// As [`rows`](Vectorised::rows).
    #[inline(never)]
    fn rows_of_blocks(&self, first: usize, op: &impl Operator<T>, sums: &mut [[T; LANES]]) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn avx2<T: Element>(
                x: &impl Values<T>,
                first: usize,
                op: &impl Operator<T>,
                sums: &mut [[T; LANES]],
            ) {
                x.rows_of_blocks(first, op, sums);
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                return unsafe { avx2(&self.0, first, op, sums) };
            }
        }
        self.0.rows_of_blocks(first, op, sums);
    }
}

/// All values, if all are there.
fn all_of<V, const N: usize>(values: [Option<V>; N]) -> Option<[V; N]> {
    let are_there = values.iter().all(Option::is_some);
    are_there.then(|| values.map(|it| it.expect("all are there")))
}

/// Recursive doubling with contributions, as in `exec/eager.rs`: partners always
/// have parts next to each other.
fn exchange_partials<T: Element, O: Operator<T>, const N: usize>(
    port: &mut Port,
    parts: [Partial<T>; N],
    op: &O,
    results: &mut [Option<T>; N],
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    // All that peers may be reading; before the guard, so that it outlives it, and with room for
    // all that comes, so that nothing moves.
    let doubling = Doubling::of(p);
    let mut history = Vec::with_capacity(doubling.steps() + 1);
    history.push(parts);
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    // Whether peers may be reading this rank's memory.
    let mut lends = false;
    let mut send = |port: &mut Port, peer: usize, parts: &[Partial<T>; N]| {
        if let Some((bounds, values)) = in_line(parts) {
            let bytes = BOUNDS + values * size_of::<T>();
            return port.post_copy(peer, bytes, 1, |body| {
                // SAFETY: there is room for `bytes` bytes.
                unsafe { write(bounds, parts.iter().flat_map(Partial::values), body) }
            });
        }
        lends = true;
        let words = WordBytes { at: parts.as_ptr().cast(), count: PARTIALS, len: N };
        port.post_words(peer, PayloadKind::SLICE, words)
    };
    let join = |port: &mut Port, peer: usize, own: &[Partial<T>; N]| {
        let apart = Cell::new(None);
        let join = |own: &Partial<T>, theirs: &Partial<T>| {
            let both = if peer < rank { theirs.join(own, op) } else { own.join(theirs, op) };
            both.map_err(|bounds| apart.set(Some(bounds))).ok()
        };
        // Two ranks may have chosen differently, if their parts do not follow one another.
        let follow = |(start, end)| {
            let own = own[0].bounds();
            let (left, right) = if peer < rank { (end, own.0) } else { (own.1, start) };
            if left != right {
                apart.set(Some((left, right)));
            }
        };
        let joined = port.take_any(peer, |kind, body| {
            let read;
            let theirs = match kind.bytes() {
                Some(bytes) => {
                    // SAFETY: the peer wrote `bytes` bytes by `write`, values
                    // of the same type (fingerprint) among them.
                    unsafe { bounds_in(body, bytes) }.into_iter().for_each(follow);
                    // SAFETY: as above.
                    read = unsafe { read_line::<T, N>(body, bytes) }?;
                    &read
                }
                None if kind != PayloadKind::SLICE => return None,
                // SAFETY: the peer posted contributions for elements of the
                // same type (fingerprint), as many as ours (the length of the
                // call, which is small, agrees), and keeps them.
                None => unsafe {
                    let words = body.cast::<WordBytes>().read();
                    if words.len != N {
                        return None;
                    }
                    if words.count != PARTIALS {
                        bounds_of::<T>(words).into_iter().for_each(follow);
                        return None;
                    }
                    &*words.at.cast::<[Partial<T>; N]>()
                },
            };
            all_of(std::array::from_fn(|k| join(&own[k], &theirs[k])))
        })?;
        let what = match (joined, apart.get()) {
            (Some(joined), _) => return Ok(joined),
            (None, None) => format!("sums at once, expected {N}"),
            (None, Some(bounds)) => do_not_follow(peer, rank, bounds),
        };
        Err(Stop::Differs { peer, what })
    };
    // A neighbour that was folded gets results, in the last step.
    let (mut has_result, mut lends_results) = (false, false);
    for step in 0..doubling.steps() {
        let hop = doubling.step(step, rank);
        let is_last = step > 0 && doubling.has_folded() && step + 1 == doubling.steps();
        if let Some(peer) = hop.send {
            if is_last {
                conclude(&history, op, results);
                has_result = true;
                lends_results = give(port, peer, results)?;
            } else {
                send(port, peer, &history[history.len() - 1])?;
            }
        }
        match hop.recv {
            None => {}
            Some((peer, true)) => {
                receive(port, peer, results)?;
                has_result = true;
            }
            Some((peer, false)) => {
                let joined = join(port, peer, &history[history.len() - 1])?;
                history.push(joined);
            }
        }
    }
    if !has_result {
        conclude(&history, op, results);
    }
    if lends || lends_results {
        port.wait_all_acked()?;
    }
    guard.disarm();
    Ok(())
}

/// The fault of parts that do not follow one another: where the left one ends, and where the
/// right one begins.
pub(super) fn do_not_follow(a: usize, b: usize, (expected, got): (usize, usize)) -> String {
    let (low, high) = (a.min(b), a.max(b));
    format!(
        "`offset`, the global index at which the part of rank {high} (or the first one joined to \
         it) begins: expected {expected}, where that of rank {low} ends, got {got}"
    )
}

/// The results of the contributions that were joined last.
fn conclude<T: Element, O: Operator<T>, const N: usize>(
    history: &[[Partial<T>; N]],
    op: &O,
    results: &mut [Option<T>; N],
) {
    for (result, part) in results.iter_mut().zip(&history[history.len() - 1]) {
        *result = part.result(op);
    }
}

/// Where the parts begin and end, and how many values they have, if all that
/// fits the mailbox's line.
fn in_line<T: Element>(parts: &[Partial<T>]) -> Option<((usize, usize), usize)> {
    // All are cut alike.
    let bounds = parts.first()?.bare()?;
    let values: usize = parts.iter().map(|part| part.values().len()).sum();
    let fits = values.checked_mul(size_of::<T>()).is_some_and(|b| b <= PayloadKind::BRIEF - BOUNDS);
    fits.then_some((bounds, values))
}

/// Reads the line that [`write()`] has written, of `N` parts.
///
/// # Safety
/// `body` holds `bytes` bytes that were written so, with elements of type T.
unsafe fn read_line<T: Element, const N: usize>(
    body: *const u8,
    bytes: usize,
) -> Option<[Partial<T>; N]> {
    if bytes < BOUNDS || N == 0 {
        return None;
    }
    // SAFETY: by the contract, as below.
    let [start, end] = unsafe { body.cast::<[usize; 2]>().read_unaligned() };
    let from = body.wrapping_add(BOUNDS).cast::<T>();
    let each = Partial::<T>::values_between(start, end);
    if each.checked_mul(N * size_of::<T>()) != Some(bytes - BOUNDS) {
        return None;
    }
    all_of(std::array::from_fn(|k| {
        // SAFETY: by the contract: `bytes` hold as many values.
        let value = |i| unsafe { from.wrapping_add(k * each + i).read_unaligned() };
        Partial::from_values((start, end), (0..each).map(value))
    }))
}

/// Sends the results; whether they are lent.
fn give<T: Element>(port: &mut Port, peer: usize, results: &[Option<T>]) -> Result<bool, Stop> {
    let bytes = size_of_val(results);
    if bytes > PayloadKind::BRIEF {
        let words = WordBytes { at: results.as_ptr().cast(), count: 0, len: results.len() };
        return port.post_words(peer, PayloadKind::SLICE, words).map(|()| true);
    }
    let written = port.post_copy(peer, bytes, 1, |body| {
        // SAFETY: there is room for `bytes` bytes.
        unsafe { std::ptr::copy_nonoverlapping(results.as_ptr().cast(), body, bytes) }
    });
    written.map(|()| false)
}

/// Receives the message that [`give`] sends.
fn receive<T: Element>(
    port: &mut Port,
    peer: usize,
    results: &mut [Option<T>],
) -> Result<(), Stop> {
    let (bytes, n) = (size_of_val(results), results.len());
    let to = results.as_mut_ptr();
    if bytes > PayloadKind::BRIEF {
        // SAFETY: the peer posted as many results (length) of the same type
        // (fingerprint), and keeps them until we consume. (A rank that joins
        // and one that receives are told apart by nothing but their numbers,
        // of which the fingerprint has checked how many there are.)
        return port.take_words(peer, n, |_, words| unsafe {
            std::ptr::copy_nonoverlapping(words.at.cast(), to, n);
        });
    }
    port.take_copy(peer, bytes, 1, |body| {
        // SAFETY: the peer wrote as many bytes of the same type.
        unsafe { std::ptr::copy_nonoverlapping(body, to.cast(), bytes) }
    })
}
