//! The collectives. All ranks of a communicator call them, in the same order, with arguments that
//! agree; lengths count elements. All but a few have no body of their own: [`waits`] does the calls
//! that wait, and [`prepared`] those that are started, by one look at the arguments; `buffers` is
//! the memory of a call, once its pointers and counts are looked at.

mod buffers;

pub(crate) use buffers::{counts_of, sum};

use crate::arguments::{IN_PLACE, input, is_usual, output};
use crate::names::*;
use crate::types::{Elements, Type, apart_of, with_operator, with_type};
use buffers::buffers;
use phalanx::engine::{self, MemoryCall, Operation, Partition, PreparedCall};
use phalanx::{Comm, Element, op};
use std::ffi::c_void;

/// How many elements C says that there are.
#[derive(Clone, Copy)]
pub(crate) enum Lengths {
    /// So many, of a vector or of each block.
    Each(usize),
    /// As many of each rank's block as a list says.
    Counts(*const usize),
    /// By the list, or, if it is null, so many of each.
    Either(usize, *const usize),
    /// As many to each rank as one list says, and from each as the other.
    Pairs(*const usize, *const usize),
}

/// C's arguments of a collective.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) operation: Operation,
    pub(crate) ty: Type,
    /// If it combines elements.
    pub(crate) op: Option<phx_op>,
    /// Of one buffer the same.
    pub(crate) from: *const c_void,
    pub(crate) to: *mut c_void,
    pub(crate) lengths: Lengths,
    /// The root, or the distance of a shift.
    pub(crate) parameter: usize,
}

impl Asked {
    fn is_of_vectors(&self) -> bool {
        use Operation::*;
        matches!(self.operation, Broadcast | Shift | Reduce | AllReduce | Scan | ExclusiveScan)
    }

    /// Looks at pointers, lengths and counts: the call on memory, and how many Rust elements it
    /// reads and writes. `lists` are to be its counts, in Rust elements.
    ///
    /// # Safety
    /// Lists of counts are null or have one for each rank; buffers are null or as long as is said.
    #[inline(always)]
    unsafe fn checked<'a>(
        &self,
        comm: &Comm,
        lists: &'a mut [Vec<usize>; 2],
    ) -> Result<(MemoryCall<'a>, usize, usize), String> {
        let Asked { operation, ty, from, to, parameter, .. } = *self;
        // An operator's elements are whole, also those of bytes.
        let is_whole = self.op.is_some();
        let is_root = comm.rank() == parameter;
        let lengths = match self.lengths {
            // (-1 is of the macros that take counts only: null is an error there.)
            Lengths::Either(n, counts) if counts.is_null() && n < usize::MAX => Lengths::Each(n),
            other => other,
        };
        let (own, all, cut) = match lengths {
            Lengths::Each(n) if self.is_of_vectors() => {
                let all = ty.count(n)?;
                (all, all, Partition::Vector(if is_whole { n } else { all }))
            }
            Lengths::Each(n) => {
                let (own, all) = (ty.count(n)?, ty.count(n.saturating_mul(comm.size()))?);
                (own, all, Partition::Equal(if is_whole { n } else { own }))
            }
            Lengths::Counts(counts) | Lengths::Either(_, counts) => {
                // SAFETY: by the contract.
                lists[0] = unsafe { counts_of(comm, counts, ty)? };
                let (own, all) = (lists[0][comm.rank()], sum(&lists[0], ty)?);
                let size = if is_whole { ty.parts() } else { 1 };
                lists[0].iter_mut().for_each(|n| *n /= size);
                (own, all, Partition::Varied(&lists[0]))
            }
            Lengths::Pairs(to_each, from_each) => {
                // SAFETY: by the contract.
                *lists =
                    unsafe { [counts_of(comm, to_each, ty)?, counts_of(comm, from_each, ty)?] };
                let [send, recv] = &*lists;
                (sum(send, ty)?, sum(recv, ty)?, Partition::Pairs { send, recv })
            }
        };
        let (sent, received) = match operation {
            Operation::Gather => (own, if is_root { all } else { 0 }),
            Operation::Scatter => (if is_root { all } else { 0 }, own),
            Operation::ReduceScatter => (all, own),
            Operation::AllToAll if matches!(cut, Partition::Equal(_)) => (all, all),
            _ => (own, all),
        };
        let read = (!self.is_of_vectors()).then_some((from, sent));
        let memory = buffers(ty, read, (to, received))?;
        Ok((MemoryCall { operation, cut, parameter, memory }, sent, received))
    }
}

/// A call that waits. (Inlined, as the operation is known in each function.)
///
/// # Safety
/// As the functions of its operation say.
#[inline(always)]
pub(crate) unsafe fn waits(comm: &mut Comm, asked: Asked) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let Some(op) = asked.op else { return moves(comm, asked) };
        let mut lists = [vec![], vec![]];
        let (call, _, n) = asked.checked(comm, &mut lists)?;
        match asked.operation {
            Operation::AllReduce if combined(comm, asked.ty, op, asked.to, n) => Ok(()),
            _ => with_operator(asked.ty, op, (&call, comm)),
        }
    }
}

