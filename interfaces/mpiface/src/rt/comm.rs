//! Communicators and groups; cards at which all ranks of a communicator meet.
//!
//! A collective over cards is a meeting: each rank lays down a card (which call, which buffers),
//! and when all have come, all read all cards. So each sees whether they agree, and can name both
//! lines if not. A second meeting ends it: no buffer is in use any more. A rank's cards have two
//! places in turn: it comes to meeting n + 2 only after all came to n + 1, and each read the cards
//! of n before that.

use super::awaits::Awaits;
use super::edges::Edges;
use super::error::{Class, Outcome, Site, error};
use super::handle::Handle;
use super::handlers::{Attached, Handler};
use super::log::Collective;
use super::mutex::lock;
use super::note::Note;
use super::ops::Mark;
use super::standard;
use super::standings::{Condition, Meetings, Own, RankView, Standings, keep_errno, refused};
use super::started::{BegunCalls, Board};
use super::topo::{Cart, Topology};
use super::window_part::Part;
use super::word::Word;
use phalanx::engine::MemberSeats;
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, OnceLock};

/// A rank's offer to the others in a collective.
#[derive(Clone, Debug, Default)]
pub enum Offer {
    /// Nothing.
    #[default]
    Nothing,
    /// Two numbers (a colour and a key).
    Numbers(i64, i64),
    /// A list of ranks.
    Ranks(Arc<[usize]>),
    /// A new communicator's shared part.
    Comm(Arc<Shared>),
    /// A rank's part of a window.
    Window(Arc<Part>),
}

/// The description of a call, for the others to compare.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// The root, if it has one.
    pub root: Option<usize>,
    /// The operator.
    pub op: Mark,
    /// The value that must be equal for all: bytes of data.
    pub bytes: Option<usize>,
}

/// A rank's card.
#[derive(Clone, Debug, Default)]
struct Card {
    /// The number of the meeting.
    number: u64,
    /// Its offer.
    offer: Offer,
}

/// On lines of its own: its rank writes there in each collective.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Seat {
    /// The number of meetings to which this rank came.
    came: Word,
    cards: [Mutex<Card>; 2],
}

/// The state that a communicator's ranks share.
#[derive(Debug)]
pub struct Shared {
    /// Its number: messages match only within it.
    pub context: u32,
    /// Its ranks in the world.
    pub members: Vec<usize>,
    /// Cards of collectives that were started; made when they are first used.
    board: OnceLock<Board>,
    /// The library's part, of a communicator that only its members make.
    pub library: Option<MemberSeats>,
    seats: Vec<Seat>,
}

impl Meetings for Shared {
    fn context(&self) -> u32 {
        self.context
    }

    fn members(&self) -> &[usize] {
        &self.members
    }

    fn has_come(&self, member: usize, number: u64) -> bool {
        let seat = self.members.iter().position(|it| *it == member).map(|it| &self.seats[it]);
        seat.is_none_or(|it| it.came.has_told(number))
    }

    fn late(&self, number: u64) -> Option<String> {
        let late: Vec<String> = (self.members.iter())
            .filter(|it| !self.has_come(**it, number))
            .map(ToString::to_string)
            .collect();
        let (word, rest) = if late.len() == 1 { ("rank", "has") } else { ("ranks", "have") };
        let text = || format!("{word} {} {rest} not come to this collective", late.join(", "));
        (!late.is_empty()).then(text)
    }

    fn have_shown(&self, number: u64, awaits: Awaits) -> bool {
        self.board().have_shown(number, awaits)
    }
}

impl Shared {
    /// A new communicator of these ranks of the world.
    pub fn new(world: &Standings, members: Vec<usize>) -> Arc<Shared> {
        Shared::made(world, members, None)
    }

    /// The same with the library's part, in which each member takes its seat. `me`: the caller.
    pub fn branch(world: &Standings, me: usize, members: Vec<usize>) -> Arc<Shared> {
        let seats = |it: &phalanx::Comm| MemberSeats::new(it, &members).unwrap_or_else(refused);
        let are_several = members.len() > 1;
        let library = if are_several { world.members[me].library.read(seats) } else { None };
        Shared::made(world, members, library)
    }

