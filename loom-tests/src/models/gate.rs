//! Gates: every rank publishes to all others, episode by episode, without acknowledgements. The
//! published data are loom cells: a slot, and a place in the owner's eager buffer.

use crate::harness::{model, must_fail};
use crate::mailbox::Header;
use crate::sync::{Arc, Site::*, yield_now};
use loom::thread;

fn header(n: u64) -> Header {
    Header { sig: std::ptr::null(), check: n }
}

/// The bodies, for the real gate and for its mutants.
macro_rules! bodies {
    ($name:ident, $gate:path) => {
        mod $name {
            use super::*;
            use crate::mailbox::{EagerBuffer, EagerSlot};
            use $gate as library;

            struct Rank {
                gate: library::Gate,
                eager_buffer: Box<EagerBuffer>,
            }

            /// `ranks` ranks take part in `episodes` episodes after `start`. The number that a
            /// rank shows is on its eager buffer.
            pub(super) fn episodes(ranks: usize, start: u64, episodes: u64) {
                let rank = |_| Rank {
                    gate: library::Gate::after(start),
                    eager_buffer: EagerBuffer::new(),
                };
                let all: Arc<Vec<Rank>> = Arc::new((0..ranks).map(rank).collect());
                let part = |me: usize| {
                    let all = all.clone();
                    move || {
                        for k in 1..=episodes {
                            let episode = start.wrapping_add(k);
                            let Rank { gate, eager_buffer } = &all[me];
                            let mine = k * 10 + me as u64;
                            // SAFETY: the owner, in order, having seen all others in the
                            // episode before; a body has room for an address, a place for a
                            // word.
                            unsafe {
                                let fill = |at: *mut u8| at.cast::<u64>().write(mine);
                                let place: *const EagerSlot =
                                    gate.eager_slot(eager_buffer, episode, fill);
                                let fill = |at: *mut u8| at.cast::<*const EagerSlot>().write(place);
                                gate.show(episode, header(mine), fill);
                            }
                            for peer in (0..ranks).filter(|&peer| peer != me) {
                                let gate = &all[peer].gate;
                                while !gate.has_shown(episode) {
                                    yield_now();
                                }
                                // SAFETY: seen; and this rank has not shown the next one.
                                let got = unsafe {
                                    gate.read(episode, |header, at| {
                                        let place = &*at.cast::<*const EagerSlot>().read();
                                        (header.check, place.read(|at| at.cast::<u64>().read()))
                                    })
                                };
                                let theirs = k * 10 + peer as u64;
                                assert_eq!(got, (theirs, theirs), "of another episode");
                            }
                        }
                    }
                };
                let others: Vec<_> = (1..ranks).map(|r| thread::spawn(part(r))).collect();
                part(0)();
                others.into_iter().for_each(|t| t.join().unwrap());
            }
        }
    };
}

bodies!(real, crate::mailbox);
bodies!(of_one_slot, crate::mutants::gate_of_one_slot);

model! {
    five_episodes; name: "gate: 5 episodes over 4 slots and places", ranks: 2, bound: Some(3),
    floor: 1_000, catches: &[Gate], body: || real::episodes(2, 0, 5)
}

model! {
    two_episodes; name: "gate: 2 episodes, numbers up to 2^64 - 1", ranks: 2, bound: None,
    floor: 100, catches: &[Gate], body: || real::episodes(2, u64::MAX - 2, 2)
}

#[test]
fn mutants_are_found() {
    // Four slots are more than are needed; one is less: it is written again while the peer may
    // still be reading.
    must_fail("gate: one slot for all episodes", Some(3), "Causality violation", || {
        of_one_slot::episodes(2, 0, 2)
    });
}
