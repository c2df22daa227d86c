//! MPI as a [`Net`]: each process is a node.
//!
//! Every transfer is started by a non-blocking call and then tested, so that a
//! waiting thread still sees its node fail and its deadline pass, and never holds
//! the lock that MPI_THREAD_SERIALIZED asks for while it waits. Lengths are cut
//! into pieces, as MPI counts with 31 bits.
//!
//! A transfer that is made of messages (gather, scatter, all-to-all, and more than a
//! piece) goes by a tag of its own, beyond those of the ranks' messages, and so does the making of
//! communicators (Open MPI does that by messages in the old one, which others would meet).

use crate::raw::{self, Handle, Request, check};
use mpi::ffi;
use phalanx_nodes::net::{Net, NetError, NetFold, NetNumber, Pending, Transfer};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// The exit code of a job that failed: that of a Rust program that panicked.
pub(crate) const FAILED: c_int = 101;

/// Tags for the making of communicators.
const MAKING: usize = 1024;

/// The right to call MPI, and the common part of all of a process' engines.
pub(crate) struct Calls {
    /// None if any thread may call at any time.
    one: Option<Mutex<()>>,
    /// Held while communicators are made.
    making: Mutex<bool>,
    /// The most bytes, or numbers, of one call of MPI's.
    pub(crate) piece: usize,
    name: String,
    nodes: usize,
    /// Communicators that are made, by the nodes of the world that they are of.
    made: Mutex<HashMap<Vec<usize>, Vec<Made>>>,
}

/// A communicator that was made for a group of nodes: it stays, and is used
/// again once all nodes have dropped theirs. (MPI has few, and freeing one is
/// a call of all its members.)
struct Made {
    comm: Handle,
    free: bool,
}

impl Calls {
    pub(crate) fn new(any: bool, piece: usize, nodes: usize, name: String) -> Self {
        let one = (!any).then(|| Mutex::new(()));
        let (making, made) = (Mutex::new(false), Mutex::new(HashMap::new()));
        Calls { one, making, piece, name, nodes, made }
    }

    /// To be held around every call of MPI's.
    pub(crate) fn enter(&self) -> Option<MutexGuard<'_, ()>> {
        self.one.as_ref().map(|one| one.lock().unwrap_or_else(|e| e.into_inner()))
    }

    /// The same for the end of the job, which does not wait for ever.
    fn enter_soon(&self) -> Option<MutexGuard<'_, ()>> {
        let since = Instant::now();
        while let Some(one) = &self.one {
            match one.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(e)) => return Some(e.into_inner()),
                Err(TryLockError::WouldBlock) if since.elapsed() > Duration::from_secs(1) => break,
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    /// Ends all processes.
    pub(crate) fn abort(&self) -> ! {
        let _one = self.enter_soon();
        raw::abort(FAILED)
    }
}

/// A group of processes.
pub(crate) struct Engine {
    comm: Handle,
    calls: Arc<Calls>,
    /// The members, as numbers in the world.
    members: Vec<usize>,
    node: usize,
    /// The largest tag, which is that of transfers made of messages. [`MAKING`] before it are for
    /// communicators in the making.
    largest_tag: usize,
    rails: Vec<Arc<Engine>>,
    /// In `Calls::made`, if it is from there.
    number: Option<usize>,
}

impl Engine {
    pub(crate) fn new(comm: Handle, calls: Arc<Calls>, rails: Vec<Arc<Engine>>) -> Self {
        let (n, node, largest_tag) = (comm.size(), comm.rank(), comm.largest_tag());
        let members = (0..n).collect();
        Engine { comm, calls, members, node, largest_tag, rails, number: None }
    }

    /// Whether this process may be aborted: alone, it fails by itself.
    fn is_a_job(&self) -> bool {
        self.calls.nodes > 1
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut made = self.calls.made.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(of) = made.get_mut(&self.members) {
            of[number].free = true;
        }
    }
}

/// Requests that are tested one after the other.
struct Requests {
    calls: Arc<Calls>,
    /// In the order in which they were made, last first.
    left: Vec<Request>,
    /// The counts that MPI reads until they are done.
    _counts: Vec<c_int>,
    aborts: bool,
}

impl Pending for Requests {
    fn test(&mut self) -> Result<bool, NetError> {
        let _one = self.calls.enter();
        while let Some(next) = self.left.last_mut() {
            if !next.test()? {
                return Ok(false);
            }
            self.left.pop();
        }
        Ok(true)
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        if !self.left.is_empty() && self.aborts {
            // MPI may still write to memory that is about to go.
            self.calls.abort();
        }
    }
}

