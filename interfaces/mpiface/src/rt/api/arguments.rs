//! The functions' parameters: the arguments of C's binding under their meaning.
//!
//! # Safety
//! Constructors promise that a pointer is as valid as the standard asks of this argument, until
//! the call returns. The rest is safe so far as the functions of this room use an argument as
//! the standard says: they write a result where it may be written, and ask a list for no more
//! elements than it has.

use crate::rt::coll::Call;
use crate::rt::comm::Comm;
use crate::rt::envelope::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::rt::error::{Class, Outcome, Site, error};
use crate::rt::handle::Handle;
use crate::rt::rank::Rank;
use crate::rt::request::Arrived;
use crate::rt::standard::UNDEFINED;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Deref;
use std::rc::Rc;

/// The address that says that the data lies in the other buffer.
pub(super) const IN_PLACE: usize = 1;

/// The status of a wait for no request.
pub(super) const EMPTY: Arrived = Arrived { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0 };

/// The rank that makes a call, and the place of the call.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) rank: &'a Rank,
    pub(super) site: Site,
    /// Whether the function is the one with large counts.
    pub(super) is_large: bool,
    /// Whether it is the one that gives a request, of two that do the same.
    pub(super) is_requested: bool,
    /// Whether a call that is started looks at its arguments only.
    pub(super) is_trial: bool,
}

impl Deref for Caller<'_> {
    type Target = Rank;

    fn deref(&self) -> &Rank {
        self.rank
    }
}

impl<'a> Caller<'a> {
    /// # Safety
    /// `rank` is the calling rank's state.
    pub(super) unsafe fn new(rank: *const Rank, site: Site) -> Caller<'a> {
        // SAFETY: the caller's promise; the state lives for ever.
        Caller::of(unsafe { &*rank }, site)
    }

    pub(super) fn of(rank: &'a Rank, site: Site) -> Caller<'a> {
        Caller { rank, site, is_large: false, is_requested: false, is_trial: false }
    }

    /// The same, made anew where a function of its own is called, for one that seldom is: so the
    /// short way before it has none in memory.
    #[inline(always)]
    pub(super) fn again(self) -> Caller<'a> {
        let Caller { rank, site, is_large, is_requested, is_trial } = self;
        Caller { rank, site, is_large, is_requested, is_trial }
    }

    /// In a function with large counts.
    pub(super) fn large(self) -> Caller<'a> {
        Caller { is_large: true, ..self }
    }

    /// In a function that gives a request.
    pub(super) fn requested(self) -> Caller<'a> {
        Caller { is_requested: true, ..self }
    }

    /// The communicator of a handle, which must be of one group of ranks.
    #[inline(always)]
    pub(super) fn within(&self, handle: Handle) -> Outcome<Rc<Comm>> {
        let comm = self.comm(handle)?;
        comm.within()?;
        Ok(comm)
    }

    /// A collective call on a communicator.
    pub(super) fn on(&self, comm: &'a Comm) -> Call<'a> {
        Call { world: &self.rank.world, comm, site: self.site }
    }
}

/// A number as C takes it: undefined if it does not fit.
pub(super) fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(UNDEFINED)
}

#[inline(always)]
pub(super) fn root_of(comm: &Comm, root: c_int) -> Outcome<usize> {
    match usize::try_from(root) {
        Ok(root) if root < comm.size() => Ok(root),
        _ => no_root(comm, root),
    }
}

#[cold]
#[inline(never)]
fn no_root<T>(comm: &Comm, root: c_int) -> Outcome<T> {
    error(Class::Root, format!("the root {root} is none of {} ranks", comm.size()))
}

/// The rank of a peer; `None` for MPI_PROC_NULL.
#[inline]
pub(super) fn peer_of(comm: &Comm, peer: c_int) -> Outcome<Option<usize>> {
    match usize::try_from(peer) {
        Ok(peer) if peer < comm.peers().len() => Ok(Some(peer)),
        _ if peer == PROC_NULL => Ok(None),
        _ => no_peer(comm, peer),
    }
}

#[cold]
#[inline(never)]
fn no_peer<T>(comm: &Comm, peer: c_int) -> Outcome<T> {
    error(Class::Rank, format!("rank {peer} is none of {} ranks", comm.peers().len()))
}

/// The other side of a message, and its tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) rank: c_int,
    pub(super) tag: c_int,
}

impl Peer {
    pub(super) fn new(rank: c_int, tag: c_int) -> Peer {
        Peer { rank, tag }
    }

    /// Whether it is MPI_PROC_NULL.
    #[inline(always)]
    pub(super) fn is_nobody(self) -> bool {
        self.rank == PROC_NULL
    }
}

/// Where results are written: one, or a list of them. The program has written the values there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(at: *mut T) -> Out<T> {
        Out(at)
    }

    pub(super) fn set(self, value: T) {
        // SAFETY: the constructor's promise.
        unsafe { self.0.write(value) };
    }

    pub(super) fn get(self) -> T {
        // SAFETY: the constructor's promise.
        unsafe { self.0.read() }
    }

    /// The address.
    pub(super) fn address(self) -> usize {
        self.0 as usize
    }

    /// The element of a list.
    pub(super) fn at(self, index: usize) -> Out<T> {
        Out(self.0.wrapping_add(index))
    }

    /// The list's present contents.
    pub(super) fn copied(self, count: c_int) -> Vec<T> {
        // SAFETY: the constructor's promise.
        unsafe { List::new(self.0) }.take(count).to_vec()
    }

    pub(super) fn fill(self, values: impl IntoIterator<Item = T>) {
        for (index, value) in values.into_iter().enumerate() {
            self.at(index).set(value);
        }
    }
}

