//! A rank's own state: its objects by their handles. Only this rank's threads use it, one at a time
//! (MPI_THREAD_SERIALIZED at most); no borrow of a table lasts while the program's code runs.

use super::attributes::{Keys, Note};
use super::codes::Codes;
use super::comm::{Comm, Shared};
use super::early::Early;
use super::error::{Class, Error, Outcome, Site, end, error};
use super::handle::{Handle, Kind, Table};
use super::handlers::{Attached, Handler};
use super::held::{Held, Hold};
use super::p2p::{Message, Mode};
use super::polls::Polls;
use super::record::Recorded;
use super::reduction::{Memory, MemoryKey};
use super::request::{Arrived, Ask, General, Kind as Of, NOBODY, OpenAsk, Req, SENT};
use super::run::Run;
use super::standard;
use super::standings::Condition;
use super::started::{Begin, Open};
use super::types::{AnyType, Place, Type, is_predefined, predefined};
use super::user_function::UserFunction;
use super::window::Win;
use super::world::World;
use crate::load::frame::Barred;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

/// So many ended requests are kept at most.
const SPARE: usize = 64;

/// So many freed requests that cannot go on are looked at in a call.
const FREED_LOOKS: usize = 16;

/// A user's error handler: of the communicator and the code. (Variadic in C: the rest is free.)
pub type ErrorFunction = unsafe extern "C" fn(*mut Handle, *mut c_int, ...);

/// A request of the program: the call under way, and the call that starts again.
#[derive(Debug)]
pub struct Started {
    /// The call under way.
    pub active: Active,
    /// The call that a persistent request starts.
    pub again: Option<Rc<Persistent>>,
    /// The program's functions, of a request that the program completes.
    pub general: Option<Box<General>>,
}

impl Started {
    /// A call under way, once.
    #[inline(always)]
    pub fn of(active: Active) -> Started {
        Started { active, again: None, general: None }
    }

    /// The communicator that it alone has, of a collective that can be started many times.
    pub fn own_comm(&self) -> Option<&Comm> {
        match self.again.as_deref()? {
            Persistent::Collective { comm, .. } => Some(comm),
            Persistent::Message { .. } => None,
        }
    }
}

/// As many words as the largest variant of [`Active`] has. (A variant without them is moved as a
/// whole all the same: by loads of old memory, which wait until the data stored there, and all
/// before it, such as a message, is in the cache.)
#[derive(Clone, Copy, Debug, Default)]
pub struct Blank(#[expect(dead_code, reason = "it says nothing")] [u64; 3]);

/// The call under way of a request.
#[derive(Debug)]
pub enum Active {
    /// Nothing: a persistent request that rests.
    Rest,
    /// A call of which other ranks may know.
    Shared(Arc<Req>),
    /// A send that was complete at once.
    Sent(Blank),
    /// A message to nobody, or from there: the one request of all such (`Rank::nobody`).
    Nobody(Blank),
    /// A receive that only this rank knows of (`early.rs`).
    Early(Blank),
    /// One of those that has ended.
    Arrived(Arrived, Option<Box<Error>>),
}

/// The calls that can be started many times.
#[derive(Debug)]
pub enum Persistent {
    /// A send or receive.
    Message {
        /// When the send is complete; none: it is a receive.
        send: Option<Mode>,
        /// The data.
        place: Place,
        /// The other rank, and the tag.
        peer: (c_int, c_int),
        /// The communicator.
        comm: Rc<Comm>,
    },
    /// A collective.
    Collective {
        /// A communicator of its own.
        comm: Rc<Comm>,
        /// Starts it.
        start: Starter,
        /// Datatypes and operators that it starts with.
        _held: Vec<Hold>,
    },
}

type Start = dyn Fn(&Rank, &Comm) -> Outcome<Arc<Req>>;

/// Starts a collective on a communicator.
pub struct Starter(pub Box<Start>);

opaque!(Starter);

/// How far a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Between MPI_Init and MPI_Finalize.
    Running,
    /// Not there, but a session is open.
    InSession,
    /// Before MPI_Init.
    Before,
    /// After MPI_Finalize.
    Finalized,
    /// In a child of a fork: the ranks' threads are in its parent.
    Forked,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    /// The hints that the program asked for, and those that it has got.
    pub hints: Vec<(String, String)>,
    /// The handler of errors.
    pub errhandler: Attached,
    /// The program's handle of it.
    pub handle: Cell<Handle>,
}

