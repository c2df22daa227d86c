//! Time that a rank loses to other threads: it wanted to run, and its core did something else. It
//! decides how long to spin where every rank has a core.
//!
//! A thread that spins beside others is charged for it: the scheduler takes the core from it, and
//! gives it back milliseconds after the awaited word has come. One that sleeps is woken at once,
//! even on a core that a busy thread has. So a rank that loses more than [`PART`] of its time,
//! [`ENOUGH`] of it in all, *disturbs* the process for [`FOR`]: its ranks
//! - spin for [`SPIN`] at most, and not at all once two waits in a row have taken longer;
//! - do not yield: to a busy thread of their own scheduler group that costs a whole slice;
//! - roam, if they sleep often (`shared/roaming.rs`).
//!
//! Time is lost if it has passed, and was neither used by the thread nor slept away in a wait,
//! while the system took the core from the thread at least once. In a time in which the thread gave
//! its core away more often than it slept in waits, nothing is known to be lost: the program slept,
//! was stopped, or waited for a disk. A process that has used up its quota loses time. It is added
//! up where a rank makes a system call anyway, to sleep, to wake or to yield.
//!
//! Ranks that sleep lose little to a load, and ranks that roam lose some to each other: so what is
//! lost in the state is not added up, and only [`ENOUGH_AGAIN`] at once (a quota) prolongs it.
//! After it the process is on *trial* for [`TRIAL`]: ranks spin, and stay where they are. Who loses
//! that much then disturbs the process again; else the ranks that roam come home. So waits are
//! short again within half a second after the load has ended.
//!
//! Elsewhere a rank of which [`IDLE`] waits in a row were [`LASTING`] or longer spins [`BRIEFLY`],
//! and does not yield: it would have slept anyway, after time of no use. A shorter wait ends that;
//! after [`RESTED`] of them one waits as usual, or two ranks that wake each other would go on.
//!
//! The state costs nobody anything whose waits are short: a rank looks as often as without it, and
//! reads no clock, until two waits in a row have taken longer than [`SPIN`]. A rank that sleeps at
//! once spins in one wait of [`PROBE`], so that it hears when waits have become short.
//!
//! Hints only: every rank decides for itself, at every wait, and nobody has to agree. Decisions are
//! functions of samples ([`Account`], [`Until`]), so that tests need no clock.

use super::debts::owe;
use super::mode::{self, Until};
use super::system;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// One part in so many of a rank's time may be lost.
const PART: u64 = 16;
/// Nanoseconds of lost time beyond that: some turns of another thread; a burst of 20 ms a second is
/// light work.
const ENOUGH: u64 = 16_000_000;
/// .. on trial: more than one turn (4 ms, where the system has 250 ticks a second).
const ENOUGH_AGAIN: u64 = 6_000_000;
/// Nanoseconds for which the process counts as disturbed ..
const FOR: u64 = 300_000_000;
/// .. and then is on trial.
const TRIAL: u64 = 100_000_000;
/// Longer than two ranks on free cores are apart whose work is equal, and shorter than a wake-up
/// takes: a wait for a rank that is woken for it counts as long. With 40 us, 1000 looks and naps
/// of 1 ms, steps of 20 us beside one busy thread took 1.4 times as long as with a futex barrier;
/// with 15 us, 64 looks and 10 ms 1.0 times (`cargo bench --bench waiting -- uneven`, 2 cores).
const SPIN: Duration = Duration::from_micros(15);
/// Nanoseconds between two samples, at least and at most: in a longer time other things may have
/// happened than this run.
const RARELY: u64 = 1_000_000;
const WINDOW: u64 = 200_000_000;
/// Waits in a row that took longer than [`SPIN`], before a rank sleeps at once.
const LONG: u32 = 2;
/// Of a wait that came to sleep: those of less work are not to go on to sleep.
const LASTING: Duration = Duration::from_micros(100);
/// Lasting waits in a row: one shorter wait in so many, 1.6 ms at least, sleeps for nothing.
const IDLE: u32 = 16;
/// Waits that spin briefly before one waits as usual.
const RESTED: u32 = 32;
/// How long a rank spins after that.
const BRIEFLY: Duration = Duration::from_micros(5);
/// Of so many waits of a rank that sleeps at once, one spins.
const PROBE: u32 = 16;
/// Sleeps in a run before a rank has slept often.
const OFTEN: u32 = 4;

