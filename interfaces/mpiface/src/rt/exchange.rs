//! The parts that ranks give each other where only the giver knows a part's length, or only the
//! taker: blocks of several lengths, a datatype for each peer, the edges of a grid or graph.
//!
//! The parts go by the library's channels (`phalanx::engine::exchange`), pair by pair, so that a
//! rank waits for no more than it takes. Up to `COPIED_PART` bytes are copied; a longer part is
//! lent, and its receiver copies it from where it lies, whatever datatypes the two have. Whoever
//! takes a part judges its length: a part that does not fit is an error of that rank alone.
//!
//! From one rank to another parts are taken in the order in which they are given: the edges of
//! a grid or graph have such an order (`edges.rs`).

use super::coll::Call;
use super::comm::Terms;
use super::edges::{Edges, Round};
use super::error::{Error, Outcome};
use super::short_message::Solid;
use super::standings::RankView;
use super::types::{Place, bytes_at, copy, move_bytes};
use phalanx::engine::{self, COPIED_PART, ExchangeCall, ExchangeStop, GivenPart, PartExchange};
use std::collections::VecDeque;

/// A rank's places in its order: of each the other rank, and the place.
type Places<'a> = &'a dyn Fn(usize) -> (usize, Place);

/// The arguments of an exchange, beside the parts.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The root, if it has one.
    pub root: Option<usize>,
    /// How many parts the rank gives.
    pub gives: usize,
    /// How many it takes.
    pub takes: usize,
    /// Whether less than expected is an error, too.
    pub is_exact: bool,
}

impl Exchange {
    /// All of it in one round.
    pub fn whole(&self) -> Round {
        (0..self.gives, 0..self.takes)
    }
}

/// The progress of an exchange.
#[derive(Clone, Copy)]
struct Done {
    has_begun: bool,
    given: usize,
    taken: usize,
}

/// Nothing.
const NOTHING: Done = Done { has_begun: false, given: 0, taken: 0 };

