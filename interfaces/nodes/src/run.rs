//! A run on several nodes.

use crate::call::NodeCall;
use crate::layout::NodeLayout;
use crate::net::{Net, NetError, NetFold, NetNumber, Transfer};
use crate::node_comm::NodeComm;
use crate::node_group::NodeGroup;
use crate::node_job::NodeJob;
use crate::steps::{Move, Steps};
use phalanx::{Builder, Comm, Error, Team, engine};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Runs `f` on `ranks` ranks of one node, this one: [`phalanx::run`] of closures that take a
/// [`NodeComm`].
///
/// # Errors
/// As there.
///
/// # Examples
/// ```
/// assert_eq!(phalanx_nodes::run(2, |comm| comm.sum([1])[0])?, [2, 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn run<R: Send>(
    ranks: usize,
    f: impl Fn(&mut NodeComm<'_>) -> R + Sync,
) -> Result<Vec<R>, Error> {
    phalanx::run(ranks, |comm| f(&mut NodeComm::lent(comm, None, None)))
}

/// Runs `f` on the ranks of `team` and of those that the other nodes of `net` run it on, as one:
/// `comm` is the communicator of all of them, in the order of nodes and, on each, of ranks. Returns
/// the results of this node's ranks.
///
/// All nodes call it, with the same closure in the same program; teams may be of different sizes.
/// One node runs as ever. All collectives, messages, splits and views work between nodes.
///
/// **Promised** is less than on one node: ranks of different nodes that wait for each other in
/// a circle are not found without a [`deadline`](Builder::deadline), nor is a rank that has
/// returned while one of another node waits for a *message* of its. Nodes in different calls are.
///
/// # Errors
/// As [`Team::run`], and [`Error::Outside`]. A failure has then ended the job on all nodes
/// ([`Net::abort`]), so on most networks this does not return.
///
/// # Examples
/// One node, by an engine that has no others:
/// ```
/// # use phalanx_nodes::net::*;
/// # use std::sync::Arc;
/// # struct Alone;
/// # unsafe impl Net for Alone {
/// #     fn nodes(&self) -> usize { 1 }
/// #     fn node(&self) -> usize { 0 }
/// #     fn name(&self) -> String { "the only node".into() }
/// #     fn tags(&self) -> usize { 1 << 20 }
/// #     unsafe fn start(&self, _: Transfer<'_>) -> Result<Box<dyn Pending>, NetError> {
/// #         Err(NetError::new("there is nobody"))
/// #     }
/// #     fn groups(&self, _: &[Vec<usize>], _: &mut dyn FnMut() -> Result<(), NetError>)
/// #         -> Result<Vec<Option<Arc<dyn Net>>>, NetError> { Ok(vec![]) }
/// #     fn abort(&self) {}
/// # }
/// let net: Arc<dyn Net> = Arc::new(Alone);
/// let team = phalanx::Team::builder().ranks(2).build()?;
/// let sizes = phalanx_nodes::run_across(&team, &net, |comm| comm.size())?;
/// assert_eq!(sizes, [2, 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[track_caller]
pub fn run_across<R: Send>(
    team: &Team,
    net: &Arc<dyn Net>,
    f: impl Fn(&mut NodeComm<'_>) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let end = NodeCall::of::<()>("the end of the closure", 0);
    let job = Arc::new(NodeJob::new(net.clone()));
    let layout = Arc::new(layout(&job, net, team.size(), team.deadline())?);
    let result = team.run(|comm| {
        let group = group(comm, net, &layout);
        let mut comm = NodeComm::lent(comm, group, Some(job.clone()));
        let result = catch_unwind(AssertUnwindSafe(|| {
            let result = f(&mut comm);
            assert!(comm.is_lent(), "the closure has put another communicator in this one's place");
            if let Some(mut steps) = comm.steps(end) {
                steps.end_of_run();
            }
            result
        }));
        result.unwrap_or_else(|payload| {
            // Before anything unwinds further: the memory that the network writes to is still
            // there.
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            match (text, engine::cause(comm.here())) {
                (Some(text), _) => job.fail(&format!("rank {} panicked: {text}", comm.rank())),
                (None, Some(cause)) => job.fail(&cause),
                // Another rank has failed, and says why.
                (None, None) => (),
            }
            resume_unwind(payload)
        })
    });
    result.inspect_err(|error| job.fail(&error.to_string()))
}

/// Communicators as those of [`run_across`] for threads that the caller already owns, as
/// [`Builder::external`].
///
/// A thread that panics with its communicator ends the job on all nodes.
///
/// # Errors
/// [`Error::Ranks`], and [`Error::Outside`] if nodes do not fit together, which ends the job.
///
/// # Examples
/// ```no_run
/// # fn of_your_engine() -> std::sync::Arc<dyn phalanx_nodes::net::Net> { todo!() }
/// let team = phalanx::Team::builder().ranks(2);
/// let comms = phalanx_nodes::external_across(team, &of_your_engine())?;
/// std::thread::scope(|s| {
///     for mut comm in comms {
///         s.spawn(move || comm.barrier()); // with all threads of all nodes
///     }
/// });
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn external_across(team: Builder, net: &Arc<dyn Net>) -> Result<Vec<NodeComm<'static>>, Error> {
    let comms = team.external()?;
    let limit = comms.first().and_then(engine::deadline);
    let job = Arc::new(NodeJob::new(net.clone()));
    let layout = Arc::new(layout(&job, net, comms.len(), limit)?);
    let wide = |comm: Comm| {
        let group = group(&comm, net, &layout);
        NodeComm::new(comm, group, Some(job.clone()))
    };
    Ok(comms.into_iter().map(wide).collect())
}