/// Requests in the making.
struct Maker<'a> {
    engine: &'a Engine,
    made: Vec<Request>,
}

impl Maker<'_> {
    fn add(
        &mut self,
        what: &str,
        call: impl FnOnce(*mut ffi::MPI_Request) -> c_int,
    ) -> Result<(), NetError> {
        // SAFETY: a constant.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        check(what, call(&mut request))?;
        self.made.push(Request(request));
        Ok(())
    }

    /// Offsets and lengths of the pieces of `n`; none for nothing.
    fn pieces(&self, n: usize) -> impl Iterator<Item = (usize, c_int)> + use<> {
        let piece = self.engine.calls.piece;
        (0..n).step_by(piece).map(move |at| (at, piece.min(n - at) as c_int))
    }

    /// # Safety
    /// As `Net::start`.
    unsafe fn send(
        &mut self,
        to: usize,
        tag: usize,
        at: *const u8,
        n: usize,
    ) -> Result<(), NetError> {
        let comm = self.engine.comm.0;
        for (offset, len) in self.pieces(n) {
            let (at, to, tag) = (at.wrapping_add(offset).cast(), to as c_int, tag as c_int);
            // SAFETY: by the contract; `to` is a member.
            self.add("MPI_Isend", |r| unsafe {
                ffi::MPI_Isend(at, len, raw::byte(), to, tag, comm, r)
            })?;
        }
        Ok(())
    }

    /// # Safety
    /// As `Net::start`.
    unsafe fn recv(
        &mut self,
        from: usize,
        tag: usize,
        at: *mut u8,
        n: usize,
    ) -> Result<(), NetError> {
        let comm = self.engine.comm.0;
        for (offset, len) in self.pieces(n) {
            let (at, from, tag) = (at.wrapping_add(offset).cast(), from as c_int, tag as c_int);
            // SAFETY: by the contract; `from` is a member.
            self.add("MPI_Irecv", |r| unsafe {
                ffi::MPI_Irecv(at, len, raw::byte(), from, tag, comm, r)
            })?;
        }
        Ok(())
    }
}

/// Where each block begins.
fn starts(counts: &[usize]) -> Vec<usize> {
    let begins = counts.iter().scan(0, |end, n| {
        *end += n;
        Some(*end - n)
    });
    begins.collect()
}

// SAFETY: MPI touches the memory of its requests, until they are done; a request that is dropped
// before ends the process (`Requests`). MPI delivers the members' bytes: all of them are this
// program (`launch::same_program`).
unsafe impl Net for Engine {
    fn nodes(&self) -> usize {
        self.members.len()
    }

    fn node(&self) -> usize {
        self.node
    }

    fn name(&self) -> String {
        self.calls.name.clone()
    }

    fn tags(&self) -> usize {
        self.largest_tag - MAKING
    }

