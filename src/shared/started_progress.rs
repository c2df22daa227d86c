//! How a rank goes on with a call that it has started: the steps are the same for all, whoever's
//! calls they are. They are described in `src/mailbox/README.md`, "Cards": cards are met, the own
//! part is done, memory that was lent is awaited. Nothing here waits.

use crate::mailbox::FoundCard;

/// The user's side of a started call: the cards that a rank needs, their comparison, and the parts
/// of a call. A rank's *part* is the work that has to be done for that rank: it takes data from
/// others' cards, and from memory that these lend.
///
/// # Examples
/// See [`StartedProgress`].
pub trait StartedPart {
    /// The content of a card.
    type Card;
    /// Why the call cannot be completed.
    type Obstacle;

    /// The rank of the card that the own part needs as number `index`, if it needs so many.
    fn needs(&self, index: usize) -> Option<usize>;

    /// The rank that may use memory of this one as number `index`, if so many do.
    fn lends_to(&self, index: usize) -> Option<usize>;

    /// Looks for the card of a rank; if it has been shown, compares it with the call that this rank
    /// has made, and says whether it lends memory.
    ///
    /// # Errors
    /// If the two calls are not one.
    fn meet(&mut self, number: u64, rank: usize) -> Result<Option<bool>, Self::Obstacle>;

    /// Whether a rank that this one lends to has shown its card.
    fn has_shown(&self, number: u64, rank: usize) -> bool;

    /// Whether that rank needs this one's card, so that it may use its memory. Only such a rank's
    /// part is done by this one: it knows of the memory, and claims its part, too.
    fn uses(&self, _number: u64, _rank: usize) -> bool {
        true
    }

    /// The card of a rank, which has been shown.
    fn card(&self, number: u64, rank: usize) -> FoundCard<'_, Self::Card>;

    /// Does the part of a rank, the own one or another's; `is_lent`: from memory that others lend.
    ///
    /// # Errors
    /// If it cannot be done. Nobody does it then.
    ///
    /// # Safety
    /// All cards that it needs have been shown, and nobody else does it.
    unsafe fn work(
        &mut self,
        number: u64,
        rank: usize,
        is_lent: bool,
    ) -> Result<(), Self::Obstacle>;

    /// The part of a rank is over. Ranks that sleep until then are to be woken.
    fn tell(&mut self, number: u64, rank: usize, is_lent: bool);

    /// Whether this rank has waited so long for the parts of others that it does them.
    fn helps(&mut self) -> bool {
        false
    }

    /// Whether all cards have been shown that the part of a rank, which has shown its own, needs.
    fn can_work(&self, _number: u64, _rank: usize) -> bool {
        false
    }
}

/// How far a rank is with a call that it has started.
///
/// # Examples
/// A sum of two ranks' numbers, which lie in the cards. (One thread is both ranks.)
/// ```
/// use phalanx::engine::{FoundCard, CardTable, StartedPart, StartedProgress};
/// type Numbers = CardTable<u32, (), 2>;
/// struct Sum<'a> { cards: &'a Numbers, sum: u32 }
/// impl StartedPart for Sum<'_> {
///     type Card = u32;
///     type Obstacle = ();
///     fn needs(&self, index: usize) -> Option<usize> {
///         (index < self.cards.ranks()).then_some(index)
///     }
///     fn lends_to(&self, _: usize) -> Option<usize> {
///         None
///     }
///     fn meet(&mut self, number: u64, rank: usize) -> Result<Option<bool>, ()> {
///         Ok(self.has_shown(number, rank).then_some(false))
///     }
///     fn has_shown(&self, number: u64, rank: usize) -> bool {
///         self.cards.row(rank).is_some_and(|it| it.has_shown(number))
///     }
///     fn card(&self, number: u64, rank: usize) -> FoundCard<'_, u32> {
///         self.cards.row(rank).and_then(|it| it.card(number)).expect("it was shown")
///     }
///     unsafe fn work(&mut self, number: u64, _: usize, _: bool) -> Result<(), ()> {
///         // SAFETY: the caller's promise.
///         let of = |rank| unsafe { self.card(number, rank).read(|it| *it) };
///         self.sum = of(0) + of(1);
///         Ok(())
///     }
///     fn tell(&mut self, _: u64, _: usize, _: bool) {}
/// }
/// let cards = Numbers::new(2);
/// let show = |rank, value| {
///     // SAFETY: the first card of the rank.
///     unsafe { cards.make(rank).tray(1).show(1, |card| *card = value) }
/// };
/// show(0, 3);
/// let (mut call, mut part) = (StartedProgress::new(1), Sum { cards: &cards, sum: 0 });
/// assert_eq!(call.advance(&mut part, 0), Ok(false)); // rank 1 has not started it
/// show(1, 4);
/// assert_eq!((call.advance(&mut part, 0), part.sum), (Ok(true), 7));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StartedProgress {
    number: u64,
    /// So many of the cards that it needs have been met.
    met: usize,
    /// Whether one of those lends memory: then parts are claimed before they are done.
    is_lent: bool,
    /// Whether the own part is over.
    is_over: bool,
    /// So many of the ranks that use this rank's memory have done their parts.
    over: usize,
}

