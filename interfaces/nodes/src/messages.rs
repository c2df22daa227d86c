//! Messages between ranks of several nodes: on one node by its communicator, between nodes by the
//! network, in the thread of the sender or receiver.
//!
//! A message to another node begins with a header (digest, length, line); up to [`EAGER`] bytes
//! travel with it, more follow under the same tag, into the receiver's buffer. A tag names both
//! threads, so that each pair has its order.
//!
//! A part that goes by the network is started first and waited for last. So a rank that waits for
//! one of its own node, which is in such a call, too, never waits for the network by that.

use crate::call::NodeCall;
use crate::net::{Pending, Transfer};
use crate::node_comm::{NodeComm, of_comm};
use crate::origin::Origin;
use crate::steps::Steps;
use phalanx::Element;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes that travel with a header; with it not more than a receive may have room for in vain.
const EAGER: usize = 1024;

/// A message's beginning, or all of it.
#[repr(C, align(16))]
struct First {
    digest: [u64; 2],
    elements: u64,
    size: u64,
    /// The word that the receiver compares by itself.
    word: u64,
    /// For errors.
    origin: Origin,
    body: [MaybeUninit<u8>; EAGER],
}

/// Bytes before the body.
const HEADER: usize = 144;
const _: () = assert!(size_of::<First>() == HEADER + EAGER);

/// The facts that a message's ends agree about but for its length.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub(crate) digest: [u64; 2],
    pub(crate) word: u64,
}

/// A part of a message on its way, and the memory that is read or written meanwhile if that is not
/// the caller's.
pub(crate) struct Underway {
    pending: Box<dyn Pending>,
    first: Option<Box<First>>,
}

impl Steps<'_> {
    /// A number for the messages from rank `from` to rank `to`.
    fn tag(&self, from: usize, to: usize) -> usize {
        let layout = self.layout();
        layout.place(from).1 * layout.most() + layout.place(to).1
    }

    /// The number on this node of a rank, if it is there.
    pub(crate) fn place_here(&self, rank: usize) -> Option<usize> {
        let (node, place) = self.layout().place(rank);
        (node == self.node()).then_some(place)
    }

    /// Starts a message to a rank of another node.
    ///
    /// # Safety
    /// The data are borrowed until the results are dropped.
    pub(crate) unsafe fn post<T: Element>(
        &mut self,
        peer: usize,
        data: &[T],
        Label { digest, word }: Label,
    ) -> Vec<Underway> {
        let ((to, _), tag) = (self.layout().place(peer), self.tag(self.group.rank, peer));
        let (elements, bytes) = (data.len() as u64, size_of_val(data));
        let (size, body) = (size_of::<T>() as u64, [MaybeUninit::uninit(); EAGER]);
        let origin = Origin::of(&self.call);
        let mut first = Box::new(First { digest, elements, size, word, origin, body });
        let inline = if bytes <= EAGER { bytes } else { 0 };
        // SAFETY: there is room for so many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr().cast(), first.body.as_mut_ptr(), inline)
        }
        let at = std::ptr::from_ref(&*first).cast();
        // SAFETY: kept beside the transfer.
        let pending =
            unsafe { self.begin(None, Transfer::Send { to, tag, at, bytes: HEADER + inline }) };
        let mut underway = vec![Underway { pending, first: Some(first) }];
        if bytes > EAGER {
            let at = data.as_ptr().cast();
            // SAFETY: by the contract.
            let pending = unsafe { self.begin(None, Transfer::Send { to, tag, at, bytes }) };
            underway.push(Underway { pending, first: None });
        }
        self.job.balance.fetch_add(1, Relaxed);
        underway
    }

    /// Starts to receive from a rank of another node.
    pub(crate) fn begin_take(&mut self, peer: usize) -> Underway {
        let ((from, _), tag) = (self.layout().place(peer), self.tag(peer, self.group.rank));
        let (digest, body) = ([0; 2], [MaybeUninit::uninit(); EAGER]);
        let origin = Origin::NONE;
        let mut first = Box::new(First { digest, elements: 0, size: 0, word: 0, origin, body });
        let at = std::ptr::from_mut(&mut *first).cast();
        // SAFETY: kept beside the transfer.
        let pending = unsafe {
            self.begin(None, Transfer::Recv { from, tag, at, bytes: size_of::<First>() })
        };
        Underway { pending, first: Some(first) }
    }

    /// Receives the message that `post` sends; where it comes from, if its word is not the label's.
    pub(crate) fn take<T: Element>(
        &mut self,
        underway: Underway,
        peer: usize,
        data: &mut [T],
        label: Label,
    ) -> Result<(), Origin> {
        let Underway { pending, first } = underway;
        self.wait(pending);
        let first = first.expect("a message begins with a header");
        let origin = first.origin;
        if first.digest != label.digest {
            let what = "has sent another element type, or in another call";
            self.fail(&format!("rank {peer} {what}: {origin}"));
        }
        let n = data.len();
        if (first.elements, first.size) != (n as u64, size_of::<T>() as u64) {
            self.fail_for_length(peer, (n, first.elements), origin);
        }
        let (bytes, at) = (size_of_val(data), data.as_mut_ptr().cast());
        if bytes <= EAGER {
            // SAFETY: so many bytes of the same type came with it.
            unsafe { std::ptr::copy_nonoverlapping(first.body.as_ptr().cast::<u8>(), at, bytes) };
        } else {
            let ((from, _), tag) = (self.layout().place(peer), self.tag(peer, self.group.rank));
            // SAFETY: borrowed here; elements of the same type come.
            let pending = unsafe { self.begin(None, Transfer::Recv { from, tag, at, bytes }) };
            self.wait(pending);
        }
        self.job.balance.fetch_sub(1, Relaxed);
        if first.word == label.word { Ok(()) } else { Err(origin) }
    }

    /// Ends the run: a message has another length than is expected.
    #[cold]
    pub(crate) fn fail_for_length(
        &mut self,
        peer: usize,
        (expected, got): (usize, u64),
        from: Origin,
    ) -> ! {
        let what = format!("expected {expected}, got {got}, of {from}");
        self.fail(&format!("length of rank {peer}'s message: {what}"))
    }

    /// Waits until the posted parts are on their way.
    pub(crate) fn finish(&mut self, posted: Vec<Underway>) {
        for Underway { pending, first } in posted {
            self.wait(pending);
            drop(first);
        }
    }

    /// Sends, receives, or both.
    #[track_caller]
    fn exchange<T: Element>(
        &mut self,
        send: Option<(&[T], usize)>,
        recv: Option<(&mut [T], usize)>,
        label: Label,
    ) {
        let to = send.map(|(data, peer)| (data, peer, self.place_here(peer)));
        let from = recv.map(|(data, peer)| (peer, self.place_here(peer), data));
        let (mut posted, mut taking) = (Vec::new(), None);
        if matches!(to, Some((_, _, None))) || matches!(from, Some((_, None, _))) {
            self.comm.check(); // What goes to the node's ranks is checked there.
        }
        if let Some((data, peer, None)) = to {
            // SAFETY: borrowed for the call, which waits for it or drops it.
            posted = unsafe { self.post(peer, data, label) };
        }
        if let Some((peer, None, _)) = from {
            taking = Some(self.begin_take(peer));
        }
        match (to, from) {
            (Some((data, _, Some(to))), Some((_, Some(from), room))) => {
                self.comm.exchange(data, to, room, from);
            }
            (to, from) => {
                if let Some((data, _, Some(to))) = to {
                    self.comm.send(data, to);
                }
                match (from, taking) {
                    (Some((peer, _, room)), Some(taking)) => {
                        // (Its word is in all of them.)
                        let _ = self.take(taking, peer, room, label);
                    }
                    (Some((_, Some(from), room)), _) => self.comm.recv(room, from),
                    _ => (),
                }
            }
        }
        self.finish(posted);
    }

    fn message_label(&self) -> Label {
        Label { digest: self.call.message_digest("message", 0), word: 0 }
    }

    fn check_peer(&mut self, peer: usize) {
        if peer == self.group.rank {
            self.refuse(format!("a message of rank {peer} to itself would never arrive"));
        }
        self.check_rank("rank", peer);
    }

    #[track_caller]
    pub(crate) fn shift<T: Element>(&mut self, buf: &mut [T], by: usize) {
        self.comm.barrier();
        if self.is_leader() {
            self.agree();
        }
        if by == 0 {
            return;
        }
        let (p, rank, copy) = (self.layout().ranks(), self.group.rank, buf.to_vec());
        let (to, from) = ((rank + by) % p, (rank + p - by) % p);
        let label = Label { digest: self.call.message_digest("shift", by), word: 0 };
        self.exchange(Some((&copy, to)), Some((buf, from)), label);
    }
}

