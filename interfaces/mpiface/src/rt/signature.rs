//! The sequence of predefined elements of a datatype, without their places: for counting elements,
//! and for the portable format. A repeated part stands there once.

use super::external::Unit;
use std::sync::Arc;

/// Predefined elements in their order.
#[derive(Clone, Debug)]
pub struct Signature {
    /// How many.
    elements: usize,
    /// Their bytes here,
    size: usize,
    /// and in the portable format.
    outside: usize,
    form: SignatureForm,
}

#[derive(Clone, Debug)]
enum SignatureForm {
    One(Unit),
    Repeated(Arc<Signature>, usize),
    List(Arc<[Signature]>),
}

impl Signature {
    /// None.
    pub fn nothing() -> Signature {
        Signature { elements: 0, size: 0, outside: 0, form: SignatureForm::List(Arc::new([])) }
    }

    fn one(unit: Unit) -> Signature {
        Signature {
            elements: 1,
            size: unit.size,
            outside: unit.outside,
            form: SignatureForm::One(unit),
        }
    }

    /// Of some elements, each so many times.
    pub fn of(units: &[(Unit, usize)]) -> Signature {
        let mut all = Sequence::default();
        units.iter().for_each(|(unit, times)| all.push(&Signature::one(*unit), *times));
        all.finish()
    }

    fn times(self, times: usize) -> Signature {
        if times == 1 {
            return self;
        }
        Signature {
            // Elements have a byte at least, and the caller knows that the bytes can be counted.
            elements: self.elements * times,
            size: self.size * times,
            outside: self.outside * times,
            form: SignatureForm::Repeated(Arc::new(self), times),
        }
    }

    /// Bytes in the portable format.
    pub fn outside(&self) -> usize {
        self.outside
    }

    /// The elements in so many bytes of data, repeated as often as it must be; `None` if they end
    /// within one.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        if self.size == 0 {
            return Some(0);
        }
        let (count, rest) = self.count(bytes);
        (rest == 0).then_some(count)
    }

    /// The whole elements in so many bytes, repeated; and the bytes of the next one.
    fn count(&self, bytes: usize) -> (usize, usize) {
        let (whole, mut rest) = (bytes / self.size, bytes % self.size);
        let mut count = whole * self.elements;
        match &self.form {
            SignatureForm::One(_) => {}
            SignatureForm::Repeated(of, _) => {
                let (more, left) = of.count(rest);
                (count, rest) = (count + more, left);
            }
            SignatureForm::List(all) => {
                for it in &all[..] {
                    if rest < it.size {
                        let (more, left) = it.count(rest);
                        (count, rest) = (count + more, left);
                        break;
                    }
                    (count, rest) = (count + it.elements, rest - it.size);
                }
            }
        }
        (count, rest)
    }

    /// Bytes of so many elements, repeated as often as it must be.
    pub fn bytes_of(&self, elements: usize) -> usize {
        if self.elements == 0 {
            return 0;
        }
        let (whole, mut rest) = (elements / self.elements, elements % self.elements);
        let bytes = whole * self.size;
        bytes
            + match &self.form {
                SignatureForm::One(_) => 0,
                SignatureForm::Repeated(of, _) => of.bytes_of(rest),
                SignatureForm::List(all) => {
                    let mut some = 0;
                    for it in &all[..] {
                        if rest < it.elements {
                            some += it.bytes_of(rest);
                            break;
                        }
                        (some, rest) = (some + it.size, rest - it.elements);
                    }
                    some
                }
            }
    }

    /// Each element.
    pub fn each(&self, see: &mut impl FnMut(Unit)) {
        match &self.form {
            SignatureForm::One(unit) => see(*unit),
            SignatureForm::Repeated(of, times) => (0..*times).for_each(|_| of.each(see)),
            SignatureForm::List(all) => all.iter().for_each(|it| it.each(see)),
        }
    }

    fn is_same(&self, other: &Signature) -> bool {
        match (&self.form, &other.form) {
            (SignatureForm::One(unit), SignatureForm::One(other)) => unit == other,
            (SignatureForm::List(all), SignatureForm::List(other)) => Arc::ptr_eq(all, other),
            _ => false,
        }
    }
}

/// Makes a signature of parts, in their order.
#[derive(Debug, Default)]
pub struct Sequence(Vec<(Signature, usize)>);

impl Sequence {
    /// The next part, so many times; the bytes of all can be counted.
    pub fn push(&mut self, part: &Signature, times: usize) {
        if times == 0 || part.elements == 0 {
            return;
        }
        match (&part.form, self.0.last_mut()) {
            (SignatureForm::Repeated(of, inner), _) => self.push(of, inner * times),
            (_, Some(last)) if last.0.is_same(part) => last.1 += times,
            _ => self.0.push((part.clone(), times)),
        }
    }

    /// The signature.
    pub fn finish(mut self) -> Signature {
        if let [_] = self.0.as_slice() {
            return self.0.pop().map_or_else(Signature::nothing, |(it, times)| it.times(times));
        }
        let all: Arc<[Signature]> = self.0.into_iter().map(|(it, times)| it.times(times)).collect();
        let sum = |of: fn(&Signature) -> usize| all.iter().map(of).sum();
        Signature {
            elements: sum(|it| it.elements),
            size: sum(|it| it.size),
            outside: sum(|it| it.outside),
            form: SignatureForm::List(all),
        }
    }
}
