//! The buffers of a call: one, or a part for each of several ranks.
//!
//! # Safety
//! As in `arguments.rs`.

use super::arguments::IN_PLACE;
use super::counts::{Counts, count_of};
use super::prelude::*;
use crate::rt::basic::solid;
use crate::rt::started::{Pieces, Takes};
use crate::rt::types::{BYTE, Solid, bytes_at};

/// Of fewer elements the bytes are a number of 64 bits.
const MOST: u64 = 1 << 56;

/// A rank's parts in a collective: the data that it gives to some ranks, or the room for theirs.
pub(super) trait Parts: Copy {
    /// The buffer's address, if there is one.
    fn address(self) -> Option<usize>;

    /// Whether they lie in the other buffer.
    #[inline(always)]
    fn is_in_place(self) -> bool {
        self.address() == Some(IN_PLACE)
    }

    /// The same, made anew for a function of its own that seldom is called (`Caller::again`).
    fn again(self) -> Self;

    /// So many, each to be asked for, if they are of predefined datatypes without gaps, and as they
    /// should be: as most calls give them, without the checks and objects that places need.
    fn solid(self, n: usize) -> Option<impl Fn(usize) -> Solid + Copy>;

    /// So many, each to be asked for.
    fn places(self, caller: Caller<'_>, n: usize) -> Outcome<impl Fn(usize) -> Place>;

    /// A list of them.
    fn list(self, caller: Caller<'_>, n: usize) -> Outcome<Vec<Place>> {
        Ok((0..n).map(self.places(caller, n)?).collect())
    }

    /// The data for so many ranks, in a call that is started.
    fn pieces(self, caller: Caller<'_>, n: usize) -> Outcome<Pieces> {
        Ok(Pieces::Each(self.list(caller, n)?))
    }

    /// The room for the data of so many ranks, in a call that is started; not of this one, if that
    /// data lies there.
    fn takes(self, caller: Caller<'_>, n: usize, kept: Option<usize>) -> Outcome<Takes> {
        let all = self.list(caller, n)?.into_iter().enumerate();
        Ok(Takes::Each(all.map(|(peer, it)| (Some(peer) != kept).then_some(it)).collect()))
    }
}

/// A buffer of the program. Its parts are as long as itself, one behind the other.
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

    /// The block of this rank, of as many such buffers as there are ranks, one behind the other.
    #[cold]
    pub(super) fn block(&self, caller: Caller<'_>, rank: usize) -> Outcome<Buffer> {
        let at = self.place(caller)?;
        let at = at.moved((rank * at.count) as isize, at.count).address as *const c_void;
        Ok(Buffer { at, ..*self })
    }
}

impl Parts for Buffer {
    #[inline(always)]
    fn again(self) -> Buffer {
        let Buffer { at, count, ty } = self;
        Buffer { at, count, ty }
    }

    #[inline(always)]
    fn address(self) -> Option<usize> {
        Some(self.at as usize)
    }

    #[inline(always)]
    fn solid(self, _: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        let (at, bytes) = Buffer::solid(&self)?;
        Some(move |it| (at + it * bytes, bytes))
    }

    fn places(self, caller: Caller<'_>, n: usize) -> Outcome<impl Fn(usize) -> Place> {
        // A buffer without parts may be anything.
        let first = if n == 0 { bytes_at(0, 0) } else { self.place(caller)? };
        Ok(move |it: usize| first.moved((it * first.count) as isize, first.count))
    }

    fn pieces(self, caller: Caller<'_>, _: usize) -> Outcome<Pieces> {
        Ok(Pieces::Even(self.place(caller)?))
    }

    fn takes(self, caller: Caller<'_>, _: usize, kept: Option<usize>) -> Outcome<Takes> {
        Ok(Takes::Even(self.place(caller)?, kept))
    }
}

/// The part of this number for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Same<P>(pub(super) P, pub(super) usize);

