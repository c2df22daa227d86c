//! A network inside one process: nodes are teams on threads, and messages are copies behind a lock.
//! It has all features of a real network, so that tests of calls between nodes run without one.

use phalanx_nodes::net::{Net, NetError, NetFold, NetNumber, Pending, Transfer};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The input of a node for a call: a name for its kind, and bytes.
#[derive(Clone, Default)]
struct Given {
    kind: &'static str,
    /// Blocks for each node, or one for all.
    blocks: Vec<Vec<u8>>,
}

/// The inputs of the nodes for a call, and how many have taken.
type Call = (Vec<Option<Given>>, usize);

#[derive(Default)]
struct State {
    /// By group and number of the call.
    calls: HashMap<(u64, u64), Call>,
    /// By group, sender, receiver and tag.
    messages: HashMap<(u64, usize, usize, usize), VecDeque<Vec<u8>>>,
}

#[derive(Default)]
struct Hub {
    state: Mutex<State>,
    failed: AtomicBool,
    /// Transfers before the one that cannot be started, or is not done ever; none for 0.
    left: Arc<AtomicUsize>,
    is_late: bool,
}

impl Hub {
    fn is_cut(&self) -> bool {
        self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) == Ok(1)
    }
}

fn cut_cable() -> NetError {
    NetError::new("a cable was cut")
}

pub(crate) struct Memory {
    hub: Arc<Hub>,
    group: u64,
    nodes: usize,
    node: usize,
    calls: AtomicU64,
    splits: AtomicU64,
    rails: bool,
}

/// As many nodes as asked for.
pub(crate) fn nodes(n: usize, rails: bool) -> Vec<Arc<dyn Net>> {
    nodes_until(n, rails, Arc::default())
}

/// The same, of which nothing is broken before so many transfers; every other one is noticed late.
pub(crate) fn nodes_until(n: usize, rails: bool, left: Arc<AtomicUsize>) -> Vec<Arc<dyn Net>> {
    let is_late = left.load(SeqCst).is_multiple_of(2);
    let hub = Arc::new(Hub { left, is_late, ..Hub::default() });
    (0..n).map(|node| Arc::new(Memory::new(&hub, 1, n, node, rails)) as Arc<dyn Net>).collect()
}

impl Memory {
    fn new(hub: &Arc<Hub>, group: u64, nodes: usize, node: usize, rails: bool) -> Self {
        let (calls, splits) = (AtomicU64::new(0), AtomicU64::new(0));
        Memory { hub: hub.clone(), group, nodes, node, calls, splits, rails }
    }
}

enum Take {
    Nothing,
    /// Block 0 of this node's.
    Root(usize, *mut u8),
    /// Block `node` of this node's.
    Part(usize, *mut u8),
    /// Block 0 of all, one after the other, but for the own.
    All(*mut u8, Vec<usize>, bool),
    /// Block `node` of all.
    Parts(*mut u8),
    Combined(*mut u8, NetNumber, NetFold),
    /// A message: from, tag, room.
    Message(usize, usize, *mut u8, usize),
    /// What a cut cable carried.
    Lost,
}

struct Waiting {
    hub: Arc<Hub>,
    group: u64,
    call: u64,
    node: usize,
    kind: &'static str,
    take: Take,
}

/// # Safety
/// `n` bytes can be read at `at`.
unsafe fn bytes(at: *const u8, n: usize) -> Vec<u8> {
    let mut v = Vec::<u8>::with_capacity(n);
    // SAFETY: the caller's promise, and room for `n` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(at, v.as_mut_ptr(), n);
        v.set_len(n);
    }
    v
}

/// # Safety
/// There is room for `from` at `to`, and nobody else looks there.
unsafe fn put(to: *mut u8, from: &[u8]) {
    // SAFETY: the caller's promise; `from` is a copy of this program's own.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) }
}

/// # Safety
/// The blocks, one after the other, can be read at `at`.
unsafe fn blocks(at: *const u8, counts: &[usize]) -> Vec<Vec<u8>> {
    let mut from = at;
    counts
        .iter()
        .map(|&n| {
            // SAFETY: the caller's promise.
            let block = unsafe { bytes(from, n) };
            from = from.wrapping_add(n);
            block
        })
        .collect()
}

macro_rules! combine_as {
    ($t:ty, $a:expr, $b:expr, $f:expr) => {{
        let (a, _) = $a.as_chunks_mut::<{ size_of::<$t>() }>();
        let (b, _) = $b.as_chunks::<{ size_of::<$t>() }>();
        for (a, b) in a.iter_mut().zip(b) {
            let f: fn($t, $t) -> $t = $f;
            *a = f(<$t>::from_ne_bytes(*a), <$t>::from_ne_bytes(*b)).to_ne_bytes();
        }
    }};
}