#[cold]
#[inline(never)]
fn no_type<T>(handle: Handle) -> Outcome<T> {
    error(Class::Type, format!("{handle:#x} is no datatype"))
}

#[cold]
#[inline(never)]
fn no_buffer<T>() -> Outcome<T> {
    error(Class::Buffer, "the buffer is a null pointer")
}

#[cold]
#[inline(never)]
fn negative<T>(count: i64) -> Outcome<T> {
    error(Class::Count, format!("the count {count} is negative"))
}

/// The error of a call that may be made only between MPI_Init and MPI_Finalize.
#[cold]
#[inline(never)]
fn out_of_time(stage: Stage) -> Outcome {
    let when = match stage {
        Stage::Before => "before MPI_Init",
        Stage::Forked => "in a child of fork, which has no ranks: those are in its parent",
        _ => "after MPI_Finalize",
    };
    error(Class::Other, format!("it was called {when}"))
}

/// A group: ranks of the world.
pub type Group = Rc<Vec<usize>>;

/// A rank. Nothing else lies on its lines: it writes some of them in each call.
#[derive(Debug)]
#[repr(align(128))]
pub struct Rank {
    /// The state that it shares with the others.
    pub world: Arc<World>,
    /// The run, which has the world.
    pub run: Arc<Run>,
    /// Its number.
    pub me: usize,
    /// How far it is.
    pub stage: Cell<Stage>,
    /// The same without sessions, while some are open; and how many.
    beside: Cell<(Stage, isize)>,
    /// Whether it is a rank of a team: MPI is there before MPI_Init, which may come any number of
    /// times.
    is_hosted: bool,
    /// Its last call, for a text if it leaves early.
    pub last: Cell<Site>,
    /// The level of threads that it was given.
    pub level: Cell<c_int>,
    /// Tests in a row that found nothing.
    idle: Cell<u32>,
    /// The same, if it made no other calls.
    pub polls: Polls,
    /// The buffer that the program attached: its messages are kept elsewhere.
    pub buffer: Cell<(usize, i64)>,
    whole: Rc<Comm>,
    alone: Rc<Comm>,
    /// Communicators but the predefined ones.
    pub comms: RefCell<Held<Rc<Comm>>>,
    /// Groups.
    pub groups: RefCell<Table<Group>>,
    /// Derived datatypes.
    pub types: RefCell<Held<Arc<Type>>>,
    /// Users' operators: the function, and whether the order of its operands is free.
    pub ops: RefCell<Held<(UserFunction, bool)>>,
    /// Operators over memory, by operator and datatype.
    pub memory: RefCell<HashMap<MemoryKey, Rc<Memory>>>,
    /// Started requests.
    pub requests: RefCell<Table<Started>>,
    /// Receives among them that only this rank knows of.
    pub early: Early,
    /// Messages that probes have taken.
    pub messages: RefCell<Table<Message>>,
    /// Lists of keys and values.
    pub infos: RefCell<Table<Vec<(String, String)>>>,
    /// Users' error handlers.
    pub error_handlers: RefCell<Held<ErrorFunction>>,
    /// The kinds of attributes.
    pub keys: RefCell<Keys>,
    /// The attributes of datatypes.
    pub type_notes: RefCell<HashMap<Handle, Rc<Note>>>,
    /// The datatypes of Fortran 90's numbers, by precision and range.
    pub f90: RefCell<HashMap<(c_int, Vec<c_int>), Handle>>,
    /// Error codes of the program's own.
    pub codes: RefCell<Codes>,
    /// The last error that was returned to the program, or given to its handler.
    pub last_error: RefCell<Option<(Site, Rc<Error>)>>,
    /// Sessions.
    pub sessions: RefCell<Table<Rc<Session>>>,
    /// Windows.
    pub wins: RefCell<Table<Rc<Win>>>,
    /// For the record of its calls, if there is one.
    pub recorded: RefCell<Recorded>,
    /// The request of every send that was complete at once.
    pub sent: Arc<Req>,
    /// The request of every message to nobody, or from there: it is complete, and stays.
    pub nobody: Handle,
    /// The request with its status.
    pub from_nobody: Arc<Req>,
    /// The list of which one request was awaited or tested last, and the place behind that one.
    pub ended: Cell<(usize, usize)>,
    /// Requests that have ended, to be used again.
    spare: RefCell<Vec<Arc<Req>>>,
    /// Collectives that it has started, and carries on.
    open: RefCell<Vec<Option<Open>>>,
    /// Free places there.
    free: RefCell<Vec<usize>>,
    /// Requests of such that the program has freed.
    freed: RefCell<VecDeque<Arc<Req>>>,
}