/// Whether ranks lose time.
static DISTURBANCE: Disturbance = Disturbance::new();

type Disturbance = Until<TRIAL>;

/// The system's counts of a thread.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    /// Nanoseconds of processor time.
    pub(crate) time: u64,
    /// How often the core was taken from it.
    pub(crate) taken: u64,
    /// How often it gave the core away, to sleep.
    pub(crate) given: u64,
}

/// Of a thread: what it has lost since its first sample.
#[derive(Clone, Copy)]
struct Account {
    /// The last sample, and its time.
    last: Option<(u64, Usage)>,
    /// Sleeps in waits since, and their nanoseconds.
    sleeps: u64,
    slept: u64,
    /// Lost time, less what may be lost.
    level: u64,
}

impl Account {
    const NEW: Account = Account { last: None, sleeps: 0, slept: 0, level: 0 };

    fn sleep(&mut self, nanoseconds: u64) {
        self.sleeps += 1;
        self.slept += nanoseconds;
    }

    fn is_due(&self, now: u64) -> bool {
        self.last.is_none_or(|(at, _)| now - at >= RARELY)
    }

    /// Adds what was lost since the last sample. Whether that makes it `enough`.
    fn add(&mut self, now: u64, usage: Usage, enough: u64) -> bool {
        let (sleeps, slept) = (self.sleeps, self.slept);
        (self.sleeps, self.slept) = (0, 0);
        let Some((at, last)) = self.last.replace((now, usage)) else { return false };
        let passed = now - at;
        // A child of a fork has its parent's sample, and a usage of its own from 0 on.
        let (Some(ran), false) = (usage.time.checked_sub(last.time), passed > WINDOW) else {
            // Nor does what was lost before count: it may be enough for a trial by now.
            self.level = 0;
            return false;
        };
        let knows = usage.taken != last.taken && usage.given.saturating_sub(last.given) <= sleeps;
        let lost = if knows { passed.saturating_sub(slept + ran) } else { 0 };
        let level = (self.level + lost).saturating_sub(passed / PART);
        self.level = if level >= enough { 0 } else { level };
        level >= enough
    }

    /// As [`add`](Account::add); and `process` is disturbed from now on if it is to be.
    fn judge(&mut self, process: &Disturbance, now: u64, usage: Usage) {
        let is_on = process.is_on(|| now);
        if is_on {
            self.level = 0;
        }
        let enough = if process.is_recent(now) { ENOUGH_AGAIN } else { ENOUGH };
        if self.add(now, usage, enough) {
            process.set(now + FOR);
        } else if is_on {
            self.level = 0;
        }
    }
}

/// How long the waits of a thread were lately.
#[derive(Clone, Copy)]
struct RecentWaits {
    /// Long ones in a row; short ones halve it.
    long: u32,
    /// Waits since the last that spun.
    unspun: u32,
    /// Lasting ones in a row, less those before the last that waited as usual.
    lasting: u32,
}

impl RecentWaits {
    const NEW: RecentWaits = RecentWaits { long: 0, unspun: 0, lasting: 0 };

    fn are_long(self) -> bool {
        self.long >= LONG
    }

    /// A wait has taken so long. Without a disturbance, nothing is learnt for the next one.
    fn note(&mut self, took: Duration, is_disturbed: bool) {
        self.lasting = match self.lasting {
            _ if took < LASTING => 0,
            lasting if lasting + 1 < IDLE + RESTED => lasting + 1,
            _ => IDLE - 1,
        };
        self.long = match is_disturbed {
            true if took > SPIN => (LONG + 1).min(self.long + 1),
            true => self.long / 2,
            false => 0,
        };
    }

    /// How long to spin in the next wait.
    fn spin(&mut self, is_disturbed: bool) -> Duration {
        if !is_disturbed {
            return if self.lasting >= IDLE { BRIEFLY } else { super::SPIN };
        }
        let sleeps = self.are_long() && self.unspun + 1 < PROBE;
        self.unspun = if sleeps { self.unspun + 1 } else { 0 };
        if sleeps { Duration::ZERO } else { SPIN }
    }
}

