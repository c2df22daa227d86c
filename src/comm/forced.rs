//! The choice of a collective's algorithm: the library's by default, or one that is forced for the
//! calls through [`Forced`].

use super::{Comm, InOrder};
use crate::exec::{Call, Partition};
use crate::schedule::{Algorithm, Hierarchy, Request, Schedule, Topology};
use crate::shared::{Digest, Signature};
use crate::sorted::Listed;
use crate::topology::Extents;
use crate::tuning::LevelModel;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;

/// How a communicator chooses algorithms.
///
/// # Examples
/// ```
/// assert_eq!(phalanx::Choice::default(), phalanx::Choice::Auto);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Choice {
    /// By operation, length and number of ranks.
    #[default]
    Auto,
    /// This one. Calling an operation that it is not for, or that it cannot
    /// serve with this number of ranks, is an error.
    Algorithm(Algorithm),
    /// This one, on a mesh of these extents.
    AlgorithmOnMesh(Algorithm, Extents),
    /// The ring's algorithm of each operation.
    Ring,
    /// The mesh's, for these extents.
    Mesh(Extents),
    /// The hypercube's; for a number of ranks that is no power of two, its
    /// generalisation.
    Hypercube,
    /// The tree's.
    Tree,
    /// By what the levels of the machine cost: flat or hierarchical, per operation and length. The
    /// usual choice on machines with levels.
    Levels(Arc<LevelModel>),
    /// The hierarchical algorithm of each operation, for these groups; where an operation has none,
    /// as [`Auto`](Choice::Auto).
    Groups(Arc<Hierarchy>),
}

impl Choice {
    /// Those, or none.
    pub(super) fn extents(&self) -> &[usize] {
        self.dims().map_or(&[], Extents::as_slice)
    }

    /// The extents that it prescribes.
    pub(super) fn dims(&self) -> Option<&Extents> {
        match self {
            Choice::Mesh(dims) | Choice::AlgorithmOnMesh(_, dims) => Some(dims),
            _ => None,
        }
    }
}

/// A communicator whose collectives use a forced algorithm or order; made by
/// [`Comm::with`], [`Comm::with_order`], [`Comm::ring`], [`Comm::mesh`], [`Comm::hypercube`],
/// [`Comm::tree`].
///
/// If another communicator has been put in its place (`std::mem::swap`) when this value ends,
/// the run ends, too.
///
/// # Examples
/// ```
/// use phalanx::op;
/// let sums = phalanx::run(4, |comm| {
///     let mut x = [1.0, 2.0];
///     comm.ring().all_reduce(&mut x, op::Sum);
///     x
/// })?;
/// assert_eq!(sums[3], [4.0, 8.0]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Debug)]
pub struct Forced<'a> {
    pub(super) comm: &'a mut Comm,
    before: Choice,
    in_order: InOrder,
    /// The communicator's state: what is behind `comm` can be swapped.
    of: u64,
}

impl Deref for Forced<'_> {
    type Target = Comm;
    fn deref(&self) -> &Comm {
        self.comm
    }
}

impl DerefMut for Forced<'_> {
    fn deref_mut(&mut self) -> &mut Comm {
        self.comm
    }
}

impl Drop for Forced<'_> {
    fn drop(&mut self) {
        if self.comm.comm_id() != self.of {
            // Another's choice is none of this value's.
            self.comm.is_swapped("view");
            return;
        }
        let before = std::mem::take(&mut self.before);
        self.comm.replace_choice(before);
        self.comm.in_order = self.in_order;
    }
}

