//! A call of all nodes' ranks: the facts that must be equal on all of them, and its words in
//! errors.

use phalanx::engine::LayerCall;
use phalanx::op::Operator;
use phalanx::{CallSite, Element};
use std::any::TypeId;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use typeid::ConstTypeId;

/// See the module documentation. (A number that is compared, too, is a root, or a distance.)
#[derive(Clone, Copy)]
pub(crate) struct NodeCall<'c>(pub(crate) LayerCall<'c>);

impl<'c> NodeCall<'c> {
    /// A call of the method `name`, with `len` elements.
    #[track_caller]
    pub(crate) fn of<T: Element>(name: &'static str, len: usize) -> Self {
        NodeCall(LayerCall {
            name,
            meets: name,
            element: (TypeId::of::<T>(), std::any::type_name::<T>()),
            operator: None,
            parameter: None,
            len,
            counts: [&[]; 2],
            at: Location::caller(),
        })
    }

    /// The same, which may meet other methods.
    pub(crate) fn meets(self, meets: &'static str) -> Self {
        NodeCall(LayerCall { meets, ..self.0 })
    }

    pub(crate) fn by<T: Element, O: Operator<T>>(self) -> Self {
        NodeCall(LayerCall { operator: Some((ConstTypeId::of::<O>(), O::NAME)), ..self.0 })
    }

    pub(crate) fn with(self, what: &'static str, parameter: usize) -> Self {
        NodeCall(LayerCall { parameter: Some((what, parameter)), ..self.0 })
    }

    pub(crate) fn counts(self, counts: &'c [usize]) -> Self {
        NodeCall(LayerCall { counts: [counts, &[]], ..self.0 })
    }

    /// Its root, or distance.
    pub(crate) fn parameter(&self) -> usize {
        self.0.parameter.map_or(0, |(_, it)| it)
    }

    /// The counts that all ranks give.
    fn common_counts(&self) -> &[usize] {
        match self.0.counts {
            [counts, []] => counts,
            _ => &[],
        }
    }

    /// The numbers that ranks of a node compare in each step.
    pub(crate) fn fields(&self) -> Vec<usize> {
        let LayerCall { meets, element, operator, parameter, len, .. } = self.0;
        let mut h = DefaultHasher::new();
        (meets, element.0, operator).hash(&mut h);
        let parameter = parameter.map_or(usize::MAX, |(_, it)| it);
        [&[parameter, len], self.common_counts(), &[h.finish() as usize]].concat()
    }

    /// All of it, and `more`, in 128 bits. Nodes run the same program (`Net`), so the `TypeId`s of
    /// element and operator, themselves such hashes, are the same on all.
    pub(crate) fn digest(&self, more: impl Hash) -> [u64; 2] {
        let LayerCall { meets, element, operator, parameter, len, .. } = self.0;
        let facts = (meets, element.0, operator, parameter, len, self.common_counts(), &more);
        digest(&facts)
    }

    /// The digest of its messages, which may meet those of other methods.
    pub(crate) fn message_digest(&self, message: &str, more: usize) -> [u64; 2] {
        digest(&(message, self.0.element.0, more))
    }

    /// The call in words: `reduce of 8 f64 with sum, to root 2`.
    fn words(&self) -> String {
        let LayerCall { name, element, operator, parameter, len, .. } = self.0;
        let mut words = name.to_string();
        if element.1 != "()" {
            words += &format!(" of {len} {}", element.1);
        }
        if let Some((_, operator)) = operator {
            words += &format!(" with {operator}");
        }
        if let Some((what, parameter)) = parameter {
            words += &format!(", {what} {parameter}");
        }
        words
    }

    pub(crate) fn site(&self) -> CallSite {
        CallSite { call: self.words(), at: self.0.at.into() }
    }
}

/// SipHash with constant keys, twice.
fn digest(facts: &impl Hash) -> [u64; 2] {
    [0u64, 1].map(|seed| {
        let mut h = DefaultHasher::new();
        (seed, facts).hash(&mut h);
        h.finish()
    })
}
