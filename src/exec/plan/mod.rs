//! A schedule bound to the call's memory, and the walk through it.
//!
//! [`bind`] decides where every block lives and inserts the waits that keep a rank from
//! writing memory that a peer may be reading; it is pure, and `verify` proves its result on
//! paper. [`run`] walks a plan over the mailboxes. Nothing here is generic over element
//! or operator: a [`Kernel`] is called once per slice.

mod actions;
mod bind;
mod block_layout;
mod cache;
mod hazard;
mod regions;
mod search_tree;
#[cfg(test)]
mod verify;

pub use hazard::{Hazard, check_hazards};

pub(crate) use actions::Plan;
pub(crate) use bind::bind_while;
pub(crate) use cache::{PlanCache, PlanKey};

use super::call::{Call, RawBuffers};
use super::{Kernel, Scratch, Workspace};
use crate::mailbox::{EAGER, INLINE};
use crate::schedule::{Mode, Operation};
use crate::shared::{Guard, PayloadKind, Port, Span, StartedCall, Stop, WordBytes};
use actions::{Action, Destination, Location, Memory, PlanPiece};

/// The memories of one call.
#[derive(Clone, Copy)]
struct Memories {
    input: *const u8,
    output: *mut u8,
    scratch: *mut u8,
}

impl Memories {
    /// The address of an element of `size` bytes.
    #[inline(always)]
    fn at(&self, place: Location, size: usize) -> *mut u8 {
        let base = match place.memory {
            Memory::Input => self.input.cast_mut(),
            Memory::Output => self.output,
            Memory::Scratch => self.scratch,
        };
        base.wrapping_add(place.offset * size)
    }
}

/// A payload aligned for any element that fits inline.
#[repr(C, align(64))]
struct Aligned([std::mem::MaybeUninit<u8>; INLINE]);

/// By the latest plan, which was bound for the call.
#[inline(always)]
pub(crate) fn run(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
) -> Result<(), Stop> {
    port.log_call(begun);
    let &RawBuffers { ref kernel, input, output, .. } = call.memory();
    let plan = work.plans.latest();
    // Alone, nothing is combined.
    if let Some(partials) = kernel.partial_results()
        && port.size() > 1
    {
        // SAFETY: as below.
        unsafe {
            let memory = (&mut work.scratch, &mut work.spans);
            walk_on_partials(port, plan, call, &partials, memory)?;
        }
    } else {
        let scratch = match plan.scratch {
            0 => std::ptr::without_provenance_mut(kernel.align()),
            n => work.scratch.reserve(n * kernel.size(), kernel.align()),
        };
        let buffers = Memories { input, output, scratch };
        // SAFETY: the call's promise about its memory covers the plan's reach, which the
        // binder derived from the same operation and cut; the scratch memory is this
        // communicator's own.
        unsafe { walk(port, plan, &buffers, kernel, &mut work.spans)? };
    }
    // The work that a schedule leaves: rank 0's result of an exclusive scan is the
    // operator's identity, where it has one.
    let is_first = call.operation() == Operation::ExclusiveScan && port.rank() == 0;
    if is_first && !input.is_null() {
        // SAFETY: the call's promise; nobody looks at rank 0's buffer any more.
        unsafe { kernel.fill(output, input, call.len()) };
    }
    Ok(())
}

/// Walks `plan` on vectors of partial results, `partials`, for a call by a kernel with wider ones.
///
/// # Safety
/// As [`walk`], of the call's memory.
#[cold]
unsafe fn walk_on_partials(
    port: &mut Port,
    plan: &Plan,
    call: &Call<'_, RawBuffers<'_>>,
    partials: &Kernel<'_>,
    (memory, spans): (&mut Scratch, &mut Vec<Span>),
) -> Result<(), Stop> {
    let &RawBuffers { ref kernel, input, output, .. } = call.memory();
    let (operation, rank) = (call.operation(), port.rank());
    let elements = plan.scratch + plan.input + plan.output;
    let scratch = memory.reserve(elements * partials.size(), partials.align());
    let behind = |n: usize| scratch.wrapping_add(n * partials.size());
    let (own_input, own_output) = (behind(plan.scratch), behind(plan.scratch + plan.input));
    let buffers = Memories { input: own_input, output: own_output, scratch };
    // SAFETY: the plan reaches as many elements of the call's memory, of which the output of an
    // operation that is not in place is only written; there is room for as many partial results.
    unsafe {
        kernel.widen(own_input, input, plan.input);
        if operation.is_in_place() {
            kernel.widen(own_output, output, plan.output);
        }
        walk(port, plan, &buffers, partials, spans)?;
    }
    let has_result = match operation {
        Operation::Reduce => rank == call.root_rank(),
        // Rank 0's has no other operand.
        Operation::Scan | Operation::ExclusiveScan => rank > 0,
        _ => true,
    };
    if has_result {
        // SAFETY: as above; nobody looks at the call's own memory.
        unsafe { kernel.round(output, own_output, plan.output) };
    }
    Ok(())
}

