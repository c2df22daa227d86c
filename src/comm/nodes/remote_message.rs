//! Messages between ranks of several nodes: on one node by the mailboxes, between nodes by the
//! network, in the thread of the sender or receiver.
//!
//! A message to another node begins with a header (fingerprint, length); up to
//! [`EAGER`] bytes travel with it, more follow under the same tag, into the
//! receiver's buffer. A tag names both threads, so that each pair has its order.

use super::{Comm, LocalStep, barrier};
use crate::comm::message::SendCall;
use crate::element::Element;
use crate::exec::Kernel;
use crate::fabric::{PayloadKind, Signature, Stop, WordBytes};
use crate::mailbox::EAGER;
use crate::net::{Pending, Transfer};
use crate::sync::diagnostic::Ordering::Relaxed;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::mem::MaybeUninit;
use std::panic::Location;

/// A message's beginning, or all of it.
#[repr(C, align(16))]
struct First {
    digest: [u64; 2],
    elements: u64,
    size: u64,
    body: [MaybeUninit<u8>; EAGER],
}

/// Bytes before the body.
const HEADER: usize = 32;
const _: () = assert!(size_of::<First>() == HEADER + EAGER);

impl First {
    fn new(digest: [u64; 2], elements: usize, size: usize) -> Box<First> {
        let body = [MaybeUninit::uninit(); EAGER];
        Box::new(First { digest, elements: elements as u64, size: size as u64, body })
    }
}

/// A transfer, and what is sent by it if that is not the caller's.
type Sent = (Box<dyn Pending>, Option<Box<First>>);

/// Messages of one call.
pub(in crate::comm) struct Wire<'n, 'a> {
    node: &'n mut LocalStep<'a>,
    digest: [u64; 2],
    /// On their way, with what is sent.
    sends: Vec<Sent>,
    /// Whether user code may run between its messages.
    user_code: bool,
    finished: bool,
}

impl<'n, 'a> Wire<'n, 'a> {
    /// `wire` is what both ends agree about; `parameter`, too.
    pub(super) fn new(node: &'n mut LocalStep<'a>, wire: &Signature, parameter: usize) -> Self {
        let digest = [0u64, 1].map(|seed| {
            let mut h = DefaultHasher::new();
            (seed, wire.meets, wire.element(), parameter).hash(&mut h);
            h.finish()
        });
        Wire { node, digest, sends: Vec::new(), user_code: false, finished: false }
    }

    /// The same where user code runs between the messages, which may use other
    /// communicators of the rank.
    fn around_user_code(node: &'n mut LocalStep<'a>, wire: &Signature) -> Self {
        node.comm.port.enter_user_code();
        let mut wire = Wire::new(node, wire, 0);
        wire.user_code = true;
        wire
    }

    /// A number for the messages from rank `from` to rank `to`.
    fn tag(&self, from: usize, to: usize) -> usize {
        let layout = self.node.layout();
        layout.place(from).1 * layout.most() + layout.place(to).1
    }

    fn count(&self, more: bool) {
        if let Some(job) = &self.node.comm.job {
            let one = if more { 1 } else { u64::MAX };
            job.balance.fetch_add(one, Relaxed);
        }
    }

    /// Sends `n` elements of `size` bytes to rank `peer`.
    ///
    /// # Safety
    /// They are valid for reads, of the type that the fingerprint of the call in
    /// progress says, until `finish`.
    pub(in crate::comm) unsafe fn post(
        &mut self,
        peer: usize,
        data: *const u8,
        n: usize,
        size: usize,
    ) {
        let (to, local) = self.node.layout().place(peer);
        let bytes = n * size;
        if to == self.node.node() {
            let port = &mut self.node.comm.port;
            let result = if bytes <= EAGER {
                port.post_copy(local, n, size, |body| {
                    // SAFETY: there is room for `bytes`; they are valid by the
                    // contract.
                    unsafe { std::ptr::copy_nonoverlapping(data, body, bytes) }
                })
            } else {
                port.post_words(
                    local,
                    PayloadKind::SLICE,
                    WordBytes { at: data.cast(), count: 1, len: n },
                )
            };
            return self.or_stop(result);
        }
        let mut first = First::new(self.digest, n, size);
        let inline = bytes <= EAGER;
        if inline {
            // SAFETY: as above.
            unsafe {
                std::ptr::copy_nonoverlapping(data, first.body.as_mut_ptr().cast(), bytes);
            }
        }
        let tag = self.tag(self.node.node_group().rank, peer);
        let (at, length) = (std::ptr::from_ref(&*first).cast(), if inline { bytes } else { 0 });
        let transfer = Transfer::Send { to, tag, at, bytes: HEADER + length };
        let pending = self.node.begin(None, transfer);
        self.sends.push((pending, Some(first)));
        if !inline {
            let rest = self.node.begin(None, Transfer::Send { to, tag, at: data, bytes });
            self.sends.push((rest, None));
        }
        self.count(true);
    }

