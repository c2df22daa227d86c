//! Datatypes as lists of blocks, and copying between two of them.
//!
//! Safe code but for `copy`, `pack` and `unpack`, which touch the program's memory.

use super::basic::{self, Basic, Element};
use super::error::{Class, Outcome, error};
use super::external::{self, Unit};
use super::handle::Handle;
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Contiguous bytes of a datatype, from its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes from the origin.
    pub at: isize,
    /// Bytes.
    pub length: usize,
}

/// A datatype.
#[derive(Clone, Debug)]
pub struct Type {
    /// Its blocks in the order of the type map; neighbours are joined.
    pub blocks: Vec<Block>,
    /// Bytes of data.
    pub size: usize,
    /// Lower bound.
    pub lb: isize,
    /// From one to the next.
    pub extent: isize,
    /// Runs of predefined elements, and their number: for counting elements, and for the portable
    /// format.
    pub runs: Vec<(Unit, usize)>,
    /// The element, if all are of one kind.
    pub element: Option<Element>,
    /// The greatest alignment of an element.
    align: usize,
    /// The lower and the upper bound, as far as they were set: those decide in what is made of it.
    set: (Option<isize>, Option<isize>),
    /// The text of how it was made, for errors.
    pub name: &'static str,
    /// The handle of a predefined one; else 0.
    pub handle: Handle,
    /// The call that made it, if a program may ask for it.
    pub made: Option<Arc<Made>>,
}

/// The call that made a datatype.
#[derive(Clone, Debug)]
pub struct Made {
    /// The standard's number for the function.
    pub combiner: c_int,
    /// Its arguments that are integers,
    pub integers: Vec<c_int>,
    /// addresses,
    pub addresses: Vec<isize>,
    /// and datatypes.
    pub types: Vec<AnyType>,
}

impl Type {
    /// A predefined datatype.
    pub fn basic(basic: Basic, handle: Handle) -> Type {
        use Element::*;
        let blocks = match basic.element {
            // A hole lies in the middle.
            PairI16I32 => vec![Block { at: 0, length: 2 }, Block { at: 4, length: 4 }],
            _ if basic.size == 0 => Vec::new(),
            _ => vec![Block { at: 0, length: basic.size }],
        };
        let set = |marker| (handle == marker).then_some(0);
        Type {
            runs: if blocks.is_empty() { Vec::new() } else { external::units(basic, handle) },
            blocks,
            size: basic.size,
            lb: 0,
            extent: basic.extent as isize,
            set: (set(basic::LB), set(basic::UB)),
            element: Some(basic.element),
            align: basic.element.align(basic.extent),
            name: basic::name(handle),
            handle,
            made: None,
        }
    }

