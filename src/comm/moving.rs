//! Calls that only move elements: one body for all types.
//!
//! A public method hands over where its elements are, and a signature that has their type: what it
//! leaves in the program's code is that. All else, from the checks on, is compiled once.

use super::Comm;
use super::arguments::{CallAt, Checks};
use super::varied::own_length;
use crate::element::Element;
use crate::exec::{Buffers, Call, Partition, alone, uneven};
use crate::schedule::Operation;

impl Comm {
    /// Every rank's block of `all`, which is in its place there, goes to everybody's.
    #[inline(always)]
    pub(super) fn gather_to_all_in_place<T: Element>(&mut self, (sig, at): CallAt, all: &mut [T]) {
        // SAFETY: a slice of the signature's type.
        unsafe { self.gather_bytes_in_place((sig, at), (all.as_mut_ptr().cast(), all.len())) }
    }

    /// # Safety
    /// The pointer and the length are those of a `&mut` slice of the signature's type.
    #[inline(never)]
    unsafe fn gather_bytes_in_place(
        &mut self,
        (sig, at): CallAt,
        (all, all_len): (*mut u8, usize),
    ) {
        let Some(own) = self.own_block(all_len, (sig, at)) else { return };
        let mine = all.wrapping_add(own.start * sig.element_size);
        let call = Call::new(Operation::AllGather, sig, at, Partition::Equal(own.len()));
        // SAFETY: a block for every rank, the own one in its place.
        self.carry_out_moving(unsafe { call.moving_memory(mine, all) });
    }

    /// Block `j` of `send` goes to rank `j`; `recv` gets one of every rank.
    #[inline(always)]
    pub(super) fn exchange_blocks<T: Element>(
        &mut self,
        (sig, at): CallAt,
        send: &[T],
        recv: &mut [T],
    ) {
        let send = (send.as_ptr().cast(), send.len());
        // SAFETY: slices of the signature's type.
        unsafe { self.exchange_bytes((sig, at), send, (recv.as_mut_ptr().cast(), recv.len())) }
    }

    /// # Safety
    /// Pointers and lengths are those of a `&` and a `&mut` slice of the signature's type.
    #[inline(never)]
    unsafe fn exchange_bytes(
        &mut self,
        (sig, at): CallAt,
        (send, sent): (*const u8, usize),
        (recv, received): (*mut u8, usize),
    ) {
        let len = sent / self.size();
        if !self.check_blocks("the input has", sent, (sig, at))
            || !self.check_len("the output", received, Some(sent), (sig, at), len)
        {
            return;
        }
        let call = Call::new(Operation::AllToAll, sig, at, Partition::Equal(len));
        // SAFETY: a block for every rank, and room for as many.
        self.carry_out_moving(unsafe { call.moving_memory(send, recv) });
    }

    /// An all-to-all in one buffer: the blocks that come take the places of those that go.
    #[inline(always)]
    pub(super) fn exchange_blocks_in_place<T: Element>(
        &mut self,
        (sig, at): CallAt,
        data: &mut [T],
    ) {
        // SAFETY: a slice of the signature's type.
        unsafe { self.exchange_bytes_in_place((sig, at), (data.as_mut_ptr().cast(), data.len())) }
    }

    /// # Safety
    /// As for [`gather_bytes_in_place`](Comm::gather_bytes_in_place).
    #[inline(never)]
    unsafe fn exchange_bytes_in_place(&mut self, (sig, at): CallAt, (data, all): (*mut u8, usize)) {
        let len = all / self.size();
        if !self.check_blocks("the data have", all, (sig, at)) {
            return;
        }
        let call = Call::new(Operation::AllToAllInPlace, sig, at, Partition::Equal(len));
        // SAFETY: a block for every rank.
        self.carry_out_moving(unsafe { call.moving_memory(data, data) });
    }

    /// An all-to-all of which each rank knows its own part, `send` and `recv` with their counts.
    #[inline(always)]
    pub(super) fn exchange_varied<T: Element>(
        &mut self,
        (sig, at): CallAt,
        (send, send_counts): (&[T], &[usize]),
        (recv, recv_counts): (&mut [T], &[usize]),
    ) {
        let (sent, received) = (send.len(), recv.len());
        let (send, recv) = ((send.as_ptr().cast(), sent), (recv.as_mut_ptr().cast(), received));
        // SAFETY: slices of the signature's type.
        unsafe { self.exchange_varied_bytes((sig, at), send, send_counts, recv, recv_counts) }
    }

    /// # Safety
    /// Pointers and lengths are those of a `&` and a `&mut` slice of the signature's type.
    #[inline(never)]
    unsafe fn exchange_varied_bytes(
        &mut self,
        (sig, at): CallAt,
        (send, sent): (*const u8, usize),
        send_counts: &[usize],
        (recv, received): (*mut u8, usize),
        recv_counts: &[usize],
    ) {
        if !self.check_pairs((sig, at), (sent, send_counts), (received, recv_counts)) {
            return;
        }
        let cut = Partition::Pairs { send: send_counts, recv: recv_counts };
        let call = Call::new(Operation::AllToAll, sig, at, cut);
        let params = own_length(Operation::AllToAll, sent, call.parameter());
        let is_alone = self.port.size() == 1;
        if is_alone || !self.goes_by_rules() {
            // SAFETY: the counts sum to the lengths.
            let call = unsafe { call.moving_memory(send, recv) };
            let loops = call.loops();
            let call = call.on_loops(&loops);
            if !self.goes_by_rules() {
                return self.carry_on(&call);
            }
            let Some(begun) = self.begin(sig, at, call.params_alone()) else { return };
            let result = alone::run(&mut self.port, &mut self.work, begun, &call);
            return result.unwrap_or_else(|stop| self.stop(stop));
        }
        let Some(begun) = self.begin(sig, at, params) else { return };
        let (port, work) = (&mut self.port, &mut self.work);
        let (send, recv) = ((send, sent, send_counts), (recv, received, recv_counts));
        // SAFETY: the counts sum to the lengths.
        let result = unsafe { uneven::all_to_all(port, work, begun, send, recv, sig.element_size) };
        self.port.record_end();
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// Carries out a call of two buffers by none of the short routes.
    pub(super) fn carry_on_moving<T: Element>(&mut self, call: Call<'_>, from: &[T], to: &mut [T]) {
        let (rank, p) = (self.rank(), self.size());
        self.carry_on(&call.moving(Buffers::Apart(from, to)).on_bytes(rank, p));
    }
}
