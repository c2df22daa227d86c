//! Ranks that wait: for each other in a circle, for long, until the program ends the wait, or until
//! another thread does.

use crate::start::{end_well, name, ranks_of, run, team};
use phalanx_processes::{Builder, Error, ErrorKind, Team, op};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The roles of ranks that come to a standstill. Each prints the error that it gets.
pub(crate) fn rank(role: &str, mut team: Team) {
    let (me, p) = (team.rank(), team.size());
    let next = (me + 1) % p;
    let outcome = match role {
        "wait: receives" => team.receive(&mut [0_u8], next, 1),
        "wait: barrier" if me == 1 => team.receive(&mut [0_u8], 0, 1),
        "wait: barrier" => team.barrier(),
        // More than goes into the ring between the two.
        "wait: sends" if me == 0 => team.send(&[0_u8; 1 << 20], 1, 1),
        "wait: sends" => team.barrier(),
        // A circle of two, to which the wait of the third leads.
        "wait: apart" if me < 2 => team.receive(&mut [0_u8], 1 - me, 1),
        "wait: apart" => team.all_reduce(&mut [1.0], op::Sum),
        "wait: group" => {
            let group = team.split((me < 2).then_some(0), 0).unwrap();
            match group {
                Some(mut group) => group.receive(&mut [0_u8], 1 - me, 1),
                None => team.barrier(),
            }
        }
        "wait: turns" => return turns(team),
        "wait: late" => {
            if me == 1 {
                std::thread::sleep(Duration::from_millis(1200));
            }
            return team.barrier().unwrap();
        }
        role => panic!("no role {role}"),
    };
    let error = outcome.expect_err("a fault");
    eprintln!("{:?}: {error}", error.kind());
    std::process::exit(3);
}

/// Waits of all sorts that last, in another order on each rank; all of them end.
fn turns(mut team: Team) {
    let (me, p) = (team.rank(), team.size());
    let since = Instant::now();
    for round in 0_u64.. {
        let late = |other: usize| (round as usize * 7 + other * 5) % 9;
        std::thread::sleep(Duration::from_millis(3 * late(me) as u64));
        let mut x = vec![1.0_f32; if round % 3 == 0 { 100_000 } else { 1 }];
        team.send(&x, (me + 1) % p, round).unwrap();
        team.receive(&mut x, (me + p - 1) % p, round).unwrap();
        team.all_reduce(&mut x, op::Sum).unwrap();
        let mut over = [u8::from(since.elapsed() > Duration::from_secs(3))];
        team.broadcast(&mut over, 0).unwrap();
        if over[0] == 1 {
            return;
        }
    }
}

/// The one cause that all ranks of a role end with.
fn circle(role: &str, ranks: usize) -> String {
    let texts = team(role, ranks).into_iter().map(|rank| {
        let ended = rank.end();
        assert_eq!(ended.status.code(), Some(3), "{role}: {}", ended.text);
        let cause = ended.text.lines().find(|line| line.starts_with("Deadlock: "));
        cause.unwrap_or_else(|| panic!("{role}: {}", ended.text)).to_string()
    });
    let texts: Vec<String> = texts.collect();
    assert!(texts.iter().all(|text| *text == texts[0]), "{role}: {texts:?}");
    texts[0].clone()
}

#[test]
fn ranks_that_wait_in_a_circle_are_told() {
    for (role, ranks, links) in [
        ("wait: receives", 2, vec![(0, 1, "receive"), (1, 0, "receive")]),
        ("wait: receives", 3, vec![(0, 1, "receive"), (1, 2, "receive"), (2, 0, "receive")]),
        ("wait: barrier", 2, vec![(0, 1, "barrier"), (1, 0, "receive")]),
        ("wait: barrier", 3, vec![(0, 1, "barrier"), (1, 0, "receive")]),
        ("wait: sends", 2, vec![(0, 1, "send"), (1, 0, "barrier")]),
        ("wait: apart", 4, vec![(0, 1, "receive"), (1, 0, "receive")]),
        ("wait: group", 3, vec![(0, 1, "receive"), (1, 0, "receive")]),
    ] {
        let text = circle(role, ranks);
        assert!(text.contains("ranks wait for each other in a circle: rank 0 (process"), "{text}");
        assert_eq!(text.matches(" waits for rank ").count(), links.len(), "{text}");
        for (from, to, call) in links {
            let place = text.find(&format!("rank {from} (process")).expect(&text);
            let link = format!("waits for rank {to} in {call} at ");
            assert!(text[place..].contains(&link), "{role}: {link}: {text}");
        }
        assert!(text.contains("standstill.rs:"), "{text}");
    }
}

#[test]
fn waits_that_last_and_end_are_no_circle() {
    run("wait: turns", 2);
    run("wait: turns", 3);
    run("wait: turns", 5);
}

#[test]
fn a_stall_is_told_once() {
    let ranks = ranks_of("wait: late", 3, |program| program.env("PHALANX_STALL_WARNING", "0.3"));
    let all = end_well(ranks);
    assert_eq!(all.matches("has waited 300ms for rank 1, and waits on:").count(), 1, "{all}");
    assert!(all.contains("it waits for rank 1 in barrier at ") && all.contains("once in a team"));
    assert!(all.contains("no call yet"), "{all}");
}

/// Two ranks that are threads.
pub(crate) fn pair(
    builder: Builder,
    work: impl Fn(Team) -> Result<(), Error> + Sync,
) -> [Error; 2] {
    let name = name();
    std::thread::scope(|scope| {
        let ranks = [0, 1].map(|rank| {
            let (builder, name, work) = (builder.clone(), &name, &work);
            scope.spawn(move || work(builder.join(name, rank, 2)?))
        });
        ranks.map(|rank| rank.join().unwrap().expect_err("a fault"))
    })
}

#[test]
fn the_program_ends_a_wait() {
    static COMES: AtomicBool = AtomicBool::new(false);
    let builder = Team::builder().interrupt(|| COMES.load(Ordering::Relaxed));
    let errors = pair(builder.clone(), |mut team| {
        team.barrier()?;
        if team.rank() == 1 {
            COMES.store(true, Ordering::Relaxed);
            return team.receive(&mut [0_u8], 0, 1);
        }
        // It is elsewhere, and comes back.
        std::thread::sleep(Duration::from_millis(700));
        team.barrier()
    });
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        assert_eq!(error.rank(), Some(1));
        let text = error.to_string();
        assert!(
            text.contains("rank 1 was interrupted") && text.contains("in receive at"),
            "{text}"
        );
    }
    COMES.store(true, Ordering::Relaxed);
    for rank in 0..2 {
        let error = builder.clone().join(&name(), rank, 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        assert_eq!(error.to_string(), format!("rank {rank} was interrupted while it attached"));
    }
}
