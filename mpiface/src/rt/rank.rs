//! A rank's own state: its objects by their handles. Only this rank's threads use it, one at a time
//! (MPI_THREAD_SERIALIZED at most); no borrow of a table lasts while the program's code runs.

use super::basic::{self, basic};
use super::comm::Comm;
use super::error::{Class, Error, Outcome, Site, class_text, end, error};
use super::handle::{Handle, Kind, Table};
use super::p2p::Req;
use super::route::{Memory, MemoryKey};
use super::types::{Place, Type};
use super::world::World;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

/// A user's operator.
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);

/// How far a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before MPI_Init.
    Before,
    /// Between MPI_Init and MPI_Finalize.
    Running,
    /// After MPI_Finalize.
    Finalized,
}

/// The standard's handles that are used by name here.
pub mod fixed {
    #![expect(missing_docs, reason = "the standard's names")]
    use super::Handle;
    pub const OP_NULL: Handle = 0x20;
    pub const COMM_NULL: Handle = 0x100;
    pub const COMM_WORLD: Handle = 0x101;
    pub const COMM_SELF: Handle = 0x102;
    pub const GROUP_NULL: Handle = 0x108;
    pub const GROUP_EMPTY: Handle = 0x109;
    pub const ERRORS_ARE_FATAL: Handle = 0x141;
    pub const ERRORS_RETURN: Handle = 0x142;
    pub const ERRORS_ABORT: Handle = 0x143;
    pub const REQUEST_NULL: Handle = 0x180;
    pub const DATATYPE_NULL: Handle = 0x200;
}

/// A group: ranks of the world.
pub type Group = Rc<Vec<usize>>;

/// A rank.
#[derive(Debug)]
pub struct Rank {
    /// What it shares with the others.
    pub world: Arc<World>,
    /// Its number.
    pub me: usize,
    /// How far it is.
    pub stage: Cell<Stage>,
    /// Whether it is a rank of a team: MPI is there before MPI_Init, which may come any number of
    /// times.
    is_hosted: bool,
    /// Its last call, for a text if it leaves early.
    pub last: Cell<Site>,
    /// The level of threads that it was given.
    pub level: Cell<c_int>,
    /// Tests in a row that found nothing.
    idle: Cell<u32>,
    /// The buffer that the program attached: its messages are kept elsewhere.
    pub buffer: Cell<(usize, c_int)>,
    whole: Rc<Comm>,
    alone: Rc<Comm>,
    /// Communicators but the predefined ones.
    pub comms: RefCell<Table<Rc<Comm>>>,
    /// Groups.
    pub groups: RefCell<Table<Group>>,
    /// Derived datatypes.
    pub types: RefCell<Table<Arc<Type>>>,
    /// Users' operators: the function, and whether the order of its operands is free.
    pub ops: RefCell<Table<(UserFunction, bool)>>,
    /// Operators over memory, by operator and datatype.
    pub memory: RefCell<HashMap<MemoryKey, Rc<Memory>>>,
    /// Started requests.
    pub requests: RefCell<Table<Arc<Req>>>,
    basics: Vec<OnceCell<Arc<Type>>>,
}

impl Rank {
    /// The state of a rank before its main begins.
    pub fn new(world: Arc<World>, me: usize) -> Rank {
        let own = world.new_shared(vec![me]);
        let fatal = fixed::ERRORS_ARE_FATAL;
        Rank {
            whole: Comm::new(Arc::clone(&world.whole), me, fatal, None, None),
            alone: Comm::new(own, 0, fatal, None, None),
            world,
            me,
            stage: Cell::new(Stage::Before),
            is_hosted: false,
            last: Cell::default(),
            level: Cell::new(0),
            idle: Cell::new(0),
            buffer: Cell::default(),
            comms: RefCell::new(Table::new(Kind::Comm)),
            groups: RefCell::new(Table::new(Kind::Group)),
            types: RefCell::new(Table::new(Kind::Type)),
            ops: RefCell::new(Table::new(Kind::Op)),
            memory: RefCell::default(),
            requests: RefCell::new(Table::new(Kind::Request)),
            basics: (0..0x100).map(|_| OnceCell::new()).collect(),
        }
    }

