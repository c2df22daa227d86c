//! Turns a request into the cases to measure, and reports its mistakes.

use super::call_buffers::{BufferShape, has_blocks, sets_for};
use super::call_form::CallForm;
use super::element::Type;
use super::operator::Redop;
use super::ring;
use super::run_conditions::available_memory;
use super::sample::{Force, Root, SampleBudget, SampleCase};
use crate::byte_size;
use crate::failure::Failure;
use crate::measure::caches::CachesAsked;
use crate::suggest;
use phalanx::Algorithm;
use phalanx::schedule::{self, Operation, Request};
use phalanx::topology::Extents;
use std::str::FromStr;

/// The algorithms to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The library's choice.
    Auto,
    /// All that can serve.
    All,
    /// This one.
    One(Algorithm),
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match suggest::plain(text).as_str() {
            "auto" => Ok(Wanted::Auto),
            "all" => Ok(Wanted::All),
            _ => {
                let one = text.parse().map(Wanted::One);
                one.map_err(|e| format!("{e} accepted are auto, all and the ids of algorithms"))
            }
        }
    }
}

/// The measured call: an operation in one of its forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) operation: Operation,
    pub(crate) form: CallForm,
}

impl Measured {
    /// As it is asked for.
    pub(crate) fn name(self) -> String {
        format!("{}{}", self.operation, self.form.suffix())
    }
}

impl From<Operation> for Measured {
    fn from(operation: Operation) -> Self {
        Measured { operation, form: CallForm::Even }
    }
}

/// Reads an operation's name; hyphens and case do not matter.
pub(crate) fn parse_operation(text: &str) -> Result<Measured, String> {
    let bare = |name: &str| suggest::plain(name).replace('-', "");
    let found = |text: &str| Operation::ALL.into_iter().find(|op| bare(op.name()) == bare(text));
    let asked = bare(text);
    for form in CallForm::NAMED {
        let named = asked.strip_suffix(&bare(form.suffix())).and_then(found);
        if let Some(operation) = named.filter(|&operation| form.is_of(operation)) {
            return Ok(Measured { operation, form });
        }
    }
    let unknown = || {
        let forms = CallForm::NAMED.into_iter().chain([CallForm::Even]);
        let all =
            forms.flat_map(|form| Operation::ALL.map(|operation| Measured { operation, form }));
        let all = all.filter(|it| it.form.is_of(it.operation));
        let all: Vec<String> = all.map(Measured::name).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let near = suggest::nearest(&suggest::plain(text), &all);
        let near = near.map_or(String::new(), |it| format!("; did you mean {it}?"));
        let accepted = Operation::ALL.map(Operation::name).join(", ");
        let forms = CallForm::NAMED.map(CallForm::suffix).join(", ");
        format!("unknown operation '{text}'{near}; accepted are {accepted}, and of some {forms}")
    };
    found(text).map(Measured::from).ok_or_else(unknown)
}

/// Everything that was asked for, for a known number of ranks.
#[derive(Clone, Debug)]
pub(crate) struct BenchRequest {
    pub(crate) operations: Vec<Measured>,
    pub(crate) wanted: Wanted,
    pub(crate) ty: Type,
    pub(crate) redop: Redop,
    pub(crate) root: Root,
    pub(crate) shift: isize,
    pub(crate) dims: Option<Extents>,
    pub(crate) in_place: bool,
    /// Operations in place with a second buffer, to which the input is copied first.
    pub(crate) apart: bool,
    /// The sizes in bytes; none if the smallest is above the largest.
    pub(crate) sizes: Vec<usize>,
    pub(crate) min: usize,
    pub(crate) max: usize,
    pub(crate) caches: CachesAsked,
    pub(crate) effort: SampleBudget,
}

/// The cases, and the ones left out of `all`, and why.
#[derive(Debug)]
pub(crate) struct BenchPlan {
    pub(crate) cases: Vec<SampleCase>,
    pub(crate) skipped: Vec<String>,
}

