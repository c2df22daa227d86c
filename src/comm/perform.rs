//! What all collectives have in common: choose an algorithm, bind it (once per
//! shape of call), walk it.

use super::{Choice, Comm, small};
use crate::element::Element;
use crate::engine::fused::{self, Parts};
use crate::engine::{Buffers, Cut, Kernel, execute};
use crate::fabric::{Begun, Check, Params, Shape, Sig, Stop};
use crate::mailbox::EAGER;
use crate::net::{Fold, Number};
use crate::schedule::{Algorithm, Operation};
use std::panic::Location;

/// A collective call, before an algorithm is chosen.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) operation: Operation,
    pub(super) sig: &'static Sig,
    pub(super) at: &'static Location<'static>,
    pub(super) root: usize,
    pub(super) shift: usize,
    pub(super) cut: Cut<'a>,
    /// The length that goes into the fingerprint, in elements.
    pub(super) len: usize,
    pub(super) commutative: bool,
    /// The operator, if it is one of the library's on numbers.
    pub(super) built_in: Option<(Number, Fold)>,
}

impl Task<'_> {
    #[inline(always)]
    pub(super) fn parameter(&self) -> usize {
        match self.operation {
            op if op.is_rooted() => self.root,
            Operation::Shift => self.shift,
            _ => Check::NO_PARAMETER,
        }
    }
}

/// What carries a call out.
enum Path {
    /// A fused path (see `engine::fused`).
    Fused,
    /// A schedule.
    Schedule,
}

impl Comm {
    /// Checks a rank number; ends the run if there is no such rank.
    #[inline(always)]
    pub(super) fn check_rank(
        &mut self,
        what: &str,
        rank: usize,
        sig: &'static Sig,
        at: &'static Location<'static>,
        len: usize,
    ) -> bool {
        if rank < self.size() {
            return true;
        }
        let p = self.size();
        self.wrong(sig, at, len, format!("{what} {rank} is no rank of a communicator of {p}"));
        false
    }

    /// Checks that a buffer has the length that it must have.
    #[inline(always)]
    pub(super) fn check_len(
        &mut self,
        what: &str,
        got: usize,
        wanted: Option<usize>,
        sig: &'static Sig,
        at: &'static Location<'static>,
        len: usize,
    ) -> bool {
        if wanted == Some(got) {
            return true;
        }
        let wanted = wanted.map_or("more than memory can hold".to_string(), |w| w.to_string());
        self.wrong(sig, at, len, format!("{what} has {got} elements, must have {wanted}"));
        false
    }

    /// What tells meshes of different extents (which may use one algorithm) and
    /// different counts of the same sum apart.
    #[inline(always)]
    fn shape(&mut self, task: &Task<'_>) -> Shape {
        if let Some(salt) = self.salt {
            return salt;
        }
        if let Cut::Varied(counts) = task.cut {
            return self.shape_of(counts);
        }
        match (self.dims(), task.cut) {
            (Some(dims), _) => Shape::of_mesh((0..dims.dimensions()).map(|d| dims.extent(d))),
            (None, _) => match (&self.choice, &self.plans.levels) {
                (Choice::Groups(_), Some(groups)) => {
                    let of = |r| (0..groups.stages()).filter_map(move |l| groups.group(l, r));
                    let degrees = (0..groups.stages()).map(|stage| groups.degree(stage));
                    let exchanges =
                        (0..groups.stages()).map(|stage| groups.exchange(stage) as usize);
                    let each = (0..groups.ranks()).flat_map(of);
                    Shape::of_mesh(each.chain(degrees).chain(exchanges))
                }
                _ => Shape::NONE,
            },
        }
    }

    /// That of a call with varied blocks.
    pub(super) fn shape_of(&mut self, counts: &[usize]) -> Shape {
        match self.choice.dims() {
            Some(dims) => self.port.varied(counts, (0..dims.dimensions()).map(|d| dims.extent(d))),
            None => self.port.varied(counts, std::iter::empty()),
        }
    }

