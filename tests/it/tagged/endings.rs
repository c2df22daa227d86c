//! Waits that end otherwise than by a message.

use super::{LONG, ignore, told};
use crate::common::{Canary, bomb_if, fails, failure, look_alive, team, watch};
use phalanx::{Activity, Comm, Error, Source, Tag, Team, op};
use std::time::Duration;

#[test]
fn a_circle_of_long_sends_is_named() {
    let _watch = watch();
    for p in 2..=5 {
        let team = team(p);
        let error = told(&team, &["in a circle", "send_tagged of 4096 u64, to rank"], |comm| {
            comm.send_tagged(&[1u64; LONG], (comm.rank() + 1) % p, 0);
        });
        let Error::Deadlock { circle } = &error else { panic!("{error}") };
        assert_eq!(circle.len(), p, "{error}");
    }
    // Receives, too; and through a collective.
    told(&team(3), &["in a circle", "recv_owned"], |comm| {
        ignore(comm.recv_owned::<u8>((comm.rank() + 1) % 3, 0));
    });
    told(&team(2), &["barrier", "probe, from rank 0, tag 4"], |comm| match comm.rank() {
        0 => comm.barrier(),
        _ => ignore(comm.probe(0, 4)),
    });
}

/// Two ranks that wait for any source are no circle while a third may send.
#[test]
fn a_wait_for_any_source_is_no_circle() {
    let _watch = watch();
    let out = team(3).run(|comm| {
        let me = comm.rank();
        if me == 2 {
            std::thread::sleep(Duration::from_millis(50));
            comm.send_tagged(&[20], 0, 0);
            return 0;
        }
        let mut x = [0];
        if me == 0 {
            comm.recv_tagged(&mut x, Source::Any, Tag::Any);
            comm.send_tagged(&[x[0] + 1], 1, 0);
        } else {
            comm.recv_tagged(&mut x, 0, 0);
        }
        x[0]
    });
    assert_eq!(out.unwrap(), [20, 21, 0]);
}

#[test]
fn a_rank_that_waits_for_any_hears_that_all_have_left() {
    let _watch = watch();
    for p in [2, 3, 5] {
        let team = team(p);
        for me in [0, p - 1] {
            let error = told(&team, &["returned while rank", "tag 2"], |comm| {
                if comm.rank() == me {
                    comm.recv_tagged(&mut [0u8], Source::Any, 2);
                }
            });
            assert!(matches!(error, Error::Left { rank, .. } if rank == me), "{error}");
        }
        // A message that was sent before leaving counts.
        team.run(|comm| match comm.rank() {
            0 => (1..p).for_each(|_| ignore(comm.recv_vec::<u8>(Source::Any, Tag::Any))),
            me => comm.send_tagged(&[me as u8], 0, 0),
        })
        .unwrap();
    }
}

#[test]
fn nothing_is_freed_while_it_is_lent_or_posted() {
    let _watch = watch();
    let team = team(3);
    for turn in 0..60usize {
        let (odd, n) = (turn % 3, LONG * (1 + turn % 5));
        let error = fails(&team, |comm| {
            let me = comm.rank();
            let mut mine = Canary(vec![me as u64; n]);
            let pause = Duration::from_micros((turn as u64 * 37 + me as u64 * 53) % 300);
            std::thread::sleep(pause);
            if me == odd {
                bomb_if(turn % 2 == 0);
                return;
            }
            // The two that are left: one lends, the other posts; or each waits for the odd one.
            let other = 3 - odd - me;
            match (me < other, turn % 4 < 2) {
                (true, true) => comm.send_tagged(&mine.0, other, 0),
                (false, true) => ignore(comm.recv_tagged(&mut mine.0, Source::Any, 0)),
                (true, false) => comm.send_tagged(&mine.0, odd, 0),
                (false, false) => ignore(comm.recv_tagged(&mut mine.0, odd, 0)),
            }
            look_alive(&mine.0);
            comm.recv_tagged(&mut mine.0, odd, 1);
        });
        assert!(matches!(error, Error::Panicked { .. } | Error::Left { .. }), "{error}");
    }
}

#[test]
fn a_deadline_names_what_is_waited_for() {
    let _watch = watch();
    let short = Duration::from_millis(200);
    let team = Team::builder().ranks(3).deadline(short).build().unwrap();
    let error = failure(team.run(|comm| match comm.rank() {
        0 => ignore(comm.recv_tagged(&mut [0u8], Source::Any, 5)),
        1 => std::thread::sleep(3 * short),
        _ => comm.send_tagged(&[1u64; LONG], 1, 6),
    }));
    let text = error.to_string();
    let Error::Deadline { ranks, .. } = &error else { panic!("{text}") };
    assert_eq!(ranks[0].doing, Activity::WaitsForAny, "{text}");
    assert_eq!(ranks[2].doing, Activity::WaitsFor(1), "{text}");
    for words in ["from any rank, tag 5", "to rank 1, tag 6", "any rank"] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_cancel_ends_every_wait() {
    let _watch = watch();
    let team = team(3);
    let waits: [fn(&mut Comm); 5] = [
        |comm| ignore(comm.recv_tagged(&mut [0u8], Source::Any, 0)),
        |comm| ignore(comm.recv_vec::<u8>(0, 0)),
        |comm| ignore(comm.recv_owned::<u8>(Source::Any, Tag::Any)),
        |comm| ignore(comm.probe(0, Tag::Any)),
        |comm| comm.send_tagged(&[0u64; LONG], 0, 0),
    ];
    for wait in waits {
        let error = fails(&team, |comm| {
            if comm.rank() == 0 {
                std::thread::sleep(Duration::from_millis(5));
                comm.cancel();
            }
            wait(comm);
        });
        assert!(matches!(error, Error::Cancelled { rank: Some(0) }), "{error}");
    }
    // A rank that waits for nobody hears of it, too.
    let error = failure(team.run(|comm| match comm.rank() {
        0 => comm.cancel(),
        _ => while comm.try_probe(Source::Any, Tag::Any).is_none() {},
    }));
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
}

#[test]
fn calls_in_destructors_do_nothing() {
    struct Sends<'a>(&'a mut Comm, [u64; LONG]);
    impl Drop for Sends<'_> {
        fn drop(&mut self) {
            let me = self.0.rank();
            self.0.send_tagged(&self.1, 1 - me, 0);
            self.0.send_owned(String::new(), 1 - me, 0);
            self.0.send_tagged(&self.1, me, 0);
            assert_eq!(self.0.try_probe(Source::Any, Tag::Any), None);
        }
    }
    let _watch = watch();
    let team = team(2);
    let error = fails(&team, |comm| {
        let me = comm.rank();
        let sends = Sends(comm, [7; LONG]);
        bomb_if(me == 0);
        sends.0.all_reduce(&mut [1], op::Sum);
    });
    // The first of them is a call like any other: the panic is not known yet.
    let is_right = matches!(error, Error::Panicked { rank: 0, .. } | Error::Mismatch { .. });
    assert!(is_right, "{error}");
}