    /// Copies of older types, each at a displacement: all constructors are made of this.
    ///
    /// # Errors
    /// If a size or displacement is larger than addresses are.
    pub fn structure<'a>(
        parts: impl IntoIterator<Item = (isize, usize, &'a Type)>,
        name: &'static str,
    ) -> Outcome<Type> {
        let mut new = Type {
            blocks: Vec::new(),
            size: 0,
            lb: isize::MAX,
            extent: 0,
            runs: Vec::new(),
            element: None,
            align: 1,
            set: (None, None),
            name,
            handle: 0,
            made: None,
        };
        const FAR: &str = "a displacement is larger than an address";
        let (mut ub, mut is_first) = (isize::MIN, true);
        for (at, count, old) in parts {
            if count == 0 {
                continue;
            }
            // Many that lie without gaps are one longer one.
            let is_one = old.blocks.len() == 1 && old.runs.len() == 1 && old.is_contiguous(2);
            let (repeats, times) = if is_one { (1, count) } else { (count, 1) };
            let span = isize::try_from(times).ok().and_then(|it| old.extent.checked_mul(it));
            let Some(span) = span else { return error(Class::Arg, FAR) };
            if old.size > 0 || old.set == (None, None) {
                let is_same = is_first || new.element == old.element;
                new.element = if is_same { old.element } else { None };
                is_first = false;
                new.align = new.align.max(old.align);
            }
            for index in 0..repeats {
                let origin =
                    (index as isize).checked_mul(old.extent).and_then(|it| it.checked_add(at));
                let bounds = origin.and_then(|origin| {
                    let low = origin.checked_add(old.lb)?;
                    Some((origin, low, low.checked_add(span)?))
                });
                let Some((origin, low, high)) = bounds else { return error(Class::Arg, FAR) };
                if let Some(it) = old.set.0 {
                    let it = origin.saturating_add(it);
                    new.set.0 = Some(new.set.0.map_or(it, |set| set.min(it)));
                }
                if let Some(it) = old.set.1 {
                    let last = origin.saturating_add(span.saturating_sub(old.extent));
                    let it = last.saturating_add(it);
                    new.set.1 = Some(new.set.1.map_or(it, |set| set.max(it)));
                }
                if old.size > 0 || old.set == (None, None) {
                    new.lb = new.lb.min(low);
                    ub = ub.max(high);
                }
                for block in &old.blocks {
                    let length = block.length * times;
                    push(&mut new.blocks, Block { at: block.at + origin, length });
                }
                for (unit, number) in &old.runs {
                    match new.runs.last_mut() {
                        Some(last) if last.0 == *unit => last.1 += number * times,
                        _ => new.runs.push((*unit, number * times)),
                    }
                }
            }
            let Some(size) = old.size.checked_mul(count).and_then(|it| it.checked_add(new.size))
            else {
                return error(Class::Arg, "a datatype is larger than the address space");
            };
            new.size = size;
        }
        if is_first {
            (new.lb, ub) = (0, 0);
        }
        new.lb = new.set.0.unwrap_or(new.lb);
        new.extent = new.set.1.unwrap_or(ub) - new.lb;
        Ok(new)
    }

    /// As C lays out a structure of these parts: the extent is rounded up to their alignment,
    /// unless its end was set.
    pub fn padded(mut self) -> Type {
        if self.set.1.is_some() {
            return self;
        }
        let rest = self.extent.rem_euclid(self.align as isize);
        if rest != 0 {
            self.extent += self.align as isize - rest;
        }
        self
    }

    /// With other bounds.
    pub fn resized(&self, lb: isize, extent: isize) -> Type {
        let set = (Some(lb), lb.checked_add(extent));
        Type { lb, extent, set, name: "a resized type", handle: 0, made: None, ..self.clone() }
    }

    /// The same, made by a call with these arguments.
    pub fn by(
        mut self,
        combiner: c_int,
        integers: Vec<c_int>,
        addresses: Vec<isize>,
        types: Vec<AnyType>,
    ) -> Type {
        self.handle = 0;
        self.made = Some(Arc::new(Made { combiner, integers, addresses, types }));
        self
    }

    /// Its element and that one's bytes, if it is a predefined number whose alignment is its size,
    /// or half of it.
    #[inline(always)]
    pub fn number(&self) -> Option<(Element, usize)> {
        let is_one = self.handle != 0 && self.is_contiguous(2) && self.size >= self.align;
        self.element.filter(|_| is_one).map(|it| (it, self.size))
    }

    /// Whether predefined operators know it: a predefined one, named or of Fortran 90.
    pub fn is_known(&self) -> bool {
        let is_f90 = |it: &Arc<Made>| (F90_INTEGER..=F90_COMPLEX).contains(&it.combiner);
        self.handle != 0 || self.made.as_ref().is_some_and(is_f90)
    }

    /// Whether `count` of it lie without gaps from the origin on.
    #[inline]
    pub fn is_contiguous(&self, count: usize) -> bool {
        match self.blocks.as_slice() {
            [] => true,
            [block] => block.at == 0 && (count <= 1 || self.extent == block.length as isize),
            _ => false,
        }
    }

