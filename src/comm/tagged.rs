//! Tagged messages: send and receive by source and tag, probe, owned values.

use super::arguments::Checks;
use super::tagged_call::TaggedCall;
use super::{Comm, Source, Status, Tag};
use crate::element::Element;
use crate::exec::copy;
use crate::shared::{KEPT_UP_TO, MessageLabel, ReceiveRoom, Signature};
use std::panic::Location;

impl Comm {
    /// Sends `data` to rank `to`, with a tag by which it is asked for:
    /// [`recv_tagged`](Comm::recv_tagged), [`recv_vec`](Comm::recv_vec).
    ///
    /// Messages from one rank to another that one receive fits are received in the order in which
    /// they were sent. Messages with other tags may be received before them.
    ///
    /// Messages of up to 16 KiB are copied, and the call returns at once, unless 64 MiB have come
    /// to the receiver that it has not asked for yet: then it waits for the receiver, which, if it
    /// has started a short receive, looks at its next call. A longer message is read straight from
    /// `data`, and the call returns once the receiver has asked for it. (A request does not wait.)
    ///
    /// **Tagged messages and plain ones do not meet**: only [`recv`](Comm::recv) and
    /// [`exchange`](Comm::exchange) receive messages of [`send`](Comm::send). A rank that waits for
    /// the one while its peer has sent the other gets an error with both lines, as soon as its peer
    /// returns or waits for it; else the team's deadline ends the run.
    ///
    /// A message to the own rank is received by it later; it must be one that is copied.
    ///
    /// **Must agree:** the element type, with the receiver's. The receiver's buffer may be longer,
    /// not shorter.
    ///
    /// **Cost** `t_s + t_w m`; one copy if the receiver waits already or the message is longer than
    /// 16 KiB, else two.
    ///
    /// # Errors
    /// A rank that does not exist ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let (mut mesh, mut mass) = ([0u32; 2], [0.0; 3]);
    ///     if comm.rank() == 0 {
    ///         comm.send_tagged(&[8u32, 9], 1, 1);
    ///         comm.send_tagged(&[1.0, 2.0], 1, 2);
    ///     } else {
    ///         let status = comm.recv_tagged(&mut mass, 0, 2); // not the first that came
    ///         assert_eq!((status.source, status.tag, status.len), (0, 2, 2));
    ///         comm.recv_tagged(&mut mesh, 0, 1);
    ///     }
    ///     (mesh, mass)
    /// })?;
    /// assert_eq!(out[1], ([8, 9], [1.0, 2.0, 0.0]));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn send_tagged<T: Element>(&mut self, data: &[T], to: usize, tag: u32) {
        let sig = const { &Signature::of::<T>("send_tagged", "to rank") };
        let at = Location::caller();
        let call = TaggedCall { sig, at, len: data.len(), peer: Some(to), tag: Some(tag) };
        if !self.enter_tagged(&call) {
            return;
        }
        let memory = (data.as_ptr().cast(), size_of_val(data));
        // SAFETY: `data` stays borrowed until this call ends, which is when the ticket is done, or
        // the port has quiesced; `copy` copies any elements.
        let sent = unsafe { self.port.send_tagged(to, tag, call.label::<T>(false), memory, copy) };
        match sent {
            Ok(None) => {}
            Ok(Some(ticket)) if to == self.port.rank() => {
                self.port.open_ticket(to, &ticket);
                self.refuse_to_wait_for_own(&call, true);
            }
            Ok(Some(ticket)) => {
                if let Err(stop) = self.port.await_ticket(to, Some(to), &ticket) {
                    self.stop(stop);
                }
            }
            Err(stop) => self.stop(stop),
        }
    }

    /// Receives, into the beginning of `data`, the first message that has come from `from` with
    /// `tag`, either of which may be any; waits for it if there is none.
    ///
    /// [`Source::Any`] gives up run-to-run order: see there.
    ///
    /// **Must agree:** the element type, with the sender's.
    ///
    /// **Cost** `t_s + t_w m`; see [`send_tagged`](Comm::send_tagged).
    ///
    /// # Errors
    /// A message longer than `data`, or of another type, ends the run with an
    /// [`Error::Mismatch`](crate::Error::Mismatch) that names both ranks and both lines. So does a
    /// rank that does not exist. A wait for any source ends with
    /// [`Error::Left`](crate::Error::Left) once all other ranks have returned, and with
    /// [`Error::Deadlock`](crate::Error::Deadlock) once all others wait as well, in vain.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Source, Tag};
    /// let out = phalanx::run(4, |comm| {
    ///     let (rank, mut sum) = (comm.rank() as u64, 0);
    ///     if rank > 0 {
    ///         comm.send_tagged(&[rank * rank], 0, rank as u32);
    ///     }
    ///     for _ in 1..if rank == 0 { 4 } else { 1 } {
    ///         let mut x = [0];
    ///         let status = comm.recv_tagged(&mut x, Source::Any, Tag::Any);
    ///         assert_eq!(x[0], (status.source * status.source) as u64);
    ///         sum += x[0];
    ///     }
    ///     sum
    /// })?;
    /// assert_eq!(out[0], 14);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn recv_tagged<T: Element>(
        &mut self,
        data: &mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Status {
        let sig = const { &Signature::of::<T>("recv_tagged", "from rank") };
        let (peer, tag) = (from.into().rank(), tag.into().number());
        let call = TaggedCall { sig, at: Location::caller(), len: data.len(), peer, tag };
        if !self.enter_tagged(&call) {
            self.nothing_to_return();
        }
        // SAFETY: `data` is borrowed for as long as this call lasts, and has so many elements.
        unsafe { self.take_tagged::<T>(&call, data.as_mut_ptr()) }
    }

    /// Receives elements of `call`, which is on record, at `to`.
    ///
    /// # Safety
    /// The call's number of elements can be written at `to`; nobody else uses them until the
    /// function returns or unwinds.
    #[inline]
    unsafe fn take_tagged<T: Element>(&mut self, call: &TaggedCall, to: *mut T) -> Status {
        let room = ReceiveRoom { label: call.label::<T>(false), at: to.cast() };
        // SAFETY: by the contract; until this function ends the ticket is done, or the port has
        // quiesced.
        let received = unsafe { self.port.recv_tagged(call.pattern(), room, copy, true) };
        let envelope = match received {
            Ok(Ok(envelope)) => Ok(envelope),
            Ok(Err(ticket)) if self.is_own_matter(call) => {
                self.port.open_ticket(self.port.rank(), &ticket);
                self.refuse_to_wait_for_own(call, false);
                self.nothing_to_return();
            }
            Ok(Err(ticket)) => self.port.await_ticket(self.port.rank(), call.peer, &ticket),
            Err(stop) => Err(stop),
        };
        match envelope {
            Ok(envelope) => envelope.into(),
            Err(stop) => self.stop_for_good(stop),
        }
    }

    /// Receives the first message that has come from `from` with `tag`, however long it is, as a
    /// new `Vec`. Errors and cost are those of [`recv_tagged`](Comm::recv_tagged).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let rank = comm.rank();
    ///     comm.send_tagged(&vec![rank; 5 * rank], (rank + 1) % 3, 0);
    ///     let (got, status) = comm.recv_vec::<usize>((rank + 2) % 3, 0);
    ///     assert_eq!(got.len(), status.len);
    ///     got
    /// })?;
    /// assert_eq!(out, [vec![2; 10], vec![], vec![1; 5]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn recv_vec<T: Element>(
        &mut self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> (Vec<T>, Status) {
        let sig = const { &Signature::of::<T>("recv_vec", "from rank") };
        let (peer, tag) = (from.into().rank(), tag.into().number());
        let mut call = TaggedCall { sig, at: Location::caller(), len: 0, peer, tag };
        if !self.enter_tagged(&call) {
            self.nothing_to_return();
        }
        let room = MessageLabel { len: usize::MAX, ..call.label::<T>(false) };
        let status = self.await_message(&call, Some(&room));
        let mut data = Vec::with_capacity(status.len);
        // It is that message still, the first of its source with its tag.
        call = TaggedCall {
            len: status.len,
            peer: Some(status.source),
            tag: Some(status.tag),
            ..call
        };
        // SAFETY: the vector has room for so many elements, and is not used meanwhile.
        let status = unsafe { self.take_tagged::<T>(&call, data.as_mut_ptr()) };
        // SAFETY: so many elements have been written, and there is room for them (checked when
        // the message was matched).
        unsafe { data.set_len(status.len) };
        (data, status)
    }

    /// Waits for a message from `from` with `tag`, either of which may be any, and returns its
    /// facts; it stays where it is. A receive from its source with its tag then receives it: a
    /// communicator has one thread, so no other receive comes between.
    ///
    /// **Cost** that of a receive of no elements.
    ///
    /// # Errors
    /// A source that is no rank, or that has returned without sending, ends the run. Length and
    /// type are not compared.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Source, Tag};
    /// let out = phalanx::run(3, |comm| {
    ///     if comm.rank() > 0 {
    ///         comm.send_tagged(&vec![1u8; comm.rank() * 1000], 0, 3);
    ///         return 0;
    ///     }
    ///     let mut bytes = 0;
    ///     for _ in 1..3 {
    ///         let status = comm.probe(Source::Any, 3);
    ///         let mut data = vec![0u8; status.len];
    ///         comm.recv_tagged(&mut data, status.source, status.tag);
    ///         bytes += data.len();
    ///     }
    ///     bytes
    /// })?;
    /// assert_eq!(out[0], 3000);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn probe(&mut self, from: impl Into<Source>, tag: impl Into<Tag>) -> Status {
        static SIG: Signature = Signature::of::<()>("probe", "from rank");
        let (peer, tag) = (from.into().rank(), tag.into().number());
        let call = TaggedCall { sig: &SIG, at: Location::caller(), len: 0, peer, tag };
        if !self.enter_tagged(&call) {
            self.nothing_to_return();
        }
        self.await_message(&call, None)
    }

    /// The result of [`probe`](Comm::probe), if such a message has come; does not wait.
    ///
    /// A loop of these is the rank's own code to the others: no deadline ends it, a failure of the
    /// run does. Nor does it end if the sender has returned: where nothing else is to be done until
    /// a message comes, [`probe`](Comm::probe) waits, and is told.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Source, Tag};
    /// let out = phalanx::run(2, |comm| {
    ///     if comm.rank() == 1 {
    ///         comm.send_tagged(&[5], 0, 9);
    ///         return 0;
    ///     }
    ///     let mut turns = 0; // of work meanwhile
    ///     let status = loop {
    ///         turns += 1;
    ///         if let Some(status) = comm.try_probe(Source::Any, Tag::Any) {
    ///             break status;
    ///         }
    ///     };
    ///     assert!(turns > 0 && status.tag == 9);
    ///     let mut x = [0];
    ///     comm.recv_tagged(&mut x, status.source, status.tag);
    ///     x[0]
    /// })?;
    /// assert_eq!(out[0], 5);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn try_probe(&mut self, from: impl Into<Source>, tag: impl Into<Tag>) -> Option<Status> {
        static SIG: Signature = Signature::of::<()>("try_probe", "from rank");
        let (peer, tag) = (from.into().rank(), tag.into().number());
        let call = TaggedCall { sig: &SIG, at: Location::caller(), len: 0, peer, tag };
        // Not on record: a loop of them would drive all other calls out.
        if !self.check_tagged(&call) {
            return None;
        }
        let found = self.port.probe(call.pattern(), None).ok().flatten();
        if found.is_none() {
            self.port.let_others_run();
        }
        found.map(Status::from)
    }

    /// Sends a value of any type that may go to another thread (a `String`, a `Vec`, or a `Box<dyn
    /// Job + Send>`) to rank `to`, by moving it: the memory that it owns is neither copied nor
    /// serialised. [`recv_owned`](Comm::recv_owned) receives it. Never waits.
    ///
    /// Owned values and slices have their tags in common: a receive of the one that meets the
    /// other ends the run, with both lines. A value that is never received is dropped at the end
    /// of the run, which ends with [`Error::Unreceived`](crate::Error::Unreceived). There is no
    /// limit to how many may be under way.
    ///
    /// **Cost** `t_s`, and an allocation of the value's own size.
    ///
    /// # Errors
    /// A rank that does not exist ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let words = vec!["owned".to_string(), "values".to_string()];
    ///     if comm.rank() == 0 {
    ///         comm.send_owned(words, 1, 0);
    ///         return String::new();
    ///     }
    ///     let (words, status) = comm.recv_owned::<Vec<String>>(0, 0);
    ///     assert_eq!(status.source, 0);
    ///     words.join(" ")
    /// })?;
    /// assert_eq!(out[1], "owned values");
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn send_owned<T: Send + 'static>(&mut self, value: T, to: usize, tag: u32) {
        let sig = const { &Signature::of::<T>("send_owned", "to rank") };
        let call =
            TaggedCall { sig, at: Location::caller(), len: 1, peer: Some(to), tag: Some(tag) };
        if !self.enter_tagged(&call) {
            return;
        }
        let sent = self.port.send_owned(to, tag, call.label::<T>(true), Box::new(value));
        if let Err(stop) = sent {
            self.stop(stop);
        }
    }

    /// Receives the first value that has come from `from` with `tag`, either of which may be any,
    /// and that was sent by [`send_owned`](Comm::send_owned); waits for it if there is none.
    ///
    /// **Must agree:** the type.
    ///
    /// **Cost** `t_s`.
    ///
    /// # Errors
    /// A value of another type, or a slice, ends the run, as does a source that is no rank, or has
    /// returned without sending. A wait for any source ends once all other ranks have returned, or
    /// wait as well, in vain.
    ///
    /// # Examples
    /// Work as closures:
    /// ```
    /// type Job = Box<dyn FnOnce(u64) -> u64 + Send>;
    /// let out = phalanx::run(3, |comm| {
    ///     if comm.rank() == 0 {
    ///         let (double, square): (Job, Job) = (Box::new(|x| 2 * x), Box::new(|x| x * x));
    ///         comm.send_owned(double, 1, 0);
    ///         comm.send_owned(square, 2, 0);
    ///         return 0;
    ///     }
    ///     let (job, _) = comm.recv_owned::<Job>(0, 0);
    ///     job(7)
    /// })?;
    /// assert_eq!(out, [0, 14, 49]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn recv_owned<T: Send + 'static>(
        &mut self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> (T, Status) {
        let sig = const { &Signature::of::<T>("recv_owned", "from rank") };
        let (peer, tag) = (from.into().rank(), tag.into().number());
        let call = TaggedCall { sig, at: Location::caller(), len: 1, peer, tag };
        if !self.enter_tagged(&call) {
            self.nothing_to_return();
        }
        let room = call.label::<T>(true);
        self.await_message(&call, Some(&room));
        let taken = match self.port.take_owned(call.pattern(), &room) {
            Ok(taken) => taken.and_then(|(it, value)| Some((value.downcast::<T>().ok()?, it))),
            Err(stop) => self.stop_for_good(stop),
        };
        // It was there, its type was compared, and nobody else takes from this queue.
        let (value, envelope) = taken.expect("a value that was found is there");
        (*value, envelope.into())
    }

    /// Waits for a message that `call`, which is on record, asks for.
    fn await_message(&mut self, call: &TaggedCall, room: Option<&MessageLabel>) -> Status {
        match self.port.probe(call.pattern(), room) {
            Ok(Some(envelope)) => return envelope.into(),
            Ok(None) if self.is_own_matter(call) => {
                self.refuse_to_wait_for_own(call, false);
                self.nothing_to_return();
            }
            Ok(None) => {}
            Err(stop) => self.stop_for_good(stop),
        }
        match self.port.await_tagged(call.pattern(), room) {
            Ok(envelope) => envelope.into(),
            Err(stop) => self.stop_for_good(stop),
        }
    }

    /// Whether nobody but this rank can do the work that `call` waits for.
    fn is_own_matter(&self, call: &TaggedCall) -> bool {
        call.peer == Some(self.port.rank()) || (call.peer.is_none() && self.port.size() == 1)
    }

    /// Ends the run: this rank would wait for itself.
    #[cold]
    #[inline(never)]
    fn refuse_to_wait_for_own(&mut self, call: &TaggedCall, sends: bool) {
        let mut what = match sends {
            true => format!(
                "a message to the own rank that is not copied (more than {KEPT_UP_TO} bytes, or \
                 much is unreceived) waits until it is received: for ever"
            ),
            false => "no such message has come, and only this rank can send it: it would wait \
                      for ever"
                .to_string(),
        };
        if let Some(call) = self.port.record() {
            let (world, me) = (self.port.shared().world(), self.port.member());
            what += &world.unread(me, &call);
        }
        self.wrong((call.sig, call.at), call.len, what);
        // While a panic unwinds, `wrong` returns; the memory must be safe then, too.
        self.port.quiesce();
    }

    /// Whether the call can be made.
    #[inline(always)]
    fn check_tagged(&mut self, call: &TaggedCall) -> bool {
        let &TaggedCall { sig, at, len, peer, .. } = call;
        peer.is_none_or(|peer| self.check_rank("rank", peer, (sig, at), len))
            && self.check_message((sig, at), call.params())
    }

    /// Begins the call, and puts it on record.
    #[inline(always)]
    pub(super) fn enter_tagged(&mut self, call: &TaggedCall) -> bool {
        if !self.check_tagged(call) {
            return false;
        }
        call.begin(&mut self.port);
        true
    }
}
