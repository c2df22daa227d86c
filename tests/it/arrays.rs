//! Arrays that a team's ranks have made: cut among them, and mirrored. Elements, parts, drops,
//! errors; where the pages lie is for `.ci/machines` to see.

use crate::common::{bomb_if, check_usable, sizes, team, watch};
use phalanx::dist::{Block, BlockCyclic, Distribution, GeneralBlock};
use phalanx::{DistributedArray, Error, HugePages, Team};
use std::ops::Range;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// Even, uneven and empty parts, in one run a rank and in many.
fn check_parts(team: &Team, how: &(impl Distribution + Sync)) {
    let p = team.size();
    let mut x = team.distributed(how, |i| (i, 0)).unwrap();
    assert_eq!((x.len(), x.ranks()), (how.len(), p));
    for i in 0..how.len() {
        assert_eq!(x.part(how.owner(i))[how.local(i)].0, i, "element {i}");
    }
    let address = x.as_ptr();
    for round in 1..=3 {
        let counts = team.run_with(&mut x.parts_mut(), |comm, mine| {
            for (place, i) in how.indices(comm.rank()).enumerate() {
                assert_eq!(mine[place], (i, (round - 1) * p * 100 + comm.rank() * (round - 1)));
                mine[place].1 = round * p * 100 + comm.rank() * round;
            }
            comm.barrier();
            mine.len()
        });
        assert_eq!(counts.unwrap(), how.counts());
    }
    // Kept, where it was; one slice, in the order of the ranks.
    assert_eq!((x.as_ptr(), x.parts_mut().len()), (address, p));
    let listed = (0..p).flat_map(|rank| how.indices(rank).map(move |i| (i, 3 * (p * 100 + rank))));
    assert!(x.iter().copied().eq(listed));
    let ranges: Vec<Range<usize>> = (0..p).map(|rank| x.range(rank)).collect();
    assert!(ranges.iter().map(Range::len).eq(how.counts()));
    assert!(ranges.windows(2).all(|two| two[0].end == two[1].start));
}

#[test]
fn every_rank_makes_and_gets_its_part() {
    let _watch = watch();
    for p in sizes(1..=8) {
        let team = team(p);
        for len in [0, 1, p - 1, p, 3 * p + 1, 1000] {
            check_parts(&team, &Block::new(len, p));
            check_parts(&team, &Block::aligned(len, p, 7));
            check_parts(&team, &BlockCyclic::new(len, 1, p));
            check_parts(&team, &BlockCyclic::new(len, 3, p));
        }
        check_parts(&team, &GeneralBlock::of_counts((0..p).map(|rank| rank * 5 % 4 * 300)));
        check_parts(&team, &GeneralBlock::of_counts((0..p).map(|rank| rank / (p - 1).max(1))));
    }
}

/// The parts of `Block::new` are those of `run_chunks`.
#[test]
fn chunks_of_the_slice_are_the_parts() {
    let team = team(3);
    let mut x = team.distributed(&Block::new(10, 3), |_| 9).unwrap();
    let parts: Vec<usize> = (0..3).map(|rank| x.part(rank).as_ptr().addr()).collect();
    let chunks = team.run_chunks(&mut x, |comm, mine, _| {
        mine.fill(comm.rank());
        mine.as_ptr().addr()
    });
    assert_eq!(chunks.unwrap(), parts);
    assert_eq!(*x, [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]);
}