    /// The alignment of its elements.
    pub fn align(&self) -> usize {
        let align = self.align.next_power_of_two();
        if align > self.align { align / 2 } else { align }
    }

    /// The smallest and the end of the largest byte that one touches.
    pub fn true_bounds(&self) -> (isize, isize) {
        let low = self.blocks.iter().map(|it| it.at).min().unwrap_or(0);
        let high = self.blocks.iter().map(|it| it.at + it.length as isize).max().unwrap_or(0);
        (low, high)
    }

    /// The number of predefined elements in `bytes` of data; `None` if they end within one.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        if self.size == 0 {
            return Some(0);
        }
        let whole: usize = self.runs.iter().map(|it| it.1).sum();
        let mut count = bytes / self.size * whole;
        let mut rest = bytes % self.size;
        for (unit, number) in &self.runs {
            let fit = (rest / unit.size).min(*number);
            count += fit;
            rest -= fit * unit.size;
            if fit < *number {
                break;
            }
        }
        (rest == 0).then_some(count)
    }

    /// Bytes of so many predefined elements.
    pub fn bytes_of(&self, elements: usize) -> usize {
        let whole: usize = self.runs.iter().map(|it| it.1).sum();
        if whole == 0 {
            return 0;
        }
        let mut bytes = elements / whole * self.size;
        let mut rest = elements % whole;
        for (unit, number) in &self.runs {
            let some = rest.min(*number);
            bytes += some * unit.size;
            rest -= some;
        }
        bytes
    }
}

/// MPI_COMBINER_F90_INTEGER.
pub const F90_INTEGER: c_int = 113;
/// MPI_COMBINER_F90_REAL.
pub const F90_REAL: c_int = 114;
/// MPI_COMBINER_F90_COMPLEX.
pub const F90_COMPLEX: c_int = 115;

fn push(blocks: &mut Vec<Block>, block: Block) {
    match blocks.last_mut() {
        Some(last) if last.at + last.length as isize == block.at => last.length += block.length,
        _ if block.length == 0 => {}
        _ => blocks.push(block),
    }
}

/// A datatype as it is passed on: a predefined one lives for ever, so that nobody counts its uses.
#[derive(Clone, Debug)]
pub enum AnyType {
    /// A predefined one.
    Basic(&'static Type),
    /// A program's own.
    Derived(Arc<Type>),
}

impl AnyType {
    /// Itself.
    pub fn as_any(&self) -> &AnyType {
        self
    }
}

impl Deref for AnyType {
    type Target = Type;

    #[inline]
    fn deref(&self) -> &Type {
        match self {
            AnyType::Basic(ty) => ty,
            AnyType::Derived(ty) => ty,
        }
    }
}

impl AsRef<Type> for AnyType {
    fn as_ref(&self) -> &Type {
        self
    }
}

/// The first handle of a predefined datatype, and one more than the last.
const PREDEFINED: (Handle, Handle) = (0x200, 0x300);

/// Whether a handle is in the range of the predefined datatypes.
#[inline]
pub fn is_predefined(handle: Handle) -> bool {
    (PREDEFINED.0..PREDEFINED.1).contains(&handle)
}

/// A predefined datatype; `None` if the handle names none.
#[inline]
pub fn predefined(handle: Handle) -> Option<&'static Type> {
    static ALL: [OnceLock<Type>; PREDEFINED.1 - PREDEFINED.0] =
        [const { OnceLock::new() }; PREDEFINED.1 - PREDEFINED.0];
    let slot = ALL.get(handle.checked_sub(PREDEFINED.0)?)?;
    slot.get().or_else(|| {
        let known = basic::basic(handle)?;
        Some(slot.get_or_init(|| Type::basic(known, handle)))
    })
}

/// Memory of a program: an address, and what lies there.
#[derive(Clone, Debug)]
pub struct Place {
    /// The address (a number: it is used only where data is moved).
    pub address: usize,
    /// How many of the type.
    pub count: usize,
    /// The type.
    pub ty: AnyType,
}

