//! Communicators of ranks on several nodes.
//!
//! Such a [`Comm`] has the port of this node's ranks, and a [`NodeGroup`]: who is
//! where, and the network. A call is made of *steps*: some on this node, by the
//! port, as on one machine ([`LocalStep`] hides the `NodeGroup` meanwhile); and some
//! between nodes, made by the leader (the node's first rank) alone, on one
//! contiguous piece of memory.
//!
//! ```text
//!   ranks   0 1 2 3 | 4 5 6 7        all_reduce, say
//!           \ | | / | \ | | /        step on the node: reduce to the leader
//!             0 ----+---- 4          between leaders: agree, and combine
//!           / | | \ | / | | \        step on the node: broadcast
//! ```
//!
//! **Agreement.** What ranks of a node disagree about, the steps on the node find
//! out as ever: each carries the whole call's fingerprint (`step_fingerprint`). Leaders
//! compare theirs by an all-reduce of 32 bytes, started before the call's data
//! and waited for before anybody sees them.
//!
//! **Failure** of any rank ends the whole job ([`NodeJob::fail`]), before the rank
//! unwinds: what the network may still write to is not given up before that.

mod agree;
mod blocks;
mod lanes;
mod node_split;
mod partial_sums;
mod reduction;
mod remote_message;
mod remote_views;

use super::Comm;
use crate::error::{CallSite, Error, say};
use crate::exec::{Call, Kernel, Partition, RawBuffers, Scratch};
use crate::fabric::{LongWait, Signature, Stop, Thread};
use crate::net::{Net, NetError, NetFold, NetNumber, NodeLayout, Pending, Transfer};
use crate::op::BitOr;
use crate::schedule::Operation;
use crate::sync::Arc;
use crate::sync::diagnostic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use crate::wait::{Backoff, Pause};
use std::panic::Location;
use std::time::{Duration, Instant};

pub(super) use remote_message::Wire;

pub(crate) use lanes::LANES_FROM;

/// What all ranks of a job on several nodes have in common, on one of them.
pub(crate) struct NodeJob {
    net: Arc<dyn Net>,
    failed: AtomicBool,
    /// Messages sent to other nodes less messages received from them.
    balance: AtomicU64,
    lanes_from: usize,
}

impl NodeJob {
    pub(crate) fn new(net: Arc<dyn Net>, lanes_from: usize) -> Self {
        let (failed, balance) = (AtomicBool::new(false), AtomicU64::new(0));
        NodeJob { net, failed, balance, lanes_from }
    }

    /// Says why, and ends the job on all nodes, if nobody has yet.
    #[cold]
    pub(crate) fn fail(&self, why: &str) {
        if !self.failed.swap(true, Relaxed) {
            say(&format!("{}: {why}", self.net.name()));
            self.net.abort();
        }
    }
}

/// See the module documentation.
pub(crate) struct NodeGroup {
    rank: usize,
    layout: Arc<NodeLayout>,
    net: Arc<dyn Net>,
    /// The own thread's network, with lanes.
    lane: Option<Arc<dyn Net>>,
    /// Calls so far.
    calls: u64,
    /// The leader's memory for what is on its way.
    scratch: [Scratch; 4],
}

impl NodeGroup {
    fn new(
        rank: usize,
        layout: Arc<NodeLayout>,
        net: Arc<dyn Net>,
        lane: Option<Arc<dyn Net>>,
    ) -> Self {
        let scratch = [const { Scratch::new() }; 4];
        NodeGroup { rank, layout, net, lane, calls: 0, scratch }
    }
}

impl Comm {
    #[cold]
    #[inline(never)]
    pub(super) fn rank_on_nodes(&self) -> usize {
        self.node_group.as_ref().map_or(0, |node_group| node_group.rank)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn size_on_nodes(&self) -> usize {
        self.node_group.as_ref().map_or(0, |node_group| node_group.layout.ranks())
    }

    /// How many nodes the ranks are on: 1, but for teams that
    /// [`run_across`](crate::Team::run_across) several.
    ///
    /// ```
    /// assert_eq!(phalanx::run(2, |comm| comm.nodes())?, [1, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn nodes(&self) -> usize {
        self.node_group.as_ref().map_or(1, |node_group| node_group.layout.nodes())
    }