/// Where the ranks are, seen from that of `comm`; none if all are on one node.
fn group(comm: &Comm, net: &Arc<dyn Net>, layout: &Arc<NodeLayout>) -> Option<Arc<NodeGroup>> {
    let rank = layout.members(net.node())[comm.rank()];
    let (rail, calls) = (net.rail(comm.rank()), AtomicU64::new(0));
    let group = NodeGroup { rank, layout: layout.clone(), net: net.clone(), rail, calls };
    (layout.nodes() > 1).then(|| Arc::new(group))
}

impl Steps<'_> {
    /// The end of a run: compares with the other nodes that it is theirs, too, and that every
    /// message was received.
    #[track_caller]
    fn end_of_run(&mut self) {
        self.comm.barrier();
        if !self.is_leader() {
            return;
        }
        self.agree();
        let mut balance = [self.job.balance.load(Relaxed)];
        let (number, fold) = (NetNumber::U64, NetFold::Sum);
        self.carry(None, Move::AllReduce { data: &mut balance, number, fold });
        if balance[0] != 0 {
            let n = balance[0] as i64;
            self.fail(&format!("messages between nodes were sent and never received ({n})"));
        }
    }
}

/// Asks the other nodes how many ranks they have; ends the job if that fails.
fn layout(
    job: &NodeJob,
    net: &Arc<dyn Net>,
    threads: usize,
    limit: Option<Duration>,
) -> Result<NodeLayout, Error> {
    let what =
        |e: NetError| Error::Outside { rank: 0, site: None, what: format!("between nodes: {e}") };
    let layout = sizes(&**net, threads, limit).and_then(|sizes| fitting(&**net, &sizes));
    layout.map_err(what).inspect_err(|error| job.fail(&error.to_string()))
}

/// Of each node how many threads it has, and whether they have rails.
fn sizes(
    net: &dyn Net,
    threads: usize,
    limit: Option<Duration>,
) -> Result<Vec<[u64; 2]>, NetError> {
    let (nodes, node) = (net.nodes(), net.node());
    let mut sizes = vec![[0u64; 2]; nodes];
    sizes[node] = [threads as u64, u64::from(net.rail(0).is_some())];
    if nodes == 1 {
        return Ok(sizes);
    }
    let (all, counts) = (sizes.as_mut_ptr().cast(), vec![16; nodes]);
    // SAFETY: there is room for 16 bytes of each node; nobody else has them
    // before the transfer is done.
    let mut pending = unsafe { net.start(Transfer::AllGather { all, counts: &counts })? };
    let since = Instant::now();
    while !pending.test()? {
        std::thread::yield_now();
        if let Some(limit) = limit.filter(|&limit| since.elapsed() > limit) {
            return Err(NetError::new(format!(
                "has waited {limit:?} for the other nodes, the team's deadline"
            )));
        }
    }
    drop(pending);
    Ok(sizes)
}

/// The layout of nodes of these sizes, if they fit together.
fn fitting(net: &dyn Net, sizes: &[[u64; 2]]) -> Result<NodeLayout, NetError> {
    let (least, most) =
        sizes.iter().fold((u64::MAX, 0), |(least, most), [n, _]| (least.min(*n), most.max(*n)));
    if sizes.iter().any(|[_, rails]| *rails != sizes[0][1]) {
        return Err(NetError::new("some nodes have rails and others do not"));
    }
    if sizes[0][1] == 1 && least != most {
        let what = format!("with rails all nodes need equally many threads: {least} to {most}");
        return Err(NetError::new(what));
    }
    // One for each pair of threads, and one for the words of nodes that disagree.
    if sizes.len() > 1 && most.saturating_mul(most) >= net.tags() as u64 {
        let what = format!("{most} threads a node need {} tags", most * most + 1);
        return Err(NetError::new(format!("{what}; the network has {}", net.tags())));
    }
    let ranks = sizes.iter().enumerate().flat_map(|(j, [n, _])| (0..*n).map(move |_| j));
    Ok(NodeLayout::new(sizes.len(), &ranks.collect::<Vec<_>>()))
}
