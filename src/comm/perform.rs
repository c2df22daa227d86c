//! What all collectives have in common: choose an algorithm, bind it (once per
//! shape of call), walk it.

use super::recent::Recent;
use super::{Choice, Comm};
use crate::engine::fused::{self, Parts};
use crate::engine::{Buffers, Cut, Kernel, Plan, bind, execute};
use crate::fabric::{Check, Params, Shape, Sig, Stop};
use crate::model::choice::{self, auto};
use crate::model::{Decision, LevelModel, Rates, best_segments, rank};
use crate::net::{Fold, Number};
use crate::schedule::{self, Algorithm, Hierarchy, Operation, Request, Schedule};
use crate::topology::Extents;
use std::panic::Location;
use std::sync::{Arc, LazyLock};

/// Plans kept per communicator. A program has few shapes of calls; what does
/// not fit is bound anew (microseconds).
const KEPT: usize = 64;

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

/// What a plan depends on.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    algorithm: Algorithm,
    operation: Operation,
    parameter: usize,
    vector: bool,
    len: usize,
    size: usize,
    /// Not for the plan's sake: whether the algorithm may serve is checked when
    /// it is bound.
    commutative: bool,
    dims: Option<Extents>,
    segments: Option<usize>,
    levels: Option<Arc<Hierarchy>>,
}

/// Bound schedules, the latest used first looked at.
#[derive(Default)]
pub(super) struct Plans {
    pub(super) kept: Vec<(Key, Plan)>,
    pub(super) latest: usize,
    /// The plan of a call with varied lengths, which is not kept.
    pub(super) odd: Option<Plan>,
    /// Calls that went by a plan in `kept`.
    pub(super) recent: Recent,
    /// What the cost model chose.
    chosen: Vec<(Chosen, Algorithm)>,
    /// What the model of the levels chose, by operation, power of two of the bytes, kind of operator.
    decided: Vec<((Operation, u32, bool), Option<Decision>)>,
    /// The groups for the call in progress, if its algorithm is hierarchical.
    levels: Option<Arc<Hierarchy>>,
}

/// What the cost model's choice depends on.
#[derive(Clone, PartialEq)]
struct Chosen {
    rates: Rates,
    operation: Operation,
    parameter: usize,
    words: usize,
    commutative: bool,
    pairs: bool,
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

    pub(super) fn mesh_choice(&mut self, dims: &Extents, at: &'static Location<'static>) -> Choice {
        if dims.ranks() == self.size() {
            return Choice::Mesh(dims.clone());
        }
        self.no_mesh(&dims.to_string(), at)
    }

    /// Ends the run: there is no such mesh of this many ranks.
    #[cold]
    pub(super) fn no_mesh(&mut self, dims: &str, at: &'static Location<'static>) -> Choice {
        static SIG: Sig = Sig::of::<()>("mesh", "", "");
        let what = format!("a {dims} mesh does not have the communicator's {} ranks", self.size());
        self.wrong(&SIG, at, 0, what);
        Choice::Auto
    }

    /// The extents that the choice prescribes.
    pub(super) fn dims(&self) -> Option<&Extents> {
        match &self.choice {
            Choice::Mesh(dims) | Choice::On(_, dims) => Some(dims),
            _ => None,
        }
    }

    /// The algorithm for a task of `bytes` bytes.
    #[inline(always)]
    pub(super) fn algorithm(&mut self, task: &Task<'_>, bytes: usize) -> Algorithm {
        match &self.choice {
            &Choice::Model(rates) => self.modelled(rates, task),
            Choice::Auto => self.by_rules(task, bytes),
            Choice::Levels(model) => {
                let model = model.clone();
                self.by_levels(&model, task, bytes)
            }
            Choice::Groups(groups) => {
                let groups = groups.clone();
                self.by_groups(groups, task, bytes)
            }
            other => self.forced(other, task),
        }
    }

    #[inline(always)]
    fn by_rules(&self, task: &Task<'_>, bytes: usize) -> Algorithm {
        let call = choice::Call {
            operation: task.operation,
            ranks: self.size(),
            bytes,
            commutative: task.commutative,
            varied: self.is_varied(task),
            idle: task.operation == Operation::Shift && task.shift == 0,
        };
        auto(&self.tuning, &call)
    }

