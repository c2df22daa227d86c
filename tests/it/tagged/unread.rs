//! A rank that waits for a message while another one lies there: the error names that one.

use super::{LONG, ignore, told};
use crate::common::{failure, team, watch};
use phalanx::{Comm, Error, Source, Tag, Team, call};
use std::time::Duration;

/// The text of a message that lies there.
fn unread(rank: usize, tag: u32) -> String {
    format!("(a message of rank {rank} with tag {tag} waits unread, sent at {}:", file!())
}

/// How rank 1 of two sends to rank 0, and how that waits for another message.
type Mistake = (fn(&mut Comm), fn(&mut Comm));

#[test]
fn a_message_with_another_tag_is_named() {
    let mistakes: [Mistake; 7] = [
        (|c| c.send_tagged(&[1], 0, 7), |c| ignore(c.recv_tagged(&mut [0], 1, 5))),
        (|c| c.send_tagged(&[1], 0, 7), |c| ignore(c.recv_vec::<u8>(Source::Any, 5))),
        (|c| c.send_tagged(&[1], 0, 7), |c| ignore(c.probe(1, 5))),
        (|c| c.send_tagged(&[0; LONG], 0, 7), |c| ignore(c.recv_owned::<u8>(1, 5))),
        (|c| c.send_owned("word", 0, 7), |c| ignore(c.recv_tagged(&mut [0], 1, 5))),
        (|c| c.send_tagged(&[1], 0, 7), |c| c.recv(&mut [0], 1)),
        (
            |c| c.send_tagged(&[1], 0, 7),
            |c| {
                let mut x = [0];
                c.requests(|all| {
                    let request = all.start(call::recv_tagged(&mut x, 1, 5));
                    all.wait(request);
                });
            },
        ),
    ];
    let _watch = watch();
    for (send, receive) in mistakes {
        for returns in [false, true] {
            let f = |comm: &mut Comm| {
                let part = if comm.rank() == 0 { receive } else { send };
                part(comm);
                if !returns {
                    comm.barrier();
                }
            };
            told(&team(2), &["rank 0", &unread(1, 7)], f);
        }
    }
}

#[test]
fn messages_of_other_sources_and_communicators_are_named() {
    let _watch = watch();
    let error = told(&team(3), &[&unread(1, 5)], |comm| {
        if comm.rank() == 1 {
            comm.send_tagged(&[1], 0, 5);
        } else if comm.rank() == 0 {
            comm.recv_tagged(&mut [0], 2, 5);
        }
        comm.barrier();
    });
    let Error::Mismatch { here, .. } = &error else { panic!("{error}") };
    let at = format!(":{}:18)", line!() - 7);
    assert!(here.call.ends_with(&at) && here.to_string().ends_with(&at), "{error}");
    // In a part of the team, whose ranks are the team's in these words.
    let words = [unread(1, 7), unread(2, 7)];
    told(&team(3), &words.each_ref().map(String::as_str), |comm| {
        let mut part = comm.split(comm.rank().min(1), 0);
        if part.size() == 2 {
            let peer = 1 - part.rank();
            part.send_tagged(&[1], peer, 7);
            part.recv_tagged(&mut [0], peer, 5);
        }
    });
    told(&team(2), &["tag 5 waits unread", "on another communicator"], |comm| {
        let mut part = comm.split(0, 0);
        if comm.rank() == 1 {
            comm.send_tagged(&[1], 0, 5);
        } else {
            part.recv_tagged(&mut [0], 1, 5);
        }
        part.barrier();
    });
    // Its own, and one of many.
    told(&team(1), &["only this rank can send it", "of rank 0 with tag 7"], |comm| {
        comm.send_tagged(&[1], 0, 7);
        comm.recv_tagged(&mut [0], 0, 5);
    });
    told(&team(2), &["tag 0 waits", "tag 2 waits", " (and 197 more)"], |comm| {
        match comm.rank() {
            0 => ignore(comm.recv_tagged(&mut [0], 1, 500)),
            _ => (0..200).for_each(|tag| comm.send_tagged(&[1], 0, tag)),
        }
        comm.barrier();
    });
    // None where a rank waits in another call: it may come to that message later.
    let error = failure(team(3).run(|comm| {
        let next = (comm.rank() + 1) % 3;
        comm.send_tagged(&[1], next, 5);
        match comm.rank() {
            0 => comm.recv(&mut [0], 1),
            _ => comm.barrier(),
        }
        comm.recv_tagged(&mut [0], Source::Any, Tag::Any);
    }));
    assert_eq!(error.to_string().matches("waits unread").count(), 1, "{error}");
}

/// Also in waits for any source, which are a deadlock once all ranks wait.
#[test]
fn a_deadlock_and_a_deadline_name_the_messages_that_lie_there() {
    let _watch = watch();
    let team = Team::builder().ranks(3).deadline(Duration::from_millis(200)).build().unwrap();
    for computes in [false, true] {
        let error = failure(team.run(|comm| {
            comm.send_tagged(&[1], (comm.rank() + 1) % 3, 7);
            if computes && comm.rank() == 2 {
                return std::thread::sleep(Duration::from_millis(400));
            }
            comm.recv_tagged(&mut [0], Source::Any, 5);
        }));
        let is_deadline = matches!(error, Error::Deadline { .. });
        assert!(is_deadline == computes && (computes || matches!(error, Error::Deadlock { .. })));
        assert_eq!(error.to_string().matches("waits unread").count(), 2, "{error}");
    }
}
