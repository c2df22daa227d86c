//! Times steps of two ranks: each works, then they meet at a barrier. With the library's ways of
//! waiting, and at a barrier of one word and a futex, in turns; quietly, or beside the threads of
//! a pool that has nothing to do.
//!
//!     cargo run --release -p phalanx-hosts --features forkunion --bin steps -- [BESIDE [WORK..]]
//!
//! BESIDE is `none`, `rayon`, `tokio`, `openmp` (OMP_WAIT_POLICY=active: its threads spin),
//! `forkunion` (they spin), or `forkunion-asleep`: pools of another thread, of two threads with
//! that one. `forkunion-of-caller` is a pool of the thread that runs the teams. WORK is the
//! microseconds of rank 0 and of rank 1, such as 200/20. Work is counted in the time of the thread,
//! so a thread that is preempted does not work. `one` is a thread alone that does both parts. All
//! are medians of 9 turns, in us a step.
#![allow(clippy::print_stdout)]

mod pool;

use phalanx::{Team, Wait};
use pool::{Kind, Pool};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const TURNS: usize = 9;
/// How long one takes, about.
const TURN: Duration = Duration::from_millis(40);

/// A barrier of two threads: a word that counts meetings, and a futex.
#[derive(Default)]
struct FutexBarrier {
    arrived: AtomicU32,
    meeting: AtomicU32,
}

impl FutexBarrier {
    fn wait(&self) {
        // Acquire and release, here and below: each thread sees what the other did before.
        let meeting = self.meeting.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) == 1 {
            self.arrived.store(0, Ordering::Relaxed);
            self.meeting.fetch_add(1, Ordering::AcqRel);
            // SAFETY: wakes whoever waits at the address, which is read by nobody.
            unsafe {
                let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
                libc::syscall(libc::SYS_futex, self.meeting.as_ptr(), wake, 1);
            }
            return;
        }
        while self.meeting.load(Ordering::Acquire) == meeting {
            // SAFETY: the word lives as long as the barrier.
            unsafe {
                let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
                let none: *const libc::timespec = std::ptr::null();
                libc::syscall(libc::SYS_futex, self.meeting.as_ptr(), wait, meeting, none);
            }
        }
    }
}

/// The processor time of the calling thread.
fn own_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for a time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn work(time: Duration) {
    let end = own_time() + time;
    while own_time() < end {}
}

/// Who takes the steps.
#[derive(Clone, Copy)]
enum Way {
    One,
    Futex,
    Ranks(Wait),
}

const WAYS: [Way; 5] =
    [Way::One, Way::Futex, Way::Ranks(Wait::Auto), Way::Ranks(Wait::Yield), Way::Ranks(Wait::Park)];

/// Microseconds of a step.
fn measured(way: Way, works: [Duration; 2]) -> Result<f64, phalanx::Error> {
    let longest = works[0].max(works[1]) + Duration::from_micros(20);
    let steps = (TURN.as_nanos() / longest.as_nanos()).clamp(10, 4000) as u32;
    let begin;
    match way {
        Way::One => {
            begin = Instant::now();
            (0..steps).for_each(|_| work(works[0] + works[1]));
        }
        Way::Futex => {
            let barrier = FutexBarrier::default();
            let part = |time: Duration| {
                (0..steps).for_each(|_| {
                    work(time);
                    barrier.wait();
                });
            };
            begin = Instant::now();
            std::thread::scope(|s| {
                s.spawn(|| part(works[1]));
                part(works[0]);
            });
        }
        Way::Ranks(wait) => {
            let team = Team::builder().ranks(2).wait(wait).build()?;
            begin = Instant::now();
            team.run(|comm| {
                for _ in 0..steps {
                    work(works[comm.rank()]);
                    comm.barrier();
                }
            })?;
        }
    }
    Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(steps))
}

/// The owner of a pool.
enum Owner {
    Nobody,
    /// The thread that runs the teams.
    Caller(Pool),
    /// Another thread: it uses its pool once for each word that it gets, and says that it has.
    Another(Sender<()>, Receiver<()>),
}

impl Owner {
    fn another(kind: Kind, is_asleep: bool) -> Result<Self, String> {
        let (ask, asked) = channel();
        let (tell, told) = channel();
        let (made, is_made) = channel();
        std::thread::spawn(move || {
            let mut pool = match kind.pool(2) {
                Ok(pool) => pool,
                Err(why) => return made.send(Err(why.to_string())).is_err(),
            };
            let mut is_heard = made.send(Ok(())).is_ok();
            while is_heard && asked.recv().is_ok() {
                pool.on_all(|_| ());
                if is_asleep {
                    pool.put_to_sleep();
                }
                is_heard = tell.send(()).is_ok();
            }
            is_heard
        });
        is_made.recv().map_err(|e| e.to_string())??;
        Ok(Owner::Another(ask, told))
    }

    fn use_once(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        match self {
            Owner::Nobody => {}
            Owner::Caller(pool) => pool.on_all(|_| ()),
            Owner::Another(ask, told) => {
                ask.send(())?;
                told.recv()?;
            }
        }
        Ok(())
    }
}

/// "200/20" in durations.
fn parse(text: &str) -> Option<[Duration; 2]> {
    let (first, second) = text.split_once('/')?;
    let time = |text: &str| Some(Duration::from_micros(text.parse().ok()?));
    Some([time(first)?, time(second)?])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let beside = arguments.next().unwrap_or_else(|| "none".to_string());
    let works: Vec<String> = arguments.collect();
    let works = match works.is_empty() {
        true => ["0/0", "21/21", "50/5", "200/20", "1000/100"].map(String::from).to_vec(),
        false => works,
    };
    let kind = match beside.as_str() {
        "none" => None,
        "rayon" => Some(Kind::Rayon),
        "tokio" => Some(Kind::Tokio),
        "openmp" => Some(Kind::Openmp),
        "forkunion" | "forkunion-asleep" | "forkunion-of-caller" => Some(Kind::Forkunion),
        other => return Err(io::Error::other(format!("{other} is no pool")).into()),
    };
    let mut pool = match kind {
        Some(kind) if beside == "forkunion-of-caller" => Owner::Caller(kind.pool(2)?),
        Some(kind) => Owner::another(kind, beside == "forkunion-asleep")?,
        None => Owner::Nobody,
    };
    println!("beside {beside}\n     work      one    futex     auto    yield     park  auto/futex");
    for text in works {
        let works = parse(&text).ok_or_else(|| format!("'{text}' is no work: 200/20"))?;
        let mut times: [Vec<f64>; WAYS.len()] = Default::default();
        for _ in 0..TURNS {
            for (way, times) in WAYS.iter().zip(&mut times) {
                pool.use_once()?;
                times.push(measured(*way, works)?);
            }
        }
        let [one, futex, auto, yields, park] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[TURNS / 2]
        });
        println!(
            "{text:>9} {one:>8.1} {futex:>8.1} {auto:>8.1} {yields:>8.1} {park:>8.1} {:>11.2}",
            auto / futex
        );
    }
    Ok(())
}
