//! Runs a model under many schedules, random and PCT; right, or with one thing wrong.

use crate::clock;
use shuttle::current;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The mistake of an execution: nothing, or one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The library as it is.
    Sound,
    /// One of its passages is replaced (`build.rs` of the models).
    Twin(&'static str),
    /// The stores of one site publish nothing.
    Publish(&'static str),
    /// The loads of one site take over nothing.
    Consume(&'static str),
}

thread_local! {
    static CROWDED: Cell<bool> = const { Cell::new(false) };
    static CORES: Cell<usize> = const { Cell::new(0) };
    static ASLEEP: Cell<Asleep> = const { Cell::new(Asleep::Yielding) };
    static PLAN: Cell<Plan> = const { Cell::new(Plan::Sound) };
    static PASSED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the passage `name` is to be the wrong one.
pub fn is_twin(name: &str) -> bool {
    let is = matches!(PLAN.get(), Plan::Twin(twin) if twin == name);
    PASSED.set(PASSED.get() || is);
    is
}

/// Whether the stores (`publishes`) or loads of `site` are to be relaxed.
pub fn weaken(site: &'static str, publishes: bool) -> bool {
    let is = PLAN.get() == if publishes { Plan::Publish(site) } else { Plan::Consume(site) };
    PASSED.set(PASSED.get() || is);
    is
}

/// Whether ranks outnumber cores, in this execution.
pub fn is_crowded() -> bool {
    CROWDED.get()
}

/// From here on, in this execution, ranks outnumber cores.
pub fn crowd() {
    CROWDED.set(true);
}

/// How crowded ranks wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asleep {
    /// By yields first, and naps end at any time.
    Yielding,
    /// By sleeping at once, and naps end at any time.
    Timed,
    /// By sleeping at once, until woken: no nap has an end.
    Untimed,
}

/// From here on, in this execution, ranks outnumber cores, and wait like that.
pub fn sleep(how: Asleep) {
    CROWDED.set(true);
    ASLEEP.set(how);
}

/// From here on, in this execution, ranks are on so many cores, in turn.
pub fn cores(cores: usize) {
    CORES.set(cores);
}

/// The core of `rank`.
pub fn core_of(rank: usize) -> Option<usize> {
    (CORES.get() > 0).then(|| rank % CORES.get())
}

/// Whether crowded ranks sleep rather than yield.
pub fn is_sleepy() -> bool {
    ASLEEP.get() != Asleep::Yielding
}

pub(crate) fn are_naps_timed() -> bool {
    ASLEEP.get() != Asleep::Untimed
}

/// Notes that an execution came by here.
pub fn reached(label: &'static str) {
    clock::note_reached(label);
}

/// The outcome of some executions.
#[derive(Debug)]
pub struct Outcome {
    pub schedules: usize,
    /// Threads' turns in the longest.
    pub steps: usize,
    pub time: Duration,
    /// The failure, and the texts of panics before.
    pub failure: Option<String>,
    /// Labels given to [`reached`].
    pub reached: BTreeSet<&'static str>,
    /// Whether the plan's mistake was passed.
    pub passed: bool,
}

/// Every third schedule by chance, the others by PCT with 2 and 4 changes of priority.
struct Mixed {
    random: RandomScheduler,
    pct: [PctScheduler; 2],
    turn: usize,
    left: usize,
    until: Option<Instant>,
}

impl Mixed {
    fn new(seed: u64, schedules: usize, longest: Option<Duration>) -> Self {
        let pct = |depth| PctScheduler::new_from_seed(seed, depth, usize::MAX);
        Mixed {
            random: RandomScheduler::new_from_seed(seed, usize::MAX),
            pct: [pct(3), pct(5)],
            turn: 0,
            left: schedules,
            until: longest.map(|longest| Instant::now() + longest),
        }
    }
}

impl Scheduler for Mixed {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.left == 0 || self.until.is_some_and(|until| Instant::now() > until) {
            // So that it does not print its seed.
            return None;
        }
        self.left -= 1;
        self.turn += 1;
        match self.turn % 3 {
            0 => self.random.new_execution(),
            k => self.pct[k - 1].new_execution(),
        }
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        match self.turn % 3 {
            0 => self.random.next_task(runnable, current, is_yielding),
            k => self.pct[k - 1].next_task(runnable, current, is_yielding),
        }
    }

    fn next_u64(&mut self) -> u64 {
        self.random.next_u64()
    }
}

/// Panics of executions are not told; the models are about them.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        // Shuttle sets its own, once, in the first execution.
        let nothing = RandomScheduler::new_from_seed(0, 1);
        Runner::new(nothing, config()).run(|| ());
        std::panic::set_hook(Box::new(move |info| {
            if !crate::panics::hook(info) || std::env::var_os("MODELS_LOUD").is_some() {
                usual(info);
            }
        }));
    });
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 256 << 10;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(200_000);
    config.silence_warnings = true;
    config
}

/// Runs `body` in up to `schedules` schedules, and for `longest`, until one fails.
pub fn explore(
    body: impl Fn() + Send + Sync + 'static,
    plan: Plan,
    seed: u64,
    schedules: usize,
    longest: Option<Duration>,
) -> Outcome {
    hush();
    // On a thread of its own: an execution's state is by thread of the system.
    let explore = move || {
        PLAN.set(plan);
        PASSED.set(false);
        clock::exploring(true);
        let (count, steps) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counters = (count.clone(), steps.clone());
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let runner = Runner::new(Mixed::new(seed, schedules, longest), config());
            runner.run(move || {
                let execution = counters.0.fetch_add(1, Relaxed);
                crate::trace::begin(plan == Plan::Sound && execution < 20);
                clock::begin();
                CROWDED.set(false);
                ASLEEP.set(Asleep::Yielding);
                CORES.set(0);
                crate::local::begin();
                crate::memory::begin();
                crate::panics::begin();
                body();
                counters.1.fetch_max(current::context_switches(), Relaxed);
                if let Some(failure) = clock::failure() {
                    std::panic::resume_unwind(Box::new(failure));
                }
            });
        }));
        clock::exploring(false);
        crate::trace::begin(false);
        let failure = result.err().map(|payload| {
            let said = match payload.downcast::<String>() {
                Ok(said) => *said,
                Err(payload) => payload.downcast_ref::<&str>().map_or("a panic", |s| s).into(),
            };
            let first = clock::failure().unwrap_or(said);
            let before = crate::panics::said().join("\n    ");
            format!("{first}\n    said before:\n    {before}")
        });
        Outcome {
            schedules: count.load(Relaxed),
            steps: steps.load(Relaxed),
            time: start.elapsed(),
            failure,
            reached: clock::take_reached(),
            passed: PASSED.get(),
        }
    };
    std::thread::spawn(explore).join().expect("the model's panics are caught")
}