    unsafe fn start(&self, transfer: Transfer<'_>) -> Result<Box<dyn Pending>, NetError> {
        let _one = self.calls.enter();
        let comm = self.comm.0;
        let own_tag = self.largest_tag;
        let mut make = Maker { engine: self, made: Vec::new() };
        let mut kept: Vec<c_int> = Vec::new();
        // SAFETY: the contract, in all of it.
        unsafe {
            match transfer {
                Transfer::Broadcast { root, at, bytes } => {
                    for (offset, n) in make.pieces(bytes) {
                        let at = at.wrapping_add(offset).cast();
                        make.add("MPI_Ibcast", |r| {
                            ffi::MPI_Ibcast(at, n, raw::byte(), root as c_int, comm, r)
                        })?;
                    }
                }
                Transfer::AllReduce { at, count, number, fold } => {
                    let (of, by) = (raw::datatype(number), raw::operator(fold));
                    for (offset, n) in make.pieces(count) {
                        let at = at.wrapping_add(offset * number.bytes()).cast();
                        make.add("MPI_Iallreduce", |r| {
                            ffi::MPI_Iallreduce(raw::in_place(), at, n, of, by, comm, r)
                        })?;
                    }
                }
                Transfer::AllGather { all, counts } => {
                    let (begins, total) = (starts(counts), counts.iter().sum::<usize>());
                    if total == 0 {
                        // Where nothing is may be the address that Open MPI takes for "in place".
                    } else if total <= self.calls.piece {
                        let ints = |x: &[usize]| x.iter().map(|&n| n as c_int).collect();
                        let (mut lens, places): (Vec<c_int>, Vec<c_int>) =
                            (ints(counts), ints(&begins));
                        lens.extend(places);
                        kept = lens;
                        let places = kept[counts.len()..].as_ptr();
                        let (byte, lens, to) = (raw::byte(), kept.as_ptr(), all.cast());
                        make.add("MPI_Iallgatherv", |r| {
                            let from = raw::in_place();
                            ffi::MPI_Iallgatherv(from, 0, byte, to, lens, places, byte, comm, r)
                        })?;
                    } else {
                        let mine = all.wrapping_add(begins[self.node]);
                        for peer in (0..counts.len()).filter(|&peer| peer != self.node) {
                            let at = all.wrapping_add(begins[peer]);
                            make.recv(peer, own_tag, at, counts[peer])?;
                            make.send(peer, own_tag, mine, counts[self.node])?;
                        }
                    }
                }
                Transfer::Gather { root, mine, all, counts } => {
                    if self.node != root {
                        make.send(root, own_tag, mine, counts[self.node])?;
                    } else {
                        for (peer, begin) in starts(counts).into_iter().enumerate() {
                            if peer != root {
                                let at = all.wrapping_add(begin);
                                make.recv(peer, own_tag, at, counts[peer])?;
                            }
                        }
                    }
                }
                Transfer::Scatter { root, all, mine, counts } => {
                    if self.node != root {
                        make.recv(root, own_tag, mine, counts[self.node])?;
                    } else {
                        for (peer, begin) in starts(counts).into_iter().enumerate() {
                            if peer != root {
                                let at = all.wrapping_add(begin);
                                make.send(peer, own_tag, at, counts[peer])?;
                            }
                        }
                    }
                }
                Transfer::AllToAll { send, send_counts, recv, recv_counts } => {
                    let (from, to) = (starts(send_counts), starts(recv_counts));
                    let nodes = self.members.len();
                    for k in 1..nodes {
                        let (next, last) =
                            ((self.node + k) % nodes, (self.node + nodes - k) % nodes);
                        let at = recv.wrapping_add(to[last]);
                        make.recv(last, own_tag, at, recv_counts[last])?;
                        let at = send.wrapping_add(from[next]);
                        make.send(next, own_tag, at, send_counts[next])?;
                    }
                    let (from, to) = (from[self.node], to[self.node]);
                    let n = send_counts[self.node].min(recv_counts[self.node]);
                    std::ptr::copy_nonoverlapping(
                        send.wrapping_add(from),
                        recv.wrapping_add(to),
                        n,
                    );
                }
                Transfer::Send { to, tag, at, bytes } => make.send(to, tag, at, bytes)?,
                Transfer::Recv { from, tag, at, bytes } => make.recv(from, tag, at, bytes)?,
                _ => return Err(NetError::new("a transfer that this engine does not know")),
            }
        }
        let mut left = make.made;
        left.reverse();
        let (calls, aborts) = (self.calls.clone(), self.is_a_job());
        Ok(Box::new(Requests { calls, left, _counts: kept, aborts }))
    }

    fn groups(
        &self,
        groups: &[Vec<usize>],
        pause: &mut dyn FnMut() -> Result<(), NetError>,
    ) -> Result<Vec<Option<Arc<dyn Net>>>, NetError> {
        if groups.iter().all(Vec::is_empty) {
            return Ok(groups.iter().map(|_| None).collect());
        }
        // Making a communicator blocks, with the lock held; so of two groups of
        // threads that split at the same time, one has to be first on all nodes. A
        // node's turn is taken in the order of nodes, so nobody waits in a circle.
        self.chain(pause, |pause| {
            loop {
                let mut making = self.calls.making.lock().unwrap_or_else(|e| e.into_inner());
                if !std::mem::replace(&mut *making, true) {
                    return Ok(());
                }
                drop(making);
                pause()?;
            }
        })?;
        let made = self.make(groups, pause);
        *self.calls.making.lock().unwrap_or_else(|e| e.into_inner()) = false;
        made
    }

    fn rail(&self, rail: usize) -> Option<Arc<dyn Net>> {
        self.rails.get(rail).map(|rail| rail.clone() as Arc<dyn Net>)
    }

