//! Phalanx across machines: the same closure, nodes joined by MPI.
//!
//! A process is a *node*: its ranks are threads, which exchange as ever, in place
//! and through mailboxes. Between processes goes MPI, whichever the cluster has.
//! The closure sees one [`NodeComm`] of all ranks of all nodes, numbered by node, then
//! by thread.
//!
//! ```no_run
//! use phalanx::op;
//! fn main() -> Result<(), phalanx::Error> {
//!     phalanx_mpi::run(|comm| {
//!         let mut x = [comm.rank() as f64];
//!         comm.all_reduce(&mut x, op::Sum);
//!         if comm.rank() == 0 {
//!             println!("{} ranks on {} nodes: {}", comm.size(), comm.nodes(), x[0]);
//!         }
//!     })?;
//!     Ok(())
//! }
//! ```
//! Started by a launcher, one process for each node (or NUMA domain):
//! ```text
//! mpirun --map-by ppr:1:node:PE=64 ./program        # Open MPI
//! mpiexec.hydra -ppn 1 ./program                    # MPICH
//! srun --nodes=16 --ntasks-per-node=1 --cpus-per-task=64 --mpi=pmix ./program
//! ```
//! Started without, it runs as one node.
//!
//! # Failures
//! A panic, or any [`Error`], of any rank ends the whole job: its text goes to the
//! standard error and all processes end with code 101 (`MPI_Abort`). MPI cannot go
//! on without a process; nor can this. So [`run`] returns errors only where there is
//! one node. A process that is killed is noticed by the launcher, which ends the
//! others. A network that falls silent is noticed by nobody: give a
//! [`deadline`](Builder::deadline).
//!
//! # The use of MPI
//! By default one thread of a node at a time calls MPI (`MPI_THREAD_SERIALIZED`):
//! the leader for collectives, and whoever sends to another node. With
//! [`rails`](Builder::rails) all threads have a part in large broadcasts, all-reduces,
//! all-gathers and reduce-scatters (`MPI_THREAD_MULTIPLE`).

mod engine;
mod launch;
mod raw;

use engine::{Calls, Engine};
use mpi::Threading;
use phalanx::{Error, Team, Wait};
pub use phalanx_nodes::NodeComm;
use phalanx_nodes::net::Net;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Runs `f` on all ranks of all nodes, and returns the results of this node's ranks. As
/// [`builder`]`().build()?.run(f)`.
///
/// # Errors
/// As [`Cluster::run`].
///
/// # Examples
/// Without a launcher, on this node alone:
/// ```
/// let sizes = phalanx_mpi::run(|comm| (comm.nodes(), comm.size()))?;
/// assert_eq!(sizes[0], (1, sizes.len()));
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn run<R: Send>(f: impl Fn(&mut NodeComm<'_>) -> R + Sync) -> Result<Vec<R>, Error> {
    builder().build()?.run(f)
}

/// Settings of a cluster.
///
/// ```
/// let cluster = phalanx_mpi::builder().threads(2).build()?;
/// assert_eq!(cluster.threads(), 2);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn builder() -> Builder {
    let team = Team::builder();
    Builder { team, threads: None, ranks: None, rails: None, deadline: None, piece: 1 << 30 }
}

/// Settings; made by [`builder`].
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let b = phalanx_mpi::builder().threads(2).deadline(Duration::from_secs(60));
/// b.build()?.run(|comm| comm.barrier())?;
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct Builder {
    team: phalanx::Builder,
    threads: Option<usize>,
    ranks: Option<usize>,
    rails: Option<bool>,
    deadline: Option<Duration>,
    piece: usize,
}