crate::sync::thread_local! {
    static ACCOUNT: Cell<Account> = const { Cell::new(Account::NEW) };
    static RECENT: Cell<RecentWaits> = const { Cell::new(RecentWaits::NEW) };
    /// Sleeps in this run.
    static SLEEPS: Cell<u32> = const { Cell::new(0) };
}

/// Changes a thread-local value.
macro_rules! change {
    ($cell:ident, $change:expr) => {{
        let mut value = $cell.get();
        let result = $change(&mut value);
        $cell.set(value);
        result
    }};
}

/// Whether ranks have lost much time lately.
#[inline(always)]
pub(crate) fn is_disturbed() -> bool {
    DISTURBANCE.is_on(mode::now)
}

/// Whether the calling rank is to look a few times only, as its waits are long and the process is
/// disturbed.
pub(crate) fn looks_little() -> bool {
    RECENT.get().are_long() && is_disturbed()
}

/// How long to spin; `learns`: in a wait like those before.
pub(super) fn spin(learns: bool) -> Duration {
    match (is_disturbed(), learns) {
        (is_disturbed, true) => change!(RECENT, |waits: &mut RecentWaits| waits.spin(is_disturbed)),
        (true, false) => SPIN,
        (false, false) => super::SPIN,
    }
}

/// A wait that began then, and was no short one, is over. `has_slept`: it has, or was to.
pub(super) fn note_wait(since: Instant, has_slept: bool) {
    let is_disturbed = is_disturbed();
    // Else it was no lasting one, and no clock is read.
    let took = if is_disturbed || has_slept { since.elapsed() } else { Duration::ZERO };
    change!(RECENT, |waits: &mut RecentWaits| waits.note(took, is_disturbed));
}

/// Whether the ranks of a team that do not roam are to, as the calling one is about to sleep.
#[inline]
pub(crate) fn is_to_roam() -> bool {
    leaves(SLEEPS.get(), &DISTURBANCE, mode::now)
}

/// Whether ranks that roam are to come home.
#[inline(always)]
pub(crate) fn is_to_return() -> bool {
    !DISTURBANCE.is_recent(mode::now())
}

/// Whether a rank that has slept so often in this run lets all roam.
fn leaves(sleeps: u32, process: &Disturbance, now: impl FnOnce() -> u64) -> bool {
    sleeps >= OFTEN && process.is_on(now)
}

/// Sleeps by `sleep`, in a wait.
pub(crate) fn asleep(sleep: impl FnOnce() -> bool) {
    add_up();
    let from = mode::now();
    sleep();
    change!(ACCOUNT, |account: &mut Account| account.sleep(mode::now() - from));
    if SLEEPS.replace(SLEEPS.get() + 1) == 0 {
        owe(|| SLEEPS.set(0));
    }
}

