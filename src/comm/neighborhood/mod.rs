//! Unstructured neighbourhoods: copies of other ranks' elements ("ghosts"), fetched by a plan that
//! is made once and used many times.
//!
//! A short list of elements is packed into a message, and its owner waits for no reader. Anything
//! else is copied by the reader straight from the owner's array at the address that the message
//! has; the owner then waits until its readers are done. Neither looks at a rank that is no
//! neighbour.

mod making;
mod moves;

use super::Comm;
use super::halo_exchange::copy_row;
use crate::comm::arguments::CallAt;
use crate::element::Element;
use crate::mailbox::EAGER;
use crate::op::float_control::FloatControl;
use crate::op::{Accumulation, AsElements, Operator, Sum, is_disturbed};
use crate::shared::{
    CallParams, Digest, Guard, PayloadKind, Signature, StartedCall, Stop, WordBytes,
};
use moves::Moves;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// Bytes of one neighbour's elements up to which they are packed into a message.
const MESSAGE: usize = EAGER;

/// A plan by which each rank gets copies of elements that other ranks own (its *ghosts*), and
/// gives contributions back: an unstructured neighbourhood, as meshes and sparse matrices have it.
///
/// Made once by all ranks of a communicator: from the global indices that a rank needs
/// ([`ghosts`](Comm::ghosts)), from the columns of its rows of a sparse matrix
/// ([`ghosts_of_columns`](Comm::ghosts_of_columns)), or from lists for each neighbour
/// ([`neighborhood`](Comm::neighborhood)). Then used as often as wanted, with elements of any type;
/// a communicator may have any number of plans.
///
/// **All methods** that take the communicator are collective: all its ranks call them, in the same
/// order as its other collectives, on plans that were made together. That holds for a rank without
/// neighbours, too; it waits for nobody. A rank waits for its neighbours alone.
///
/// A plan belongs to its communicator, to the run that it was made in, and to the thread of its
/// rank. The compiler keeps it on that thread; with another communicator, or in a later run, a call
/// ends the run with an error. Plans may be dropped at any time, in any order, by each rank as it
/// likes.
///
/// **Cost** of a call: one flag to each neighbour that reads from this rank, and one back once it
/// has read; `t_w` for each ghost. Up to 1024 bytes from one rank to another go in a message, which
/// costs a copy more, and no rank waits for its reader. Runs of consecutive elements, of which the
/// ghosts are consecutive, too, are one `memcpy` each. No call allocates memory, but for the first
/// messages of 97 to 1024 bytes to a rank (4 KiB), and a sum of halves for the `f32` of its owned
/// elements.
///
/// # Examples
/// The two ends of each rank's part, on its neighbours in a line:
/// ```
/// use phalanx::dist::Block;
/// let out = phalanx::run(3, |comm| {
///     let parts = Block::new(12, comm.size());
///     let own = parts.range(comm.rank());
///     let mine: Vec<usize> = own.clone().map(|i| i * i).collect();
///     let beside = [own.start.checked_sub(1), (own.end < 12).then_some(own.end)];
///     let beside: Vec<usize> = beside.into_iter().flatten().collect();
///     let plan = comm.ghosts(&parts, &beside);
///     let mut ghosts = vec![0; beside.len()];
///     plan.gather(comm, &mine, &mut ghosts); // as often as wanted
///     ghosts
/// })?;
/// assert_eq!(out, [vec![16], vec![9, 64], vec![49]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct Neighborhood {
    /// The communicator, by its number, and this rank in it.
    comm: u64,
    run: u64,
    rank: usize,
    /// The call that has made the plan: the same on all ranks.
    number: usize,
    made_at: &'static Location<'static>,
    owned: usize,
    ghosts: usize,
    /// In rank order: those with elements of which this rank has ghosts, perhaps itself.
    sources: Box<[Edge]>,
    /// In rank order: those that have ghosts of this rank's elements, perhaps itself.
    readers: Box<[Edge]>,
    /// The plan stays on its rank's thread.
    _thread: PhantomData<*mut ()>,
}

/// The elements that move between this rank and another.
struct Edge {
    peer: usize,
    count: usize,
    moves: Moves,
}

/// Which way elements go.
trait Direction {
    /// Whether they go from owners to ghosts.
    const GATHERS: bool;

