//! Communicators and groups; cards at which all ranks of a communicator meet.
//!
//! A collective is a meeting: each rank lays down a card (which call, which buffers), and when all
//! have come, all read all cards. So each sees whether they agree, and can name both lines if not.
//! A second meeting ends it: no buffer is in use any more. A rank's cards have two places in turn:
//! it comes to meeting n + 2 only after all came to n + 1, and each read the cards of n before
//! that.

use super::error::{Site, end};
use super::handle::Handle;
use super::topo::Cart;
use super::types::Place;
use super::world::{Condition, World, lock};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a rank offers the others in a collective.
#[derive(Clone, Debug, Default)]
pub enum Offer {
    /// Nothing.
    #[default]
    Nothing,
    /// The same for all.
    Same(Place),
    /// One part for each.
    Each(Arc<[Place]>),
    /// Two numbers (a colour and a key).
    Numbers(i64, i64),
    /// A list of ranks.
    Ranks(Arc<[usize]>),
    /// A new communicator's shared part.
    Comm(Arc<Shared>),
}

/// A rank's card.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// The call.
    pub site: Site,
    /// The root, if it has one.
    pub root: Option<usize>,
    /// The operator's handle if predefined, else 1 for a user's, 0 for none.
    pub op: Handle,
    /// What must be equal for all: bytes of data.
    pub bytes: Option<usize>,
    /// What it offers.
    pub offer: Offer,
}

#[derive(Debug)]
struct Seat {
    /// The number of meetings to which this rank came.
    came: AtomicU64,
    cards: [Mutex<Card>; 2],
}

/// What a communicator's ranks share.
#[derive(Debug)]
pub struct Shared {
    /// Its number: messages match only within it.
    pub context: u32,
    /// Its ranks in the world.
    pub members: Vec<usize>,
    seats: Vec<Seat>,
}

impl Shared {
    /// A communicator of these ranks of the world.
    pub fn new(context: u32, members: Vec<usize>) -> Shared {
        let seats = members
            .iter()
            .map(|_| Seat { came: AtomicU64::new(0), cards: Default::default() })
            .collect();
        Shared { context, members, seats }
    }
}

/// One rank's communicator.
#[derive(Debug)]
pub struct Comm {
    /// What all its ranks share.
    pub shared: Arc<Shared>,
    /// This rank in it.
    pub rank: usize,
    /// Its grid, if it has one.
    pub cart: Option<Cart>,
    /// What is done with errors: the standard's handle.
    pub errhandler: Cell<Handle>,
    /// The name that the program gave it.
    pub name: RefCell<Option<String>>,
    meetings: Cell<u64>,
}

/// A meeting to which ranks have yet to come.
struct Meeting {
    shared: Arc<Shared>,
    number: u64,
}

impl Condition for Meeting {
    fn holds(&self) -> bool {
        // Pairs with `meet`'s store, as the wait's own look.
        self.shared.seats.iter().all(|it| it.came.load(Ordering::Acquire) >= self.number)
    }

    fn describe(&self) -> String {
        let late: Vec<String> = (self.shared.seats.iter().zip(&self.shared.members))
            .filter(|(seat, _)| seat.came.load(Ordering::Acquire) < self.number)
            .map(|(_, rank)| rank.to_string())
            .collect();
        let (word, rest) = if late.len() == 1 { ("rank", "has") } else { ("ranks", "have") };
        format!("{word} {} {rest} not come to this collective", late.join(", "))
    }
}

impl fmt::Debug for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Meeting({})", self.number)
    }
}

impl Comm {
    /// This rank's part of a communicator.
    pub fn new(
        shared: Arc<Shared>,
        rank: usize,
        errhandler: Handle,
        cart: Option<Cart>,
    ) -> Rc<Comm> {
        let meetings = Cell::new(0);
        Rc::new(Comm {
            shared,
            rank,
            cart,
            errhandler: Cell::new(errhandler),
            name: RefCell::default(),
            meetings,
        })
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.shared.members.len()
    }

    /// Lays down a card, awaits all, and gives all cards; ends the run if the calls do not agree.
    pub fn meet(&self, world: &World, card: Card) -> Vec<Card> {
        let site = card.site;
        let number = self.meetings.get() + 1;
        let place = (number % 2) as usize;
        *lock(&self.shared.seats[self.rank].cards[place]) = card;
        self.come(world, site);
        let read = |seat: &Seat| lock(&seat.cards[place]).clone();
        let cards: Vec<Card> = self.shared.seats.iter().map(read).collect();
        self.check(&cards);
        cards
    }

    /// Awaits all: what they read of this rank's buffers they have read.
    pub fn come(&self, world: &World, site: Site) {
        let number = self.meetings.get() + 1;
        self.meetings.set(number);
        let Shared { seats, members, .. } = &*self.shared;
        // Pairs with the loads of the others: publishes the card and this rank's data, and says
        // that it has read theirs of the meeting before.
        seats[self.rank].came.store(number, Ordering::Release);
        for rank in members {
            world.wake(*rank);
        }
        // Pairs with the stores above.
        let holds = || seats.iter().all(|it| it.came.load(Ordering::Acquire) >= number);
        let shared = || Arc::new(Meeting { shared: Arc::clone(&self.shared), number }) as _;
        world.wait(members[self.rank], site, holds, shared);
    }

    /// All ranks see the same cards, so all find the same pair: the first that differs from rank 0.
    fn check(&self, cards: &[Card]) {
        let first = &cards[0];
        let differs = |it: &Card| {
            it.site.function != first.site.function
                || it.root != first.root
                || it.op != first.op
                || it.bytes != first.bytes
        };
        let Some(other) = cards.iter().position(differs) else { return };
        let describe = |index: usize| {
            let card = &cards[index];
            let mut text = format!("rank {}: {}", self.shared.members[index], card.site.describe());
            if let Some(root) = card.root {
                text.push_str(&format!(", root {root}"));
            }
            if let Some(bytes) = card.bytes {
                text.push_str(&format!(", {bytes} bytes"));
            }
            if card.op > 1 {
                text.push_str(&format!(", operator {}", super::ops::name(card.op)));
            }
            text
        };
        let (one, two) = (describe(0), describe(other));
        end(1, &format!("phalanx: calls of one collective differ:\n  {one}\n  {two}"))
    }

    /// The ranks of the world, by their ranks in here.
    pub fn world_rank(&self, rank: usize) -> usize {
        self.shared.members[rank]
    }
}
