//! Windows: every element against its owner's value, on 1 to 8 ranks, with uneven and empty
//! parts; atomics; and calls that must be refused, or must end for all ranks.

use crate::common::{
    again, bomb, bomb_if, check_usable, fails, failure, right, succeeds, team, until, watch,
};
use phalanx::{AtomicElement, AtomicF32, AtomicF64, AtomicWindow, Comm, Element, Error, Order};
use phalanx::{Team, Window, op};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// Elements of a rank: uneven, some of none, some of pages.
fn len(rank: usize, salt: usize) -> usize {
    [3, 0, 700, 1, 4096, 0, 5, 17][(rank + salt) % 8]
}

fn value(rank: usize, i: usize, step: usize) -> u64 {
    (rank * 1_000_003 + i * 31 + step * 7) as u64
}

fn write(window: &mut Window<u64>, comm: &mut Comm, step: usize) {
    let rank = comm.rank();
    let n = window.update(comm, |mine| {
        mine.iter_mut().enumerate().for_each(|(i, x)| *x = value(rank, i, step));
        mine.len()
    });
    assert_eq!(n, window.len());
}

fn check(window: &Window<u64>, p: usize, salt: usize, step: usize) {
    let parts = window.parts();
    assert_eq!(parts.len(), p);
    for (rank, part) in parts.iter().enumerate() {
        assert_eq!(part.len(), len(rank, salt));
        assert!(part.iter().enumerate().all(|(i, &x)| x == value(rank, i, step)));
        assert!(std::ptr::eq(part, window.part(rank)));
    }
    let all: Vec<u64> = parts.iter().flatten().copied().collect();
    let global = window.global();
    assert_eq!(global.len(), all.len());
    assert!(global.iter().eq(&all));
    assert!((0..all.len()).step_by(97).all(|i| global[i] == all[i]));
    assert_eq!(global.get(all.len()), None);
}

/// Steps of two windows on `comm`, in turns.
fn steps(comm: &mut Comm, salt: usize) {
    let (rank, p) = (comm.rank(), comm.size());
    let mut now = comm.shared::<u64>(len(rank, salt));
    assert!(now.parts().iter().flatten().all(|&x| x == 0));
    let first: Vec<u64> = (0..len(rank, salt)).map(|i| value(rank, i, 0)).collect();
    let mut next = comm.shared_from(&first);
    check(&next, p, salt, 0);
    for step in 1..20 {
        write(&mut now, comm, step);
        check(&now, p, salt, step);
        check(&next, p, salt, step - 1);
        std::mem::swap(&mut now, &mut next);
    }
}

#[test]
fn every_element_of_every_part() {
    for p in 1..=8 {
        let _watch = watch();
        let team = team(p);
        team.run(|comm| (0..3).for_each(|salt| steps(comm, salt))).unwrap();
    }
}

#[test]
fn sub_communicators_and_forced_ones() {
    let _watch = watch();
    let team = team(6);
    succeeds(&team, |comm| {
        let rank = comm.rank();
        let mut child = comm.split(rank % 2, 6 - rank);
        let mut outer = comm.shared::<u64>(len(rank, 1));
        steps(&mut child, rank % 2);
        write(&mut outer, comm, 5);
        let mut cart = comm.cart(&[2, 3], &[true; 2]);
        write(&mut outer, &mut cart, 6);
        write(&mut outer, &mut comm.ring(), 7);
        write(&mut outer, &mut comm.tree(), 8);
        write(&mut outer, &mut comm.with_order(Order::Fixed), 9);
        check(&outer, 6, 1, 9);
    });
}

/// Elements of all sorts: without a size, with padding, aligned to more than a page.
#[test]
fn any_element() {
    fn one<T: Element + PartialEq + std::fmt::Debug>(comm: &mut Comm, make: fn(usize) -> T) {
        let (rank, p) = (comm.rank(), comm.size());
        let mut window = comm.shared_from(&vec![make(0); rank + 1]);
        window.update(comm, |mine| mine.fill(make(rank + 1)));
        for q in 0..p {
            assert_eq!(window.part(q), vec![make(q + 1); q + 1]);
        }
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(8192))]
    struct Wide(u8);
    let _watch = watch();
    let team = team(3);
    succeeds(&team, |comm| {
        one(comm, |i| (i as u8, i as u64));
        one(comm, |_| ());
        one(comm, |i| std::num::NonZeroU32::new(i as u32 + 1));
        one(comm, |i| Wide(i as u8));
        one(comm, |i| i == 2);
        one(comm, |i| ['a', 'b', 'c', 'd'][i]);
    });
}