impl<P: Parts> Parts for Same<P> {
    #[inline(always)]
    fn again(self) -> Same<P> {
        Same(self.0.again(), self.1)
    }

    #[inline(always)]
    fn address(self) -> Option<usize> {
        self.0.address()
    }

    #[inline(always)]
    fn solid(self, n: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        let part = self.0.solid(n)?(self.1);
        Some(move |_| part)
    }

    fn places(self, caller: Caller<'_>, n: usize) -> Outcome<impl Fn(usize) -> Place> {
        let part = self.0.places(caller, n)?(self.1);
        Ok(move |_| part.clone())
    }
}

/// No parts, for a rank that has none on a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nothing;

impl Parts for Nothing {
    #[inline(always)]
    fn again(self) -> Nothing {
        self
    }

    #[inline(always)]
    fn address(self) -> Option<usize> {
        None
    }

    #[inline(always)]
    fn solid(self, _: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        Some(|_| (0, 0))
    }

    fn places(self, _: Caller<'_>, _: usize) -> Outcome<impl Fn(usize) -> Place> {
        Ok(|_| bytes_at(0, 0))
    }
}

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
}

impl Parts for Blocks {
    #[inline(always)]
    fn again(self) -> Blocks {
        let Blocks { at, counts, displacements, ty } = self;
        Blocks { at, counts: counts.again(), displacements: displacements.again(), ty }
    }

    #[inline(always)]
    fn address(self) -> Option<usize> {
        Some(self.at as usize)
    }

    #[inline(always)]
    fn solid(self, n: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        let (_, size) = solid(self.ty)?;
        let Blocks { at, counts, displacements, .. } = self;
        let is_there = !at.is_null() && !self.is_in_place();
        if !is_there || !counts.are_there() || !displacements.are_there() {
            return None;
        }
        let at = at as usize;
        // (A negative count is a large one.)
        (0..n).all(|it| (counts.at(it) as u64) < MOST).then_some(move |it| {
            let by = (displacements.at(it) as usize).wrapping_mul(size);
            (at.wrapping_add(by), counts.at(it) as usize * size)
        })
    }

    fn places(self, caller: Caller<'_>, n: usize) -> Outcome<impl Fn(usize) -> Place> {
        let (counts, displacements) = (self.counts.given(n)?, self.displacements.given(n)?);
        let (mut least, mut largest) = (0, 0);
        (0..n).for_each(|it| {
            (least, largest) = (least.min(counts.at(it)), largest.max(counts.at(it)));
        });
        count_of(least)?;
        let base = caller.place(self.at, largest, self.ty)?;
        Ok(move |it| base.moved(displacements.at(it) as isize, counts.at(it) as usize))
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
        // SAFETY: passed on.
        TypedBlocks { at, counts, displacements, types: unsafe { List::new(types) } }
    }
}

impl Parts for TypedBlocks {
    #[inline(always)]
    fn again(self) -> TypedBlocks {
        let TypedBlocks { at, counts, displacements, types } = self;
        TypedBlocks { at, counts: counts.again(), displacements: displacements.again(), types }
    }

    #[inline(always)]
    fn address(self) -> Option<usize> {
        Some(self.at as usize)
    }

    fn solid(self, n: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        let TypedBlocks { at, counts, displacements, types } = self;
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

    fn places(self, caller: Caller<'_>, n: usize) -> Outcome<impl Fn(usize) -> Place> {
        let (counts, types) = (self.counts.some(n)?, self.types.some(n)?);
        let part = |((count, by), ty): ((i64, i64), &Handle)| {
            let ty = match *ty {
                standard::DATATYPE_NULL if count == 0 => BYTE,
                ty => ty,
            };
            caller.place(self.at.wrapping_byte_offset(by as isize), count, ty)
        };
        let all = counts.zip(self.displacements.some(n)?).zip(types).map(part);
        let all = all.collect::<Outcome<Vec<Place>>>()?;
        Ok(move |it: usize| all[it].clone())
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
