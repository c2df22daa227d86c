//! The functions' parameters: the arguments of C's binding under their meaning.
//!
//! # Safety
//! Constructors promise that a pointer is as valid as the standard asks of this argument, until
//! the call returns. The rest is safe so far as the functions of this room use an argument as
//! the standard says: they write a result where it may be written, and ask a list for no more
//! elements than it has.

use super::counts::{CountSlice, Counts, count_of};
use crate::rt::basic::solid;
use crate::rt::coll::Call;
use crate::rt::comm::Comm;
use crate::rt::envelope::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::rt::error::{Class, Outcome, Site, error};
use crate::rt::handle::Handle;
use crate::rt::handle::UNDEFINED;
use crate::rt::handle::fixed;
use crate::rt::kernel::is_built_in;
use crate::rt::operator::Operator;
use crate::rt::ops;
use crate::rt::rank::Rank;
use crate::rt::reduction::{Plain, Reduction};
use crate::rt::request::Arrived;
use crate::rt::short_message::Solid;
use crate::rt::types::{BYTE, Place};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Deref;

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
        Caller { rank: unsafe { &*rank }, site, is_large: false }
    }

    /// The same, made anew where a function of its own is called, for one that seldom is: so the
    /// short way before it has none in memory.
    #[inline(always)]
    pub(super) fn again(self) -> Caller<'a> {
        let Caller { rank, site, is_large } = self;
        Caller { rank, site, is_large }
    }

    /// In a function with large counts.
    pub(super) fn large(self) -> Caller<'a> {
        Caller { is_large: true, ..self }
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

pub(super) fn root_of(comm: &Comm, root: c_int) -> Outcome<usize> {
    match usize::try_from(root) {
        Ok(root) if root < comm.size() => Ok(root),
        _ => error(Class::Root, format!("the root {root} is none of {} ranks", comm.size())),
    }
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

/// A buffer of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    at: *const c_void,
    count: i64,
    ty: Handle,
}

impl Buffer {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(at: *const c_void, count: i64, ty: Handle) -> Buffer {
        Buffer { at, count, ty }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.at as usize == IN_PLACE
    }

    /// The memory.
    #[inline(always)]
    pub(super) fn place(&self, caller: Caller<'_>) -> Outcome<Place> {
        caller.place(self.at, self.count, self.ty)
    }

    /// Its address and bytes, if it has elements of a predefined datatype without gaps: as most
    /// calls give, without the checks and objects that `place` needs for the rest.
    #[inline(always)]
    pub(super) fn solid(&self) -> Option<Solid> {
        let (_, size) = solid(self.ty)?;
        let count = usize::try_from(self.count).ok()?;
        let is_there = !self.at.is_null() && !self.is_in_place();
        Some((self.at as usize, count.checked_mul(size)?)).filter(|_| is_there)
    }

    /// The memory of as many such buffers as there are ranks, one behind the other.
    #[inline(always)]
    pub(super) fn whole(&self, caller: Caller<'_>, comm: &Comm) -> Outcome<Place> {
        let first = self.place(caller)?;
        Ok(first.moved(0, first.count * comm.size()))
    }

    /// The part of this rank of such memory.
    pub(super) fn part(&self, caller: Caller<'_>, comm: &Comm) -> Outcome<Place> {
        let first = self.place(caller)?;
        Ok(first.moved((comm.rank * first.count) as isize, first.count))
    }
}

/// Memory of a window: the rank that has it, the displacement there, and the data's type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remote {
    pub(super) rank: c_int,
    pub(super) displacement: isize,
    pub(super) count: i64,
    pub(super) ty: Handle,
}

impl Remote {
    pub(super) fn new(rank: c_int, displacement: isize, count: i64, ty: Handle) -> Remote {
        Remote { rank, displacement, count, ty }
    }
}

/// Of fewer elements the bytes are a number of 64 bits.
const MOST: u64 = 1 << 56;

/// A part of a buffer for each rank, by counts and displacements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    at: *const c_void,
    counts: Counts,
    displacements: Counts,
    ty: Handle,
}

impl Blocks {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(
        at: *const c_void,
        counts: Counts,
        displacements: Counts,
        ty: Handle,
    ) -> Blocks {
        Blocks { at, counts, displacements, ty }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.at as usize == IN_PLACE
    }