/// Parts of a page or more begin on a page, others on a line of their own.
#[test]
fn parts_are_apart() {
    succeeds(&team(2), |comm| {
        let large = comm.shared::<u64>(512);
        assert!(large.parts().iter().all(|part| part.as_ptr().addr() % 4096 == 0));
        let small = comm.shared::<u8>(1);
        assert!(small.parts().iter().all(|part| part.as_ptr().addr() % 128 == 0));
    });
}

#[test]
fn atomics_lose_nothing() {
    fn one<T: AtomicElement + PartialEq + std::fmt::Debug>(
        comm: &mut Comm,
        add: fn(&T::Atomic),
        count: fn(usize) -> T,
    ) {
        let (rank, p) = (comm.rank(), comm.size());
        let mut window = comm.shared_atomic::<T>(rank % 3);
        let cells = window.global().len();
        for round in 0..5 {
            for i in 0..20 * cells {
                add(&window.global()[(i + rank) % cells]);
            }
            window.read(comm, |all| {
                assert!(all.iter().flatten().all(|&x| x == count((round + 1) * 20 * p)));
                assert_eq!(all.iter().map(<[T]>::len).sum::<usize>(), cells);
            });
        }
        window.update(comm, |mine| mine.fill(count(7)));
        window.read(comm, |all| assert!(all.iter().flatten().all(|&x| x == count(7))));
    }
    for p in 2..=8 {
        let _watch = watch();
        succeeds(&team(p), |comm| {
            one::<u64>(comm, |x| _ = x.fetch_add(1, Relaxed), |n| n as u64);
            one::<u8>(comm, |x| _ = x.fetch_add(1, Relaxed), |n| n as u8);
            one::<i16>(comm, |x| _ = x.fetch_sub(1, Relaxed), |n| -(n as i16));
            one::<usize>(comm, |x| _ = x.fetch_add(1, AcqRel), |n| n);
            one::<f64>(comm, |x| _ = x.fetch_add(0.5, Relaxed), |n| n as f64 / 2.0);
            one::<f32>(comm, |x| _ = x.fetch_add(2.0, SeqCst), |n| n as f32 * 2.0);
            one::<bool>(comm, |x| _ = x.fetch_or(true, Relaxed), |n| n > 0);
            one::<i64>(
                comm,
                |x| {
                    let mut now = x.load(Relaxed);
                    while let Err(other) = x.compare_exchange(now, now + 1, AcqRel, Relaxed) {
                        now = other;
                    }
                },
                |n| n as i64,
            );
        });
    }
}

/// A value that is written before a release is there after the acquire that meets it, without a
/// call that all make; and after a barrier everything is.
#[test]
fn atomics_order_as_they_say() {
    let _watch = watch();
    succeeds(&team(2), |comm| {
        let (rank, n) = (comm.rank(), 200);
        let flags = comm.shared_atomic::<u32>(1);
        let data = comm.shared_atomic::<f64>(8);
        for k in 1..n {
            let (flag, theirs) = (&flags.part(rank)[0], &flags.part(1 - rank)[0]);
            data.part(rank).iter().for_each(|x| x.store(k as f64, Relaxed));
            flag.store(k, Release);
            until(|| theirs.load(Acquire) >= k);
            let read = |x: &AtomicF64| x.load(Relaxed) as u32;
            assert!(data.part(1 - rank).iter().all(|x| (k..=k + 1).contains(&read(x))));
        }
        comm.barrier();
        assert_eq!(flags.part(1 - rank)[0].load(Relaxed), n - 1);
    });
}

