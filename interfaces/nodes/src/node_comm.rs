//! The communicator over those of the nodes.

use crate::call::NodeCall;
use crate::node_group::NodeGroup;
use crate::node_job::NodeJob;
use crate::steps::Steps;
use phalanx::machine::Level;
use phalanx::{CallStatistics, Canceller, Comm, Error, Order, engine};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The communicator of this node's ranks.
enum Local<'a> {
    Own(Box<Comm>),
    Lent(&'a mut Comm),
}

/// A rank's hold on ranks of several nodes: a communicator over the communicators of the nodes. It
/// has the methods of [`Comm`] that work between nodes, under the same names; calls that need
/// shared memory (windows, tagged messages, started calls, forced algorithms) are there on the
/// ranks of one node, by [`split_by_node`](NodeComm::split_by_node). Where all ranks are on one
/// node, a call is that of its communicator.
///
/// Ranks must agree about the same facts; if they do not: the run ends with an error that names
/// ranks and lines, and with it the job on all nodes.
///
/// # Examples
/// ```
/// use phalanx::op;
/// let sums = phalanx_nodes::run(3, |comm| {
///     let mut x = [comm.rank()];
///     comm.all_reduce(&mut x, op::Sum);
///     x[0]
/// })?;
/// assert_eq!(sums, [3; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct NodeComm<'a> {
    local: Local<'a>,
    /// None where all ranks are on this node.
    pub(crate) group: Option<Arc<NodeGroup>>,
    /// None without other nodes.
    pub(crate) job: Option<Arc<NodeJob>>,
    order: Order,
}

impl From<Comm> for NodeComm<'static> {
    /// Ranks of one node.
    fn from(comm: Comm) -> Self {
        NodeComm::new(comm, None, None)
    }
}

/// The page of a method that does what `Comm`'s of its name does: that, and an example that runs.
macro_rules! of_comm {
    (@ $type:literal, $name:expr) => {
        concat!(
            "[`", $type, "::", $name, "`](phalanx::", $type, "::", $name, ")",
            " of all nodes' ranks.\n"
        )
    };
    (@ $type:literal, $name:expr, $($line:literal),+) => {
        concat!(
            of_comm!(@ $type, $name), "\n```\n", $($line, "\n",)+
            "# Ok::<(), phalanx::Error>(())\n```"
        )
    };
    ($name:ident) => {
        of_comm!(@ "Comm", stringify!($name))
    };
    ($name:literal, $($line:literal),+) => {
        of_comm!(@ "Comm", $name, $($line),+)
    };
}
pub(crate) use of_comm;

impl<'a> NodeComm<'a> {
    pub(crate) fn new(
        comm: Comm,
        group: Option<Arc<NodeGroup>>,
        job: Option<Arc<NodeJob>>,
    ) -> Self {
        NodeComm { local: Local::Own(Box::new(comm)), group, job, order: Order::default() }
    }

    pub(crate) fn lent(
        comm: &'a mut Comm,
        group: Option<Arc<NodeGroup>>,
        job: Option<Arc<NodeJob>>,
    ) -> Self {
        NodeComm { local: Local::Lent(comm), group, job, order: Order::default() }
    }