/// A call that moves, in one body: inlined, its types took two thirds of the compiler's time.
///
/// # Safety
/// As [`waits`].
#[inline(never)]
unsafe fn moves(comm: &mut Comm, asked: Asked) -> Result<(), String> {
    let Asked { operation, ty, to, lengths, .. } = asked;
    let is_typed = !matches!(operation, Operation::Gather | Operation::Scatter | Operation::Shift);
    // SAFETY: by the contract.
    unsafe {
        if let (true, Lengths::Each(n)) = (is_typed, lengths) {
            return with_type!(ty, T => typed::<T>(comm, asked, n));
        }
        let mut lists = [vec![], vec![]];
        let (call, sent, received) = asked.checked(comm, &mut lists)?;
        with_type!(ty, T => if !is_typed {
            engine::movement::<T>(comm, &call, false);
        } else {
            let from = input::<T>("the input", asked.from, sent)?;
            let to = output::<T>("the output", to, received)?;
            match call.cut {
                Partition::Pairs { send, recv } =>
                    comm.all_to_all_varied_into(from, send, to, recv),
                Partition::Varied(counts) => comm.all_gather_varied_into(from, to, counts),
                _ => unreachable!("lengths that are all the same were typed above"),
            }
        });
    }
    Ok(())
}

/// A call that has ways of few bytes, which are typed: all ranks go the same ones. So it is short.
///
/// # Safety
/// As [`waits`].
#[inline(always)]
unsafe fn typed<T: Element>(comm: &mut Comm, asked: Asked, n: usize) -> Result<(), String> {
    let Asked { operation, ty, from, to, .. } = asked;
    // SAFETY: by the contract.
    unsafe {
        if operation == Operation::Broadcast {
            let buffer = Elements::new(to, n, ty).output::<T>("the buffer")?;
            comm.broadcast(buffer, asked.parameter);
            return Ok(());
        }
        let all = Elements::new(to, n.saturating_mul(comm.size()), ty);
        if from == IN_PLACE {
            let all = all.output::<T>("the output")?;
            match operation {
                Operation::AllGather => comm.all_gather_in_place(all),
                _ => comm.all_to_all_in_place(all),
            }
            return Ok(());
        }
        let is_gather = operation == Operation::AllGather;
        let from = Elements::new(from, if is_gather { n } else { all.n }, ty);
        let (from, to) = apart_of::<T>(from, all)?;
        match is_gather {
            true => comm.all_gather_into(from, to),
            false => comm.all_to_all_into(from, to),
        }
    }
    Ok(())
}

/// An all-reduce of a usual type and operator that came here by a handle about which something was
/// odd. Another rank may have found nothing odd about its own; so it goes the same short ways.
/// Returns false, and has done nothing, if it is not one.
///
/// # Safety
/// `inout` has `n` elements of the type, if it is not null and aligned.
#[inline(always)]
unsafe fn combined(comm: &mut Comm, ty: Type, op: phx_op, inout: *mut c_void, n: usize) -> bool {
    macro_rules! by {
        ($T:ty) => {{
            if !is_usual::<$T>(inout, n) {
                return false;
            }
            // SAFETY: by the contract; it was looked at.
            let all = unsafe { std::slice::from_raw_parts_mut(inout.cast::<$T>(), n) };
            match op {
                PHX_SUM => comm.all_reduce(all, op::Sum),
                PHX_MIN => comm.all_reduce(all, op::Min),
                PHX_MAX => comm.all_reduce(all, op::Max),
                _ => return false,
            }
        }};
    }
    match ty.name() {
        PHX_F64 => by!(f64),
        PHX_I32 => by!(i32),
        PHX_I64 => by!(i64),
        _ => return false,
    }
    true
}

/// A call that is started, or set up.
///
/// # Safety
/// As the functions of its operation say, once it is started.
pub(crate) unsafe fn prepared(comm: &Comm, asked: Asked) -> Result<PreparedCall<'static>, String> {
    let moves = matches!(asked.operation, Operation::AllGather | Operation::AllToAll);
    if asked.from == IN_PLACE && moves && !matches!(asked.lengths, Lengths::Pairs(..)) {
        return Err("a started call that moves blocks is not in place".into());
    }
    // SAFETY: by the contract.
    unsafe {
        let mut lists = [vec![], vec![]];
        let (call, ..) = asked.checked(comm, &mut lists)?;
        match asked.op {
            Some(op) => with_operator(asked.ty, op, call),
            None => Ok(with_type!(asked.ty, T => PreparedCall::moving::<T>(call))),
        }
    }
}

pub(crate) unsafe fn gather_in_place(
    comm: &mut Comm,
    Elements { at, n, ty }: Elements,
    root: usize,
) -> Result<(), String> {
    let block = ty.count(n)?;
    let is_root = comm.rank() == root;
    let total = if is_root { ty.count(n.saturating_mul(comm.size()))? } else { block };
    let mut memory = buffers(ty, None, (at, total))?;
    if is_root {
        memory.input = memory.input.wrapping_add(root * n * ty.size);
    }
    let (operation, cut) = (Operation::Gather, Partition::Equal(block));
    let call = MemoryCall { operation, cut, parameter: root, memory };
    // SAFETY: by the contract.
    with_type!(ty, T => unsafe { engine::movement::<T>(comm, &call, true) });
    Ok(())
}
