//! The time of a barrier between two ranks, and of waits for a rank that works, before, during and
//! after 0.7 s in which two other processes are busy (from second 2 on): whether waits are as fast
//! after a disturbance as before.
//!
//!     cargo bench --bench recover                    all four forms: 45 s
//!     .. -- [SECONDS] plain                          one form of so many seconds
//!     .. -- [SECONDS] light steady                   .. of another
//!     .. -- [SECONDS] plain load=3                   the processes are busy for so long
//!
//! In each second many rows of 40 batches: the median batch, over the raw exchange of two flags in
//! the same row. Below it a message there and back between ranks that work for 30 us before they
//! send, over that work: each wait is as long as a wake-up. `light`: another process works for 1 ms
//! in 50 all the while; `steady`: the ranks do not nap between rows. A line says `disturbed` of the
//! seconds in which the library thought so.

#[path = "raw/busy.rs"]
mod busy;
#[path = "raw/flags.rs"]
mod flags;
#[path = "raw/rounds.rs"]
mod rounds;

use busy::Busy;
use flags::Flags;
use phalanx::Comm;
use phalanx::engine::is_beside_load;
use phalanx_model::median;
use rounds::Rounds;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

const CALLS: u32 = 1000;

/// Nanoseconds of a call.
fn batch(mut call: impl FnMut()) -> f64 {
    let from = Instant::now();
    (0..CALLS).for_each(|_| call());
    from.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

/// Of a rank before it sends.
const WORK: Duration = Duration::from_micros(30);

/// Rounds of work and a message each way.
fn worked_rounds(comm: &mut Comm) -> f64 {
    let (me, from) = (comm.rank(), Instant::now());
    for _ in 0..50 {
        for turn in 0..2 {
            if me == turn {
                let since = Instant::now();
                while since.elapsed() < WORK {}
                comm.send(&[1_u64], 1 - me);
            } else {
                comm.recv(&mut [0_u64], 1 - me);
            }
        }
    }
    from.elapsed().as_secs_f64() / (100.0 * WORK.as_secs_f64())
}

/// Its second, the barrier over the raw exchange, the waits over the work, and whether the library
/// is disturbed.
type Row = (usize, f64, f64, bool);

fn rows(time: Duration, is_steady: bool) -> Result<Vec<Row>, phalanx::Error> {
    let flags = Flags::default();
    let rows = phalanx::run(2, |comm| {
        let (begin, mut rounds, mut rows) = (Instant::now(), Rounds::new(time), vec![]);
        let (rank, mut k) = (comm.rank(), 0);
        let mut exchange = || {
            k += 1;
            flags.exchange(rank, k);
        };
        while rounds.next(comm) {
            let at = begin.elapsed().as_secs() as usize;
            let barriers: Vec<f64> = (0..40).map(|_| batch(|| comm.barrier())).collect();
            let waits = worked_rounds(comm);
            let is_disturbed = is_beside_load();
            let raw = (0..10).map(|_| batch(&mut exchange)).fold(f64::MAX, f64::min);
            rows.push((at, median(&barriers) / raw, waits, is_disturbed));
            if !is_steady {
                sleep(Duration::from_millis(60));
            }
        }
        rows
    })?;
    Ok(rows.into_iter().next().unwrap_or_default())
}

fn main() -> Result<(), phalanx::Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|it| it == word);
    let usual = if has("--test") { 0.01 } else { 10.0 };
    let seconds = words.iter().find_map(|it| it.parse().ok()).unwrap_or(usual);
    let mut forms = vec![(has("light"), has("steady"))];
    if forms == [(false, false)] && !has("plain") {
        forms = vec![(false, false), (false, true), (true, false), (true, true)];
    }
    let load: f64 =
        words.iter().find_map(|it| it.strip_prefix("load=")?.parse().ok()).unwrap_or(0.7);
    let ends = 2.0 + load;
    println!("barrier / raw exchange, medians, second by second; load from 2.0 to {ends:.1}");
    println!("below: a message there and back / work of {WORK:?} before each");
    for (is_light, is_steady) in forms {
        let rest = Duration::from_millis(49);
        let _light = Busy::new(usize::from(is_light), true, rest);
        let load = spawn(move || {
            if seconds > 2.0 {
                sleep(Duration::from_secs(2));
                let _busy = Busy::new(2, true, Duration::ZERO);
                sleep(Duration::from_secs_f64(load));
            }
        });
        let rows = rows(Duration::from_secs_f64(seconds), is_steady)?;
        let name = if is_light { "light" } else { "" };
        print!("{:13}", [name, if is_steady { "steady" } else { "" }].join(" ").trim());
        let (mut disturbed, mut waits) = (vec![], String::new());
        for second in 0..seconds.ceil() as usize {
            let of: Vec<_> = rows.iter().filter(|row| row.0 == second).collect();
            let middle = |cell: fn(&Row) -> f64| {
                format!(" {:5.2}", median(&of.iter().map(|row| cell(row)).collect::<Vec<_>>()))
            };
            print!("{}", middle(|row| row.1));
            waits += &middle(|row| row.2);
            disturbed.extend(of.iter().any(|row| row.3).then(|| second.to_string()));
        }
        let disturbed = if disturbed.is_empty() { "never".into() } else { disturbed.join(", ") };
        println!("  disturbed: {disturbed}\n{:13}{waits}", "");
        drop(load.join());
    }
    Ok(())
}