impl Rank {
    /// The state of a rank before its main begins.
    pub fn new(run: Arc<Run>, me: usize) -> Rank {
        let world = Arc::clone(&run.world);
        let own = Shared::new(&world, vec![me]);
        let predefined = |handle, shared, rank| {
            let comm = Comm::new(shared, rank, Handler::FATAL, None, None);
            comm.handle.set(handle);
            comm
        };
        let sent = Req::new(Ask { owner: me, ..Ask::default() });
        sent.complete(&world, me, SENT);
        let from_nobody = Req::new(Ask { owner: me, kind: Of::Receive, ..Ask::default() });
        from_nobody.complete(&world, me, NOBODY);
        let mut requests = Table::new(Kind::Request);
        let nobody = requests.insert(Started::of(Active::Nobody(Blank::default())));
        Rank {
            whole: predefined(standard::COMM_WORLD, Arc::clone(&run.whole), me),
            alone: predefined(standard::COMM_SELF, own, 0),
            run,
            world,
            me,
            stage: Cell::new(Stage::Before),
            beside: Cell::new((Stage::Before, 0)),
            is_hosted: false,
            last: Cell::default(),
            level: Cell::new(0),
            idle: Cell::new(0),
            polls: Polls::default(),
            buffer: Cell::default(),
            comms: RefCell::new(Held::new(Kind::Comm)),
            groups: RefCell::new(Table::new(Kind::Group)),
            types: RefCell::new(Held::new(Kind::Type)),
            ops: RefCell::new(Held::new(Kind::Op)),
            memory: RefCell::default(),
            requests: RefCell::new(requests),
            early: Early::default(),
            messages: RefCell::new(Table::new(Kind::Message)),
            infos: RefCell::new(Table::new(Kind::Info)),
            error_handlers: RefCell::new(Held::new(Kind::ErrorHandler)),
            keys: RefCell::default(),
            type_notes: RefCell::default(),
            f90: RefCell::default(),
            codes: RefCell::default(),
            last_error: RefCell::default(),
            sessions: RefCell::new(Table::new(Kind::Session)),
            wins: RefCell::new(Table::new(Kind::Window)),
            ended: Cell::default(),
            spare: RefCell::default(),
            open: RefCell::default(),
            free: RefCell::default(),
            freed: RefCell::default(),
            recorded: RefCell::default(),
            sent,
            nobody,
            from_nobody,
        }
    }

    /// The state of a rank in an ordinary program: MPI is there already.
    pub fn hosted(run: Arc<Run>, me: usize) -> Rank {
        let stage = Cell::new(Stage::Running);
        Rank { stage, is_hosted: true, ..Rank::new(run, me) }
    }

    /// MPI_Init.
    ///
    /// # Errors
    /// If it was called before.
    pub fn init(&self) -> Outcome {
        if self.stage() != Stage::Before && !self.is_hosted {
            return error(Class::Other, "it was called twice");
        }
        self.go_to(Stage::Running);
        Ok(())
    }