#[test]
fn floats_as_atomics() {
    let x = AtomicF64::new(2.0);
    assert_eq!((x.fetch_min(3.0, Relaxed), x.fetch_max(1.0, Relaxed)), (2.0, 2.0));
    assert_eq!((x.fetch_min(-3.0, Relaxed), x.swap(f64::NAN, Relaxed)), (2.0, -3.0));
    assert!(x.compare_exchange(f64::NAN, 0.0, Relaxed, Relaxed).is_ok_and(f64::is_nan));
    assert_eq!(x.compare_exchange(-0.0, 1.0, Relaxed, Relaxed), Err(0.0));
    x.store(4.5, Relaxed);
    assert_eq!(format!("{x:?} {:?}", AtomicF32::new(-1.0)), "4.5 -1.0");
}

/// The memory stays as long as anybody has it, in whatever order handles go.
#[test]
fn handles_drop_in_any_order_and_outlive_the_run() {
    let _watch = watch();
    let team = team(4);
    for first in 0..4 {
        succeeds(&team, |comm| {
            let mut window = comm.shared::<u64>(600);
            window.update(comm, |mine| mine.fill(9));
            let mut window = Some(window);
            for turn in 0..4 {
                if (first + turn) % 4 == comm.rank() {
                    window = None;
                }
                comm.barrier();
                let alive = |window: &Window<u64>| window.global().iter().all(|&x| x == 9);
                assert!(window.as_ref().is_none_or(alive));
            }
        });
    }
    // After the run, on a thread that is no rank; and in the next run, on its rank again.
    let windows = team.run(|comm| comm.shared_from(&[comm.rank() as u64; 3])).unwrap();
    drop(team.run(|comm| comm.barrier()));
    let (last, rest) = windows.split_last().unwrap();
    let read = std::thread::scope(|s| s.spawn(|| last.part(1).to_vec()).join().unwrap());
    assert_eq!((read, rest[0].mine()), (vec![1; 3], &[0; 3][..]));
    let windows: Vec<Mutex<Window<u64>>> = windows.into_iter().map(Mutex::new).collect();
    succeeds(&team, |comm| {
        let mut window = windows[comm.rank()].lock().unwrap();
        window.update(comm, |mine| mine[0] += 10);
        assert_eq!(window.part(3), [13, 3, 3]);
    });
    drop(team);
    assert_eq!(windows[2].lock().unwrap().part(0), [10, 0, 0]);
}

/// While a rank has a view, no rank writes; and none sees a part before it is whole.
#[test]
fn nobody_sees_half_a_part() {
    for p in [2, 3, 5] {
        let _watch = watch();
        let late = AtomicUsize::new(0);
        succeeds(&team(p), |comm| {
            let mut window = comm.shared::<u64>(300);
            for step in 1..30usize {
                let slow = step % comm.size() == comm.rank();
                window.update(comm, |mine| {
                    mine[0] = step as u64;
                    if slow {
                        std::thread::sleep(Duration::from_micros(200));
                        late.store(step, Relaxed);
                    }
                    mine.fill(step as u64);
                });
                assert!(late.load(Relaxed) >= step);
                for _ in 0..2 {
                    assert!(window.global().iter().all(|&x| x == step as u64));
                    if slow {
                        std::thread::sleep(Duration::from_micros(100));
                    }
                }
            }
        });
    }
}

/// A panic in an update ends it for all. No rank can read the window after that, the one that has
/// caught the panic neither, since peers may still write.
#[test]
fn a_panic_in_an_update() {
    for p in 1..=5 {
        let _watch = watch();
        let team = team(p);
        for odd in 0..p {
            let unreadable = AtomicUsize::new(0);
            let error = fails(&team, |comm| {
                let mut window = comm.shared::<u64>(1000);
                write_once(&mut window, comm);
                let rank = comm.rank();
                let result = catch_unwind(AssertUnwindSafe(|| {
                    window.update(comm, |mine| {
                        mine[0] = 7;
                        bomb_if(rank == odd);
                        std::thread::sleep(Duration::from_millis(1));
                        mine.fill(8);
                    });
                }));
                assert!(result.is_err());
                let read = catch_unwind(AssertUnwindSafe(|| window.part(0)[0]));
                unreadable.fetch_add(usize::from(read.is_err()), Relaxed);
                std::panic::resume_unwind(result.unwrap_err());
            });
            assert!(matches!(error, Error::Panicked { rank, .. } if rank == odd), "{error}");
            assert_eq!(unreadable.into_inner(), p);
        }
    }
}

