//! Ranks inside an ordinary program, without a launcher: teams of threads, each with its own copy
//! of a library that uses MPI.
//!
//! Three ways: [`run`] calls a closure on n ranks; a [`Team`] is made once and called many times,
//! and its ranks keep their copies, and so the library's globals, from call to call; with
//! [`Team::start`] the calling thread becomes rank 0 until [`Started::join`].
//!
//! The closure belongs to the program and is shared by the ranks; the library's functions are found
//! in the rank's own copy, by [`Member::symbol`]. In that copy MPI is there already: MPI_COMM_WORLD
//! is the team. An error of MPI ends the process, as it does under the launcher; so does a panic of
//! one rank's closure, since the others may wait for that rank.
//!
//! ```no_run
//! use phalanx_mpi_abi::team::{self, Library};
//! use std::ffi::c_int;
//!
//! // SAFETY: the library's constructors may run here, once a rank.
//! let library = unsafe { Library::open("libsolver.so") }?;
//! team::run(Some(4), &library, |member| {
//!     let solve = member.symbol(c"solve").expect("libsolver.so has it");
//!     // SAFETY: this is its type.
//!     let solve: extern "C" fn(c_int) -> c_int = unsafe { std::mem::transmute(solve) };
//!     println!("rank {} of {}: {}", member.rank(), member.size(), solve(100));
//! })?;
//! # Ok::<(), String>(())
//! ```

use crate::cores::{cores, pin, ranks};
use crate::launch::{binding, refused_thread};
use crate::load::image::{Copy, Host, Image};
use crate::rt::error::end;
use crate::rt::forked;
use crate::rt::mutex::lock;
use crate::rt::rank::{Rank, Stage};
use crate::rt::record::Record;
use crate::rt::run::Run;
use crate::rt::standings::JUDGED;
use crate::stack;
use crate::static_tls;
use std::ffi::{CStr, c_void};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A shared library that uses MPI, itself or by what it needs: read once, loaded once a rank.
#[derive(Clone, Debug)]
pub struct Library(Arc<Image>);

impl Library {
    /// Reads a library that was linked against this package's libmpi_abi.so.0, and finds the
    /// libraries that become private with it.
    ///
    /// # Errors
    /// If a file cannot be read or is an executable.
    ///
    /// # Safety
    /// Each team that uses the library loads copies of it: the constructors and destructors of its
    /// files must be sound to run in this process, once a rank.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Library, String> {
        Image::library(path.as_ref()).map(|image| Library(Arc::new(image)))
    }
}

/// One rank of a team, as the closure sees it that runs on it.
#[derive(Debug)]
pub struct Member<'a> {
    rank: usize,
    size: usize,
    copy: &'a Copy,
}

impl Member<'_> {
    /// This rank's number.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The address, in this rank's copy, of `name` in the library or in one that it needs.
    /// It is valid until the team ends, and the functions are this rank's thread's alone.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        self.copy.symbol(name)
    }
}

/// Ranks that are called many times: see the [module](self).
pub struct Team {
    world: Arc<Run>,
    ranks: Vec<*mut Rank>,
    /// The first rank with a thread of its own: 1 if the caller is rank 0.
    first: usize,
    workers: Vec<Worker>,
    /// Met by all workers and the caller when a call has ended: a rank's stack may be looked at by
    /// others until then.
    ended: Arc<EndedRanks>,
    loaded: Vec<(Arc<Image>, Vec<Option<Copy>>)>,
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team").field("ranks", &self.ranks.len()).finish_non_exhaustive()
    }
}

/// A barrier, for threads of ranks that rest.
struct EndedRanks {
    size: usize,
    /// How many have come since it was made.
    come: Mutex<usize>,
    changed: Condvar,
}

impl EndedRanks {
    fn new(size: usize) -> EndedRanks {
        EndedRanks { size, come: Mutex::new(0), changed: Condvar::new() }
    }

    /// Waits for the others. Ranks that still run may wait for one that rests, which the library
    /// does not know: see `Standings::rest`.
    fn meet(&self, world: &Run) {
        let mut come = lock(&self.come);
        let needed = (*come / self.size + 1) * self.size;
        *come += 1;
        self.changed.notify_all();
        while *come < needed {
            let waited = self.changed.wait_timeout(come, JUDGED);
            let (held, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
            come = held;
            if outcome.timed_out() && *come < needed {
                drop(come);
                world.judge();
                come = lock(&self.come);
            }
        }
    }
}

struct Worker {
    tasks: Sender<TeamTask>,
    thread: JoinHandle<()>,
}

/// The functions that all ranks of a team call.
type TeamBody<'a> = dyn Fn(usize, &Copy) + Sync + 'a;

/// One call on one rank. The pointers live until the team's barrier is met.
struct TeamTask {
    body: *const TeamBody<'static>,
    copy: *const Copy,
    rank: *const Rank,
}

// SAFETY: the body is Sync; copy and state are this rank's alone. They live until the barrier is
// met, which the worker meets after its last use of them.
unsafe impl Send for TeamTask {}

impl Team {
    /// A team of `ranks` ranks, else of PHALANX_RANKS, else of one a core.
    ///
    /// # Errors
    /// If PHALANX_RANKS is no number, or a thread cannot be made.
    pub fn new(ranks: Option<usize>) -> Result<Team, String> {
        Team::with(ranks, 0)
    }