    /// How far it is, whatever sessions are open.
    pub fn stage(&self) -> Stage {
        match self.stage.get() {
            Stage::InSession => self.beside.get().0,
            stage => stage,
        }
    }

    /// MPI_Init or MPI_Finalize was called.
    pub fn go_to(&self, stage: Stage) {
        let (_, open) = self.beside.get();
        self.beside.set((stage, open));
        let is_in_session = open > 0 && stage != Stage::Running;
        self.stage.set(if is_in_session { Stage::InSession } else { stage });
    }

    /// The process is a child of a fork.
    pub fn is_forked(&self) {
        self.beside.set((Stage::Forked, 0));
        self.stage.set(Stage::Forked);
    }

    /// So many more sessions are open.
    pub fn sessions_open(&self, more: isize) {
        let stage = self.stage();
        let (_, open) = self.beside.get();
        self.beside.set((stage, open + more));
        self.go_to(stage);
    }

    /// The session of a handle.
    ///
    /// # Errors
    /// If it names none.
    pub fn session(&self, handle: Handle) -> Outcome<Rc<Session>> {
        match self.sessions.borrow().get(handle) {
            Some(session) => Ok(Rc::clone(session)),
            None => error(Class::Session, format!("{handle:#x} is no session")),
        }
    }

    /// Runs one call: gives its result to the program; an error goes by the communicator's handler.
    #[inline(always)]
    pub fn call(&self, site: Site, comm: Handle, run: impl FnOnce() -> Outcome) -> c_int {
        self.last.set(site);
        self.polls.call();
        let outcome = match self.stage.get() {
            Stage::Running | Stage::InSession => run(),
            stage => out_of_time(stage),
        };
        match outcome {
            Ok(()) => 0,
            Err(error) => self.raise(site, comm, error),
        }
    }

    /// A call that may be made at any time.
    #[inline(always)]
    pub fn always(&self, site: Site, run: impl FnOnce() -> Outcome) -> c_int {
        match run() {
            Ok(()) => 0,
            Err(error) => self.raise(site, standard::COMM_WORLD, error),
        }
    }

    /// Acts on an error as the handler of the communicator, or window, says; of a request: that of
    /// its communicator, which the program may have freed.
    #[cold]
    fn raise(&self, site: Site, on: Handle, error: Error) -> c_int {
        let code = error.code;
        let on = error.context.and_then(|it| self.comm_of(it)).unwrap_or(on);
        let error = Rc::new(error);
        self.last_error.replace(Some((site, Rc::clone(&error))));
        self.tell(site, on, code, || error.words());
        code
    }

    /// The handle of the communicator of this number.
    fn comm_of(&self, context: u32) -> Option<Handle> {
        let predefined = [&self.whole, &self.alone];
        let comms = self.comms.borrow();
        let mut all = predefined.into_iter().chain(comms.all());
        all.find(|it| it.shared.context == context).map(|it| it.handle.get())
    }

    /// The words for a code: of the program's last error, if that has it, with its call's line.
    pub fn error_text(&self, code: c_int) -> String {
        let codes = self.codes.borrow();
        let words = codes.text(code).to_owned();
        match &*self.last_error.borrow() {
            Some((site, last)) if last.code == code && !codes.is_own(code) => {
                format!("{words}: {}: {}", site.describe(), last.words())
            }
            _ => words,
        }
    }

    /// Gives a code to the error handler of a communicator, window or session; the world's, if the
    /// handle names none.
    pub fn tell(&self, site: Site, on: Handle, code: c_int, text: impl FnOnce() -> String) {
        let of_session = self.sessions.borrow().get(on).map(|it| it.errhandler.handle());
        let of_win = || self.wins.borrow().get(on).map(|it| it.errhandler.handle());
        let (handle, handler) = match of_session.or_else(of_win) {
            Some(handler) => (on, handler),
            None => {
                let comm = self.comm(on).unwrap_or_else(|_| Rc::clone(&self.whole));
                (comm.handle.get(), comm.errhandler.handle())
            }
        };
        if handler == standard::ERRORS_RETURN {
            return;
        }
        let own = self.error_handlers.borrow().get(handler).copied();
        if let Some(function) = own {
            let (mut handle, mut code) = (handle, code);
            let _barred = Barred::new();
            // SAFETY: the program's own error handler, called as the standard says.
            unsafe { function(&raw mut handle, &raw mut code) };
            return;
        }
        let place = site.describe();
        let words = self.codes.borrow().text(code).to_owned();
        end(code, &format!("phalanx: rank {}: {place}: {words}: {}", self.me, text()))
    }