impl NodeComm<'_> {
    #[doc = of_comm!("send",
        "phalanx_nodes::run(2, |comm| match comm.rank() {",
        "    0 => comm.send(&[1, 2], 1),",
        "    _ => comm.recv(&mut [0; 2], 0),",
        "})?;")]
    ///
    /// **Cost** to another node one message of the network's, beyond 1 KiB two.
    #[track_caller]
    pub fn send<T: Element>(&mut self, data: &[T], to: usize) {
        let call = NodeCall::of::<T>("send", data.len()).with("to rank", to);
        if let Some(mut steps) = self.aside(call) {
            steps.check_peer(to);
            let label = steps.message_label();
            return steps.exchange(Some((data, to)), None, label);
        }
        self.here().send(data, to);
    }

    #[doc = of_comm!("recv",
        "phalanx_nodes::run(2, |comm| match comm.rank() {",
        "    0 => comm.send(&[1, 2], 1),",
        "    _ => comm.recv(&mut [0; 2], 0),",
        "})?;")]
    #[track_caller]
    pub fn recv<T: Element>(&mut self, data: &mut [T], from: usize) {
        let call = NodeCall::of::<T>("recv", data.len()).with("from rank", from);
        if let Some(mut steps) = self.aside(call) {
            steps.check_peer(from);
            let label = steps.message_label();
            return steps.exchange(None, Some((data, from)), label);
        }
        self.here().recv(data, from);
    }

    #[doc = of_comm!("exchange",
        "let out = phalanx_nodes::run(2, |comm| {",
        "    let (peer, mut got) = (1 - comm.rank(), [0]);",
        "    comm.exchange(&[comm.rank()], peer, &mut got, peer);",
        "    got[0]",
        "})?;",
        "assert_eq!(out, [1, 0]);")]
    #[track_caller]
    pub fn exchange<T: Element>(&mut self, send: &[T], to: usize, recv: &mut [T], from: usize) {
        let call = NodeCall::of::<T>("exchange", send.len()).with("to rank", to);
        if let Some(mut steps) = self.aside(call) {
            if to == steps.group.rank && from == to {
                steps.check_len("the output", recv.len(), Some(send.len()));
                return recv.copy_from_slice(send);
            }
            steps.check_peer(to);
            steps.check_peer(from);
            let label = steps.message_label();
            return steps.exchange(Some((send, to)), Some((recv, from)), label);
        }
        self.here().exchange(send, to, recv, from);
    }
}