macro_rules! integers {
    ($t:ty, $a:expr, $b:expr, $fold:expr) => {
        match $fold {
            NetFold::Sum => combine_as!($t, $a, $b, |x, y| x.wrapping_add(y)),
            NetFold::Prod => combine_as!($t, $a, $b, |x, y| x.wrapping_mul(y)),
            NetFold::Min => combine_as!($t, $a, $b, |x, y| x.min(y)),
            NetFold::Max => combine_as!($t, $a, $b, |x, y| x.max(y)),
            NetFold::BitAnd => combine_as!($t, $a, $b, |x, y| x & y),
            NetFold::BitOr => combine_as!($t, $a, $b, |x, y| x | y),
            NetFold::BitXor => combine_as!($t, $a, $b, |x, y| x ^ y),
        }
    };
}

fn combine(a: &mut [u8], b: &[u8], number: NetNumber, fold: NetFold) {
    match (number, fold) {
        (NetNumber::I8, f) => integers!(i8, a, b, f),
        (NetNumber::I16, f) => integers!(i16, a, b, f),
        (NetNumber::I32, f) => integers!(i32, a, b, f),
        (NetNumber::I64, f) => integers!(i64, a, b, f),
        (NetNumber::U8, f) => integers!(u8, a, b, f),
        (NetNumber::U16, f) => integers!(u16, a, b, f),
        (NetNumber::U32, f) => integers!(u32, a, b, f),
        (NetNumber::U64, f) => integers!(u64, a, b, f),
        (NetNumber::F32, NetFold::Sum) => combine_as!(f32, a, b, |x, y| x + y),
        (NetNumber::F32, _) => combine_as!(f32, a, b, |x, y| x * y),
        (NetNumber::F64, NetFold::Sum) => combine_as!(f64, a, b, |x, y| x + y),
        (NetNumber::F64, _) => combine_as!(f64, a, b, |x, y| x * y),
    }
}

impl Pending for Waiting {
    fn test(&mut self) -> Result<bool, NetError> {
        if self.hub.failed.load(SeqCst) {
            return Err(NetError::new("another node has failed"));
        }
        if matches!(self.take, Take::Lost) {
            return Err(cut_cable());
        }
        let mut state = self.hub.state.lock().unwrap();
        if let Take::Message(from, tag, at, room) = self.take {
            let queue = state.messages.entry((self.group, from, self.node, tag)).or_default();
            let Some(message) = queue.pop_front() else { return Ok(false) };
            if message.len() > room {
                return Err(NetError::new("message truncated"));
            }
            // SAFETY: `start`'s caller keeps `room` bytes there until this is done.
            unsafe { put(at, &message) };
            return Ok(true);
        }
        if matches!(self.take, Take::Nothing) && self.kind == "send" {
            return Ok(true);
        }
        let key = (self.group, self.call);
        let (given, taken) = state.calls.get_mut(&key).expect("given by this node");
        if !given.iter().all(|g| g.as_ref().is_some_and(|g| g.kind == self.kind)) {
            return Ok(false);
        }
        let of = |j: usize| &given[j].as_ref().unwrap().blocks;
        // SAFETY: `start`'s caller keeps room for the bytes that this transfer delivers until
        // it is done, and its counts are those of the others.
        unsafe {
            match &self.take {
                Take::Root(root, to) => put(*to, &of(*root)[0]),
                Take::Part(root, to) => put(*to, &of(*root)[self.node]),
                Take::All(to, counts, own) => {
                    let mut to = *to;
                    for (j, &n) in counts.iter().enumerate() {
                        if j != self.node || *own {
                            if of(j)[0].len() != n {
                                return Err(NetError::new("block of another length"));
                            }
                            put(to, &of(j)[0]);
                        }
                        to = to.wrapping_add(n);
                    }
                }
                Take::Parts(to) => {
                    let mut to = *to;
                    for j in 0..given.len() {
                        put(to, &of(j)[self.node]);
                        to = to.wrapping_add(of(j)[self.node].len());
                    }
                }
                Take::Combined(to, number, fold) => {
                    let mut sum = of(0)[0].clone();
                    (1..given.len()).for_each(|j| combine(&mut sum, &of(j)[0], *number, *fold));
                    put(*to, &sum);
                }
                Take::Nothing | Take::Message(..) | Take::Lost => {}
            }
        }
        *taken += 1;
        if *taken == given.len() {
            state.calls.remove(&key);
        }
        Ok(true)
    }
}