    /// The window of a handle.
    ///
    /// # Errors
    /// If it names none.
    pub fn win(&self, handle: Handle) -> Outcome<Rc<Win>> {
        match self.wins.borrow().get(handle) {
            Some(win) => Ok(Rc::clone(win)),
            None => error(Class::Win, format!("{handle:#x} is no window")),
        }
    }

    /// The communicator of a handle.
    ///
    /// # Errors
    /// If it names none.
    #[inline(always)]
    pub fn comm(&self, handle: Handle) -> Outcome<Rc<Comm>> {
        match handle {
            standard::COMM_WORLD => Ok(Rc::clone(&self.whole)),
            standard::COMM_SELF => Ok(Rc::clone(&self.alone)),
            _ => match self.comms.borrow().get(handle) {
                Some(comm) => Ok(Rc::clone(comm)),
                None => error(Class::Comm, format!("{handle:#x} is no communicator")),
            },
        }
    }

    /// The group of a handle.
    ///
    /// # Errors
    /// If it names none.
    pub fn group(&self, handle: Handle) -> Outcome<Group> {
        if handle == standard::GROUP_EMPTY {
            return Ok(Rc::default());
        }
        match self.groups.borrow().get(handle) {
            Some(group) => Ok(Rc::clone(group)),
            None => error(Class::Group, format!("{handle:#x} is no group")),
        }
    }

    /// Keeps a group; the empty one is predefined.
    pub fn keep_group(&self, ranks: Vec<usize>) -> Handle {
        if ranks.is_empty() {
            return standard::GROUP_EMPTY;
        }
        self.groups.borrow_mut().insert(Rc::new(ranks))
    }

    /// The datatype of a handle.
    ///
    /// # Errors
    /// If it names none.
    #[inline(always)]
    pub fn ty(&self, handle: Handle) -> Outcome<AnyType> {
        let ty = if is_predefined(handle) {
            predefined(handle).map(AnyType::Basic)
        } else {
            self.types.borrow().get(handle).map(|it| AnyType::Derived(Arc::clone(it)))
        };
        match ty {
            Some(ty) => Ok(ty),
            None => no_type(handle),
        }
    }

    /// A buffer of a call.
    ///
    /// # Errors
    /// If the count is negative, the type unknown, or there is data but no buffer.
    #[inline(always)]
    pub fn place(&self, buffer: *const c_void, count: i64, ty: Handle) -> Outcome<Place> {
        let Ok(count) = usize::try_from(count) else { return negative(count) };
        let is_basic = ty < 0x1000;
        let ty = self.ty(ty)?;
        if buffer.is_null() && is_basic && count > 0 {
            return no_buffer();
        }
        Ok(Place { address: buffer as usize, count, ty })
    }

    /// A request: one that has ended, if there is one that nobody else still holds.
    pub fn request(&self, ask: Ask) -> Arc<Req> {
        let spare = self.spare.borrow_mut().pop();
        if let Some(mut spare) = spare
            && let Some(req) = Arc::get_mut(&mut spare)
        {
            req.renew(ask);
            return spare;
        }
        Req::new(ask)
    }