    fn made(world: &Standings, members: Vec<usize>, library: Option<MemberSeats>) -> Arc<Shared> {
        let seats = members.iter().map(|_| Seat::default()).collect();
        let (board, context) = (OnceLock::new(), world.next_context());
        let shared = Arc::new(Shared { context, members, board, library, seats });
        let known: Arc<dyn Meetings> = shared.clone();
        world.add(Arc::downgrade(&known), context);
        shared
    }

    /// The library's communicator of one that its members make, for the rank `me`.
    ///
    /// # Safety
    /// Nobody uses it before all members have taken theirs.
    pub unsafe fn take_seat(&self, world: &Standings, me: usize) -> Option<phalanx::Comm> {
        let seats = self.library.as_ref()?;
        // SAFETY: passed on.
        let take = |it: &phalanx::Comm| unsafe { seats.take(it) }.unwrap_or_else(refused);
        world.members[me].library.read(take)?
    }

    /// Where cards of started collectives lie.
    #[inline]
    pub fn board(&self) -> &Board {
        self.board.get_or_init(|| Board::new(&self.members))
    }

    /// The same, if it has been used.
    pub fn used_board(&self) -> Option<&Board> {
        self.board.get()
    }
}

/// The two groups of an intercommunicator, as places among the members of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// This rank's group.
    pub own: Range<usize>,
    /// The other one.
    pub other: Range<usize>,
}

/// Keys and values that a program gives for a communicator or a window.
pub type Hints = RefCell<Vec<(String, String)>>;

/// One rank's communicator: on lines of its own, as the rank.
#[derive(Debug)]
#[repr(align(128))]
pub struct Comm {
    /// The part that all its ranks share.
    pub shared: Arc<Shared>,
    /// This rank in it; of an intercommunicator: among the members of both groups.
    pub rank: usize,
    /// The groups of an intercommunicator.
    pub sides: Option<Sides>,
    /// Its grid or graph, if it has one.
    pub topology: Option<Topology>,
    /// The handler of errors.
    pub errhandler: Attached,
    /// The program's handle of it.
    pub handle: Cell<Handle>,
    /// Its attributes and name.
    pub note: Note,
    /// The program's hints.
    pub hints: Hints,
    /// The library's, where there are several ranks; none if it is the world's. (In a box: very
    /// many persistent collectives have none.)
    library: Option<Box<Own>>,
    meetings: Cell<u64>,
    /// Objects made of it alone: requests that are started many times, duplicates.
    made: Cell<u64>,
    /// The program's communicator, of one that is [apart](Comm::apart).
    program: Option<Rc<Comm>>,
    /// The edges of its grid or graph, once they have been asked for.
    edges: OnceCell<Edges>,
    /// The collectives that it has started.
    pub begun: RefCell<BegunCalls>,
    own: Weak<Comm>,
}

// Each persistent collective has one, with few of these words.
const _: () = assert!(size_of::<Comm>() <= 640);

/// A meeting to which ranks have yet to come.
struct Meeting {
    shared: Arc<Shared>,
    number: u64,
}

impl Condition for Meeting {
    fn holds(&self) -> bool {
        self.shared.seats.iter().all(|it| it.came.has_told(self.number))
    }

    fn describe(&self) -> String {
        self.shared.late(self.number).unwrap_or_else(|| "nobody".to_owned())
    }
}

impl fmt::Debug for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Meeting({})", self.number)
    }
}

#[cold]
#[inline(never)]
fn between_groups() -> Outcome {
    error(Class::Comm, "not of a communicator between two groups")
}

impl Comm {
    /// This rank's part of a communicator.
    pub fn new(
        shared: Arc<Shared>,
        rank: usize,
        errhandler: Handler,
        topology: Option<Topology>,
        library: Option<phalanx::Comm>,
    ) -> Rc<Comm> {
        Comm::whole(shared, rank, errhandler, (topology, None), library, None)
    }