impl BenchRequest {
    /// The checks that do not depend on the number of ranks.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let (min, max) = (byte_size::text(self.min), byte_size::text(self.max));
        if self.min > self.max {
            let what = format!("the smallest size {min} is above the largest {max}; see -b and -e");
            return Err(Failure::Usage(what));
        }
        if !self.ty.has(self.redop) {
            let (redop, ty) = (self.redop, self.ty);
            let what = format!("{ty} has no operator {redop}; floats have sum, prod, min and max");
            return Err(Failure::Usage(what));
        }
        let apart = self.operations.iter().find(|it| has_blocks(it.operation));
        if let (true, Some(Measured { operation: op, .. })) = (self.in_place, apart) {
            return Err(Failure::Usage(format!("{op} does not work in place: it has two buffers")));
        }
        let is_forced = self.wanted != Wanted::Auto || self.dims.is_some();
        let without = self.operations.iter().find(|it| !it.form.has_algorithms());
        if let Some(it) = without.filter(|_| is_forced) {
            let why = match it.form {
                CallForm::Started => "started calls have one way of their own",
                _ => "each rank has its data from its neighbours",
            };
            return Err(Failure::Usage(format!("{} has no algorithms: {why}", it.name())));
        }
        Ok(())
    }

    /// The measure asked for that is among neighbours only, if anything is.
    fn neighbors(&self) -> Option<Measured> {
        self.operations.iter().copied().find(|it| it.form.is_among_neighbors())
    }

    /// The cases for `ranks` ranks.
    pub(crate) fn plan(&self, ranks: usize) -> Result<BenchPlan, Failure> {
        if let Root::Rank(root) = self.root
            && root >= ranks
        {
            let what = format!("root {root} is out of range: {ranks} ranks are 0 to {}", ranks - 1);
            return Err(Failure::Usage(what));
        }
        if let Some(dims) = &self.dims
            && dims.ranks() != ranks
        {
            let what = format!("a {dims} mesh has {} ranks, not {ranks}", dims.ranks());
            return Err(Failure::Usage(what));
        }
        if let Some(it) = self.neighbors().filter(|_| ranks == 1) {
            return Err(Failure::Usage(format!("one rank has no neighbours for {}", it.name())));
        }
        let mut plan = BenchPlan { cases: Vec::new(), skipped: Vec::new() };
        for measured in self.all_operations() {
            for force in self.forces(measured.operation, ranks, &mut plan.skipped)? {
                plan.cases.extend(self.cases(measured, &force, ranks));
            }
        }
        check_memory(&plan.cases, ranks)?;
        Ok(plan)
    }

    /// The operations asked for; if none was named, all that go with the rest.
    fn all_operations(&self) -> Vec<Measured> {
        let mut operations = self.operations.clone();
        if operations.is_empty() {
            operations = match self.wanted {
                Wanted::One(algorithm) => algorithm.operations(),
                _ => &Operation::ALL,
            }
            .iter()
            .map(|&operation| Measured::from(operation))
            .collect();
            operations.retain(|it| !self.in_place || !has_blocks(it.operation));
        }
        let mut seen = Vec::new();
        operations.retain(|op| !seen.contains(op) && (seen.push(*op), true).1);
        operations
    }

    fn forces(
        &self,
        operation: Operation,
        ranks: usize,
        skipped: &mut Vec<String>,
    ) -> Result<Vec<Force>, Failure> {
        match self.wanted {
            Wanted::Auto => Ok(vec![match &self.dims {
                None => Force::Auto,
                Some(dims) => mesh(operation, dims, ranks),
            }]),
            Wanted::One(algorithm) => {
                let force = self.force(algorithm, operation, ranks).map_err(Failure::Usage)?;
                Ok(vec![force])
            }
            Wanted::All => {
                let mut forces = Vec::new();
                for algorithm in Algorithm::for_operation(operation) {
                    match self.force(algorithm, operation, ranks) {
                        Ok(force) => forces.push(force),
                        Err(why) => skipped.push(format!("{operation} without {algorithm}: {why}")),
                    }
                }
                Ok(forces)
            }
        }
    }

    /// `algorithm`, if it can serve `operation`.
    fn force(
        &self,
        algorithm: Algorithm,
        operation: Operation,
        ranks: usize,
    ) -> Result<Force, String> {
        let mut request = Request::new(operation, ranks).shift(self.shift);
        if let Some(dims) = &self.dims {
            request = request.dims(dims.clone());
        }
        let roots = match self.root {
            Root::Rank(root) => root..root + 1,
            Root::All => 0..if operation.is_rooted() { ranks } else { 1 },
        };
        for root in roots {
            let request = request.clone().root(root);
            let _: schedule::Schedule =
                algorithm.schedule(&request).map_err(|unfit| unfit.to_string())?;
        }
        Ok(match &self.dims {
            Some(dims) if algorithm.uses_dims() => Force::On(algorithm, dims.clone()),
            _ => Force::Algorithm(algorithm),
        })
    }

    fn cases(&self, measured: Measured, force: &Force, ranks: usize) -> Vec<SampleCase> {
        let operation = measured.operation;
        let sizes = match operation {
            Operation::Barrier => vec![0],
            _ => self.sizes.clone(),
        };
        let mut cases: Vec<SampleCase> = Vec::new();
        for bytes in sizes {
            let elements = bytes / self.ty.size();
            let count = match operation {
                Operation::Barrier => 0,
                op if has_blocks(op) => {
                    let parts = match measured.form.is_among_neighbors() {
                        true => ring::degree(ranks),
                        false => ranks,
                    };
                    (elements / parts).max(1) * parts
                }
                _ => elements.max(1),
            };
            if cases.last().is_some_and(|case| case.shape.count == count) {
                continue;
            }
            let auto = || if self.effort.crowded { 1 } else { sets_for(count * self.ty.size()) };
            let sets = self.effort.calls.unwrap_or_else(auto);
            let can_be_apart = operation != Operation::Barrier && operation.is_in_place();
            let apart = self.apart && can_be_apart;
            let redop = operation.combines().then_some(self.redop);
            let (shift, form) = (self.shift, measured.form);
            let shape = BufferShape { operation, redop, count, sets, shift, apart, form };
            for &caches in self.caches.states() {
                let (force, root, effort) = (force.clone(), self.root, self.effort);
                cases.push(SampleCase { shape, ty: self.ty, force, root, caches, effort });
            }
        }
        cases
    }
}