    /// The request of a collective that was started by the call at `site`, on the communicator of
    /// this number. `named`: the datatype that its operator is told, if that is a user's.
    #[inline]
    pub fn carry_on(
        &self,
        site: Site,
        begin: Begin,
        context: u32,
        named: Option<Handle>,
    ) -> Arc<Req> {
        if !self.freed.borrow().is_empty() {
            self.carry_on_freed();
        }
        let ask = Ask { owner: self.me, site, kind: Of::Collective, context, ..Ask::default() };
        let mut open = match begin {
            Begin::Complete(None) => return Arc::clone(&self.sent),
            Begin::Complete(Some(error)) => {
                let req = self.request(ask);
                req.fail(error);
                req.complete(&self.world, self.me, SENT);
                return req;
            }
            Begin::Open(open) => open,
        };
        let ((number, awaits), at) = (open.awaited(), open.shared().context);
        if let Some(ty) = named {
            open.hold = self.types.borrow().hold(ty);
        }
        let mut all = self.open.borrow_mut();
        let index = self.free.borrow_mut().pop().unwrap_or_else(|| {
            all.push(None);
            all.len() - 1
        });
        all[index] = Some(open);
        self.request(Ask { open: Some(OpenAsk { index, context: at, number, awaits }), ..ask })
    }

    /// Does a collective's next steps, as far as now possible: gives whether it is complete.
    #[inline]
    pub fn advance(&self, req: &Req) -> bool {
        if req.is_done() {
            return true;
        }
        let Some(OpenAsk { index, .. }) = req.ask.open else { return false };
        // Taken out: an operator of the program may run.
        let Some(mut open) = self.open.borrow_mut()[index].take() else { return false };
        // SAFETY: the promise of the call that started it, and of the others'; it is this rank's.
        let Some(failed) = (unsafe { open.advance(&self.world) }) else {
            self.open.borrow_mut()[index] = Some(open);
            return false;
        };
        self.free.borrow_mut().push(index);
        failed.into_iter().for_each(|it| req.fail(it));
        if open.hold.take().is_some() {
            self.sweep().err().into_iter().for_each(|it| req.fail(it.into()));
        }
        req.complete(&self.world, self.me, SENT);
        true
    }

    /// Whether `advance` would do something. It may be asked within the library.
    pub fn can_advance(&self, req: &Req) -> bool {
        let can = |it: OpenAsk| {
            let all = self.open.borrow();
            all[it.index].as_ref().is_some_and(|it| it.can_advance(&self.world))
        };
        req.is_done() || req.ask.open.is_some_and(can)
    }

    /// The program has freed a request: a collective is carried on all the same, in later calls of
    /// collectives that are started.
    pub fn keep_freed(&self, req: Arc<Req>) {
        if req.ask.open.is_some() && !self.advance(&req) {
            self.freed.borrow_mut().push_back(req);
        }
    }

    /// Looks at a few in turn that cannot go on: there may be very many.
    #[cold]
    fn carry_on_freed(&self) {
        let mut left = self.freed.borrow().len().min(FREED_LOOKS);
        while left > 0
            && let Some(req) = { self.freed.borrow_mut().pop_front() }
        {
            if !self.advance(&req) {
                self.freed.borrow_mut().push_back(req);
                left -= 1;
            }
        }
    }

    /// Takes a request that has ended back.
    pub fn give_back(&self, req: Arc<Req>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE && !Arc::ptr_eq(&req, &self.sent) {
            spare.push(req);
        }
    }

    /// Notes whether a test found something: after tests in vain another thread gets the core,
    /// soon where ranks share cores. `condition`: the aim of its looks.
    pub fn tested(&self, is_found: bool, condition: impl FnOnce() -> Arc<dyn Condition>) {
        let is_long = self.is_idle_for_long(is_found);
        if !is_found {
            self.polls.miss(&self.world, (self.me, self.last.get()), is_long, condition);
        }
    }

    /// The same of a call with an unknown aim: it is not judged.
    pub fn looked(&self, is_found: bool) {
        if self.is_idle_for_long(is_found) {
            std::thread::yield_now();
        }
    }

    fn is_idle_for_long(&self, is_found: bool) -> bool {
        let count = if is_found { 0 } else { self.idle.get().saturating_add(1) };
        self.idle.set(count);
        count > 1000 || (count > 10 && self.world.is_crowded())
    }
}