impl StartedProgress {
    /// Of the call of this number, which has been shown, or is to be.
    #[inline(always)]
    pub const fn new(number: u64) -> Self {
        StartedProgress { number, met: 0, is_lent: false, is_over: false, over: 0 }
    }

    /// The call's number.
    #[inline(always)]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the own part is over.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many ranks it does not wait for any more: of those that it needs, or, once the own part
    /// is over, of those that it lends to.
    #[inline(always)]
    pub fn passed(&self) -> usize {
        if self.is_over { self.over } else { self.met }
    }

    /// Does the work that is possible now for rank `own`, the call's; whether it is complete. Not
    /// called again once it is, or has failed.
    ///
    /// # Errors
    /// As the functions of [`StartedPart`].
    #[inline(always)]
    pub fn advance<P: StartedPart>(
        &mut self,
        part: &mut P,
        own: usize,
    ) -> Result<bool, P::Obstacle> {
        let number = self.number;
        if !self.is_over {
            while let Some(rank) = part.needs(self.met) {
                let Some(is_lent) = part.meet(number, rank)? else { return Ok(false) };
                self.is_lent |= is_lent;
                self.met += 1;
            }
            if self.is_lent {
                if !do_claimed(part, number, own)? && !part.card(number, own).is_over(number) {
                    return Ok(false);
                }
            } else {
                // SAFETY: they have been shown; where nobody lends, nobody helps.
                unsafe { part.work(number, own, false)? };
                part.tell(number, own, false);
            }
            self.is_over = true;
        }
        while let Some(rank) = part.lends_to(self.over) {
            let is_over = rank == own
                || part.has_shown(number, rank)
                    && (part.card(number, rank).is_over(number) || !part.uses(number, rank));
            if !is_over && !help(part, number, rank)? {
                return Ok(false);
            }
            self.over += 1;
        }
        Ok(true)
    }

    /// Whether [`advance`](StartedProgress::advance) would do something.
    pub fn can_advance<P: StartedPart>(&self, part: &P, own: usize) -> bool {
        let number = self.number;
        let is_free = |rank: usize| {
            let card = part.card(number, rank);
            card.is_over(number) || !card.is_claimed(number) && part.can_work(number, rank)
        };
        if !self.is_over {
            return part.can_work(number, own) && is_free(own);
        }
        let may_go_on = |rank: usize| {
            let is_over = || rank == own || !part.uses(number, rank);
            part.has_shown(number, rank) && (is_over() || is_free(rank))
        };
        part.lends_to(self.over).is_none_or(may_go_on)
    }
}

/// Does the part of another rank, if that can be done and this rank has waited for long enough;
/// whether it has.
#[cold]
fn help<P: StartedPart>(part: &mut P, number: u64, rank: usize) -> Result<bool, P::Obstacle> {
    let can = part.has_shown(number, rank) && part.helps() && part.can_work(number, rank);
    if can { do_claimed(part, number, rank) } else { Ok(false) }
}

/// Does the part of a rank, if nobody else does or has; whether it has been done by this one. All
/// cards that it needs have been shown.
fn do_claimed<P: StartedPart>(part: &mut P, number: u64, rank: usize) -> Result<bool, P::Obstacle> {
    if !part.card(number, rank).claim(number) {
        return Ok(false);
    }
    // SAFETY: they have been shown, and it was claimed.
    unsafe { part.work(number, rank, true)? };
    part.card(number, rank).tell_over(number);
    part.tell(number, rank, true);
    Ok(true)
}