impl Builder {
    /// Ranks of this node; nodes may differ. Default: the variable
    /// `PHALANX_THREADS`, else one for each core that the launcher has left to this
    /// process (of processes on one host that may all use all cores, its share).
    ///
    /// ```
    /// assert_eq!(phalanx_mpi::builder().threads(3).build()?.threads(), 3);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Ranks of all nodes together, as even as can be: the numbers of two nodes
    /// differ by one at most. Goes before [`threads`](Builder::threads).
    ///
    /// ```
    /// assert_eq!(phalanx_mpi::builder().ranks(3).build()?.threads(), 3); // one node
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = Some(ranks);
        self
    }

    /// Whether every thread has a communicator of MPI's of its own, and takes part
    /// in broadcasts, all-reduces, all-gathers and reduce-scatters of 64 KiB and more
    /// (of a rank's larger buffer). Needs an MPI with `MPI_THREAD_MULTIPLE`, and as
    /// many threads on all nodes. Default: the variable `PHALANX_RAILS` is 1, else
    /// no; on the two cores that this was written on no gain could be seen, and in
    /// many MPIs the threads only wait for each other.
    ///
    /// ```
    /// let cluster = phalanx_mpi::builder().threads(2).rails(true).build()?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn rails(mut self, rails: bool) -> Self {
        self.rails = Some(rails);
        self
    }

    /// The longest that a rank may wait in one call, for ranks of its own node and
    /// for other nodes; see [`phalanx::Builder::deadline`]. When it passes, the job
    /// ends. Default: for ever.
    ///
    /// ```
    /// let b = phalanx_mpi::builder().threads(1).deadline(std::time::Duration::from_secs(9));
    /// # b.build()?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn deadline(mut self, longest: Duration) -> Self {
        self.deadline = Some(longest);
        self
    }

    /// The other settings of this node's team: placement, waiting, stacks, profile.
    /// Ranks and deadline are set here, not there.
    ///
    /// ```
    /// use phalanx::{Team, placement::Placement};
    /// let team = Team::builder().placement(Placement::Unpinned);
    /// phalanx_mpi::builder().threads(2).team(team).build()?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn team(mut self, team: phalanx::Builder) -> Self {
        self.team = team;
        self
    }

    /// The most bytes of one call of MPI's, from 2048 on: longer messages between nodes go in
    /// pieces. Default: 2^30. Less for an MPI, or a network, that fails on large messages.
    ///
    /// ```
    /// phalanx_mpi::builder().threads(2).piece(1 << 20).build()?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn piece(mut self, bytes: usize) -> Self {
        self.piece = bytes;
        self
    }

    /// Initialises MPI, unless that is done, and starts this node's threads.
    ///
    /// MPI is initialised once in a process, and finalised when the program ends; a
    /// program that uses MPI otherwise, too, initialises it itself before, with at
    /// least `MPI_THREAD_SERIALIZED`.
    ///
    /// A wrong launcher, and nodes with different programs, end the job with a
    /// message.
    ///
    /// # Errors
    /// [`Error::Outside`] if MPI cannot do as is asked; else as
    /// [`phalanx::Builder::build`].
    ///
    /// ```
    /// let cluster = phalanx_mpi::builder().threads(2).build()?;
    /// assert_eq!(cluster.nodes(), 1); // no launcher
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn build(self) -> Result<Cluster, Error> {
        let (net, team) = self.prepare()?;
        let team = team.build()?;
        Ok(Cluster { net, team })
    }

    /// Communicators for this node's threads, which the caller owns, instead of a
    /// team: as many as [`threads`](Builder::threads).
    ///
    /// # Errors
    /// As [`build`](Builder::build).
    ///
    /// ```
    /// let comms = phalanx_mpi::builder().threads(2).external()?;
    /// std::thread::scope(|s| {
    ///     for mut comm in comms {
    ///         s.spawn(move || comm.barrier());
    ///     }
    /// });
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn external(self) -> Result<Vec<NodeComm<'static>>, Error> {
        let (net, team) = self.prepare()?;
        phalanx_nodes::external_across(team, &net)
    }

    fn prepare(self) -> Result<(Arc<dyn Net>, phalanx::Builder), Error> {
        let variable = || std::env::var("PHALANX_RAILS").is_ok_and(|rails| rails == "1");
        let rails_asked = self.rails.unwrap_or_else(variable);
        let start = start(rails_asked);
        let wrong = |e: phalanx_nodes::net::NetError| wrong(e.to_string());
        if !start.serialized {
            return Err(wrong_text("MPI was initialised with less than MPI_THREAD_SERIALIZED"));
        }
        if rails_asked && !start.multiple {
            return Err(wrong_text("rails need MPI_THREAD_MULTIPLE, which this MPI does not give"));
        }
        let world = raw::world();
        let (nodes, node) = (world.size(), world.rank());
        let name = format!("node {node} of {nodes} ({})", raw::host());
        // All threads may call MPI only where that is asked for: it costs locks.
        let calls = Arc::new(Calls::new(rails_asked, self.piece.max(2 << 10), nodes, name));
        if let Some(what) = launch::wrong_launcher(nodes) {
            launch::refuse(&calls, &what);
        }
        if let Some(ranks) = self.ranks.filter(|&ranks| ranks < nodes) {
            return Err(wrong_text(&format!("{ranks} ranks are too few for {nodes} nodes")));
        }
        let comm = world.duplicate().map_err(wrong)?;
        let net = Engine::new(comm, calls.clone(), Vec::new());
        if let Err(e) = launch::same_program(&net) {
            launch::refuse(&calls, &e.to_string());
        }
        let share = self.share(&net).map_err(wrong)?;
        if let Some(warning) = &share.warning {
            eprintln!("phalanx: node {node} of {nodes} ({}): {warning}", raw::host());
        }
        let mut rails = Vec::new();
        if rails_asked && nodes > 1 {
            // As many on all nodes, or making them would wait for ever; that they
            // differ, `run_across` says.
            let most = launch::most(&net, share.threads).map_err(wrong)?;
            for _ in 0..most {
                let rail = world.duplicate().map_err(wrong)?;
                rails.push(Arc::new(Engine::new(rail, calls.clone(), Vec::new())));
            }
        }
        let net: Arc<dyn Net> = match rails.is_empty() {
            true => Arc::new(net),
            false => Arc::new(Engine::new(comm, calls.clone(), rails)),
        };
        let mut team = self.team.ranks(share.threads);
        if let Some(deadline) = self.deadline {
            team = team.deadline(deadline);
        }
        if !share.bind {
            team = team.placement(phalanx::placement::Placement::Unpinned);
        }
        if share.crowded {
            team = team.wait(Wait::Yield);
        }
        Ok((net, team))
    }

    fn share(&self, net: &Engine) -> Result<launch::Share, phalanx_nodes::net::NetError> {
        let variable = std::env::var("PHALANX_THREADS").ok().and_then(|n| n.parse().ok());
        let (nodes, node) = (net.nodes(), net.node());
        let of_all = self.ranks.map(|all| all * (node + 1) / nodes - all * node / nodes);
        let wanted = of_all.or(self.threads).or(variable);
        let here = raw::world().neighbours()?;
        let which = here.iter().position(|&node| node == net.node()).unwrap_or(0);
        let masks = launch::masks(net, &here)?;
        Ok(launch::share(wanted, which, &masks))
    }
}

