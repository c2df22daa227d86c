//! The watchdog, and the runs that must succeed, for the tests of misuse.
#![allow(dead_code, unused_imports, unexpected_cfgs)] // Each uses a part; not all have `half`.

mod damage;
pub(crate) mod dice;
mod one;
pub(crate) mod one_call;
mod one_result;
mod uneven;
mod watch;

pub(crate) use damage::{mutate, tries};
pub(crate) use dice::Dice;
pub(crate) use one::{
    again_and_again, all_at_once, compose, every_operation, map, one_call, value,
};
pub(crate) use one_call::{Buffers, MakesCalls, OneCall};
pub(crate) use one_result::{
    Bits, double, every_way_to, noise, one_result, one_result_of_floats, single,
};
#[cfg(feature = "half")]
pub(crate) use one_result::{brain, short};
pub(crate) use uneven::{UNEVEN, common_counts, every_uneven, lists, pairs};
pub(crate) use watch::{Watch, watch};

use phalanx::{Comm, Error, Team, op};

/// This test program again, with one test of a module (`module_path!()`), or all of them (`""`):
/// for tests that need a process of their own.
pub(crate) fn again(module: &str, test: &str) -> std::process::Command {
    let module = module.split_once("::").map_or("", |(_, module)| module);
    let here = std::env::current_exe().expect("a test program has a file");
    let mut command = std::process::Command::new(here);
    let exact = (!test.is_empty()).then_some("--exact");
    command.arg(format!("{module}::{test}")).args(exact).arg("--nocapture");
    command
}

/// A panic that prints nothing.
pub(crate) fn bomb() -> ! {
    std::panic::resume_unwind(Box::new("bomb"))
}

pub(crate) fn bomb_if(is_mine: bool) {
    if is_mine {
        bomb();
    }
}

pub(crate) fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

pub(crate) fn team(ranks: usize) -> Team {
    Team::builder().ranks(ranks).build().unwrap()
}

/// A vector that is overwritten before it is freed, so that whoever reads it later is noticed.
pub(crate) struct Canary(pub(crate) Vec<u64>);

pub(crate) const POISON: u64 = 0xdead_dead_dead_dead;

impl Drop for Canary {
    fn drop(&mut self) {
        self.0.fill(POISON);
        std::hint::black_box(&mut self.0);
    }
}

/// Ends the process if `x` has been freed. An assertion would not do in a run that fails anyway:
/// the first failure is its cause, and this would be the second.
pub(crate) fn look_alive(x: &[u64]) {
    if x.contains(&POISON) {
        watch::abort("a rank was shown memory that its owner has freed");
    }
}

/// Addition that refuses elements that are no longer alive.
pub(crate) fn add_alive(a: u64, b: u64) -> u64 {
    if a == POISON || b == POISON {
        watch::abort("an operator was given memory that its owner has freed");
    }
    a.wrapping_add(b)
}

/// A few collectives of each kind, checked.
pub(crate) fn right(comm: &mut Comm, salt: u64) {
    let (r, p) = (comm.rank() as u64, comm.size() as u64);
    for n in [1, 40] {
        let mut x = vec![salt + r; n];
        comm.all_reduce(&mut x, op::Sum);
        assert_eq!(x, vec![p * salt + p * (p - 1) / 2; n]);
        let mut all = vec![0; n * p as usize];
        comm.all_gather_into(&vec![salt ^ r; n], &mut all);
        assert!((0..p).all(|q| all[q as usize * n..][..n] == vec![salt ^ q; n]));
        let mut x = vec![r + salt; n];
        comm.broadcast(&mut x, comm.size() - 1);
        assert_eq!(x, vec![p - 1 + salt; n]);
    }
    comm.barrier();
}

/// The team still works.
pub(crate) fn check_usable(team: &Team, salt: u64) {
    if let Err(e) = team.run(|comm| right(comm, salt)) {
        panic!("a correct run after a failed one: {e}");
    }
}

/// `f` of each, on a thread of its own; none may panic.
pub(crate) fn on_threads<T: Send, R: Send>(
    all: impl IntoIterator<Item = T>,
    f: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let f = &f;
    std::thread::scope(|s| {
        let threads: Vec<_> = all.into_iter().map(|it| s.spawn(move || f(it))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The results of a run that must succeed. (By a pointer: not compiled for each closure.)
#[track_caller]
pub(crate) fn succeeds<R: Send>(team: &Team, f: impl Fn(&mut Comm) -> R + Sync) -> Vec<R> {
    let run = team.run(&f as &(dyn Fn(&mut Comm) -> R + Sync));
    run.unwrap_or_else(|error| panic!("{error}"))
}

/// The same; the case is told with the error.
#[track_caller]
pub(crate) fn runs<R: Send>(
    team: &Team,
    case: impl std::fmt::Display,
    f: impl Fn(&mut Comm) -> R + Sync,
) -> Vec<R> {
    team.run(f).unwrap_or_else(|error| panic!("{case}: {error}"))
}

/// The error of a run that must not succeed.
pub(crate) fn failure<R>(result: Result<Vec<R>, Error>) -> Error {
    match result {
        Err(e) => e,
        Ok(all) => panic!("the run succeeded, with {} results", all.len()),
    }
}

/// The error of a run that must not succeed, and after which the team still works.
pub(crate) fn fails<R: Send>(team: &Team, f: impl Fn(&mut Comm) -> R + Sync) -> Error {
    let error = failure(team.run(&f as &(dyn Fn(&mut Comm) -> R + Sync)));
    check_usable(team, 1);
    error
}

/// The error of a run that fails with all of `words`; the team works afterwards.
pub(crate) fn told(team: &Team, words: &[&str], f: impl Fn(&mut Comm) + Sync) -> Error {
    let error = fails(team, f);
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    error
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no whole number")))
}

/// Numbers of ranks, of those above `PHALANX_LARGEST` none where that is set: for builds in which
/// teams run slowly, and for `.ci/quick`.
pub(crate) fn sizes(all: impl IntoIterator<Item = usize>) -> impl Iterator<Item = usize> {
    let largest = number("PHALANX_LARGEST").map_or(usize::MAX, |n| n as usize);
    all.into_iter().filter(move |p| *p <= largest)
}

/// How often the random tests, and the generated ones, are to go round: 1, unless
/// `PHALANX_ROUNDS` says more.
pub(crate) fn rounds() -> usize {
    number("PHALANX_ROUNDS").map_or(1, |n| n as usize)
}

/// The seed that a random test begins with: `PHALANX_SEED`, else `usual`.
pub(crate) fn seed(usual: u64) -> u64 {
    number("PHALANX_SEED").unwrap_or(usual)
}
