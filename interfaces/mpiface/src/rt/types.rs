//! Datatypes: their parts, their bounds, and where their data lies (`shape.rs`).

use super::basic::{self, Basic, Element};
use super::error::{Class, Outcome, error};
use super::external;
use super::handle::Handle;
use super::shape::{Builder, Shape};
use super::signature::{Sequence, Signature};
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

pub use super::place::{Place, Placed, Solid, bytes_at, copy, move_bytes, pack, unpack};

/// A datatype.
#[derive(Clone, Debug)]
pub struct Type {
    /// Where its data lies.
    pub shape: Shape,
    /// Bytes of data.
    pub size: usize,
    /// Lower bound.
    pub lb: isize,
    /// From one to the next.
    pub extent: isize,
    /// Its predefined elements, for counting them, and for the portable format.
    pub signature: Signature,
    /// The element, if all are of one kind.
    pub element: Option<Element>,
    /// The greatest alignment of an element.
    align: usize,
    /// The lower and the upper bound, as far as they were set: they decide in types made of it.
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
    /// Whether it was the function with large counts: these stand in a list of their own.
    is_large: bool,
    /// Its arguments that are integers,
    pub integers: Vec<c_int>,
    /// addresses,
    pub addresses: Vec<isize>,
    /// large counts,
    pub counts: Vec<i64>,
    /// and datatypes.
    pub types: Vec<AnyType>,
}

impl Made {
    /// Without arguments yet.
    pub fn new(combiner: c_int, is_large: bool) -> Made {
        let (integers, addresses) = (Vec::new(), Vec::new());
        Made { combiner, is_large, integers, addresses, counts: Vec::new(), types: Vec::new() }
    }

    /// Arguments that are integers.
    pub fn integers(mut self, all: &[c_int]) -> Made {
        self.integers.extend_from_slice(all);
        self
    }

    /// Counts: integers, if they are not large.
    pub fn counts(mut self, all: impl IntoIterator<Item = i64>) -> Made {
        if self.is_large {
            self.counts.extend(all);
        } else {
            // Of a function that takes integers.
            self.integers.extend(all.into_iter().map(|it| it as c_int));
        }
        self
    }

    /// Displacements in bytes: addresses, but counts in the function with large counts.
    pub fn places(mut self, all: impl IntoIterator<Item = isize>) -> Made {
        if self.is_large {
            self.counts.extend(all.into_iter().map(|it| it as i64));
        } else {
            self.addresses.extend(all);
        }
        self
    }

    /// Datatypes.
    pub fn types(mut self, all: impl IntoIterator<Item = AnyType>) -> Made {
        self.types.extend(all);
        self
    }
}