impl Call<'_> {
    /// The peers of an exchange among all: of each step. Each rank begins with another one.
    #[inline(always)]
    pub fn others(&self) -> impl Fn(usize) -> usize + Copy + use<> {
        let (rank, size) = (self.comm.rank, self.comm.size());
        move |step| if rank + 1 + step < size { rank + 1 + step } else { rank + 1 + step - size }
    }

    #[inline(always)]
    fn compared(&self, it: Exchange) -> ExchangeCall {
        ExchangeCall { function: self.site.function(), root: it.root }
    }

    /// Carries an exchange out of parts without gaps, none of them to itself, but `own`, from where
    /// to where. Nothing of it goes by memory but the parts; any less usual call goes on
    /// as others.
    ///
    /// # Safety
    /// The library has a communicator for this one (`is_routed`). The parts are memory of the
    /// program, the same whenever they are asked for; taken parts overlap no given ones,
    /// but where it is the same memory.
    #[inline(always)]
    pub unsafe fn exchange_solid(
        &self,
        it: Exchange,
        own: Option<(Solid, Solid)>,
        gives: impl Fn(usize) -> (usize, Solid) + Copy,
        takes: impl Fn(usize) -> (usize, Solid) + Copy,
    ) -> Outcome {
        let Call { world, comm, site } = *self;
        let view = comm.begin(world, site, Terms { root: it.root, ..Terms::default() });
        let mut done = NOTHING;
        'short: {
            let mut library = comm.library(view).lend();
            let Some(library) = library.as_mut() else { break 'short };
            let Some(mut parts) = engine::begin_exchange(library, self.compared(it)) else {
                break 'short;
            };
            done.has_begun = true;
            while done.given < it.gives {
                let (peer, (at, bytes)) = gives(done.given);
                // (Where all give and get, nobody runs ahead.)
                let (part, is_stream) = ((at as *const u8, bytes), it.root.is_some());
                // SAFETY: the caller's promise; there is room for so many bytes.
                let went = unsafe {
                    let copy = |to: *mut u8| move_bytes(at, to as usize, bytes);
                    parts.give_now(peer, part, is_stream, copy)
                };
                if !went {
                    break 'short;
                }
                done.given += 1;
            }
            if let Some((from, to)) = own {
                if from.1 != to.1 {
                    break 'short;
                }
                // SAFETY: the caller's promise.
                unsafe { move_bytes(from.0, to.0, to.1) };
            }
            while done.taken < it.takes {
                let (peer, (at, bytes)) = takes(done.taken);
                // SAFETY: the caller's promise; the part has so many bytes.
                let came = unsafe {
                    let copy = |from: *const u8| move_bytes(from as usize, at, bytes);
                    parts.take_soon(peer, (at as *mut u8, bytes), copy)
                };
                if !came {
                    break 'short;
                }
                done.taken += 1;
            }
            if !parts.is_over_soon() {
                break 'short;
            }
            view.log.end();
            return Ok(());
        }
        let place = |it: Solid| bytes_at(it.0, it.1);
        let own = own.map(|(from, to)| (place(from), place(to)));
        let gives = move |step| (gives(step).0, place(gives(step).1));
        let takes = move |step| (takes(step).0, place(takes(step).1));
        // SAFETY: passed on.
        unsafe { self.go_on((it, view), done, &[it.whole()], own, &gives, &takes) }
    }

    /// Carries an exchange out, in rounds; `own`: the rank's part for itself, from where to where,
    /// beside the parts.
    ///
    /// # Safety
    /// All places are memory as their types say, the same whenever they are asked for; taken parts
    /// overlap no given ones, but where it is the same memory.
    pub unsafe fn exchange(
        &self,
        it: Exchange,
        rounds: &[Round],
        own: Option<(Place, Place)>,
        gives: impl Fn(usize) -> (usize, Place),
        takes: impl Fn(usize) -> (usize, Place),
    ) -> Outcome {
        let terms = Terms { root: it.root, ..Terms::default() };
        let view = self.comm.begin(self.world, self.site, terms);
        // SAFETY: passed on.
        unsafe { self.go_on((it, view), NOTHING, rounds, own, &gives, &takes) }
    }

    /// Carries the rest of an exchange out: the short way first, if it has not begun so.
    ///
    /// # Safety
    /// As `exchange`.
    #[inline(never)]
    unsafe fn go_on(
        &self,
        (it, view): (Exchange, &RankView),
        mut done: Done,
        rounds: &[Round],
        own: Option<(Place, Place)>,
        gives: Places<'_>,
        takes: Places<'_>,
    ) -> Outcome {
        let (rank, call) = (self.comm.rank, self.compared(it));
        let mut has_begun = done.has_begun;
        // Lent parts stay where they are; so does the rank's part for itself.
        let mut lent: Vec<Place> = Vec::new();
        let mut own_parts: VecDeque<Place> = VecDeque::new();
        let mut failed: Option<Box<Error>> = None;
        let mut deliver = |peer: usize, given: GivenPart, room: &Place| {
            // SAFETY: the caller's promise, and that of the call that gives it.
            let wrong = unsafe { self.deliver(it, (peer, given), room) };
            failed = failed.take().or(wrong);
        };
        // (If a part has been taken, that has been copied.)
        let mut own = own.filter(|_| done.taken == 0);
        let mut run = |mut parts: Option<&mut PartExchange<'_>>| -> Result<(), ExchangeStop> {
            for (given, taken) in rounds {
                while done.given < given.end {
                    let (peer, place) = gives(done.given);
                    let bytes = place.bytes();
                    match &mut parts {
                        Some(parts) if peer != rank && bytes <= COPIED_PART => {
                            // SAFETY: the caller's promise; there is room for so many bytes.
                            parts.give(peer, bytes, |to| unsafe { place.read(to) })?;
                        }
                        Some(parts) if peer != rank => {
                            if lent.capacity() == 0 {
                                lent.reserve_exact(it.gives);
                            }
                            lent.push(place);
                            let part = lent_part(&lent[lent.len() - 1]);
                            // SAFETY: the caller's promise; the list stays, and does not move.
                            let went = unsafe { parts.lend(peer, part) };
                            went.inspect_err(|_| drop(lent.pop()))?;
                        }
                        _ => own_parts.push_back(place),
                    }
                    done.given += 1;
                }
                if let Some((from, to)) = own.take() {
                    deliver(rank, lent_part(&from), &to);
                }
                while done.taken < taken.end {
                    let (peer, room) = takes(done.taken);
                    let take = |given: GivenPart| deliver(peer, given, &room);
                    match &mut parts {
                        Some(parts) if peer != rank => parts.take(peer, room.bytes(), take)?,
                        _ => own_parts.pop_front().iter().map(lent_part).for_each(take),
                    }
                    done.taken += 1;
                }
            }
            Ok(())
        };
        let mut is_over = false;
        if !self.is_routed() {
            run(None).expect("nobody is awaited");
            is_over = true;
        } else if !has_begun {
            let mut library = self.comm.library(view).lend();
            let parts = library.as_mut().and_then(|it| engine::begin_exchange(it, call));
            if let Some(mut parts) = parts {
                has_begun = true;
                is_over = run(Some(&mut parts)).is_ok() && parts.is_over_soon();
            }
        }
        match is_over {
            true => view.log.end(),
            false => self.comm.on_library(self.world, view, self.site, |library| {
                engine::exchange(library, call, has_begun, |parts| run(Some(parts)));
            }),
        }
        failed.map_or(Ok(()), |it| Err(*it))
    }

    /// Copies a part that has come to its place: the error, if it does not fit.
    ///
    /// # Safety
    /// The part is memory as it says, and the place as its type says, which nobody else uses.
    unsafe fn deliver(
        &self,
        it: Exchange,
        (peer, given): (usize, GivenPart),
        room: &Place,
    ) -> Option<Box<Error>> {
        let bytes = room.bytes();
        // SAFETY: the caller's promise: by `lent_part`, or copied.
        unsafe {
            if given.has_gaps {
                copy(&*given.at.cast::<Place>(), room);
            } else if room.is_contiguous() {
                move_bytes(given.at as usize, room.address, given.bytes.min(bytes));
            } else {
                copy(&bytes_at(given.at as usize, given.bytes), room);
            }
        }
        let is_wrong = given.bytes > bytes || (it.is_exact && given.bytes < bytes);
        is_wrong.then(|| self.unequal(given.bytes, peer, room))
    }
}