/// A list of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<T>(*const T);

impl<T> List<T> {
    /// That is not given.
    pub(super) const NONE: List<T> = List(std::ptr::null());

    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(at: *const T) -> List<T> {
        List(at)
    }

    /// Its elements; none if it is a null pointer, or the count is negative.
    pub(super) fn take<'a>(self, count: impl Into<i64>) -> &'a [T] {
        match usize::try_from(count.into()) {
            // SAFETY: the constructor's promise; no function keeps the list.
            Ok(count) if count > 0 && !self.0.is_null() => unsafe {
                std::slice::from_raw_parts(self.0, count)
            },
            _ => &[],
        }
    }

    /// So many elements.
    pub(super) fn some<'a>(self, count: usize) -> Outcome<&'a [T]> {
        let all = self.take(count as i64);
        if all.len() != count {
            return error(Class::Arg, "a list with an entry for each rank is a null pointer");
        }
        Ok(all)
    }

    /// One of them, of a list that is given.
    #[inline(always)]
    pub(super) fn at(self, index: usize) -> T
    where
        T: Copy,
    {
        // SAFETY: the constructor's promise.
        unsafe { self.0.add(index).read() }
    }

    /// Its address.
    #[inline]
    pub(super) fn address(self) -> usize {
        self.0 as usize
    }
}

/// MPI_Status.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    inner: [c_int; 5],
}

impl Status {
    pub(super) fn bytes(&self) -> usize {
        (self.inner[0] as u32 as usize) | (self.inner[1] as u32 as usize) << 32
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.inner[2] != 0
    }

    pub(super) fn source(&self) -> c_int {
        self.source
    }
}

/// Where a status is written, unless the program ignores it: one, or a list of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusOut(*mut Status);

impl StatusOut {
    /// Of a call that has none.
    pub(super) const IGNORED: StatusOut = StatusOut(std::ptr::null_mut());

    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(at: *mut Status) -> StatusOut {
        StatusOut(at)
    }

    pub(super) fn at(self, index: usize) -> StatusOut {
        if self.0.is_null() { self } else { StatusOut(self.0.wrapping_add(index)) }
    }

    /// Of no request: here the error is set, too.
    pub(super) fn set_empty(self) {
        self.set(EMPTY, false);
        self.set_error(0);
    }

    /// Sets the error alone.
    pub(super) fn set_error(self, code: c_int) {
        if !self.0.is_null() {
            // SAFETY: the constructor's promise.
            unsafe { (*self.0).error = code };
        }
    }

    /// Writes it; the error stays as it is.
    #[inline(always)]
    pub(super) fn set(self, arrived: Arrived, is_cancelled: bool) {
        if self.0.is_null() {
            return;
        }
        let bytes = arrived.bytes as u64;
        // SAFETY: the constructor's promise; fields are written one by one, for the rest may be
        // uninitialised.
        unsafe {
            (*self.0).source = arrived.source;
            (*self.0).tag = arrived.tag;
            // One by one: an array is made elsewhere, and moved.
            let inner = &raw mut (*self.0).inner;
            let inner = inner.cast::<c_int>();
            inner.write(bytes as c_int);
            inner.add(1).write((bytes >> 32) as c_int);
            inner.add(2).write(c_int::from(is_cancelled));
            inner.add(3).write(0);
            inner.add(4).write(0);
        }
    }
}

impl StatusOut {
    /// Sets the number of bytes alone.
    pub(super) fn set_bytes(self, bytes: usize) {
        if !self.0.is_null() {
            // SAFETY: the constructor's promise.
            unsafe {
                (*self.0).inner[0] = bytes as c_int;
                (*self.0).inner[1] = (bytes as u64 >> 32) as c_int;
            }
        }
    }

    /// Sets whether it was cancelled.
    pub(super) fn set_cancelled(self, is_cancelled: bool) {
        if !self.0.is_null() {
            // SAFETY: the constructor's promise.
            unsafe { (*self.0).inner[2] = c_int::from(is_cancelled) };
        }
    }

    /// The status itself, for the program's functions.
    pub(super) fn address(self) -> *mut c_void {
        self.0.cast()
    }
}

/// Where a text is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawText(*mut c_char);

impl RawText {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(at: *mut c_char) -> RawText {
        RawText(at)
    }

    /// Whether there is such a place.
    pub(super) fn is_there(self) -> bool {
        !self.0.is_null()
    }

    /// Writes it, cut to `room`, which is the standard's for this text, with its zero; gives its
    /// length.
    pub(super) fn set(self, text: &str, room: usize) -> usize {
        let bytes = &text.as_bytes()[..text.len().min(room - 1)];
        // SAFETY: the constructor's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), self.0, bytes.len());
            *self.0.add(bytes.len()) = 0;
        }
        bytes.len()
    }
}

/// Where a text is written, as long as the standard says for it, and its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextOut(RawText, Out<c_int>);

impl TextOut {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(at: *mut c_char, length: *mut c_int) -> TextOut {
        TextOut(RawText(at), Out(length))
    }

    /// Writes it; `room` is the standard's for this text.
    pub(super) fn set(self, text: &str, room: usize) {
        self.1.set(int(self.0.set(text, room)));
    }
}

/// A text of the program; of a null pointer: an empty one.
///
/// # Safety
/// See the head of the file.
pub(super) unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}
