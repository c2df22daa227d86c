//! Windows: memory of all ranks that each reads where it lies, at any time between two updates.
//!
//! Why safe code has no data race: each rank has one handle of a window, which is not `Clone`.
//! Views borrow it, and an epoch (an update, or the reading of atomics) borrows it exclusively. An
//! epoch begins with a meeting of all ranks, in which each shows the window's number; so behind it
//! every handle is borrowed exclusively, and no view is left on any rank. It ends with another
//! meeting, so that views begin after the last write. A handle with an epoch that did not come to
//! its end stays closed.

use super::arguments::CallAt;
use super::global::starts;
use super::window_part::WindowPart;
use super::{Comm, Global, Peers};
use crate::element::Element;
use crate::exec::{Buffers, Call, Partition};
use crate::op::Operator;
use crate::schedule::Operation;
use crate::shared::{Guard, Signature, Span, Stop};
use crate::sync::Arc;
use std::fmt;
use std::panic::Location;

/// Memory that the ranks of a communicator share: every rank reads all of it, without a call that
/// others wait for; [`update`](Window::update), which all ranks call, lets each write its own part.
/// Made by [`Comm::shared`] and [`Comm::shared_from`].
///
/// A window is one rank's handle, and has the memory of all: it may outlive the run, and the memory
/// is freed with the last handle. It is updated with the communicator that has made it only. (That
/// of a team is the same in each run, until a run fails; after that there is a new one.)
///
/// # Examples
/// Two windows in turns: each step reads one and writes the other.
/// ```
/// let out = phalanx::run(3, |comm| {
///     let (rank, p) = (comm.rank(), comm.size());
///     let mut now = comm.shared_from(&[rank; 4]);
///     let mut next = comm.shared::<usize>(4);
///     for _ in 0..2 {
///         next.update(comm, |mine| mine.copy_from_slice(now.part((rank + 1) % p)));
///         std::mem::swap(&mut now, &mut next);
///     }
///     now.mine()[0]
/// })?;
/// assert_eq!(out, [2, 0, 1]);
/// # Ok::<(), phalanx::Error>(())
/// ```
/// No view is there while parts are written:
/// ```compile_fail
/// phalanx::run(2, |comm| {
///     let mut window = comm.shared::<u64>(1);
///     let view = window.part(0);
///     window.update(comm, |mine| mine[0] = 1);
///     assert_eq!(view[0], 1);
/// });
/// ```
pub struct Window<T> {
    shared: Shared<T>,
}

impl Comm {
    /// A window on `len` elements of this rank and on as many of each other rank as that one says,
    /// all `T::default()`. Each rank writes its own first, so that they lie in the memory of its
    /// core; parts of a page or more are on pages of their own.
    ///
    /// **Must agree on all ranks:** the element type. Lengths may differ, and may be 0.
    ///
    /// **Cost** as [`with_peers`](Comm::with_peers), and the memory: once.
    ///
    /// # Errors
    /// More elements than there is memory for end the run.
    ///
    /// # Examples
    /// A vector in blocks, read by global index:
    /// ```
    /// use phalanx::dist::{Block, Distribution};
    /// let out = phalanx::run(3, |comm| {
    ///     let block = Block::new(10, comm.size());
    ///     let mut x = comm.shared::<f64>(block.count(comm.rank()));
    ///     let first = block.range(comm.rank()).start;
    ///     x.update(comm, |mine| {
    ///         mine.iter_mut().zip(first..).for_each(|(x, i)| *x = i as f64);
    ///     });
    ///     let x = x.global();
    ///     (0..10).map(|i| x[i]).sum::<f64>()
    /// })?;
    /// assert_eq!(out, [45.0; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn shared<T: Element + Default>(&mut self, len: usize) -> Window<T> {
        let sig = const { &window_of::<T, T>("shared") };
        Window { shared: Shared::new(self, (sig, Location::caller()), len, |_| T::default()) }
    }

    /// A window on copies of the ranks' slices `mine`, like one that [`shared`](Comm::shared) makes
    /// with elements that are all the same.
    ///
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let window = comm.shared_from(&vec![comm.rank(); 1 + comm.rank()]);
    ///     (window.part(0).len(), window.part(1)[1])
    /// })?;
    /// assert_eq!(out, [(1, 1); 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn shared_from<T: Element>(&mut self, mine: &[T]) -> Window<T> {
        let sig = const { &window_of::<T, T>("shared_from") };
        Window { shared: Shared::new(self, (sig, Location::caller()), mine.len(), |i| mine[i]) }
    }
}

impl<T: Element> Window<T> {
    /// Elements of this rank's part.
    #[allow(clippy::len_without_is_empty)] // As of views: there is always a part.
    pub fn len(&self) -> usize {
        self.shared.own().len
    }

