//! The short way to a plan: what a call needs to know if it was made before.
//!
//! A program makes the same few calls over and over. Which algorithm serves a
//! call, by which plan, depends on nothing but what is compared here, while the
//! choice is the library's. Small collectives take about 40 ns less by this.

use super::Comm;
use super::perform::Task;
use crate::engine::{Buffers, Cut, Kernel, execute};
use crate::fabric::{Params, Sig};

/// Calls remembered; a power of two.
const CALLS: usize = 8;

/// A call of the library's choice, and how it was carried out.
struct Entry {
    sig: &'static Sig,
    len: usize,
    parameter: usize,
    commutative: bool,
    params: Params,
    /// Number of the plan.
    plan: usize,
}

/// See the module documentation.
#[derive(Default)]
pub(super) struct Recent([Option<Entry>; CALLS]);

/// Where a call is remembered. The operation and the kind of cut follow from
/// the signature.
#[inline(always)]
fn slot(sig: &'static Sig, len: usize, parameter: usize) -> usize {
    let address = std::ptr::from_ref(sig).addr() / align_of::<Sig>();
    (address ^ address >> 4 ^ len ^ parameter) % CALLS
}

impl Comm {
    /// Carries a call out by what is known of it. Returns whether it did (or
    /// was refused).
    ///
    /// # Safety
    /// As `perform`.
    #[inline(always)]
    pub(super) unsafe fn again(
        &mut self,
        task: &Task<'_>,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) -> bool {
        if self.size() == 1 {
            // SAFETY: passed on.
            unsafe { self.alone(task, kernel, input, output) };
            return true;
        }
        let (Cut::Vector(len) | Cut::Equal(len)) = task.cut else { return false };
        let parameter = task.parameter();
        let Some(entry) = &self.plans.recent.0[slot(task.sig, len, parameter)] else {
            return false;
        };
        let is_this = std::ptr::eq(entry.sig, task.sig)
            && entry.len == len
            && entry.parameter == parameter
            && entry.commutative == task.commutative;
        if !is_this {
            return false;
        }
        let (params, plan) = (entry.params, entry.plan);
        if !self.enter(task.sig, task.at, params) {
            return true;
        }
        let plan = &self.plans.kept[plan].1;
        let scratch = match plan.scratch {
            0 => std::ptr::without_provenance_mut(kernel.align()),
            n => self.scratch.reserve(n * kernel.size(), kernel.align()),
        };
        let buffers = Buffers { input, output, scratch };
        // SAFETY: the caller's promise covers the plan's reach: it was bound
        // for the same operation, length and element size.
        let result = unsafe { execute(&mut self.port, plan, &buffers, kernel, &mut self.spans) };
        // SAFETY: the caller's promise.
        unsafe { self.complete(result.is_ok(), task, kernel, input, output) };
        if let Err(stop) = result {
            self.stop(stop);
        }
        true
    }

    /// A collective of one rank: what is sent is what is received.
    ///
    /// # Safety
    /// As `perform`.
    unsafe fn alone(
        &mut self,
        task: &Task<'_>,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let params = Params { parameter: task.parameter(), ..Params::of(task.len) };
        if !self.enter(task.sig, task.at, params) {
            return;
        }
        let len = match task.cut {
            Cut::Vector(len) | Cut::Equal(len) => len,
            Cut::Varied(counts) => counts[0],
            Cut::Pairs { send, .. } => send[0],
        };
        if !task.operation.is_in_place() {
            // SAFETY: both are valid for the only block, by the caller's
            // promise, and the user's buffers do not overlap.
            unsafe { kernel.copy(output, input, len) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.complete(true, task, kernel, input, output) };
    }

    /// Remembers a call that goes by the latest plan.
    #[cold]
    pub(super) fn remember(&mut self, task: &Task<'_>, params: Params) {
        let (Cut::Vector(len) | Cut::Equal(len)) = task.cut else { return };
        if !self.is_auto() || self.plans.odd.is_some() {
            return;
        }
        let parameter = task.parameter();
        self.plans.recent.0[slot(task.sig, len, parameter)] = Some(Entry {
            sig: task.sig,
            len,
            parameter,
            commutative: task.commutative,
            params,
            plan: self.plans.latest,
        });
    }
}
