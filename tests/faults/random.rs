//! Random programmes with random faults, p = 2 to 8 and 16: thousands of runs, each checked. A
//! result that a call returns must be right even in a run that fails later.
//!
//! The seed of a failure is printed; `PHALANX_SEED` begins with another one, and
//! `PHALANX_ROUNDS` multiplies the number of runs (1 takes seconds, 1000 an
//! evening).

use super::common::{
    Buffers, Canary, Dice, OneCall, POISON, Watch, add_alive, bomb, check_usable, right, rounds,
    seed, team, watch,
};
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Error, Team, op};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Call {
    Of(Operation),
    /// The operation on blocks of different lengths.
    Varied(Operation),
    Exchange,
    WithPeers,
    WithRoot,
    Split,
}

use Call::*;

pub(super) fn all_calls() -> Vec<Call> {
    let varied = [Operation::AllGather, Operation::Gather, Operation::AllToAll].map(Varied);
    let others = [Exchange, WithPeers, WithRoot, Split];
    Operation::ALL.into_iter().map(Of).chain(varied).chain(others).collect()
}

impl Call {
    fn operation(self) -> Option<Operation> {
        match self {
            Of(operation) | Varied(operation @ Operation::AllGather) => Some(operation),
            _ => None,
        }
    }
}

/// One call of a programme: the same on all ranks, but for a fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) call: Call,
    /// 0: the team's communicator, 1: all in reverse, 2: halves, 3: neighbours.
    pub(super) comm: usize,
    pub(super) n: usize,
    /// Root, distance, neighbour: taken modulo p.
    pub(super) parameter: usize,
    pub(super) algorithm: Option<Algorithm>,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Panic,
    Return,
    OtherLength,
    OtherCall,
    OtherParameter,
    OtherAlgorithm,
    Skip,
    Twice,
    /// The `k`-th time that user code is called in or after the step.
    InUserCode(usize),
    /// The communicators are lost.
    Forget,
    Drop,
    /// The step's failure is caught, if it fails, and the rank goes on.
    CatchOtherLength,
    None,
}

fn roll_step(dice: &mut Dice, p: usize) -> Step {
    let call = dice.of(&all_calls());
    let mut step = Step {
        call,
        comm: dice.of(&[0, 0, 0, 1, 2, 3]),
        n: dice.of(&[0, 1, 5, 6, 64, 600]),
        parameter: dice.below(p),
        algorithm: None,
    };
    if step.comm < 2 && dice.below(2) == 0 {
        step.algorithm = roll_algorithm(dice, call, step.parameter, p);
    }
    step
}

/// One that can serve the call.
fn roll_algorithm(dice: &mut Dice, call: Call, parameter: usize, p: usize) -> Option<Algorithm> {
    let operation = call.operation()?;
    let request = Request::new(operation, p).root(parameter).shift(parameter as isize);
    let serves = |a: &Algorithm| a.schedule(&request).is_ok_and(|s| s.is_ordered());
    let all: Vec<Algorithm> = Algorithm::for_operation(operation).filter(serves).collect();
    (!all.is_empty()).then(|| dice.of(&all))
}

fn value(rank: usize, i: usize) -> u64 {
    (rank * 1_000_003 + i * 7 + 1) as u64
}

fn vector(rank: usize, n: usize) -> Canary {
    Canary((0..n).map(|i| value(rank, i)).collect())
}

/// Ends the process if `got` is not as it should be: a wrong result must not pass for one of the
/// panics that are wanted.
fn expect(what: Step, got: &[u64], wanted: impl IntoIterator<Item = u64>) {
    let wanted: Vec<u64> = wanted.into_iter().collect();
    if got != wanted {
        let freed = if got.contains(&POISON) { "; it has been freed" } else { "" };
        eprintln!("{what:?} gave {got:?}, not {wanted:?}{freed}");
        std::process::abort();
    }
}

pub(super) fn make(comm: &mut Comm, it: Step, tick: &dyn Fn()) {
    match it.algorithm {
        Some(algorithm) => call(&mut comm.with(algorithm), it, tick),
        None => call(comm, it, tick),
    }
}