    /// This rank's part.
    ///
    /// # Panics
    /// As [`parts`](Window::parts).
    pub fn mine(&self) -> &[T] {
        self.part(self.shared.rank)
    }

    /// Rank `rank`'s part.
    ///
    /// # Panics
    /// If there is no such rank; as [`parts`](Window::parts).
    #[inline]
    pub fn part(&self, rank: usize) -> &[T] {
        self.shared.part(rank)
    }

    /// All parts, in rank order.
    ///
    /// ```
    /// let longest = phalanx::run(3, |comm| {
    ///     let window = comm.shared::<u8>(comm.rank() * 2);
    ///     window.parts().iter().map(<[u8]>::len).max()
    /// })?;
    /// assert_eq!(longest, [Some(4); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    ///
    /// # Panics
    /// If an update of the window has failed on this rank: parts may then be half written, and
    /// peers may still be writing.
    #[inline]
    pub fn parts(&self) -> Peers<'_, T> {
        self.shared.parts()
    }

    /// The parts one after the other, as one vector.
    ///
    /// # Panics
    /// As [`parts`](Window::parts).
    #[inline]
    pub fn global(&self) -> Global<'_, T> {
        self.shared.global()
    }

    /// Lets each rank write its own part: waits until no rank has a view of the window, calls `f`
    /// with this rank's part, and waits until every rank's `f` has returned. After it, every rank
    /// sees the writes of all.
    ///
    /// **Must agree on all ranks:** that it is called, and of which window.
    ///
    /// **Cost** two all-reduces of 16 bytes.
    ///
    /// If `f` panics, the run ends; no rank can read this window any more.
    ///
    /// # Errors
    /// A communicator that has not made the window ends the run, and so do ranks that update
    /// different windows.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(4, |comm| {
    ///     let mut window = comm.shared::<usize>(1);
    ///     window.update(comm, |mine| mine[0] = 10);
    ///     window.parts().iter().flatten().sum::<usize>()
    /// })?;
    /// assert_eq!(out, [40; 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn update<R>(&mut self, comm: &mut Comm, f: impl FnOnce(&mut [T]) -> R) -> R {
        static SIG: Signature = meeting("Window::update");
        self.shared.epoch(comm, (&SIG, Location::caller()), |rank, spans| {
            let own = spans[rank];
            // SAFETY: the part has `len` elements of type T. All ranks are in an update of this
            // window, so there is no view of it anywhere, and nobody writes this part but this
            // rank, which has one handle.
            f(unsafe { std::slice::from_raw_parts_mut(own.at.cast_mut().cast(), own.len) })
        })
    }
}

impl<T> fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt("Window", f)
    }
}

/// The common part of all windows: parts of elements `E`, and epochs.
pub(super) struct Shared<E> {
    /// That no other window of the process has.
    number: u64,
    /// The communicator's state, and the rank there.
    shared: u64,
    rank: usize,
    /// Whether all elements may be looked at: no epoch of this rank's is under way, or has failed.
    is_open: bool,
    /// By rank.
    spans: Box<[Span]>,
    starts: Box<[usize]>,
    /// The owners of the memory.
    _parts: Box<[Arc<WindowPart<E>>]>,
}

// SAFETY: a window has its parts, which can be sent if their elements can be shared and sent, and
// their addresses.
unsafe impl<E: Send + Sync> Send for Shared<E> {}
// SAFETY: as above; through a shared window elements are only looked at, or are atomics.
unsafe impl<E: Send + Sync> Sync for Shared<E> {}

/// The call that makes a window of elements `T`, which are `E` in memory: the type tells plain
/// elements and atomics apart.
pub(super) const fn window_of<T: 'static, E: 'static>(call: &'static str) -> Signature {
    Signature {
        element_name: std::any::type_name::<T>,
        element_size: size_of::<T>(),
        ..Signature::of::<Arc<WindowPart<E>>>(call, "")
    }
}

/// The meetings of an epoch.
pub(super) const fn meeting(call: &'static str) -> Signature {
    Signature {
        element_name: std::any::type_name::<()>, // For people there is none.
        ..Signature::combining::<Token, Same>(call, "", "")
    }
}

