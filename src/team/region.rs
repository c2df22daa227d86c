//! Regions: runs from sequential code that lends its slices, block by block.

use super::block_counter::BlockCounter;
use super::chunks::Chunks;
use super::chunks::sealed::{Lend, Lent};
use super::handle::Team;
use super::per_rank::PerRank;
use super::run_body::as_given;
use crate::Comm;
use crate::dist::{Blocks, chunk};
use crate::element::Element;
use crate::error::Error;
use crate::op::float_control::FloatControl;
use crate::op::{Accumulation, Operator, is_disturbed};
use crate::order::left_half;
use crossbeam_utils::CachePadded;
use std::mem::needs_drop;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

/// The data that the ranks of a region share: moved to their job, so it is kept small.
struct LentRegion<L, F> {
    lent: L,
    f: F,
}

/// Slices that are cut: into so many blocks.
type LentBlocks<'cut, L> = (L, Blocks<'cut>, usize);

fn cut<'cut, D: Lend + 'cut>(data: D, ranks: usize) -> Result<LentBlocks<'cut, D::Lent>, String> {
    let (lent, blocks) = data.lend();
    let count = match lent.differ() {
        None => blocks.count(lent.len(), ranks),
        Some([a, b]) => Err(format!("slices of {a} and of {b} elements, to be cut alike")),
    };
    Ok((lent, blocks, count?))
}

impl<L: Lent, F> LentRegion<L, F> {
    /// Calls the closure with the block `range`.
    ///
    /// # Safety
    /// - The range ascends, and ends at the length or before.
    /// - No block of an element of it was asked for before.
    #[inline(always)]
    unsafe fn call<R>(&self, comm: &mut Comm, range: Range<usize>) -> R
    where
        F: Fn(&mut Comm, L::Block, usize) -> R,
    {
        let from = range.start;
        // SAFETY: passed on.
        let block = unsafe { self.lent.block(range) };
        as_given::<dyn Fn(&mut Comm, L::Block, usize) -> R>(&self.f)(comm, block, from)
    }

    /// A rank's part, which has the block of its number.
    ///
    /// # Safety
    /// Each rank of one run calls this once, with the communicator as the run gives it.
    #[inline(always)]
    unsafe fn equal<R>(&self, comm: &mut Comm) -> R
    where
        F: Fn(&mut Comm, L::Block, usize) -> R,
    {
        let block = chunk(self.lent.len(), comm.rank(), comm.size());
        // SAFETY: each rank has another number, and so another block, within the length.
        unsafe { self.call(comm, block) }
    }

    /// A rank's part, which has the block of another cut.
    ///
    /// # Safety
    /// As for [`equal`](LentRegion::equal); the cut is for so many elements and ranks
    /// ([`Blocks::count`]), and not dynamic.
    #[inline(always)]
    unsafe fn unequal<R>(&self, comm: &mut Comm, blocks: Blocks<'_>) -> R
    where
        F: Fn(&mut Comm, L::Block, usize) -> R,
    {
        let block = blocks.range(comm.rank(), self.lent.len(), comm.size());
        // SAFETY: as in `equal`.
        unsafe { self.call(comm, block) }
    }

    /// Runs it with blocks that the ranks take; returns what the closure returned, in the order of
    /// the blocks.
    #[track_caller]
    fn deal<R: Send>(self, team: &Team, blocks: Blocks<'_>, count: usize) -> Result<Vec<R>, Error>
    where
        F: Fn(&mut Comm, L::Block, usize) -> R + Sync,
    {
        let counter = BlockCounter::new(count as u64);
        let mut results = BlockResults::new(count)?;
        let places = PerRank::new(&mut results.places);
        let (region, taken) = (self, &counter);
        let ended = team.run(move |comm| {
            let (len, ranks) = (region.lent.len(), comm.size());
            let closing = Closing(taken);
            while let Some(at) = taken.take() {
                let at = at as usize;
                // SAFETY: the counter gives each number once, and blocks are apart.
                let result = unsafe { region.call(comm, blocks.range(at, len, ranks)) };
                if BlockResults::<R>::ARE_KEPT {
                    // SAFETY: as above.
                    *unsafe { places.get(at) } = Some(result);
                } else {
                    std::mem::forget(result);
                }
            }
            std::mem::forget(closing);
        });
        match ended {
            // SAFETY: all ranks have returned, so no block was left.
            Ok(_) => Ok(unsafe { results.all() }),
            Err(Error::Forked) => {
                // Ranks of the parent may have been writing there when it forked.
                std::mem::forget(results);
                Err(Error::Forked)
            }
            Err(error) => Err(error),
        }
    }
}

/// The others find no more blocks once a rank unwinds.
struct Closing<'a>(&'a BlockCounter);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What a closure has returned for each block.
struct BlockResults<R> {
    /// None at all of a type without bytes.
    places: Vec<Option<R>>,
    count: usize,
}

impl<R> BlockResults<R> {
    /// Whether a result has anything to be kept; else no memory is taken.
    const ARE_KEPT: bool = size_of::<R>() > 0 || needs_drop::<R>();

