//! What neighbours exchange: each rank gives and takes along its edges.
//!
//! Two ranks may have several edges between them. Of a grid, what is given in one direction is
//! taken from the other one, also where both neighbours are the same rank; so an edge has a
//! direction's number. Of a graph, edges between the same ranks match in their order: the number
//! says which of them it is.
//!
//! Calls that block go by messages of the communicator's own; those that are completed later meet
//! at desks (`desk.rs`).
//!
//! The library's plans (`phalanx::Neighborhood`) are not used: they are made once for places of one
//! vector, while each call here may name other buffers, counts and datatypes, and may be one that
//! is completed later.

use super::coll::Call;
use super::comm::Terms;
use super::edges::{EDGES, Edges};
use super::error::Outcome;
use super::p2p::{self, Ask, Envelope, Kind, Mode, PARTS, Req, Send};
use super::parts::{self, Owed};
use super::short_message::Solid;
use super::types::{Place, bytes_at};

impl Call<'_> {
    /// Gives these places along the edges to targets, and takes what comes along those from
    /// sources, which may be shorter. A message tells the edge's number at the rank that takes, and
    /// the number and function of the call, so that calls that differ find none.
    ///
    /// # Safety
    /// The places are memory as their types say; nobody writes what is given, or uses where it
    /// goes.
    pub unsafe fn exchange_edges(
        &self,
        edges: &Edges,
        gives: impl Fn(usize) -> Place,
        takes: impl Fn(usize) -> Place,
    ) -> Outcome {
        let number = self.comm.begin(self.world, self.site, Terms::default());
        // SAFETY: passed on.
        unsafe { self.go_on_along(edges, (number, 0), gives, takes) }
    }

    /// The envelope of a part from a rank along an edge, in the exchange of this number.
    #[inline(always)]
    fn edge_envelope(&self, number: u64) -> impl Fn(usize, usize) -> Envelope + use<> {
        let function = (self.site.function() & 0x7ff) << 12;
        let call = ((number & 0xff) << 23) as i32 | function as i32;
        let context = self.comm.shared.context | PARTS;
        move |source, edge| Envelope {
            context,
            source: source as i32,
            tag: call | (edge & EDGES) as i32,
        }
    }

    /// The same as `exchange_edges`, of memory without gaps and at most `ROOM` bytes each: the
    /// short way, as `exchange_solid`.
    ///
    /// # Safety
    /// As `exchange_edges`; and no part is longer than `ROOM`.
    #[inline(always)]
    pub unsafe fn exchange_edges_solid(
        &self,
        edges: &Edges,
        gives: impl Fn(usize) -> Solid + Copy,
        takes: impl Fn(usize) -> Solid + Copy,
    ) -> Outcome {
        let Call { world, comm, site } = *self;
        let rank = comm.rank;
        let me = comm.world_rank(rank);
        let number = comm.begin(world, site, Terms::default());
        let envelope = self.edge_envelope(number);
        let mut step = 0;
        'short: {
            if edges.are_many {
                break 'short;
            }
            for (index, edge) in edges.targets.iter().enumerate() {
                if let Some((peer, edge)) = *edge {
                    let pair = (me, comm.world_rank(peer));
                    let (envelope, part) = (envelope(rank, edge), gives(index));
                    if peer == rank {
                        break 'short;
                    }
                    // SAFETY: the caller's promise.
                    if !unsafe { parts::give_solid(world, pair, envelope, part, site, false) } {
                        break 'short;
                    }
                }
                step += 1;
            }
            for (index, edge) in edges.sources.iter().enumerate() {
                if let Some((peer, edge)) = *edge {
                    let by = comm.world_rank(peer);
                    let (envelope, room) = (envelope(peer, edge), takes(index));
                    // SAFETY: the caller's promise.
                    if !unsafe { parts::take_solid(world, (me, by), envelope, room) } {
                        break 'short;
                    }
                }
                step += 1;
            }
            world.members[me].log.end();
            return Ok(());
        }
        let place = |it: Solid| bytes_at(it.0, it.1);
        let (gives, takes) = (move |index| place(gives(index)), move |index| place(takes(index)));
        // SAFETY: passed on.
        unsafe { self.go_on_along(edges, (number, step), gives, takes) }
    }

    /// Carries out the exchange of this number, but for the first steps: a step for each target,
    /// then one for each source.
    ///
    /// # Safety
    /// As `exchange_edges`.
    #[inline(never)]
    unsafe fn go_on_along(
        &self,
        edges: &Edges,
        (number, steps): (u64, usize),
        gives: impl Fn(usize) -> Place,
        takes: impl Fn(usize) -> Place,
    ) -> Outcome {
        let Call { world, comm, site } = *self;
        let me = comm.world_rank(comm.rank);
        let envelope = self.edge_envelope(number);
        let mut owed: Vec<Owed> = Vec::new();
        for (index, edge) in edges.targets.iter().enumerate().skip(steps) {
            let Some((peer, edge)) = *edge else { continue };
            let place = gives(index);
            let to = comm.world_rank(peer);
            let (peer, by, envelope) = (peer as i32, Some(to), envelope(comm.rank, edge));
            let (kind, tag) = (Kind::Send, envelope.tag);
            let ask = Ask { owner: me, site, kind, peer, by, tag, ..Ask::default() };
            let part = Send { me, to, envelope, place, mode: Mode::Bounded, site };
            let make = || Req::new(ask);
            // SAFETY: the caller's promise; it is awaited before this returns.
            owed.extend(unsafe {
                // Two with one tag have to go one way, on which they keep their order.
                match edges.are_many {
                    true => p2p::send_by_queue(world, part, make).map(Owed::Request),
                    false => parts::give(world, part, make),
                }
            });
        }
        let mut outcome = Ok(());
        let taken = steps.saturating_sub(edges.targets.len());
        for (index, edge) in edges.sources.iter().enumerate().skip(taken) {
            let Some((peer, edge)) = *edge else { continue };
            let place = takes(index);
            // SAFETY: the caller's promise.
            let taken = unsafe { self.take_some(number, envelope(peer, edge), &place) };
            outcome = outcome.and(taken.map(|_| ()).map_err(|it| *it));
        }
        owed.into_iter().for_each(|it| self.await_part(number, it));
        world.members[me].log.end();
        outcome
    }
}