fn write_once(window: &mut Window<u64>, comm: &mut Comm) {
    window.update(comm, |mine| mine.fill(1));
}

fn refused(p: usize, f: impl Fn(&mut Comm) + Sync) -> String {
    let team = team(p);
    let error = fails(&team, |comm| f(comm));
    error.to_string()
}

#[test]
fn what_cannot_be_is_refused() {
    let _watch = watch();
    for (len, what) in [(usize::MAX / 4, "more than any memory"), (1 << 58, "no memory for")] {
        let text = refused(2, |comm| drop(comm.shared::<u64>(len)));
        assert!(text.contains(what) && text.contains("shared of"), "{text}");
    }
    // Another communicator, of the same ranks; and another rank's handle.
    let text = refused(2, |comm| {
        let mut window = comm.shared::<u64>(1);
        let mut child = comm.split(0, comm.rank());
        window.update(&mut child, |mine| mine.fill(1));
    });
    assert!(text.contains("belongs to the communicator that has made it"), "{text}");
    let slots: [Mutex<Option<Window<u64>>>; 2] = [Mutex::new(None), Mutex::new(None)];
    let text = refused(2, |comm| {
        let (rank, window) = (comm.rank(), comm.shared::<u64>(1));
        *slots[rank].lock().unwrap() = Some(window);
        comm.barrier();
        let mut theirs = slots[1 - rank].lock().unwrap().take().unwrap();
        assert_eq!(theirs.part(rank), [0]);
        theirs.update(comm, |mine| mine.fill(1));
    });
    assert!(text.contains("belongs to the communicator that has made it"), "{text}");
    // A window of a run that has failed: the team's words are new.
    let team = team(2);
    failure(team.run(|comm| {
        *slots[comm.rank()].lock().unwrap() = Some(comm.shared::<u64>(1));
        comm.barrier();
        bomb();
    }));
    let text = failure(team.run(|comm| {
        let mut window = slots[comm.rank()].lock().unwrap().take().unwrap();
        window.update(comm, |mine| mine.fill(1));
    }));
    assert!(text.to_string().contains("after a run that has failed"), "{text}");
    check_usable(&team, 1);
    // A rank that there is not.
    let text = std::panic::catch_unwind(|| {
        crate::common::team(2).run(|comm| _ = comm.shared::<u8>(2).part(2))
    });
    assert!(text.unwrap().unwrap_err().to_string().contains("rank 2 of 2 ranks"));
}

/// Ranks that come with different windows, or do different things with one.
#[test]
fn ranks_that_disagree_are_told() {
    for p in 2..=6 {
        let _watch = watch();
        // However many there are, so that their numbers agree in any number of bits.
        let text = refused(p, |comm| {
            let mut windows: Vec<_> = (0..70).map(|_| comm.shared::<u64>(1)).collect();
            let which = if comm.rank() + 1 == p { 66 } else { 2 };
            windows[which].update(comm, |mine| mine.fill(1));
            unreachable!("no rank goes on");
        });
        assert!(
            text.contains("window: expected number") && text.contains("Window::update at"),
            "{text}"
        );
        assert!(text.matches("tests/it/windows.rs").count() == 2, "{text}");
        let text = refused(p, |comm| {
            let mut window = comm.shared_atomic::<u64>(1);
            match comm.rank() {
                0 => window.update(comm, |_| unreachable!("others read")),
                _ => window.read(comm, |_| unreachable!("another one writes")),
            }
        });
        assert!(
            text.contains("AtomicWindow::read") && text.contains("AtomicWindow::update"),
            "{text}"
        );
        let text = refused(p, |comm| match comm.rank() {
            0 => drop(comm.shared::<u64>(1)),
            _ => drop(comm.shared_atomic::<u64>(1)),
        });
        assert!(text.contains("shared_atomic of 1 u64"), "{text}");
        let text = refused(p, |comm| match comm.rank() {
            0 => comm.barrier(),
            _ => {
                let mut window = comm.shared::<u64>(1);
                window.update(comm, |mine| mine.fill(1));
            }
        });
        assert!(text.contains("barrier") && text.contains("shared of 1 u64"), "{text}");
        let text = refused(p, |comm| {
            let mut window = comm.shared::<u64>(1);
            if comm.rank() > 0 {
                window.update(comm, |mine| mine.fill(1));
            }
        });
        assert!(text.contains("update"), "{text}");
    }
}

