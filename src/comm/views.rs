//! Zero-copy views: access to other ranks' slices in place.
//!
//! A view is given to a closure and cannot leave it, so it ends before the
//! owners get their slices back; nothing can be leaked past it.

use super::Comm;
use super::arguments::{CallAt, Checks};
use crate::element::Element;
use crate::shared::{CallParams, Guard, Signature, Span, Stop};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;
use std::panic::Location;

/// Every rank's slice, during [`Comm::with_peers`].
///
/// # Examples
/// ```
/// let longest = phalanx::run(3, |comm| {
///     let mine = vec![1u8; comm.rank() * 2];
///     comm.with_peers(&mine, |all| {
///         assert_eq!(all.len(), 3);
///         all.iter().map(<[u8]>::len).max()
///     })
/// })?;
/// assert_eq!(longest, [Some(4); 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Peers<'a, T> {
    spans: &'a [Span],
    _slices: PhantomData<&'a [T]>,
}

impl<'a, T> Peers<'a, T> {
    /// Of slices that stay, unwritten, for 'a.
    pub(super) fn new(spans: &'a [Span]) -> Self {
        Peers { spans, _slices: PhantomData }
    }

    /// Calls `f` with these slices as those of the ranks.
    pub(crate) fn of_parts<R>(parts: &[&[T]], f: impl for<'p> FnOnce(Peers<'p, T>) -> R) -> R {
        let span = |part: &&[T]| Span { at: part.as_ptr().cast(), len: part.len() };
        f(Peers::new(&parts.iter().map(span).collect::<Vec<_>>()))
    }

    /// The number of ranks.
    ///
    /// ```
    /// phalanx::run(2, |comm| comm.with_peers(&[0], |all| assert_eq!(all.len(), 2)))?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[allow(clippy::len_without_is_empty)] // There is always a rank: the own.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Rank `rank`'s slice, if there is such a rank.
    ///
    /// ```
    /// phalanx::run(2, |comm| comm.with_peers(&[7], |all| {
    ///     assert_eq!(all.get(1), Some(&[7][..]));
    ///     assert_eq!(all.get(2), None);
    /// }))?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn get(&self, rank: usize) -> Option<&'a [T]> {
        self.spans.get(rank).map(|span| {
            // SAFETY: the owner shows `len` elements of type T (fingerprint)
            // and keeps them, unwritten, until this rank has finished the
            // call, which is after 'a.
            unsafe { std::slice::from_raw_parts(span.at.cast(), span.len) }
        })
    }

    /// The slices in rank order.
    ///
    /// ```
    /// let sums = phalanx::run(3, |comm| {
    ///     comm.with_peers(&[comm.rank()], |all| all.iter().flatten().sum::<usize>())
    /// })?;
    /// assert_eq!(sums, [3, 3, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [T]> + 'a {
        let this = Peers { spans: self.spans, _slices: PhantomData };
        (0..this.len()).map(move |rank| this.get(rank).expect("a rank of the communicator"))
    }
}

impl<T> Index<usize> for Peers<'_, T> {
    type Output = [T];

    fn index(&self, rank: usize) -> &[T] {
        let p = self.len();
        self.get(rank).unwrap_or_else(|| panic!("rank {rank} of {p} ranks"))
    }
}

impl<T> fmt::Debug for Peers<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").field("ranks", &self.spans.len()).finish()
    }
}