    fn with(given: Option<usize>, first: usize) -> Result<Team, String> {
        let size = ranks(given)?;
        let world = Run::new(size, None);
        let hosted = |me| Box::into_raw(Box::new(Rank::hosted(Arc::clone(&world), me)));
        let mut team = Team {
            ranks: (0..size).map(hosted).collect(),
            world,
            first,
            workers: Vec::with_capacity(size - first),
            ended: Arc::new(EndedRanks::new(size - first + 1)),
            loaded: Vec::new(),
        };
        let cores = cores();
        for me in first..size {
            let core = cores.get(me).filter(|_| size <= cores.len()).copied();
            team.workers.push(worker(Arc::clone(&team.world), me, core, Arc::clone(&team.ended))?);
        }
        Ok(team)
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    /// Calls `f` on each rank and waits for all. The first call with a library loads the copies,
    /// which stay as long as the team.
    ///
    /// # Errors
    /// If the copies cannot be loaded.
    pub fn invoke(
        &mut self,
        library: &Library,
        f: impl Fn(&Member<'_>) + Sync,
    ) -> Result<(), String> {
        let size = self.size();
        self.call(&library.0, &|rank, copy| f(&Member { rank, size, copy }))
    }

    /// A team of which the calling thread is rank 0, with a copy of its own; the others run `f`.
    ///
    /// # Errors
    /// As [`Team::new`] and [`Team::invoke`].
    pub fn start(
        ranks: Option<usize>,
        library: &Library,
        f: impl Fn(&Member<'_>) + Send + Sync + 'static,
    ) -> Result<Started, String> {
        let mut team = Team::with(ranks, 1)?;
        let at = team.load(&library.0, 0)?;
        let size = team.size();
        Ok(team.begin(at, Box::new(move |rank, copy| f(&Member { rank, size, copy }))))
    }

    /// As `start`, for a caller that has bound its own copy of the shim to rank 0 by this module's
    /// caller.
    pub(crate) fn start_outside(
        ranks: Option<usize>,
        image: &Arc<Image>,
        body: Box<TeamBody<'static>>,
    ) -> Result<Started, String> {
        let mut team = Team::with(ranks, 1)?;
        let at = team.load(image, 1)?;
        Ok(team.begin(at, body))
    }

    /// Calls `body` on each rank with its copy of `image`, and waits for all.
    pub(crate) fn call(&mut self, image: &Arc<Image>, body: &TeamBody<'_>) -> Result<(), String> {
        let at = self.load(image, self.first)?;
        // SAFETY: only the lifetime changes: the pointer is not used after the barrier.
        let body =
            unsafe { std::mem::transmute::<*const TeamBody<'_>, *const TeamBody<'static>>(body) };
        self.send(at, body);
        self.ended.meet(&self.world);
        self.world.record.iter().for_each(|it| it.end(""));
        Ok(())
    }

    /// Gives all workers the body. The caller keeps it and the copies until it has met the barrier.
    fn send(&self, at: usize, body: *const TeamBody<'static>) {
        self.world.record.iter().for_each(Record::begin);
        for (me, rank) in self.ranks.iter().enumerate() {
            // SAFETY: no worker runs a task, so nobody else uses the state.
            unsafe { (**rank).go_to(Stage::Running) };
            // Before any of them runs: one that has left is missed by the others.
            self.world.come_back(me);
        }
        let ranks = self.ranks.iter().zip(&self.loaded[at].1).skip(self.first);
        for (worker, (rank, copy)) in self.workers.iter().zip(ranks) {
            let copy = copy.as_ref().expect("loaded for each worker");
            worker
                .tasks
                .send(TeamTask { body, copy, rank: *rank })
                .expect("a worker ends with its team only");
        }
    }

    fn begin(self, at: usize, body: Box<TeamBody<'static>>) -> Started {
        self.world.enter(0);
        self.world.record.iter().for_each(|it| it.calls.begin_run(0));
        self.send(at, &raw const *body);
        Started { team: self, at, _body: body, is_joined: false }
    }

    /// Rank 0's state, if the caller is that rank.
    pub(crate) fn caller(&self) -> *const Rank {
        self.ranks[0]
    }

    /// The place of this image's copies, which are loaded for the ranks from `from` on.
    fn load(&mut self, image: &Arc<Image>, from: usize) -> Result<usize, String> {
        if let Some(at) = self.loaded.iter().position(|it| Arc::ptr_eq(&it.0, image)) {
            return Ok(at);
        }
        self.loaded.push((Arc::clone(image), Vec::new()));
        let at = self.loaded.len() - 1;
        for (me, rank) in self.ranks.iter().enumerate() {
            let bound = binding(*rank);
            // SAFETY: the table is made from functions.txt; the state lives until the copies are
            // unloaded. The library's user has promised that its constructors may run.
            let load = || unsafe { image.load(bound, Host::Program) };
            let copy = if me < from { Ok(None) } else { load().map(Some) };
            match copy {
                Ok(copy) => self.loaded[at].1.push(copy),
                Err(error) => {
                    let (_, copies) = self.loaded.remove(at);
                    close(copies);
                    return Err(error);
                }
            }
        }
        Ok(at)
    }
}

/// Unloads copies of which no function runs.
fn close(copies: Vec<Option<Copy>>) {
    for copy in copies.into_iter().flatten() {
        // SAFETY: the callers' promise.
        unsafe { copy.close() };
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for Worker { tasks, thread } in self.workers.drain(..) {
            drop(tasks);
            let _ = thread.join();
        }
        // The threads have ended, and with them their thread-local variables of the copies.
        for (_, copies) in self.loaded.drain(..).rev() {
            close(copies);
        }
        for rank in self.ranks.drain(..) {
            forked::forget(rank);
            // SAFETY: made by Box in `with`; the copies that knew the address are unloaded, and
            // their threads have ended.
            drop(unsafe { Box::from_raw(rank) });
        }
    }
}

fn worker(
    world: Arc<Run>,
    me: usize,
    core: Option<usize>,
    ended: Arc<EndedRanks>,
) -> Result<Worker, String> {
    let (tasks, given) = channel::<TeamTask>();
    let body = move || {
        if let Some(core) = core {
            pin(&[core]);
        }
        world.enter(me);
        while let Ok(task) = given.recv() {
            // SAFETY: all three live until the barrier below is met; the state is this thread's.
            let last = || unsafe { (*task.rank).last.get() };
            // SAFETY: as above.
            let run = || unsafe { (*task.body)(me, &*task.copy) };
            let record = world.record.as_ref().map(|it| &it.calls);
            record.inspect(|it| it.begin_run(me));
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                end(101, &format!("phalanx: rank {me}: its function panicked; others may wait"));
            }
            record.inspect(|it| it.end_run(me));
            // SAFETY: as above.
            unsafe { (*task.rank).publish() };
            world.rest(me, "return from the team's function".to_owned(), last());
            ended.meet(&world);
        }
    };
    let stack = stack::usual();
    let thread = thread::Builder::new()
        .name(format!("rank {me}"))
        .stack_size(stack.saturating_add(static_tls::set_aside()))
        .spawn(body);
    let thread = thread.map_err(|error| refused_thread(&error, me, stack))?;
    Ok(Worker { tasks, thread })
}

/// A team that runs, with the calling thread as rank 0: see [`Team::start`]. To drop it is to join.
pub struct Started {
    team: Team,
    at: usize,
    /// Used by the workers until the barrier is met.
    _body: Box<TeamBody<'static>>,
    is_joined: bool,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("team", &self.team).finish_non_exhaustive()
    }
}

impl Started {
    /// Rank 0.
    pub fn member(&self) -> Member<'_> {
        let copy = self.team.loaded[self.at].1[0].as_ref().expect("the caller has a copy");
        Member { rank: 0, size: self.team.size(), copy }
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.team.size()
    }

    pub(crate) fn caller(&self) -> *const Rank {
        self.team.caller()
    }

    /// Waits until the others' function has returned, and ends the team.
    pub fn join(mut self) {
        self.meet();
    }

    fn meet(&mut self) {
        if !self.is_joined {
            self.is_joined = true;
            // SAFETY: the caller's own state.
            let last = unsafe { (*self.team.caller()).last.get() };
            // SAFETY: as above.
            unsafe { (*self.team.caller()).publish() };
            let record = self.team.world.record.as_ref();
            record.inspect(|it| it.calls.end_run(0));
            self.team.world.rest(0, "waits for the end of the team".to_owned(), last);
            self.team.ended.meet(&self.team.world);
            record.inspect(|it| it.end(""));
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.meet();
    }
}

/// Calls `f` on `ranks` ranks (else PHALANX_RANKS, else one a core) with fresh copies of the
/// library, and waits for all.
///
/// # Errors
/// As [`Team::new`] and [`Team::invoke`].
pub fn run(
    ranks: Option<usize>,
    library: &Library,
    f: impl Fn(&Member<'_>) + Sync,
) -> Result<(), String> {
    Team::new(ranks)?.invoke(library, f)
}
