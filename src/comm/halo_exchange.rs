//! Halo exchange: every rank copies its neighbours' outermost cells straight
//! from their arrays into its own halo.
//!
//! Each rank posts one message to each neighbour, which says where its arrays
//! are and which shape they have; takes its neighbours' messages, copying the cells that
//! it needs; and returns when its neighbours have copied, too. Only neighbours
//! wait for each other. A face that fits the mailbox's line travels in it (`SMALL`).
//!
//! Writes and reads: a rank writes the halo of its own arrays and nothing else;
//! neighbours read the own cells and, with corners, halos of earlier
//! dimensions, which were filled before the message for this dimension was
//! posted, and are not written again in the call. So no cell is written while
//! it is read.

use super::arguments::CallAt;
use super::halo_plan::{Boxes, Face, HaloPlan, HaloShape};
use super::{Cart, Comm};
use crate::dist::Halo;
use crate::element::Element;
use crate::shared::{
    CallParams, Digest, Fingerprint, Guard, PayloadKind, Port, Signature, StartedCall, Stop,
    WordBytes,
};
use crate::topology::Cartesian;
use std::panic::Location;

/// The arrays that a message of the exchange describes.
#[repr(C)]
struct Shown {
    /// One address for each field; how many, the message says (`len`). Its
    /// `count` is the dimension, so that with corners ranks that take each other
    /// for neighbours along different ones do not read cells that are being written.
    fields: *const *mut u8,
    halo: *const Halo,
}

/// No work in between.
fn none<T>(_: &[T]) {}