    /// Which of the communicator's nodes this rank is on, `0..nodes()`.
    ///
    /// ```
    /// assert_eq!(phalanx::run(2, |comm| comm.node())?, [0, 0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn node(&self) -> usize {
        self.node_group.as_ref().map_or(0, |node_group| node_group.net.node())
    }

    /// From now on the ranks of all nodes, as `layout` says, of which the port's
    /// are this node's.
    pub(crate) fn span_nodes(&mut self, job: &Arc<NodeJob>, layout: &Arc<NodeLayout>) {
        let node = job.net.node();
        let rank = layout.members(node)[self.port.rank()];
        self.job = Some(job.clone());
        self.slow_path = true;
        if layout.nodes() > 1 {
            let lane = job.net.lane(self.port.rank());
            let node_group = NodeGroup::new(rank, layout.clone(), job.net.clone(), lane);
            self.node_group = Some(Box::new(node_group));
        }
    }

    /// The end of a run on several nodes: compares with the others that it is
    /// theirs, too, and that every message was received.
    pub(crate) fn end_on_nodes(&mut self, at: &'static Location<'static>) {
        static SIG: Signature = Signature::of::<()>("the end of the closure", "");
        if !self.spans_nodes() || !self.check_usable(&SIG, at) {
            return;
        }
        let call = barrier(&SIG, at);
        let job = self.job.clone();
        let mut node = self.local_step(&call);
        node.pause();
        if node.is_leader() {
            node.agree_while(None);
            let mut balance = [job.map_or(0, |job| job.balance.load(Relaxed))];
            let at = balance.as_mut_ptr().cast();
            let (number, fold) = (NetNumber::U64, NetFold::Sum);
            node.transfer(Transfer::AllReduce { at, count: 1, number, fold });
            if balance[0] != 0 {
                let n = balance[0] as i64;
                node.fail(&format!("messages between nodes were sent and never received ({n})"));
            }
        }
    }

    /// Ends the job on all nodes; without a reason, for that of another rank.
    #[inline(always)]
    pub(super) fn end_job(&self, why: Option<&str>) {
        if let Some(job) = &self.job {
            self.end_this_job(job, why);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_this_job(&self, job: &NodeJob, why: Option<&str>) {
        if let Some(why) = why {
            return job.fail(why);
        }
        let (world, run) = (self.port.fabric().world(), self.port.run());
        match world.cause(run) {
            Some(text) => job.fail(&text),
            None => {
                // Whoever has failed is about to say why.
                let since = Instant::now();
                while !job.failed.load(Relaxed) && since.elapsed() < Duration::from_secs(1) {
                    std::thread::yield_now();
                }
                job.fail("a rank has failed");
            }
        }
    }

    /// This node's ranks only, for steps of the call.
    pub(super) fn local_step<'a>(&'a mut self, call: &Call<'a>) -> LocalStep<'a> {
        let mut node_group = self.node_group.take();
        if let Some(node_group) = &mut node_group {
            node_group.calls += 1;
        }
        let counts: &[usize] = match call.cut() {
            Partition::Varied(counts) => counts,
            _ => &[],
        };
        let fields = [&[call.parameter(), call.len()][..], counts].concat();
        self.step_fingerprint = Some(self.port.varied(&fields, std::iter::empty()));
        LocalStep { comm: self, node_group, call: *call }
    }

    /// As `local_step`, for messages: no call of all ranks.
    fn aside<'a>(&'a mut self, call: &Call<'a>) -> LocalStep<'a> {
        let node_group = self.node_group.take();
        LocalStep { comm: self, node_group, call: *call }
    }

    /// Why the choice cannot be followed between nodes, if it cannot.
    pub(super) fn cannot_follow(&self) -> Option<String> {
        use super::Choice::*;
        let what = match &self.choice {
            Auto | Model(_) | Levels(_) => return None,
            Algorithm(a) | AlgorithmOnMesh(a, _) => format!("the algorithm {a}"),
            Ring => "a ring".to_string(),
            Mesh(dims) => format!("a {dims} mesh"),
            Hypercube => "a hypercube".to_string(),
            Tree => "a tree".to_string(),
            Groups(_) => "groups".to_string(),
        };
        let nodes = self.nodes();
        Some(format!(
            "{what} cannot be forced on ranks of {nodes} nodes (on those of one: split_by_node)"
        ))
    }

    /// Carries out a call of ranks on several nodes.
    #[cold]
    #[inline(never)]
    pub(super) fn carry_out_between_nodes(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        if !self.check_usable(call.sig(), call.at()) {
            return;
        }
        if let Some(what) = self.cannot_follow() {
            return self.wrong(call.sig(), call.at(), call.len(), what);
        }
        use Operation::*;
        let apart =
            self.node_group.as_ref().is_some_and(|node_group| !node_group.layout.is_contiguous());
        if apart && matches!(call.operation(), Scan | ExclusiveScan) {
            return self.scan_apart(call);
        }
        let by_tree = self.order == crate::order::Order::Fixed || (apart && !call.is_commutative());
        let (kernel, input, output) = call.parts();
        let bare = call.bare();
        let mut node = self.local_step(&bare);
        // SAFETY: the call's promise.
        unsafe {
            match bare.operation().base() {
                Barrier => node.barrier(),
                Broadcast => node.broadcast(kernel, output),
                AllGather => node.all_gather(kernel, input, output),
                Gather => node.gather(kernel, input, output),
                Scatter => node.scatter(kernel, input, output),
                AllToAll => node.all_to_all(kernel, input, output),
                Reduce => node.reduce(kernel, input, output, by_tree),
                AllReduce => node.all_reduce(kernel, output, by_tree),
                ReduceScatter => node.reduce_scatter(kernel, input, output, by_tree),
                Scan => node.scan(kernel, input, output),
                Shift => node.shift(kernel, output),
                other => unreachable!("{other} is the form of another"),
            }
        }
    }
}

/// A call without data, for barriers and agreement.
fn barrier<'a>(sig: &'static Signature, at: &'static Location<'static>) -> Call<'a> {
    Call::new(Operation::Barrier, sig, at, Partition::Vector(1)).of_length(0)
}