/// # Memory of other ranks
impl Comm {
    /// Shows `mine` to all ranks and calls `f` with everybody's slices: an
    /// all-gather that copies nothing. Returns when every rank's `f` has
    /// returned.
    ///
    /// **Must agree on all ranks:** the element type. Lengths may differ.
    ///
    /// **Cost** two flags to and from every rank, `2 (p-1)` looks.
    ///
    /// If `f` panics, the rank unwinds once no other looks at its slice.
    ///
    /// # Examples
    /// ```
    /// let dots = phalanx::run(2, |comm| {
    ///     let mine = [comm.rank() as f64 + 1.0; 100];
    ///     comm.with_peers(&mine, |all| {
    ///         all[0].iter().zip(&all[1]).map(|(a, b)| a * b).sum::<f64>()
    ///     })
    /// })?;
    /// assert_eq!(dots, [200.0, 200.0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// Nothing can be kept from it, and no collective runs inside it:
    /// ```compile_fail
    /// phalanx::run(2, |comm| { let kept = comm.with_peers(&[1], |all| all); });
    /// ```
    /// ```compile_fail
    /// phalanx::run(2, |comm| { comm.with_peers(&[1], |all| comm.barrier()); });
    /// ```
    #[track_caller]
    #[inline]
    pub fn with_peers<T: Element, R>(
        &mut self,
        mine: &[T],
        f: impl for<'a> FnOnce(Peers<'a, T>) -> R,
    ) -> R {
        let sig = const { &Signature::of::<T>("with_peers", "") };
        self.show_all((sig, Location::caller()), mine, f)
    }

    /// [`with_peers`](Comm::with_peers), under the name of `sig`.
    #[inline]
    pub(super) fn show_all<T: Element, R>(
        &mut self,
        (sig, at): CallAt,
        mine: &[T],
        f: impl for<'a> FnOnce(Peers<'a, T>) -> R,
    ) -> R {
        self.show_all_here((sig, at), mine, mine.len(), f)
    }

    /// [`with_peers`](Comm::with_peers) of the port's ranks. Nothing is copied, so it shows
    /// whatever threads may share. `len` is what the call says in errors.
    #[inline]
    pub(super) fn show_all_here<T: Sync + 'static, R>(
        &mut self,
        (sig, at): CallAt,
        mine: &[T],
        len: usize,
        f: impl for<'a> FnOnce(Peers<'a, T>) -> R,
    ) -> R {
        let params = CallParams { own_len: Some(len), ..CallParams::of(0) };
        if !self.enter((sig, at), params) {
            self.nothing_to_return();
        }
        let (rank, p) = (self.rank(), self.size());
        let own = Span { at: mine.as_ptr().cast(), len: mine.len() };
        let mut spans = std::mem::take(&mut self.work.spans);
        spans.clear();
        spans.resize(p, own);
        let guard = Guard::around_user_code(&mut self.port);
        let result: Result<R, Stop> = (|| {
            guard.port.show(own.at.cast_mut(), std::ptr::null_mut(), own.len);
            for d in 1..p {
                let peer = (rank + d) % p;
                let notice = guard.port.notice(peer, None)?;
                spans[peer] = Span { at: notice.a, len: notice.len };
            }
            guard.port.noticed_all();
            let r = f(Peers { spans: &spans, _slices: PhantomData });
            guard.port.finish();
            guard.port.close()?;
            Ok(r)
        })();
        match result {
            Ok(r) => {
                guard.disarm();
                self.port.record_end();
                self.work.spans = spans;
                r
            }
            Err(stop) => {
                drop(guard);
                self.stop_for_good(stop)
            }
        }
    }

    /// Shows `root`'s `data` to all ranks and calls `f` with it: a broadcast
    /// that copies nothing. On the other ranks `data` is not looked at. The
    /// root returns when every rank's `f` has returned; another rank when its
    /// own has.
    ///
    /// **Must agree on all ranks:** the element type, `root`.
    ///
    /// **Cost** one flag from the root to every rank, and one back.
    ///
    /// # Errors
    /// A `root` that is no rank ends the run.
    ///
    /// # Examples
    /// Each rank adds up its part of rank 0's table, where that is:
    /// ```
    /// use phalanx::dist::Block;
    /// let sums = phalanx::run(3, |comm| {
    ///     let table: Vec<u64> = if comm.rank() == 0 { (0..1000).collect() } else { vec![] };
    ///     let (rank, size) = (comm.rank(), comm.size());
    ///     comm.with_root(&table, 0, |table| {
    ///         table[Block::new(table.len(), size).range(rank)].iter().sum::<u64>()
    ///     })
    /// })?;
    /// assert_eq!(sums.iter().sum::<u64>(), 499_500);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn with_root<T: Element, R>(
        &mut self,
        data: &[T],
        root: usize,
        f: impl for<'a> FnOnce(&'a [T]) -> R,
    ) -> R {
        let sig = const { &Signature::of::<T>("with_root", "from root") };
        let at = Location::caller();
        if !self.check_rank("root", root, (sig, at), data.len()) {
            self.nothing_to_return();
        }
        self.with_root_here((sig, at), data, root, f)
    }

    /// [`with_root`](Comm::with_root) of the port's ranks, of which `root` is one.
    #[inline]
    pub(super) fn with_root_here<T: Element, R>(
        &mut self,
        (sig, at): CallAt,
        data: &[T],
        root: usize,
        f: impl for<'a> FnOnce(&'a [T]) -> R,
    ) -> R {
        let params = CallParams { own_len: Some(data.len()), parameter: root, ..CallParams::of(0) };
        if !self.enter((sig, at), params) {
            self.nothing_to_return();
        }
        let is_root = self.port.rank() == root;
        let guard = Guard::around_user_code(&mut self.port);
        let result: Result<R, Stop> = (|| {
            if is_root {
                let at = data.as_ptr().cast_mut().cast();
                guard.port.show_alone(at, std::ptr::null_mut(), data.len());
                let r = f(data);
                // In this order: two ranks that both take themselves for the
                // root then wait for each other, which is noticed.
                guard.port.close_alone()?;
                guard.port.finish();
                return Ok(r);
            }
            let notice = guard.port.notice_alone(root, None)?;
            // SAFETY: the root shows `len` elements of type T (fingerprint)
            // and keeps them, unwritten, until this rank has finished.
            let data = unsafe { std::slice::from_raw_parts(notice.a.cast::<T>(), notice.len) };
            let r = f(data);
            guard.port.finish_for(root);
            Ok(r)
        })();
        match result {
            Ok(r) => {
                guard.disarm();
                self.port.record_end();
                r
            }
            Err(stop) => {
                drop(guard);
                self.stop_for_good(stop)
            }
        }
    }

    /// As `stop`, for calls that have something to return: a failure while
    /// another panic unwinds aborts here, as a second panic does.
    #[cold]
    pub(super) fn stop_for_good(&mut self, stop: Stop) -> ! {
        self.stop(stop);
        self.nothing_to_return();
    }

    #[cold]
    #[inline(never)]
    pub(super) fn nothing_to_return(&self) -> ! {
        panic!("a collective that returns a value failed while another panic unwinds");
    }
}