    /// Whether it is the one that a run's closure gets.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.local, Local::Lent(_))
    }

    /// This node's ranks.
    pub(crate) fn here(&mut self) -> &mut Comm {
        match &mut self.local {
            Local::Own(comm) => comm,
            Local::Lent(comm) => comm,
        }
    }

    fn local(&self) -> &Comm {
        match &self.local {
            Local::Own(comm) => comm,
            Local::Lent(comm) => comm,
        }
    }

    /// Begins a call between nodes; none if all ranks are on one.
    #[track_caller]
    pub(crate) fn steps<'s>(&'s mut self, call: NodeCall<'s>) -> Option<Steps<'s>> {
        let steps = self.aside(call)?;
        steps.group.calls.fetch_add(1, Relaxed);
        engine::begin_steps(steps.comm, &steps.call.fields());
        Some(steps)
    }

    /// The same, where ranks are on several nodes.
    #[track_caller]
    pub(crate) fn steps_between<'s>(&'s mut self, call: NodeCall<'s>) -> Steps<'s> {
        self.steps(call).expect("a call between nodes")
    }

    /// The same for messages: no call of all ranks.
    pub(crate) fn aside<'s>(&'s mut self, call: NodeCall<'s>) -> Option<Steps<'s>> {
        let NodeComm { local, group, job, order } = self;
        let (group, job) = (group.as_deref()?, job.as_deref()?);
        let comm: &mut Comm = match local {
            Local::Own(comm) => comm,
            Local::Lent(comm) => comm,
        };
        Some(Steps { comm, group, job, call, order: *order })
    }

    /// The same ranks, lent to a function that a method of the node's communicator calls.
    fn inner<R>(
        comm: &mut Comm,
        (group, job, order): (Option<Arc<NodeGroup>>, Option<Arc<NodeJob>>, Order),
        f: impl FnOnce(&mut NodeComm<'_>) -> R,
    ) -> R {
        f(&mut NodeComm { local: Local::Lent(comm), group, job, order })
    }

    fn shared(&self) -> (Option<Arc<NodeGroup>>, Option<Arc<NodeJob>>, Order) {
        (self.group.clone(), self.job.clone(), self.order)
    }

    #[doc = of_comm!("rank",
        "assert_eq!(phalanx_nodes::run(3, |comm| comm.rank())?, [0, 1, 2]);")]
    pub fn rank(&self) -> usize {
        self.group.as_ref().map_or_else(|| self.local().rank(), |group| group.rank)
    }

    #[doc = of_comm!("size", "assert_eq!(phalanx_nodes::run(3, |comm| comm.size())?, [3; 3]);")]
    pub fn size(&self) -> usize {
        self.group.as_ref().map_or_else(|| self.local().size(), |group| group.layout.ranks())
    }

    /// How many nodes the ranks are on.
    ///
    /// ```
    /// assert_eq!(phalanx_nodes::run(2, |comm| comm.nodes())?, [1, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn nodes(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.layout.nodes())
    }

    /// Which of these nodes this rank is on, `0..nodes()`.
    ///
    /// ```
    /// assert_eq!(phalanx_nodes::run(2, |comm| comm.node())?, [0, 0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn node(&self) -> usize {
        self.group.as_ref().map_or(0, |group| group.net.node())
    }

    /// The communicator of this node's ranks, in rank order, with all that shared memory allows.
    ///
    /// **Must agree on the ranks of a node:** that it is called.
    ///
    /// ```
    /// assert_eq!(phalanx_nodes::run(3, |comm| comm.split_by_node().size())?, [3, 3, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn split_by_node(&mut self) -> Comm {
        let rank = self.here().rank();
        self.here().split(0, rank)
    }

    #[doc = of_comm!("split_by", "use phalanx::machine::Level;",
        "phalanx_nodes::run(2, |comm| assert!(comm.split_by(Level::Package).size() >= 1))?;")]
    ///
    /// Ranks of different nodes share nothing.
    #[track_caller]
    pub fn split_by(&mut self, level: Level) -> Comm {
        self.here().split_by(level)
    }

    /// The same ranks, with reductions that combine in this order: [`Comm::with_order`].
    ///
    /// ```
    /// use phalanx::{Order, op};
    /// let sums = phalanx_nodes::run(3, |comm| {
    ///     let mut x = [0.1 * comm.rank() as f64];
    ///     comm.with_order(Order::Fixed).all_reduce(&mut x, op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(sums, [(0.0 + 0.1) + 0.2; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn with_order(&mut self, order: Order) -> InOrder<'_, 'a> {
        let before = self.order;
        self.set_order(order);
        InOrder { comm: self, before }
    }

    fn set_order(&mut self, order: Order) {
        self.order = order;
        if self.group.is_none() {
            engine::set_order(self.here(), order);
        }
    }

    #[doc = of_comm!("phase",
        "phalanx_nodes::run(2, |comm| comm.phase(\"halo\", |comm| comm.barrier()))?;")]
    ///
    /// It is in the record of this node.
    #[track_caller]
    pub fn phase<R>(&mut self, name: &'static str, f: impl FnOnce(&mut NodeComm<'_>) -> R) -> R {
        let shared = self.shared();
        self.here().phase(name, |comm| NodeComm::inner(comm, shared, f))
    }

    #[doc = of_comm!("protect",
        "phalanx_nodes::run(2, |comm| comm.protect(|comm| comm.barrier()).is_ok())?;")]
    ///
    /// For threads of the caller's own; a failure ends the job on all nodes.
    ///
    /// # Errors
    /// As there.
    pub fn protect<R>(&mut self, f: impl FnOnce(&mut NodeComm<'_>) -> R) -> Result<R, Error> {
        let shared = self.shared();
        let result = self.here().protect(|comm| NodeComm::inner(comm, shared, f));
        if let (Err(error), Some(job)) = (&result, &self.job) {
            job.fail(&error.to_string());
        }
        result
    }

    /// [`Comm::cancel`], on all nodes.
    ///
    /// ```
    /// let error = phalanx_nodes::run(2, |comm| comm.cancel()).unwrap_err();
    /// assert!(matches!(error, phalanx::Error::Cancelled { .. }));
    /// ```
    pub fn cancel(&self) {
        self.local().cancel();
        if let (Some(job), Some(_)) = (&self.job, engine::cause(self.local())) {
            job.fail(&format!("rank {} cancelled the run", self.rank()));
        }
    }

    #[doc = of_comm!("check", "phalanx_nodes::run(2, |comm| comm.check())?;")]
    #[track_caller]
    pub fn check(&mut self) {
        self.here().check();
    }

    #[doc = of_comm!("canceller",
        "phalanx_nodes::run(2, |comm| assert!(!comm.canceller().is_cancelled()))?;")]
    ///
    /// Of this node's team.
    pub fn canceller(&self) -> Canceller {
        self.local().canceller()
    }

    #[doc = of_comm!("statistics",
        "assert_eq!(phalanx_nodes::run(2, |comm| comm.statistics())?, [None, None]);")]
    ///
    /// Of a call between nodes, its steps on this node.
    pub fn statistics(&self) -> Option<Vec<CallStatistics>> {
        self.local().statistics()
    }
}

impl Drop for NodeComm<'_> {
    fn drop(&mut self) {
        // Of threads of the caller's own nobody else would say so; of a run's, its end does.
        if let (Local::Own(_), Some(job), true) = (&self.local, &self.job, std::thread::panicking())
        {
            let cause = engine::cause(self.local());
            job.fail(&cause.unwrap_or("a thread that has a communicator has panicked".into()));
        }
    }
}

impl fmt::Debug for NodeComm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeComm")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("nodes", &self.nodes())
            .finish_non_exhaustive()
    }
}

/// A communicator with an order of its reductions; made by [`NodeComm::with_order`].
#[derive(Debug)]
pub struct InOrder<'c, 'a> {
    comm: &'c mut NodeComm<'a>,
    before: Order,
}

impl<'a> Deref for InOrder<'_, 'a> {
    type Target = NodeComm<'a>;
    fn deref(&self) -> &NodeComm<'a> {
        self.comm
    }
}

impl<'a> DerefMut for InOrder<'_, 'a> {
    fn deref_mut(&mut self) -> &mut NodeComm<'a> {
        self.comm
    }
}

impl Drop for InOrder<'_, '_> {
    fn drop(&mut self) {
        self.comm.set_order(self.before);
    }
}