/// Makes the call on canaries, and looks at its result.
fn call(comm: &mut Comm, it: Step, tick: &dyn Fn()) {
    let (r, p, n) = (comm.rank(), comm.size(), it.n);
    let root = it.parameter % p;
    let mut one = vector(r, n);
    let check = |comm: &mut Comm, call: OneCall| {
        let adds = op::with_identity(op::ordered(u64::wrapping_add), 0);
        let Buffers { input, output, wanted } = call.buffers(adds, &value);
        let (input, mut output) = (Canary(input), Canary(output));
        let add = |a, b| {
            tick();
            add_alive(a, b)
        };
        let add = op::with_identity(op::ordered(add), 0);
        call.make(comm, add, (&input.0, &mut output.0));
        expect(it, &output.0, wanted);
    };
    match it.call {
        Of(operation) => {
            let call = OneCall::new(comm, operation, root as isize, n);
            check(comm, call);
        }
        Varied(operation) => {
            // Rank q's block has q + n elements, but for rank 0's.
            let counts: Vec<usize> = (0..p).map(|q| if q == 0 { 0 } else { q + n }).collect();
            let call = OneCall::varied(comm, operation, root as isize, &counts);
            check(comm, call);
        }
        Exchange => {
            let (to, from) = ((r + root) % p, (r + p - root) % p);
            comm.exchange(&vector(r, n).0, to, &mut one.0, from);
            expect(it, &one.0, (0..n).map(|i| value(from, i)));
        }
        WithPeers => comm.with_peers(&one.0, |all| {
            for (q, x) in all.iter().enumerate() {
                tick();
                expect(it, x, (0..x.len()).map(|i| value(q, i)));
            }
        }),
        WithRoot => comm.with_root(&one.0, root, |x| {
            tick();
            expect(it, x, (0..x.len()).map(|i| value(root, i)));
        }),
        Split => right(&mut comm.split(r % (n + 1), p - r), 7),
    }
}

/// The team's communicator and three of its children.
struct Comms<'a> {
    world: &'a mut Comm,
    children: Vec<Comm>,
}

impl Comms<'_> {
    fn get(&mut self, which: usize) -> &mut Comm {
        if which == 0 { self.world } else { &mut self.children[which - 1] }
    }
}

/// Runs `steps` on rank `comm`, with `fault` at step `at` if it is its own.
fn perform(comm: &mut Comm, steps: &[Step], fault: Option<(usize, Fault)>, jitter: u64) {
    let (r, p) = (comm.rank(), comm.size());
    let mut dice = Dice(jitter ^ r as u64);
    let children = vec![comm.split(0, p - r), comm.split(r % 2, r), comm.split(r / 2, r)];
    let mut comms = Comms { world: comm, children };
    let fuse = Cell::new(0);
    let tick = || match fuse.get() {
        0 => (),
        1 => bomb(),
        more => fuse.set(more - 1),
    };
    for (k, &step) in steps.iter().enumerate() {
        match dice.below(40) {
            0 => std::thread::sleep(Duration::from_micros(dice.word() % 300)),
            1..4 => std::thread::yield_now(),
            _ => (),
        }
        let mut it = step;
        let mine = fault.filter(|&(at, _)| at == k).map(|(_, fault)| fault);
        match mine {
            Some(Fault::Panic) => bomb(),
            Some(Fault::Return) => return,
            Some(Fault::OtherLength | Fault::CatchOtherLength) => it.n += 1,
            Some(Fault::OtherCall) => {
                let all = all_calls();
                let at = all.iter().position(|&c| c == it.call).unwrap();
                it.call = all[(at + 1 + it.n) % all.len()];
                it.algorithm = None;
            }
            Some(Fault::OtherParameter) => it.parameter += 1,
            Some(Fault::OtherAlgorithm) if it.algorithm.is_some() => it.algorithm = None,
            Some(Fault::OtherAlgorithm) => {
                it.algorithm = roll_algorithm(&mut dice, it.call, it.parameter, p)
            }
            Some(Fault::Skip) => continue,
            Some(Fault::Twice) => make(comms.get(it.comm), it, &tick),
            Some(Fault::InUserCode(calls)) => fuse.set(calls),
            Some(Fault::Forget) => {
                std::mem::take(&mut comms.children).into_iter().for_each(std::mem::forget);
                return;
            }
            Some(Fault::Drop) => comms.children.clear(),
            _ => (),
        }
        if let Some(Fault::CatchOtherLength) = mine {
            let go = || make(comms.get(it.comm), it, &tick);
            if catch_unwind(AssertUnwindSafe(go)).is_err() {
                // Refused from now on, all of them.
                for which in 0..4 {
                    let again = || comms.get(which).barrier();
                    if catch_unwind(AssertUnwindSafe(again)).is_ok() {
                        eprintln!("communicator {which} goes on after a failure");
                        std::process::abort();
                    }
                }
                return;
            }
        } else {
            if it.comm > 0 && comms.children.is_empty() {
                return;
            }
            make(comms.get(it.comm), it, &tick);
        }
    }
}