/// The notice of a place that is lent, as long as it stays there.
fn lent_part(place: &Place) -> GivenPart {
    let (has_gaps, bytes) = (!place.is_contiguous(), place.bytes());
    let at = if has_gaps { std::ptr::from_ref(place).cast() } else { place.address as *const u8 };
    GivenPart { at, bytes, has_gaps }
}

/// Of all that goes along the edges.
#[inline(always)]
fn along(edges: &Edges) -> Exchange {
    let (gives, takes) = (edges.given.len(), edges.taken.len());
    Exchange { root: None, gives, takes, is_exact: false }
}

impl Call<'_> {
    /// Gives these places along the edges to targets, and takes those that come along edges from
    /// sources, which may be shorter.
    ///
    /// # Safety
    /// As `exchange`.
    pub unsafe fn exchange_edges(
        &self,
        edges: &Edges,
        gives: impl Fn(usize) -> Place,
        takes: impl Fn(usize) -> Place,
    ) -> Outcome {
        let gives = |step: usize| (edges.given[step].0, gives(edges.given[step].1));
        let takes = |step: usize| (edges.taken[step].0, takes(edges.taken[step].1));
        // SAFETY: passed on.
        unsafe { self.exchange(along(edges), &edges.rounds, None, gives, takes) }
    }

    /// The same of places without gaps.
    ///
    /// # Safety
    /// As `exchange_solid`, of a communicator of any size.
    #[inline(always)]
    pub unsafe fn exchange_solid_edges(
        &self,
        edges: &Edges,
        gives: impl Fn(usize) -> Solid + Copy,
        takes: impl Fn(usize) -> Solid + Copy,
    ) -> Outcome {
        if !edges.are_plain {
            let place = |it: Solid| bytes_at(it.0, it.1);
            // SAFETY: passed on.
            return unsafe {
                self.exchange_edges(edges, |it| place(gives(it)), |it| place(takes(it)))
            };
        }
        let gives = move |step: usize| (edges.given[step].0, gives(edges.given[step].1));
        let takes = move |step: usize| (edges.taken[step].0, takes(edges.taken[step].1));
        // SAFETY: passed on; there is another rank.
        unsafe { self.exchange_solid(along(edges), None, gives, takes) }
    }
}