    /// Receives what `post` sends.
    ///
    /// # Safety
    /// As `post`, for writes.
    pub(in crate::comm) unsafe fn take(
        &mut self,
        peer: usize,
        data: *mut u8,
        n: usize,
        size: usize,
    ) {
        let (from, local) = self.node.layout().place(peer);
        let bytes = n * size;
        if from == self.node.node() {
            let port = &mut self.node.comm.port;
            let result = if bytes <= EAGER {
                port.take_copy(local, n, size, |body| {
                    // SAFETY: the sender wrote as many elements of the same type
                    // (fingerprint and length agree).
                    unsafe { std::ptr::copy_nonoverlapping(body, data, bytes) }
                })
            } else {
                port.take_words(local, n, |_, words| {
                    // SAFETY: the sender posted a slice of as many elements of the
                    // same type, and keeps it until we consume.
                    unsafe { std::ptr::copy_nonoverlapping(words.at.cast(), data, bytes) }
                })
            };
            return self.or_stop(result);
        }
        let mut first = First::new([0; 2], 0, 0);
        let tag = self.tag(peer, self.node.node_group().rank);
        let at = std::ptr::from_mut(&mut *first).cast();
        let transfer = Transfer::Recv { from, tag, at, bytes: size_of::<First>() };
        let pending = self.node.begin(None, transfer);
        self.node.wait(pending);
        if first.digest != self.digest {
            let what = format!("rank {peer} has sent another element type, or in another call");
            self.node.fail(&what);
        }
        if first.elements != n as u64 || first.size != size as u64 {
            let got = first.elements;
            self.node.fail(&format!("length of rank {peer}'s message: expected {n}, got {got}"));
        }
        if bytes <= EAGER {
            // SAFETY: so many bytes of the same type came with it.
            unsafe { std::ptr::copy_nonoverlapping(first.body.as_ptr().cast(), data, bytes) };
        } else {
            self.node.transfer(Transfer::Recv { from, tag, at: data, bytes });
        }
        self.count(false);
    }

    /// Waits until what was posted is read, or on its way.
    pub(super) fn finish(mut self) {
        for (pending, first) in std::mem::take(&mut self.sends) {
            self.node.wait(pending);
            drop(first);
        }
        let result = self.node.comm.port.wait_all_acked();
        self.or_stop(result);
        self.finished = true;
    }

    /// Ends the run: what came from `peer` does not fit.
    pub(in crate::comm) fn differs(&mut self, peer: usize, what: &str) -> ! {
        self.node.fail(&format!("rank {peer}: {what}"))
    }

    fn or_stop(&mut self, result: Result<(), Stop>) {
        if let Err(stop) = result {
            self.node.comm.stop_for_good(stop);
        }
    }
}

impl Drop for Wire<'_, '_> {
    fn drop(&mut self) {
        if self.user_code {
            self.node.comm.port.leave_user_code();
        }
        if self.finished {
            return;
        }
        // What ends the call here, a panic of the user's code among them, may free
        // what was posted: neither the network nor this node's ranks may be reading
        // it then.
        if !self.node.comm.port.is_dead() {
            let call = self.node.call.sig().call;
            let why = format!("rank {} has panicked in {call}", self.node.node_group().rank);
            self.node.comm.end_job(Some(&why));
        }
        self.sends.clear();
        self.node.comm.port.quiesce();
    }
}

impl LocalStep<'_> {
    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn shift(&mut self, kernel: &Kernel<'_>, output: *mut u8) {
        let super::Partition::Vector(n) = self.call.cut() else { unreachable!("a vector") };
        self.pause();
        if self.is_leader() {
            self.agree_while(None);
        }
        let (p, rank, by) = (self.layout().ranks(), self.node_group().rank, self.call.distance());
        if by == 0 {
            return;
        }
        let (to, from) = ((rank + by) % p, (rank + p - by) % p);
        let copy = self.memory(0, n * kernel.size(), kernel);
        let sig = self.call.sig();
        // SAFETY: in place, by the contract; the copy is sent.
        unsafe {
            kernel.copy(copy, output, n);
            let mut wire = Wire::new(self, sig, by);
            wire.post(to, copy, n, kernel.size());
            wire.take(from, output, n, kernel.size());
            wire.finish();
        }
    }
}

impl Comm {
    /// A call that exchanges messages, whose first part is entered as a collective
    /// call of this node's ranks. What `exchange` puts into its list is kept until
    /// all is sent, or nobody reads it any more; it may run user code.
    pub(in crate::comm) fn messages_wide<K>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        len: usize,
        exchange: impl FnOnce(&mut Wire<'_, '_>, &mut Vec<K>),
    ) {
        let call = barrier(sig, at).of_length(len);
        // Before the wire, so that it outlives it.
        let mut kept = Vec::new();
        let mut node = self.aside(&call);
        let mut wire = Wire::around_user_code(&mut node, sig);
        exchange(&mut wire, &mut kept);
        wire.finish();
    }

    /// Sends, receives, or both, on ranks of several nodes. The call is entered.
    #[cold]
    #[inline(never)]
    pub(in crate::comm) fn exchange_between_nodes<T: Element>(
        &mut self,
        caller: SendCall,
        send: Option<(&[T], usize)>,
        recv: Option<(&mut [T], usize)>,
    ) {
        let len = send.map_or_else(|| recv.as_ref().map_or(0, |r| r.0.len()), |s| s.0.len());
        let call = barrier(caller.sig, caller.at).of_length(len);
        let mut node = self.aside(&call);
        let mut wire = Wire::new(&mut node, caller.wire, 0);
        // SAFETY: both are borrowed for the call.
        unsafe {
            if let Some((data, to)) = send {
                wire.post(to, data.as_ptr().cast(), data.len(), size_of::<T>());
            }
            if let Some((data, from)) = recv {
                wire.take(from, data.as_mut_ptr().cast(), data.len(), size_of::<T>());
            }
        }
        wire.finish();
    }
}
