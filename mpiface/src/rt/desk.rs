//! Data that goes from rank to rank in a collective that is started, pair by pair: a rank waits
//! only for those from whom it takes, and to whom it gives: neighbours of a grid or graph, the
//! other group of an intercommunicator.
//!
//! Two ranks meet at the desk of the lower one. The first lays down its visit: what it gives to the
//! other, and what it takes. The second copies both.

use super::edges::Edge;
use super::error::{Class, Error, end};
use super::log::Collective;
use super::mutex::lock;
use super::p2p::{Req, SENT, unequal};
use super::types::{Place, copy};
use super::world::World;
use std::sync::{Arc, Mutex};

/// What a rank gives or takes along an edge.
#[derive(Debug)]
pub struct Way {
    /// The edge.
    pub edge: Edge,
    /// Whether it gives.
    pub gives: bool,
    /// The data, or where it goes.
    pub place: Place,
}

/// What a rank exchanges in a call.
#[derive(Debug)]
pub struct Exchanged {
    /// By which edges.
    pub ways: Vec<Way>,
    /// Whether less than expected is an error, too.
    pub is_exact: bool,
}

/// A rank's call.
#[derive(Debug)]
struct Deal {
    call: Collective,
    req: Arc<Req>,
    is_exact: bool,
    /// How often it has yet to be settled: twice for each other rank, and once for its start.
    left: Mutex<usize>,
}

impl Deal {
    /// So many parts more are over; the last one completes the request. The calling rank is `by`.
    fn settle(&self, world: &World, by: usize, count: usize) {
        // The lock publishes what each of them has copied to whoever completes the request.
        let mut left = lock(&self.left);
        *left -= count;
        if *left == 0 {
            drop(left);
            self.req.complete(world, by, SENT);
        }
    }
}

/// What a rank brings another one.
#[derive(Debug)]
struct DeskVisit {
    /// The call's number, the rank, and the other.
    key: (u64, usize, usize),
    ways: Vec<Way>,
    deal: Arc<Deal>,
}

/// See the head of the file.
#[derive(Debug, Default)]
pub struct Desk {
    /// Of this rank and higher ones.
    visits: Mutex<Vec<DeskVisit>>,
}

/// Ends the run if the two are in different calls.
fn agree(own: &Deal, other: &Deal) {
    if own.call.agrees(&other.call) {
        return;
    }
    let line = |it: &Deal| format!("\n  rank {}: {}", it.req.ask.owner, it.call.describe());
    let text = format!("phalanx: calls of one collective differ:{}{}", line(own), line(other));
    end(1, &text);
}

/// Copies what the first gives the second; what does not fit is an error of the second.
///
/// # Safety
/// The places are memory as their types say, and the requests of both are not complete: nobody uses
/// the targets or writes the sources.
unsafe fn carry(from: &DeskVisit, to: &DeskVisit) {
    let (site, rank) = (from.deal.call.site, from.deal.req.ask.owner);
    let fail = |error: Error| to.deal.req.fail(error.on(to.deal.call.context));
    let mut gives = from.ways.iter().filter(|it| it.gives);
    // In most graphs the edges match in their order.
    for (index, take) in to.ways.iter().filter(|it| !it.gives).enumerate() {
        let is_it = |it: &&Way| it.edge.1 == take.edge.1;
        let next = gives.next().filter(is_it);
        let Some(give) = next.or_else(|| {
            let takes = to.ways.iter().filter(|it| !it.gives).take(index);
            let before = takes.filter(|it| it.edge.1 == take.edge.1).count();
            from.ways.iter().filter(|it| it.gives).filter(is_it).nth(before)
        }) else {
            let before = format!("rank {rank} has no edge to this one in ");
            fail(Error::naming(Class::Truncate, before, site, ""));
            continue;
        };
        let (given, room) = (give.place.bytes(), take.place.bytes());
        if given > room || (to.deal.is_exact && given < room) {
            fail(unequal((rank, site), given, room));
            continue;
        }
        // SAFETY: the caller's promise.
        unsafe { copy(&give.place, &take.place) };
    }
}

/// Starts an exchange at the desks of a communicator for its rank `me`, the calling one; `req`,
/// which is that rank's, is complete when it is over.
///
/// # Safety
/// The places are memory of the program as their types say, which stays valid and is left alone
/// until `req` is complete.
pub unsafe fn start(
    world: &World,
    desks: &[Desk],
    me: usize,
    call: Collective,
    all: Exchanged,
    req: &Arc<Req>,
) {
    let (number, by) = (call.number, req.ask.owner);
    let Exchanged { mut ways, is_exact } = all;
    ways.sort_by_key(|it| it.edge.0);
    let peers = ways.chunk_by(|a, b| a.edge.0 == b.edge.0).count();
    // One more, so that nobody else completes it while it starts.
    let (left, req) = (Mutex::new(2 * peers + 1), Arc::clone(req));
    let deal = Arc::new(Deal { call, req, is_exact, left });
    let mut settled = 1;
    while let Some(last) = ways.last() {
        let peer = last.edge.0;
        let first = ways.partition_point(|it| it.edge.0 < peer);
        let own = if first == 0 { std::mem::take(&mut ways) } else { ways.split_off(first) };
        let own = DeskVisit { key: (number, me, peer), ways: own, deal: Arc::clone(&deal) };
        // SAFETY: the caller's promise, and that of the other's call.
        settled += unsafe { visit(world, desks, by, own) };
    }
    deal.settle(world, by, settled);
}

/// One rank's visit; gives how much of its call is settled.
///
/// # Safety
/// As `carry`.
unsafe fn visit(world: &World, desks: &[Desk], by: usize, own: DeskVisit) -> usize {
    let (number, me, peer) = own.key;
    if peer == me {
        // SAFETY: the caller's promise.
        unsafe { carry(&own, &own) };
        return 2;
    }
    let mut visits = lock(&desks[me.min(peer)].visits);
    let Some(index) = visits.iter().position(|it| it.key == (number, peer, me)) else {
        visits.push(own);
        return 0;
    };
    let other = visits.swap_remove(index);
    drop(visits);
    agree(&own.deal, &other.deal);
    // SAFETY: the caller's promise.
    unsafe {
        carry(&own, &other);
        carry(&other, &own);
    }
    other.deal.settle(world, by, 2);
    2
}