impl<E: Send + Sync + 'static> Shared<E> {
    /// A new window on parts made by `fill`.
    pub(super) fn new(
        comm: &mut Comm,
        (sig, at): CallAt,
        len: usize,
        fill: impl FnMut(usize) -> E,
    ) -> Self {
        let near = comm.keep_near();
        let part = WindowPart::new(len, fill);
        drop(near);
        let part = part.unwrap_or_else(|what| {
            comm.wrong((sig, at), len, what);
            comm.nothing_to_return()
        });
        let own = [Arc::new(part)];
        let parts: Box<[Arc<WindowPart<E>>]> = comm.show_all_here((sig, at), &own, len, |all| {
            all.iter().map(|one| one[0].clone()).collect()
        });
        let span =
            |part: &Arc<WindowPart<E>>| Span { at: part.at().as_ptr().cast(), len: part.len() };
        Shared {
            number: parts[0].number(),
            shared: comm.comm_id(),
            rank: comm.port.rank(),
            is_open: true,
            spans: parts.iter().map(span).collect(),
            starts: starts(parts.iter().map(|part| part.len())).into(),
            _parts: parts,
        }
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// This rank's part.
    pub(super) fn own(&self) -> Span {
        self.spans[self.rank]
    }

    #[inline(always)]
    pub(super) fn parts(&self) -> Peers<'_, E> {
        if !self.is_open {
            self.refuse();
        }
        // The elements are E, and nobody has them exclusively: see the module documentation.
        Peers::new(&self.spans)
    }

    #[inline(always)]
    pub(super) fn part(&self, rank: usize) -> &[E] {
        self.parts().get(rank).unwrap_or_else(|| self.no_rank(rank))
    }

    #[inline(always)]
    pub(super) fn global(&self) -> Global<'_, E> {
        Global::new(self.parts(), &self.starts)
    }

    #[cold]
    #[inline(never)]
    fn no_rank(&self, rank: usize) -> ! {
        panic!("rank {rank} of {} ranks", self.spans.len());
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self) -> ! {
        panic!("window {} cannot be read: an update of it has failed", self.number);
    }

    /// Calls `f`, with this rank's number and where all parts are, while every rank is in an epoch
    /// of this window by the same call.
    #[inline]
    pub(super) fn epoch<R>(
        &mut self,
        comm: &mut Comm,
        (sig, at): CallAt,
        f: impl FnOnce(usize, &[Span]) -> R,
    ) -> R {
        let is_its = comm.comm_id() == self.shared && comm.port.rank() == self.rank;
        if !is_its {
            let (number, rank) = (self.number, self.rank);
            let what = format!(
                "window {number} of rank {rank} belongs to the communicator that has made it, and \
                 to that rank (after a run that has failed, the team's is another)"
            );
            comm.wrong((sig, at), 0, what);
            comm.nothing_to_return();
        }
        // From here on until all have met again, peers may write.
        self.is_open = false;
        self.meet(comm, sig, at);
        let guard = Guard::around_user_code(&mut comm.port);
        let r = f(self.rank, &self.spans);
        guard.disarm();
        self.meet(comm, sig, at);
        self.is_open = true;
        r
    }

    /// Returns when all ranks of the window have come here with it: an all-reduce that shows it.
    fn meet(&self, comm: &mut Comm, sig: &'static Signature, at: &'static Location<'static>) {
        let own = Token { window: self.number, ranks: 1 };
        let mut met = [own];
        let call = Call::new(Operation::AllReduce, sig, at, Partition::Vector(1)).of_length(0);
        comm.carry_out(call.combining(Buffers::InPlace(&mut met), &Same));
        // In full: on this, and on no fingerprint, rests that no rank reads while another writes.
        if met != [Token { window: self.number, ranks: self.spans.len() as u64 }] {
            self.stop(comm, (sig, at), met[0]);
        }
    }

    /// Ends the run: `met` is not as it would be if all ranks had come with this window.
    #[cold]
    #[inline(never)]
    fn stop(&self, comm: &mut Comm, (sig, at): CallAt, met: Token) -> ! {
        // All have come, with different windows, and know it. Else a panic unwinds, and the call
        // has done nothing.
        if met.ranks == self.spans.len() as u64 {
            let own = Token { window: self.number, ranks: 1 };
            let mut all = vec![own; self.spans.len()];
            let call = Call::new(Operation::AllGather, sig, at, Partition::Equal(1)).of_length(0);
            comm.slices_by_long_route(call, &[own], &mut all);
            if let Some(peer) = all.iter().position(|token| token.window != self.number) {
                let what =
                    format!("window: expected number {}, got {}", self.number, all[peer].window);
                comm.stop(Stop::Differs { peer, what });
            }
        }
        comm.nothing_to_return()
    }
}

impl<E> Shared<E> {
    pub(super) fn fmt(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("rank", &self.rank)
            .field("starts", &self.starts)
            .finish_non_exhaustive()
    }
}

/// The words that a rank shows in a meeting: its window, and how many ranks show it. A type that no
/// other crate can name, so that no call of a program's meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    /// 0 once two have met that differ.
    window: u64,
    ranks: u64,
}

/// Whether all show one window.
struct Same;

impl Operator<Token> for Same {
    const NAME: &'static str = "";
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn combine(&self, left: Token, right: Token) -> Token {
        let window = if left.window == right.window { left.window } else { 0 };
        Token { window, ranks: left.ranks + right.ranks }
    }
}
