//! A rank's part in a started collective: the data it brings and takes, and the cards it needs.

use crate::rt::edges::Edge;
use crate::rt::error::Outcome;
use crate::rt::handle::Handle;
use crate::rt::operator::Operator;
use crate::rt::overlap::{all_apart, apart};
use crate::rt::types::Place;
use std::ops::Range;

/// So many pieces, one behind the other.
fn whole(first: &Place, size: usize) -> Place {
    first.moved(0, size * first.count)
}

/// A rank's offer to the others.
#[derive(Debug, Default)]
pub enum Pieces {
    /// Nothing.
    #[default]
    Nothing,
    /// The same for all.
    Same(Place),
    /// A piece for each, one behind the other: the first.
    Even(Place),
    /// A piece for each.
    Each(Vec<Place>),
    /// A piece along each of these edges.
    Edges(Vec<(Edge, Place)>),
}

impl Pieces {
    /// The piece for this rank; of edges, along that of this number.
    pub(super) fn of(&self, rank: usize, number: usize) -> Option<Place> {
        match self {
            Pieces::Nothing => None,
            Pieces::Edges(all) => {
                all.iter().find(|it| it.0 == (rank, number)).map(|it| it.1.clone())
            }
            Pieces::Same(place) => Some(place.clone()),
            Pieces::Even(first) => Some(first.moved((rank * first.count) as isize, first.count)),
            Pieces::Each(places) => places.get(rank).cloned(),
        }
    }

    /// All of them, for so many ranks.
    fn all(&self, size: usize) -> Vec<Place> {
        match self {
            Pieces::Nothing => Vec::new(),
            Pieces::Same(place) => vec![place.clone()],
            Pieces::Even(first) => vec![whole(first, size)],
            Pieces::Each(places) => places.clone(),
            Pieces::Edges(all) => all.iter().map(|it| it.1.clone()).collect(),
        }
    }

    /// Bytes of all, for so many ranks.
    pub(super) fn bytes(&self, size: usize) -> usize {
        match self {
            Pieces::Nothing => 0,
            Pieces::Same(place) => place.bytes(),
            Pieces::Even(first) => first.bytes().saturating_mul(size),
            Pieces::Each(places) => places.iter().map(Place::bytes).fold(0, usize::saturating_add),
            Pieces::Edges(all) => all.iter().map(|it| it.1.bytes()).fold(0, usize::saturating_add),
        }
    }
}

/// Where a rank takes the others' offers.
#[derive(Debug, Default)]
pub enum Takes {
    /// Nothing.
    #[default]
    Nothing,
    /// From this one.
    One(usize, Place),
    /// From each, one behind the other: the first; but not from this rank, if one is named.
    Even(Place, Option<usize>),
    /// From each, if it takes from it.
    Each(Vec<Option<Place>>),
    /// Along each of these edges, which may give less.
    Edges(Vec<(Edge, Place)>),
}

impl Takes {
    /// Each with the edge along which it comes: of others than edges, the rank alone.
    pub(super) fn each(&self, size: usize, mut take_along: impl FnMut(Edge, &Place)) {
        let mut take = |peer: usize, place: &Place| take_along((peer, 0), place);
        match self {
            Takes::Nothing => {}
            Takes::Edges(all) => all.iter().for_each(|(edge, place)| take_along(*edge, place)),
            Takes::One(peer, place) => take(*peer, place),
            Takes::Even(first, but) => {
                for peer in (0..size).filter(|it| Some(*it) != *but) {
                    take(peer, &first.moved((peer * first.count) as isize, first.count));
                }
            }
            Takes::Each(places) => {
                let given = |(peer, it): (usize, &Option<Place>)| {
                    if let Some(place) = it {
                        take(peer, place);
                    }
                };
                places.iter().enumerate().for_each(given);
            }
        }
    }
}

/// A result: where it goes, of which ranks, and from which element on.
pub type Gives = (Place, Range<usize>, usize);

/// A rank's offer, and the cards that it awaits.
#[derive(Debug)]
pub enum Part {
    /// Data that is only moved.
    Exchange {
        /// Its offer to the others.
        offer: Pieces,
        /// Where it takes each one's offer.
        takes: Takes,
        /// Whether the taken data goes to where its offer lies, which so is kept elsewhere.
        is_in_place: bool,
    },
    /// A reduction.
    Fold {
        /// The rank's own values.
        own: Place,
        /// The operator.
        op: Operator,
        /// Where a result goes, if one does: of these ranks, from this element on.
        gives: Option<Gives>,
    },
}

impl Part {
    /// Refuses data that lies where others' goes; of a reduction, its call does.
    ///
    /// # Errors
    /// If they overlap.
    pub fn check(&self, size: usize) -> Outcome {
        match self {
            Part::Exchange { offer, takes, is_in_place: false } => match (offer, takes) {
                (Pieces::Nothing, _) | (_, Takes::Nothing) => Ok(()),
                (Pieces::Even(from), Takes::Even(to, None)) => {
                    apart(&whole(from, size), &whole(to, size))
                }
                (Pieces::Even(from), Takes::One(_, to)) => apart(&whole(from, size), to),
                _ => {
                    let mut room = Vec::new();
                    takes.each(size, |_, it| room.push(it.clone()));
                    all_apart(offer.all(size), room)
                }
            },
            _ => Ok(()),
        }
    }

    /// The datatype that a user's operator is told.
    pub fn named(&self) -> Option<Handle> {
        match self {
            Part::Fold { op: Operator::User(_, ty), .. } => Some(*ty),
            _ => None,
        }
    }

    /// Whether the data along an edge may be less than there is room for.
    pub(super) fn may_be_less(&self) -> bool {
        matches!(self, Part::Exchange { takes: Takes::Edges(_), .. })
    }

    /// Of a call without data.
    pub fn nothing() -> Part {
        let (offer, takes) = (Pieces::Nothing, Takes::Nothing);
        Part::Exchange { offer, takes, is_in_place: false }
    }
}
