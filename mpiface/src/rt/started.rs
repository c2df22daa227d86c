//! Collectives that are started now and complete later: each rank lays down a card with its
//! buffers, and the rank that comes last does the work of all, whose memory is at hand. So no call
//! of the others is needed, and a rank may start several and await them in any order.

use super::coll::{Operator, Temporary, fold};
use super::comm::{Comm, Offer, Terms};
use super::error::{Class, Error, Site, end};
use super::log::Collective;
use super::p2p::{Req, SENT};
use super::types::{Place, copy};
use super::world::{World, lock};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// What a rank brings, and what it awaits.
#[derive(Debug)]
pub enum Part {
    /// As `Call::exchange`; what was packed lives as long as the card.
    Exchange {
        /// What it offers the others.
        offer: Offer,
        /// Where it takes what each offers.
        takes: Vec<Option<Place>>,
        /// What the offer's places point to, if it is not the program's memory.
        kept: Vec<Vec<u8>>,
    },
    /// A reduction.
    Fold {
        /// The rank's own values.
        own: Place,
        /// The operator.
        op: Operator,
        /// Where a result goes, if one does: of these ranks, from this element on.
        gives: Option<(Place, Range<usize>, usize)>,
    },
}

/// A rank's card.
#[derive(Debug)]
struct Card {
    call: Collective,
    part: Part,
    req: Arc<Req>,
}

/// A collective to which ranks have yet to come.
#[derive(Debug)]
struct Gathering {
    number: u64,
    cards: Vec<Option<Card>>,
}

/// The collectives of a communicator that were started, and to which ranks have yet to come.
#[derive(Debug, Default)]
pub struct Gatherings(Mutex<VecDeque<Gathering>>);

/// Starts a collective on `comm` for the calling rank; `req` is complete when all have come.
///
/// # Safety
/// The places are memory of the program as their types say, which stays valid and is left alone
/// until `req` is complete.
pub unsafe fn start(
    world: &World,
    comm: &Comm,
    site: Site,
    terms: Terms,
    part: Part,
    req: &Arc<Req>,
) {
    let number = comm.next_started();
    let Terms { root, op, bytes } = terms;
    let call = Collective { context: comm.shared.context, number, site, root, op, bytes };
    let card = Card { call, part, req: Arc::clone(req) };
    let mut all = lock(&comm.shared.started.0);
    let at = all.iter().position(|it| it.number == number).unwrap_or_else(|| {
        let cards = (0..comm.size()).map(|_| None).collect();
        all.push_back(Gathering { number, cards });
        all.len() - 1
    });
    all[at].cards[comm.rank] = Some(card);
    if all[at].cards.iter().any(Option::is_none) {
        return;
    }
    let cards = all.remove(at).map_or(Vec::new(), |it| it.cards);
    drop(all);
    let cards: Vec<Card> = cards.into_iter().flatten().collect();
    agree(comm, &cards);
    // SAFETY: the caller's promise, and that of the others' calls: all requests are incomplete.
    unsafe { work(&cards, comm.rank) };
    for card in &cards {
        card.req.complete(world, comm.world_rank(comm.rank), SENT);
    }
}

/// Ends the run if the cards are of different calls.
fn agree(comm: &Comm, cards: &[Card]) {
    let first = &cards[0].call;
    let Some(other) = cards.iter().position(|it| !it.call.agrees(first)) else { return };
    let text = |rank: usize| {
        format!("\n  rank {}: {}", comm.world_rank(rank), cards[rank].call.describe())
    };
    end(1, &format!("phalanx: calls of one collective differ:{}{}", text(0), text(other)));
}

/// # Safety
/// As `start`, for all cards.
unsafe fn work(cards: &[Card], me: usize) {
    match &cards[me].part {
        // A user's operator is the working rank's own, if that has a part in it.
        Part::Fold { op, own, gives } => {
            let gets = |it: &&Card| matches!(&it.part, Part::Fold { gives: Some(_), .. });
            let other =
                if own.count > 0 || gives.is_some() { None } else { cards.iter().find(gets) };
            let op = match other.map(|it| &it.part) {
                Some(Part::Fold { op, .. }) => *op,
                _ => *op,
            };
            // SAFETY: passed on.
            unsafe { fold_cards(cards, op) };
            return;
        }
        Part::Exchange { .. } => {}
    }
    for (rank, card) in cards.iter().enumerate() {
        let Part::Exchange { takes, .. } = &card.part else { continue };
        for (peer, to) in takes.iter().enumerate() {
            let Some(to) = to else { continue };
            let from = match &cards[peer].part {
                Part::Exchange { offer: Offer::Same(place), .. } => place,
                Part::Exchange { offer: Offer::Each(places), .. } => &places[rank],
                _ => continue,
            };
            if from.bytes() == to.bytes() {
                // SAFETY: the caller's promise.
                unsafe { copy(from, to) };
            } else {
                let (given, expected) = (from.bytes(), to.bytes());
                let place = cards[peer].call.site.describe();
                let text = format!(
                    "rank {peer} of the communicator gives {given} bytes in {place}, and \
                     {expected} are expected"
                );
                card.req.fail(Error::new(Class::Truncate, text));
            }
        }
    }
}

/// # Safety
/// As `work`.
unsafe fn fold_cards(cards: &[Card], op: Operator) {
    let mut owns = Vec::new();
    let mut gives = Vec::new();
    for card in cards {
        if let Part::Fold { own, gives: to, .. } = &card.part {
            owns.push(own.clone());
            gives.extend(to.clone());
        }
    }
    // All are made before one is given: a result may go where values lie.
    let mut made: Vec<(Range<usize>, Range<usize>, Temporary)> = Vec::new();
    let of = |it: &(Place, Range<usize>, usize)| (it.1.clone(), it.2..it.2 + it.0.count);
    for it in &gives {
        let (ranks, elements) = of(it);
        let is_made = made.iter().any(|it| it.0 == ranks && it.1 == elements);
        if is_made || ranks.is_empty() {
            continue;
        }
        let room = Temporary::new(&it.0.ty, elements.len());
        let part = |it: &Place| it.moved(elements.start as isize, elements.len());
        let parts: Vec<Place> = owns[ranks.clone()].iter().map(part).collect();
        // SAFETY: the caller's promise; the room is new.
        unsafe { fold(&parts, &room.place, op) };
        made.push((ranks, elements, room));
    }
    for it in &gives {
        let (ranks, elements) = of(it);
        if let Some(made) = made.iter().find(|it| it.0 == ranks && it.1 == elements) {
            // SAFETY: as above; nobody reads the values any more.
            unsafe { copy(&made.2.place, &it.0) };
        }
    }
}