impl Cart<'_> {
    /// Fills the halo of `field` with copies of the neighbours' outermost cells,
    /// one copy from their arrays into this one. Along a periodic dimension of
    /// extent 1 a rank is its own neighbour; where the grid ends the halo stays
    /// as it is.
    ///
    /// **Must agree on all ranks:** the element type; with the neighbours along
    /// a dimension: the shape of the face between the two, the widths, corners.
    /// Parts may be of different sizes otherwise.
    ///
    /// **Cost** a message to and from each neighbour, `t_s` for all of them at
    /// once and t_w for each cell of the halo; with corners `d t_s` in `d`
    /// dimensions. Faces of up to 32 bytes travel in the mailbox's line. Ranks
    /// that are no neighbours do not wait for each other.
    ///
    /// # Errors
    /// These end the run: a field that is not of the halo's length, a halo of
    /// another number of dimensions than the grid, fewer own cells than the
    /// halo is wide; faces of neighbours that differ, with an error that names
    /// both ranks and both shapes.
    ///
    /// # Examples
    /// Smoothing, on a ring of three ranks with two cells each:
    /// ```
    /// use phalanx::dist::Halo;
    /// let out = phalanx::run(3, |comm| {
    ///     let halo = Halo::new(&[2], 1);
    ///     let mut u = vec![0.0; halo.len()];
    ///     u[1..3].fill(comm.rank() as f64);
    ///     comm.cart(&[0], &[true]).exchange_halo(&mut u, &halo);
    ///     [u[0] + u[2], u[1] + u[3]] // of each cell, the two beside it
    /// })?;
    /// assert_eq!(out, [[2.0, 1.0], [1.0, 3.0], [3.0, 2.0]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn exchange_halo<T: Element>(&mut self, field: &mut [T], halo: &Halo) {
        let sig = const { &Signature::of::<T>("exchange_halo", "") };
        self.swap((sig, Location::caller()), &mut [field], halo, none);
    }

    /// [`exchange_halo`](Cart::exchange_halo) of several fields of one shape at
    /// the price of one synchronisation.
    ///
    /// **Must agree on all ranks:** also the number of fields.
    ///
    /// # Examples
    /// ```
    /// use phalanx::dist::Halo;
    /// let out = phalanx::run(2, |comm| {
    ///     let (mut u, mut v) = ([comm.rank(); 3], [comm.rank() + 10; 3]);
    ///     let halo = Halo::new(&[1], 1);
    ///     comm.cart(&[2], &[true]).exchange_halos(&mut [&mut u, &mut v], &halo);
    ///     (u, v)
    /// })?;
    /// assert_eq!(out[0], ([1, 0, 1], [11, 10, 11]));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn exchange_halos<T: Element>(&mut self, fields: &mut [&mut [T]], halo: &Halo) {
        let sig = const { &Signature::of::<T>("exchange_halos", "number of fields") };
        self.swap((sig, Location::caller()), fields, halo, none);
    }

    /// [`exchange_halo`](Cart::exchange_halo) with work in between: the
    /// neighbours are told, `work` runs with the field as it was before the
    /// exchange, and then the halo is filled. Cells that need no halo are computed
    /// while the neighbours are on their way. (With corners, only the first
    /// dimension is told before.)
    ///
    /// # Examples
    /// ```
    /// use phalanx::dist::Halo;
    /// let out = phalanx::run(2, |comm| {
    ///     let halo = Halo::new(&[3], 1);
    ///     let mut u = vec![1.0; halo.len()];
    ///     let inner = comm
    ///         .cart(&[2], &[true])
    ///         .exchange_halo_while(&mut u, &halo, |u| u[1] + u[3]);
    ///     inner + u[0] + u[4]
    /// })?;
    /// assert_eq!(out, [4.0, 4.0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn exchange_halo_while<T: Element, R>(
        &mut self,
        field: &mut [T],
        halo: &Halo,
        work: impl FnOnce(&[T]) -> R,
    ) -> R {
        let sig = const { &Signature::of::<T>("exchange_halo_while", "") };
        match self.swap((sig, Location::caller()), &mut [field], halo, work) {
            Some(r) => r,
            None => self.comm.nothing_to_return(),
        }
    }

    /// None if the call was refused while a panic unwinds.
    #[inline]
    fn swap<T: Element, R>(
        &mut self,
        (sig, at): CallAt,
        fields: &mut [&mut [T]],
        halo: &Halo,
        work: impl FnOnce(&[T]) -> R,
    ) -> Option<R> {
        if !self.is_itself() {
            return None;
        }
        let Cart { comm, grid, number, .. } = self;
        let (fields_count, element) = (fields.len(), size_of::<T>());
        let shape = HaloShape { grid: *number, fields: fields_count, element, halo };
        let fits = |plan: &HaloPlan| fields.iter().all(|field| field.len() == plan.len);
        if !(comm.halo_plans.find(&shape) && fits(comm.halo_plans.latest())) {
            if let Some(what) = halo_problem(fields, halo, grid) {
                comm.wrong((sig, at), fields.first().map_or(0, |f| f.len()), what);
                return None;
            }
            let plan = HaloPlan::new(comm.port.rank(), grid, shape);
            note(comm, &plan);
            comm.halo_plans.keep(plan);
        }
        let HaloPlan { digest, len, .. } = *comm.halo_plans.latest();
        let begun = comm.begin(sig, at, params_of(fields_count, len, digest))?;
        let mut addresses = std::mem::take(&mut comm.work.addresses);
        addresses.clear();
        addresses.extend(fields.iter_mut().map(|f| f.as_mut_ptr().cast::<u8>()));
        let plan = comm.halo_plans.latest();
        // SAFETY: each field has `halo.len()` elements, borrowed exclusively for the call; the
        // plan is for this halo, so many fields, and elements of this size; the fingerprint holds
        // T.
        let result = unsafe { around(&mut comm.port, begun, plan, &addresses, halo, work) };
        comm.port.record_end();
        comm.work.addresses = addresses;
        result.map_err(|stop| comm.stop(stop)).ok()
    }
}

/// The facts that ranks compare of an exchange of so many fields, of which each has `len` elements
/// here.
#[inline(always)]
fn params_of(fields: usize, len: usize, digest: Digest) -> CallParams {
    let parameter = fields.min(Fingerprint::NO_PARAMETER - 1);
    CallParams { own_len: Some(len), parameter, digest, ..CallParams::of(fields) }
}

/// The fault in the arguments of an exchange of halos, in words.
///
/// # Examples
/// ```
/// use phalanx::{dist::Halo, engine::halo_problem, topology::Cartesian};
/// let grid = Cartesian::new(2, &[2], &[true]).unwrap();
/// assert!(halo_problem(&[&mut [0; 4]], &Halo::new(&[3], 1), &grid).is_some());
/// ```
pub fn halo_problem<T>(fields: &[&mut [T]], halo: &Halo, grid: &Cartesian) -> Option<String> {
    if halo.dimensions() != grid.dimensions() {
        let (h, g) = (halo.dimensions(), grid.dimensions());
        return Some(format!("{halo:?} has {h} dimensions, the grid {grid} has {g}"));
    }
    let odd = fields.iter().map(|f| f.len()).find(|&len| len != halo.len());
    if let Some(len) = odd {
        let wanted = halo.len();
        return Some(format!("a field has {len} elements; {halo:?} has {wanted}"));
    }
    halo.problem()
}

