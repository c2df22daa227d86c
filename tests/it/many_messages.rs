//! Checks that one of very many tagged messages, and of receives, is found, and in order.

use crate::common::{succeeds, team, watch};
use phalanx::{Source, Status, Tag, call};
use std::collections::BTreeSet;

/// So many messages at once, with as many tags as half of them.
const MANY: usize = 20_000;

#[test]
fn many_messages_are_received_in_the_reverse_order_of_their_tags() {
    let _watch = watch();
    succeeds(&team(3), |comm| {
        let me = comm.rank();
        if me > 0 {
            for i in 0..MANY / 2 {
                comm.send_tagged(&[me * MANY + i], 0, (i % (MANY / 4)) as u32);
            }
        }
        comm.barrier();
        if me > 0 {
            return;
        }
        let mut next = |from: Source, tag: Tag| {
            let mut x = [0];
            let Status { source, tag, .. } = comm.recv_tagged(&mut x, from, tag);
            let (from, i) = (x[0] / MANY, x[0] % MANY);
            assert_eq!((from, i % (MANY / 4)), (source, tag as usize));
            (from, i)
        };
        // A receive of any tag takes the first that is left of its sender.
        let mut left: Vec<_> = (0..3).map(|_| (0..MANY / 2).collect::<BTreeSet<_>>()).collect();
        for tag in (0..MANY / 4).rev() {
            for from in [1, 2] {
                let got = next(from.into(), (tag as u32).into());
                let of_tag = [tag, tag + MANY / 4].into_iter().find(|it| left[from].remove(it));
                assert_eq!(Some(got), of_tag.map(|it| (from, it)), "tag {tag}");
            }
            if tag % 50 == 0 && tag > MANY / 8 {
                let (from, first) = next(Source::Any, Tag::Any);
                assert_eq!(left[from].pop_first(), Some(first));
                let (from, got) = next(Source::Any, (tag as u32).into());
                assert!(left[from].remove(&got), "{got} was received before");
                assert!(!left[from].contains(&(got % (MANY / 4))));
            }
        }
        for from in [2, 1] {
            while let Some(first) = left[from].pop_first() {
                assert_eq!(next(from.into(), Tag::Any), (from, first));
            }
        }
    });
}

#[test]
fn many_posted_receives_are_met_in_the_reverse_order_of_their_tags() {
    let _watch = watch();
    succeeds(&team(2), |comm| {
        let mut room = vec![usize::MAX; MANY];
        if comm.rank() == 1 {
            comm.barrier();
            for i in (0..MANY).rev() {
                comm.send_tagged(&[i], 0, (i / 2) as u32);
            }
            return;
        }
        comm.requests(|scope| {
            let mut open = Vec::new();
            for (i, to) in room.chunks_mut(1).enumerate() {
                let from = if i % 3 == 0 { Source::Any } else { 1.into() };
                open.push(scope.start(call::recv_tagged(to, from, (i / 2) as u32)));
            }
            scope.comm().barrier();
            for (i, request) in open.into_iter().enumerate() {
                let (got, status) = scope.wait(request);
                // Of two receives of one tag the first gets the one that was sent first.
                assert_eq!((got[0], status.tag as usize), (i ^ 1, i / 2));
            }
        });
    });
}
