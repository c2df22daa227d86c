//! A run on several nodes.

use super::builder::Builder;
use super::handle::Team;
use super::run_body::as_given;
use crate::Comm;
use crate::comm::{LANES_FROM, NodeJob};
use crate::error::Error;
use crate::net::{Net, NetError, NodeLayout, Transfer};
use crate::sync::Arc;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

impl Team {
    /// Runs `f` on the ranks of this team and of those that the other nodes of
    /// `net` run it on, as one: `comm` is the communicator of all of them, in the
    /// order of nodes and, on each, of ranks. Returns what this node's ranks
    /// returned.
    ///
    /// All nodes call it, with the same closure in the same program; teams may be
    /// of different sizes. One node runs as ever. All collectives, messages,
    /// splits and views work between nodes; forced algorithms and topologies are
    /// refused there.
    ///
    /// **What is promised** less than on one node: ranks of different nodes that
    /// wait for each other in a circle are not found without a
    /// [`deadline`](crate::Builder::deadline), nor is a rank that has returned while
    /// one of another node waits for a *message* of its. Nodes in different
    /// calls are.
    ///
    /// # Errors
    /// As [`run`](Team::run), and [`Error::Network`]. A failure has then ended the
    /// job on all nodes ([`Net::abort`]), so on most networks this does not return.
    ///
    /// # Examples
    /// One node, by an engine that has no others:
    /// ```
    /// # use phalanx::net::*;
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
    /// let sizes = team.run_across(&net, |comm| comm.size())?;
    /// assert_eq!(sizes, [2, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn run_across<R: Send>(
        &self,
        net: &Arc<dyn Net>,
        f: impl Fn(&mut Comm) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        let at = Location::caller();
        let job = Arc::new(NodeJob::new(net.clone(), LANES_FROM));
        let layout = match layout(&**net, self.size(), self.deadline()) {
            Ok(layout) => Arc::new(layout),
            Err(e) => {
                let error = Error::Network { rank: 0, site: None, what: e.to_string() };
                job.fail(&error.to_string());
                return Err(error);
            }
        };
        let f = as_given::<dyn Fn(&mut Comm) -> R + Sync>(&f);
        let result = self.run(|comm| {
            let own = comm.fabric_id();
            comm.span_nodes(&job, &layout);
            let result = catch_unwind(AssertUnwindSafe(|| {
                let result = f(comm);
                if comm.fabric_id() == own {
                    comm.end_on_nodes(at);
                } else {
                    panic!("the closure has put another communicator in this one's place");
                }
                result
            }));
            result.unwrap_or_else(|payload| {
                // Before anything unwinds further: what the network writes to is
                // still there.
                let text = Error::text_of(&*payload);
                if let Some(text) = text {
                    job.fail(&format!("rank {} panicked: {text}", comm.rank()));
                }
                resume_unwind(payload)
            })
        });
        if let Err(error) = &result {
            job.fail(&error.to_string());
        }
        result
    }
}

impl Builder {
    /// Communicators of [`run_across`](Team::run_across) for threads that the caller
    /// already owns, as [`external`](Builder::external).
    ///
    /// A thread that panics with its communicator ends the job on all nodes.
    ///
    /// # Errors
    /// [`Error::Ranks`], and [`Error::Network`] if nodes do not fit together.
    ///
    /// # Examples
    /// ```no_run
    /// # fn of_your_engine() -> std::sync::Arc<dyn phalanx::net::Net> { todo!() }
    /// let comms = phalanx::Team::builder().ranks(2).external_across(&of_your_engine())?;
    /// std::thread::scope(|s| {
    ///     for mut comm in comms {
    ///         s.spawn(move || comm.barrier()); // with all threads of all nodes
    ///     }
    /// });
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn external_across(self, net: &Arc<dyn Net>) -> Result<Vec<Comm>, Error> {
        let deadline = self.deadline;
        let mut comms = self.external()?;
        let what = |e: NetError| Error::Network { rank: 0, site: None, what: e.to_string() };
        let layout = Arc::new(layout(&**net, comms.len(), deadline).map_err(what)?);
        let job = Arc::new(NodeJob::new(net.clone(), LANES_FROM));
        comms.iter_mut().for_each(|comm| comm.span_nodes(&job, &layout));
        Ok(comms)
    }
}

/// Asks the other nodes how many ranks they have.
fn layout(
    net: &dyn Net,
    threads: usize,
    deadline: Option<Duration>,
) -> Result<NodeLayout, NetError> {
    let (nodes, node) = (net.nodes(), net.node());
    if nodes == 1 {
        return Ok(NodeLayout::new(1, &vec![0; threads]));
    }
    let mut sizes = vec![[0u64; 2]; nodes];
    sizes[node] = [threads as u64, u64::from(net.lane(0).is_some())];
    let counts = vec![16; nodes];
    let all = sizes.as_mut_ptr().cast();
    // SAFETY: there is room for 16 bytes of each node; nobody else has them
    // before the transfer is done.
    let mut pending = unsafe { net.start(Transfer::AllGather { all, counts: &counts })? };
    let since = Instant::now();
    while !pending.test()? {
        std::thread::yield_now();
        if let Some(limit) = deadline
            && since.elapsed() > limit
        {
            return Err(NetError::new(format!(
                "has waited {limit:?} for the other nodes, the team's deadline"
            )));
        }
    }
    drop(pending);
    let (least, most) =
        sizes.iter().fold((u64::MAX, 0), |(least, most), [n, _]| (least.min(*n), most.max(*n)));
    if sizes.iter().any(|[_, lanes]| *lanes != sizes[0][1]) {
        return Err(NetError::new("some nodes have lanes and others do not"));
    }
    if sizes[0][1] == 1 && least != most {
        let what = format!("with lanes all nodes need equally many threads: {least} to {most}");
        return Err(NetError::new(what));
    }
    // One for each pair of threads, and one for what nodes say that disagree.
    if most.saturating_mul(most) >= net.tags() as u64 {
        let what = format!("{most} threads a node need {} tags", most * most + 1);
        return Err(NetError::new(format!("{what}; the network has {}", net.tags())));
    }
    let ranks = sizes.iter().enumerate().flat_map(|(j, [n, _])| (0..*n).map(move |_| j));
    Ok(NodeLayout::new(nodes, &ranks.collect::<Vec<_>>()))
}
