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
use super::edges::Round;
use super::error::{Error, Outcome};
use super::standings::RankView;
use super::types::{Place, Placed, bytes_at, copy, move_bytes};
use phalanx::engine::{self, COPIED_PART, ExchangeCall, ExchangeStop, GivenPart, PartExchange};
use std::collections::VecDeque;

/// A rank's places in its order: of each the other rank, and the place.
type Places<'a> = &'a dyn Fn(usize) -> (usize, Place);

/// The arguments of an exchange, beside the parts.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The root, if it has one.
    pub root: Option<usize>,
    /// How many parts the rank gives.
    pub gives: usize,
    /// How many it takes.
    pub takes: usize,
    /// Whether it goes along the edges of a grid or graph: then less than expected is no error.
    pub is_along_edges: bool,
    /// Its rounds; none: all of it is one, and no part goes to the rank itself.
    pub rounds: &'a [Round],
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
    fn compared(&self, it: Exchange<'_>) -> ExchangeCall {
        ExchangeCall { function: self.site.function(), root: it.root }
    }

    /// Carries an exchange out; `own`: the rank's part for itself, from where to where, beside the
    /// parts. Of parts without gaps in one round, as most are, nothing goes by memory but the
    /// parts; any less usual call, or the rest of one, goes on by way of places.
    ///
    /// # Safety
    /// The parts are memory of the program, the same whenever they are asked for; taken parts
    /// overlap no given ones, but where it is the same memory.
    #[inline(always)]
    pub unsafe fn exchange<P: Placed>(
        self,
        it: Exchange<'_>,
        own: Option<(P, P)>,
        gives: impl Fn(usize) -> (usize, P) + Copy,
        takes: impl Fn(usize) -> (usize, P) + Copy,
    ) -> Outcome {
        let Call { world, comm, site } = self;
        let view = comm.begin(world, site, Terms { root: it.root, ..Terms::default() });
        let mut done = NOTHING;
        'short: {
            if !it.rounds.is_empty() || !self.is_routed() {
                break 'short;
            }
            let mut library = comm.library(view).lend();
            let Some(library) = library.as_mut() else { break 'short };
            let Some(mut parts) = engine::begin_exchange(library, self.compared(it)) else {
                break 'short;
            };
            done.has_begun = true;
            while done.given < it.gives {
                let (peer, part) = gives(done.given);
                let Some((at, bytes)) = part.solid() else { break 'short };
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
            if let Some((from, to)) = &own {
                let (Some(from), Some(to)) = (from.solid(), to.solid()) else { break 'short };
                if from.1 != to.1 {
                    break 'short;
                }
                // SAFETY: the caller's promise.
                unsafe { move_bytes(from.0, to.0, to.1) };
            }
            while done.taken < it.takes {
                let (peer, room) = takes(done.taken);
                let Some((at, bytes)) = room.solid() else { break 'short };
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
        let own = own.map(|(from, to)| (from.place(), to.place()));
        // Copies, so that none of these is in memory before it is asked for here.
        let as_place = |(peer, part): (usize, P)| (peer, part.place());
        let gives = move |step| as_place(gives(step));
        let takes = move |step| as_place(takes(step));
        let again = Call { world, comm, site };
        // SAFETY: passed on.
        unsafe { again.go_on((Exchange { ..it }, view), Done { ..done }, own, &gives, &takes) }
    }

    /// Carries the rest of an exchange out: the short way first, if it has not begun so.
    ///
    /// # Safety
    /// As `exchange`.
    #[inline(never)]
    unsafe fn go_on(
        &self,
        (it, view): (Exchange<'_>, &RankView),
        mut done: Done,
        own: Option<(Place, Place)>,
        gives: Places<'_>,
        takes: Places<'_>,
    ) -> Outcome {
        let (rank, call) = (self.comm.rank, self.compared(it));
        let mut has_begun = done.has_begun;
        let whole = [(0..it.gives, 0..it.takes)];
        let rounds: &[Round] = if it.rounds.is_empty() { &whole } else { it.rounds };
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
        it: Exchange<'_>,
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
        let is_wrong = given.bytes > bytes || (!it.is_along_edges && given.bytes < bytes);
        is_wrong.then(|| self.unequal(given.bytes, peer, room))
    }
}

/// The notice of a place that is lent, as long as it stays there.
fn lent_part(place: &Place) -> GivenPart {
    let (has_gaps, bytes) = (!place.is_contiguous(), place.bytes());
    let at = if has_gaps { std::ptr::from_ref(place).cast() } else { place.address as *const u8 };
    GivenPart { at, bytes, has_gaps }
}