/// A communicator of ranks on several nodes, during a call, as that of the ranks on
/// this one.
pub(super) struct LocalStep<'a> {
    pub(super) comm: &'a mut Comm,
    node_group: Option<Box<NodeGroup>>,
    call: Call<'a>,
}

impl Drop for LocalStep<'_> {
    fn drop(&mut self) {
        self.comm.step_fingerprint = None;
        self.comm.node_group = self.node_group.take();
    }
}

impl LocalStep<'_> {
    fn node_group(&self) -> &NodeGroup {
        self.node_group.as_ref().expect("there until the call is over")
    }

    fn layout(&self) -> Arc<NodeLayout> {
        self.node_group().layout.clone()
    }

    /// This node's number.
    fn node(&self) -> usize {
        self.node_group().net.node()
    }

    /// The own number on this node.
    fn local(&self) -> usize {
        self.comm.port.rank()
    }

    fn is_leader(&self) -> bool {
        self.local() == 0
    }

    /// `bytes` of the leader's memory number `which`, for any elements. What was
    /// there is gone if it has to grow.
    fn memory(&mut self, which: usize, bytes: usize, kernel: &Kernel<'_>) -> *mut u8 {
        let node_group = self.node_group.as_mut().expect("there until the call is over");
        node_group.scratch[which].reserve(bytes, kernel.align())
    }

    /// A step on this node.
    ///
    /// # Safety
    /// As `Call::on_memory`, for a call with these arguments.
    unsafe fn step(
        &mut self,
        operation: Operation,
        root: usize,
        cut: Partition<'_>,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let call = self.call.part(operation, cut).root(root);
        // No identity is told from one by being null; of what is not looked at,
        // the address may be.
        let output = blocks::non_null(output, kernel);
        let input = match operation {
            Operation::ExclusiveScan => input,
            _ => blocks::non_null(input.cast_mut(), kernel),
        };
        // SAFETY: passed on.
        unsafe { self.comm.carry_on(&call.on_memory(*kernel, input, output)) }
    }

    /// A barrier of this node's ranks.
    fn pause(&mut self) {
        let mut word = 0u8;
        let at = (&raw mut word).cast();
        let (kernel, cut) = (Kernel::combiner::<u8, _>(&BitOr), Partition::Vector(1));
        // SAFETY: one element in place, of the kernel's type; the fingerprint's
        // element may be another, but it is this call's alone (`Barrier`).
        unsafe { self.step(Operation::Barrier, 0, cut, &kernel, std::ptr::null(), at) }
    }

    fn barrier(&mut self) {
        self.pause();
        if self.is_leader() {
            self.agree_while(None);
        }
        self.pause();
    }

    /// A transfer, from beginning to end.
    fn transfer(&mut self, transfer: Transfer<'_>) {
        let pending = self.begin(None, transfer);
        self.wait(pending);
    }

    /// Starts a transfer, on the lane if one is given.
    fn begin(&mut self, lane: Option<&dyn Net>, transfer: Transfer<'_>) -> Box<dyn Pending> {
        let net = lane.unwrap_or(&*self.node_group().net);
        // SAFETY: whoever makes a transfer owns its memory, or has it from the
        // call's caller, until the call is over; and a call waits for all of its
        // transfers, or fails, which ends them (`Pending`).
        match unsafe { net.start(transfer) } {
            Ok(pending) => pending,
            Err(e) => self.failed(&e),
        }
    }

    fn wait(&mut self, mut pending: Box<dyn Pending>) {
        loop_until(self, |_| pending.test());
    }

    #[cold]
    fn failed(&mut self, error: &NetError) -> ! {
        self.fail(&error.to_string())
    }

    /// Ends the run, and the job.
    #[cold]
    fn fail(&mut self, what: &str) -> ! {
        let (sig, at, len) = (self.call.sig(), self.call.at(), self.call.len());
        let site = Some(CallSite { call: sig.words(len, None), at: at.into() });
        let rank = self.node_group().rank;
        self.comm.end_run(Error::Network { rank, site, what: what.to_string() }, None);
        self.comm.nothing_to_return()
    }

    /// The own node's part of a cut by ranks: `lens` of all ranks.
    fn own_counts(&self, lens: &Lengths) -> Vec<usize> {
        let layout = &self.node_group().layout;
        layout.members(self.node()).iter().map(|&rank| lens.of(rank)).collect()
    }
}

