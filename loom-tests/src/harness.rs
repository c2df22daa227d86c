//! Runs a model exhaustively, counts its executions, and runs it again with each publishing store
//! that it uses weakened.

use crate::sync::{Site, weaken};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// Preemptions at the most where `PHALANX_MODELS=short` asks for the form of `.ci/run`, for what
/// must hold in all executions; one less with a store relaxed that is not noticed. A mistake is
/// looked for without this limit, since that ends at the first failure.
const SHORT: usize = 2;

/// Models of so many executions, which take minutes, and those of four ranks, the short form runs
/// with their mistakes only.
const NIGHT: usize = 150_000;

/// A model: a body that loom runs in every interleaving, and the outcomes that must come
/// out of that.
pub(crate) struct Model {
    /// `protocol: case`, for the table.
    pub(crate) name: &'static str,
    /// Threads, loom's main thread being one of them.
    pub(crate) ranks: usize,
    /// Preemptions explored per execution; `None` for all.
    pub(crate) bound: Option<usize>,
    /// At least so many executions: fewer mean that something was cut away.
    pub(crate) floor: usize,
    /// Labels given to [`reached`]: each must be reached in some execution.
    pub(crate) reaches: &'static [&'static str],
    /// Sites of which this model must catch the weakening: of the stores, and of the loads that
    /// meet them.
    pub(crate) catches: &'static [Site],
    /// Sites that the model passes through, and of which it cannot notice the weakening of stores
    /// notice. (That of the loads takes away the same edges.) Checked too: with `catches` these are
    /// all that it passes.
    pub(crate) silent: &'static [Site],
    pub(crate) body: fn(),
}

thread_local! {
    /// The labels reached by the model on this (operating system's) thread.
    static REACHED: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
    /// The test is for a panic on this thread.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Says nothing of the panics that must happen (hundreds of lines of
/// backtrace each).
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() || std::env::var_os("LOOM_TESTS_LOUD").is_some() {
                usual(info);
            }
        }));
    });
}

/// Notes that an execution came by here.
pub(crate) fn reached(label: &'static str) {
    REACHED.with_borrow_mut(|r| {
        r.insert(label);
    });
}

/// Checks that a mutant of the library fails in `body`, with a message that
/// has `finding` in it.
pub(crate) fn must_fail(name: &'static str, bound: Option<usize>, finding: &str, body: fn()) {
    let outcome = explore(body, bound, Weak::Mutant);
    let failure = outcome.failure.unwrap_or_else(|| panic!("{name}: the mutant passes"));
    assert!(failure.contains(finding), "{name}: not for this reason: {failure}");
    let first = failure.lines().next().unwrap_or("");
    drop(Rows(vec![format!(
        "{name:<50} | mutant caught in execution {}: {first}",
        outcome.executions
    )]));
}

/// A model's rows of the table, shown together at the end, or at the failure.
/// Straight to the file: not captured by the test harness.
struct Rows(Vec<String>);