    /// If there is memory.
    #[track_caller]
    fn new(count: usize) -> Result<Self, Error> {
        let (kept, mut places) = (if Self::ARE_KEPT { count } else { 0 }, Vec::new());
        if places.try_reserve_exact(kept).is_err() {
            return Err(Error::parts(format_args!("no memory for the results of {count} blocks")));
        }
        places.resize_with(kept, || None);
        Ok(BlockResults { places, count })
    }

    /// # Safety
    /// There was a result of each block.
    unsafe fn all(self) -> Vec<R> {
        if Self::ARE_KEPT {
            return self.places.into_iter().flatten().collect();
        }
        // SAFETY: such a value has no bytes, and each of these was made and forgotten.
        (0..self.count).map(|_| unsafe { NonNull::<R>::dangling().read() }).collect()
    }
}

impl Team {
    /// A region of a program that owns its data: runs `f` on every rank with its block of `data`,
    /// and the place of the block's first element in the whole.
    ///
    /// `data` is a slice, or a tuple of slices of one length, which are cut alike ([`Chunks`]).
    /// Each may be `&mut` or `&`; what all ranks read whole, the closure captures. The blocks are
    /// of equal length, or differ by one: `n*r/p .. n*(r+1)/p` for rank `r` of `p`; they are empty
    /// where there are fewer elements than ranks. Other cuts come with the data:
    ///
    /// | blocks | `data` |
    /// |---|---|
    /// | of equal length | `&mut x`, `(&mut x, &y)` |
    /// | at multiples of a unit, such as a row | `Block::aligned(n, p, unit).cut(&mut x)` |
    /// | of given lengths | `GeneralBlock::of_counts([..]).cut((&mut x, &y))` |
    /// | for cores of unlike speed | `GeneralBlock::of_weights(n, [..]).cut(&mut x)` |
    /// | taken by the rank that is free next | `dist::dynamic(length).cut(&mut x)` |
    ///
    /// With [`dynamic`](crate::dist::dynamic) blocks the closure is called for each block, on no
    /// rank that is known before, so that it makes no collective calls. In all forms the closure
    /// is called for each block once, and the results are in the order of the blocks.
    ///
    /// On a machine with several NUMA nodes a page of memory lies where it was first written: next
    /// to rank 0 if the calling thread has filled the slice, next to its rank if
    /// [`distributed`](Team::distributed) has made it, by the same cut.
    ///
    /// **Cost** that of [`run`](Team::run): a flag to each rank, and a flag back. Nothing is
    /// allocated but the results, if they have bytes. A region is worth while from some 2 us of
    /// serial work, near; ranks that have waited for more than 80 us are woken, in some 50 us.
    ///
    /// # Errors
    /// As [`run`](Team::run); [`Error::Parts`] if slices differ in length, or a cut is of another
    /// length or number of ranks, or there are more blocks than memory for their results.
    ///
    /// # Examples
    /// Two vectors; the place of the first element tells which elements of a third belong to them:
    /// ```
    /// let team = phalanx::Team::builder().ranks(3).build()?;
    /// let (mut x, y, z) = (vec![0.0; 10], vec![2.0; 10], vec![1.0; 11]);
    /// team.run_chunks((&mut x, &y), |_, (x, y), at| {
    ///     for (k, (x, y)) in x.iter_mut().zip(y).enumerate() {
    ///         *x = y * (z[at + k] + z[at + k + 1]);
    ///     }
    /// })?;
    /// assert_eq!(x, [4.0; 10]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// Ranks may make calls meanwhile:
    /// ```
    /// use phalanx::op;
    /// let team = phalanx::Team::builder().ranks(3).build()?;
    /// let mut x: Vec<f64> = (0..10).map(f64::from).collect();
    /// team.run_chunks(&mut x, |comm, mine, _| {
    ///     let mut sum = [mine.iter().sum::<f64>()];
    ///     comm.all_reduce(&mut sum, op::Sum);
    ///     mine.iter_mut().for_each(|x| *x /= sum[0]);
    /// })?;
    /// assert_eq!(x[9], 9.0 / 45.0);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn run_chunks<D: Chunks, R: Send>(
        &self,
        data: D,
        f: impl Fn(&mut Comm, D::Block, usize) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        let (lent, blocks, count) = match cut(data, self.size()) {
            Ok(cut) => cut,
            Err(what) => return Err(Error::parts(format_args!("{what}"))),
        };
        let region = LentRegion { lent, f };
        match blocks {
            // SAFETY: as the contract says.
            Blocks::Equal => self.run(move |comm| unsafe { region.equal(comm) }),
            Blocks::Dynamic(_) => region.deal(self, blocks, count),
            // SAFETY: as the contract says; it was counted.
            _ => self.run(move |comm| unsafe { region.unequal(comm, blocks) }),
        }
    }