/// The exchange.
///
/// # Safety
/// - `fields` are addresses of `halo.len()` elements of type T, valid for reads
///   and writes, and used by nobody else until the end of the call but by the
///   peers through its messages.
/// - `plan` is for `halo`, so many fields, and elements of that size.
/// - The fingerprint of the port's call holds T.
#[inline(always)]
unsafe fn around<T: Element, R>(
    port: &mut Port,
    begun: StartedCall,
    plan: &HaloPlan,
    fields: &[*mut u8],
    halo: &Halo,
    work: impl FnOnce(&[T]) -> R,
) -> Result<R, Stop> {
    let count = fields.len();
    let shown = Shown { fields: fields.as_ptr(), halo };
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    let mut work = Some(|| {
        let (at, len) = match fields {
            [] => (std::ptr::NonNull::<T>::dangling().as_ptr().cast_const(), 0),
            [first, ..] => (first.cast::<T>().cast_const(), plan.len),
        };
        // SAFETY: by the contract; until `work` is over nobody writes.
        work(unsafe { std::slice::from_raw_parts(at, len) })
    });
    let mut result = None;
    // A message that can be posted at once is, before the call goes on record.
    let mut unlogged = Some(begun);
    for stage in &plan.stages {
        for face in &plan.sends[stage.sends.clone()] {
            let peer = face.peer;
            if let Some(bytes) = face.bytes {
                if !port.has_room(peer) {
                    log(port, &mut unlogged);
                    port.await_room(peer)?;
                }
                port.post_copy_in_room(peer, bytes, 1, |body| {
                    // SAFETY: a body has room for `bytes` bytes: the digest and the faces; the
                    // plan's rows are inside of the fields.
                    unsafe { pack_rows::<T>(plan, face, fields, body) }
                });
            } else {
                log(port, &mut unlogged);
                let at = std::ptr::from_ref(&shown).cast();
                let words = WordBytes { at, count: face.dim, len: count };
                port.post_words(peer, PayloadKind::SLICE, words)?;
            }
        }
        log(port, &mut unlogged);
        result = result.or_else(|| work.take().map(|work| work()));
        for face in &plan.takes[stage.takes.clone()] {
            let (peer, dim, sides) = (face.peer, face.dim, face.sides);
            if peer == port.rank() {
                // SAFETY: by the contract; own cells and halo are disjoint.
                unsafe { fill::<T>(&shown, &shown, count, dim, sides) };
                continue;
            }
            if let Some(bytes) = face.bytes {
                let fits = port.take_copy(peer, bytes, 1, |body| {
                    // SAFETY: the peer has packed as many bytes of faces of T (kind, fingerprint);
                    // the plan's rows are inside of the fields.
                    unsafe { unpack_rows::<T>(plan, face, fields, body) }
                });
                match fits {
                    Ok(Ok(())) => continue,
                    Ok(Err(digest)) => return Err(another_shape(port, peer, dim, halo, digest)),
                    Err(stop) => return Err(shape_of_other_size(port, peer, dim, halo, stop)),
                }
            }
            let misfit = port.take_words(peer, count, |_, words| {
                // SAFETY: a message of this call (fingerprint) names a `Shown`,
                // which the peer keeps until we consume.
                let theirs = unsafe { &*words.at.cast::<Shown>() };
                if words.count != dim {
                    let got = words.count;
                    return Some(format!("neighbours along dimension: expected {dim}, got {got}"));
                }
                // SAFETY: and that names its halo.
                let misfit = halo.misfit(dim, unsafe { &*theirs.halo });
                if misfit.is_none() {
                    // SAFETY: as many fields as ours (the words' length), of
                    // type T (fingerprint), of the length that their halo says
                    // (checked there), with faces of our halo's shape.
                    unsafe { fill::<T>(&shown, theirs, count, dim, sides) };
                }
                misfit
            });
            let misfit = match misfit {
                Ok(misfit) => misfit,
                Err(stop) => return Err(shape_of_other_size(port, peer, dim, halo, stop)),
            };
            if let Some(what) = misfit {
                return Err(Stop::Differs { peer, what });
            }
        }
    }
    // Not done yet where no dimension has a halo.
    log(port, &mut unlogged);
    let result = result.or_else(|| work.take().map(|work| work()));
    port.wait_all_acked()?;
    guard.disarm();
    Ok(result.expect("the work is done once"))
}