/// Calls `done` until it says so; ends the run if another rank of this node has
/// failed, or the deadline passes.
fn loop_until(
    node: &mut LocalStep<'_>,
    mut done: impl FnMut(&mut LocalStep<'_>) -> Result<bool, NetError>,
) {
    let port = &node.comm.port;
    let (fabric, run, wait) = (port.fabric().clone(), port.run(), port.wait_policy());
    let (world, me) = (fabric.world(), fabric.member(port.rank()));
    let mut patience = Backoff::new(wait, None);
    loop {
        let looks = if world.is_crowded() { 1 } else { patience.looks() };
        for _ in 0..looks {
            match done(node) {
                Ok(true) => return,
                Ok(false) => (),
                Err(e) => node.failed(&e),
            }
        }
        // Another rank of this node may wait for what this one has started on a part of it.
        Thread::here().go_on();
        if world.is_poisoned(run) || world.hear_cancel(me, run) {
            node.comm.stop(Stop::Poisoned);
            node.comm.nothing_to_return();
        }
        if let Some(outer) = Thread::here().outer_over(world) {
            node.comm.stop(Stop::Outer(outer));
            node.comm.nothing_to_return();
        }
        if patience.is_over(world.deadline()) {
            let limit = world.deadline().unwrap_or_default();
            node.fail(&format!("has waited {limit:?} for other nodes, the team's deadline"));
        }
        if patience.stalls(world.stall_warning()) {
            world.warn_of_stall(LongWait::ForNodes { rank: me }, run);
        }
        if let Pause::Nap(nap) = patience.pause() {
            std::thread::sleep(nap.min(LONGEST_NAP));
        }
    }
}

/// Nobody wakes who waits for the network: it has to look itself.
const LONGEST_NAP: Duration = Duration::from_micros(200);

/// Elements of each rank's block.
enum Lengths<'a> {
    Equal(usize),
    Varied(&'a [usize]),
}

impl<'a> Lengths<'a> {
    fn of_cut(cut: Partition<'a>) -> Self {
        match cut {
            Partition::Vector(n) | Partition::Equal(n) => Lengths::Equal(n),
            Partition::Varied(counts) => Lengths::Varied(counts),
            Partition::Pairs { .. } => unreachable!("has lengths for pairs"),
        }
    }

    fn of(&self, rank: usize) -> usize {
        match self {
            Lengths::Equal(n) => *n,
            Lengths::Varied(counts) => counts[rank],
        }
    }

    /// The cut on a node with `own` elements for its ranks: an even one, if it is,
    /// whose plans are kept.
    fn cut<'b>(&self, own: &'b [usize]) -> Partition<'b> {
        match self {
            Lengths::Equal(n) => Partition::Equal(*n),
            Lengths::Varied(_) => Partition::Varied(own),
        }
    }
}

/// Where blocks of these lengths begin, one after the other; at the end, where the
/// last one ends.
fn starts(lens: impl Iterator<Item = usize>) -> Vec<usize> {
    std::iter::once(0)
        .chain(lens.scan(0, |end, n| {
            *end += n;
            Some(*end)
        }))
        .collect()
}
