//! Calls by numbers of type and operator; many lines; wrong arguments.

use crate::standstill::pair;
use crate::start::{name, run};
use phalanx::engine::Operation;
use phalanx_processes::foreign::{self, Call};
use phalanx_processes::{Error, ErrorKind, Place, Symmetric, Team, op};

const F32: i32 = 10;
fn here() -> Place {
    Place::of("solver.py", 7)
}

fn all_reduce(team: &mut Team, at: *mut f32, n: usize) {
    let call = Call { n, kind: F32, operator: 0, root: 0 };
    // SAFETY: so many numbers, which the test uses for this alone.
    unsafe {
        let both = (at.cast_const().cast(), at.cast());
        foreign::collective(team, here(), Operation::AllReduce, both, call).unwrap();
    }
}

/// All-reduces of parts of symmetric memory, at one place or several, and of one rank's own memory.
pub(crate) fn parts(team: &mut Team) {
    let (me, p) = (team.rank(), team.size());
    for n in [1, 10, 3000, 100_000] {
        let [a, b] = [0, 1].map(|_| team.symmetric::<f32>((p + 1) * n).unwrap());
        let mut own = vec![0.0; n];
        for case in 0..6 {
            let fill = |buffer: &Symmetric<f32>| {
                let all: Vec<f32> = (0..(p + 1) * n).map(|i| (i + me + 1) as f32).collect();
                buffer.write(me, 0, &all);
            };
            [&a, &b].into_iter().for_each(fill);
            team.barrier().unwrap();
            let part = |of: &Symmetric<f32>, at: usize| (of.as_mut_ptr().wrapping_add(at), at);
            let (at, from) = match case {
                0 => part(&a, 0),
                // Behind the start, and at its own place on each rank.
                1 => part(&b, n / 2),
                2 => part(&a, me * n),
                3 => part(if me == 0 { &a } else { &b }, n),
                4 if me == p - 1 => {
                    (0..n).for_each(|i| own[i] = (i + me + 1) as f32);
                    (own.as_mut_ptr(), 0)
                }
                4 => part(&a, 0),
                _ => {
                    (0..n).for_each(|i| own[i] = (i + me + 1) as f32);
                    (own.as_mut_ptr(), 0)
                }
            };
            all_reduce(team, at, n);
            let place = |rank: usize| if case == 2 { rank * n } else { from };
            let mut got = vec![0.0; n];
            // SAFETY: so many numbers, which no other rank writes now.
            unsafe { at.copy_to(got.as_mut_ptr(), n) };
            for (i, x) in got.iter().enumerate() {
                let right: usize = (0..p).map(|rank| place(rank) + i + rank + 1).sum();
                assert_eq!(*x, right as f32, "case {case}, {n}, element {i}");
            }
            // Nothing beside the part.
            team.barrier().unwrap();
            let mut last = [0.0];
            a.read(me, (p + 1) * n - 1, &mut last);
            assert_eq!(last, [((p + 1) * n + me) as f32], "case {case}, {n}");
        }
        team.free(a).unwrap();
        team.free(b).unwrap();
    }
}

#[test]
fn parts_of_symmetric_memory_are_legal_buffers() {
    run("parts", 2);
    run("parts", 3);
}

/// What a wrong call of rank 1 makes of both ranks: one text.
fn told(words: &str, call: impl Fn(&mut Team) -> Result<(), Error> + Sync) {
    let [other, own] =
        pair(
            Team::builder(),
            |mut team| {
                if team.rank() == 1 { call(&mut team) } else { team.barrier() }
            },
        );
    assert_eq!((own.kind(), own.rank()), (ErrorKind::Argument, Some(1)), "{own}");
    assert_eq!(own, other);
    assert!(own.to_string().contains(words), "{words}: {own}");
    assert!(own.to_string().contains(" at solver.py:7: "), "{own}");
}

