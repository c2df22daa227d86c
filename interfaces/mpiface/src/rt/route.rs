//! Collectives on the library's route: its mailboxes, gates and algorithms.
//!
//! Data is moved as bytes. Data without gaps is given to the library where it lies, and numbers
//! that it has an operator for are combined there: so nothing is packed, copied or looked up in
//! most calls. Data with gaps is packed before and unpacked after: all ranks see contiguous bytes,
//! whatever datatype each gives.

use super::basic::Element;
use super::coll::Call;
use super::comm::Terms;
use super::error::{Class, Outcome, error};
use super::flat::Flat;
use super::kernel::{MAX, MIN, PROD, SUM, built_in};
use super::ops::Mark;
use super::reduction::{Numbers, Reduction, To, typed};
use super::types::{Place, copy, move_bytes};
use num_complex::Complex;
use phalanx::Comm;
use phalanx::op::{self, Operator as LibraryOperator};
use std::slice;

/// The data that a rank exchanges with itself alone.
///
/// # Safety
/// As `copy`.
unsafe fn alone(from: Option<Place>, to: Option<Place>) -> Outcome {
    let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
    same_bytes(from.bytes(), to.bytes())?;
    // SAFETY: the caller's promise.
    unsafe { copy(&from, &to) };
    Ok(())
}

fn same_bytes(given: usize, expected: usize) -> Outcome {
    if given == expected {
        return Ok(());
    }
    error(Class::Truncate, format!("{given} bytes are given, and {expected} are expected"))
}

/// Where no bytes lie.
pub const NOWHERE: usize = align_of::<u8>();

/// The operations that move a block of bytes for each rank, or from each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The root's data for all.
    Broadcast,
    /// Every rank's data, in their order, at the root.
    Gather,
    /// Every rank's data, in their order, for all.
    AllGather,
    /// A part of the root's data for each.
    Scatter,
    /// Each rank gives each a part.
    AllToAll,
}

impl Move {
    /// All of them, each at its own number.
    pub const ALL: [Move; 5] =
        [Move::Broadcast, Move::Gather, Move::AllGather, Move::Scatter, Move::AllToAll];

    /// Whether a rank that is not the root gives nothing.
    #[inline(always)]
    pub fn may_give_nothing(self) -> bool {
        matches!(self, Move::Broadcast | Move::Scatter)
    }

    /// Calls the library. `from` is none if the data lies where the others' will go.
    #[inline(always)]
    fn run(self, comm: &mut Comm, from: Option<&[u8]>, to: &mut [u8], root: usize) {
        match (self, from) {
            (Move::Broadcast, _) => comm.broadcast(to, root),
            (Move::Gather, from) => comm.gather_into(from.unwrap_or_default(), to, root),
            (Move::Scatter, from) => comm.scatter_into(from.unwrap_or_default(), to, root),
            (Move::AllGather, Some(from)) => comm.all_gather_into(from, to),
            (Move::AllGather, None) => comm.all_gather_in_place(to),
            (Move::AllToAll, Some(from)) => comm.all_to_all_into(from, to),
            (Move::AllToAll, None) => comm.all_to_all_in_place(to),
        }
    }

    #[inline(always)]
    fn terms(self, block: usize, root: usize) -> Terms {
        let has_root = !matches!(self, Move::AllGather | Move::AllToAll);
        Terms { root: has_root.then_some(root), bytes: Some(block), op: Mark::None }
    }

    /// The blocks on each side, for this rank.
    #[inline(always)]
    pub fn blocks(self, n: usize, is_root: bool) -> (usize, usize) {
        let of_root = if is_root { n } else { 0 };
        match self {
            Move::Broadcast => (0, 1),
            Move::Gather => (1, of_root),
            Move::AllGather => (1, n),
            Move::Scatter => (of_root, 1),
            Move::AllToAll => (n, n),
        }
    }
}