/// Each rank's elements are made by its thread, each once.
#[test]
fn ranks_make_their_own_elements() {
    let _watch = watch();
    let team = team(4);
    let threads = team.run(|_| std::thread::current().id()).unwrap();
    let made = AtomicUsize::new(0);
    let x = team.distributed(&Block::new(1001, 4), |_| {
        made.fetch_add(1, Relaxed);
        std::thread::current().id()
    });
    let x = x.unwrap();
    assert_eq!(made.into_inner(), 1001);
    assert!((0..4).all(|rank| x.part(rank).iter().all(|&thread| thread == threads[rank])));
    let copies = team.mirrored(100, |_| std::thread::current().id()).unwrap();
    let shared = Block::new(100, 4);
    let is_shared = |copy: &[_]| (0..100).all(|i| copy[i] == threads[shared.owner(i)]);
    // Of several memories each has the work of its own ranks.
    assert!(copies.copies().len() > 1 || copies.copies().all(is_shared));
}

#[test]
fn mirrored_arrays_are_near_every_rank() {
    let _watch = watch();
    for p in sizes(1..=8) {
        let team = team(p);
        for len in [0, 1, 5, 4096] {
            let x = team.mirrored(len, |i| vec![i; 2]).unwrap();
            assert_eq!((x.len(), x.is_empty()), (len, len == 0));
            assert!((1..=p).contains(&x.copies().len()));
            for _ in 0..2 {
                let is_right = team.run(|comm| {
                    let near = x.near(comm.rank());
                    near.len() == len && near.iter().enumerate().all(|(i, x)| *x == [i, i])
                });
                assert_eq!(is_right.unwrap(), vec![true; p]);
            }
            assert!(x.copies().all(|copy| (0..len).all(|i| copy[i][0] == i)));
            assert_eq!(x.huge_pages().len(), x.copies().len());
        }
    }
}

#[test]
#[should_panic(expected = "rank 2 of 2")]
fn no_copy_is_near_a_rank_that_is_none() {
    let x = team(2).mirrored(3, |i| i).unwrap();
    let _: &[usize] = x.near(2);
}

#[test]
#[should_panic(expected = "rank 2 of 2")]
fn no_part_is_of_a_rank_that_is_none() {
    let x = team(2).distributed(&Block::new(3, 2), |i| i).unwrap();
    let _: &[usize] = x.part(2);
}

// ---- Elements that have destructors ----

/// Counts those that are there.
struct Counted<'a>(&'a AtomicIsize, Box<usize>);

