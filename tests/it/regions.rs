//! Regions: blocks of slices by any cut, values, two tasks.

use crate::common::{team, watch};
use phalanx::dist::{Block, GeneralBlock, dynamic};
use phalanx::{Comm, Error, Team, TryError, op};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// x[i] = y[i] + i, and each element once: by all cuts.
#[test]
fn blocks_of_any_cut_make_up_the_slices() {
    let _watch = watch();
    for p in 1..=5 {
        let team = team(p);
        for n in [0, 1, p, 7 * p + 3, 1000] {
            let y: Vec<usize> = (0..n).map(|i| 3 * i).collect();
            let check = |x: &[usize]| assert!(x.iter().enumerate().all(|(i, x)| *x == 4 * i + 1));
            let body = |x: &mut [usize], y: &[usize], at: usize| {
                assert_eq!(x.len(), y.len());
                (at..).zip(x).zip(y).for_each(|((i, x), y)| *x += y + i);
            };
            let mut x = vec![1; n];
            team.run_chunks((&mut x, &y), |_, (x, y), at| body(x, y, at)).unwrap();
            check(&x);
            let uneven = GeneralBlock::of_weights(n, (0..p).map(|rank| (rank % 3) as f64));
            for length in [1, 3, 10_000] {
                let mut x = vec![1; n];
                let cut = dynamic(length).cut((&mut x, &y));
                let starts = team.run_chunks(cut, |_, (x, y), at| {
                    body(x, y, at);
                    at
                });
                check(&x);
                let blocks = n.div_ceil(length).max(1);
                assert!(starts.unwrap().into_iter().eq((0..blocks).map(|k| k * length)));
            }
            let mut x = vec![1; n];
            team.run_chunks(uneven.cut((&mut x, &y)), |_, (x, y), at| body(x, y, at)).unwrap();
            check(&x);
            let mut x = vec![1; n];
            let rows = Block::aligned(n, p, 16).cut((&mut x, &y));
            let starts = team.run_chunks(rows, |_, (x, y), at| {
                body(x, y, at);
                at
            });
            check(&x);
            assert!(starts.unwrap().into_iter().all(|at| at % 16 == 0 || at == n));
        }
    }
}

#[test]
fn slices_and_cuts_that_do_not_fit_are_errors() {
    let team = team(2);
    let (mut x, y) = ([0; 5], [0; 6]);
    let error = team.run_chunks((&mut x, &[1; 5], &y), |_, _, _| ()).unwrap_err();
    let error = error.to_string();
    let text = "slices of 5 and of 6 elements, to be cut alike, at tests/it/regions.rs:";
    assert!(error.starts_with(text), "{error}");
    let three = Block::new(5, 3);
    let error = team.run_chunks(three.cut(&mut x), |_, _, _| ()).unwrap_err();
    let error = error.to_string();
    let text =
        "the cut is of 5 elements among 3 ranks, but there are 5 elements and 2 ranks, at tests";
    assert!(error.starts_with(text), "{error}");
    let six = GeneralBlock::of_counts([3, 3]);
    let error = team.reduce_chunks(six.cut(&x), |_, _, _| 1, op::Sum).unwrap_err();
    assert!(matches!(error, Error::Parts { .. }), "{error}");
}

/// A sum whose bits depend on the order: by dynamic blocks the same for any number of ranks.
#[test]
fn values_are_combined_in_the_order_of_blocks() {
    let x: Vec<f64> = (0..1000).map(|i| 1.0 / (i as f64 + 0.3)).collect();
    let sum = |x: &[f64]| x.iter().sum::<f64>();
    let mut first = None;
    for p in 1..=4 {
        let team = team(p);
        let dealt =
            || team.reduce_chunks(dynamic(7).cut(&x), |_, x, _| sum(x), op::Sum).unwrap().to_bits();
        let bits = dealt();
        assert_eq!((*first.get_or_insert(bits), dealt()), (bits, bits));
        let cut = || team.reduce_chunks(&x, |_, x, _| sum(x), op::Sum).unwrap().to_bits();
        assert_eq!(cut(), cut());
        // Of words that come with the flag, and of more.
        let places = team.reduce_chunks(&x, |_, _, at| [at; 7], op::ordered(|_, b| b)).unwrap();
        let more = team.reduce_chunks(&x, |_, _, at| [at; 8], op::ordered(|a, _| a)).unwrap();
        assert_eq!((places, more), ([1000 * (p - 1) / p; 7], [0; 8]));
        let none: &[f64] = &[];
        assert_eq!(team.reduce_chunks(none, |_, x, _| x.len(), op::Max).unwrap(), 0);
        let empty = team.reduce_chunks(dynamic(3).cut(none), |_, x, _| x.len(), op::Max);
        assert_eq!(empty.unwrap(), 0);
    }
}