/// The code that choices other than the library's own need: of a program that forces none the
/// linker leaves it out, with all algorithms that the library does not choose.
pub(super) struct Forcing {
    /// For a call of so many bytes.
    pub(super) algorithm: fn(&mut Comm, &Call<'_>, usize) -> Algorithm,
    /// The schedule, or why there is none.
    pub(super) schedule: fn(&Comm, &Call<'_>, Algorithm) -> Result<Schedule, String>,
    /// That of the mesh or groups.
    pub(super) digest: fn(&Comm) -> Digest,
}

static FORCING: Forcing = Forcing { algorithm, schedule, digest };

fn algorithm(comm: &mut Comm, call: &Call<'_>, bytes: usize) -> Algorithm {
    let shape = match &comm.choice {
        Choice::Algorithm(algorithm) | Choice::AlgorithmOnMesh(algorithm, _) => return *algorithm,
        Choice::Ring => Topology::Ring,
        Choice::Mesh(extents) => Topology::Mesh(extents.clone()),
        Choice::Hypercube => Topology::Hypercube,
        Choice::Tree => Topology::Tree,
        Choice::Groups(groups) => {
            // The hierarchical algorithm, where there is one.
            let mut own = Algorithm::for_operation(call.operation()).filter(|a| a.uses_levels());
            if let Some(algorithm) = own.next() {
                comm.decisions.levels = Some(groups.clone());
                return algorithm;
            }
            return comm.by_rules(call, bytes);
        }
        Choice::Auto | Choice::Levels(_) => unreachable!("handled by the caller"),
    };
    Algorithm::for_topology(call.operation(), &shape, comm.size(), call.is_commutative())
}

fn schedule(comm: &Comm, call: &Call<'_>, algorithm: Algorithm) -> Result<Schedule, String> {
    let mut request = Request::new(call.operation(), comm.size());
    (request.root, request.shift) = (call.root_rank(), call.distance() as isize);
    request.dims = comm.dims().cloned();
    request.levels = comm.levels(algorithm).map(|levels| Hierarchy::clone(&levels));
    let schedule = algorithm.schedule(&request).map_err(|unfit| unfit.to_string())?;
    if !call.is_commutative() && !schedule.is_ordered() {
        return Err(format!(
            "{algorithm} does not combine in rank order, which {} needs",
            call.sig().operator
        ));
    }
    if matches!(call.cut(), Partition::Pairs { .. }) && forwards(&schedule, comm.rank()) {
        return Err(format!(
            "{algorithm} forwards blocks, whose lengths a rank on the way does not know"
        ));
    }
    Ok(schedule)
}

/// Whether `rank` sends blocks of an all-to-all that are not its own.
fn forwards(schedule: &Schedule, rank: usize) -> bool {
    let p = schedule.contract().ranks;
    (0..schedule.steps()).any(|k| {
        let step = schedule.step(k, rank);
        step.sends.iter().flat_map(|s| &s.blocks).any(|run| run.range().any(|b| b / p != rank))
    })
}

fn digest(comm: &Comm) -> Digest {
    match (&comm.choice, comm.choice.dims(), &comm.decisions.levels) {
        (_, Some(dims), _) => Digest::of_mesh(dims.as_slice()),
        (Choice::Groups(_), _, Some(groups)) => {
            let of = |r| (0..groups.stages()).filter_map(move |l| groups.group(l, r));
            let degrees = (0..groups.stages()).map(|stage| groups.degree(stage));
            let exchanges = (0..groups.stages()).map(|stage| groups.exchange(stage) as usize);
            let each = (0..groups.ranks()).flat_map(of);
            Digest::of_mesh(&each.chain(degrees).chain(exchanges).listed())
        }
        _ => Digest::NONE,
    }
}

/// # Forced algorithms and orders
impl Comm {
    /// Replaces the algorithm choice, and returns the previous one.
    pub(super) fn replace_choice(&mut self, choice: Choice) -> Choice {
        self.slow_path = !matches!(choice, Choice::Auto);
        std::mem::replace(&mut self.choice, choice)
    }

    pub(super) fn choosing(&mut self, choice: Choice) -> Forced<'_> {
        let (in_order, of) = (self.in_order, self.comm_id());
        let before = self.replace_choice(choice);
        Forced { comm: self, before, in_order, of }
    }

    /// As [`choosing`](Comm::choosing), of one that the library might not choose itself.
    fn forcing(&mut self, choice: Choice) -> Forced<'_> {
        self.open_catalogue();
        self.choosing(choice)
    }

    /// From here on there is a schedule for every algorithm.
    pub(super) fn open_catalogue(&mut self) {
        self.forcing = Some(&FORCING);
    }