impl Place {
    /// Bytes of data.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.count.saturating_mul(self.ty.size)
    }

    /// The same, `by` of the type's extents further on.
    #[inline]
    pub fn moved(&self, by: isize, count: usize) -> Place {
        let address = self.address.wrapping_add_signed(by.wrapping_mul(self.ty.extent));
        Place { address, count, ty: self.ty.clone() }
    }

    /// Copies its data there.
    ///
    /// # Safety
    /// As of `copy`'s source; there is room for so many bytes, which nobody else uses.
    #[inline]
    pub unsafe fn read(&self, to: *mut u8) {
        let bytes = self.bytes();
        if self.ty.is_contiguous(self.count) {
            // SAFETY: the caller's promise.
            unsafe { move_bytes(self.address, to as usize, bytes) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { copy_pieces(self, &bytes_at(to as usize, bytes)) };
        }
    }

    /// Packed data comes here, as much as there is room for; gives the bytes.
    ///
    /// # Safety
    /// As of `copy`'s target.
    #[inline]
    pub unsafe fn write(&self, packed: &[u8]) -> usize {
        if self.ty.is_contiguous(self.count) {
            let bytes = self.bytes().min(packed.len());
            // SAFETY: the caller's promise.
            unsafe { move_bytes(packed.as_ptr() as usize, self.address, bytes) };
            return bytes;
        }
        // SAFETY: the caller's promise.
        unsafe { unpack(packed, self) }
    }

    fn pieces(&self) -> Pieces<'_> {
        Pieces { place: self, index: 0, block: 0 }
    }
}

/// The contiguous pieces of a place in the order of its data: address and length.
struct Pieces<'a> {
    place: &'a Place,
    index: usize,
    block: usize,
}

impl Iterator for Pieces<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let ty = &*self.place.ty;
        if self.index == 0 && self.block == 0 && ty.is_contiguous(self.place.count) {
            self.index = self.place.count;
            return (self.place.bytes() > 0).then(|| (self.place.address, self.place.bytes()));
        }
        if self.index >= self.place.count {
            return None;
        }
        let block = ty.blocks.get(self.block)?;
        let origin = (self.index as isize).wrapping_mul(ty.extent).wrapping_add(block.at);
        self.block += 1;
        if self.block == ty.blocks.len() {
            self.block = 0;
            self.index += 1;
        }
        Some((self.place.address.wrapping_add_signed(origin), block.length))
    }
}

/// Copies the data of one place to another, as much as both have; gives the bytes.
///
/// # Safety
/// Both places are memory of the program as their types say, valid until this returns; nobody else
/// writes the source or uses the target.
#[inline]
pub unsafe fn copy(from: &Place, to: &Place) -> usize {
    if from.ty.is_contiguous(from.count) && to.ty.is_contiguous(to.count) {
        let length = from.bytes().min(to.bytes());
        // SAFETY: the caller's promise; a rank's buffers may overlap (its own message to itself).
        unsafe { move_bytes(from.address, to.address, length) };
        return length;
    }
    // SAFETY: the caller's promise.
    unsafe { copy_pieces(from, to) }
}

/// Copies some bytes, which may overlap; one number is no call of the C library's.
///
/// # Safety
/// So many bytes may be read and written there.
#[inline(always)]
pub unsafe fn move_bytes(source: usize, target: usize, length: usize) {
    let (source, target) = (source as *const u8, target as *mut u8);
    // SAFETY: the caller's promise.
    unsafe {
        match length {
            8 => target.cast::<u64>().write_unaligned(source.cast::<u64>().read_unaligned()),
            4 => target.cast::<u32>().write_unaligned(source.cast::<u32>().read_unaligned()),
            _ => std::ptr::copy(source, target, length),
        }
    }
}

