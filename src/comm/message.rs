//! Point to point: send, receive, exchange.

use super::Comm;
use super::arguments::{CallAt, Checks};
use crate::element::Element;
use crate::exec::all_at_once::{get, put};
use crate::exec::copy;
use crate::mailbox::EAGER;
use crate::shared::{CallParams, PayloadKind, Port, Signature, Stop, WordBytes};
use std::panic::Location;

/// # Messages
impl Comm {
    /// Sends `data` to rank `to`, which [`recv`](Comm::recv)s it. Messages
    /// between two ranks arrive in the order in which they were sent.
    ///
    /// Messages of up to 1024 bytes are buffered: the call returns at once, unless eight are on
    /// their way. The receiver reads a longer message straight from `data`, and the call returns
    /// after that.
    ///
    /// **Must agree:** the element type and the length, with the receiver's.
    ///
    /// **Cost** `t_s + t_w m`, one copy; two for up to 1024 bytes.
    ///
    /// # Errors
    /// A rank that does not exist, or is this one, ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let mut x = [0.0; 3];
    ///     if comm.rank() == 0 {
    ///         comm.send(&[1.0, 2.0, 3.0], 1);
    ///     } else {
    ///         comm.recv(&mut x, 0);
    ///     }
    ///     x
    /// })?;
    /// assert_eq!(out[1], [1.0, 2.0, 3.0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn send<T: Element>(&mut self, data: &[T], to: usize) {
        let sig = const { &Signature::of::<T>("send", "to rank") };
        let wire = const { &Signature::of::<T>("message", "") };
        let at = Location::caller();
        if !self.check_peer(to, (sig, at), data.len()) {
            return;
        }
        let params = CallParams { parameter: to, ..CallParams::of(data.len()) };
        if !self.check_message((sig, at), params) {
            return;
        }
        let begun = self.port.begin_p2p(sig, wire, at, params);
        if size_of_val(data) <= EAGER && self.port.has_room(to) {
            self.port.post_copy_in_room(to, data.len(), size_of::<T>(), |body| {
                // SAFETY: there is room for `data`, which are not ours.
                unsafe { put(data, body) }
            });
            self.port.log_call(begun);
            return;
        }
        self.port.log_call(begun);
        let result = post(&mut self.port, data, to).and_then(|()| self.port.wait_all_acked());
        self.conclude(result);
    }

    /// Receives from rank `from` what it [`send`](Comm::send)s, into `data`.
    ///
    /// **Must agree:** the element type and the length, with the sender's.
    ///
    /// **Cost** `t_s + t_w m`, one copy, by this rank.
    ///
    /// # Errors
    /// A rank that does not exist, or is this one, ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     // A relay: 0 -> 1 -> 2.
    ///     let mut x = [5u8; 100];
    ///     if comm.rank() > 0 {
    ///         comm.recv(&mut x, comm.rank() - 1);
    ///         x[0] += 1;
    ///     }
    ///     if comm.rank() + 1 < comm.size() {
    ///         comm.send(&x, comm.rank() + 1);
    ///     }
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [5, 6, 7]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn recv<T: Element>(&mut self, data: &mut [T], from: usize) {
        let sig = const { &Signature::of::<T>("recv", "from rank") };
        let wire = const { &Signature::of::<T>("message", "") };
        let at = Location::caller();
        if self.check_peer(from, (sig, at), data.len())
            && self.enter_p2p(sig, wire, at, data.len(), from)
        {
            let result = take(&mut self.port, data, from);
            self.conclude(result);
        }
    }

    /// Sends `send` to rank `to` and receives `recv` from rank `from`, both at
    /// once: what neighbours in a ring do to each other without deadlock.
    ///
    /// **Must agree:** each message's element type and length, between its two
    /// ends. The other end may use `send`, `recv` or `exchange`.
    ///
    /// **Cost** `t_s + t_w m`, one copy, by this rank.
    ///
    /// # Errors
    /// A rank that does not exist ends the run, and so does an exchange with
    /// this rank itself on one side only.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (r, p) = (comm.rank(), comm.size());
    ///     let mut got = [0; 10];
    ///     comm.exchange(&[r; 10], (r + 1) % p, &mut got, (r + p - 1) % p);
    ///     got[9]
    /// })?;
    /// assert_eq!(out, [2, 0, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn exchange<T: Element>(&mut self, send: &[T], to: usize, recv: &mut [T], from: usize) {
        let sig = const { &Signature::of::<T>("exchange", "to rank") };
        let wire = const { &Signature::of::<T>("message", "") };
        let at = Location::caller();
        if to == self.rank() && from == to {
            if self.check_len("the output", recv.len(), Some(send.len()), (sig, at), send.len())
                && self.enter_p2p(sig, wire, at, send.len(), to)
            {
                recv.copy_from_slice(send);
            }
            return;
        }
        if self.check_peer(to, (sig, at), send.len())
            && self.check_peer(from, (sig, at), recv.len())
            && self.enter_p2p(sig, wire, at, send.len(), to)
        {
            let result = post(&mut self.port, send, to)
                .and_then(|()| take(&mut self.port, recv, from))
                .and_then(|()| self.port.wait_all_acked());
            self.conclude(result);
        }
    }

    #[inline(always)]
    pub(super) fn enter_p2p(
        &mut self,
        sig: &'static Signature,
        wire: &'static Signature,
        at: &'static Location<'static>,
        len: usize,
        peer: usize,
    ) -> bool {
        let params = CallParams { parameter: peer, ..CallParams::of(len) };
        let admitted = self.check_message((sig, at), params);
        if admitted {
            let begun = self.port.begin_p2p(sig, wire, at, params);
            self.port.log_call(begun);
        }
        admitted
    }

    #[inline(always)]
    fn check_peer(&mut self, peer: usize, (sig, at): CallAt, len: usize) -> bool {
        if peer != self.rank() {
            return self.check_rank("rank", peer, (sig, at), len);
        }
        self.refuse_own(peer, (sig, at), len)
    }

    #[cold]
    fn refuse_own(&mut self, peer: usize, (sig, at): CallAt, len: usize) -> bool {
        let what = format!("a message of rank {peer} to itself would never arrive");
        self.wrong((sig, at), len, what);
        false
    }

    /// Ends a call. No user code runs inside these calls, so only an error
    /// can leave a message behind that describes our memory.
    #[inline(always)]
    fn conclude(&mut self, result: Result<(), Stop>) {
        if let Err(stop) = result {
            self.stop(stop);
        }
    }
}