impl<'a> Counted<'a> {
    fn new(there: &'a AtomicIsize, i: usize) -> Self {
        there.fetch_add(1, Relaxed);
        Counted(there, Box::new(i))
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[test]
fn elements_are_dropped_once() {
    let _watch = watch();
    for p in sizes(1..=8) {
        let (team, there) = (team(p), AtomicIsize::new(0));
        // More than a page of them, so that they lie in pages of their own.
        let mut x = team.distributed(&Block::new(2000, p), |i| Counted::new(&there, i)).unwrap();
        assert_eq!(there.load(Relaxed), 2000);
        // Some are put in the place of others.
        let replaced = team.run_with(&mut x.parts_mut(), |_, mine| {
            mine.iter_mut().step_by(3).for_each(|x| *x = Counted::new(&there, *x.1 + 1));
            mine.len()
        });
        assert_eq!(replaced.unwrap().iter().sum::<usize>(), 2000);
        assert_eq!(there.load(Relaxed), 2000);
        let copies = team.mirrored(10, |i| Counted::new(&there, i)).unwrap();
        assert_eq!(there.load(Relaxed), 2000 + 10 * copies.copies().len() as isize);
        drop(copies);
        // It may outlive its team, and go to another thread.
        drop(team);
        std::thread::scope(|s| s.spawn(move || drop(x)).join().unwrap());
        assert_eq!(there.into_inner(), 0);
    }
}

/// A panic of any rank at any of its elements: those that were made are dropped, the team goes on.
#[test]
fn a_panic_while_elements_are_made_loses_nothing() {
    let _watch = watch();
    for p in sizes(1..=8) {
        let (team, there) = (team(p), AtomicIsize::new(0));
        let blocks = Block::new(60, p);
        for at in [0, 1, 29, 59] {
            let make = |i| {
                bomb_if(i == at);
                Counted::new(&there, i)
            };
            let is_the_bomb = |error: Error| {
                let of = blocks.owner(at);
                assert!(matches!(error, Error::Panicked { rank, .. } if rank == of), "{error}");
                let payload = error.into_panic().unwrap();
                assert_eq!(payload.downcast_ref(), Some(&"bomb"));
            };
            is_the_bomb(team.distributed(&blocks, make).unwrap_err());
            assert_eq!(there.load(Relaxed), 0, "{p} ranks, element {at}");
            let error = team.mirrored(60, make).unwrap_err();
            assert!(matches!(error, Error::Panicked { .. }), "{error}");
            assert_eq!(there.load(Relaxed), 0, "{p} ranks, mirrored, element {at}");
            check_usable(&team, 1);
        }
        // One that fails in a run that has its parts is still whole.
        let mut x = team.distributed(&blocks, |i| Counted::new(&there, i)).unwrap();
        let error = team.run_with(&mut x.parts_mut(), |comm, mine| {
            bomb_if(comm.rank() == p - 1);
            comm.barrier();
            mine.len()
        });
        assert!(error.is_err() && (0..60).all(|i| *x[i].1 == i));
        assert_eq!(there.load(Relaxed), 60);
        drop(x);
        assert_eq!(there.load(Relaxed), 0);
    }
}

/// Elements without a size, with padding, aligned to more than a page.
#[test]
fn any_element() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(8192))]
    struct Wide(u8);
    struct Nothing<'a>(&'a AtomicIsize);
    impl Drop for Nothing<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    static UNITS: AtomicIsize = AtomicIsize::new(0);
    struct Unit;
    impl Drop for Unit {
        fn drop(&mut self) {
            UNITS.fetch_sub(1, Relaxed);
        }
    }
    let _watch = watch();
    let team = team(3);
    let blocks = Block::new(100, 3);
    let wide = team.distributed(&blocks, |i| Wide(i as u8)).unwrap();
    assert!((0..100).all(|i| wide[i] == Wide(i as u8)));
    assert!(wide.as_ptr().addr().is_multiple_of(8192));
    let padded = team.distributed(&blocks, |i| (i as u8, i as u64)).unwrap();
    assert!((0..100).all(|i| padded[i] == (i as u8, i as u64)));
    let make = |_| {
        UNITS.fetch_add(1, Relaxed);
        Unit
    };
    let units = team.distributed(&blocks, make).unwrap();
    assert_eq!((units.len(), units.part(2).len(), UNITS.load(Relaxed)), (100, 34, 100));
    drop(units);
    assert_eq!(UNITS.load(Relaxed), 0);
    let there = AtomicIsize::new(0);
    let make = |_| {
        there.fetch_add(1, Relaxed);
        Nothing(&there)
    };
    drop(team.mirrored(7, make).unwrap());
    assert_eq!(there.into_inner(), 0);
}

// ---- Errors ----

/// Says anything.
struct Odd {
    len: usize,
    ranks: usize,
    counts: Vec<usize>,
    lists: Vec<usize>,
}

impl Distribution for Odd {
    fn len(&self) -> usize {
        self.len
    }
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn owner(&self, _: usize) -> usize {
        unreachable!("nobody asks")
    }
    fn local(&self, _: usize) -> usize {
        unreachable!("nobody asks")
    }
    fn count(&self, rank: usize) -> usize {
        self.counts[rank]
    }
    fn counts(&self) -> Vec<usize> {
        vec![1000; 1000]
    }
    fn ranges(&self, rank: usize) -> impl Iterator<Item = Range<usize>> {
        std::iter::once(0..self.lists[rank])
    }
}