    /// The memory of the parts.
    pub(super) fn each(&self, caller: Caller<'_>, comm: &Comm) -> Outcome<Vec<Place>> {
        self.some(caller, comm.size())
    }

    /// The memory of so many parts.
    pub(super) fn some(&self, caller: Caller<'_>, n: usize) -> Outcome<Vec<Place>> {
        let parts = self.parts(caller, n)?;
        Ok((0..n).map(|it| parts.at(it)).collect())
    }

    /// So many parts, each to be asked for, if they are of a predefined datatype without gaps, and
    /// as they should be.
    #[inline(always)]
    pub(super) fn solid(&self, n: usize) -> Option<impl Fn(usize) -> Solid + Copy + use<>> {
        let (_, size) = solid(self.ty)?;
        let (counts, displacements) = (self.counts, self.displacements);
        let is_there = !self.at.is_null() && !self.is_in_place();
        if !is_there || !counts.are_there() || !displacements.are_there() {
            return None;
        }
        let at = self.at as usize;
        // (A negative count is a large one.)
        (0..n).all(|it| (counts.at(it) as u64) < MOST).then_some(move |it| {
            let by = (displacements.at(it) as usize).wrapping_mul(size);
            (at.wrapping_add(by), counts.at(it) as usize * size)
        })
    }

    /// So many parts, each to be asked for.
    pub(super) fn parts<'a>(&self, caller: Caller<'_>, n: usize) -> Outcome<Parts<'a>> {
        let (counts, displacements) = (self.counts.slice(n)?, self.displacements.slice(n)?);
        let (mut least, mut largest) = (0, 0);
        (0..n).for_each(|it| {
            (least, largest) = (least.min(counts.at(it)), largest.max(counts.at(it)));
        });
        count_of(least)?;
        let base = caller.place(self.at, largest, self.ty)?;
        Ok(Parts { base, counts, displacements })
    }
}

/// The parts of a buffer.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    base: Place,
    counts: CountSlice<'a>,
    displacements: CountSlice<'a>,
}

impl Parts<'_> {
    /// One of them.
    #[inline]
    pub(super) fn at(&self, index: usize) -> Place {
        self.base.moved(self.displacements.at(index) as isize, self.counts.at(index) as usize)
    }
}

/// As `Blocks`, displacements in bytes and a datatype each.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypedBlocks {
    at: *const c_void,
    counts: Counts,
    displacements: Counts,
    types: List<Handle>,
}

impl TypedBlocks {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(
        at: *const c_void,
        counts: Counts,
        displacements: Counts,
        types: *const Handle,
    ) -> TypedBlocks {
        TypedBlocks { at, counts, displacements, types: List(types) }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.at as usize == IN_PLACE
    }

    /// So many parts, each to be asked for, as those of `Blocks`.
    pub(super) fn solid(&self, n: usize) -> Option<impl Fn(usize) -> Solid + Copy + use<>> {
        let TypedBlocks { at, counts, displacements, types } = *self;
        let is_there = !at.is_null() && !self.is_in_place() && types.address() != 0;
        if !is_there || !counts.are_there() || !displacements.are_there() {
            return None;
        }
        let fits = |it| (counts.at(it) as u64) < MOST && solid(types.at(it)).is_some();
        (0..n).all(fits).then_some(move |it| {
            let size = solid(types.at(it)).map_or(0, |(_, size)| size);
            let by = displacements.at(it) as usize;
            ((at as usize).wrapping_add(by), counts.at(it) as usize * size)
        })
    }

    /// The memory of the parts.
    pub(super) fn each(&self, caller: Caller<'_>, comm: &Comm) -> Outcome<Vec<Place>> {
        self.some(caller, comm.size())
    }

    /// The memory of so many parts.
    pub(super) fn some(&self, caller: Caller<'_>, n: usize) -> Outcome<Vec<Place>> {
        let (counts, types) = (self.counts.some(n)?, self.types.some(n)?);
        let part = |((count, by), ty): ((i64, i64), &Handle)| {
            let ty = match *ty {
                fixed::DATATYPE_NULL if count == 0 => BYTE,
                ty => ty,
            };
            caller.place(self.at.wrapping_byte_offset(by as isize), count, ty)
        };
        counts.zip(self.displacements.some(n)?).zip(types).map(part).collect()
    }
}

