//! Windows of atomics: every rank writes all of them at any time.

use super::window::{Shared, meeting, window_of};
use super::{AtomicElement, Comm, Global, Peers};
use crate::shared::Signature;
use std::fmt;
use std::panic::Location;

/// Atomics that the ranks of a communicator share: every rank reads and writes all of them, at any
/// time, without a call that others wait for. Made by [`Comm::shared_atomic`].
///
/// Each access names its ordering, as everywhere
/// ([`Ordering`](std::sync::atomic::Ordering)); [`Comm::barrier`] orders all that all ranks have
/// done before it, relaxed or not, before all that they do after it. As plain numbers
/// the parts are there in [`read`](AtomicWindow::read) and [`update`](AtomicWindow::update) only,
/// which all ranks call, and in which no rank has the atomics.
///
/// A loop until an atomic has some value is the rank's own code, which nobody ends if the rank that
/// was to write it fails: call [`check`](Comm::check) in it.
///
/// Lives as long as a [`Window`](crate::Window), and is read and updated with its own communicator
/// only, too.
///
/// # Examples
/// A counter that hands out work:
/// ```
/// use std::sync::atomic::Ordering::Relaxed;
/// let tasks = phalanx::run(3, |comm| {
///     let next = comm.shared_atomic::<usize>(usize::from(comm.rank() == 0));
///     let next = &next.part(0)[0];
///     let mut mine = vec![];
///     loop {
///         match next.fetch_add(1, Relaxed) {
///             task if task < 20 => mine.push(task),
///             _ => break mine,
///         }
///     }
/// })?;
/// let mut tasks = tasks.concat();
/// tasks.sort();
/// assert!(tasks.into_iter().eq(0..20));
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct AtomicWindow<T: AtomicElement> {
    shared: Shared<T::Atomic>,
}

impl Comm {
    /// A window of `len` atomics of this rank and of as many of each other rank as that one says,
    /// all 0 (or `false`). Each rank writes its own first: on a NUMA machine a part of a page or
    /// more lies in its memory.
    ///
    /// **Must agree on all ranks:** the element type. Lengths may differ, and may be 0.
    ///
    /// **Cost** two flags to and from every rank, and the memory; once.
    ///
    /// # Errors
    /// More elements than there is memory for end the run.
    ///
    /// # Examples
    /// A histogram, of which each rank has two bins:
    /// ```
    /// use std::sync::atomic::Ordering::Relaxed;
    /// let bins = phalanx::run(2, |comm| {
    ///     let mut bins = comm.shared_atomic::<u64>(2);
    ///     for i in 0..100 {
    ///         bins.global()[i % 3].fetch_add(1, Relaxed);
    ///     }
    ///     bins.read(comm, |all| [&all[0], &all[1]].concat())
    /// })?;
    /// assert_eq!(bins, [[68, 66, 66, 0]; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn shared_atomic<T: AtomicElement>(&mut self, len: usize) -> AtomicWindow<T> {
        let sig = const { &window_of::<T, T::Atomic>("shared_atomic") };
        let fill = |_| T::default().into_atomic();
        AtomicWindow { shared: Shared::new(self, (sig, Location::caller()), len, fill) }
    }
}

impl<T: AtomicElement> AtomicWindow<T> {
    /// Atomics of this rank's part.
    #[allow(clippy::len_without_is_empty)] // As of views: there is always a part.
    pub fn len(&self) -> usize {
        self.shared.own().len
    }

    /// This rank's part.
    ///
    /// # Panics
    /// As [`parts`](AtomicWindow::parts).
    pub fn mine(&self) -> &[T::Atomic] {
        self.part(self.shared.rank())
    }

    /// Rank `rank`'s part.
    ///
    /// # Panics
    /// If there is no such rank; as [`parts`](AtomicWindow::parts).
    #[inline]
    pub fn part(&self, rank: usize) -> &[T::Atomic] {
        self.shared.part(rank)
    }

    /// All parts, in rank order.
    ///
    /// # Panics
    /// If [`read`](AtomicWindow::read) or [`update`](AtomicWindow::update) of the window has failed
    /// on this rank.
    #[inline]
    pub fn parts(&self) -> Peers<'_, T::Atomic> {
        self.shared.parts()
    }

    /// The parts one after the other, as one vector.
    ///
    /// # Panics
    /// As [`parts`](AtomicWindow::parts).
    #[inline]
    pub fn global(&self) -> Global<'_, T::Atomic> {
        self.shared.global()
    }

    /// Calls `f` with all parts as plain numbers: waits until no rank has the atomics, and returns
    /// when every rank's `f` has returned.
    ///
    /// **Must agree, cost, errors:** as [`Window::update`](crate::Window::update).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::Ordering::Relaxed;
    /// let sums = phalanx::run(3, |comm| {
    ///     let mut cells = comm.shared_atomic::<f64>(1);
    ///     cells.part(0)[0].fetch_add(0.5, Relaxed);
    ///     cells.read(comm, |all| all[0][0] + all[2][0])
    /// })?;
    /// assert_eq!(sums, [1.5; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn read<R>(&mut self, comm: &mut Comm, f: impl for<'a> FnOnce(Peers<'a, T>) -> R) -> R {
        static SIG: Signature = meeting("AtomicWindow::read");
        // The atomics have the bytes of as many T. All ranks read this window, so none has the
        // atomics, and none writes.
        self.shared.epoch(comm, (&SIG, Location::caller()), |_, spans| f(Peers::new(spans)))
    }

    /// Lets each rank write its own part as plain numbers, as
    /// [`Window::update`](crate::Window::update) does.
    ///
    /// **Must agree, cost, errors:** those of `Window::update`.
    ///
    /// ```
    /// use std::sync::atomic::Ordering::Relaxed;
    /// let out = phalanx::run(2, |comm| {
    ///     let mut bits = comm.shared_atomic::<u8>(3);
    ///     bits.update(comm, |mine| mine.fill(0b100));
    ///     bits.part(1)[2].fetch_or(1 << comm.rank(), Relaxed);
    ///     bits.read(comm, |all| all[1][2])
    /// })?;
    /// assert_eq!(out, [0b111; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn update<R>(&mut self, comm: &mut Comm, f: impl FnOnce(&mut [T]) -> R) -> R {
        static SIG: Signature = meeting("AtomicWindow::update");
        self.shared.epoch(comm, (&SIG, Location::caller()), |rank, spans| {
            let own = spans[rank];
            // SAFETY: the part has `len` atomics, which have size and bytes of T, and are aligned
            // to as much at least. All ranks update this window, so none has the atomics, and
            // nobody writes this part but this rank, which has one handle.
            f(unsafe { std::slice::from_raw_parts_mut(own.at.cast_mut().cast(), own.len) })
        })
    }
}

impl<T: AtomicElement> fmt::Debug for AtomicWindow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt("AtomicWindow", f)
    }
}