/// Whether `error` can follow from `fault` in that rank.
fn is_plausible(error: &Error, fault: Fault, who: usize) -> bool {
    match fault {
        Fault::Panic | Fault::InUserCode(_) => {
            matches!(error, Error::Panicked { rank, message, .. }
                if *rank == who && message == "bomb")
        }
        Fault::None => false,
        _ => matches!(
            error,
            Error::Left { .. }
                | Error::Unreceived { .. }
                | Error::Mismatch { .. }
                | Error::Deadlock { .. }
                // An algorithm that does not take the other root.
                | Error::Argument { .. }
        ),
    }
}

fn one_run(watch: &Watch, team: &Team, seed: u64, number: usize) -> bool {
    let p = team.size();
    let mut dice = Dice(seed);
    let steps: Vec<Step> = (0..3 + dice.below(10)).map(|_| roll_step(&mut dice, p)).collect();
    let (who, at) = (dice.below(p), dice.below(steps.len()));
    let fault = match dice.below(20) {
        0..2 => Fault::Panic,
        2..4 => Fault::Return,
        4..6 => Fault::OtherLength,
        6 => Fault::OtherCall,
        7 => Fault::OtherParameter,
        8 => Fault::OtherAlgorithm,
        9 => Fault::Skip,
        10 => Fault::Twice,
        11 => Fault::Forget,
        12 => Fault::Drop,
        13 => Fault::CatchOtherLength,
        14..17 => Fault::InUserCode(1 + dice.below(3)),
        17..19 => Fault::InUserCode(1 + dice.below(200)),
        _ => Fault::None,
    };
    let name = || {
        let steps: Vec<String> = steps.iter().map(|s| format!("  {s:?}\n")).collect();
        format!("seed {seed}, p={p}, {fault:?} of rank {who} at step {at} of\n{}", steps.concat())
    };
    watch.case(name());
    let result = team.run(|comm| {
        let fault = (comm.rank() == who).then_some((at, fault));
        perform(comm, &steps, fault, seed);
    });
    if let Err(error) = &result {
        assert!(is_plausible(error, fault, who), "{error}\n{}", name());
    }
    if number.is_multiple_of(8) {
        check_usable(team, seed);
    } else if let Err(error) = team.run(|comm| {
        let mut x = [comm.rank(), 1, 1, 1, 1, 1];
        comm.all_reduce(&mut x, op::Sum);
        assert_eq!(x[..2], [p * (p - 1) / 2, p]);
    }) {
        panic!("a correct run afterwards: {error}\n{}", name());
    }
    result.is_err()
}

fn bombs(p: usize, runs: usize) {
    let watch = watch();
    let team = team(p);
    let first = seed(p as u64 * 1_000_000);
    let runs = runs * rounds();
    let failed = (0..runs).filter(|&k| one_run(&watch, &team, first + k as u64, k)).count();
    println!("p={p}: seeds {first} to {}: {failed} of {runs} runs failed", first + runs as u64);
    assert!(failed > runs / 3, "only {failed} of {runs}");
}

macro_rules! at_random {
    ($($name:ident $p:literal $runs:literal;)*) => {$(
        #[test]
        fn $name() {
            bombs($p, $runs);
        }
    )*};
}

at_random! {
    two_ranks 2 800;
    three_ranks 3 600;
    four_ranks 4 400;
    five_ranks 5 300;
    six_ranks 6 250;
    seven_ranks 7 200;
    eight_ranks 8 200;
    sixteen_ranks 16 60;
}
