//! Memory of a program that holds elements of a datatype, and copying between two such places.
//!
//! Safe code but for `copy`, `copy_range`, `pack` and `unpack`, which touch the program's memory.

use super::shape::Visit;
use super::types::{AnyType, BYTE, predefined};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Blocks of so many bytes are copied from place to place, shorter ones by way of a buffer.
const LONG: usize = 256;
/// Bytes of that buffer: it stays in the nearest cache.
const BUFFER: usize = 8192;
/// Rows and columns that are copied at once, where a matrix is transposed: of eight bytes each,
/// they lie in as many lines on both sides.
const TILE: usize = 8;

/// Memory of a program: an address, and the type of the data there.
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
    pub fn bytes(&self) -> usize {
        self.count.saturating_mul(self.ty.size)
    }

    /// The same, `by` of the type's extents further on.
    pub fn moved(&self, by: isize, count: usize) -> Place {
        let address = self.address.wrapping_add_signed(by.wrapping_mul(self.ty.extent));
        Place { address, count, ty: self.ty.clone() }
    }

    /// Whether its data lies without gaps from its address on.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.ty.is_contiguous(self.count)
    }

    /// Where its data lies, if that is without gaps.
    #[inline]
    pub fn solid(&self) -> Option<Solid> {
        let is_it = self.address != 0 && self.is_contiguous();
        is_it.then(|| (self.address, self.bytes()))
    }

    /// Copies its data there.
    ///
    /// # Safety
    /// As of `copy`'s source; there is room for so many bytes, which nobody else uses.
    #[inline]
    pub unsafe fn read(&self, to: *mut u8) {
        let bytes = self.bytes();
        // SAFETY: the caller's promise.
        unsafe {
            match self.is_contiguous() {
                true => move_bytes(self.address, to as usize, bytes),
                false => copy_range(self, &bytes_at(to as usize, bytes), 0..bytes),
            }
        }
    }

    /// Packed data comes here, as much as there is room for; gives the bytes.
    ///
    /// # Safety
    /// As of `copy`'s target.
    #[inline]
    pub unsafe fn write(&self, packed: &[u8]) -> usize {
        if self.is_contiguous() {
            let bytes = self.bytes().min(packed.len());
            // SAFETY: the caller's promise.
            unsafe { move_bytes(packed.as_ptr() as usize, self.address, bytes) };
            return bytes;
        }
        // SAFETY: the caller's promise.
        unsafe { unpack(packed, self) }
    }

    /// Goes through a range of its bytes of data.
    fn walk(&self, range: Range<usize>, to: &mut impl Visit) {
        self.ty.shape.walk(self.address, self.ty.extent, range, to);
    }
}

/// Memory that lies without gaps: an address, and how many bytes.
pub type Solid = (usize, usize);

/// Data of a program, or room for it: a place, or memory without gaps.
pub trait Placed: Clone {
    /// Bytes of data.
    fn bytes(&self) -> usize;

    /// Where it lies, if that is without gaps.
    fn solid(&self) -> Option<Solid>;

    /// As a place.
    fn place(&self) -> Place;

    /// Copies its data there.
    ///
    /// # Safety
    /// As of `copy`'s source; there is room for so many bytes, which nobody else uses.
    unsafe fn read(&self, to: *mut u8);
}

impl Placed for Solid {
    #[inline(always)]
    fn bytes(&self) -> usize {
        self.1
    }

    #[inline(always)]
    fn solid(&self) -> Option<Solid> {
        Some(*self)
    }

    fn place(&self) -> Place {
        bytes_at(self.0, self.1)
    }

    #[inline(always)]
    unsafe fn read(&self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { move_bytes(self.0, to as usize, self.1) };
    }
}

impl Placed for Place {
    fn bytes(&self) -> usize {
        Place::bytes(self)
    }

    fn solid(&self) -> Option<Solid> {
        Place::solid(self)
    }

    fn place(&self) -> Place {
        self.clone()
    }