impl Call<'_> {
    /// Whether the library has a communicator for this one.
    #[inline]
    pub fn is_routed(&self) -> bool {
        self.comm.size() > 1 && !self.comm.is_inter()
    }

    /// Makes a call of the library as this one.
    #[inline(always)]
    pub fn library<R>(&self, terms: Terms, run: impl FnOnce(&mut Comm) -> R) -> R {
        self.comm.call_library(self.world, self.site, terms, run)
    }

    /// All have come.
    #[inline]
    pub fn barrier(&self) {
        if self.is_routed() {
            self.library(Terms::default(), Comm::barrier);
        }
    }

    /// Moves blocks without gaps, of so many bytes: in a function of its own for each operation.
    ///
    /// # Safety
    /// As `move_places`, of addresses; they do not overlap. The library has a communicator for this
    /// one (`is_routed`).
    #[inline(never)]
    pub unsafe fn move_solid<const IT: usize>(
        &self,
        from: usize,
        to: usize,
        block: usize,
        root: usize,
    ) {
        let it = const { Move::ALL[IT] };
        let (given, taken) = it.blocks(self.comm.size(), self.comm.rank == root);
        // SAFETY: the caller's promise.
        let (from, to) = unsafe {
            (
                slice::from_raw_parts(from as *const u8, block * given),
                slice::from_raw_parts_mut(to as *mut u8, block * taken),
            )
        };
        // (The operation is a constant in there, too.)
        let run = |comm: &mut Comm| const { Move::ALL[IT] }.run(comm, Some(from), to, root);
        self.library(it.terms(block, root), run);
    }

    /// Moves blocks: the data of one, or of the first, and the room. None on a side: this rank has
    /// nothing there; or its data lies where the others' will go; or the root's stays where it is.
    ///
    /// # Safety
    /// The memory is the program's, as many blocks as the operation says; the room may be written,
    /// and overlaps the data only if that is the rank's own block of a gather.
    pub unsafe fn move_places(
        &self,
        it: Move,
        from: Option<Place>,
        to: Option<Place>,
        root: usize,
    ) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(from, to) };
        }
        let (n, is_root) = (self.comm.size(), self.comm.rank == root);
        let block = to.as_ref().or(from.as_ref()).map_or(0, Place::bytes);
        from.as_ref().map_or(Ok(()), |it| same_bytes(it.bytes(), block))?;
        let (given, taken) = it.blocks(n, is_root);
        let whole = |place: Place, blocks: usize| place.moved(0, place.count * blocks);
        let from = from.map(|place| whole(place, given));
        let to = to.map(|place| whole(place, taken));
        // Data where the others' goes is given as it lies, or copied first.
        let is_kept = match (it, &from, &to) {
            (Move::Broadcast, ..) => is_root,
            (Move::Scatter, ..) => false,
            (Move::Gather, Some(from), Some(to)) => {
                (to.address..to.address + to.bytes().max(1)).contains(&from.address)
            }
            (_, from, _) => from.is_none(),
        };
        // SAFETY: the caller's promise.
        unsafe {
            let mut data = from.as_ref().map(|it| Flat::of(it));
            let mut room = match &to {
                Some(to) if is_kept && it != Move::Gather => Flat::of(to),
                Some(to) => Flat::for_data(to),
                None => Flat::room(block * taken, block * taken),
            };
            let kept;
            let mut from = data.as_mut().map(|it| it.bytes());
            if it == Move::Gather && is_kept {
                kept = from.unwrap_or_default().to_vec();
                from = Some(&kept);
            }
            let to_bytes = room.bytes_mut();
            self.library(it.terms(block, root), |comm| it.run(comm, from, to_bytes, root));
            if let Some(to) = to.filter(|_| it != Move::Broadcast || !is_root) {
                room.give(&to);
            }
        }
        Ok(())
    }

    /// Combines all ranks' values.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; the target has as many elements as
    /// the result, or this rank's part, and may be written.
    pub unsafe fn reduce(&self, it: &Reduction<'_>, target: Option<&Place>, to: To<'_>) {
        let is_whole = matches!(to, To::All | To::Root(_));
        let part = target.map_or(0, |it| it.count) * it.size;
        // SAFETY: the caller's promise; values that the target may lie among are copied.
        unsafe {
            let mut flat = it.start(target.filter(|_| is_whole));
            let mut room = Flat::room(if is_whole { 0 } else { part }, part);
            let at = flat.at();
            let made = if let To::Parts(_) = to { room.at() } else { at };
            match it.numbers((at, made), to) {
                Some(numbers) => self.combine(numbers, to),
                None => {
                    let terms = it.terms(to.root());
                    self.library(terms, |comm| it.run(comm, (at, made), to));
                }
            }
            // Nobody is before the first.
            let is_nothing = matches!(to, To::Before) && self.comm.rank == 0;
            if let Some(target) = target.filter(|_| !flat.is_direct() && !is_nothing) {
                std::ptr::copy_nonoverlapping(made, target.address as *mut u8, part);
            }
        }
    }

    /// Combines all ranks' numbers.
    ///
    /// # Safety
    /// The memory is the program's: as many numbers, and where the result goes so many, or this
    /// rank's part, which may be written.
    #[inline(always)]
    pub unsafe fn combine(&self, it: Numbers, to: To<'_>) {
        use Element::{C32, C64, F32, F64, I32, I64, U64};
        let Numbers { from, to: made, count, size, element, op } = it;
        let bytes = count * size;
        let terms = Terms { root: to.root(), op: Mark::Known(op, element), bytes: Some(bytes) };
        let mut at = from.cast_mut();
        if !matches!(to, To::Parts(_)) && !std::ptr::addr_eq(from, made) {
            // SAFETY: the caller's promise; they may overlap.
            unsafe { move_bytes(from as usize, made as usize, bytes) };
            at = made;
        }
        let (at, made) = (at.cast(), made.cast());
        // Which operator it is is asked first, so that the rest is compiled for it.
        macro_rules! carried_out {
            ($(($element:pat, $op:pat) => $type:ty, $by:expr, $rounds:expr;)*) => {
                match (element, op) {
                    $(($element, $op) => {
                        // SAFETY: passed on.
                        unsafe {
                            self.combine_by::<$type, _, { $rounds }>(
                                terms, at, count, made, to, $by,
                            )
                        }
                    })*
                    _ => {}
                }
            };
        }
        built_in!(carried_out);
    }

    /// # Safety
    /// As `typed`.
    #[inline(never)]
    unsafe fn combine_by<T: phalanx::Element, O: LibraryOperator<T> + Copy, const ROUNDS: bool>(
        &self,
        terms: Terms,
        at: *mut u8,
        count: usize,
        made: *mut u8,
        to: To<'_>,
        op: O,
    ) {
        let memory = (at, count, made);
        // SAFETY: passed on.
        self.library(terms, |comm| unsafe { typed::<T, O>(comm, memory, to, op, ROUNDS) });
    }
}