    /// This rank's part of an intercommunicator.
    pub fn between(
        shared: Arc<Shared>,
        rank: usize,
        errhandler: Handler,
        sides: Sides,
    ) -> Rc<Comm> {
        Comm::whole(shared, rank, errhandler, (None, Some(sides)), None, None)
    }

    /// The same with a shared part of its own, for calls whose order among others is free. It is
    /// the program's communicator in errors, which it keeps.
    pub fn apart(self: &Rc<Comm>, shared: Arc<Shared>) -> Rc<Comm> {
        let Comm { rank, topology, sides, errhandler, .. } = &**self;
        let kind = (topology.clone(), sides.clone());
        Comm::whole(shared, *rank, errhandler.get(), kind, None, Some(Rc::clone(self)))
    }

    fn whole(
        shared: Arc<Shared>,
        rank: usize,
        errhandler: Handler,
        (topology, sides): (Option<Topology>, Option<Sides>),
        library: Option<phalanx::Comm>,
        program: Option<Rc<Comm>>,
    ) -> Rc<Comm> {
        let meetings = Cell::new(0);
        Rc::new_cyclic(|own| Comm {
            shared,
            rank,
            sides,
            topology,
            errhandler: Attached::new(errhandler),
            handle: Cell::new(standard::COMM_NULL),
            note: Note::default(),
            hints: RefCell::default(),
            library: library.map(|it| Box::new(Own::new(it))),
            meetings,
            made: Cell::new(0),
            program,
            edges: OnceCell::new(),
            begun: RefCell::default(),
            own: Weak::clone(own),
        })
    }

    /// The calling rank's edges, made once.
    ///
    /// # Errors
    /// If the communicator has no grid or graph.
    pub fn edges(&self) -> Outcome<&Edges> {
        if let Some(edges) = self.edges.get() {
            return Ok(edges);
        }
        self.within()?;
        let made = Edges::of(self.topology.as_ref(), self.rank)?;
        Ok(self.edges.get_or_init(|| made))
    }

    /// Itself, to be kept.
    #[inline]
    pub fn kept(&self) -> Rc<Comm> {
        self.own.upgrade().expect("it is used")
    }