    #[inline(always)]
    unsafe fn read(&self, to: *mut u8) {
        // SAFETY: passed on.
        unsafe { Place::read(self, to) };
    }
}

/// Copies the data of one place to another, as much as both have; gives the bytes.
///
/// # Safety
/// Both places are memory of the program as their types say, valid until this returns; nobody else
/// writes the source or uses the target.
#[inline]
pub unsafe fn copy(from: &Place, to: &Place) -> usize {
    let length = from.bytes().min(to.bytes());
    if from.is_contiguous() && to.is_contiguous() {
        // SAFETY: the caller's promise; a rank's buffers may overlap (its own message to itself).
        unsafe { move_bytes(from.address, to.address, length) };
        return length;
    }
    // SAFETY: the caller's promise.
    unsafe { copy_range(from, to, 0..length) };
    length
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

/// Copies between blocks and as many bytes without gaps: to those (`OUT`), or from them.
struct Packed<const OUT: bool> {
    /// The address of the next of those bytes.
    next: usize,
}

impl<const OUT: bool> Packed<OUT> {
    /// # Safety
    /// Until it is dropped, blocks that it visits, and as many bytes from `next` on, are memory
    /// that may be read on the one side and written on the other.
    unsafe fn new(next: usize) -> Packed<OUT> {
        Packed { next }
    }

    #[inline(always)]
    fn one(block: usize, packed: usize, length: usize) {
        let (source, target) = if OUT { (block, packed) } else { (packed, block) };
        // SAFETY: the constructor's promise.
        unsafe { move_bytes(source, target, length) };
    }

    /// One block of `N` bytes: no call of the C library's.
    #[inline(always)]
    fn fixed<const N: usize>(block: usize, packed: usize) {
        let (source, target) = if OUT { (block, packed) } else { (packed, block) };
        let (source, target) = (source as *const [u8; N], target as *mut [u8; N]);
        // SAFETY: the constructor's promise; an array of bytes has no alignment.
        unsafe { target.write(source.read()) };
    }

    fn row_of<const N: usize>(&mut self, mut at: usize, (count, step): (usize, isize)) {
        let mut next = self.next;
        for _ in 0..count {
            Self::fixed::<N>(at, next);
            at = at.wrapping_add_signed(step);
            next += N;
        }
        self.next = next;
    }

    fn scattered_of<const N: usize>(&mut self, base: usize, places: &[isize]) {
        let mut next = self.next;
        for place in places {
            Self::fixed::<N>(base.wrapping_add_signed(*place), next);
            next += N;
        }
        self.next = next;
    }

    /// Rows that lie nearer to each other than the elements of one, as in a transposed matrix:
    /// tile by tile, so that each line of memory is fetched once.
    fn tiles_of<const N: usize>(
        &mut self,
        at: usize,
        (rows, far): (usize, isize),
        (count, step): (usize, isize),
    ) {
        let block = |row: usize, column: usize| {
            at.wrapping_add_signed(far.wrapping_mul(row.cast_signed()))
                .wrapping_add_signed(step.wrapping_mul(column.cast_signed()))
        };
        for row in (0..rows).step_by(TILE) {
            for column in (0..count).step_by(TILE) {
                for column in column..count.min(column + TILE) {
                    for row in row..rows.min(row + TILE) {
                        let packed = self.next + (row * count + column) * N;
                        Self::fixed::<N>(block(row, column), packed);
                    }
                }
            }
        }
        self.next += rows * count * N;
    }
}

impl<const OUT: bool> Visit for Packed<OUT> {
    #[inline]
    fn block(&mut self, at: usize, length: usize) {
        Self::one(at, self.next, length);
        self.next += length;
    }

    fn row(&mut self, at: usize, row: (usize, isize), length: usize) {
        match length {
            1 => self.row_of::<1>(at, row),
            2 => self.row_of::<2>(at, row),
            4 => self.row_of::<4>(at, row),
            8 => self.row_of::<8>(at, row),
            12 => self.row_of::<12>(at, row),
            16 => self.row_of::<16>(at, row),
            24 => self.row_of::<24>(at, row),
            32 => self.row_of::<32>(at, row),
            _ => {
                let mut at = at;
                for _ in 0..row.0 {
                    self.block(at, length);
                    at = at.wrapping_add_signed(row.1);
                }
            }
        }
    }

    fn grid(&mut self, at: usize, (rows, far): (usize, isize), row: (usize, isize), length: usize) {
        let is_transposed = far.unsigned_abs() < row.1.unsigned_abs() && rows.min(row.0) >= TILE;
        match length {
            4 if is_transposed => return self.tiles_of::<4>(at, (rows, far), row),
            8 if is_transposed => return self.tiles_of::<8>(at, (rows, far), row),
            16 if is_transposed => return self.tiles_of::<16>(at, (rows, far), row),
            _ => {}
        }
        let mut at = at;
        for _ in 0..rows {
            self.row(at, row, length);
            at = at.wrapping_add_signed(far);
        }
    }

    fn scattered(&mut self, base: usize, places: &[isize], length: usize) {
        match length {
            4 => self.scattered_of::<4>(base, places),
            8 => self.scattered_of::<8>(base, places),
            16 => self.scattered_of::<16>(base, places),
            24 => self.scattered_of::<24>(base, places),
            _ => places.iter().for_each(|it| self.block(base.wrapping_add_signed(*it), length)),
        }
    }
}

/// Copies between each block of one place and the same positions of another.
struct Paired<'a, const OUT: bool> {
    other: &'a Place,
    /// The position of the next block.
    position: usize,
}