/// Walks `plan`.
///
/// # Safety
/// - The buffers are valid, and aligned for the kernel's element, for
///   `plan.input`, `plan.output` and `plan.scratch` elements; input is
///   initialised, and output where the plan reads it before it writes it.
/// - Nobody else writes the input, or accesses output or scratch, except the
///   peers through the addresses that the plan posts.
/// - Every rank of the communicator walks its part of the same schedule over
///   elements of the same type, or its fingerprint differs.
unsafe fn walk(
    port: &mut Port,
    plan: &Plan,
    buffers: &Memories,
    kernel: &Kernel<'_>,
    spans: &mut Vec<Span>,
) -> Result<(), Stop> {
    let size = kernel.size();
    spans.clear();
    // Lists of spans are read by peers: they must not move during the call.
    spans.reserve(plan.pieces.len());
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    for action in &plan.actions {
        match action {
            Action::Copy { from, to, len } => {
                let (from, to) = (buffers.at(*from, size), buffers.at(*to, size));
                if std::ptr::eq(from, to) {
                    continue; // A gather's own block, which is where it belongs.
                }
                // SAFETY: both are within their buffers (the plan's reach),
                // and the binder copies between disjoint places only.
                unsafe { kernel.copy(to, from, *len) };
            }
            Action::Post { peer, pieces, len } => {
                let pieces = &plan.pieces[pieces.clone()];
                if len * size <= EAGER {
                    // SAFETY: the pieces are within the buffers, and there is
                    // room for `len` elements.
                    port.post_packed(*peer, *len, size, &mut |body: *mut u8| unsafe {
                        pack_pieces(body, pieces, buffers, kernel);
                    })?;
                    continue;
                }
                let (kind, at) = match pieces {
                    [piece] => (PayloadKind::SLICE, buffers.at(piece.at, size)),
                    _ => {
                        let first = spans.len();
                        for p in pieces {
                            spans.push(Span { at: buffers.at(p.at, size), len: p.len });
                        }
                        (PayloadKind::LIST, spans[first..].as_ptr().cast_mut().cast())
                    }
                };
                port.post_words(*peer, kind, WordBytes { at, count: pieces.len(), len: *len })?;
            }
            Action::Take { peer, targets, len } => {
                let targets = &plan.targets[targets.clone()];
                if len * size <= EAGER {
                    port.take_packed(*peer, *len, size, &mut |body: *const u8| {
                        let mut aligned =
                            Aligned([const { std::mem::MaybeUninit::uninit() }; INLINE]);
                        // A payload in the slot is aligned to 8; elements of up to 104 bytes to 64
                        // at most, those of no size perhaps to more.
                        let at = match len * size {
                            0 => std::ptr::without_provenance_mut(kernel.align()),
                            1..=INLINE => aligned.0.as_mut_ptr().cast::<u8>(),
                            _ => body.cast_mut(),
                        };
                        // SAFETY: the sender wrote `len` elements of the same
                        // type (fingerprint), which fit `aligned` where they
                        // are copied there.
                        unsafe {
                            if len * size <= INLINE {
                                std::ptr::copy_nonoverlapping(body, at, len * size);
                            }
                            unpack_pieces(targets, &[Span { at, len: *len }], buffers, kernel);
                        }
                    })?;
                    continue;
                }
                let (kind, words) = port.look_at_words(*peer, *len)?;
                // SAFETY: the sender posted a slice of `len` elements
                // of the same type (fingerprint and length agree) and
                // keeps it, and its list, until we consume.
                unsafe {
                    let slice = [Span { at: words.at, len: words.len }];
                    let source = if kind == PayloadKind::SLICE {
                        &slice[..]
                    } else {
                        std::slice::from_raw_parts(words.at.cast::<Span>(), words.count)
                    };
                    unpack_pieces(targets, source, buffers, kernel);
                }
                port.consume(*peer);
            }
            Action::Settle { peer, back } => {
                let n = port.posted(*peer).wrapping_sub(*back);
                port.settle(*peer, n)?;
            }
        }
    }
    port.wait_all_acked()?;
    guard.disarm();
    Ok(())
}

/// Copies pieces one after the other to `to`.
///
/// # Safety
/// The pieces lie within the buffers; `to` has room for them.
#[inline(always)]
unsafe fn pack_pieces(
    mut to: *mut u8,
    pieces: &[PlanPiece],
    buffers: &Memories,
    kernel: &Kernel<'_>,
) {
    for piece in pieces {
        // SAFETY: by the contract; the slot is no buffer of ours.
        unsafe { kernel.copy(to, buffers.at(piece.at, kernel.size()), piece.len) };
        to = to.wrapping_add(piece.len * kernel.size());
    }
}

/// Treats a payload, given as the spans that it consists of, as the targets say.
///
/// # Safety
/// - The spans are valid for reads, aligned, and together at least as long as
///   the targets' furthest end; nobody writes them meanwhile.
/// - The targets lie within the buffers.
#[inline(never)]
unsafe fn unpack_pieces(
    targets: &[Destination],
    source: &[Span],
    buffers: &Memories,
    kernel: &Kernel<'_>,
) {
    let size = kernel.size();
    for t in targets {
        let to = buffers.at(t.to, size);
        let own = buffers.at(t.own, size);
        let mut done = 0;
        let mut begin = 0;
        for span in source {
            let end = begin + span.len;
            let from = t.skip + done;
            if from < end {
                let n = (end - from).min(t.len - done);
                let src = span.at.wrapping_add((from - begin) * size);
                let (to, own) = (to.wrapping_add(done * size), own.wrapping_add(done * size));
                // SAFETY: `n` elements are left in the span and in the target;
                // the payload is a peer's memory or a copy on our stack, so
                // it overlaps no place of ours, or it is a message to
                // ourselves, where the binder writes nothing before it is
                // settled; `own` is `to` or disjoint from it (binder).
                unsafe {
                    match t.mode {
                        Mode::Store => kernel.copy(to, src, n),
                        Mode::Left => kernel.combine(to, src, own, n),
                        Mode::Right => kernel.combine(to, own, src, n),
                    }
                }
                done += n;
                if done == t.len {
                    break;
                }
            }
            begin = end;
        }
    }
}