    /// A collective with a block for each rank, of the only rank.
    #[inline(always)]
    pub(super) fn keep_block<T: Element>(
        &mut self,
        sig: &'static Sig,
        at: &'static Location<'static>,
        parameter: usize,
        from: &[T],
        to: &mut [T],
    ) {
        if self.enter(sig, at, Params { parameter, ..Params::of(to.len()) }) {
            small::copy(from, to);
        }
    }

    /// Carries out a collective call.
    ///
    /// # Safety
    /// `input` and `output` are valid for what `task.cut` says of elements of
    /// the kernel's type, exclusively borrowed (output) or shared (input) for
    /// this call; `task.sig` was made for the same type. The input of an
    /// exclusive scan is the identity, or null; of other operations in place it
    /// is not looked at.
    pub(super) unsafe fn perform(
        &mut self,
        task: &Task<'_>,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let bytes = match task.cut {
            Cut::Vector(n) | Cut::Equal(n) => n.saturating_mul(kernel.size()),
            Cut::Varied(_) | Cut::Pairs { .. } => task.len.saturating_mul(kernel.size()),
        };
        // What is longer goes by no plan, as a rule.
        let may_be_known = bytes <= EAGER || self.size() == 1;
        // SAFETY: passed on.
        if self.is_auto() && may_be_known && unsafe { self.again(task, kernel, input, output) } {
            return;
        }
        if self.is_wide() {
            // SAFETY: passed on.
            return unsafe { self.perform_wide(task, kernel, input, output) };
        }
        let algorithm = self.algorithm(task, bytes);
        let params = Params {
            own_len: match task.cut {
                Cut::Pairs { send, .. } => Some(send.iter().sum()),
                _ => None,
            },
            parameter: task.parameter(),
            algorithm: algorithm.index(),
            shape: self.shape(task),
            ..Params::of(task.len)
        };
        // A single rank, and a shift by 0, have a schedule of no steps.
        let idle = self.size() == 1 || (task.operation == Operation::Shift && task.shift == 0);
        let path = if algorithm.is_direct() && !idle { Path::Fused } else { Path::Schedule };
        let result = match path {
            Path::Fused => {
                if let Err(unfit) = self.fits(task, algorithm) {
                    return self.wrong(task.sig, task.at, task.len, unfit);
                }
                let Some(begun) = self.begin(task.sig, task.at, params) else { return };
                let agreed = match self.port.has_new_counts() {
                    true => {
                        self.port.note(begun);
                        self.port.compare_counts()
                    }
                    false => Ok(()),
                };
                // SAFETY: passed on.
                agreed.and_then(|()| unsafe { self.fused(begun, task, kernel, input, output) })
            }
            Path::Schedule => {
                let unbound = match self.prepare(task, algorithm, kernel) {
                    Ok(unbound) => unbound,
                    Err(unfit) => return self.wrong(task.sig, task.at, task.len, unfit),
                };
                if !self.enter(task.sig, task.at, params) {
                    return;
                }
                if self.port.has_new_counts()
                    && let Err(stop) = self.port.compare_counts()
                {
                    return self.stop(stop);
                }
                if let Some(unbound) = unbound
                    && let Err(stop) = self.bind(unbound, task, kernel)
                {
                    return self.stop(stop);
                }
                self.remember(task, params);
                let plan = self.plans.odd.as_ref();
                let plan = plan.unwrap_or_else(|| &self.plans.kept[self.plans.latest].1);
                let scratch = self.scratch.reserve(plan.scratch * kernel.size(), kernel.align());
                let buffers = Buffers { input, output, scratch };
                // SAFETY: the caller's promise covers the plan's reach, which
                // the binder derived from the same cut; the scratch memory is
                // this communicator's own.
                let result =
                    unsafe { execute(&mut self.port, plan, &buffers, kernel, &mut self.spans) };
                // SAFETY: the caller's promise.
                unsafe { self.complete(result.is_ok(), task, kernel, input, output) };
                result
            }
        };
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// What a schedule leaves to do: rank 0's result of an exclusive scan is the
    /// operator's identity, where it has one.
    ///
    /// # Safety
    /// As [`perform`](Comm::perform).
    #[inline(always)]
    pub(super) unsafe fn complete(
        &self,
        well: bool,
        task: &Task<'_>,
        kernel: &Kernel<'_>,
        identity: *const u8,
        output: *mut u8,
    ) {
        let is_first = task.operation == Operation::ExclusiveScan && self.rank() == 0;
        if well && is_first && !identity.is_null() {
            // SAFETY: the caller's promise; nobody looks at rank 0's buffer any
            // more.
            unsafe { kernel.fill(output, identity, task.len) };
        }
    }