    fn abort(&self) {
        if self.is_a_job() {
            self.calls.abort();
        }
    }
}

type Pause<'a> = &'a mut dyn FnMut() -> Result<(), NetError>;

impl Engine {
    fn finish(&self, transfer: Transfer<'_>, pause: Pause<'_>) -> Result<(), NetError> {
        // SAFETY: all callers' memory outlives this call; if it ends early, the
        // request ends the process.
        let mut pending = unsafe { self.start(transfer)? };
        while !pending.test()? {
            pause()?;
        }
        Ok(())
    }

    /// Calls `take` on one node after the other.
    fn chain(
        &self,
        pause: Pause<'_>,
        take: impl FnOnce(Pause<'_>) -> Result<(), NetError>,
    ) -> Result<(), NetError> {
        let (node, last, tag) = (self.node, self.members.len() - 1, self.largest_tag);
        let mut word = [1u8];
        if node > 0 {
            let at = word.as_mut_ptr();
            self.finish(Transfer::Recv { from: node - 1, tag, at, bytes: 1 }, pause)?;
        }
        take(pause)?;
        if node < last {
            let at = word.as_ptr();
            self.finish(Transfer::Send { to: node + 1, tag, at, bytes: 1 }, pause)?;
        }
        Ok(())
    }

    /// The groups' engines. Nobody else makes any now, on no node of this one.
    fn make(
        &self,
        groups: &[Vec<usize>],
        pause: Pause<'_>,
    ) -> Result<Vec<Option<Arc<dyn Net>>>, NetError> {
        let worlds: Vec<Vec<usize>> =
            groups.iter().map(|g| g.iter().map(|&n| self.members[n]).collect()).collect();
        // A communicator that all members have made, and dropped, is used again: one of 64, of the
        // next 64 where more groups have the same nodes.
        let before = |i: usize| groups[..i].iter().filter(|g| **g == groups[i]).count();
        let from: Vec<usize> = (0..groups.len()).map(|i| before(i) / 64 * 64).collect();
        let mut free: Vec<u64> = {
            let made = self.calls.made.lock().unwrap_or_else(|e| e.into_inner());
            let bits = |of: &Vec<Made>, from: usize| {
                let free = of.iter().skip(from).take(64).enumerate().filter(|(_, m)| m.free);
                free.map(|(i, _)| 1u64 << i).sum()
            };
            let is_in = |g: &Vec<usize>| g.contains(&self.node);
            let own = |(i, group)| match is_in(group) {
                true => made.get(&worlds[i]).map_or(0, |of| bits(of, from[i])),
                false => u64::MAX,
            };
            groups.iter().enumerate().map(own).collect()
        };
        let (at, count) = (free.as_mut_ptr().cast(), free.len());
        let (number, fold) = (NetNumber::U64, NetFold::BitAnd);
        // Whoever is here has had its turn: all are in this call.
        self.finish(Transfer::AllReduce { at, count, number, fold }, pause)?;
        let mut engines: Vec<Option<Arc<dyn Net>>> = Vec::new();
        for (i, (group, world)) in groups.iter().zip(&worlds).enumerate() {
            let Some(node) = group.iter().position(|&n| n == self.node) else {
                engines.push(None);
                continue;
            };
            let mut made = self.calls.made.lock().unwrap_or_else(|e| e.into_inner());
            let of = made.entry(world.clone()).or_default();
            // (Groups of the same nodes take one after the other; all their nodes take the same.)
            let mut all = from[i]..of.len().min(from[i] + 64);
            let number = all.find(|&k| of[k].free && free[i] >> (k - from[i]) & 1 == 1);
            let number = match number {
                Some(number) => number,
                None => {
                    let members: Vec<c_int> = group.iter().map(|&n| n as c_int).collect();
                    let tag = (self.largest_tag - 1 - i % MAKING) as c_int;
                    let _one = self.calls.enter();
                    of.push(Made { comm: self.comm.group(&members, tag)?, free: false });
                    of.len() - 1
                }
            };
            of[number].free = false;
            let (comm, calls) = (of[number].comm, self.calls.clone());
            let (members, largest_tag) = (world.clone(), self.largest_tag);
            let (rails, number) = (Vec::new(), Some(number));
            let engine = Engine { comm, calls, members, node, largest_tag, rails, number };
            engines.push(Some(Arc::new(engine)));
        }
        Ok(engines)
    }
}