fn wrong(what: String) -> Error {
    Error::Outside { rank: 0, site: None, what }
}

fn wrong_text(what: &str) -> Error {
    wrong(what.to_string())
}

/// This node's threads, and the way to the other nodes; made by [`Builder::build`].
///
/// # Examples
/// ```
/// let cluster = phalanx_mpi::builder().threads(2).build()?;
/// for _ in 0..3 {
///     cluster.run(|comm| comm.barrier())?;
/// }
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct Cluster {
    net: Arc<dyn Net>,
    team: Team,
}

impl Cluster {
    /// Nodes, that is, processes.
    ///
    /// ```
    /// assert_eq!(phalanx_mpi::builder().threads(1).build()?.nodes(), 1);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn nodes(&self) -> usize {
        self.net.nodes()
    }

    /// Which of them this is.
    ///
    /// ```
    /// assert_eq!(phalanx_mpi::builder().threads(1).build()?.node(), 0);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn node(&self) -> usize {
        self.net.node()
    }

    /// Ranks on this node.
    ///
    /// ```
    /// assert_eq!(phalanx_mpi::builder().threads(2).build()?.threads(), 2);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn threads(&self) -> usize {
        self.team.size()
    }

    /// This node's team: where its ranks are bound, its machine and profile.
    ///
    /// ```
    /// let cluster = phalanx_mpi::builder().threads(2).build()?;
    /// assert_eq!(cluster.team().bindings().len(), 2);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Runs `f` on all ranks of all nodes, which all call this; returns the results of this
    /// node's ranks. See [`phalanx_nodes::run_across`].
    ///
    /// # Errors
    /// On one node as [`Team::run`]. On several it does not return then: the job
    /// ends with code 101 on all of them, after the error's text.
    ///
    /// ```
    /// let cluster = phalanx_mpi::builder().threads(2).build()?;
    /// assert_eq!(cluster.run(|comm| comm.rank())?, [0, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn run<R: Send>(&self, f: impl Fn(&mut NodeComm<'_>) -> R + Sync) -> Result<Vec<R>, Error> {
        let outer = IN_A_RUN.swap(true, SeqCst);
        let result = phalanx_nodes::run_across(&self.team, &self.net, f);
        IN_A_RUN.store(outer, SeqCst);
        result
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (node, nodes) = (self.node(), self.nodes());
        f.debug_struct("Cluster")
            .field("node", &node)
            .field("nodes", &nodes)
            .field("team", &self.team)
            .finish()
    }
}