#[inline(always)]
fn post<T: Element>(port: &mut Port, data: &[T], to: usize) -> Result<(), Stop> {
    let bytes = size_of_val(data);
    if bytes <= EAGER {
        port.post_copy(to, data.len(), size_of::<T>(), |body| {
            // SAFETY: there is room for `data`, which are not ours.
            unsafe { put(data, body) }
        })
    } else {
        let words = WordBytes { at: data.as_ptr().cast(), count: 1, len: data.len() };
        port.post_words(to, PayloadKind::SLICE, words)
    }
}

#[inline(always)]
fn take<T: Element>(port: &mut Port, data: &mut [T], from: usize) -> Result<(), Stop> {
    let bytes = size_of_val(data);
    if bytes <= EAGER {
        port.take_copy(from, data.len(), size_of::<T>(), |body| {
            // SAFETY: the sender wrote as many elements of the same type
            // (fingerprint and length agree).
            unsafe { get(body, data) }
        })
    } else {
        port.take_words(from, data.len(), |_, words| {
            // SAFETY: the sender posted a slice of as many elements of the
            // same type (fingerprint and length agree), and keeps it until we
            // consume; `post` sends no lists.
            unsafe { copy(data.as_mut_ptr().cast(), words.at, bytes) }
        })?;
        port.record_end();
        Ok(())
    }
}