/// The meaning of a mesh of these extents for `operation`.
fn mesh(operation: Operation, dims: &Extents, ranks: usize) -> Force {
    let shape = schedule::Topology::Mesh(dims.clone());
    let algorithm = Algorithm::for_topology(operation, &shape, ranks, true);
    Force::On(algorithm, dims.clone())
}

/// Bytes that the lists take, for each element, while a plan among neighbours is made.
const PLAN_BYTES: u128 = 6 * size_of::<usize>() as u128;

/// Refuses sizes that the memory cannot hold, before the system kills us.
fn check_memory(cases: &[SampleCase], ranks: usize) -> Result<(), Failure> {
    let need = |case: &SampleCase| {
        let two = case.shape.apart || has_blocks(case.shape.operation);
        let sets = case.shape.sets as u128;
        // A shift in place, a scan and the like keep one more inside.
        let buffers = if two { 2 * sets + 1 } else { sets + 1 };
        let plan = if case.shape.form == CallForm::Neighbors { PLAN_BYTES } else { 0 };
        let each = buffers * case.ty.size() as u128 + plan;
        ranks as u128 * case.shape.count as u128 * each
    };
    let Some(available) = available_memory() else { return Ok(()) };
    match cases.iter().max_by_key(|case| need(case)) {
        Some(case) if need(case) > u128::from(available) => Err(Failure::Usage(format!(
            "{} of {} bytes on {ranks} ranks needs {} MiB of memory, and {} MiB are available; \
             give a smaller -e",
            case.shape.operation,
            case.shape.count as u128 * case.ty.size() as u128,
            need(case) >> 20,
            available >> 20
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::caches::CacheState;
    use std::time::Duration;

    fn wish() -> BenchRequest {
        BenchRequest {
            operations: vec![],
            wanted: Wanted::Auto,
            ty: Type::F64,
            redop: Redop::Sum,
            root: Root::Rank(0),
            shift: 1,
            dims: None,
            in_place: false,
            apart: false,
            sizes: vec![8, 64],
            min: 8,
            max: 64,
            caches: CachesAsked::One(CacheState::Warm),
            effort: SampleBudget {
                samples: None,
                warmup: 1,
                time: Duration::ZERO,
                check: true,
                crowded: false,
                calls: None,
            },
        }
    }

    #[test]
    fn all_operations_are_planned() {
        let plan = wish().plan(3).unwrap();
        // 24 and 48 bytes for the operations with blocks.
        assert_eq!(plan.cases.len(), (Operation::ALL.len() - 1) * 2 + 1);
        let gather = plan.cases.iter().find(|c| c.shape.operation == Operation::AllGather);
        assert_eq!(gather.unwrap().shape.count, 3);
        assert!(plan.skipped.is_empty());
    }

    #[test]
    fn what_cannot_serve_is_skipped_or_refused() {
        let mut w = wish();
        w.operations = vec![Operation::AllGather.into(), Operation::AllGather.into()];
        w.wanted = Wanted::All;
        let plan = w.plan(6).unwrap();
        assert!(plan.skipped.iter().any(|s| s.contains("AG-HCUBE needs a power of two")));
        assert!(plan.cases.iter().any(|c| c.force.name() == "AG-RING"));
        w.wanted = Wanted::One(Algorithm::AG_HCUBE);
        assert!(w.plan(6).is_err());
        assert_eq!(w.plan(4).unwrap().cases.len(), 2);
    }

    #[test]
    fn neighbours_are_of_several_ranks_and_have_no_algorithms() {
        let mut w = wish();
        w.operations = ["all-to-all-neighbors", "all-to-all-messages"]
            .map(|name| parse_operation(name).unwrap())
            .to_vec();
        let counts = |ranks| {
            let plan = w.plan(ranks).unwrap();
            plan.cases.iter().map(|case| case.shape.count).collect::<Vec<_>>()
        };
        // 8 and 64 bytes, in a part for each of 1, 2 or 4 neighbours.
        let twice = |counts: [usize; 2]| [counts, counts].concat();
        assert_eq!([2, 3, 7].map(counts), [[1, 8], [2, 8], [4, 8]].map(twice));
        assert!(w.check().is_ok() && w.plan(1).is_err());
        w.wanted = Wanted::All;
        assert!(w.check().is_err());
    }

    #[test]
    fn names_are_read() {
        assert_eq!(parse_operation("AllReduce"), Ok(Operation::AllReduce.into()));
        for form in CallForm::NAMED {
            let it = Measured { operation: Operation::AllToAll, form };
            assert_eq!(parse_operation(&it.name()), Ok(it));
        }
        assert!(parse_operation("all-reduce-messages").is_err());
        let text = parse_operation("all-to-al-started").unwrap_err();
        assert!(text.contains("did you mean all-to-all-started?"), "{text}");
        assert!(text.ends_with("of some -varied, -started, -neighbors, -messages"), "{text}");
        assert!(parse_operation("all-reduce-started").is_ok());
        assert!(parse_operation("all-gather-neighbors").is_err());
        assert!(parse_operation("all-reduce-varied").is_err());
        assert_eq!("ag-ring".parse(), Ok(Wanted::One(Algorithm::AG_RING)));
        assert!("AG-RNG".parse::<Wanted>().unwrap_err().contains("AG-RING"));
    }
}