    /// The hierarchical algorithm, where there is one.
    #[cold]
    fn by_groups(&mut self, groups: Arc<Hierarchy>, task: &Task<'_>, bytes: usize) -> Algorithm {
        let mut own = Algorithm::for_operation(task.operation).filter(|a| a.uses_levels());
        match own.next() {
            Some(algorithm) => {
                self.plans.levels = Some(groups);
                algorithm
            }
            None => self.by_rules(task, bytes),
        }
    }

    /// The cheapest by what the machine's levels cost; decided once for each power of two of the length.
    fn by_levels(&mut self, model: &LevelModel, task: &Task<'_>, bytes: usize) -> Algorithm {
        if self.is_varied(task) {
            return self.by_rules(task, bytes);
        }
        let class = bytes.max(1).ilog2();
        let key = (task.operation, class, task.commutative);
        let known = self.plans.decided.iter().position(|(k, _)| *k == key);
        let at = known.unwrap_or_else(|| {
            let decision = model.choose(task.operation, 1 << class, task.commutative);
            if self.rank() == 0 && explains() {
                explain(model, task.operation, 1 << class, decision.as_ref());
            }
            self.plans.decided.push((key, decision));
            self.plans.decided.len() - 1
        });
        match &self.plans.decided[at].1 {
            Some(decision) => {
                self.plans.levels = Some(decision.levels.clone());
                decision.algorithm
            }
            None => self.by_rules(task, bytes),
        }
    }

    /// What tells meshes of different extents (which may use one algorithm) and
    /// different counts of the same sum apart.
    #[inline(always)]
    fn shape(&self, task: &Task<'_>) -> Shape {
        if let Some(salt) = self.salt {
            return salt;
        }
        let extents = |dims| (0..Extents::dimensions(dims)).map(|d| dims.extent(d));
        let fabric = self.port.fabric();
        let records = || fabric.world().records(fabric.member(self.rank()));
        match (self.dims(), task.cut) {
            (Some(dims), Cut::Varied(counts)) => records().varied(counts, extents(dims)),
            (None, Cut::Varied(counts)) => records().varied(counts, std::iter::empty()),
            (Some(dims), _) => Shape::of_mesh(extents(dims)),
            (None, _) => match (&self.choice, &self.plans.levels) {
                (Choice::Groups(_), Some(groups)) => {
                    let of = |r| (0..groups.stages()).filter_map(move |l| groups.group(l, r));
                    let degrees = (0..groups.stages()).map(|stage| groups.degree(stage));
                    Shape::of_mesh((0..groups.ranks()).flat_map(of).chain(degrees))
                }
                _ => Shape::NONE,
            },
        }
    }

    fn is_varied(&self, task: &Task<'_>) -> bool {
        matches!(task.cut, Cut::Varied(_) | Cut::Pairs { .. })
    }

    #[cold]
    fn forced(&self, choice: &Choice, task: &Task<'_>) -> Algorithm {
        let shape = match choice {
            Choice::Algorithm(algorithm) | Choice::On(algorithm, _) => return *algorithm,
            Choice::Ring => schedule::Shape::Ring,
            Choice::Mesh(extents) => schedule::Shape::Mesh(extents.clone()),
            Choice::Hypercube => schedule::Shape::Hypercube,
            Choice::Tree => schedule::Shape::Tree,
            Choice::Auto | Choice::Model(_) | Choice::Levels(_) | Choice::Groups(_) => {
                unreachable!("handled by the caller")
            }
        };
        Algorithm::for_topology(task.operation, &shape, self.size(), task.commutative)
    }

    /// The cheapest algorithm by the cost model, of those that can serve.
    #[cold]
    fn modelled(&mut self, rates: Rates, task: &Task<'_>) -> Algorithm {
        let key = Chosen {
            rates,
            operation: task.operation,
            parameter: task.parameter(),
            words: self.words(task),
            commutative: task.commutative,
            pairs: matches!(task.cut, Cut::Pairs { .. }),
        };
        if let Some((_, algorithm)) = self.plans.chosen.iter().find(|(k, _)| *k == key) {
            return *algorithm;
        }
        let request = self.request(task, Algorithm::BC_ANY);
        let ranked = rank(&request, key.words as f64, rates, None);
        let served = ranked.iter().map(|r| r.algorithm).find(|&a| self.schedule(task, a).is_ok());
        let shape = schedule::Shape::Hypercube;
        let algorithm = served.unwrap_or_else(|| {
            Algorithm::for_topology(task.operation, &shape, self.size(), task.commutative)
        });
        if self.plans.chosen.len() == KEPT {
            self.plans.chosen.clear();
        }
        self.plans.chosen.push((key, algorithm));
        algorithm
    }

