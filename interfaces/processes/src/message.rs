//! Messages between two ranks, with tags.

use crate::error::{Error, ErrorKind, Result};
use crate::mail::{Letter, Mail};
use crate::plain::Plain;
use crate::ring::{CHUNK, Label, Ring};
use crate::site::{Names, Place};
use crate::team::{Begun, Team};
use phalanx::engine::copy;

impl Team {
    /// Sends `data` to rank `to`, which calls [`receive`](Team::receive) with this rank and the
    /// same tag, type and length.
    ///
    /// Returns when all is in the ring (64 KiB) between the two, or received; while it waits it
    /// takes the messages of others, so that ranks that send to each other first do not wait for
    /// ever.
    ///
    /// **Cost** two copies of each byte; a short message is one line.
    ///
    /// # Errors
    /// `to` is none of the ranks, has left, died, or not come within the timeout.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("to myself", 0, 1)?;
    /// team.send(&[1.5_f64, 2.5], 0, 7)?;
    /// let mut got = [0.0; 2];
    /// team.receive(&mut got, 0, 7)?;
    /// assert_eq!(got, [1.5, 2.5]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn send<T: Plain>(&mut self, data: &[T], to: usize, tag: u64) -> Result<()> {
        let names = const { &Names::of::<T>("send", "") };
        let call = self.begin(names, Place::caller(), data.len(), Team::ROOTLESS)?;
        self.check_rank(&call, to)?;
        // Of elements without bytes it is told how many they are.
        let length = data.len() as u64;
        let some = (data.as_ptr().cast::<u8>(), size_of_val(data));
        let some = if size_of::<T>() == 0 { ((&raw const length).cast(), 8) } else { some };
        // SAFETY: so many bytes.
        unsafe { self.send_bytes(&call, some, T::DIGEST, to, tag) }
    }

    /// Sends bytes to a rank that there is.
    ///
    /// # Safety
    /// There are so many, which nobody writes.
    pub(crate) unsafe fn send_bytes(
        &mut self,
        call: &Begun,
        (from, bytes): (*const u8, usize),
        kind: u64,
        to: usize,
        tag: u64,
    ) -> Result<()> {
        let label = Label { tag, bytes: bytes as u64, kind, site: call.head.site() as u64 };
        if to == self.me {
            let from = if bytes == 0 { std::ptr::dangling() } else { from };
            // SAFETY: by the contract.
            let data = unsafe { std::slice::from_raw_parts(from, bytes) }.to_vec();
            self.mail.of(to).waiting.push_back(Letter { label, data });
            return Ok(());
        }
        let ring = self.ring(self.me, to);
        if self.mail.of(to).sent == 0
            && let Err(error) = self.take_ring(to)
        {
            return Err(self.fail(error));
        }
        let mut done = 0;
        let mut label = Some(label);
        loop {
            let n = self.mail.of(to).sent + 1;
            if !ring.taken().has_room(n) {
                self.wait_for_room(call, to, &ring, n)?;
            }
            let some = (bytes - done).min(CHUNK);
            // SAFETY: so many bytes are left, and in a chunk; the receiver has read the one before.
            unsafe { copy(ring.chunk(n), from.add(done), some) };
            ring.slot(n).publish(n, label.take());
            self.mail.of(to).sent = n;
            self.tell();
            done += some;
            if done == bytes {
                return Ok(());
            }
        }
    }

    /// Waits until chunk `n` has room, and takes messages meanwhile.
    #[cold]
    fn wait_for_room(&mut self, call: &Begun, to: usize, ring: &Ring, n: u64) -> Result<()> {
        let mut mail = std::mem::replace(&mut self.mail, Mail::new(0));
        let mut ready = || {
            let others = (0..self.members.len()).filter(|from| *from != self.me);
            others.for_each(|from| mail.drain(&self.ring(from, self.me), from));
            self.tell();
            ring.taken().has_room(n)
        };
        let waited = self.wait_among(call, to, true, &mut ready);
        self.mail = mail;
        waited.map_err(|error| self.fail(error))
    }

    /// Receives the oldest message of rank `from` with this tag.
    ///
    /// Messages of other tags that come before it are kept until they are received. Without limit:
    /// a message that nobody receives takes memory of the receiver.
    ///
    /// # Errors
    /// The message has another type or length: then the error has both lines; or as
    /// [`send`](Team::send).
    ///
    /// # Examples
    /// See [`send`](Team::send).
    #[track_caller]
    pub fn receive<T: Plain>(&mut self, data: &mut [T], from: usize, tag: u64) -> Result<()> {
        let names = const { &Names::of::<T>("receive", "") };
        let call = self.begin(names, Place::caller(), data.len(), Team::ROOTLESS)?;
        self.check_rank(&call, from)?;
        let to = (data.as_mut_ptr().cast::<u8>(), size_of_val(data));
        if size_of::<T>() > 0 {
            // SAFETY: so many bytes.
            return unsafe { self.receive_bytes(&call, to, T::DIGEST, from, tag) };
        }
        let mut length = 0_u64;
        let to = ((&raw mut length).cast(), 8);
        // SAFETY: so many bytes.
        unsafe { self.receive_bytes(&call, to, T::DIGEST, from, tag)? };
        if length == data.len() as u64 {
            return Ok(());
        }
        let text = format!("{length} elements have come from rank {from}, not {}", data.len());
        Err(self.wrong(&call, &text))
    }

    /// Receives a message of bytes from a rank that there is.
    ///
    /// # Safety
    /// There is room for so many, which nobody else uses.
    pub(crate) unsafe fn receive_bytes(
        &mut self,
        call: &Begun,
        (to, bytes): (*mut u8, usize),
        kind: u64,
        from: usize,
        tag: u64,
    ) -> Result<()> {
        match self.next_letter(call, from, tag)? {
            Some(letter) => {
                let fits = letter.label.bytes == bytes as u64;
                self.check_label(call, from, letter.label, (kind, fits, Some(bytes)))?;
                // SAFETY: so many bytes, and so many.
                unsafe { copy(to, letter.data.as_ptr(), bytes.min(letter.data.len())) };
                Ok(())
            }
            None => {
                let n = self.mail.of(from).received + 1;
                let label = self.ring(from, self.me).slot(n).label();
                let fits = label.bytes == bytes as u64;
                self.check_label(call, from, label, (kind, fits, Some(bytes)))?;
                // SAFETY: there are so many bytes.
                unsafe { self.take_message(call, from, to, bytes) }
            }
        }
    }

    /// As [`receive`](Team::receive), of any length.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("to me of any length", 0, 1)?;
    /// team.send(&[1_u16, 2, 3], 0, 0)?;
    /// assert_eq!(team.receive_vec::<u16>(0, 0)?, [1, 2, 3]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn receive_vec<T: Plain>(&mut self, from: usize, tag: u64) -> Result<Vec<T>> {
        let names = const { &Names::of::<T>("receive_vec", "") };
        let call = self.begin(names, Place::caller(), 0, Team::ROOTLESS)?;
        self.check_rank(&call, from)?;
        let letter = loop {
            if let Some(letter) = self.next_letter(&call, from, tag)? {
                break letter;
            }
            // One of unknown length: it comes into memory of its own, chunk by chunk.
            self.keep_message(&call, from)?;
        };
        let each = if size_of::<T>() == 0 { letter.data.len().max(8) } else { size_of::<T>() };
        let fits = letter.data.len().is_multiple_of(each);
        self.check_label(&call, from, letter.label, (T::DIGEST, fits, None))?;
        let length = match letter.data.first_chunk() {
            Some(length) if size_of::<T>() == 0 => usize::from_ne_bytes(*length),
            _ => letter.data.len() / each,
        };
        let mut data = Vec::<T>::with_capacity(length);
        // SAFETY: so many elements are reserved, and there; every bit pattern is one.
        unsafe {
            let to = data.as_mut_ptr().cast::<u8>();
            copy(to, letter.data.as_ptr(), length * size_of::<T>());
            data.set_len(length);
        }
        Ok(data)
    }

    /// A message of this tag that has come already; or none, when the next one in the ring has the
    /// tag.
    fn next_letter(&mut self, call: &Begun, from: usize, tag: u64) -> Result<Option<Letter>> {
        loop {
            if let Some(letter) = self.mail.of(from).find(tag) {
                return Ok(Some(letter));
            }
            if self.mail.of(from).coming.is_none() {
                let n = self.await_chunk(call, from)?;
                if self.ring(from, self.me).slot(n).label().tag == tag {
                    return Ok(None);
                }
            }
            self.keep_message(call, from)?;
        }
    }

    /// Takes the next message, or the rest of it, to be received later.
    fn keep_message(&mut self, call: &Begun, from: usize) -> Result<()> {
        loop {
            self.await_chunk(call, from)?;
            let ring = self.ring(from, self.me);
            self.mail.of(from).take_chunk(&ring);
            self.tell();
            if self.mail.of(from).coming.is_none() {
                return Ok(());
            }
        }
    }

    /// Waits for the next chunk, and says its number.
    fn await_chunk(&mut self, call: &Begun, from: usize) -> Result<u64> {
        let n = self.mail.of(from).received + 1;
        if from == self.me {
            let text = "this rank has sent itself no message of this tag";
            return Err(self.wrong(call, text));
        }
        let ring = self.ring(from, self.me);
        if !ring.slot(n).has(n) {
            let waited = self.wait(call, from, &mut || ring.slot(n).has(n));
            waited.map_err(|error| self.fail(error))?;
        }
        Ok(n)
    }

    /// Takes a message of `bytes` bytes from the ring.
    ///
    /// # Safety
    /// There is room for so many bytes.
    unsafe fn take_message(
        &mut self,
        call: &Begun,
        from: usize,
        to: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        let ring = self.ring(from, self.me);
        let mut done = 0;
        loop {
            let n = self.await_chunk(call, from)?;
            let some = (bytes - done).min(CHUNK);
            // SAFETY: so many bytes are left, and in a chunk.
            unsafe { copy(to.add(done), ring.chunk(n), some) };
            ring.taken().take(n);
            self.mail.of(from).received = n;
            self.tell();
            done += some;
            if done == bytes {
                return Ok(());
            }
        }
    }

    pub(crate) fn check_rank(&mut self, call: &Begun, rank: usize) -> Result<()> {
        self.check_number(call, rank as i64).map(drop)
    }

    /// The rank of a number.
    pub(crate) fn check_number(&mut self, call: &Begun, rank: i64) -> Result<usize> {
        match usize::try_from(rank) {
            Ok(rank) if rank < self.members.len() => Ok(rank),
            _ => {
                let text = format!("rank {rank} is none of {} ranks", self.members.len());
                Err(self.wrong(call, &text))
            }
        }
    }

    /// Whether the message is the one that the receiver expects.
    fn check_label(
        &mut self,
        call: &Begun,
        from: usize,
        label: Label,
        (kind, fits, bytes): (u64, bool, Option<usize>),
    ) -> Result<()> {
        if label.kind == kind && fits {
            return Ok(());
        }
        let rank = self.members[from];
        let sent = self.shared.site(rank, label.site as usize);
        let mine = call.names.told(call.at);
        let me = self.shared.told(self.shared.rank);
        let bytes = bytes.map_or(String::new(), |bytes| format!("{bytes} bytes of "));
        let text = format!(
            "ranks disagree about a message of tag {}: {} sends {} bytes of {} in {}; {me} \
             receives {bytes}{} in {}",
            label.tag,
            self.shared.told(rank),
            label.bytes,
            sent.element,
            sent.brief(),
            mine.element,
            mine.brief()
        );
        Err(self.fail(Error::of(ErrorKind::Disagreement, rank, text)))
    }
}
