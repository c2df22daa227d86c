//! The cache of plans, in two tiers: by everything that a plan depends on; and, before that, by the
//! call, if the library chose the algorithm.
//!
//! A program makes the same few calls over and over. Which algorithm serves a call, by
//! which plan, depends on nothing but the facts that the first tier compares, while the choice is
//! the library's. Small collectives take about 40 ns less by it.

use super::Plan;
use crate::exec::{Call, Partition};
use crate::schedule::{Algorithm, Hierarchy, Operation};
use crate::shared::{CallParams, Signature};
use crate::sync::Arc;
use crate::topology::Extents;

/// Plans kept per communicator. A program has few shapes of calls; a shape that does
/// not fit is bound anew (microseconds).
const KEPT: usize = 64;

/// Calls remembered; a power of two.
const CALLS: usize = 8;

/// Plans among them for lists of counts, as many as a rank knows lists. A list too many goes
/// first: a program may have other counts in each call.
const KEPT_VARIED: usize = 8;

/// The facts that a plan depends on.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PlanKey {
    pub(crate) algorithm: Algorithm,
    operation: Operation,
    parameter: usize,
    /// Whether the blocks' lengths differ.
    varied: bool,
    /// Elements of the vector or of a block; or the number of the list of counts.
    len: u64,
    /// Bytes of an element.
    size: usize,
    /// Not for the plan's sake: whether the algorithm may serve is checked when
    /// it is bound.
    commutative: bool,
    dims: Option<Extents>,
    levels: Option<Arc<Hierarchy>>,
}

/// The lengths of a call's blocks, in one number: that of a block, or that of the counts. None for
/// lengths that have no number, as not all ranks know them.
#[inline(always)]
fn length<D>(call: &Call<'_, D>, counts: Option<u64>) -> Option<u64> {
    match call.cut() {
        Partition::Vector(n) | Partition::Equal(n) => Some(n as u64),
        Partition::Varied(_) => counts,
        Partition::Pairs { .. } => None,
    }
}

impl PlanKey {
    /// `counts` is the number of the call's counts, if it has any. None if no plan is kept, as the
    /// lengths have no number.
    pub(crate) fn of<D>(
        call: &Call<'_, D>,
        algorithm: Algorithm,
        size: usize,
        counts: Option<u64>,
        (dims, levels): (Option<Extents>, Option<Arc<Hierarchy>>),
    ) -> Option<Self> {
        let (varied, len) = (call.is_varied(), length(call, counts)?);
        let (operation, parameter) = (call.operation(), call.parameter());
        let commutative = call.is_commutative();
        Some(PlanKey {
            algorithm,
            operation,
            parameter,
            varied,
            len,
            size,
            commutative,
            dims,
            levels,
        })
    }
}

/// A call of the library's choice, and how it was carried out.
struct Entry {
    sig: &'static Signature,
    /// See [`length`].
    len: u64,
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
    /// That of a call with a plan that is not kept.
    odd: Option<Plan>,
    recent: [Option<Entry>; CALLS],
}

/// Where a call is remembered. The operation and the kind of cut follow from
/// the signature.
#[inline(always)]
fn place(sig: &'static Signature, len: u64, parameter: usize) -> usize {
    let address = std::ptr::from_ref(sig).addr() / align_of::<Signature>();
    (address ^ address >> 4 ^ len as usize ^ parameter) % CALLS
}

impl PlanCache {
    /// The plan of the call in progress.
    #[inline(always)]
    pub(super) fn latest(&self) -> &Plan {
        self.odd.as_ref().unwrap_or_else(|| &self.kept[self.latest].1)
    }

    /// Makes the plan of the same call before the latest; its fingerprint. A list of counts has the
    /// number `counts`.
    #[inline(always)]
    pub(crate) fn again<D>(&mut self, call: &Call<'_, D>, counts: u64) -> Option<CallParams> {
        let len = length(call, Some(counts))?;
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

    /// Remembers a call that goes by the latest plan; its counts have that number.
    #[cold]
    pub(crate) fn remember<D>(&mut self, call: &Call<'_, D>, counts: u64, params: CallParams) {
        let Some(len) = length(call, Some(counts)) else { return };
        let (sig, parameter) = (call.sig(), call.parameter());
        let (commutative, plan) = (call.is_commutative(), self.latest);
        self.recent[place(sig, len, parameter)] =
            Some(Entry { sig, len, parameter, commutative, params, plan });
    }

    /// Makes the plan for `key` the latest, if it is kept.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: &PlanKey) -> bool {
        self.odd = None;
        if !self.is_at(self.latest, key) {
            let Some(i) = (0..self.kept.len()).find(|&i| self.is_at(i, key)) else { return false };
            self.latest = i;
        }
        true
    }

    #[inline(never)]
    fn is_at(&self, i: usize, key: &PlanKey) -> bool {
        self.kept.get(i).is_some_and(|(k, _)| k == key)
    }

    /// Keeps a plan, if there is a key for it, and makes it the latest.
    #[cold]
    pub(crate) fn keep(&mut self, key: Option<PlanKey>, plan: Plan) {
        let Some(key) = key else {
            self.odd = Some(plan);
            return;
        };
        let old = self.too_old(&key);
        if old.is_none() && self.kept.len() < KEPT {
            self.latest = self.kept.len();
            return self.kept.push((key, plan));
        }
        self.latest = old.unwrap_or((self.latest + 1) % KEPT);
        for entry in &mut self.recent {
            if entry.as_ref().is_some_and(|entry| entry.plan == self.latest) {
                *entry = None;
            }
        }
        self.kept[self.latest] = (key, plan);
    }

    /// The place of the plan that one for `key` replaces, if that is for a list of counts, and
    /// there are enough of those.
    fn too_old(&self, key: &PlanKey) -> Option<usize> {
        if !key.varied {
            return None;
        }
        let (mut count, mut oldest) = (0, None);
        for (i, (known, _)) in self.kept.iter().enumerate().filter(|(_, (known, _))| known.varied) {
            count += 1;
            if oldest.is_none_or(|(least, _)| known.len < least) {
                oldest = Some((known.len, i));
            }
        }
        oldest.filter(|_| count >= KEPT_VARIED).map(|(_, i)| i)
    }
}