#[test]
fn distributions_that_do_not_fit_are_refused() {
    let _watch = watch();
    let (team, there) = (team(2), AtomicIsize::new(0));
    let text = |len, ranks, counts: [usize; 2], lists: [usize; 2]| {
        let odd = Odd { len, ranks, counts: counts.into(), lists: lists.into() };
        let result = team.distributed(&odd, |i| Counted::new(&there, i));
        assert_eq!(there.load(Relaxed), result.as_ref().map_or(0, |x| x.len() as isize));
        match result {
            Ok(_) => "ok".to_string(),
            Err(Error::Parts { what }) => {
                let (what, line) = what.rsplit_once(", at ").expect("a line");
                assert!(line.starts_with("tests/it/arrays.rs:"), "{line}");
                what.to_string()
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(text(5, 2, [2, 3], [2, 3]), "ok");
    assert_eq!(text(5, 3, [2, 3], [2, 3]), "a distribution among 3 ranks for a team of 2");
    assert_eq!(text(5, 0, [2, 3], [2, 3]), "a distribution among 0 ranks for a team of 2");
    let counts = "a distribution of 5 elements with the counts ";
    assert_eq!(text(5, 2, [2, 2], [2, 3]), format!("{counts}[2, 2]"));
    assert_eq!(text(5, 2, [3, 3], [2, 3]), format!("{counts}[3, 3]"));
    let many = text(5, 2, [usize::MAX, 6], [2, 3]);
    assert_eq!(many, format!("{counts}[{}, 6]", usize::MAX));
    let lists = "the distribution counts 3 elements of rank 1, and lists others";
    assert_eq!(text(5, 2, [2, 3], [2, 2]), lists);
    assert_eq!(text(5, 2, [2, 3], [2, 4]), lists);
    assert_eq!(text(5, 2, [2, 3], [2, usize::MAX]), lists);
    check_usable(&team, 1);
}

#[test]
fn an_array_of_one_team_is_lent_to_teams_of_as_many_ranks() {
    let mut x = team(3).distributed(&Block::new(9, 3), |i| i).unwrap();
    let fill = |team: Team, x: &mut DistributedArray<usize>| {
        team.run_with(&mut x.parts_mut(), |comm, mine| mine.fill(comm.rank()))
    };
    assert!(fill(team(3), &mut x).is_ok());
    assert_eq!(*x, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    for p in [2, 4] {
        let error = fill(team(p), &mut x).unwrap_err();
        assert!(matches!(error, Error::Parts { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("3 items for {p} ranks")), "{error}");
    }
}

#[test]
fn what_no_memory_holds_is_refused() {
    let team = team(2);
    for len in [usize::MAX / 16, usize::MAX] {
        let never = |_| -> u64 { panic!("there is no place for it") };
        let refused = |error: Error| {
            assert!(matches!(error, Error::Memory { ranks: 2, .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains(&format!("an array of {len} elements of 8 bytes; ")), "{text}");
        };
        refused(team.distributed(&Block::new(len, 2), never).unwrap_err());
        refused(team.mirrored(len, never).unwrap_err());
    }
    let error = team.run(|_| team.distributed(&Block::new(4, 2), |i| i).map(drop));
    assert!(error.unwrap().iter().all(|it| matches!(it, Err(Error::Busy))));
    check_usable(&team, 1);
}

#[test]
fn huge_pages_are_taken_or_refused_in_words() {
    let team = team(2);
    let few = team.distributed(&Block::new(100, 2), |_| 0_u64).unwrap().huge_pages();
    assert!(matches!(few, HugePages::Refused { .. }), "{few}");
    let many = team.distributed(&Block::new(1 << 20, 2), |_| 1_u64).unwrap();
    assert!(many.iter().all(|x| *x == 1));
    match many.huge_pages() {
        // 8 MiB that begin with a huge page.
        HugePages::Taken { bytes, held } => {
            assert!((4 << 20..=8 << 20).contains(&bytes), "{bytes}");
            assert!(held.is_none_or(|held| held <= bytes));
        }
        HugePages::Refused { why } => assert!(!why.is_empty()),
    }
}
