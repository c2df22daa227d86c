//! Communicators whose ranks are on several nodes.
//!
//! Such a [`Comm`] has the port of this node's ranks, and a [`Wide`]: who is
//! where, and the network. A call is made of *steps*: some on this node, by the
//! port, as on one machine ([`Narrow`] hides the `Wide` meanwhile); and some
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
//! out as ever: each carries the whole call's fingerprint (`salt`). Leaders
//! compare theirs by an all-reduce of 32 bytes, started before the call's data
//! and waited for before anybody sees them.
//!
//! **Failure** of any rank ends the whole job ([`Job::fail`]), before the rank
//! unwinds: what the network may still write to is not given up before that.

mod agree;
mod blocks;
mod lanes;
mod message;
mod reduction;
mod split;
mod sums;
mod views;

use super::Comm;
use crate::error::{CallSite, Error, say};
use crate::exec::{Call, Cut, Kernel, Memory, Scratch};
use crate::fabric::{Sig, Stop, Thread};
use crate::net::{Fold, Layout, Net, NetError, Number, Pending, Transfer};
use crate::op::BitOr;
use crate::schedule::Operation;
use crate::sync::Arc;
use crate::sync::diagnostic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use crate::wait::{Patience, Pause};
use std::panic::Location;
use std::time::{Duration, Instant};

pub(super) use message::Wire;

pub(crate) use lanes::LANES_FROM;

/// What all ranks of a job on several nodes have in common, on one of them.
pub(crate) struct Job {
    net: Arc<dyn Net>,
    failed: AtomicBool,
    /// Messages sent to other nodes less messages received from them.
    balance: AtomicU64,
    lanes_from: usize,
}