/// Copies between all pieces of a place and as many contiguous bytes.
///
/// # Safety
/// As `copy`; `bytes` is the address of as many bytes as the place has.
unsafe fn copy_packed(place: &Place, bytes: usize, is_packing: bool) -> usize {
    let mut at = bytes;
    let mut origin = place.address;
    for _ in 0..place.count {
        for block in &place.ty.blocks {
            let piece = origin.wrapping_add_signed(block.at);
            let (source, target) = if is_packing { (piece, at) } else { (at, piece) };
            // SAFETY: the caller's promise.
            unsafe { move_bytes(source, target, block.length) };
            at += block.length;
        }
        origin = origin.wrapping_add_signed(place.ty.extent);
    }
    at - bytes
}

/// As `copy`, piece by piece.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn copy_pieces(from: &Place, to: &Place) -> usize {
    // SAFETY: the caller's promise, where the other has room for all.
    unsafe {
        if to.ty.is_contiguous(to.count) && from.bytes() <= to.bytes() {
            return copy_packed(from, to.address, true);
        }
        if from.ty.is_contiguous(from.count) && to.bytes() <= from.bytes() {
            return copy_packed(to, from.address, false);
        }
    }
    let (mut sources, mut targets) = (from.pieces(), to.pieces());
    let (mut source, mut target) = ((0, 0), (0, 0));
    let mut done = 0;
    loop {
        if source.1 == 0 {
            match sources.next() {
                Some(next) => source = next,
                None => return done,
            }
        }
        if target.1 == 0 {
            match targets.next() {
                Some(next) => target = next,
                None => return done,
            }
        }
        let length = source.1.min(target.1);
        // SAFETY: the caller's promise; `ptr::copy` allows a rank's buffers to overlap (its own
        // message to itself).
        unsafe { move_bytes(source.0, target.0, length) };
        source = (source.0 + length, source.1 - length);
        target = (target.0 + length, target.1 - length);
        done += length;
    }
}

/// MPI_BYTE.
pub const BYTE: Handle = 0x247;

/// A place that is these bytes.
pub fn bytes_at(address: usize, length: usize) -> Place {
    let ty = predefined(BYTE).expect("MPI_BYTE is a predefined datatype");
    Place { address, count: length, ty: AnyType::Basic(ty) }
}

/// The data of a place, packed.
///
/// # Safety
/// As `copy`'s source.
pub unsafe fn pack(from: &Place) -> Vec<u8> {
    let length = from.bytes();
    let mut packed: Vec<u8> = Vec::with_capacity(length);
    // SAFETY: the vector has room for all bytes of data, and nobody else knows it.
    unsafe {
        let done = copy(from, &bytes_at(packed.as_mut_ptr() as usize, length));
        packed.set_len(done);
    }
    packed
}

/// Packed data to a place; gives the bytes.
///
/// # Safety
/// As `copy`'s target.
pub unsafe fn unpack(packed: &[u8], to: &Place) -> usize {
    // SAFETY: the slice is read only; the rest is the caller's promise.
    unsafe { copy(&bytes_at(packed.as_ptr() as usize, packed.len()), to) }
}

#[cfg(test)]
mod tests {
    use super::super::basic::{LB, UB, basic};
    use super::*;

    fn double() -> Type {
        Type::basic(basic(0x214).expect("MPI_DOUBLE"), 0x214)
    }