impl Drop for Rows {
    fn drop(&mut self) {
        let rows = self.0.join("\n") + "\n";
        std::io::stderr().write_all(rows.as_bytes()).unwrap_or(());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Weak {
    Nothing,
    Site(Site),
    /// The loads of a site.
    Load(Site),
    Mutant,
}

struct Outcome {
    executions: usize,
    time: Duration,
    /// The panic's message.
    failure: Option<String>,
    passed: BTreeSet<Site>,
    reached: BTreeSet<&'static str>,
}

/// A test of a model by its facts; those that are empty lists may be left out. Then what else it
/// checks.
macro_rules! model {
    ($(#[$about:meta])* $test:ident; $($fact:ident: $value:expr),+ $(; $($more:tt)*)?) => {
        $(#[$about])*
        #[test]
        #[allow(clippy::needless_update)]
        fn $test() {
            crate::harness::Model { $($fact: $value,)+ ..crate::harness::Model::EMPTY }.check();
            $($($more)*)?
        }
    };
}
pub(crate) use model;

impl Model {
    pub(crate) const EMPTY: Self = Model {
        name: "",
        ranks: 0,
        bound: None,
        floor: 0,
        reaches: &[],
        catches: &[],
        silent: &[],
        body: || unreachable!(),
    };

    pub(crate) fn check(&self) {
        let (name, mut rows) = (self.name, Rows(Vec::new()));
        let is_short = std::env::var("PHALANX_MODELS").is_ok_and(|form| form == "short");
        if is_short && (self.floor >= NIGHT || self.ranks > 3) {
            rows.0.push(format!("{name:<50} | left to .ci/night but its mistakes"));
        } else {
            self.check_sound(is_short, &mut rows);
        }
        if crate::trace::is_wanted() {
            return;
        }
        for site in self.catches {
            for (side, weak) in [("stores", Weak::Site(*site)), ("loads", Weak::Load(*site))] {
                let weak = explore(self.body, self.bound, weak);
                let Some(failure) = weak.failure else {
                    panic!("{name}: does not notice that {side} of {site:?} are relaxed");
                };
                let (n, first) = (weak.executions, failure.lines().next().unwrap_or(""));
                let row = format!("{site:?}, {side} relaxed: caught in execution {n}: {first}");
                rows.0.push(format!("{:<50} |   {row}", ""));
                // Running out of branches is no finding.
                assert!(
                    !failure.contains("maximum number of branches"),
                    "{name}: {site:?}, {side} relaxed, gives a livelock, not a finding: {failure}"
                );
            }
        }
    }

    /// As it is, and with each store relaxed that it cannot notice.
    fn check_sound(&self, is_short: bool, rows: &mut Rows) {
        let name = self.name;
        // (With three ranks and no bound a wait gives way without end under one.)
        let is_short = is_short && (self.ranks == 2 || self.bound.is_some());
        let at_most = |most: usize| Some(self.bound.map_or(most, |bound| bound.min(most)));
        let bound = if is_short { at_most(SHORT) } else { self.bound };
        let sound = explore(self.body, bound, Weak::Nothing);
        let (n, time) = (sound.executions, sound.time.as_secs_f64());
        if let Some(failure) = &sound.failure {
            panic!("{name}: execution {n}: {failure}");
        }
        if crate::trace::is_wanted() {
            return;
        }
        let (ranks, told) = (self.ranks, bound.map_or("none".into(), |b| b.to_string()));
        let row = format!("ranks {ranks} | bound {told:>4} | {n:>7} executions | {time:>6.2} s");
        rows.0.push(format!("{name:<50} | {row}"));
        let floor = if bound == self.bound { self.floor } else { 0 };
        assert!(n >= floor, "{name}: only {n} executions, {floor} expected: was it cut?");
        for label in self.reaches {
            assert!(sound.reached.contains(label), "{name}: never reaches: {label}");
        }
        let stated: BTreeSet<Site> = self.catches.iter().chain(self.silent).copied().collect();
        assert_eq!(
            sound.passed, stated,
            "{name}: the sites that it passes (left) and those that it states (right)"
        );
        let bound = if is_short { at_most(SHORT - 1) } else { self.bound };
        for &site in self.silent {
            if let Some(failure) = explore(self.body, bound, Weak::Site(site)).failure {
                panic!("{name}: does notice that {site:?} is relaxed: {failure}");
            }
            rows.0.push(format!("{:<50} |   {site:?} relaxed: not noticed, as stated", ""));
        }
    }
}

/// Runs a model on a thread of its own: the weakened site is a thread-local of that thread, and
/// loom runs a model's threads as coroutines on it.
fn explore(body: fn(), bound: Option<usize>, weak: Weak) -> Outcome {
    hush();
    let explore = move || {
        match weak {
            Weak::Site(site) => weaken::set(site),
            Weak::Load(site) => weaken::set_load(site),
            Weak::Nothing | Weak::Mutant => {}
        }
        QUIET.set(weak != Weak::Nothing);
        let me = std::thread::current().id();
        let executions = Arc::new(AtomicUsize::new(0));
        let counter = executions.clone();
        let mut builder = loom::model::Builder::new();
        // Whatever LOOM_* says: a model that was cut does not count.
        builder.preemption_bound = bound;
        builder.max_permutations = None;
        builder.max_duration = None;
        builder.max_branches = 20_000;
        builder.checkpoint_file = None;
        builder.expect_explicit_explore = false;
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| {
            builder.check(move || {
                assert_eq!(std::thread::current().id(), me, "loom left the thread");
                let execution = counter.fetch_add(1, Relaxed);
                crate::trace::begin(weak == Weak::Nothing && execution.isqrt().pow(2) == execution);
                crate::sleepers::reset();
                body();
            });
        }));
        crate::trace::begin(false);
        let failure = result.err().map(|payload| match payload.downcast::<String>() {
            Ok(s) => *s,
            Err(payload) => payload
                .downcast_ref::<&str>()
                .map_or("a panic without a message".into(), ToString::to_string),
        });
        Outcome {
            executions: executions.load(Relaxed),
            time: start.elapsed(),
            failure,
            passed: weaken::passed(),
            reached: REACHED.take(),
        }
    };
    std::thread::spawn(explore).join().expect("the model's panics are caught")
}