impl Job {
    pub(crate) fn new(net: Arc<dyn Net>, lanes_from: usize) -> Self {
        let (failed, balance) = (AtomicBool::new(false), AtomicU64::new(0));
        Job { net, failed, balance, lanes_from }
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
pub(crate) struct Wide {
    rank: usize,
    layout: Arc<Layout>,
    net: Arc<dyn Net>,
    /// The own thread's network, with lanes.
    lane: Option<Arc<dyn Net>>,
    /// Calls so far.
    calls: u64,
    /// The leader's memory for what is on its way.
    scratch: [Scratch; 4],
}

impl Wide {
    fn new(
        rank: usize,
        layout: Arc<Layout>,
        net: Arc<dyn Net>,
        lane: Option<Arc<dyn Net>>,
    ) -> Self {
        let scratch = [const { Scratch::new() }; 4];
        Wide { rank, layout, net, lane, calls: 0, scratch }
    }
}

impl Comm {
    #[cold]
    #[inline(never)]
    pub(super) fn wide_rank(&self) -> usize {
        self.wide.as_ref().map_or(0, |wide| wide.rank)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wide_size(&self) -> usize {
        self.wide.as_ref().map_or(0, |wide| wide.layout.ranks())
    }

    /// How many nodes the ranks are on: 1, but for teams that
    /// [`run_across`](crate::Team::run_across) several.
    ///
    /// ```
    /// assert_eq!(phalanx::run(2, |comm| comm.nodes())?, [1, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn nodes(&self) -> usize {
        self.wide.as_ref().map_or(1, |wide| wide.layout.nodes())
    }

    /// Which of the communicator's nodes this rank is on, `0..nodes()`.
    ///
    /// ```
    /// assert_eq!(phalanx::run(2, |comm| comm.node())?, [0, 0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn node(&self) -> usize {
        self.wide.as_ref().map_or(0, |wide| wide.net.node())
    }

    /// From now on the ranks of all nodes, as `layout` says, of which the port's
    /// are this node's.
    pub(crate) fn widen(&mut self, job: &Arc<Job>, layout: &Arc<Layout>) {
        let node = job.net.node();
        let rank = layout.members(node)[self.port.rank()];
        self.job = Some(job.clone());
        self.forced = true;
        if layout.nodes() > 1 {
            let lane = job.net.lane(self.port.rank());
            let wide = Wide::new(rank, layout.clone(), job.net.clone(), lane);
            self.wide = Some(Box::new(wide));
        }
    }

    /// The end of a run on several nodes: compares with the others that it is
    /// theirs, too, and that every message was received.
    pub(crate) fn end_wide(&mut self, at: &'static Location<'static>) {
        static SIG: Sig = Sig::of::<()>("the end of the closure", "");
        if !self.is_wide() || !self.admit(&SIG, at) {
            return;
        }
        let call = barrier(&SIG, at);
        let job = self.job.clone();
        let mut node = self.narrow(&call);
        node.pause();
        if node.is_leader() {
            node.meet(None);
            let mut balance = [job.map_or(0, |job| job.balance.load(Relaxed))];
            let at = balance.as_mut_ptr().cast();
            let (number, fold) = (Number::U64, Fold::Sum);
            node.pass(Transfer::AllReduce { at, count: 1, number, fold });
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
    fn end_this_job(&self, job: &Job, why: Option<&str>) {
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
    pub(super) fn narrow<'a>(&'a mut self, call: &Call<'a>) -> Narrow<'a> {
        let mut wide = self.wide.take();
        if let Some(wide) = &mut wide {
            wide.calls += 1;
        }
        let counts: &[usize] = match call.cut() {
            Cut::Varied(counts) => counts,
            _ => &[],
        };
        let fields = [&[call.parameter(), call.len()][..], counts].concat();
        self.salt = Some(self.port.varied(&fields, std::iter::empty()));
        Narrow { comm: self, wide, call: *call }
    }

    /// As `narrow`, for messages: no call of all ranks.
    fn aside<'a>(&'a mut self, call: &Call<'a>) -> Narrow<'a> {
        let wide = self.wide.take();
        Narrow { comm: self, wide, call: *call }
    }

    /// Why the choice cannot be followed between nodes, if it cannot.
    pub(super) fn cannot_follow(&self) -> Option<String> {
        use super::Choice::*;
        let what = match &self.choice {
            Auto | Model(_) | Levels(_) => return None,
            Algorithm(a) | On(a, _) => format!("the algorithm {a}"),
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
    pub(super) fn carry_out_between_nodes(&mut self, call: &Call<'_, Memory<'_>>) {
        if !self.admit(call.sig(), call.at()) {
            return;
        }
        if let Some(what) = self.cannot_follow() {
            return self.wrong(call.sig(), call.at(), call.len(), what);
        }
        use Operation::*;
        let apart = self.wide.as_ref().is_some_and(|wide| !wide.layout.is_contiguous());
        if apart && matches!(call.operation(), Scan | ExclusiveScan) {
            return self.scan_apart(call);
        }
        let by_tree = self.order == crate::order::Order::Fixed || (apart && !call.is_commutative());
        let (kernel, input, output) = call.parts();
        let bare = call.bare();
        let mut node = self.narrow(&bare);
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

/// A call that nothing but meets.
fn barrier<'a>(sig: &'static Sig, at: &'static Location<'static>) -> Call<'a> {
    Call::new(Operation::Barrier, sig, at, Cut::Vector(1)).of_length(0)
}

/// A communicator of ranks on several nodes, during a call, as that of the ranks on
/// this one.
pub(super) struct Narrow<'a> {
    pub(super) comm: &'a mut Comm,
    wide: Option<Box<Wide>>,
    call: Call<'a>,
}

impl Drop for Narrow<'_> {
    fn drop(&mut self) {
        self.comm.salt = None;
        self.comm.wide = self.wide.take();
    }
}

impl Narrow<'_> {
    fn wide(&self) -> &Wide {
        self.wide.as_ref().expect("there until the call is over")
    }

    fn layout(&self) -> Arc<Layout> {
        self.wide().layout.clone()
    }

    /// This node's number.
    fn node(&self) -> usize {
        self.wide().net.node()
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
        let wide = self.wide.as_mut().expect("there until the call is over");
        wide.scratch[which].reserve(bytes, kernel.align())
    }

    /// A step on this node.
    ///
    /// # Safety
    /// As `Call::on_memory`, for a call with these arguments.
    unsafe fn step(
        &mut self,
        operation: Operation,
        root: usize,
        cut: Cut<'_>,
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
        let (kernel, cut) = (Kernel::combiner::<u8, _>(&BitOr), Cut::Vector(1));
        // SAFETY: one element in place, of the kernel's type; the fingerprint's
        // element may be another, but it is this call's alone (`Barrier`).
        unsafe { self.step(Operation::Barrier, 0, cut, &kernel, std::ptr::null(), at) }
    }

    fn barrier(&mut self) {
        self.pause();
        if self.is_leader() {
            self.meet(None);
        }
        self.pause();
    }

    /// A transfer, from beginning to end.
    fn pass(&mut self, transfer: Transfer<'_>) {
        let pending = self.begin(None, transfer);
        self.wait(pending);
    }

    /// Starts a transfer, on the lane if one is given.
    fn begin(&mut self, lane: Option<&dyn Net>, transfer: Transfer<'_>) -> Box<dyn Pending> {
        let net = lane.unwrap_or(&*self.wide().net);
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
        let site = Some(CallSite { call: sig.words(len, None), at });
        let rank = self.wide().rank;
        self.comm.end_run(Error::Network { rank, site, what: what.to_string() }, None);
        self.comm.nothing_to_return()
    }

    /// The own node's part of a cut by ranks: `lens` of all ranks.
    fn own_counts(&self, lens: &Lens) -> Vec<usize> {
        let layout = &self.wide().layout;
        layout.members(self.node()).iter().map(|&rank| lens.of(rank)).collect()
    }
}

/// Calls `done` until it says so; ends the run if another rank of this node has
/// failed, or the deadline passes.
fn loop_until(
    node: &mut Narrow<'_>,
    mut done: impl FnMut(&mut Narrow<'_>) -> Result<bool, NetError>,
) {
    let port = &node.comm.port;
    let (fabric, run, wait) = (port.fabric().clone(), port.run(), port.wait_policy());
    let world = fabric.world();
    let mut patience = Patience::new(wait, None);
    loop {
        let looks = if world.is_crowded() { 1 } else { patience.looks() };
        for _ in 0..looks {
            match done(node) {
                Ok(true) => return,
                Ok(false) => (),
                Err(e) => node.failed(&e),
            }
        }
        if world.is_poisoned(run) {
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
        if let Pause::Nap(nap) = patience.pause() {
            std::thread::sleep(nap.min(LONGEST_NAP));
        }
    }
}

/// Nobody wakes who waits for the network: it has to look itself.
const LONGEST_NAP: Duration = Duration::from_micros(200);

/// Elements of each rank's block.
enum Lens<'a> {
    Equal(usize),
    Varied(&'a [usize]),
}

impl<'a> Lens<'a> {
    fn of_cut(cut: Cut<'a>) -> Self {
        match cut {
            Cut::Vector(n) | Cut::Equal(n) => Lens::Equal(n),
            Cut::Varied(counts) => Lens::Varied(counts),
            Cut::Pairs { .. } => unreachable!("has lengths for pairs"),
        }
    }

    fn of(&self, rank: usize) -> usize {
        match self {
            Lens::Equal(n) => *n,
            Lens::Varied(counts) => counts[rank],
        }
    }

    /// The cut on a node with `own` elements for its ranks: an even one, if it is,
    /// whose plans are kept.
    fn cut<'b>(&self, own: &'b [usize]) -> Cut<'b> {
        match self {
            Lens::Equal(n) => Cut::Equal(*n),
            Lens::Varied(_) => Cut::Varied(own),
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