/// Puts the call on record, if it is not yet.
#[inline(always)]
fn log(port: &Port, unlogged: &mut Option<StartedCall>) {
    if let Some(begun) = unlogged.take() {
        port.log_call(begun);
    }
}

/// Notes the shape of the plan's small faces: their messages have no more of it than a digest: for
/// errors.
fn note(comm: &Comm, plan: &HaloPlan) {
    let records = comm.port.shared().world().records(comm.port.member());
    let halo = plan.halo();
    let corners = usize::from(halo.corners());
    let numbers = [halo.extents(), halo.widths(), &[corners]].concat();
    for face in plan.sends.iter().filter(|face| face.bytes.is_some()) {
        records.varied(Digest(face.digest), &numbers, &[]);
    }
}

/// The shape that rank `peer` has noted for a face with this digest.
fn noted(port: &Port, peer: usize, digest: u64) -> Option<Halo> {
    let shared = port.shared();
    let numbers = shared.world().records(shared.member(peer)).numbers_of(Digest(digest))?;
    let (dims, corners) = (numbers.len() / 2, numbers.last()? != &0);
    let halo = Halo::with_widths(numbers.get(..dims)?, numbers.get(dims..2 * dims)?);
    Some(if corners { halo.with_corners() } else { halo })
}

/// Why a call ends in which a neighbour's small face, of this digest, has other cells than `halo`.
#[cold]
#[inline(never)]
fn another_shape(port: &Port, peer: usize, dim: usize, halo: &Halo, digest: u64) -> Stop {
    let misfit = noted(port, peer, digest).and_then(|theirs| halo.misfit(dim, &theirs));
    let what = misfit.unwrap_or_else(|| halo.misfit_with_unknown(dim));
    Stop::Differs { peer, what }
}

/// Why a call ends in which the message from a neighbour, of this call perhaps, has another size:
/// its face in words, else `stop`.
#[cold]
#[inline(never)]
fn shape_of_other_size(port: &mut Port, peer: usize, dim: usize, halo: &Halo, stop: Stop) -> Stop {
    if !matches!(stop, Stop::Mismatch { .. }) {
        return stop;
    }
    enum Told {
        Shape(Halo),
        Digest(u64),
    }
    let told = port.take_any(peer, |kind, body| match kind.bytes() {
        Some(bytes) if bytes >= size_of::<u64>() => {
            // SAFETY: a message of this call (signature, fingerprint) that holds its cells begins
            // with a digest.
            Some(Told::Digest(unsafe { body.cast::<u64>().read_unaligned() }))
        }
        None if kind == PayloadKind::SLICE => {
            // SAFETY: any other message of this call names a `Shown`, and that its halo; the peer
            // keeps both until this is consumed.
            Some(Told::Shape(unsafe {
                *(*body.cast::<WordBytes>().read().at.cast::<Shown>()).halo
            }))
        }
        _ => None,
    });
    let misfit = match told {
        Ok(Some(Told::Digest(digest))) => return another_shape(port, peer, dim, halo, digest),
        Ok(Some(Told::Shape(theirs))) => halo.misfit(dim, &theirs),
        Ok(None) | Err(_) => None,
    };
    misfit.map_or(stop, |what| Stop::Differs { peer, what })
}

/// Writes the digest to `body`, and behind it the cells of `face`.
///
/// # Safety
/// - `fields` are addresses of as many elements of type T as the plan says, valid for reads.
/// - There is room for the face's `bytes`.
#[inline(always)]
unsafe fn pack_rows<T: Element>(plan: &HaloPlan, face: &Face, fields: &[*mut u8], body: *mut u8) {
    // SAFETY: by the contract.
    unsafe { body.cast::<u64>().write_unaligned(face.digest) };
    let mut to = body.wrapping_add(size_of::<u64>()).cast::<T>();
    for field in fields {
        for row in plan.rows(face) {
            let from = field.cast::<T>().cast_const().wrapping_add(row.start);
            if row.run == 1 {
                // SAFETY: as below. (The usual case, without the loop around it.)
                unsafe { to.write_unaligned(from.read()) };
                to = to.wrapping_add(1);
                continue;
            }
            for i in 0..row.run {
                // SAFETY: cells of the plan, which are inside of the field; and room for them.
                unsafe { to.write_unaligned(from.add(i).read()) };
                to = to.wrapping_add(1);
            }
        }
    }
}

