//! A call of all nodes' ranks: the facts that must be equal on all of them, and its words in
//! errors.

use phalanx::op::Operator;
use phalanx::{CallSite, Element};
use std::any::TypeId;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::Location;

/// See the module documentation.
#[derive(Clone, Copy)]
pub(crate) struct NodeCall<'c> {
    pub(crate) name: &'static str,
    /// The name that calls that may meet have in common.
    meets: &'static str,
    element: (TypeId, &'static str),
    operator: Option<(TypeId, &'static str)>,
    /// The number that is compared, too: a root, a distance.
    parameter: Option<(&'static str, usize)>,
    len: usize,
    /// Elements of each rank, if they differ.
    counts: Option<&'c [usize]>,
    at: &'static Location<'static>,
}

impl<'c> NodeCall<'c> {
    /// A call of the method `name`, with `len` elements.
    #[track_caller]
    pub(crate) fn of<T: Element>(name: &'static str, len: usize) -> Self {
        NodeCall {
            name,
            meets: name,
            element: (TypeId::of::<T>(), std::any::type_name::<T>()),
            operator: None,
            parameter: None,
            len,
            counts: None,
            at: Location::caller(),
        }
    }

    /// The same, which may meet other methods.
    pub(crate) fn meets(self, meets: &'static str) -> Self {
        NodeCall { meets, ..self }
    }

    pub(crate) fn by<T: Element, O: Operator<T>>(self) -> Self {
        NodeCall { operator: Some((typeid::of::<O>(), O::NAME)), ..self }
    }

    pub(crate) fn with(self, what: &'static str, parameter: usize) -> Self {
        NodeCall { parameter: Some((what, parameter)), ..self }
    }

    pub(crate) fn counts(self, counts: &'c [usize]) -> Self {
        NodeCall { counts: Some(counts), ..self }
    }

    /// The numbers that ranks of a node compare in each step.
    pub(crate) fn fields(&self) -> Vec<usize> {
        let mut h = DefaultHasher::new();
        (self.meets, self.element.0, self.operator).hash(&mut h);
        let parameter = self.parameter.map_or(usize::MAX, |(_, it)| it);
        [&[parameter, self.len], self.counts.unwrap_or(&[]), &[h.finish() as usize]].concat()
    }

    /// All of it, and `more`, in 128 bits. Nodes run the same program (`Net`), so the `TypeId`s of
    /// element and operator, themselves such hashes, are the same on all.
    pub(crate) fn digest(&self, more: impl Hash) -> [u64; 2] {
        [0u64, 1].map(|seed| {
            // SipHash with constant keys.
            let mut h = DefaultHasher::new();
            (seed, self.meets, self.element.0, self.operator).hash(&mut h);
            (self.parameter, self.len, self.counts, &more).hash(&mut h);
            h.finish()
        })
    }

    /// The digest of its messages, which may meet those of other methods.
    pub(crate) fn message_digest(&self, message: &str, more: usize) -> [u64; 2] {
        [0u64, 1].map(|seed| {
            let mut h = DefaultHasher::new();
            (seed, message, self.element.0, more).hash(&mut h);
            h.finish()
        })
    }

    /// The call in words: `reduce of 8 f64 with sum, to root 2`.
    fn words(&self) -> String {
        let mut words = self.name.to_string();
        if self.element.1 != "()" {
            words += &format!(" of {} {}", self.len, self.element.1);
        }
        if let Some((_, operator)) = self.operator {
            words += &format!(" with {operator}");
        }
        if let Some((what, parameter)) = self.parameter {
            words += &format!(", {what} {parameter}");
        }
        words
    }

    pub(crate) fn at(&self) -> &'static Location<'static> {
        self.at
    }

    pub(crate) fn site(&self) -> CallSite {
        CallSite { call: self.words(), at: self.at.into() }
    }
}