/// The levels of threads that MPI has given to this process.
#[derive(Clone, Copy)]
struct Start {
    multiple: bool,
    serialized: bool,
}

static IN_A_RUN: AtomicBool = AtomicBool::new(false);
/// Whether a panic has gone through a thread outside of a run.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Initialises MPI, once.
fn start(rails: bool) -> Start {
    static STARTING: Mutex<()> = Mutex::new(());
    static OURS: OnceLock<()> = OnceLock::new();
    let _one = STARTING.lock().unwrap_or_else(|e| e.into_inner());
    let threading = if rails { Threading::Multiple } else { Threading::Serialized };
    // None if the user's program has done it.
    if let Some((universe, _)) = mpi::initialize_with_threading(threading) {
        // It would finalise MPI when it is dropped, and wait there for nodes that
        // wait for us; `at_exit` does, where all have come to their ends.
        std::mem::forget(universe);
        OURS.get_or_init(|| {
            let outer = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                if !IN_A_RUN.load(SeqCst) {
                    PANICKED.store(true, SeqCst);
                }
                outer(info);
            }));
            raw::at_exit(at_exit);
        });
    }
    let (multiple, serialized) = raw::threads();
    Start { multiple, serialized }
}

/// Longest wait of a process that ends after a panic for the others to end, too.
const GRACE: Duration = Duration::from_secs(5);

/// The end of the program: of MPI, too, if all nodes have come to it.
fn at_exit(code: Option<std::ffi::c_int>) {
    if raw::is_finalized() {
        return;
    }
    let world = raw::world();
    if world.size() > 1 {
        if IN_A_RUN.load(SeqCst) {
            eprintln!("phalanx: node {}: the program has ended inside of a run", world.rank());
            raw::abort(engine::FAILED);
        }
        let since = Instant::now();
        let mut limit = || match PANICKED.load(SeqCst) && since.elapsed() > GRACE {
            true => Err(phalanx_nodes::net::NetError::new("a panic outside of a run")),
            false => {
                std::thread::sleep(Duration::from_micros(100));
                Ok(())
            }
        };
        if let Err(e) = world.barrier(&mut limit) {
            eprintln!("phalanx: node {}: {e}, and the other nodes have not ended", world.rank());
            raw::abort(engine::FAILED);
        }
        raw::finalize(code);
    } else {
        raw::finalize(None);
    }
}