#[test]
fn wrong_arguments_are_told_to_all() {
    let mut x = [0.0_f64; 8];
    let at = x.as_mut_ptr().addr();
    let call = move |operation, at: usize, call: Call| {
        move |team: &mut Team| {
            let data = std::ptr::with_exposed_provenance_mut::<u8>(at);
            // SAFETY: the call is refused.
            unsafe { foreign::collective(team, here(), operation, (data, data), call) }
        }
    };
    let right = Call { n: 2, kind: F32, operator: 0, root: 0 };
    use Operation::{AllReduce, AllToAll, Broadcast, Gather};
    told("there is no type 99", call(AllReduce, at, Call { kind: 99, ..right }));
    told("there is no operator -1", call(AllReduce, at, Call { operator: -1, ..right }));
    told("no band: sum, prod, min, max", call(AllReduce, at, Call { operator: 4, ..right }));
    told("bool has no sum: min, max", call(AllReduce, at, Call { kind: 12, ..right }));
    told("complex64 has no max", call(AllReduce, at, Call { kind: 13, operator: 3, ..right }));
    told("rank -1 is none of 2 ranks", call(Broadcast, at, Call { root: -1, ..right }));
    let far = Call { root: 1 << 32, ..right };
    told("rank 4294967296 is none of 2 ranks", call(Gather, at, far));
    told("the address of elements is null", call(AllReduce, 0, right));
    told("is not a multiple of 4", call(AllReduce, at + 2, right));
    told("both buffers are in the same memory", call(AllToAll, at, right));
    told("more than there are addresses", call(AllReduce, at, Call { n: usize::MAX, ..right }));
    told("color -5: colours are 0 to", |team| foreign::split(team, here(), -5, 0).map(drop));
    told("begins no memory", |team| foreign::free(team, here(), std::ptr::dangling()));
    told("is not contiguous", |team| {
        Err(foreign::refuse(team, here(), "all_reduce", "the array is not contiguous"))
    });
    let message = |to: i64, kind| {
        // SAFETY: the call is refused.
        move |team: &mut Team| unsafe {
            foreign::send(team, here(), std::ptr::null(), (1, kind), (to, 0))
        }
    };
    told("rank -3 is none of 2 ranks", message(-3, F32));
    told("there is no type 15", message(0, 15));
    told("is null", message(0, F32));
}

#[test]
fn another_thread_ends_a_team() {
    for error in pair(Team::builder(), |mut team| {
        if team.rank() == 1 {
            let ender = foreign::Ender::of(&team);
            std::thread::spawn(move || ender.end("the team is closed by another thread"));
        }
        if team.rank() == 0 {
            // It comes later.
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        team.barrier().or_else(|_| team.barrier())
    }) {
        assert!(error.to_string().starts_with("rank 1 (process "), "{error}");
        assert!(error.to_string().contains("closed by another thread"), "{error}");
    }
}

/// A line is written down once, by all groups of a rank, and none is written over.
#[test]
fn errors_name_the_right_one_of_many_lines() {
    let errors = pair(Team::builder(), |mut team| {
        for round in 0..500 {
            let mut group = team.at(Place::of("a.py", 10)).split(Some(0), 0)?.expect("a colour");
            // Together more than there are places.
            for line in 20..160 {
                group.at(Place::of("a.py", line + round)).barrier()?;
            }
        }
        for line in 0..3000 {
            team.at(Place::of("b.py", line)).all_reduce(&mut [1.0], op::Sum)?;
        }
        match team.rank() {
            0 => team.at(Place::of("a.py", 10)).split(Some(0), 0).map(drop),
            _ => team.at(Place::of("b.py", 30)).all_reduce(&mut [1.0], op::Sum),
        }
    });
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("split at a.py:10"), "{text}");
        assert!(text.contains("all_reduce of 1 f64 by sum at b.py:30"), "{text}");
    }
}

#[test]
fn truth_values_and_complex_numbers_travel() {
    let mut team = Team::join(&name(), 0, 1).unwrap();
    for kind in 0..foreign::TYPES.len() as i32 {
        let size = foreign::size_of_type(kind).unwrap();
        let mut x = vec![1_u64; 2 * size];
        let at = x.as_mut_ptr().cast::<u8>();
        // SAFETY: so many bytes.
        unsafe {
            foreign::send(&mut team, here(), at, (2, kind), (0, 9)).unwrap();
            foreign::receive(&mut team, here(), at, (2, kind), (0, 9)).unwrap();
            let call = Call { n: 2, kind, operator: 0, root: 0 };
            let both = (at.cast_const(), at);
            foreign::collective(&mut team, here(), Operation::Broadcast, both, call).unwrap();
        }
    }
    assert_eq!(foreign::size_of_type(15), None);
}