// SAFETY: memory is written in `test` only; the copies are delivered.
unsafe impl Net for Memory {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn node(&self) -> usize {
        self.node
    }

    fn name(&self) -> String {
        format!("node {}", self.node)
    }

    fn tags(&self) -> usize {
        1 << 20
    }

    unsafe fn start(&self, transfer: Transfer<'_>) -> Result<Box<dyn Pending>, NetError> {
        let is_cut = self.hub.is_cut();
        if is_cut && !self.hub.is_late {
            return Err(cut_cable());
        }
        // SAFETY: the caller's promise about the transfer's memory, here and below.
        let one = |at: *const u8, n: usize| vec![unsafe { bytes(at, n) }];
        let (kind, given, take) = match transfer {
            Transfer::Broadcast { root, at, bytes } if root == self.node => {
                ("broadcast", one(at, bytes), Take::Nothing)
            }
            Transfer::Broadcast { root, at, .. } => ("broadcast", vec![], Take::Root(root, at)),
            Transfer::AllGather { all, counts } => {
                let start: usize = counts[..self.node].iter().sum();
                let mine = one(all.wrapping_add(start), counts[self.node]);
                ("all-gather", mine, Take::All(all, counts.to_vec(), false))
            }
            Transfer::Gather { root, mine, all, counts } => {
                let own = one(mine, counts[self.node]);
                if root == self.node {
                    ("gather", own, Take::All(all, counts.to_vec(), false))
                } else {
                    ("gather", own, Take::Nothing)
                }
            }
            Transfer::Scatter { root, all, counts, .. } if root == self.node => {
                // SAFETY: as above.
                ("scatter", unsafe { blocks(all, counts) }, Take::Nothing)
            }
            Transfer::Scatter { root, mine, .. } => ("scatter", vec![], Take::Part(root, mine)),
            Transfer::AllToAll { send, send_counts, recv, .. } => {
                // SAFETY: as above.
                ("all-to-all", unsafe { blocks(send, send_counts) }, Take::Parts(recv))
            }
            Transfer::AllReduce { at, count, number, fold } => {
                let mine = one(at, count * number.bytes());
                ("all-reduce", mine, Take::Combined(at, number, fold))
            }
            Transfer::Send { to, tag, at, bytes: n } => {
                let mut state = self.hub.state.lock().unwrap();
                let queue = state.messages.entry((self.group, self.node, to, tag)).or_default();
                // SAFETY: as above.
                queue.push_back(unsafe { bytes(at, n) });
                ("send", vec![], Take::Nothing)
            }
            Transfer::Recv { from, tag, at, bytes } => {
                ("recv", vec![], Take::Message(from, tag, at, bytes))
            }
            _ => return Err(NetError::new("not known")),
        };
        let mut call = 0;
        if !matches!(kind, "send" | "recv") {
            call = self.calls.fetch_add(1, SeqCst);
            let mut state = self.hub.state.lock().unwrap();
            let fresh = || (vec![None; self.nodes], 0);
            let (all, _) = state.calls.entry((self.group, call)).or_insert_with(fresh);
            all[self.node] = Some(Given { kind, blocks: given });
        }
        let (hub, group, node) = (self.hub.clone(), self.group, self.node);
        let take = if is_cut { Take::Lost } else { take };
        Ok(Box::new(Waiting { hub, group, call, node, kind, take }))
    }

    fn groups(
        &self,
        groups: &[Vec<usize>],
        pause: &mut dyn FnMut() -> Result<(), NetError>,
    ) -> Result<Vec<Option<Arc<dyn Net>>>, NetError> {
        if self.hub.is_cut() {
            return Err(cut_cable());
        }
        pause()?;
        let split = self.splits.fetch_add(1, SeqCst);
        let made = groups.iter().enumerate().map(|(i, members)| {
            let node = members.iter().position(|&n| n == self.node)?;
            let id =
                self.group.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((split << 20) | (i as u64 + 1));
            let net = Memory::new(&self.hub, id, members.len(), node, false);
            Some(Arc::new(net) as Arc<dyn Net>)
        });
        Ok(made.collect())
    }

    fn rail(&self, rail: usize) -> Option<Arc<dyn Net>> {
        let id = (1 << 40) | rail as u64;
        let net = Memory::new(&self.hub, id, self.nodes, self.node, false);
        self.rails.then(|| Arc::new(net) as Arc<dyn Net>)
    }

    fn abort(&self) {
        self.hub.failed.store(true, SeqCst);
        // All others hear of it before this rank says why.
        std::thread::sleep(Duration::from_millis(10));
    }
}