impl Type {
    /// A predefined datatype.
    pub fn basic(basic: Basic, handle: Handle) -> Type {
        let mut parts = Builder::default();
        match basic.element {
            // A hole lies in the middle.
            Element::PairI16I32 => {
                parts.push(Shape::block(0, 2));
                parts.push(Shape::block(4, 4));
            }
            _ => parts.push(Shape::block(0, basic.size)),
        }
        let set = |marker| (handle == marker).then_some(0);
        let units = external::units(basic, handle);
        Type {
            shape: parts.finish().unwrap_or_else(Shape::nothing),
            signature: Signature::of(if basic.size == 0 { &[] } else { &units }),
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

    /// Copies of older types, each at a displacement: so many, one behind the other.
    ///
    /// # Errors
    /// If a size or displacement is larger than addresses are.
    pub fn structure<'a>(
        parts: impl IntoIterator<Item = (isize, usize, &'a Type)>,
        name: &'static str,
    ) -> Outcome<Type> {
        let mut new = Layer::default();
        for (at, count, old) in parts {
            new.add(at, (count, old.extent), old)?;
        }
        new.finish(name)
    }

    /// So many rows of `length` older ones, each row `step` bytes from the last.
    ///
    /// # Errors
    /// As `structure`.
    pub fn rows(
        count: usize,
        length: usize,
        step: isize,
        old: &Type,
        name: &'static str,
    ) -> Outcome<Type> {
        let row = Type::structure([(0, length, old)], name)?;
        let mut new = Layer::default();
        if length > 0 {
            new.add(0, (count, step), &row)?;
        }
        new.finish(name)
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

    /// The same, made by this call.
    pub fn by(mut self, made: Made) -> Type {
        self.handle = 0;
        self.made = Some(Arc::new(made));
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
        self.size == 0
            || (self.shape.as_block() == Some(0)
                && (count <= 1 || self.extent == self.size.cast_signed()))
    }

    /// The alignment of its elements.
    pub fn align(&self) -> usize {
        let align = self.align.next_power_of_two();
        if align > self.align { align / 2 } else { align }
    }

    /// The smallest and the end of the largest byte that one touches.
    pub fn true_bounds(&self) -> (isize, isize) {
        self.shape.bounds()
    }

    /// The number of predefined elements in `bytes` of data; `None` if they end within one.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        self.signature.elements_in(bytes)
    }

    /// Bytes of so many predefined elements.
    pub fn bytes_of(&self, elements: usize) -> usize {
        self.signature.bytes_of(elements)
    }
}

/// A datatype in the making.
#[derive(Default)]
struct Layer {
    parts: Builder,
    sequence: Sequence,
    size: usize,
    /// Lower and upper bound of the parts that have data; none if nothing has.
    bounds: Option<(isize, isize)>,
    element: Option<Element>,
    align: usize,
    set: (Option<isize>, Option<isize>),
}

const FAR: &str = "a displacement is larger than an address";

impl Layer {
    /// So many of an older type, each `step` bytes from the last, the first at `at`.
    fn add(&mut self, at: isize, (count, step): (usize, isize), old: &Type) -> Outcome {
        if count == 0 {
            return Ok(());
        }
        let Some(size) = old.size.checked_mul(count).and_then(|it| it.checked_add(self.size))
        else {
            return error(Class::Arg, "a datatype is larger than the address space");
        };
        let Some(made) = self.place(at, (count, step), old) else {
            return error(Class::Arg, FAR);
        };
        self.size = size;
        self.parts.push(made);
        self.sequence.push(&old.signature, count);
        Ok(())
    }

    /// Notes the bounds; gives the shape.
    fn place(&mut self, at: isize, (count, step): (usize, isize), old: &Type) -> Option<Shape> {
        let last = isize::try_from(count - 1).ok()?.checked_mul(step)?.checked_add(at)?;
        let (first, last) = (at.min(last), at.max(last));
        if let Some(it) = old.set.0 {
            let it = first.saturating_add(it);
            self.set.0 = Some(self.set.0.map_or(it, |set| set.min(it)));
        }
        if let Some(it) = old.set.1 {
            let it = last.saturating_add(it);
            self.set.1 = Some(self.set.1.map_or(it, |set| set.max(it)));
        }
        let low = first.checked_add(old.lb)?;
        let high = last.checked_add(old.lb)?.checked_add(old.extent)?;
        if old.size > 0 || old.set == (None, None) {
            let is_same = self.bounds.is_none() || self.element == old.element;
            self.element = if is_same { old.element } else { None };
            let before = self.bounds.unwrap_or((low, high));
            self.bounds = Some((before.0.min(low), before.1.max(high)));
            self.align = self.align.max(old.align);
        }
        old.shape.repeated(count, step)?.moved(at)
    }

    fn finish(self, name: &'static str) -> Outcome<Type> {
        let Some(shape) = self.parts.finish() else { return error(Class::Arg, FAR) };
        let (low, high) = self.bounds.unwrap_or_default();
        let lb = self.set.0.unwrap_or(low);
        let Some(extent) = self.set.1.unwrap_or(high).checked_sub(lb) else {
            return error(Class::Arg, FAR);
        };
        Ok(Type {
            shape,
            size: self.size,
            lb,
            extent,
            signature: self.sequence.finish(),
            element: self.element,
            align: self.align.max(1),
            set: self.set,
            name,
            handle: 0,
            made: None,
        })
    }
}

pub use super::standard::{
    BYTE, COMBINER_F90_COMPLEX as F90_COMPLEX, COMBINER_F90_INTEGER as F90_INTEGER,
    COMBINER_F90_REAL as F90_REAL,
};

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
const PREDEFINED: (Handle, Handle) = (basic::FIRST, 0x300);

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

#[cfg(test)]
mod tests {
    use super::super::basic::{LB, UB, basic};
    use super::*;

    fn double() -> Type {
        Type::basic(basic(0x214).expect("MPI_DOUBLE"), 0x214)
    }

    /// `basic::solid` answers by a table the question that `number` answers by the type.
    #[test]
    fn a_solid_datatype_is_a_number_and_the_other_way_round() {
        let all = PREDEFINED.0..PREDEFINED.1;
        let found: Vec<_> = all.filter_map(|it| Some((it, predefined(it)?))).collect();
        assert!(found.len() > 40, "{} datatypes", found.len());
        for (handle, ty) in found {
            let number = ty.number().filter(|it| it.1.is_power_of_two());
            assert_eq!(basic::solid(handle), number, "{handle:#x}");
        }
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
        assert_eq!((two.lb, two.extent, two.shape.list().len()), (-3, 18, 2));
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
        assert_eq!(many.shape.list(), [(8, 1 << 42)]);
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