    /// Whether the fused `algorithm` can serve the task. All of them serve any
    /// number of ranks, in rank order, and forward nothing.
    #[inline(always)]
    fn fits(&self, task: &Task<'_>, algorithm: Algorithm) -> Result<(), String> {
        if matches!(self.choice, Choice::Auto | Choice::Levels(_))
            || algorithm.operations().contains(&task.operation)
        {
            return Ok(());
        }
        // For what is wrong.
        self.schedule(task, algorithm).map(drop)
    }

    /// # Safety
    /// As [`perform`](Comm::perform).
    unsafe fn fused(
        &mut self,
        begun: Begun,
        task: &Task<'_>,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) -> Result<(), Stop> {
        let scratch = self.scratch.reserve(fused::scratch_bytes(kernel), kernel.align());
        let (rank, p) = (self.rank(), self.size());
        let call = fused::Call {
            stream: footprint(task, p, kernel.size()) >= self.tuning.stream_from,
            port: &mut self.port,
            begun,
            kernel,
            all: &mut self.addresses,
            scratch,
        };
        let (parts, len) = match task.cut {
            Cut::Vector(n) => (Parts::Equal(0), n),
            Cut::Equal(m) => (Parts::Equal(m), m),
            Cut::Varied(counts) => (Parts::Varied(counts), 0),
            // SAFETY: the caller's promise, for the whole of the buffers; both
            // have a count for every rank.
            Cut::Pairs { send, recv } => unsafe {
                return fused::all_to_all_varied(call, input, output, send, recv);
            },
        };
        let root = task.root;
        // SAFETY: the caller's promise, for the whole of the buffers.
        unsafe {
            match task.operation {
                Operation::Broadcast => fused::broadcast(call, root, output, len),
                Operation::Reduce => {
                    let buf = if rank == root { output } else { input.cast_mut() };
                    fused::reduce(call, root, buf, len)
                }
                Operation::AllGather => fused::all_gather(call, input, output, parts),
                Operation::ReduceScatter => {
                    let (total, part) = (parts.total(p), parts.range(rank));
                    fused::reduce_scatter(call, input, total, part, output)
                }
                Operation::AllReduce => fused::all_reduce(call, output, len),
                Operation::Scan => fused::scan(call, output, len),
                Operation::ExclusiveScan => fused::exclusive_scan(call, input, output, len),
                Operation::Scatter => fused::scatter(call, root, input, parts, output),
                Operation::Gather => fused::gather(call, root, input, output, parts),
                Operation::AllToAll => fused::all_to_all(call, input, output, len),
                Operation::Shift => fused::shift(call, task.shift, output, len),
                Operation::Barrier => unreachable!("no fused barrier"),
            }
        }
    }
}

/// Bytes that a call reads and writes on all `p` ranks together.
fn footprint(task: &Task<'_>, p: usize, size: usize) -> usize {
    // Per rank; for blocks, of all blocks together.
    let larger = match task.cut {
        Cut::Vector(n) => n,
        Cut::Equal(m) => m.saturating_mul(p),
        Cut::Varied(_) => task.len,
        Cut::Pairs { send, recv } => send.iter().sum::<usize>().max(recv.iter().sum()),
    };
    larger.saturating_mul(size).saturating_mul(task.operation.touched(p))
}
