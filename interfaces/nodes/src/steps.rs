//! A call of ranks on several nodes, in progress: its steps on this node, by the node's own
//! communicator, and those between nodes, by the leader (the node's first rank).
//!
//! **Agreement.** A disagreement of ranks of a node is found by the steps on the node, as ever:
//! each carries the whole call's fields. Leaders compare theirs by an all-reduce of 32 bytes,
//! started before the call's data and waited for before anybody sees them.

use crate::call::NodeCall;
use crate::layout::NodeLayout;
use crate::net::{Net, NetFold, NetNumber, Pending, Transfer};
use crate::node_group::NodeGroup;
use crate::node_job::NodeJob;
use phalanx::{CallSite, Comm, Element, Error, Order, engine};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Bytes of a call in words that are shown to other nodes.
const WORDS: usize = 256;

/// A transfer of elements, as [`Transfer`] says; counts are elements. At a gather's root the own
/// block is in its place in `all`.
pub(crate) enum Move<'m, T> {
    Broadcast { root: usize, data: &'m mut [T] },
    AllGather { all: &'m mut [T], counts: &'m [usize] },
    Gather { root: usize, mine: &'m [T], all: &'m mut [T], counts: &'m [usize] },
    Scatter { root: usize, all: &'m [T], mine: &'m mut [T], counts: &'m [usize] },
    AllToAll { send: &'m [T], sends: &'m [usize], recv: &'m mut [T], recvs: &'m [usize] },
    AllReduce { data: &'m mut [T], number: NetNumber, fold: NetFold },
}

/// See the module documentation.
pub(crate) struct Steps<'s> {
    pub(crate) comm: &'s mut Comm,
    pub(crate) group: &'s NodeGroup,
    pub(crate) job: &'s NodeJob,
    pub(crate) call: NodeCall<'s>,
    pub(crate) order: Order,
}

impl Drop for Steps<'_> {
    fn drop(&mut self) {
        engine::end_steps(self.comm);
        if std::thread::panicking()
            && let Some(cause) = engine::cause(self.comm)
        {
            self.job.fail(&cause);
        }
    }
}

impl<'s> Steps<'s> {
    pub(crate) fn layout(&self) -> &'s NodeLayout {
        &self.group.layout
    }

    /// This node's number.
    pub(crate) fn node(&self) -> usize {
        self.group.net.node()
    }

    pub(crate) fn nodes(&self) -> usize {
        self.layout().nodes()
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.comm.rank() == 0
    }

    /// Ends the run: an argument is wrong.
    #[cold]
    pub(crate) fn refuse(&mut self, what: String) -> ! {
        self.comm.check(); // Whether it may make calls at all.
        let (rank, site) = (self.group.rank, self.call.site());
        self.end(Error::Argument { rank, site, what })
    }

    /// Ends the run for a fault between nodes.
    #[cold]
    pub(crate) fn fail(&mut self, what: &str) -> ! {
        let (rank, site) = (self.group.rank, Some(self.call.site()));
        self.end(Error::Outside { rank, site, what: format!("between nodes: {what}") })
    }

    fn end(&mut self, error: Error) -> ! {
        if !self.job.fails_first(&error.to_string()) {
            // That may follow from the failure of another rank here, which is the one to be told.
            self.await_cause();
        }
        engine::end_run(self.comm, error)
    }

    /// Why the run has ended, once the rank that has failed has said so: it is about to.
    fn await_cause(&mut self) -> Option<String> {
        let since = Instant::now();
        let mut cause = engine::cause(self.comm);
        while cause.is_none() && since.elapsed() < Duration::from_secs(1) {
            std::thread::yield_now();
            cause = engine::cause(self.comm);
        }
        cause
    }

    pub(crate) fn check_rank(&mut self, what: &str, rank: usize) {
        let p = self.layout().ranks();
        if rank >= p {
            self.refuse(format!("{what} {rank} is no rank of a communicator of {p}"));
        }
    }

    pub(crate) fn check_len(&mut self, what: &str, got: usize, wanted: Option<usize>) {
        if wanted != Some(got) {
            let wanted = wanted.map_or("more than memory can hold".to_string(), |w| w.to_string());
            self.refuse(format!("{what} has {got} elements, must have {wanted}"));
        }
    }

    /// Makes a wait. Before a panic leaves it, it says why the run has ended: a transfer that is
    /// dropped then may end the job without a word.
    pub(crate) fn heard<R>(&mut self, wait: impl FnOnce(&mut Self) -> R) -> R {
        catch_unwind(AssertUnwindSafe(|| wait(self))).unwrap_or_else(|payload| {
            let cause = self.await_cause();
            self.job.fail(&cause.unwrap_or_else(|| "a rank has failed".to_string()));
            resume_unwind(payload)
        })
    }

    /// Waits for a transfer, or ends the run.
    pub(crate) fn wait(&mut self, mut pending: Box<dyn Pending>) {
        let mut error = None;
        let waited = self.heard(|steps| {
            engine::wait_outside(steps.comm, "other nodes", &mut || {
                pending.test().unwrap_or_else(|e| {
                    error = Some(e);
                    true
                })
            })
        });
        if let Some(e) = error {
            self.fail(&e.to_string());
        }
        if let Err(limit) = waited {
            self.fail(&format!("has waited {limit:?} for other nodes, the team's deadline"));
        }
    }

    /// Starts a transfer, on the rail if one is given.
    ///
    /// # Safety
    /// As [`Net::start`]: the memory is borrowed until the result is dropped. (Dropped before it is
    /// done, as whatever ends the run does, it touches the memory never again.)
    pub(crate) unsafe fn begin(
        &mut self,
        rail: Option<&dyn Net>,
        transfer: Transfer<'_>,
    ) -> Box<dyn Pending> {
        // SAFETY: passed on.
        match unsafe { rail.unwrap_or(&*self.group.net).start(transfer) } {
            Ok(pending) => pending,
            Err(e) => self.fail(&e.to_string()),
        }
    }

    /// Starts a transfer of elements.
    ///
    /// # Safety
    /// The move's slices are borrowed until the result is dropped.
    unsafe fn begin_move<T: Element>(
        &mut self,
        rail: Option<&dyn Net>,
        it: Move<'_, T>,
    ) -> Box<dyn Pending> {
        let (node, size) = (self.node(), size_of::<T>());
        let bytes = |counts: &[usize]| counts.iter().map(|n| n * size).collect::<Vec<_>>();
        let fits = |counts: &[usize], len: usize| {
            assert_eq!(counts.iter().sum::<usize>(), len, "room for what the counts say");
        };
        let (counts, more);
        let transfer = match it {
            Move::Broadcast { root, data } => {
                let bytes = size_of_val(data);
                Transfer::Broadcast { root, at: data.as_mut_ptr().cast(), bytes }
            }
            Move::AllGather { all, counts: of } => {
                fits(of, all.len());
                counts = bytes(of);
                Transfer::AllGather { all: all.as_mut_ptr().cast(), counts: &counts }
            }
            Move::Gather { root, mine, all, counts: of } => {
                counts = bytes(of);
                let mut own = mine.as_ptr().cast();
                let all = if root == node {
                    fits(of, all.len());
                    let all = all.as_mut_ptr().cast::<u8>();
                    own = all.cast_const().wrapping_add(counts[..node].iter().sum());
                    all
                } else {
                    fits(&of[node..=node], mine.len());
                    std::ptr::null_mut()
                };
                Transfer::Gather { root, mine: own, all, counts: &counts }
            }
            Move::Scatter { root, all, mine, counts: of } => {
                let (whole, room) = (of, &of[node..=node]);
                if root == node {
                    fits(whole, all.len())
                } else {
                    fits(room, mine.len())
                }
                counts = bytes(of);
                let (all, mine) = (all.as_ptr().cast(), mine.as_mut_ptr().cast());
                Transfer::Scatter { root, all, mine, counts: &counts }
            }
            Move::AllToAll { send, sends, recv, recvs } => {
                fits(sends, send.len());
                fits(recvs, recv.len());
                (counts, more) = (bytes(sends), bytes(recvs));
                let (send, recv) = (send.as_ptr().cast(), recv.as_mut_ptr().cast());
                Transfer::AllToAll { send, send_counts: &counts, recv, recv_counts: &more }
            }
            Move::AllReduce { data, number, fold } => {
                assert_eq!(number.bytes(), size);
                let count = data.len();
                Transfer::AllReduce { at: data.as_mut_ptr().cast(), count, number, fold }
            }
        };
        // SAFETY: the slices have room as the counts say; the arriving bytes are elements of the
        // same type of the other nodes, which are in the same call, or nobody looks at it.
        unsafe { self.begin(rail, transfer) }
    }

    /// A transfer, from beginning to end.
    pub(crate) fn carry<T: Element>(&mut self, rail: Option<&dyn Net>, it: Move<'_, T>) {
        // SAFETY: borrowed here, and waited for, or dropped.
        let pending = unsafe { self.begin_move(rail, it) };
        self.wait(pending);
    }

    /// The leader's part of a call: compares it with the other nodes'.
    pub(crate) fn agree(&mut self) {
        self.agree_while(|_| None);
    }

    /// The same, with a transfer meanwhile.
    pub(crate) fn agree_and<T: Element>(&mut self, it: Move<'_, T>) {
        // SAFETY: borrowed here, and waited for, or dropped, in `agree_while`.
        self.agree_while(|steps| Some(unsafe { steps.begin_move(None, it) }));
    }

    fn agree_while(&mut self, begin: impl FnOnce(&mut Self) -> Option<Box<dyn Pending>>) {
        let [a, b] = self.call.digest((self.order, self.group.calls.load(Relaxed)));
        // The largest of x and of !x: equal nodes get themselves.
        let mine = [a, !a, b, !b];
        let mut most = mine;
        let (number, fold) = (NetNumber::U64, NetFold::Max);
        // SAFETY: borrowed here, and waited for, or dropped.
        let first =
            unsafe { self.begin_move(None, Move::AllReduce { data: &mut most, number, fold }) };
        let second = begin(self);
        self.wait(first);
        if most != mine {
            self.disagree(second);
        }
        if let Some(second) = second {
            self.wait(second);
        }
    }

    /// Ends the job: the nodes are in different calls. All of them come here.
    #[cold]
    fn disagree(&mut self, _second: Option<Box<dyn Pending>>) -> ! {
        let (nodes, node) = (self.nodes(), self.node());
        let mut mine = self.words().into_bytes();
        mine.resize(WORDS, 0);
        let mut all = vec![mine.clone(); nodes];
        // By messages: a node with a transfer in its call has started that already, and
        // collective transfers would meet it on the others.
        let tag = self.group.net.tags() - 1;
        let mut pending = Vec::new();
        for peer in (0..nodes).filter(|&peer| peer != node) {
            let (to, from, bytes, at) = (peer, peer, WORDS, all[peer].as_mut_ptr());
            // SAFETY: both outlive the transfers.
            unsafe {
                pending.push(self.begin(None, Transfer::Recv { from, tag, at, bytes }));
                let at = mine.as_ptr();
                pending.push(self.begin(None, Transfer::Send { to, tag, at, bytes }));
            }
        }
        pending.into_iter().for_each(|pending| self.wait(pending));
        let words = |of: &[u8]| {
            let end = of.iter().position(|&b| b == 0).unwrap_or(WORDS);
            String::from_utf8_lossy(&of[..end]).into_owned()
        };
        let what = match all.iter().position(|other| *other != mine) {
            Some(of) => {
                let rank = self.layout().members(of)[0];
                let (mine, other) = (words(&mine), words(&all[of]));
                format!("node {node} is in {mine}, node {of} (rank {rank}) in {other}")
            }
            None => "the nodes' calls differ (in counts, order, or how many came before)".into(),
        };
        // (The other transfer is dropped behind that: it may write until the job has ended.)
        self.fail(&what)
    }

    /// The call in words, no more than [`WORDS`]: of a type with a long name less of that, as the
    /// line is looked for.
    fn words(&self) -> String {
        let CallSite { mut call, at } = self.call.site();
        let at = format!(" at {at}");
        let mut end = call.len().min(WORDS.saturating_sub(at.len()));
        while !call.is_char_boundary(end) {
            end -= 1;
        }
        call.truncate(end);
        call + &at
    }

    #[track_caller]
    pub(crate) fn barrier(&mut self) {
        self.comm.barrier();
        if self.is_leader() {
            self.agree();
        }
        self.comm.barrier();
    }
}