    #[test]
    fn a_column_of_a_matrix_is_packed_and_unpacked() {
        let matrix: Vec<f64> = (0..12).map(f64::from).collect();
        let old = double();
        // Column 1 of a 3 by 4 matrix.
        let column = Type::structure((0..3).map(|i| (i * 32, 1, &old)), "vector").expect("small");
        assert_eq!((column.size, column.extent, column.blocks.len()), (24, 72, 3));
        let place = Place {
            address: matrix[1..].as_ptr() as usize,
            count: 1,
            ty: AnyType::Derived(Arc::new(column)),
        };
        // SAFETY: the vectors live, and hold what the types say.
        let packed = unsafe { pack(&place) };
        let got: Vec<f64> =
            packed.chunks(8).map(|it| f64::from_le_bytes(it.try_into().expect("8"))).collect();
        assert_eq!(got, [1.0, 5.0, 9.0]);
        let mut other = [0.0_f64; 12];
        let target = Place { address: other[1..].as_mut_ptr() as usize, ..place };
        // SAFETY: as above.
        assert_eq!(unsafe { unpack(&packed, &target) }, 24);
        assert_eq!((other[1], other[5], other[9], other[2]), (1.0, 5.0, 9.0, 0.0));
    }

    #[test]
    fn bounds_that_were_set_decide() {
        let int = Type::basic(basic(0x209).expect("MPI_INT"), 0x209);
        let marker = |it| Type::basic(basic(it).expect("a marker"), it);
        let (lower, upper) = (marker(LB), marker(UB));
        let parts = [(-3, 1, &lower), (0, 1, &int), (6, 1, &upper)];
        let made = Type::structure(parts, "struct").expect("small").padded();
        assert_eq!((made.lb, made.extent, made.size), (-3, 9, 4));
        assert_eq!((made.element, made.true_bounds()), (int.element, (0, 4)));
        // Two of them: from -3 to 6 + 9.
        let two = Type::structure([(0, 2, &made)], "contiguous").expect("small");
        assert_eq!((two.lb, two.extent, two.blocks.len()), (-3, 18, 2));
        // A longer element behind it changes nothing, as with a resized type.
        let more = Type::structure([(0, 1, &made), (100, 1, &int)], "struct").expect("small");
        assert_eq!((more.lb, more.extent), (-3, 9));
        let short = int.resized(0, 2);
        let more = Type::structure([(0, 1, &short), (100, 1, &int)], "struct").expect("small");
        assert_eq!((more.lb, more.extent, more.padded().extent), (0, 2, 2));
        let only = Type::structure([(4, 1, &upper)], "struct").expect("small");
        assert_eq!((only.lb, only.extent, only.size), (0, 4, 0));
        // Without a marker on a side, the data decide there.
        let parts = [(0, 1, &int), (2, 1, &upper)];
        let made = Type::structure(parts, "struct").expect("small");
        assert_eq!((made.lb, made.extent), (0, 2));
    }

    #[test]
    fn many_contiguous_elements_are_made_at_once() {
        let int = Type::basic(basic(0x209).expect("MPI_INT"), 0x209);
        let many = Type::structure([(8, 1 << 40, &int)], "contiguous").expect("it fits");
        assert_eq!((many.lb, many.extent, many.size), (8, 1 << 42, 1 << 42));
        assert_eq!(many.blocks, [Block { at: 8, length: 1 << 42 }]);
        assert_eq!(many.elements_in(12), Some(3));
        assert!(Type::structure([(0, 1 << 62, &int)], "contiguous").is_err());
    }

    #[test]
    fn neighbouring_blocks_join_and_structures_are_padded() {
        let old = double();
        let int = Type::basic(basic(0x209).expect("MPI_INT"), 0x209);
        let three = Type::structure([(0, 3, &old)], "contiguous").expect("small");
        assert!(three.is_contiguous(5));
        let mixed =
            Type::structure([(0, 1, &old), (8, 1, &int)], "struct").expect("small").padded();
        assert_eq!((mixed.size, mixed.extent, mixed.element), (12, 16, None));
        assert_eq!(mixed.elements_in(12), Some(2));
        assert_eq!(mixed.elements_in(20), Some(3));
        assert_eq!(mixed.elements_in(10), None);
        assert!(!mixed.is_contiguous(2) && mixed.is_contiguous(1));
        let empty = Type::structure(std::iter::empty(), "empty").expect("small");
        assert_eq!((empty.size, empty.extent), (0, 0));
    }
}