impl<const OUT: bool> Visit for Paired<'_, OUT> {
    fn block(&mut self, at: usize, length: usize) {
        let range = self.position..self.position + length;
        // SAFETY: `copy_range` has the caller's promise for both places.
        let mut packed = unsafe { Packed::<OUT>::new(at) };
        self.other.walk(range, &mut packed);
        self.position += length;
    }
}

/// Copies these bytes of data: positions that both places have.
///
/// # Safety
/// As `copy`.
#[inline(never)]
pub unsafe fn copy_range(from: &Place, to: &Place, range: Range<usize>) {
    if to.is_contiguous() {
        // SAFETY: the caller's promise.
        let mut packed = unsafe { Packed::<true>::new(to.address + range.start) };
        return from.walk(range, &mut packed);
    }
    if from.is_contiguous() {
        // SAFETY: the caller's promise.
        let mut packed = unsafe { Packed::<false>::new(from.address + range.start) };
        return to.walk(range, &mut packed);
    }
    let position = range.start;
    let (source, target) = (from.ty.shape.mean(), to.ty.shape.mean());
    if source.max(target) >= LONG {
        if source < target {
            to.walk(range, &mut Paired::<true> { other: from, position });
        } else {
            from.walk(range, &mut Paired::<false> { other: to, position });
        }
        return;
    }
    let mut buffer = [MaybeUninit::<u8>::uninit(); BUFFER];
    let buffer = buffer.as_mut_ptr() as usize;
    for start in range.clone().step_by(BUFFER) {
        let part = start..range.end.min(start + BUFFER);
        // SAFETY: the caller's promise; the buffer has room for the part, and nobody else knows it.
        let (mut out, mut back) =
            unsafe { (Packed::<true>::new(buffer), Packed::<false>::new(buffer)) };
        from.walk(part.clone(), &mut out);
        to.walk(part, &mut back);
    }
}

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
    use super::super::types::Type;
    use super::*;
    use std::sync::Arc;

    /// A datatype as the flat list of its elements, and its bounds as loops find them.
    #[derive(Clone)]
    struct Flat {
        /// Place and bytes of each.
        elements: Vec<(isize, usize)>,
        lb: isize,
        ub: isize,
    }

    impl Flat {
        /// Older ones at these origins.
        fn of(origins: &[isize], old: &Flat) -> Flat {
            let at = |origin: &isize| {
                let origin = *origin;
                old.elements.iter().map(move |it| (it.0 + origin, it.1))
            };
            let lb = origins.iter().map(|it| it + old.lb).min().unwrap_or(0);
            let ub = origins.iter().map(|it| it + old.ub).max().unwrap_or(0);
            Flat { elements: origins.iter().flat_map(at).collect(), lb, ub }
        }

        fn join(&mut self, more: Flat, is_first: bool) {
            self.elements.extend(more.elements);
            self.lb = if is_first { more.lb } else { self.lb.min(more.lb) };
            self.ub = if is_first { more.ub } else { self.ub.max(more.ub) };
        }

        /// The place of each byte of data.
        fn bytes(&self) -> Vec<isize> {
            let one = |it: &(isize, usize)| {
                let (at, length) = *it;
                (0..length.cast_signed()).map(move |by| at + by)
            };
            self.elements.iter().flat_map(one).collect()
        }

        /// Its blocks, neighbours joined.
        fn blocks(&self) -> Vec<(isize, usize)> {
            let mut all: Vec<(isize, usize)> = Vec::new();
            for (at, length) in &self.elements {
                match all.last_mut() {
                    Some(last) if last.0 + last.1.cast_signed() == *at => last.1 += length,
                    _ => all.push((*at, *length)),
                }
            }
            all
        }
    }

    /// Numbers that are the same in each run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % end
        }

        fn between(&mut self, low: isize, high: isize) -> isize {
            low + self.below((high - low) as usize).cast_signed()
        }

        /// A datatype of so many layers.
        fn ty(&mut self, layers: usize) -> (Type, Flat) {
            if layers == 0 {
                // MPI_CHAR, _SHORT, _INT, _DOUBLE, _C_DOUBLE_COMPLEX, _SHORT_INT.
                let handle = [0x243, 0x208, 0x209, 0x214, 0x216, 0x22c][self.below(6)];
                let ty = predefined(handle).expect("a predefined datatype").clone();
                let elements =
                    if handle == 0x22c { vec![(0, 2), (4, 4)] } else { vec![(0, ty.size)] };
                let ub = ty.extent;
                return (ty, Flat { elements, lb: 0, ub });
            }
            let (old, flat) = self.ty(layers - 1);
            let extent = old.extent;
            let (ty, flat) = match self.below(5) {
                0 => {
                    let (count, length) = (self.below(5), self.below(4));
                    let step = if self.below(3) == 0 {
                        extent * length.cast_signed()
                    } else {
                        self.between(-100, 100)
                    };
                    let origins: Vec<isize> = (0..count.cast_signed())
                        .flat_map(|row| {
                            (0..length.cast_signed()).map(move |it| row * step + it * extent)
                        })
                        .collect();
                    let ty = Type::rows(count, length, step, &old, "rows").expect("small");
                    (ty, Flat::of(&origins, &flat))
                }
                1 | 2 => {
                    let is_equal = self.below(2) == 0;
                    let mut parts = Vec::new();
                    for _ in 0..self.below(6) {
                        let length = if is_equal { 1 } else { self.below(4) };
                        parts.push((self.between(-9, 30) * extent.max(1), length));
                    }
                    let all = parts.iter().map(|(at, length)| (*at, *length, &old));
                    let ty = Type::structure(all, "indexed").expect("small");
                    let origins: Vec<isize> = parts
                        .iter()
                        .flat_map(|(at, length)| {
                            (0..length.cast_signed()).map(move |it| at + it * extent)
                        })
                        .collect();
                    (ty, Flat::of(&origins, &flat))
                }
                3 => {
                    let (other, more) = self.ty(self.0 as usize % layers);
                    let (at, count) = (self.between(-50, 50), 1 + self.below(3));
                    let parts = [(0, 1, &old), (at, count, &other), (200, 1, &old)];
                    let ty = Type::structure(parts, "struct").expect("small");
                    let origins: Vec<isize> =
                        (0..count.cast_signed()).map(|it| at + it * other.extent).collect();
                    let mut all = Flat::of(&[0], &flat);
                    all.join(Flat::of(&origins, &more), false);
                    all.join(Flat::of(&[200], &flat), false);
                    (ty, all)
                }
                _ => {
                    let (lb, extent) = (self.between(-9, 9), self.between(-20, 60));
                    return (old.resized(lb, extent), Flat { lb, ub: lb + extent, ..flat });
                }
            };
            (ty, flat)
        }
    }

    /// Bytes around an origin in the middle, for any datatype here.
    const ROOM: usize = 1 << 16;

    fn place(memory: &mut [u8], count: usize, ty: &Type) -> Place {
        let address = memory[ROOM / 2..].as_mut_ptr() as usize;
        Place { address, count, ty: AnyType::Derived(Arc::new(ty.clone())) }
    }

    /// A datatype that fits the memory, so many of it, and the place of each byte of data.
    fn some(dice: &mut Dice) -> (Type, Flat, usize, Vec<isize>) {
        loop {
            let layers = dice.below(5);
            let (ty, flat) = dice.ty(layers);
            let count = dice.below(4);
            let origins: Vec<isize> = (0..count.cast_signed()).map(|it| it * ty.extent).collect();
            let bytes = Flat::of(&origins, &flat).bytes();
            let half = (ROOM / 2).cast_signed();
            if bytes.len() < 20_000 && bytes.iter().all(|it| (-half..half).contains(it)) {
                return (ty, flat, count, bytes);
            }
        }
    }

    #[test]
    fn any_datatype_is_as_its_flat_list() {
        let mut dice = Dice(25);
        for _ in 0..if cfg!(miri) { 20 } else { 3000 } {
            let (ty, flat, ..) = some(&mut dice);
            assert_eq!(ty.shape.list(), flat.blocks(), "{:?}", ty.shape);
            let bytes = flat.bytes();
            assert_eq!(ty.size, bytes.len());
            let low = bytes.iter().min().map_or(0, |it| *it);
            let high = bytes.iter().max().map_or(0, |it| it + 1);
            assert_eq!(ty.true_bounds(), (low, high), "{:?}", ty.shape);
            let is_block = flat.blocks().len() < 2 && low == 0;
            assert_eq!(ty.is_contiguous(1), is_block || ty.size == 0, "{:?}", ty.shape);
            // Elements, in two of them.
            let mut ends = vec![0];
            for (_, length) in flat.elements.iter().chain(&flat.elements) {
                ends.push(ends[ends.len() - 1] + length);
            }
            for _ in 0..10 {
                let given = dice.below(2 * ty.size + 1);
                let wanted = ends.iter().position(|it| *it == given);
                assert_eq!(ty.elements_in(given), wanted, "{given}: {:?}", ty.signature);
                let elements = dice.below(ends.len());
                assert_eq!(ty.bytes_of(elements), ends[elements], "{:?}", ty.signature);
            }
        }
    }

    #[test]
    fn bounds_are_those_of_all_parts() {
        let mut dice = Dice(7);
        for _ in 0..1000 {
            let (ty, flat) = dice.ty(1);
            // A type without data has no bounds, unless they were set.
            if !flat.elements.is_empty() {
                assert_eq!((ty.lb, ty.lb + ty.extent), (flat.lb, flat.ub), "{:?}", ty.shape);
            }
        }
    }

    #[test]
    fn any_range_is_packed_and_unpacked() {
        let mut dice = Dice(1);
        let mut memory: Vec<u8> = (0..ROOM).map(|it| (it * 7 + it / 251) as u8).collect();
        for _ in 0..if cfg!(miri) { 10 } else { 2000 } {
            let (ty, _, count, bytes) = some(&mut dice);
            let at = |it: &isize| (ROOM / 2).wrapping_add_signed(*it);
            let place = place(&mut memory, count, &ty);
            assert_eq!(place.bytes(), bytes.len());
            let start = dice.below(bytes.len() + 1);
            let range = start..start + dice.below(bytes.len() - start + 1);
            let wanted: Vec<u8> = bytes[range.clone()].iter().map(|it| memory[at(it)]).collect();
            let mut packed = vec![0; bytes.len()];
            let flat = bytes_at(packed.as_mut_ptr() as usize, packed.len());
            // SAFETY: the vectors live, and hold what the types say.
            unsafe { copy_range(&place, &flat, range.clone()) };
            assert_eq!(packed[range.clone()], wanted, "{range:?}: {:?}", ty.shape);
            assert!(packed[..range.start].iter().chain(&packed[range.end..]).all(|it| *it == 0));
            // And back, to other memory: a place that is named twice has the last byte.
            let mut other = vec![0; ROOM];
            let mut expected = other.clone();
            bytes[range.clone()].iter().zip(&wanted).for_each(|(it, byte)| {
                expected[at(it)] = *byte;
            });
            let target = self::place(&mut other, count, &ty);
            // SAFETY: as above.
            unsafe { copy_range(&flat, &target, range.clone()) };
            // Where bytes are named twice, their order is free.
            let mut sorted = bytes.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if sorted.len() == bytes.len() {
                assert!(other == expected, "{range:?}: {:?}", ty.shape);
            }
        }
    }

    #[test]
    fn any_place_is_copied_to_any_other() {
        let mut dice = Dice(3);
        let mut memory: Vec<u8> = (0..ROOM).map(|it| (it * 5 + it / 241) as u8).collect();
        for _ in 0..if cfg!(miri) { 10 } else { 2000 } {
            let (from, _, count, bytes) = some(&mut dice);
            let (to, _, room, targets) = some(&mut dice);
            let mut sorted = targets.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if sorted.len() < targets.len() {
                continue;
            }
            let at = |it: &isize| (ROOM / 2).wrapping_add_signed(*it);
            let mut other = vec![0; ROOM];
            let mut expected = other.clone();
            bytes.iter().zip(&targets).for_each(|(it, to)| expected[at(to)] = memory[at(it)]);
            let source = place(&mut memory, count, &from);
            let target = place(&mut other, room, &to);
            // SAFETY: the vectors live, and hold what the types say.
            let done = unsafe { copy(&source, &target) };
            assert_eq!(done, bytes.len().min(targets.len()));
            assert!(other == expected, "{:?} to {:?}", from.shape, to.shape);
        }
    }

    #[test]
    fn long_blocks_and_tiles_are_copied() {
        let double = predefined(0x214).expect("MPI_DOUBLE");
        let n = if cfg!(miri) { 11 } else { 83 };
        let step = 8 * n as isize;
        let column = Type::rows(n, 1, step, double, "column").expect("small");
        let matrix = Type::rows(n, 1, 8, &column, "transposed").expect("small");
        let from: Vec<f64> = (0..n * n).map(|it| it as f64).collect();
        let mut to = vec![0.0; n * n];
        let whole = bytes_at(from.as_ptr() as usize, 8 * n * n);
        let ty = AnyType::Derived(Arc::new(matrix));
        let target = Place { address: to.as_mut_ptr() as usize, count: 1, ty: ty.clone() };
        // SAFETY: the vectors live, and hold what the types say.
        assert_eq!(unsafe { copy(&whole, &target) }, 8 * n * n);
        assert!((0..n * n).all(|it| to[it % n * n + it / n] == from[it]));
        // Rows of a larger matrix on one side, this one on the other.
        let mut room = vec![0.0; 2 * n * n];
        let rows = Type::rows(n, n, 2 * step, double, "rows").expect("small");
        let wide = Place {
            address: room.as_mut_ptr() as usize,
            count: 1,
            ty: AnyType::Derived(Arc::new(rows)),
        };
        let source = Place { address: to.as_ptr() as usize, count: 1, ty };
        // SAFETY: as above.
        unsafe { copy(&source, &wide) };
        assert!((0..n * n).all(|it| room[it / n * 2 * n + it % n] == from[it]));
        to.fill(0.0);
        // SAFETY: as above.
        unsafe { copy(&wide, &Place { address: to.as_mut_ptr() as usize, ..source }) };
        assert!((0..n * n).all(|it| to[it % n * n + it / n] == from[it]));
    }
}