    /// Whether it is between two groups.
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.sides.is_some()
    }

    /// Refuses a communicator between two groups.
    ///
    /// # Errors
    /// If it is one.
    #[inline(always)]
    pub fn within(&self) -> Outcome {
        if self.is_inter() { between_groups() } else { Ok(()) }
    }

    /// The places of this rank's group.
    pub fn own(&self) -> Range<usize> {
        self.sides.as_ref().map_or(0..self.size(), |it| it.own.clone())
    }

    /// The places of those to which messages go: of the other group, if there are two.
    #[inline]
    pub fn peers(&self) -> Range<usize> {
        self.sides.as_ref().map_or(0..self.size(), |it| it.other.clone())
    }

    /// This rank in its group.
    #[inline]
    pub fn own_rank(&self) -> usize {
        self.rank - self.sides.as_ref().map_or(0, |it| it.own.start)
    }

    /// The rank of the world of one to which messages go.
    #[inline]
    pub fn peer(&self, rank: usize) -> usize {
        self.shared.members[self.peers().start + rank]
    }

    /// Its grid, if it has one.
    pub fn cart(&self) -> Option<&Cart> {
        match &self.topology {
            Some(Topology::Cart(cart)) => Some(cart),
            _ => None,
        }
    }

    /// The number of members, of both groups of an intercommunicator.
    #[inline]
    pub fn size(&self) -> usize {
        self.shared.members.len()
    }

    /// The number of the latest meeting.
    pub fn met(&self) -> u64 {
        self.meetings.get()
    }

    /// The number of the program's communicator.
    #[inline]
    pub fn context(&self) -> u32 {
        self.program.as_ref().map_or(self.shared.context, |it| it.shared.context)
    }

    /// The number of the next object that is made of it, which all ranks count alike.
    pub fn next_made(&self) -> u64 {
        self.made.set(self.made.get() + 1);
        self.made.get()
    }

    /// The number of the next meeting.
    fn next(&self) -> u64 {
        let number = self.meetings.get() + 1;
        self.meetings.set(number);
        number
    }

    /// Says in this rank's log which call it is in.
    #[inline(always)]
    fn note<'a>(
        &self,
        world: &'a Standings,
        site: Site,
        number: u64,
        terms: Terms,
    ) -> &'a RankView {
        let Terms { root, op, bytes } = terms;
        let context = self.shared.context;
        let it = Collective { context, number, site, root, op, bytes };
        let view = &world.members[self.shared.members[self.rank]];
        view.log.begin(&it);
        view
    }

    /// Lays down a card, awaits all, and gives the offers of all; ends the run if the calls do not
    /// agree.
    pub fn meet(&self, world: &Standings, site: Site, offer: Offer) -> Vec<Offer> {
        let number = self.next();
        let place = (number % 2) as usize;
        *lock(&self.shared.seats[self.rank].cards[place]) = Card { number, offer };
        self.note(world, site, number, Terms::default());
        self.await_all(world, site, number);
        let me = self.shared.members[self.rank];
        if self.shared.members.len() > 1
            && let Some(text) = world.differ(&*self.shared, number)
        {
            super::error::end(1, &text);
        }
        world.members[me].log.end();
        let read = |seat: &Seat| {
            let card = lock(&seat.cards[place]).clone();
            if card.number != number {
                world.fail(me, "another rank is in another collective");
            }
            card.offer
        };
        self.shared.seats.iter().map(read).collect()
    }

    /// Awaits all: then they have read this rank's buffers.
    pub fn come(&self, world: &Standings, site: Site) {
        self.await_all(world, site, self.next());
    }

    fn await_all(&self, world: &Standings, site: Site, number: u64) {
        let Shared { seats, members, .. } = &*self.shared;
        let me = members[self.rank];
        // Publishes the card and this rank's data, and that it has read theirs of the meeting
        // before.
        seats[self.rank].came.tell(number);
        for rank in members {
            world.wake(me, *rank);
        }
        for (seat, peer) in seats.iter().zip(members) {
            let holds = || seat.came.has_told(number);
            let meeting = || Arc::new(Meeting { shared: Arc::clone(&self.shared), number }) as _;
            world.wait(me, site, Some(*peer), holds, meeting);
        }
    }

    /// This rank begins a collective that is no meeting; gives the others' view of it. The rank
    /// that carries it out ends it in the log there.
    #[inline(always)]
    pub fn begin<'a>(&self, world: &'a Standings, site: Site, terms: Terms) -> &'a RankView {
        let number = self.next();
        let view = self.note(world, site, number, terms);
        // For those only that judge whether anybody can go on.
        self.shared.seats[self.rank].came.tell(number);
        view
    }

    /// Makes a collective call on the library's communicator.
    #[inline(always)]
    pub fn call_library<R>(
        &self,
        world: &Standings,
        site: Site,
        terms: Terms,
        run: impl FnOnce(&mut phalanx::Comm) -> R,
    ) -> R {
        let view = self.begin(world, site, terms);
        self.on_library(world, view, site, run)
    }

    /// The same, or the rest of it, of a call that has begun; ends it in the rank's log.
    #[inline(always)]
    pub fn on_library<R>(
        &self,
        world: &Standings,
        view: &RankView,
        site: Site,
        run: impl FnOnce(&mut phalanx::Comm) -> R,
    ) -> R {
        match keep_errno(|| self.library(view).attempt(site, run)) {
            Ok(result) => {
                view.log.end();
                result
            }
            Err(why) => world.fail(self.shared.members[self.rank], &why),
        }
    }

    /// The library's communicator of a rank that the others see so.
    #[inline(always)]
    pub fn library<'a>(&'a self, view: &'a RankView) -> &'a Own {
        self.library.as_deref().unwrap_or(&view.library)
    }

    /// The ranks of the world, by their ranks in here.
    pub fn world_rank(&self, rank: usize) -> usize {
        self.shared.members[rank]
    }
}