    /// A region that returns a value: what `f` returns for each block of `data`, combined by `op`.
    /// `data` is that of [`run_chunks`](Team::run_chunks), with or without a cut.
    ///
    /// Results are combined in the order of the blocks, by the tree of
    /// [`Order::Fixed`](crate::Order::Fixed): for one cut the same bits in each run, whichever rank
    /// was first. The cuts of as many blocks as ranks give other bits for another number of ranks;
    /// [`dynamic(length)`](crate::dist::dynamic) gives the same for any number. (A sum whose bits
    /// depend on no cut: [`Comm::fixed_sum`].)
    ///
    /// With fewer elements than ranks some blocks are empty: `f` is to return then what changes no
    /// result, such as 0 for a sum, or `f64::INFINITY` for a minimum.
    ///
    /// **Cost** that of an empty region, if the value has up to 56 bytes and there are up to 16
    /// ranks: it comes in the line of the flag. Nothing is allocated then, unless the blocks are
    /// dynamic: then a place for each.
    ///
    /// # Errors
    /// As [`run_chunks`](Team::run_chunks).
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Team, dist::dynamic, op};
    /// let team = Team::builder().ranks(3).build()?;
    /// let (x, y) = (vec![2.0; 100], vec![0.5; 100]);
    /// let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    /// assert_eq!(team.reduce_chunks((&x, &y), |_, (x, y), _| dot(x, y), op::Sum)?, 100.0);
    /// // The place of the largest element, of 7 at a time:
    /// let larger = |a: (f64, usize), b: (f64, usize)| if b.0 > a.0 { b } else { a };
    /// let largest = team.reduce_chunks(
    ///     dynamic(7).cut(&x),
    ///     |_, x, at| x.iter().copied().zip(at..).fold((f64::MIN, 0), larger),
    ///     op::ordered(larger),
    /// )?;
    /// assert_eq!(largest, (2.0, 0));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_chunks<D: Chunks, R: Element>(
        &self,
        data: D,
        f: impl Fn(&mut Comm, D::Block, usize) -> R + Sync,
        op: impl Operator<R>,
    ) -> Result<R, Error> {
        let (lent, blocks, count) = match cut(data, self.size()) {
            Ok(cut) => cut,
            Err(what) => return Err(Error::parts(format_args!("{what}"))),
        };
        let region = LentRegion { lent, f };
        let result = |results: &[R]| combined(results, &op);
        match blocks {
            // SAFETY: as the contract says.
            Blocks::Equal => self.run_to(move |comm| unsafe { region.equal(comm) }, result),
            Blocks::Dynamic(_) => region.deal(self, blocks, count).map(|all| result(&all)),
            // SAFETY: as the contract says; it was counted.
            _ => self.run_to(move |comm| unsafe { region.unequal(comm, blocks) }, result),
        }
    }

    /// Two different tasks at once: `a` on the calling thread, `b` on rank 1; one after the other
    /// where there is no rank 1. Further ranks take no part.
    ///
    /// **Cost** that of [`run`](Team::run). A task cannot start another region of this team
    /// ([`Error::Busy`]): it is no join of work that divides itself.
    ///
    /// # Errors
    /// As [`run`](Team::run).
    ///
    /// # Examples
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// let mut names = vec!["b", "a"];
    /// let ((), sum) = team.join(|| names.sort(), || (1..=10).sum::<u32>())?;
    /// assert_eq!((names, sum), (vec!["a", "b"], 55));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn join<A: Send, B: Send>(
        &self,
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B + Send,
    ) -> Result<(A, B), Error> {
        let mut first = Task { work: Some(a), result: None };
        let mut second = CachePadded::new(Task { work: Some(b), result: None });
        let last = self.size() - 1;
        let tasks = (
            PerRank::new(slice::from_mut(&mut first)),
            PerRank::new(slice::from_mut(&mut *second)),
        );
        let ended = self.run(move |comm| {
            let rank = comm.rank();
            if rank == 0 {
                // SAFETY: by rank 0 alone, once.
                unsafe { tasks.0.get(0) }.carry_out();
            }
            if rank == last.min(1) {
                // SAFETY: by one rank alone, once.
                unsafe { tasks.1.get(0) }.carry_out();
            }
        });
        if let Err(error) = ended {
            if matches!(error, Error::Forked) {
                // A rank of the parent may have been writing there when it forked.
                std::mem::forget((first, second));
            }
            return Err(error);
        }
        let (a, b) = (first.result, CachePadded::into_inner(second).result);
        Ok(a.zip(b).expect("both ranks have returned"))
    }
}

/// A task of [`Team::join`].
struct Task<F, T> {
    work: Option<F>,
    result: Option<T>,
}

impl<F: FnOnce() -> T, T> Task<F, T> {
    fn carry_out(&mut self) {
        self.result = self.work.take().map(|work| work());
    }
}

/// All of them, of which there is one or more, by the tree of fixed order, rounded once.
fn combined<T: Element, O: Operator<T>>(results: &[T], op: &O) -> T {
    fn tree<T: Element, O, S: Accumulation<T, O>>(all: &[T], op: &O) -> S::Wide {
        match all {
            [one] => S::widen(*one),
            _ => {
                let (left, right) = all.split_at(left_half(all.len()));
                S::combine(op, tree::<T, O, S>(left, op), tree::<T, O, S>(right, op))
            }
        }
    }
    fn rounded<T: Element, O, S: Accumulation<T, O>>(all: &[T], op: &O, _: S) -> T {
        if let [one] = all { *one } else { S::round(tree::<T, O, S>(all, op)) }
    }
    let all = || rounded(results, op, O::accumulation());
    if is_disturbed::<T, O>() { FloatControl::STANDARD.lend(all) } else { all() }
}