    /// Where an element is that is shown, and where it goes to, of an owner's and a ghost's place.
    #[inline(always)]
    fn ends(owned: usize, ghost: usize) -> (usize, usize) {
        if Self::GATHERS { (owned, ghost) } else { (ghost, owned) }
    }
}

/// The use of elements that have come.
trait Receive<T>: Direction {
    /// What elements become part of.
    type Into;

    /// Takes a run of `len` elements at `from`.
    ///
    /// # Safety
    /// `to` is valid for reads and writes of `len` of them, `from` for reads, though perhaps not
    /// aligned; they do not overlap.
    unsafe fn take(&self, to: *mut Self::Into, from: *const T, len: usize);

    /// See [`is_disturbed`].
    #[inline(always)]
    fn is_disturbed() -> bool {
        false
    }
}

/// Owners' elements are copied to ghosts.
struct Copied;

impl Direction for Copied {
    const GATHERS: bool = true;
}

impl<T: Element> Receive<T> for Copied {
    type Into = T;

    #[inline(always)]
    unsafe fn take(&self, to: *mut T, from: *const T, len: usize) {
        // SAFETY: by the contract.
        unsafe { copy_row(to, from, len) };
    }
}

/// Ghosts are combined into owners' elements, as the accumulator `S` has them.
struct Combined<'a, O, S>(&'a O, PhantomData<S>);

impl<O, S> Direction for Combined<'_, O, S> {
    const GATHERS: bool = false;
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> Receive<T> for Combined<'_, O, S> {
    type Into = S::Wide;

    #[inline(always)]
    unsafe fn take(&self, to: *mut S::Wide, from: *const T, len: usize) {
        for i in 0..len {
            // SAFETY: by the contract.
            unsafe {
                let (left, right) = (to.add(i).read(), from.add(i).read_unaligned());
                to.add(i).write(S::combine(self.0, left, S::widen(right)));
            }
        }
    }

    #[inline(always)]
    fn is_disturbed() -> bool {
        is_disturbed::<T, O>()
    }
}

/// The name of a call's plan in errors.
pub(super) const BY_PLAN: &str = "by the plan of call";

impl Neighborhood {
    /// How many elements this rank owns.
    ///
    /// ```
    /// use phalanx::dist::Block;
    /// phalanx::run(2, |comm| {
    ///     let plan = comm.ghosts(&Block::new(6, 2), &[0, 5]);
    ///     assert_eq!((plan.owned(), plan.ghosts()), (3, 2));
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn owned(&self) -> usize {
        self.owned
    }

