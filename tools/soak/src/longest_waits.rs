//! The longest call of each kind, beside the longest meeting of the twins, and the longest silence
//! of a thread that only sleeps: how late a rank may come is the machine's doing, and falls on all,
//! but a process that is stopped for once is so in one of them.

use crate::kit::CallKind;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Calls so many times as long as any meeting, and beyond that for longer than the silence, are
/// listed.
const BEYOND: u32 = 3;
/// A sleep of the thread that only sleeps; how much longer it is silent counts.
const NAP: Duration = Duration::from_millis(10);

/// Of the ranks of all runs.
#[derive(Default)]
pub(crate) struct LongestWaits {
    calls: Mutex<Vec<(CallKind, Duration, u64)>>,
    meeting: Mutex<Duration>,
    silence: Arc<Mutex<Duration>>,
}

/// Of one rank's run: no lock is taken between its calls.
pub(crate) struct RankWaits<'a> {
    all: &'a LongestWaits,
    seed: u64,
    calls: Vec<(CallKind, Duration, u64)>,
    meeting: Duration,
}

impl LongestWaits {
    /// With a thread that listens for silence as long as the result lives.
    pub(crate) fn listening() -> Self {
        let (waits, mut since) = (LongestWaits::default(), Instant::now());
        let silence = Arc::downgrade(&waits.silence);
        thread::spawn(move || {
            while let Some(silence) = silence.upgrade() {
                let mut longest = silence.lock().unwrap_or_else(|e| e.into_inner());
                *longest = since.elapsed().saturating_sub(NAP).max(*longest);
                since = Instant::now();
                drop(longest);
                drop(silence);
                thread::sleep(NAP);
            }
        });
        waits
    }

    /// A rank's part in the run with `seed`.
    pub(crate) fn of_rank(&self, seed: u64) -> RankWaits<'_> {
        RankWaits { all: self, seed, calls: Vec::new(), meeting: Duration::ZERO }
    }

    /// The longest call, and its kind; the longest meeting.
    pub(crate) fn longest(&self) -> (Option<(CallKind, Duration)>, Duration) {
        let calls = self.calls.lock().unwrap_or_else(|e| e.into_inner());
        let call = calls.iter().max_by_key(|call| call.1).map(|&(kind, time, _)| (kind, time));
        (call, *self.meeting.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

impl fmt::Display for LongestWaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (Some((kind, time)), meeting) = self.longest() else { return Ok(()) };
        let silence = *self.silence.lock().unwrap_or_else(|e| e.into_inner());
        let (time, met, silent) = (ms(time), ms(meeting), ms(silence));
        write!(f, "longest call {time:.1} ms ({kind:?}), longest meeting {met:.1}")?;
        write!(f, ", longest silence of a sleeper {silent:.1}")?;
        for (kind, time, seed) in &*self.calls.lock().unwrap_or_else(|e| e.into_inner()) {
            if *time > meeting * BEYOND + silence {
                write!(
                    f,
                    "\n  beyond {BEYOND} meetings: {kind:?} {:.1} ms, run {seed}",
                    ms(*time)
                )?;
            }
        }
        f.write_char('\n')
    }
}

impl RankWaits<'_> {
    /// Makes a call.
    pub(crate) fn call(&mut self, kind: CallKind, call: impl FnOnce()) {
        let begun = Instant::now();
        call();
        keep(&mut self.calls, (kind, begun.elapsed(), self.seed));
    }

    /// Meets the others.
    pub(crate) fn meet(&mut self, meet: impl FnOnce()) {
        let begun = Instant::now();
        meet();
        self.meeting = self.meeting.max(begun.elapsed());
    }
}

impl Drop for RankWaits<'_> {
    fn drop(&mut self) {
        let mut all = self.all.calls.lock().unwrap_or_else(|e| e.into_inner());
        self.calls.drain(..).for_each(|call| keep(&mut all, call));
        let mut meeting = self.all.meeting.lock().unwrap_or_else(|e| e.into_inner());
        *meeting = self.meeting.max(*meeting);
    }
}

fn keep(all: &mut Vec<(CallKind, Duration, u64)>, call: (CallKind, Duration, u64)) {
    match all.iter_mut().find(|it| it.0 == call.0) {
        Some(known) if known.1 < call.1 => *known = call,
        Some(_) => (),
        None => all.push(call),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_each_kind_is_kept() {
        let (waits, ms) = (LongestWaits::default(), Duration::from_millis);
        let mut mine = waits.of_rank(7);
        for (kind, time) in [(CallKind::Relay, 4), (CallKind::Halo, 31), (CallKind::Relay, 2)] {
            keep(&mut mine.calls, (kind, ms(time), 7));
        }
        mine.meeting = ms(10);
        drop(mine);
        drop(waits.of_rank(8));
        assert_eq!(waits.longest(), (Some((CallKind::Halo, ms(31))), ms(10)));
        let text = waits.to_string();
        assert!(
            text.contains("meetings: Halo 31.0 ms, run 7") && !text.contains("Relay"),
            "{text}"
        );
    }
}