/// The ranks that carry out a reduction.
pub(super) enum Operation<'a> {
    /// The library.
    Routed(Reduction<'a>),
    /// This package.
    Folded(Place, Operator),
}

/// A reduction's arguments: buffers, how many elements, and the operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands<C = i64> {
    send: *const c_void,
    recv: *mut c_void,
    pub(super) count: C,
    ty: Handle,
    op: Handle,
}

impl<C> Operands<C> {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(
        send: *const c_void,
        recv: *mut c_void,
        count: C,
        ty: Handle,
        op: Handle,
    ) -> Operands<C> {
        Operands { send, recv, count, ty, op }
    }

    /// The same with another number of elements.
    pub(super) fn with<D>(&self, count: D) -> Operands<D> {
        Operands { send: self.send, recv: self.recv, count, ty: self.ty, op: self.op }
    }
}

/// Room for elements that a rank combines and does not get: not written before it is used.
pub(super) type Room = MaybeUninit<[u128; 64]>;

impl Operands {
    /// The operator, where the rank has no values of its own: on those that it gets.
    pub(super) fn result_operator(&self, caller: Caller<'_>) -> Outcome<Operator> {
        let at_target = Operands { send: self.recv.cast_const(), ..*self };
        Ok(at_target.own(caller)?.1)
    }

    /// The rank's own values, and the operator on them.
    pub(super) fn own(&self, caller: Caller<'_>) -> Outcome<(Place, Operator)> {
        let Operands { send, recv, count, ty, op } = *self;
        let from = if send as usize == IN_PLACE { recv.cast_const() } else { send };
        let place = caller.place(from, count, ty)?;
        let is_predefined = op < 0x1000;
        if !is_predefined && let Some((function, _)) = caller.ops.borrow().get(op) {
            return Ok((place, Operator::User(*function, ty)));
        }
        match place.ty.element.filter(|it| ops::knows(op, *it)) {
            Some(element) if place.ty.is_known() => Ok((place, Operator::Known(op, element))),
            _ if !is_predefined || op == fixed::OP_NULL => {
                error(Class::Op, format!("{op:#x} is no operator"))
            }
            _ => {
                let (op, name) = (ops::name(op), place.ty.name);
                error(Class::Op, format!("{op} is not defined for {name}"))
            }
        }
    }

    /// For the library's route, or none if that cannot take it.
    #[inline]
    pub(super) fn reduction<'a>(&self, caller: Caller<'a>, comm: &Comm) -> Outcome<Operation<'a>> {
        let (own, op) = self.own(caller)?;
        if comm.size() < 2 {
            return Ok(Operation::Folded(own, op));
        }
        let routed = Reduction::new(caller.rank, own, op, (self.op, self.ty));
        Ok(routed.map_or_else(|own| Operation::Folded(own, op), Operation::Routed))
    }

    /// The arguments of a reduction to all or a root, if they are as the library takes them:
    /// numbers that it has operators for, contiguous and aligned. `room`: for a result that the
    /// rank does not get, if it needs no more.
    #[inline(always)]
    pub(super) fn plain(&self, room: Option<&mut Room>) -> Option<Plain> {
        let Operands { send, recv, count, ty, op } = *self;
        let most = if room.is_some() { size_of::<Room>() } else { usize::MAX };
        let recv = room.map_or(recv, |it| std::ptr::from_mut(it).cast());
        let (element, size) = solid(ty)?;
        // Sizes are powers of two.
        let is_aligned = recv as usize & (size - 1) == 0;
        let is_there = !send.is_null() && !recv.is_null() && is_aligned;
        let from = if send as usize == IN_PLACE { recv.cast_const() } else { send };
        let count = usize::try_from(count).ok().filter(|it| *it > 0)?;
        let fits = count.checked_mul(size).is_some_and(|bytes| bytes <= most);
        let is_plain = fits && is_there && is_built_in(op, element);
        is_plain.then_some(Plain { from, to: recv, count, size, element, op })
    }

    /// Where the result goes.
    pub(super) fn target(&self, caller: Caller<'_>) -> Outcome<Place> {
        caller.place(self.recv, self.count, self.ty)
    }
}