/// `n` elements of which nothing is known.
pub(crate) fn unset<T: Element>(n: usize) -> Vec<MaybeUninit<T>> {
    vec![MaybeUninit::uninit(); n]
}

/// Memory for `n` elements; empty if `like` is, where there are none.
pub(crate) fn filled<T: Element>(like: &[T], n: usize) -> Vec<T> {
    like.first().map_or_else(Vec::new, |&x| vec![x; n])
}

/// Elements, as those that may be unset.
pub(crate) fn room<T: Element>(x: &[T]) -> &[MaybeUninit<T>] {
    // SAFETY: of one layout, and set ones are allowed.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

/// The same for writes.
///
/// # Safety
/// Only set elements are written.
pub(crate) unsafe fn room_mut<T: Element>(x: &mut [T]) -> &mut [MaybeUninit<T>] {
    // SAFETY: of one layout; by the contract all stay set.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
}

/// # Safety
/// All are set.
pub(crate) unsafe fn set<T: Element>(x: &[MaybeUninit<T>]) -> &[T] {
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

/// # Safety
/// All are set.
pub(crate) unsafe fn all_set<T: Element>(x: &[MaybeUninit<T>]) -> Vec<T> {
    // SAFETY: by the contract.
    unsafe { set(x) }.to_vec()
}