    /// The state of a rank in an ordinary program: MPI is there already.
    pub fn hosted(world: Arc<World>, me: usize) -> Rank {
        let stage = Cell::new(Stage::Running);
        Rank { stage, is_hosted: true, ..Rank::new(world, me) }
    }

    /// MPI_Init.
    ///
    /// # Errors
    /// If it was called before.
    pub fn init(&self) -> Outcome {
        if self.stage.get() != Stage::Before && !self.is_hosted {
            return error(Class::Other, "it was called twice");
        }
        self.stage.set(Stage::Running);
        Ok(())
    }

    /// Runs one call: what it returns to the program; an error goes by the communicator's handler.
    pub fn call(&self, site: Site, comm: Handle, run: impl FnOnce() -> Outcome) -> c_int {
        self.last.set(site);
        let outcome = match self.stage.get() {
            Stage::Running => run(),
            Stage::Before => error(Class::Other, "it was called before MPI_Init"),
            Stage::Finalized => error(Class::Other, "it was called after MPI_Finalize"),
        };
        match outcome {
            Ok(()) => 0,
            Err(error) => self.raise(site, comm, &error),
        }
    }

    /// A call that may be made at any time.
    pub fn always(&self, site: Site, run: impl FnOnce() -> Outcome) -> c_int {
        match run() {
            Ok(()) => 0,
            Err(error) => self.raise(site, fixed::COMM_WORLD, &error),
        }
    }

    /// Acts on an error as the communicator's handler says.
    #[cold]
    fn raise(&self, site: Site, comm: Handle, error: &Error) -> c_int {
        let comm = self.comm(comm).unwrap_or_else(|_| Rc::clone(&self.whole));
        let class = error.class as c_int;
        if comm.errhandler.get() == fixed::ERRORS_RETURN {
            return class;
        }
        let place = site.describe();
        let Error { text, .. } = error;
        end(class, &format!("phalanx: rank {}: {place}: {}: {text}", self.me, class_text(class)))
    }

    /// The communicator of a handle.
    ///
    /// # Errors
    /// If it names none.
    pub fn comm(&self, handle: Handle) -> Outcome<Rc<Comm>> {
        match handle {
            fixed::COMM_WORLD => Ok(Rc::clone(&self.whole)),
            fixed::COMM_SELF => Ok(Rc::clone(&self.alone)),
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
        if handle == fixed::GROUP_EMPTY {
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
            return fixed::GROUP_EMPTY;
        }
        self.groups.borrow_mut().insert(Rc::new(ranks))
    }

    /// The datatype of a handle.
    ///
    /// # Errors
    /// If it names none.
    pub fn ty(&self, handle: Handle) -> Outcome<Arc<Type>> {
        if let Some(index) = handle.checked_sub(0x200).filter(|it| *it < self.basics.len()) {
            return match basic(handle) {
                Some(known) => {
                    let make = || Arc::new(Type::basic(known, basic::name(handle)));
                    Ok(Arc::clone(self.basics[index].get_or_init(make)))
                }
                None => error(Class::Type, format!("{handle:#x} is no datatype")),
            };
        }
        match self.types.borrow().get(handle) {
            Some(ty) => Ok(Arc::clone(ty)),
            None => error(Class::Type, format!("{handle:#x} is no datatype")),
        }
    }

    /// A buffer of a call.
    ///
    /// # Errors
    /// If the count is negative, the type unknown, or there is data but no buffer.
    pub fn place(&self, buffer: *const c_void, count: c_int, ty: Handle) -> Outcome<Place> {
        let Ok(count) = usize::try_from(count) else {
            return error(Class::Count, format!("the count {count} is negative"));
        };
        let is_basic = ty < 0x1000;
        let ty = self.ty(ty)?;
        if buffer.is_null() && is_basic && count > 0 {
            return error(Class::Buffer, "the buffer is a null pointer");
        }
        Ok(Place { address: buffer as usize, count, ty })
    }

    /// Notes whether a test found something: after tests in vain another thread gets the core,
    /// soon where ranks share cores.
    pub fn tested(&self, is_found: bool) {
        let count = if is_found { 0 } else { self.idle.get() + 1 };
        self.idle.set(count);
        if count > 1000 || (count > 10 && self.world.is_crowded()) {
            std::thread::yield_now();
        }
    }
}