/// Copies the rows that a neighbour has [packed](pack_rows) into the halo; if it has another shape,
/// nothing is copied, and the error is its digest.
///
/// # Safety
/// As [`pack_rows`]'s, but valid for writes; `body` holds as many cells of type T.
#[inline(always)]
unsafe fn unpack_rows<T: Element>(
    plan: &HaloPlan,
    face: &Face,
    fields: &[*mut u8],
    body: *const u8,
) -> Result<(), u64> {
    // SAFETY: the message begins with a digest.
    let digest = unsafe { body.cast::<u64>().read_unaligned() };
    if digest != face.digest {
        return Err(digest);
    }
    let mut from = body.wrapping_add(size_of::<u64>()).cast::<T>();
    for field in fields {
        for row in plan.rows(face) {
            let to = field.cast::<T>().wrapping_add(row.start);
            if row.run == 1 {
                // SAFETY: as below.
                unsafe { to.write(from.read_unaligned()) };
                from = from.wrapping_add(1);
                continue;
            }
            for i in 0..row.run {
                // SAFETY: cells of the plan, which are inside of the field; and cells of the
                // message by the contract.
                unsafe { to.add(i).write(from.read_unaligned()) };
                from = from.wrapping_add(1);
            }
        }
    }
    Ok(())
}

/// Copies from `theirs` into the halo of `own`, before and after (as `sides`
/// says) along `dim`.
///
/// # Safety
/// - Both describe `count` fields of type T, of the lengths that their halos
///   say; the faces across `dim` have one shape.
/// - Nobody writes the faces, or accesses the halo, meanwhile.
unsafe fn fill<T: Element>(
    own: &Shown,
    theirs: &Shown,
    count: usize,
    dim: usize,
    sides: [bool; 2],
) {
    // SAFETY: by the contract.
    let (to, from) = unsafe { (&*own.halo, &*theirs.halo) };
    // SAFETY: as above.
    let fields = unsafe {
        let list = |shown: &Shown| std::slice::from_raw_parts(shown.fields, count);
        list(own).iter().zip(list(theirs))
    };
    for (&a, &b) in fields {
        for after in [false, true].into_iter().filter(|&after| sides[usize::from(after)]) {
            let (ghost, face) = (to.ghost(dim, after), from.face(dim, !after));
            let boxes = Boxes::new(to, ghost, from, face);
            // SAFETY: both regions are inside of the arrays that the halos
            // describe, of one shape, and disjoint: ghosts are no own cells,
            // nor ghosts of another dimension.
            unsafe { copy_box(&boxes, a.cast::<T>(), b.cast::<T>()) };
        }
    }
}

/// Copies the source's box to the target's.
///
/// # Safety
/// The boxes lie inside of arrays at `to` (valid for writes) and `from`
/// (for reads), and do not overlap.
unsafe fn copy_box<T: Element>(boxes: &Boxes, to: *mut T, from: *const T) {
    boxes.each_row(|a, b, run| {
        // SAFETY: a row of both boxes.
        unsafe { copy_row(to.wrapping_add(a), from.wrapping_add(b), run) };
    });
}

/// Bytes up to which a loop copies faster than a call of `memcpy`.
const SHORT: usize = 64;

/// # Safety
/// `run` elements at `to` are valid for writes, at `from` for reads, though perhaps not aligned;
/// they do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_row<T: Element>(to: *mut T, from: *const T, run: usize) {
    if run * size_of::<T>() > SHORT {
        // SAFETY: by the contract; bytes need no alignment.
        unsafe {
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), run * size_of::<T>());
        }
        return;
    }
    for i in 0..run {
        // SAFETY: by the contract.
        unsafe { to.add(i).write_unaligned(from.add(i).read_unaligned()) };
    }
}