    /// This communicator with one algorithm forced for every collective
    /// called through the result. All ranks must force the same one.
    ///
    /// A collective that the algorithm is not for, or cannot serve with this
    /// number of ranks (or for a non-commutative operator), ends the run with
    /// an error that says so.
    ///
    /// ```
    /// use phalanx::Algorithm;
    /// let all = phalanx::run(4, |comm| {
    ///     let (mine, mut all) = ([comm.rank()], [0; 4]);
    ///     comm.with(Algorithm::AG_HCUBE).all_gather_into(&mine, &mut all);
    ///     all
    /// })?;
    /// assert_eq!(all[1], [0, 1, 2, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn with(&mut self, algorithm: Algorithm) -> Forced<'_> {
        self.forcing(Choice::Algorithm(algorithm))
    }

    /// The communicator with an algorithm on meshes forced, on a mesh of the given extents, of any
    /// number of dimensions ([`with`](Comm::with) takes the squarest one of two).
    ///
    /// ```
    /// use phalanx::{Algorithm, topology::Extents};
    /// let dims: Extents = "2x3x2".parse()?;
    /// let all = phalanx::run(12, |comm| {
    ///     let (mine, mut all) = ([comm.rank()], [0; 12]);
    ///     comm.with_mesh(Algorithm::AG_MESHD, &dims).all_gather_into(&mine, &mut all);
    ///     all[11]
    /// })?;
    /// assert_eq!(all, [11; 12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_mesh(&mut self, algorithm: Algorithm, dims: &Extents) -> Forced<'_> {
        self.forcing(Choice::AlgorithmOnMesh(algorithm, dims.clone()))
    }

    /// This communicator with the ring's algorithms (for the rooted operations
    /// trees that lie on a ring without congestion).
    ///
    /// ```
    /// let last = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.ring().broadcast(&mut x, 2);
    ///     x[0]
    /// })?;
    /// assert_eq!(last, [2, 2, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn ring(&mut self) -> Forced<'_> {
        self.forcing(Choice::Ring)
    }

    /// This communicator with the algorithms of a mesh (torus) of `rows` x
    /// `cols` ranks, rank = row * cols + column. Extents that do not multiply
    /// to the number of ranks end the run with an error.
    ///
    /// ```
    /// let all = phalanx::run(6, |comm| {
    ///     let mut all = [0; 6];
    ///     let mine = [comm.rank() * 10];
    ///     comm.mesh(2, 3).all_gather_into(&mine, &mut all);
    ///     all
    /// })?;
    /// assert_eq!(all[5], [0, 10, 20, 30, 40, 50]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn mesh(&mut self, rows: usize, cols: usize) -> Forced<'_> {
        static SIG: Signature = Signature::of::<()>("mesh", "");
        let at = Location::caller();
        let choice = match rows.checked_mul(cols) {
            Some(ranks) if ranks > 0 => self.mesh_choice((&SIG, at), &Extents::mesh(rows, cols)),
            _ => self.no_mesh((&SIG, at), &format!("{rows}x{cols}")),
        };
        self.forcing(choice)
    }

    /// The communicator with the algorithms of a mesh forced, of any number of dimensions.
    ///
    /// ```
    /// let dims: phalanx::topology::Extents = "2x2x2".parse()?;
    /// let sums = phalanx::run(8, |comm| {
    ///     let mut x = [1];
    ///     comm.mesh_of(&dims).all_reduce(&mut x, phalanx::op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(sums, [8; 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn mesh_of(&mut self, dims: &Extents) -> Forced<'_> {
        static SIG: Signature = Signature::of::<()>("mesh_of", "");
        let choice = self.mesh_choice((&SIG, Location::caller()), dims);
        self.forcing(choice)
    }

    /// This communicator with the hypercube's algorithms; where the number of
    /// ranks is no power of two, with their generalisations.
    ///
    /// ```
    /// let sums = phalanx::run(5, |comm| {
    ///     let mut x = [1];
    ///     comm.hypercube().scan(&mut x, phalanx::op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(sums, [1, 2, 3, 4, 5]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn hypercube(&mut self) -> Forced<'_> {
        self.forcing(Choice::Hypercube)
    }

    /// This communicator with hierarchical algorithms (`BAR-HIER`, `AR-HIER`, ..) over these
    /// groups: within each to its leader, between leaders, and back. Operations without one are
    /// chosen as usual. All ranks must give the same groups; groups of another number of ranks end
    /// the run with an error.
    ///
    /// On a machine with levels `auto` does this where it pays, with the machine's own groups.
    ///
    /// ```
    /// use phalanx::{op, schedule::Hierarchy};
    /// let caches = Hierarchy::even(8, &[4]); // two groups of four
    /// let sums = phalanx::run(8, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.groups(&caches).all_reduce(&mut x, op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(sums, [28; 8]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn groups(&mut self, groups: &Hierarchy) -> Forced<'_> {
        self.forcing(Choice::Groups(Arc::new(groups.clone())))
    }

    /// This communicator with the algorithms of a balanced tree with the
    /// ranks at its leaves.
    ///
    /// ```
    /// let all = phalanx::run(4, |comm| {
    ///     let mut all = if comm.rank() == 1 { vec![0; 4] } else { vec![] };
    ///     comm.tree().gather_into(&[7], &mut all, 1);
    ///     all.len()
    /// })?;
    /// assert_eq!(all, [0, 4, 0, 0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn tree(&mut self) -> Forced<'_> {
        self.forcing(Choice::Tree)
    }
}