/// In a destructor during a panic there is nobody to meet: the call must not look like a meeting.
#[test]
fn an_update_while_a_panic_unwinds_ends_the_process() {
    if std::env::var_os("PHALANX_UPDATES_IN_DROP").is_none() {
        let test = "an_update_while_a_panic_unwinds_ends_the_process";
        let output =
            again(module_path!(), test).env("PHALANX_UPDATES_IN_DROP", "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && !text.contains("went on"), "{text}");
        return assert!(text.contains("failed while another panic unwinds"), "{text}");
    }
    struct Updates<'a>(&'a mut Comm, Window<u64>);
    impl Drop for Updates<'_> {
        fn drop(&mut self) {
            self.1.update(self.0, |mine| mine.fill(1));
            eprintln!("went on");
        }
    }
    drop(team(2).run(|comm| {
        let window = comm.shared::<u64>(1);
        let mut other = comm.split(0, comm.rank());
        let _updates = Updates(comm, window);
        bomb_if(other.rank() == 0);
        other.barrier();
    }));
}

/// A deadline, while one rank writes for too long.
#[test]
fn a_deadline_in_an_update() {
    let _watch = watch();
    let limit = Duration::from_millis(100);
    let team = Team::builder().ranks(3).deadline(limit).build().unwrap();
    let error = fails(&team, |comm| {
        let mut window = comm.shared::<u64>(100);
        let rank = comm.rank();
        window.update(comm, |mine| {
            if rank == 1 {
                std::thread::sleep(3 * limit);
            }
            mine.fill(1);
        });
    });
    let text = error.to_string();
    assert!(matches!(error, Error::Deadline { peer: 1, .. }), "{text}");
}

/// Other communicators, and other windows, in an update.
#[test]
fn calls_in_an_update() {
    let _watch = watch();
    succeeds(&team(3), |comm| {
        let mut other = comm.split(0, comm.rank());
        let mut window = comm.shared::<usize>(2);
        let mut inner = other.shared::<usize>(1);
        let sum = window.update(comm, |mine| {
            inner.update(&mut other, |x| x[0] = other_value());
            mine.fill(inner.global().iter().sum());
            let mut x = [1];
            other.all_reduce(&mut x, op::Sum);
            right(&mut other, 5);
            x[0]
        });
        assert_eq!((sum, window.part(2)), (3, &[12, 12][..]));
    });
}

fn other_value() -> usize {
    4
}

/// Threads of a rank's own read with it.
#[test]
fn a_handle_is_shared_with_threads() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let _watch = watch();
    succeeds(&team(2), |comm| {
        let mut window = comm.shared::<u64>(50);
        let atomics: AtomicWindow<u64> = comm.shared_atomic(1);
        is_shared(&window);
        is_shared(&atomics);
        window.update(comm, |mine| mine.fill(2));
        let sum = std::thread::scope(|s| {
            let read = |q: usize| window.part(q).iter().sum::<u64>();
            let threads = [0, 1].map(|q| s.spawn(move || read(q)));
            threads.into_iter().map(|t| t.join().unwrap()).sum::<u64>()
        });
        assert_eq!(sum, 200);
    });
}

/// A loop on an atomic, that a failed rank was to write, ends with the run; so does one with a peer
/// that waits in vain for this rank, if there is a deadline.
#[test]
fn a_loop_on_an_atomic_hears_of_the_end() {
    let _watch = watch();
    let team = Team::builder().ranks(3).deadline(Duration::from_millis(100)).build().unwrap();
    for panics in [true, false] {
        let error = fails(&team, |comm| {
            let flags = comm.shared_atomic::<bool>(1);
            match comm.rank() {
                0 if panics => bomb(),
                0 => comm.barrier(),
                _ => {
                    while !flags.mine()[0].load(Acquire) {
                        comm.check();
                    }
                }
            }
        });
        let is_it = match error {
            Error::Panicked { rank: 0, .. } => panics,
            Error::Deadline { rank: 0, .. } => !panics,
            _ => false,
        };
        assert!(is_it, "{error}");
    }
}