    /// How many ghosts this rank has.
    ///
    /// ```
    /// use phalanx::dist::Block;
    /// let ghosts = phalanx::run(2, |comm| comm.ghosts(&Block::new(6, 2), &[0, 5, 5]).ghosts())?;
    /// assert_eq!(ghosts, [3, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn ghosts(&self) -> usize {
        self.ghosts
    }

    /// The ranks with elements of which this rank has ghosts, in ascending order.
    ///
    /// ```
    /// use phalanx::dist::Block;
    /// phalanx::run(3, |comm| {
    ///     let wanted: &[usize] = if comm.rank() == 0 { &[1, 2] } else { &[] };
    ///     let plan = comm.ghosts(&Block::new(3, 3), wanted);
    ///     let (sources, readers): (Vec<_>, Vec<_>) =
    ///         (plan.sources().collect(), plan.readers().collect());
    ///     match comm.rank() {
    ///         0 => assert_eq!((sources, readers), (vec![1, 2], vec![])),
    ///         _ => assert_eq!((sources, readers), (vec![], vec![0])),
    ///     }
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn sources(&self) -> impl ExactSizeIterator<Item = usize> {
        self.sources.iter().map(|edge| edge.peer)
    }

    /// The ranks that have ghosts of this rank's elements, in ascending order.
    ///
    /// ```
    /// use phalanx::dist::Block;
    /// let readers = phalanx::run(3, |comm| {
    ///     let plan = comm.ghosts(&Block::new(3, 3), &[0]); // all read rank 0's element
    ///     plan.readers().collect::<Vec<_>>()
    /// })?;
    /// assert_eq!(readers, [vec![0, 1, 2], vec![], vec![]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn readers(&self) -> impl ExactSizeIterator<Item = usize> {
        self.readers.iter().map(|edge| edge.peer)
    }

    /// Fills `ghosts` with copies of the owners' elements. Ghosts that no list names stay as they
    /// are.
    ///
    /// **Must agree on all ranks:** the plan, the element type.
    ///
    /// **Cost** see [`Neighborhood`].
    ///
    /// # Errors
    /// Slices that are not of the plan's lengths end the run; so does a plan of another
    /// communicator or run.
    ///
    /// # Examples
    /// See [`Neighborhood`]. Elements and ghosts may be parts of one vector:
    /// ```
    /// use phalanx::dist::Block;
    /// let out = phalanx::run(2, |comm| {
    ///     let plan = comm.ghosts(&Block::new(4, 2), &[3 * (1 - comm.rank())]);
    ///     let mut x = vec![comm.rank(), comm.rank() + 10, 0];
    ///     let (own, ghosts) = x.split_at_mut(plan.owned());
    ///     plan.gather(comm, own, ghosts);
    ///     x
    /// })?;
    /// assert_eq!(out, [[0, 10, 11], [1, 11, 0]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn gather<T: Element>(&self, comm: &mut Comm, owned: &[T], ghosts: &mut [T]) {
        let sig = const { &Signature::of::<T>("Neighborhood::gather", BY_PLAN) };
        let ends = (owned, ghosts);
        self.carry_out::<_, _, _, false>(comm, sig, ends, &Copied, || ());
    }

    /// [`gather`](Neighborhood::gather) with work in between: the neighbours are told, `work` runs,
    /// and then the ghosts are filled. The elements that need no ghost are computed meanwhile; the
    /// value that `work` returns is returned. Neighbours that read more than 1024 bytes from this
    /// rank need not wait for its work; this rank waits for theirs.
    ///
    /// # Examples
    /// ```
    /// use phalanx::dist::Block;
    /// let out = phalanx::run(2, |comm| {
    ///     let plan = comm.ghosts(&Block::new(6, 2), &[if comm.rank() == 0 { 3 } else { 2 }]);
    ///     let (own, mut ghosts) = ([1.0, 2.0, 4.0], [0.0]);
    ///     let inner: f64 = plan.gather_while(comm, &own, &mut ghosts, || own.iter().sum());
    ///     inner + ghosts[0]
    /// })?;
    /// assert_eq!(out, [8.0, 11.0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn gather_while<T: Element, R>(
        &self,
        comm: &mut Comm,
        owned: &[T],
        ghosts: &mut [T],
        work: impl FnOnce() -> R,
    ) -> R {
        let sig = const { &Signature::of::<T>("Neighborhood::gather_while", BY_PLAN) };
        let ends = (owned, ghosts);
        match self.carry_out::<_, _, _, true>(comm, sig, ends, &Copied, work) {
            Some(r) => r,
            None => comm.nothing_to_return(),
        }
    }

    /// Adds the ghosts of all ranks to the elements that they are copies of: the assembly of the
    /// values that ranks have computed for each other. The ghosts stay as they are.
    /// [`scatter_with`](Neighborhood::scatter_with) [`Sum`], and in its order.
    ///
    /// # Examples
    /// Forces on shared corners:
    /// ```
    /// use phalanx::dist::Block;
    /// let out = phalanx::run(3, |comm| {
    ///     let plan = comm.ghosts(&Block::new(3, 3), &[0]); // all have a copy of corner 0
    ///     let mut force = [100];
    ///     plan.scatter_add(comm, &[comm.rank() + 1], &mut force);
    ///     force[0]
    /// })?;
    /// assert_eq!(out, [106, 100, 100]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_add<T: Element>(&self, comm: &mut Comm, ghosts: &[T], owned: &mut [T])
    where
        Sum: Operator<T>,
    {
        let sig = const {
            &Signature::combining::<T, Sum>(
                "Neighborhood::scatter_add",
                <Sum as Operator<T>>::NAME,
                BY_PLAN,
            )
        };
        let accumulation = <Sum as Operator<T>>::accumulation();
        self.scatter(comm, sig, (ghosts, owned), &Sum, accumulation);
    }

    /// Combines the ghosts of all ranks into the elements that they are copies of.
    ///
    /// **Order.** `((x (+) g0) (+) g1) ..`: `x` is the owner's element, then the ghosts in the
    /// order of their ranks, of one rank in the order of its list: the same result in each run.
    ///
    /// **Must agree on all ranks:** the plan, the element type, the operator's type.
    ///
    /// # Errors
    /// As [`gather`](Neighborhood::gather).
    ///
    /// # Examples
    /// ```
    /// use phalanx::{dist::Block, op};
    /// let out = phalanx::run(3, |comm| {
    ///     let plan = comm.ghosts(&Block::new(3, 3), &[2, 2]);
    ///     let mut own = [0];
    ///     let ghosts = [comm.rank() + 1, comm.rank() + 4];
    ///     plan.scatter_with(comm, &ghosts, &mut own, op::ordered(|a, b| 10 * a + b));
    ///     own[0]
    /// })?;
    /// assert_eq!(out, [0, 0, 142536]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_with<T: Element, O: Operator<T>>(
        &self,
        comm: &mut Comm,
        ghosts: &[T],
        owned: &mut [T],
        op: O,
    ) {
        let sig =
            const { &Signature::combining::<T, O>("Neighborhood::scatter_with", O::NAME, BY_PLAN) };
        self.scatter(comm, sig, (ghosts, owned), &op, O::accumulation());
    }

    /// Each element is rounded once, when its last ghost is in it; one without ghosts stays.
    #[track_caller]
    #[inline(always)]
    fn scatter<T: Element, O: Operator<T>, S: Accumulation<T, O>>(
        &self,
        comm: &mut Comm,
        sig: &'static Signature,
        (ghosts, owned): (&[T], &mut [T]),
        op: &O,
        _: S,
    ) {
        if !S::IS_WIDE {
            let receive = Combined::<O, AsElements>(op, PhantomData);
            self.carry_out::<_, _, _, true>(comm, sig, (ghosts, owned), &receive, || ());
            return;
        }
        let control = FloatControl::STANDARD;
        let mut wide: Vec<S::Wide> =
            control.during(|| owned.iter().map(|&x| S::widen(x)).collect());
        let (ends, receive) = ((ghosts, &mut wide[..]), Combined::<O, S>(op, PhantomData));
        if self.carry_out::<_, _, _, true>(comm, sig, ends, &receive, || ()).is_some() {
            for edge in &self.readers {
                edge.moves.each(|at, _, len| {
                    let elements = at..at + len;
                    control.during(|| elements.for_each(|i| owned[i] = S::round(wide[i])));
                });
            }
        }
    }

    /// None if the call was refused while a panic unwinds.
    #[track_caller]
    #[inline]
    fn carry_out<T: Element, V: Receive<T>, R, const USER_CODE: bool>(
        &self,
        comm: &mut Comm,
        sig: &'static Signature,
        (shown, target): (&[T], &mut [V::Into]),
        receive: &V,
        work: impl FnOnce() -> R,
    ) -> Option<R> {
        let at = Location::caller();
        if !self.check_arguments::<V>(comm, (sig, at), (shown.len(), target.len())) {
            return None;
        }
        let (parameter, digest) = (self.number, Digest::of_plan(self.number));
        let own_len = Some(shown.len());
        let params = CallParams { own_len, parameter, digest, ..CallParams::of(1) };
        let begun = comm.begin(sig, at, params)?;
        let ends = (shown.as_ptr(), target.as_mut_ptr());
        // SAFETY: the arguments are checked; the call has begun, and the fingerprint holds T.
        let exchange =
            || unsafe { self.exchange::<T, V, R, USER_CODE>(comm, begun, ends, receive, work) };
        // (No work of the caller's stands beside an exchange that combines.)
        let result =
            if V::is_disturbed() { FloatControl::STANDARD.lend(exchange) } else { exchange() };
        result.map_err(|stop| comm.stop(stop)).ok()
    }

    /// Whether the plan is the communicator's, and the slices are of its lengths.
    #[inline(always)]
    fn check_arguments<V: Direction>(
        &self,
        comm: &mut Comm,
        (sig, at): CallAt,
        (shown, target): (usize, usize),
    ) -> bool {
        let of = (comm.port.id(), comm.port.run(), comm.port.rank());
        let is_good = of == (self.comm, self.run, self.rank);
        let (owned, ghosts) = if V::GATHERS { (shown, target) } else { (target, shown) };
        let fits = (owned, ghosts) == (self.owned, self.ghosts);
        if !(fits && is_good) {
            self.refuse(comm, (sig, at), is_good, (owned, ghosts));
        }
        fits && is_good
    }

    /// Ends the run: the plan is not the communicator's, or slices are of these lengths.
    #[cold]
    #[inline(never)]
    fn refuse(
        &self,
        comm: &mut Comm,
        (sig, at): CallAt,
        is_its: bool,
        (owned, ghosts): (usize, usize),
    ) {
        let what = match is_its {
            true => format!(
                "{owned} own elements and {ghosts} ghosts; the plan made at {} has {} and {}",
                self.made_at, self.owned, self.ghosts
            ),
            false => format!(
                "the plan made at {} belongs to another communicator, or to a run that is over",
                self.made_at
            ),
        };
        comm.wrong((sig, at), owned, what);
    }

    /// The exchange, of the slices that `shown` and `target` begin.
    ///
    /// # Safety
    /// - The plan is the communicator's and this rank's, in this run; the slices have its lengths.
    ///   They are borrowed for the call, the target exclusively.
    /// - `begun` is the port's call in progress; its fingerprint holds T.
    #[inline]
    unsafe fn exchange<T: Element, V: Receive<T>, R, const USER_CODE: bool>(
        &self,
        comm: &mut Comm,
        begun: StartedCall,
        (shown, target): (*const T, *mut V::Into),
        receive: &V,
        work: impl FnOnce() -> R,
    ) -> Result<R, Stop> {
        let (rank, size) = (self.rank, size_of::<T>());
        let (out, into) = match V::GATHERS {
            true => (&*self.readers, &*self.sources),
            false => (&*self.sources, &*self.readers),
        };
        // Both sides of an edge come to the same.
        let most = MESSAGE.checked_div(size).unwrap_or(usize::MAX);
        let guard = match USER_CODE {
            true => Guard::around_user_code(&mut comm.port),
            false => Guard::new(&mut comm.port),
        };
        let port = &mut *guard.port;
        port.log_call(begun);
        for edge in out.iter().filter(|edge| edge.peer != rank) {
            if edge.count > most {
                let words = WordBytes { at: shown.cast(), count: self.number, len: edge.count };
                port.post_words(edge.peer, PayloadKind::SLICE, words)?;
                continue;
            }
            port.post_copy(edge.peer, edge.count, size, |body| {
                let mut to = body.cast::<T>();
                edge.moves.each(|owned, ghost, len| {
                    // SAFETY: the plan's lists are within the lengths of the slices, and the body
                    // has room for as many elements.
                    unsafe { copy_row(to, shown.add(V::ends(owned, ghost).0), len) };
                    to = to.wrapping_add(len);
                });
            })?;
        }
        let result = work();
        let take = |edge: &Edge, from: *const T| {
            edge.moves.each(|owned, ghost, len| {
                let (source, to) = V::ends(owned, ghost);
                // SAFETY: the lists are within the lengths of this rank's slices, and of the
                // peer's (`making` has compared them).
                unsafe { receive.take(target.add(to), from.add(source), len) };
            });
        };
        for edge in into {
            if edge.peer == rank {
                take(edge, shown);
            } else if edge.count <= most {
                port.take_copy(edge.peer, edge.count, size, |body| {
                    let mut from = body.cast::<T>();
                    edge.moves.each(|owned, ghost, len| {
                        let (_, to) = V::ends(owned, ghost);
                        // SAFETY: as above; the peer has packed as many elements, of type T.
                        unsafe { receive.take(target.add(to), from, len) };
                        from = from.wrapping_add(len);
                    });
                })?;
            } else {
                let (_, words) = port.look_at_words(edge.peer, edge.count)?;
                if words.count != self.number {
                    let what =
                        format!("plan of call: expected {}, got {}", self.number, words.count);
                    return Err(Stop::Differs { peer: edge.peer, what });
                }
                take(edge, words.at.cast());
                port.consume(edge.peer);
            }
        }
        if into.iter().any(|edge| edge.peer != rank && edge.count > most) {
            port.record_end();
        }
        port.wait_all_acked()?;
        guard.disarm();
        Ok(result)
    }
}

impl fmt::Debug for Neighborhood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighborhood")
            .field("owned", &self.owned)
            .field("ghosts", &self.ghosts)
            .field("sources", &self.sources().collect::<Vec<_>>())
            .field("readers", &self.readers().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
