//! The cache of plans, in two tiers: by everything that a plan depends on; and, before that, by the
//! call, if the library chose the algorithm.
//!
//! A program makes the same few calls over and over. Which algorithm serves a call, by
//! which plan, depends on nothing but what the first tier compares, while the choice is
//! the library's. Small collectives take about 40 ns less by it.

use super::Plan;
use crate::exec::{Call, Partition};
use crate::fabric::{CallParams, Signature};
use crate::schedule::{Algorithm, Hierarchy, Operation};
use crate::sync::Arc;
use crate::topology::Extents;

/// Plans kept per communicator. A program has few shapes of calls; what does
/// not fit is bound anew (microseconds).
const KEPT: usize = 64;

/// Calls remembered; a power of two.
const CALLS: usize = 8;

/// What a plan depends on.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PlanKey {
    pub(crate) algorithm: Algorithm,
    operation: Operation,
    parameter: usize,
    is_vector: bool,
    len: usize,
    /// Bytes of an element.
    size: usize,
    /// Not for the plan's sake: whether the algorithm may serve is checked when
    /// it is bound.
    commutative: bool,
    dims: Option<Extents>,
    segments: Option<usize>,
    levels: Option<Arc<Hierarchy>>,
}

impl PlanKey {
    /// None for varied lengths, of which no plan is kept.
    pub(crate) fn of<D>(
        call: &Call<'_, D>,
        algorithm: Algorithm,
        size: usize,
        (dims, segments, levels): (Option<Extents>, Option<usize>, Option<Arc<Hierarchy>>),
    ) -> Option<Self> {
        let (is_vector, len) = match call.cut() {
            Partition::Vector(n) => (true, n),
            Partition::Equal(n) => (false, n),
            Partition::Varied(_) | Partition::Pairs { .. } => return None,
        };
        let (operation, parameter) = (call.operation(), call.parameter());
        let commutative = call.is_commutative();
        Some(PlanKey {
            algorithm,
            operation,
            parameter,
            is_vector,
            len,
            size,
            commutative,
            dims,
            segments,
            levels,
        })
    }
}

/// A call of the library's choice, and how it was carried out.
struct Entry {
    sig: &'static Signature,
    len: usize,
    parameter: usize,
    commutative: bool,
    params: CallParams,
    /// Number of the plan.
    plan: usize,
}

/// See the module documentation.
#[derive(Default)]
pub(crate) struct PlanCache {
    kept: Vec<(PlanKey, Plan)>,
    /// The plan of the call in progress, or of the one before.
    latest: usize,
    /// That of a call with varied lengths, which is not kept.
    odd: Option<Plan>,
    recent: [Option<Entry>; CALLS],
}

/// Where a call is remembered. The operation and the kind of cut follow from
/// the signature.
#[inline(always)]
fn place(sig: &'static Signature, len: usize, parameter: usize) -> usize {
    let address = std::ptr::from_ref(sig).addr() / align_of::<Signature>();
    (address ^ address >> 4 ^ len ^ parameter) % CALLS
}

impl PlanCache {
    /// The plan of the call in progress.
    #[inline(always)]
    pub(super) fn latest(&self) -> &Plan {
        self.odd.as_ref().unwrap_or_else(|| &self.kept[self.latest].1)
    }

    /// Makes the plan of the same call before the latest; its fingerprint.
    #[inline(always)]
    pub(crate) fn again<D>(&mut self, call: &Call<'_, D>) -> Option<CallParams> {
        let (Partition::Vector(len) | Partition::Equal(len)) = call.cut() else { return None };
        let parameter = call.parameter();
        let entry = self.recent[place(call.sig(), len, parameter)].as_ref()?;
        let is_this = std::ptr::eq(entry.sig, call.sig())
            && entry.len == len
            && entry.parameter == parameter
            && entry.commutative == call.is_commutative();
        if !is_this {
            return None;
        }
        self.odd = None;
        self.latest = entry.plan;
        Some(entry.params)
    }

    /// Remembers a call that goes by the latest plan.
    #[cold]
    pub(crate) fn remember<D>(&mut self, call: &Call<'_, D>, params: CallParams) {
        let (Partition::Vector(len) | Partition::Equal(len)) = call.cut() else { return };
        let (sig, parameter) = (call.sig(), call.parameter());
        let (commutative, plan) = (call.is_commutative(), self.latest);
        self.recent[place(sig, len, parameter)] =
            Some(Entry { sig, len, parameter, commutative, params, plan });
    }

    /// Makes the plan for `key` the latest, if it is kept.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: &PlanKey) -> bool {
        self.odd = None;
        if self.kept.get(self.latest).is_some_and(|(k, _)| k == key) {
            return true;
        }
        match self.kept.iter().position(|(k, _)| k == key) {
            Some(i) => {
                self.latest = i;
                true
            }
            None => false,
        }
    }

    /// Keeps a plan, if there is a key for it, and makes it the latest.
    #[cold]
    pub(crate) fn keep(&mut self, key: Option<PlanKey>, plan: Plan) {
        match key {
            None => self.odd = Some(plan),
            Some(key) if self.kept.len() < KEPT => {
                self.kept.push((key, plan));
                self.latest = self.kept.len() - 1;
            }
            Some(key) => {
                self.recent = Default::default();
                self.latest = (self.latest + 1) % KEPT;
                self.kept[self.latest] = (key, plan);
            }
        }
    }
}