    /// The m of the cost model: elements of the vector, or of a block.
    fn words(&self, task: &Task<'_>) -> usize {
        match task.cut {
            Cut::Vector(n) | Cut::Equal(n) => n,
            Cut::Varied(_) => task.len.div_ceil(self.size()),
            Cut::Pairs { send, .. } => send.iter().sum::<usize>().div_ceil(self.size()),
        }
    }

    /// The segments of a pipelined chain that the cost model has chosen.
    fn segments(&self, task: &Task<'_>, algorithm: Algorithm) -> Option<usize> {
        let Choice::Model(rates) = self.choice else { return None };
        let is_chain = matches!(algorithm, Algorithm::BC_CHAIN | Algorithm::RED_CHAIN);
        is_chain.then(|| best_segments(self.size(), self.words(task) as f64, rates.t_s, rates.t_w))
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
        // SAFETY: passed on.
        if self.is_auto() && unsafe { self.again(task, kernel, input, output) } {
            return;
        }
        if self.is_wide() {
            // SAFETY: passed on.
            return unsafe { self.perform_wide(task, kernel, input, output) };
        }
        let bytes = match task.cut {
            Cut::Vector(n) | Cut::Equal(n) => n.saturating_mul(kernel.size()),
            Cut::Varied(_) | Cut::Pairs { .. } => task.len.saturating_mul(kernel.size()),
        };
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
        let path = if algorithm.is_fused() && !idle { Path::Fused } else { Path::Schedule };
        let result = match path {
            Path::Fused => {
                if let Err(unfit) = self.fits(task, algorithm) {
                    return self.wrong(task.sig, task.at, task.len, unfit);
                }
                if !self.enter(task.sig, task.at, params) {
                    return;
                }
                // SAFETY: passed on.
                unsafe { self.fused(task, kernel, input, output) }
            }
            Path::Schedule => {
                if let Err(unfit) = self.prepare(task, algorithm, kernel) {
                    return self.wrong(task.sig, task.at, task.len, unfit);
                }
                if !self.enter(task.sig, task.at, params) {
                    return;
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

    /// The schedule of `algorithm` for the task, or why it cannot serve it.
    fn schedule(&self, task: &Task<'_>, algorithm: Algorithm) -> Result<Schedule, String> {
        let schedule = algorithm
            .schedule(&self.request(task, algorithm))
            .map_err(|unfit| unfit.to_string())?;
        if !task.commutative && !schedule.is_ordered() {
            return Err(format!(
                "{algorithm} does not combine in rank order, which {} needs",
                task.sig.operator
            ));
        }
        if matches!(task.cut, Cut::Pairs { .. }) && forwards(&schedule, self.rank()) {
            return Err(format!(
                "{algorithm} forwards blocks, whose lengths a rank on the way does not know"
            ));
        }
        Ok(schedule)
    }

    fn request(&self, task: &Task<'_>, algorithm: Algorithm) -> Request {
        let mut request =
            Request::new(task.operation, self.size()).root(task.root).shift(task.shift as isize);
        if let Some(dims) = self.dims() {
            request = request.dims(dims.clone());
        }
        if let Some(segments) = self.segments(task, algorithm) {
            request = request.segments(segments);
        }
        if let Some(levels) = self.levels(algorithm) {
            request = request.levels(Hierarchy::clone(&levels));
        }
        request
    }

    /// The groups for a hierarchical algorithm: those of the choice, else the machine's.
    fn levels(&self, algorithm: Algorithm) -> Option<Arc<Hierarchy>> {
        if !algorithm.uses_levels() {
            return None;
        }
        match (&self.choice, &self.usual) {
            (Choice::Levels(_) | Choice::Groups(_), _) => self.plans.levels.clone(),
            (_, Choice::Levels(model)) => Some(Arc::new(model.hierarchy().clone())),
            _ => None,
        }
    }

    /// Makes `plans.latest` (or `plans.odd`) the plan for the task.
    #[inline(always)]
    fn prepare(
        &mut self,
        task: &Task<'_>,
        algorithm: Algorithm,
        kernel: &Kernel<'_>,
    ) -> Result<(), String> {
        let (vector, len) = match task.cut {
            Cut::Vector(n) => (true, n),
            Cut::Equal(n) => (false, n),
            Cut::Varied(_) | Cut::Pairs { .. } => return self.bind_odd(task, algorithm, kernel),
        };
        self.plans.odd = None;
        let dims = self.dims().cloned();
        let segments = self.segments(task, algorithm);
        let levels = self.levels(algorithm);
        let fits = |key: &Key| {
            key.algorithm == algorithm
                && key.len == len
                && key.parameter == task.parameter()
                && key.size == kernel.size()
                && key.operation == task.operation
                && key.vector == vector
                && key.commutative == task.commutative
                && key.dims == dims
                && key.segments == segments
                && key.levels == levels
        };
        let plans = &mut self.plans;
        if plans.kept.get(plans.latest).is_some_and(|(key, _)| fits(key)) {
            return Ok(());
        }
        if let Some(i) = plans.kept.iter().position(|(key, _)| fits(key)) {
            plans.latest = i;
            return Ok(());
        }
        let key = Key {
            algorithm,
            operation: task.operation,
            parameter: task.parameter(),
            vector,
            len,
            size: kernel.size(),
            commutative: task.commutative,
            dims,
            segments,
            levels,
        };
        self.bind_new(key, task, kernel)
    }

    #[cold]
    fn bind_new(&mut self, key: Key, task: &Task<'_>, kernel: &Kernel<'_>) -> Result<(), String> {
        let schedule = self.schedule(task, key.algorithm)?;
        let plan = bind(&schedule, self.rank(), task.cut, kernel.size());
        let plans = &mut self.plans;
        if plans.kept.len() < KEPT {
            plans.kept.push((key, plan));
            plans.latest = plans.kept.len() - 1;
        } else {
            plans.recent = Recent::default();
            plans.latest = (plans.latest + 1) % KEPT;
            plans.kept[plans.latest] = (key, plan);
        }
        Ok(())
    }

    #[cold]
    fn bind_odd(
        &mut self,
        task: &Task<'_>,
        algorithm: Algorithm,
        kernel: &Kernel<'_>,
    ) -> Result<(), String> {
        let schedule = self.schedule(task, algorithm)?;
        self.plans.odd = Some(bind(&schedule, self.rank(), task.cut, kernel.size()));
        Ok(())
    }

    /// # Safety
    /// As [`perform`](Comm::perform).
    unsafe fn fused(
        &mut self,
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
    let buffers = match task.operation {
        // One buffer of all blocks, and one block for each rank.
        Operation::Scatter | Operation::Gather => 2,
        Operation::AllGather | Operation::ReduceScatter => p + 1,
        Operation::AllToAll => 2 * p,
        _ => p,
    };
    larger.saturating_mul(size).saturating_mul(buffers)
}

/// Whether choices are to be printed.
fn explains() -> bool {
    static EXPLAINS: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("PHALANX_EXPLAIN").is_some_and(|v| v == "1"));
    *EXPLAINS
}

#[cold]
fn explain(model: &LevelModel, operation: Operation, bytes: usize, decision: Option<&Decision>) {
    let (p, costs) = (model.ranks(), model.costs());
    match decision {
        Some(decision) => eprintln!(
            "phalanx: {operation} of {bytes} to {} bytes on {p} ranks: {decision} (estimated, levels of {costs})",
            2 * bytes - 1
        ),
        None => eprintln!("phalanx: {operation} on {p} ranks: by rules, no hierarchical algorithm"),
    }
}

/// Whether `rank` sends blocks of an all-to-all that are not its own.
fn forwards(schedule: &Schedule, rank: usize) -> bool {
    let p = schedule.contract().ranks;
    (0..schedule.steps()).any(|k| {
        let step = schedule.step(k, rank);
        step.sends.iter().flat_map(|s| &s.blocks).any(|run| run.range().any(|b| b / p != rank))
    })
}