/// What a closure has captured is shared by all ranks, and dropped once, however large it is.
#[test]
fn closures_of_any_size_are_shared() {
    fn check<const N: usize>(team: &Team) {
        let (own, words, dropped) = (AtomicUsize::new(0), [N; N], Arc::new(()));
        let counts = team.run(move |comm| {
            own.fetch_add(1, Relaxed);
            comm.barrier();
            (own.load(Relaxed), words.iter().sum::<usize>())
        });
        assert_eq!(counts.unwrap(), vec![(team.size(), N * N); team.size()]);
        let other = dropped.clone();
        let both = team.run(move |_| (Arc::strong_count(&other), [0; N]));
        assert_eq!(both.unwrap()[0].0, 2);
        assert_eq!(Arc::strong_count(&dropped), 1);
    }
    #[repr(align(64))]
    struct Line(u8);
    for p in [1, 2, 3] {
        let team = team(p);
        check::<0>(&team);
        check::<1>(&team);
        check::<3>(&team);
        check::<4>(&team);
        check::<11>(&team);
        check::<12>(&team);
        check::<40>(&team);
        let line = Line(7);
        let aligned =
            team.run(move |_| std::ptr::from_ref(&line).addr() % 64 + usize::from(line.0));
        assert_eq!(aligned.unwrap(), vec![7; p]);
    }
}

#[test]
fn a_failing_block_ends_the_region() {
    let _watch = watch();
    for p in 1..=3 {
        let team = team(p);
        let (mut x, calls) = (vec![0; 1000], AtomicUsize::new(0));
        let error = team.run_chunks(dynamic(1).cut(&mut x), |_, _, at| {
            calls.fetch_add(1, Relaxed);
            assert!(at != 5, "block 5");
            String::from("dropped")
        });
        assert!(matches!(error, Err(Error::Panicked { .. })), "{error:?}");
        let result = team.try_run_chunks(dynamic(10).cut(&mut x), |_, x, at| {
            x.fill(1);
            if at == 70 { Err("seven") } else { Ok(at) }
        });
        assert!(matches!(result, Err(TryError::Rank { error: "seven", .. })), "{result:?}");
        let fine = team.try_run_chunks(dynamic(10).cut(&mut x), |_, _, at| Ok::<_, ()>(at));
        assert_eq!(fine.unwrap().len(), 100);
    }
}

#[test]
fn two_tasks_at_once() {
    let _watch = watch();
    for p in 1..=3 {
        let team = team(p);
        let (mut names, not_sync) = (vec!["b", "a"], Cell::new(3));
        let ends = team.join(
            || names.sort(),
            move || {
                not_sync.set(4);
                not_sync
            },
        );
        assert_eq!(ends.unwrap().1.get(), 4);
        assert_eq!(names, ["a", "b"]);
        let error = team.join(|| (), || panic!("task")).map(|((), ())| ());
        assert!(matches!(error, Err(Error::Panicked { .. })), "{error:?}");
        let inner = team.join(|| team.run(|_| ()).is_err(), || team.join(|| (), || ()).is_err());
        assert_eq!(inner.unwrap(), (true, true), "a task starts no region of its team");
    }
}

/// Another thread's run does not take the values of one that has just ended.
#[test]
fn values_belong_to_their_run() {
    let _watch = watch();
    let team = team(3);
    std::thread::scope(|s| {
        for thread in 0..3 {
            let team = &team;
            s.spawn(move || {
                for round in 0..200 {
                    let value = 1000 * thread + round;
                    let results = team.run_queued(|comm| value + comm.rank()).unwrap();
                    assert_eq!(results, [value, value + 1, value + 2]);
                }
            });
        }
    });
}

/// Elements without bytes, in blocks of one; more blocks than can be counted or kept are an error.
#[test]
fn elements_of_no_size() {
    for p in 1..=3 {
        let team = team(p);
        let (mut x, y) = (vec![(); 1000], vec![[0_u64; 0]; 1000]);
        let cut = dynamic(1).cut((&mut x, &y[..]));
        let lens = team.run_chunks(cut, |_, (x, y), at| (x.len() + y.len(), at)).unwrap();
        assert!(lens.into_iter().eq((0..1000).map(|at| (2, at))));
        let sum = |_: &mut Comm, x: &mut [()], at: usize| at * x.len();
        for length in [1, 3, usize::MAX] {
            let cut = dynamic(length).cut(&mut x);
            let wanted = (0..1000_usize.div_ceil(length))
                .map(|k| k * length * length.min(1000 - k * length));
            assert_eq!(team.reduce_chunks(cut, sum, op::Sum).unwrap(), wanted.sum());
        }
        let mut many = vec![(); usize::MAX];
        let lens = team.run_chunks(&mut many, |_, x, _| x.len()).unwrap();
        assert_eq!(lens.into_iter().sum::<usize>(), usize::MAX);
        let halves = dynamic(usize::MAX / 2 + 1).cut(&mut many);
        assert_eq!(team.run_chunks(halves, |_, x, _| x.len()).unwrap().len(), 2);
        for error in [
            team.run_chunks(dynamic(1).cut(&mut many), |_, _, _| ()).unwrap_err(),
            team.reduce_chunks(dynamic(1).cut(&mut many), |_, _, _| 1, op::Sum)
                .map(drop)
                .unwrap_err(),
            team.run_chunks(dynamic(4).cut(&mut many), |_, _, at| at).map(drop).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Parts { .. }), "{error}");
            assert!(error.to_string().contains("blocks"), "{error}");
        }
    }
}