/// Adds up the time that the calling thread has lost since the last sample.
pub(crate) fn add_up() {
    let now = mode::now();
    change!(ACCOUNT, |account: &mut Account| {
        if account.is_due(now)
            && let Some(usage) = system::usage()
        {
            account.judge(&DISTURBANCE, now, usage);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What happens to a rank again and again, in milliseconds: it runs, it sleeps in a wait, in
    /// its own code, its core is taken from it.
    #[derive(Clone, Copy)]
    struct Turn {
        runs: u64,
        waits: u64,
        naps: u64,
        loses: u64,
        /// Its core is taken so often.
        taken: u64,
    }

    /// The milliseconds of two seconds for which a process is disturbed, and for which ranks roam,
    /// in which this happens to one rank; and of the 1.4 s after it, in which that does.
    fn time_in_states(turn: Turn, after: Turn) -> [(u64, u64); 2] {
        let (mut account, process) = (Account::NEW, Disturbance::new());
        let (mut sleeps, mut roams) = (0, false);
        let (mut now, mut usage) = (MS, Usage { time: 0, taken: 0, given: 0 });
        let mut disturbed = |turn: Turn, until: u64| {
            let mut sums = (0, 0);
            while now < until {
                // It looks at its usage while it runs, and at the end of the turn.
                for at in (0..turn.runs).step_by(10) {
                    let runs = (turn.runs - at).min(10);
                    let Turn { waits, naps, loses, taken, .. } = match at + runs < turn.runs {
                        true => Turn { waits: 0, naps: 0, loses: 0, taken: 0, ..turn },
                        false => turn,
                    };
                    // A wait begins, and perhaps a sleep.
                    roams = roams && process.is_recent(now)
                        || waits > 0 && leaves(sleeps, &process, || now);
                    sleeps += u32::from(waits > 0);
                    let passed = runs + waits + naps + loses;
                    now += passed * MS;
                    usage.time += runs * MS;
                    usage.taken += taken;
                    usage.given += u64::from(naps > 0) + u64::from(waits > 0);
                    if waits > 0 {
                        account.sleep(waits * MS);
                    }
                    assert!(account.is_due(now));
                    account.judge(&process, now, usage);
                    sums.0 += if process.is_on(|| now) { passed } else { 0 };
                    sums.1 += if roams { passed } else { 0 };
                }
            }
            sums
        };
        let result = [disturbed(turn, 2000 * MS), disturbed(after, 3400 * MS)];
        process.is_on(|| panic!("the state has ended, and no clock is read for it"));
        result
    }

    const fn turn(runs: u64, waits: u64, naps: u64, loses: u64, taken: u64) -> Turn {
        Turn { runs, waits, naps, loses, taken }
    }

    /// A rank that spins and loses a part in fifty now and then, or nothing.
    const AFTER: [Turn; 4] =
        [turn(2, 0, 0, 0, 0), turn(49, 0, 0, 1, 1), turn(98, 0, 0, 2, 1), turn(196, 0, 0, 4, 1)];

    #[test]
    fn cases_from_the_field() {
        let cases = [
            ("a free core", turn(2, 0, 0, 0, 0), 0..=0),
            ("a build beside it", turn(3, 0, 0, 3, 1), 1750..=1950),
            ("a build, and long waits", turn(3, 5, 0, 3, 1), 1650..=1950),
            ("light work: 1 ms in 50", turn(49, 0, 0, 1, 1), 0..=0),
            ("light work, and naps of the program", turn(30, 0, 60, 1, 1), 0..=0),
            ("a browser: 5 ms in 100", turn(95, 0, 0, 5, 1), 0..=0),
            ("a cron job: 50 ms a second", turn(950, 0, 0, 50, 1), 400..=420),
            ("time stolen from a virtual machine", turn(50, 0, 0, 50, 0), 0..=0),
            ("a quota of a half", turn(50, 0, 0, 50, 1), 1400..=2000),
            ("a laptop that sleeps", turn(10, 0, 0, 900, 1), 0..=0),
            ("a process that is stopped", turn(10, 0, 100, 0, 1), 0..=0),
            ("a program that naps", turn(1, 0, 60, 0, 1), 0..=0),
            ("a program that waits long", turn(1, 150, 0, 0, 1), 0..=0),
        ];
        let all = cases.iter().flat_map(|case| AFTER.map(|after| (case, after)));
        for ((name, turn, expected), after) in all {
            let [(under_it, roamed), (after_it, roamed_after)] = time_in_states(*turn, after);
            assert!(expected.contains(&under_it), "{name}: disturbed for {under_it} ms of 2000");
            assert!(after_it <= 300, "{name}: disturbed for {after_it} ms after it");
            // Ranks that never sleep stay where they are.
            let roams = turn.waits > 0 && under_it > 0;
            // Nor do others come home while the process is on trial.
            let stays = !roams || roamed + 50 >= under_it;
            assert_eq!((roamed > 0, stays), (roams, true), "{name}: {roamed}");
            let most = after_it + TRIAL / MS + 20;
            assert!(roamed_after <= most, "{name}: roamed for {roamed_after} ms after it");
        }
    }

    /// The last millisecond of a second in which a rank is in the state, of which every second one
    /// is lost if `lost` says so.
    fn last_of_a_second(process: &Disturbance, lost: impl Fn(u64, bool) -> bool) -> u64 {
        let (mut account, mut ends) = (Account::NEW, 0);
        let mut usage = Usage { time: 0, taken: 0, given: 0 };
        for at in 1..1000 {
            let is_lost = at % 2 == 0 && lost(at, process.is_on(|| at * MS));
            usage.time += if is_lost { 0 } else { MS };
            usage.taken += u64::from(is_lost);
            account.judge(process, at * MS, usage);
            ends = if process.is_on(|| at * MS) { at } else { ends };
        }
        ends
    }

    #[test]
    fn a_burst_is_one_state_and_what_is_lost_in_the_state_does_not_prolong_it() {
        // A cron job takes half of the core for 50 ms.
        let ends = last_of_a_second(&Disturbance::new(), |at, _| (100..150).contains(&at));
        assert!((400..450).contains(&ends), "{ends}");
        // Ranks that roam, and sleep at once, take their cores from each other.
        let process = Disturbance::new();
        process.set(FOR);
        assert_eq!(last_of_a_second(&process, |_, is_on| is_on), FOR / MS - 1);
    }

    #[test]
    fn a_child_of_a_fork_has_lost_nothing() {
        let mut account = Account::NEW;
        account.add(MS, Usage { time: 900 * MS, taken: 7, given: 7 }, 1);
        assert!(!account.add(90 * MS, Usage { time: 0, taken: 8, given: 0 }, 1));
        assert!(!account.add(99 * MS, Usage { time: 9 * MS, taken: 9, given: 0 }, 1));
    }

    #[test]
    fn two_long_waits_end_the_spinning_and_one_short_one_brings_it_back() {
        let (short, long) = (SPIN / 2, SPIN * 2);
        let mut waits = RecentWaits::NEW;
        waits.note(long, true);
        assert!(!waits.are_long() && waits.spin(true) == SPIN, "one long wait is a stall");
        waits.note(long, true);
        let spun: Vec<bool> = (0..2 * PROBE).map(|_| waits.spin(true) == SPIN).collect();
        assert_eq!(spun.iter().filter(|&&it| it).count(), 2, "{spun:?}");
        (0..9).for_each(|_| waits.note(long, true));
        waits.note(short, true);
        assert!(!waits.are_long() && waits.spin(true) == SPIN);
        (0..9).for_each(|_| waits.note(long, true));
        waits.note(short, false);
        assert!(!waits.are_long(), "the next disturbance begins anew");
    }

    #[test]
    fn lasting_waits_shorten_the_spinning_and_one_shorter_one_ends_that() {
        let mut waits = RecentWaits::NEW;
        for _ in 0..3 {
            for _ in 0..IDLE {
                assert_eq!(waits.spin(false), super::super::SPIN);
                waits.note(LASTING, false);
            }
            (0..IDLE).for_each(|_| waits.note(LASTING * 9, false));
            assert_eq!(waits.spin(false), BRIEFLY);
            // As long as a wake-up takes: nobody sleeps for ever because others do.
            waits.note(SPIN * 3, false);
        }
        (0..IDLE).for_each(|_| waits.note(LASTING, true));
        assert_eq!(waits.spin(false), BRIEFLY, "waits of a disturbance count, too");
    }

    #[test]
    fn two_ranks_that_wake_each_other_do_not_go_on() {
        // Microseconds of the work of each before it sends, and of a wake-up.
        for (work, wake) in [(1, 16), (30, 16), (30, 45), (60, 45), (80, 16)] {
            let mut ranks = [RecentWaits { lasting: IDLE, ..RecentWaits::NEW }; 2];
            let (mut is_late, mut slept) = (false, 0);
            for wait in 0..4 * RESTED {
                let waits = &mut ranks[wait as usize % 2];
                let sends = work + if is_late { wake } else { 0 };
                // Spinning, and 25 us of yields.
                let looks = if waits.spin(false) == BRIEFLY { 5 } else { 105 };
                is_late = sends > looks;
                slept = if is_late { wait } else { slept };
                let took = if is_late { sends + wake } else { 0 };
                waits.note(Duration::from_micros(took), false);
            }
            assert!(slept < 3 * RESTED, "{work} us of work, {wake} to wake: asleep in {slept}");
        }
    }

    #[test]
    fn a_run_in_which_a_rank_slept_often_ends() {
        let disturbed = Disturbance::new();
        disturbed.set(MS);
        let roams = || leaves(SLEEPS.get(), &disturbed, || 1);
        (0..OFTEN).for_each(|_| asleep(|| true));
        assert!(roams());
        super::super::give_back();
        assert!(!roams());
    }
}
