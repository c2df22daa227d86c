//! The functions of MPI, as the shim calls them: this rank's state and the call's return address
//! first, then the arguments of the standard's C binding.
//!
//! # Safety of all functions here
//! `rank` is what the loader bound to the shim. The other pointers are the program's: as valid as
//! the standard asks of it. Handles are looked up, never followed.
#![expect(non_snake_case, reason = "the standard's names")]
#![expect(clippy::missing_safety_doc, reason = "one section for all, at the head of the file")]
#![expect(missing_docs, reason = "the standard documents them")]

use super::coll::{Call, Operator};
use super::comm::{Comm, Offer, Shared};
use super::error::{Class, Outcome, Site, class_text, end, error};
use super::handle::Handle;
use super::p2p::{
    self, ANY_SOURCE, ANY_TAG, Arrived, Envelope, Mode, OneOf, PROC_NULL, Probed, Req,
};
use super::rank::{Group, Rank, Stage, UserFunction, fixed};
use super::topo::{Cart, dims_create};
use super::types::{Place, Type, bytes_at, copy, pack, unpack};
use super::world::lock;
use std::ffi::{c_char, c_double, c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

/// A function's address, in the order of functions.txt.
#[derive(Debug)]
#[repr(transparent)]
pub struct Entry(*const ());

// SAFETY: addresses of functions, never written.
unsafe impl Sync for Entry {}

macro_rules! absent {
    ($name:literal) => {{
        unsafe extern "C" fn absent(rank: *const Rank, address: usize) -> c_int {
            // SAFETY: see the head of the file.
            let me = unsafe { &*rank }.me;
            let site = Site { function: concat!("MPI_", $name), address };
            let place = site.describe();
            end(1, &format!("phalanx: rank {me}: {place}: this function is not in the subset"))
        }
        absent as *const ()
    }};
}

mod table {
    use super::*;
    use crate::rt::api;

    /// The shim's table.
    pub static TABLE: &[Entry] = &include!(concat!(env!("OUT_DIR"), "/table.rs"));
}
pub use table::TABLE;

/// MPI_Status.
#[derive(Debug)]
#[repr(C)]
pub struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    inner: [c_int; 5],
}

/// Writes a status, unless the program ignores it; the error stays as it is.
///
/// # Safety
/// `status` is null or a status of the program.
unsafe fn put(status: *mut Status, arrived: Arrived) {
    if !status.is_null() {
        let bytes = arrived.bytes as u64;
        // SAFETY: the caller's promise; fields are written one by one, for it may be uninitialised.
        unsafe {
            (*status).source = arrived.source;
            (*status).tag = arrived.tag;
            (*status).inner = [bytes as c_int, (bytes >> 32) as c_int, 0, 0, 0];
        }
    }
}

fn bytes_of(status: &Status) -> usize {
    (status.inner[0] as u32 as usize) | (status.inner[1] as u32 as usize) << 32
}

const EMPTY: Arrived = Arrived { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0 };
const NOBODY: Arrived = Arrived { source: PROC_NULL, tag: ANY_TAG, bytes: 0 };
const IN_PLACE: usize = 1;
const UNDEFINED: c_int = -32766;
const BYTE: Handle = 0x247;

/// A list of the program.
///
/// # Safety
/// `count` elements lie there, or the count is not positive.
unsafe fn list<'a, T>(at: *const T, count: c_int) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: the caller's promise.
        Ok(count) if count > 0 && !at.is_null() => unsafe { std::slice::from_raw_parts(at, count) },
        _ => &[],
    }
}

fn count_of(count: c_int) -> Outcome<usize> {
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => error(Class::Count, format!("the count {count} is negative")),
    }
}

fn root_of(comm: &Comm, root: c_int) -> Outcome<usize> {
    match usize::try_from(root) {
        Ok(root) if root < comm.size() => Ok(root),
        _ => error(Class::Root, format!("the root {root} is none of {} ranks", comm.size())),
    }
}

/// The rank of a peer; `None` for MPI_PROC_NULL.
fn peer_of(comm: &Comm, peer: c_int) -> Outcome<Option<usize>> {
    match usize::try_from(peer) {
        Ok(peer) if peer < comm.size() => Ok(Some(peer)),
        _ if peer == PROC_NULL => Ok(None),
        _ => error(Class::Rank, format!("rank {peer} is none of {} ranks", comm.size())),
    }
}

fn call<'a>(rank: &'a Rank, comm: &'a Comm, site: Site) -> Call<'a> {
    Call { world: &rank.world, comm, site }
}

/// Starts a send.
///
/// # Safety
/// As `p2p::send`.
unsafe fn start_send(
    rank: &Rank,
    site: Site,
    place: Place,
    to: c_int,
    tag: c_int,
    comm: &Comm,
    mode: Mode,
) -> Outcome<Arc<Req>> {
    if tag < 0 {
        return error(Class::Tag, format!("the tag {tag} is negative"));
    }
    let peer = peer_of(comm, to)?;
    let req = Req::new(rank.me, site, true, to, tag);
    let Some(peer) = peer else {
        req.complete(&rank.world, EMPTY);
        return Ok(req);
    };
    let envelope = Envelope { context: comm.shared.context, source: comm.rank as i32, tag };
    let to = comm.world_rank(peer);
    let send = p2p::Send { me: rank.me, to, envelope, place, mode };
    // SAFETY: the caller's promise.
    unsafe { p2p::send(&rank.world, send, &req) };
    Ok(req)
}

fn pattern(comm: &Comm, from: c_int, tag: c_int) -> Outcome<Option<Envelope>> {
    if tag < 0 && tag != ANY_TAG {
        return error(Class::Tag, format!("the tag {tag} is negative"));
    }
    if from != ANY_SOURCE && peer_of(comm, from)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Envelope { context: comm.shared.context, source: from, tag }))
}

/// Starts a receive.
///
/// # Safety
/// As `p2p::receive`.
unsafe fn start_receive(
    rank: &Rank,
    site: Site,
    place: Place,
    from: c_int,
    tag: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let pattern = pattern(comm, from, tag)?;
    let req = Req::new(rank.me, site, false, from, tag);
    match pattern {
        // SAFETY: the caller's promise.
        Some(pattern) => unsafe { p2p::receive(&rank.world, rank.me, pattern, place, &req) },
        None => req.complete(&rank.world, NOBODY),
    }
    Ok(req)
}

fn wait_one(rank: &Rank, site: Site, req: &Arc<Req>) {
    let condition = || Arc::new(OneOf(vec![Arc::clone(req)])) as _;
    rank.world.wait(rank.me, site, || req.is_done(), condition);
}

/// Reads a complete request.
///
/// # Safety
/// As `put`.
unsafe fn finish(req: &Req, status: *mut Status) -> Outcome {
    let (arrived, failed) = req.arrived();
    // SAFETY: the caller's promise.
    unsafe { put(status, arrived) };
    if !status.is_null() && req.is_cancelled() {
        // SAFETY: as above.
        unsafe { (*status).inner[2] = 1 };
    }
    failed.map_or(Ok(()), |error| Err(error.clone()))
}

/// The request of a handle; `None` for the null one.
fn request(rank: &Rank, handle: Handle) -> Outcome<Option<Arc<Req>>> {
    if handle == fixed::REQUEST_NULL {
        return Ok(None);
    }
    match rank.requests.borrow().get(handle) {
        Some(req) => Ok(Some(Arc::clone(req))),
        None => error(Class::Request, format!("{handle:#x} is no request")),
    }
}

fn requests(rank: &Rank, handles: &[Handle]) -> Outcome<Vec<Option<Arc<Req>>>> {
    handles.iter().map(|it| request(rank, *it)).collect()
}

/// Ends a request of a list: its status, and the null handle.
///
/// # Safety
/// `handle` and `status` (unless null) are the program's.
unsafe fn retire(rank: &Rank, handle: *mut Handle, req: &Req, status: *mut Status) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        rank.requests.borrow_mut().remove(*handle);
        *handle = fixed::REQUEST_NULL;
        finish(req, status)
    }
}

fn at(status: *mut Status, index: usize) -> *mut Status {
    if status.is_null() { status } else { status.wrapping_add(index) }
}

/// What a rank reduces: its operand and the operator.
fn operands(
    rank: &Rank,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    ty: Handle,
    op: Handle,
) -> Outcome<(Place, Operator)> {
    let send = if send as usize == IN_PLACE { recv.cast_const() } else { send };
    let place = rank.place(send, count, ty)?;
    if let Some((function, _)) = rank.ops.borrow().get(op) {
        return Ok((place, Operator::User(*function, ty)));
    }
    let element = place.ty.element;
    match element.filter(|it| super::ops::knows(op, *it)) {
        Some(element) if ty < 0x1000 => Ok((place, Operator::Known(op, element))),
        _ if op >= 0x1000 || op == fixed::OP_NULL => {
            error(Class::Op, format!("{op:#x} is no operator"))
        }
        _ => {
            let (op, name) = (super::ops::name(op), place.ty.name);
            error(Class::Op, format!("{op} is not defined for {name}"))
        }
    }
}

/// Keeps a new datatype.
///
/// # Safety
/// `new` is the program's.
unsafe fn keep_type(rank: &Rank, ty: Type, new: *mut Handle) -> Outcome {
    let handle = rank.types.borrow_mut().insert(Arc::new(ty));
    // SAFETY: the caller's promise.
    unsafe { *new = handle };
    Ok(())
}

/// Keeps a new communicator; none gives the null handle.
///
/// # Safety
/// `new` is the program's.
unsafe fn keep_comm(
    rank: &Rank,
    old: &Comm,
    shared: Option<Arc<Shared>>,
    cart: Option<Cart>,
    new: *mut Handle,
) -> Outcome {
    let handle = match shared {
        Some(shared) => {
            let me = shared.members.iter().position(|it| *it == rank.me).unwrap_or(0);
            let comm = Comm::new(shared, me, old.errhandler.get(), cart);
            rank.comms.borrow_mut().insert(comm)
        }
        None => fixed::COMM_NULL,
    };
    // SAFETY: the caller's promise.
    unsafe { *new = handle };
    Ok(())
}

/// Divides a communicator by colours (none for a negative one), in the order of the keys.
fn split(rank: &Rank, comm: &Comm, site: Site, color: i64, key: i64) -> Option<Arc<Shared>> {
    let call = call(rank, comm, site);
    let all = call.numbers(color, key);
    let mut members: Vec<usize> =
        (0..all.len()).filter(|it| color >= 0 && all[*it].0 == color).collect();
    members.sort_by_key(|it| (all[*it].1, *it));
    call.divide(&members)
}

fn texts(text: &str, to: *mut c_char, length: *mut c_int, room: usize) {
    let bytes = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: the standard asks the program for that much room.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), to, bytes.len());
        *to.add(bytes.len()) = 0;
        *length = bytes.len() as c_int;
    }
}

pub unsafe extern "C" fn Init(
    rank: *const Rank,
    address: usize,
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
) -> c_int {
    let site = Site { function: "MPI_Init", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || rank.init())
    }
}

pub unsafe extern "C" fn Init_thread(
    rank: *const Rank,
    address: usize,
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Init_thread", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            rank.init()?;
            rank.level.set(required.min(2048));
            *provided = rank.level.get();
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Initialized(rank: *const Rank, address: usize, flag: *mut c_int) -> c_int {
    let site = Site { function: "MPI_Initialized", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            *flag = c_int::from(rank.stage.get() != Stage::Before);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Finalize(rank: *const Rank, address: usize) -> c_int {
    let site = Site { function: "MPI_Finalize", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let world = rank.comm(fixed::COMM_WORLD)?;
            call(rank, &world, site).barrier();
            rank.stage.set(Stage::Finalized);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Finalized(rank: *const Rank, address: usize, flag: *mut c_int) -> c_int {
    let site = Site { function: "MPI_Finalized", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            *flag = c_int::from(rank.stage.get() == Stage::Finalized);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Abort(
    rank: *const Rank,
    address: usize,
    _comm: Handle,
    code: c_int,
) -> c_int {
    let site = Site { function: "MPI_Abort", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        let place = site.describe();
        end(
            code,
            &format!(
                "phalanx: rank {}: {place}: the program ends itself with code {code}",
                rank.me
            ),
        )
    }
}

pub unsafe extern "C" fn Wtime(rank: *const Rank, address: usize) -> c_double {
    let site = Site { function: "MPI_Wtime", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        let _ = site;
        rank.world.seconds()
    }
}

pub unsafe extern "C" fn Wtick(rank: *const Rank, address: usize) -> c_double {
    let site = Site { function: "MPI_Wtick", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        let _ = (site, rank);
        1e-9
    }
}

pub unsafe extern "C" fn Get_processor_name(
    rank: *const Rank,
    address: usize,
    name: *mut c_char,
    length: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Get_processor_name", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            let mut host = [0_u8; 256];
            libc::gethostname(host.as_mut_ptr().cast(), 255);
            let end = host.iter().position(|it| *it == 0).unwrap_or(0);
            texts(&String::from_utf8_lossy(&host[..end]), name, length, 256);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Get_version(
    rank: *const Rank,
    address: usize,
    version: *mut c_int,
    sub: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Get_version", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            (*version, *sub) = (5, 0);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Get_library_version(
    rank: *const Rank,
    address: usize,
    text: *mut c_char,
    length: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Get_library_version", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            texts(
                concat!("Phalanx MPI on threads ", env!("CARGO_PKG_VERSION")),
                text,
                length,
                8192,
            );
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Query_thread(
    rank: *const Rank,
    address: usize,
    provided: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Query_thread", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            *provided = rank.level.get();
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Is_thread_main(
    rank: *const Rank,
    address: usize,
    flag: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Is_thread_main", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let main = rank.world.is_on(rank.me);
            *flag = c_int::from(main);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Error_string(
    rank: *const Rank,
    address: usize,
    code: c_int,
    text: *mut c_char,
    length: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Error_string", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            texts(class_text(code), text, length, 512);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Error_class(
    rank: *const Rank,
    address: usize,
    code: c_int,
    class: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Error_class", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            *class = code;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_set_errhandler(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    handler: Handle,
) -> c_int {
    let site = Site { function: "MPI_Comm_set_errhandler", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            if !(fixed::ERRORS_ARE_FATAL..=fixed::ERRORS_ABORT).contains(&handler) {
                return error(Class::Arg, "this error handler is not one of the predefined ones");
            }
            rank.comm(comm)?.errhandler.set(handler);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Errhandler_set(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    handler: Handle,
) -> c_int {
    let site = Site { function: "MPI_Errhandler_set", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            if !(fixed::ERRORS_ARE_FATAL..=fixed::ERRORS_ABORT).contains(&handler) {
                return error(Class::Arg, "this error handler is not one of the predefined ones");
            }
            rank.comm(comm)?.errhandler.set(handler);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_get_errhandler(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    handler: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Comm_get_errhandler", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            *handler = rank.comm(comm)?.errhandler.get();
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Pcontrol(rank: *const Rank, address: usize, _level: c_int) -> c_int {
    let site = Site { function: "MPI_Pcontrol", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        let _ = (site, rank);
        0
    }
}

pub unsafe extern "C" fn Get_address(
    rank: *const Rank,
    address: usize,
    location: *const c_void,
    address_out: *mut isize,
) -> c_int {
    let site = Site { function: "MPI_Get_address", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            *address_out = location as isize;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Address(
    rank: *const Rank,
    address: usize,
    location: *const c_void,
    address_out: *mut isize,
) -> c_int {
    let site = Site { function: "MPI_Address", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            *address_out = location as isize;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Alloc_mem(
    rank: *const Rank,
    address: usize,
    size: isize,
    _info: Handle,
    base: *mut c_void,
) -> c_int {
    let site = Site { function: "MPI_Alloc_mem", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            let size = usize::try_from(size).unwrap_or(0);
            let memory = libc::malloc(size.max(1));
            if memory.is_null() {
                return error(Class::Other, format!("no memory for {size} bytes"));
            }
            *base.cast::<*mut c_void>() = memory;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Free_mem(rank: *const Rank, address: usize, base: *mut c_void) -> c_int {
    let site = Site { function: "MPI_Free_mem", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.always(site, || {
            libc::free(base);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_rank(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    out: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Comm_rank", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            *out = rank.comm(comm)?.rank as c_int;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_size(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    out: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Comm_size", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            *out = rank.comm(comm)?.size() as c_int;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_dup(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Comm_dup", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let old = rank.comm(comm)?;
            let shared = split(rank, &old, site, 0, 0);
            keep_comm(rank, &old, shared, old.cart.clone(), new)
        })
    }
}

pub unsafe extern "C" fn Comm_split(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    color: c_int,
    key: c_int,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Comm_split", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let old = rank.comm(comm)?;
            if color < 0 && color != UNDEFINED {
                return error(Class::Arg, format!("the colour {color} is negative"));
            }
            let shared = split(rank, &old, site, i64::from(color), i64::from(key));
            keep_comm(rank, &old, shared, None, new)
        })
    }
}

pub unsafe extern "C" fn Comm_split_type(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    kind: c_int,
    key: c_int,
    _info: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Comm_split_type", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let old = rank.comm(comm)?;
            // All ranks share one memory; other kinds of hardware are not told apart.
            let color = if kind == 221 { 0 } else { -1 };
            let shared = split(rank, &old, site, color, i64::from(key));
            keep_comm(rank, &old, shared, None, new)
        })
    }
}

pub unsafe extern "C" fn Comm_create(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    group: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Comm_create", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let old = rank.comm(comm)?;
            let group = rank.group(group)?;
            let index = |it: &usize| old.shared.members.iter().position(|other| other == it);
            let members: Vec<usize> = group.iter().filter_map(index).collect();
            if members.len() != group.len() {
                return error(Class::Group, "a rank of the group is not in the communicator");
            }
            let members = if members.contains(&old.rank) { members } else { Vec::new() };
            let shared = call(rank, &old, site).divide(&members);
            keep_comm(rank, &old, shared, None, new)
        })
    }
}

pub unsafe extern "C" fn Comm_free(
    rank: *const Rank,
    address: usize,
    comm_at: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Comm_free", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, *comm_at, || {
            let comm = *comm_at;
            if comm == fixed::COMM_WORLD || comm == fixed::COMM_SELF {
                return error(Class::Comm, "a predefined communicator cannot be freed");
            }
            rank.comm(comm)?;
            rank.comms.borrow_mut().remove(comm);
            *comm_at = fixed::COMM_NULL;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_group(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    group: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Comm_group", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let comm = rank.comm(comm)?;
            *group = rank.keep_group(comm.shared.members.clone());
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_compare(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    other: Handle,
    result: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Comm_compare", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let (one, two) = (rank.comm(comm)?, rank.comm(other)?);
            *result = if Arc::ptr_eq(&one.shared, &two.shared) {
                201
            } else {
                alike(&one.shared.members, &two.shared.members)
            };
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_get_attr(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    key: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Comm_get_attr", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            rank.comm(comm)?;
            let found = predefined(key, rank.world.slots.len());
            *flag = c_int::from(found.is_some());
            if let Some(number) = found {
                // The standard hands out the address of a number that lives for ever.
                *value.cast::<*const c_int>() = Box::leak(Box::new(number));
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Attr_get(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    key: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Attr_get", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            rank.comm(comm)?;
            let found = predefined(key, rank.world.slots.len());
            *flag = c_int::from(found.is_some());
            if let Some(number) = found {
                // The standard hands out the address of a number that lives for ever.
                *value.cast::<*const c_int>() = Box::leak(Box::new(number));
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_test_inter(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    flag: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Comm_test_inter", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            rank.comm(comm)?;
            *flag = 0;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_size(
    rank: *const Rank,
    address: usize,
    group: Handle,
    size: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Group_size", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            *size = rank.group(group)?.len() as c_int;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_rank(
    rank: *const Rank,
    address: usize,
    group: Handle,
    out: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Group_rank", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let place = rank.group(group)?.iter().position(|it| *it == rank.me);
            *out = place.map_or(UNDEFINED, |it| it as c_int);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_incl(
    rank: *const Rank,
    address: usize,
    group: Handle,
    n: c_int,
    ranks: *const c_int,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Group_incl", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let group = rank.group(group)?;
            let chosen: Outcome<Vec<usize>> =
                list(ranks, n).iter().map(|it| member(&group, *it)).collect();
            *new = rank.keep_group(chosen?);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_excl(
    rank: *const Rank,
    address: usize,
    group: Handle,
    n: c_int,
    ranks: *const c_int,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Group_excl", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let group = rank.group(group)?;
            let without: Outcome<Vec<usize>> =
                list(ranks, n).iter().map(|it| member(&group, *it)).collect();
            let without = without?;
            *new =
                rank.keep_group(group.iter().copied().filter(|it| !without.contains(it)).collect());
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_translate_ranks(
    rank: *const Rank,
    address: usize,
    group: Handle,
    n: c_int,
    ranks: *const c_int,
    other: Handle,
    out: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Group_translate_ranks", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (from, to) = (rank.group(group)?, rank.group(other)?);
            for (index, one) in list(ranks, n).iter().enumerate() {
                let found = if *one == PROC_NULL {
                    PROC_NULL
                } else {
                    let world = member(&from, *one)?;
                    to.iter().position(|it| *it == world).map_or(UNDEFINED, |it| it as c_int)
                };
                *out.add(index) = found;
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_free(
    rank: *const Rank,
    address: usize,
    group: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Group_free", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            rank.group(*group)?;
            rank.groups.borrow_mut().remove(*group);
            *group = fixed::GROUP_NULL;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_union(
    rank: *const Rank,
    address: usize,
    a: Handle,
    b: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Group_union", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (one, two) = (rank.group(a)?, rank.group(b)?);
            let chosen: Vec<usize> =
                one.iter().chain(two.iter().filter(|it| !one.contains(it))).copied().collect();
            *new = rank.keep_group(chosen);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_intersection(
    rank: *const Rank,
    address: usize,
    a: Handle,
    b: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Group_intersection", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (one, two) = (rank.group(a)?, rank.group(b)?);
            let chosen: Vec<usize> = one.iter().filter(|it| two.contains(it)).copied().collect();
            *new = rank.keep_group(chosen);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_difference(
    rank: *const Rank,
    address: usize,
    a: Handle,
    b: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Group_difference", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (one, two) = (rank.group(a)?, rank.group(b)?);
            let chosen: Vec<usize> = one.iter().filter(|it| !two.contains(it)).copied().collect();
            *new = rank.keep_group(chosen);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_compare(
    rank: *const Rank,
    address: usize,
    a: Handle,
    b: Handle,
    result: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Group_compare", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (one, two) = (rank.group(a)?, rank.group(b)?);
            *result = match alike(&one, &two) {
                202 => 201,
                other => other,
            };
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_range_incl(
    rank: *const Rank,
    address: usize,
    group: Handle,
    n: c_int,
    ranges: *const [c_int; 3],
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Group_range_incl", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let group = rank.group(group)?;
            let chosen = ranges_of(&group, list(ranges, n))?;
            *new = rank.keep_group(chosen);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Group_range_excl(
    rank: *const Rank,
    address: usize,
    group: Handle,
    n: c_int,
    ranges: *const [c_int; 3],
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Group_range_excl", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let group = rank.group(group)?;
            let chosen = ranges_of(&group, list(ranges, n))?;
            *new =
                rank.keep_group(group.iter().copied().filter(|it| !chosen.contains(it)).collect());
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Topo_test(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    status: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Topo_test", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            *status = if rank.comm(comm)?.cart.is_some() { 211 } else { UNDEFINED };
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Pack(
    rank: *const Rank,
    address: usize,
    inbuf: *const c_void,
    count: c_int,
    ty: Handle,
    out: *mut c_void,
    room: c_int,
    position: *mut c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Pack", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            rank.comm(comm)?;
            let packed = pack(&rank.place(inbuf, count, ty)?);
            let start = usize::try_from(*position).unwrap_or(usize::MAX);
            let end = start.saturating_add(packed.len());
            if end > usize::try_from(room).unwrap_or(0) {
                return error(
                    Class::Truncate,
                    format!("{} bytes do not fit the room that is left of {room}", packed.len()),
                );
            }
            unpack(&packed, &bytes_at(out as usize + start, packed.len()));
            *position = end as c_int;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Unpack(
    rank: *const Rank,
    address: usize,
    inbuf: *const c_void,
    room: c_int,
    position: *mut c_int,
    out: *mut c_void,
    count: c_int,
    ty: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Unpack", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            rank.comm(comm)?;
            let target = rank.place(out, count, ty)?;
            let start = usize::try_from(*position).unwrap_or(usize::MAX);
            let end = start.saturating_add(target.bytes());
            if end > usize::try_from(room).unwrap_or(0) {
                return error(Class::Truncate, format!("{} bytes are not there", target.bytes()));
            }
            copy(&bytes_at(inbuf as usize + start, target.bytes()), &target);
            *position = end as c_int;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Pack_size(
    rank: *const Rank,
    address: usize,
    count: c_int,
    ty: Handle,
    comm: Handle,
    size: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Pack_size", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            rank.comm(comm)?;
            *size = c_int::try_from(count_of(count)?.saturating_mul(rank.ty(ty)?.size))
                .unwrap_or(UNDEFINED);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_set_name(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    name: *const c_char,
) -> c_int {
    let site = Site { function: "MPI_Comm_set_name", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let text = std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned();
            *rank.comm(comm)?.name.borrow_mut() = Some(text);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Comm_get_name(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    name: *mut c_char,
    length: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Comm_get_name", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let own = match comm {
                fixed::COMM_WORLD => "MPI_COMM_WORLD",
                fixed::COMM_SELF => "MPI_COMM_SELF",
                _ => "",
            };
            texts(it.name.borrow().as_deref().unwrap_or(own), name, length, 128);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Send(
    rank: *const Rank,
    address: usize,
    buf: *const c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Send", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_send(rank, site, place, to, tag, &it, Mode::Standard)?;
            wait_one(rank, site, &req);
            finish(&req, std::ptr::null_mut())
        })
    }
}

pub unsafe extern "C" fn Ssend(
    rank: *const Rank,
    address: usize,
    buf: *const c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Ssend", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_send(rank, site, place, to, tag, &it, Mode::Synchronous)?;
            wait_one(rank, site, &req);
            finish(&req, std::ptr::null_mut())
        })
    }
}

pub unsafe extern "C" fn Rsend(
    rank: *const Rank,
    address: usize,
    buf: *const c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Rsend", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_send(rank, site, place, to, tag, &it, Mode::Standard)?;
            wait_one(rank, site, &req);
            finish(&req, std::ptr::null_mut())
        })
    }
}

pub unsafe extern "C" fn Bsend(
    rank: *const Rank,
    address: usize,
    buf: *const c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Bsend", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_send(rank, site, place, to, tag, &it, Mode::Buffered)?;
            wait_one(rank, site, &req);
            finish(&req, std::ptr::null_mut())
        })
    }
}

pub unsafe extern "C" fn Isend(
    rank: *const Rank,
    address: usize,
    buf: *const c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    out: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Isend", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_send(rank, site, place, to, tag, &it, Mode::Standard)?;
            *out = rank.requests.borrow_mut().insert(req);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Issend(
    rank: *const Rank,
    address: usize,
    buf: *const c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    out: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Issend", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_send(rank, site, place, to, tag, &it, Mode::Synchronous)?;
            *out = rank.requests.borrow_mut().insert(req);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Irsend(
    rank: *const Rank,
    address: usize,
    buf: *const c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    out: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Irsend", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_send(rank, site, place, to, tag, &it, Mode::Standard)?;
            *out = rank.requests.borrow_mut().insert(req);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Ibsend(
    rank: *const Rank,
    address: usize,
    buf: *const c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    out: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Ibsend", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_send(rank, site, place, to, tag, &it, Mode::Buffered)?;
            *out = rank.requests.borrow_mut().insert(req);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Recv(
    rank: *const Rank,
    address: usize,
    buf: *mut c_void,
    count: c_int,
    ty: Handle,
    from: c_int,
    tag: c_int,
    comm: Handle,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Recv", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_receive(rank, site, place, from, tag, &it)?;
            wait_one(rank, site, &req);
            finish(&req, status)
        })
    }
}

pub unsafe extern "C" fn Irecv(
    rank: *const Rank,
    address: usize,
    buf: *mut c_void,
    count: c_int,
    ty: Handle,
    from: c_int,
    tag: c_int,
    comm: Handle,
    out: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Irecv", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            let req = start_receive(rank, site, place, from, tag, &it)?;
            *out = rank.requests.borrow_mut().insert(req);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Sendrecv(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_count: c_int,
    send_ty: Handle,
    to: c_int,
    send_tag: c_int,
    recv: *mut c_void,
    recv_count: c_int,
    recv_ty: Handle,
    from: c_int,
    recv_tag: c_int,
    comm: Handle,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Sendrecv", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let (source, target) =
                (rank.place(send, send_count, send_ty)?, rank.place(recv, recv_count, recv_ty)?);
            peer_of(&it, to)?;
            let receive = start_receive(rank, site, target, from, recv_tag, &it)?;
            let send = start_send(rank, site, source, to, send_tag, &it, Mode::Standard)?;
            wait_one(rank, site, &receive);
            wait_one(rank, site, &send);
            finish(&receive, status)
        })
    }
}

pub unsafe extern "C" fn Sendrecv_replace(
    rank: *const Rank,
    address: usize,
    buf: *mut c_void,
    count: c_int,
    ty: Handle,
    to: c_int,
    send_tag: c_int,
    from: c_int,
    recv_tag: c_int,
    comm: Handle,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Sendrecv_replace", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            peer_of(&it, to)?;
            let packed = pack(&place);
            let source = bytes_at(packed.as_ptr() as usize, packed.len());
            let receive = start_receive(rank, site, place, from, recv_tag, &it)?;
            let send = start_send(rank, site, source, to, send_tag, &it, Mode::Standard)?;
            wait_one(rank, site, &receive);
            wait_one(rank, site, &send);
            finish(&receive, status)
        })
    }
}

pub unsafe extern "C" fn Wait(
    rank: *const Rank,
    address: usize,
    handle: *mut Handle,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Wait", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || match request(rank, *handle)? {
            Some(req) => {
                wait_one(rank, site, &req);
                retire(rank, handle, &req, status)
            }
            None => {
                put(status, EMPTY);
                Ok(())
            }
        })
    }
}

pub unsafe extern "C" fn Waitall(
    rank: *const Rank,
    address: usize,
    count: c_int,
    handles: *mut Handle,
    statuses: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Waitall", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let all = requests(rank, list(handles, count))?;
            let mut outcome = Ok(());
            for (index, req) in all.iter().enumerate() {
                match req {
                    Some(req) => {
                        wait_one(rank, site, req);
                        outcome =
                            outcome.and(retire(rank, handles.add(index), req, at(statuses, index)));
                    }
                    None => put(at(statuses, index), EMPTY),
                }
            }
            outcome
        })
    }
}

pub unsafe extern "C" fn Waitany(
    rank: *const Rank,
    address: usize,
    count: c_int,
    handles: *mut Handle,
    index: *mut c_int,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Waitany", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let all = requests(rank, list(handles, count))?;
            let active: Vec<Arc<Req>> = all.iter().flatten().cloned().collect();
            if active.is_empty() {
                *index = UNDEFINED;
                put(status, EMPTY);
                return Ok(());
            }
            wait_any(rank, site, active);
            let found = all
                .iter()
                .enumerate()
                .find_map(|(i, it)| Some((i, it.as_ref().filter(|it| it.is_done())?)));
            let Some((place, req)) = found else { return Ok(()) };
            *index = place as c_int;
            retire(rank, handles.add(place), req, status)
        })
    }
}

pub unsafe extern "C" fn Waitsome(
    rank: *const Rank,
    address: usize,
    count: c_int,
    handles: *mut Handle,
    out_count: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Waitsome", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let all = requests(rank, list(handles, count))?;
            let active: Vec<Arc<Req>> = all.iter().flatten().cloned().collect();
            if active.is_empty() {
                *out_count = UNDEFINED;
                return Ok(());
            }
            wait_any(rank, site, active);
            let mut found = 0;
            let mut outcome = Ok(());
            for (place, req) in all.iter().enumerate() {
                if let Some(req) = req.as_ref().filter(|it| it.is_done()) {
                    *indices.add(found) = place as c_int;
                    outcome =
                        outcome.and(retire(rank, handles.add(place), req, at(statuses, found)));
                    found += 1;
                }
            }
            *out_count = found as c_int;
            outcome
        })
    }
}

pub unsafe extern "C" fn Testsome(
    rank: *const Rank,
    address: usize,
    count: c_int,
    handles: *mut Handle,
    out_count: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Testsome", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let all = requests(rank, list(handles, count))?;
            let active: Vec<Arc<Req>> = all.iter().flatten().cloned().collect();
            if active.is_empty() {
                *out_count = UNDEFINED;
                return Ok(());
            }
            if active.iter().any(|it| it.is_done()) {
                rank.idle.set(0);
            } else {
                rank.idle();
            }
            let mut found = 0;
            let mut outcome = Ok(());
            for (place, req) in all.iter().enumerate() {
                if let Some(req) = req.as_ref().filter(|it| it.is_done()) {
                    *indices.add(found) = place as c_int;
                    outcome =
                        outcome.and(retire(rank, handles.add(place), req, at(statuses, found)));
                    found += 1;
                }
            }
            *out_count = found as c_int;
            outcome
        })
    }
}

pub unsafe extern "C" fn Test(
    rank: *const Rank,
    address: usize,
    handle: *mut Handle,
    flag: *mut c_int,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Test", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            *flag = 1;
            match request(rank, *handle)? {
                Some(req) if req.is_done() => {
                    rank.idle.set(0);
                    retire(rank, handle, &req, status)
                }
                Some(_) => {
                    *flag = 0;
                    rank.idle();
                    Ok(())
                }
                None => {
                    put(status, EMPTY);
                    Ok(())
                }
            }
        })
    }
}

pub unsafe extern "C" fn Testall(
    rank: *const Rank,
    address: usize,
    count: c_int,
    handles: *mut Handle,
    flag: *mut c_int,
    statuses: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Testall", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let all = requests(rank, list(handles, count))?;
            if all.iter().flatten().any(|it| !it.is_done()) {
                *flag = 0;
                rank.idle();
                return Ok(());
            }
            *flag = 1;
            rank.idle.set(0);
            let mut outcome = Ok(());
            for (index, req) in all.iter().enumerate() {
                match req {
                    Some(req) => {
                        outcome =
                            outcome.and(retire(rank, handles.add(index), req, at(statuses, index)))
                    }
                    None => put(at(statuses, index), EMPTY),
                }
            }
            outcome
        })
    }
}

pub unsafe extern "C" fn Testany(
    rank: *const Rank,
    address: usize,
    count: c_int,
    handles: *mut Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Testany", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let all = requests(rank, list(handles, count))?;
            *index = UNDEFINED;
            if all.iter().flatten().next().is_none() {
                *flag = 1;
                put(status, EMPTY);
                return Ok(());
            }
            let found = all
                .iter()
                .enumerate()
                .find_map(|(i, it)| Some((i, it.as_ref().filter(|it| it.is_done())?)));
            let Some((place, req)) = found else {
                *flag = 0;
                rank.idle();
                return Ok(());
            };
            (*flag, *index) = (1, place as c_int);
            rank.idle.set(0);
            retire(rank, handles.add(place), req, status)
        })
    }
}

pub unsafe extern "C" fn Probe(
    rank: *const Rank,
    address: usize,
    from: c_int,
    tag: c_int,
    comm: Handle,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Probe", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let Some(pattern) = pattern(&it, from, tag)? else {
                put(status, NOBODY);
                return Ok(());
            };
            let look = || lock(&rank.world.slots[rank.me].queue).probe(pattern);
            let world = || Arc::clone(&rank.world);
            let condition = || Arc::new(Probed { world: world(), me: rank.me, pattern }) as _;
            rank.world.wait(rank.me, site, || look().is_some(), condition);
            if let Some(arrived) = look() {
                put(status, arrived);
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Iprobe(
    rank: *const Rank,
    address: usize,
    from: c_int,
    tag: c_int,
    comm: Handle,
    flag: *mut c_int,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Iprobe", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let Some(pattern) = pattern(&it, from, tag)? else {
                *flag = 1;
                put(status, NOBODY);
                return Ok(());
            };
            let found = lock(&rank.world.slots[rank.me].queue).probe(pattern);
            *flag = c_int::from(found.is_some());
            match found {
                Some(arrived) => {
                    rank.idle.set(0);
                    put(status, arrived)
                }
                None => rank.idle(),
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Get_count(
    rank: *const Rank,
    address: usize,
    status: *const Status,
    ty: Handle,
    count: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Get_count", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (ty, bytes) = (rank.ty(ty)?, bytes_of(&*status));
            *count = if ty.size == 0 {
                0
            } else if bytes % ty.size != 0 {
                UNDEFINED
            } else {
                c_int::try_from(bytes / ty.size).unwrap_or(UNDEFINED)
            };
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Get_elements(
    rank: *const Rank,
    address: usize,
    status: *const Status,
    ty: Handle,
    count: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Get_elements", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let found = rank.ty(ty)?.elements_in(bytes_of(&*status));
            *count = found.and_then(|it| c_int::try_from(it).ok()).unwrap_or(UNDEFINED);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Cancel(rank: *const Rank, address: usize, handle: *mut Handle) -> c_int {
    let site = Site { function: "MPI_Cancel", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            if let Some(req) = request(rank, *handle)? {
                p2p::cancel(&rank.world, rank.me, &req);
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Test_cancelled(
    rank: *const Rank,
    address: usize,
    status: *const Status,
    flag: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Test_cancelled", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            *flag = (*status).inner[2];
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Request_get_status(
    rank: *const Rank,
    address: usize,
    handle: Handle,
    flag: *mut c_int,
    status: *mut Status,
) -> c_int {
    let site = Site { function: "MPI_Request_get_status", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            match request(rank, handle)? {
                Some(req) if req.is_done() => {
                    *flag = 1;
                    put(status, req.arrived().0);
                }
                Some(_) => {
                    *flag = 0;
                    rank.idle();
                }
                None => {
                    *flag = 1;
                    put(status, EMPTY);
                }
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Buffer_attach(
    rank: *const Rank,
    address: usize,
    buffer: *mut c_void,
    size: c_int,
) -> c_int {
    let site = Site { function: "MPI_Buffer_attach", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            rank.buffer.set((buffer as usize, size));
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Buffer_detach(
    rank: *const Rank,
    address: usize,
    buffer: *mut c_void,
    size: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Buffer_detach", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (at, length) = rank.buffer.take();
            *buffer.cast::<usize>() = at;
            *size = length;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Request_free(
    rank: *const Rank,
    address: usize,
    handle: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Request_free", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            request(rank, *handle)?;
            rank.requests.borrow_mut().remove(*handle);
            *handle = fixed::REQUEST_NULL;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Barrier(rank: *const Rank, address: usize, comm: Handle) -> c_int {
    let site = Site { function: "MPI_Barrier", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            call(rank, &it, site).barrier();
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Bcast(
    rank: *const Rank,
    address: usize,
    buf: *mut c_void,
    count: c_int,
    ty: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Bcast", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let place = rank.place(buf, count, ty)?;
            call(rank, &it, site).broadcast(&place, root_of(&it, root)?)
        })
    }
}

pub unsafe extern "C" fn Reduce(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    ty: Handle,
    op: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Reduce", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let root = root_of(&it, root)?;
            let (own, op) = operands(rank, send, recv, count, ty, op)?;
            let target = if it.rank == root { Some(rank.place(recv, count, ty)?) } else { None };
            call(rank, &it, site).reduce(&own, target.as_ref(), op, Some(root));
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Allreduce(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    ty: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Allreduce", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let (own, op) = operands(rank, send, recv, count, ty, op)?;
            let target = rank.place(recv, count, ty)?;
            call(rank, &it, site).reduce(&own, Some(&target), op, None);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Reduce_scatter(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    recv: *mut c_void,
    counts: *const c_int,
    ty: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Reduce_scatter", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let counts = list(counts, it.size() as c_int);
            let total: c_int = counts.iter().sum();
            let (own, op) = operands(rank, send, recv, total, ty, op)?;
            let start: usize = counts[..it.rank].iter().map(|it| *it as usize).sum();
            let target = rank.place(recv, counts[it.rank], ty)?;
            let elements = start..start + target.count;
            call(rank, &it, site).fold_some(&own, 0..it.size(), elements, &target, op);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Reduce_scatter_block(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    ty: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Reduce_scatter_block", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let (own, op) = operands(rank, send, recv, count * it.size() as c_int, ty, op)?;
            let target = rank.place(recv, count, ty)?;
            let elements = it.rank * target.count..(it.rank + 1) * target.count;
            call(rank, &it, site).fold_some(&own, 0..it.size(), elements, &target, op);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Scan(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    ty: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Scan", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let (own, op) = operands(rank, send, recv, count, ty, op)?;
            let target = rank.place(recv, count, ty)?;
            call(rank, &it, site).fold_some(&own, 0..it.rank + 1, 0..own.count, &target, op);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Exscan(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    ty: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Exscan", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let (own, op) = operands(rank, send, recv, count, ty, op)?;
            let target = rank.place(recv, count, ty)?;
            call(rank, &it, site).fold_some(&own, 0..it.rank, 0..own.count, &target, op);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Gather(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_count: c_int,
    send_ty: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_ty: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Gather", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let root = root_of(&it, root)?;
            let takes = if it.rank == root {
                even(&it, &rank.place(recv, recv_count, recv_ty)?, send)
            } else {
                Vec::new()
            };
            let offer = offer(rank, send, send_count, send_ty)?;
            let _ = size;
            call(rank, &it, site).exchange(Some(root), offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Gatherv(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_count: c_int,
    send_ty: Handle,
    recv: *mut c_void,
    counts: *const c_int,
    displs: *const c_int,
    recv_ty: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Gatherv", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let root = root_of(&it, root)?;
            let takes = if it.rank == root {
                uneven(rank, &it, recv, (counts, displs), recv_ty, send)?
            } else {
                Vec::new()
            };
            let offer = offer(rank, send, send_count, send_ty)?;
            let _ = size;
            call(rank, &it, site).exchange(Some(root), offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Allgather(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_count: c_int,
    send_ty: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_ty: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Allgather", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let takes = even(&it, &rank.place(recv, recv_count, recv_ty)?, send);
            let own = rank.place(recv, recv_count, recv_ty)?;
            let own = own.moved((it.rank * own.count) as isize, own.count);
            let offer = if send as usize == IN_PLACE {
                Offer::Same(own)
            } else {
                offer(rank, send, send_count, send_ty)?
            };
            let _ = size;
            call(rank, &it, site).exchange(None, offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Allgatherv(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_count: c_int,
    send_ty: Handle,
    recv: *mut c_void,
    counts: *const c_int,
    displs: *const c_int,
    recv_ty: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Allgatherv", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let takes = uneven(rank, &it, recv, (counts, displs), recv_ty, send)?;
            let own = parts(rank, size, recv, (counts, displs), recv_ty)?.swap_remove(it.rank);
            let offer = if send as usize == IN_PLACE {
                Offer::Same(own)
            } else {
                offer(rank, send, send_count, send_ty)?
            };
            call(rank, &it, site).exchange(None, offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Scatter(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_count: c_int,
    send_ty: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_ty: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Scatter", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let root = root_of(&it, root)?;
            let offer = if it.rank == root {
                let base = rank.place(send, send_count, send_ty)?;
                Offer::Each(
                    (0..size)
                        .map(|peer| base.moved((peer * base.count) as isize, base.count))
                        .collect(),
                )
            } else {
                Offer::Nothing
            };
            let takes = from_root(rank, size, root, recv, recv_count, recv_ty)?;
            call(rank, &it, site).exchange(Some(root), offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Scatterv(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    counts: *const c_int,
    displs: *const c_int,
    send_ty: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_ty: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Scatterv", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let root = root_of(&it, root)?;
            let offer = if it.rank == root {
                Offer::Each(parts(rank, size, send, (counts, displs), send_ty)?.into())
            } else {
                Offer::Nothing
            };
            let takes = from_root(rank, size, root, recv, recv_count, recv_ty)?;
            call(rank, &it, site).exchange(Some(root), offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Alltoall(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_count: c_int,
    send_ty: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_ty: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Alltoall", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let target = rank.place(recv, recv_count, recv_ty)?;
            let takes: Vec<Place> = (0..size)
                .map(|peer| target.moved((peer * target.count) as isize, target.count))
                .collect();
            let (offer, _kept) = if send as usize == IN_PLACE {
                packed(&takes)
            } else {
                let base = rank.place(send, send_count, send_ty)?;
                let each =
                    (0..size).map(|peer| base.moved((peer * base.count) as isize, base.count));
                (Offer::Each(each.collect()), Vec::new())
            };
            let takes: Vec<Option<Place>> = takes.into_iter().map(Some).collect();
            call(rank, &it, site).exchange(None, offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Alltoallv(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_counts: *const c_int,
    send_displs: *const c_int,
    send_ty: Handle,
    recv: *mut c_void,
    counts: *const c_int,
    displs: *const c_int,
    recv_ty: Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Alltoallv", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let takes = parts(rank, size, recv, (counts, displs), recv_ty)?;
            let (offer, _kept) = if send as usize == IN_PLACE {
                packed(&takes)
            } else {
                (
                    Offer::Each(
                        parts(rank, size, send, (send_counts, send_displs), send_ty)?.into(),
                    ),
                    Vec::new(),
                )
            };
            let takes: Vec<Option<Place>> = takes.into_iter().map(Some).collect();
            call(rank, &it, site).exchange(None, offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Alltoallw(
    rank: *const Rank,
    address: usize,
    send: *const c_void,
    send_counts: *const c_int,
    send_displs: *const c_int,
    send_types: *const Handle,
    recv: *mut c_void,
    counts: *const c_int,
    displs: *const c_int,
    types: *const Handle,
    comm: Handle,
) -> c_int {
    let site = Site { function: "MPI_Alltoallw", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let size = it.size();
            let takes = typed_parts(rank, size, recv, (counts, displs), types)?;
            let (offer, _kept) = if send as usize == IN_PLACE {
                packed(&takes)
            } else {
                (
                    Offer::Each(
                        typed_parts(rank, size, send, (send_counts, send_displs), send_types)?
                            .into(),
                    ),
                    Vec::new(),
                )
            };
            let takes: Vec<Option<Place>> = takes.into_iter().map(Some).collect();
            call(rank, &it, site).exchange(None, offer, &takes)
        })
    }
}

pub unsafe extern "C" fn Reduce_local(
    rank: *const Rank,
    address: usize,
    a: *const c_void,
    b: *mut c_void,
    count: c_int,
    ty: Handle,
    op: Handle,
) -> c_int {
    let site = Site { function: "MPI_Reduce_local", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (from, op) = operands(rank, a, b, count, ty, op)?;
            let to = rank.place(b, count, ty)?;
            op.combine(&from, &to);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Op_commutative(
    rank: *const Rank,
    address: usize,
    op: Handle,
    commutes: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Op_commutative", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            *commutes = c_int::from(rank.ops.borrow().get(op).is_none_or(|it| it.1));
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Op_create(
    rank: *const Rank,
    address: usize,
    function: UserFunction,
    commutes: c_int,
    op: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Op_create", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            *op = rank.ops.borrow_mut().insert((function, commutes != 0));
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Op_free(rank: *const Rank, address: usize, op: *mut Handle) -> c_int {
    let site = Site { function: "MPI_Op_free", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            if rank.ops.borrow_mut().remove(*op).is_none() {
                return error(Class::Op, format!("{:#x} is no operator of a user", *op));
            }
            *op = fixed::OP_NULL;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Type_contiguous(
    rank: *const Rank,
    address: usize,
    count: c_int,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_contiguous", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            keep_type(
                rank,
                Type::structure([(0, count_of(count)?, &*ty)], "a contiguous type")?,
                new,
            )
        })
    }
}

pub unsafe extern "C" fn Type_vector(
    rank: *const Rank,
    address: usize,
    count: c_int,
    length: c_int,
    stride: c_int,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_vector", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            let step = stride as isize * ty.extent;
            let length = count_of(length)?;
            let parts = (0..count_of(count)?).map(|it| (it as isize * step, length, &*ty));
            keep_type(rank, Type::structure(parts, "a vector type")?, new)
        })
    }
}

pub unsafe extern "C" fn Type_create_hvector(
    rank: *const Rank,
    address: usize,
    count: c_int,
    length: c_int,
    stride: isize,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_create_hvector", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            let step = stride;
            let length = count_of(length)?;
            let parts = (0..count_of(count)?).map(|it| (it as isize * step, length, &*ty));
            keep_type(rank, Type::structure(parts, "a vector type")?, new)
        })
    }
}

pub unsafe extern "C" fn Type_hvector(
    rank: *const Rank,
    address: usize,
    count: c_int,
    length: c_int,
    stride: isize,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_hvector", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            let step = stride;
            let length = count_of(length)?;
            let parts = (0..count_of(count)?).map(|it| (it as isize * step, length, &*ty));
            keep_type(rank, Type::structure(parts, "a vector type")?, new)
        })
    }
}

pub unsafe extern "C" fn Type_indexed(
    rank: *const Rank,
    address: usize,
    count: c_int,
    lengths: *const c_int,
    displs: *const c_int,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_indexed", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            count_of(count)?;
            let lengths: Outcome<Vec<usize>> =
                list(lengths, count).iter().map(|it| count_of(*it)).collect();
            let lengths = lengths?;
            let parts = list(displs, count)
                .iter()
                .zip(&lengths)
                .map(|(at, length)| (*at as isize * ty.extent, *length, &*ty));
            keep_type(rank, Type::structure(parts, "an indexed type")?, new)
        })
    }
}

pub unsafe extern "C" fn Type_create_hindexed(
    rank: *const Rank,
    address: usize,
    count: c_int,
    lengths: *const c_int,
    displs: *const isize,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_create_hindexed", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            count_of(count)?;
            let lengths: Outcome<Vec<usize>> =
                list(lengths, count).iter().map(|it| count_of(*it)).collect();
            let lengths = lengths?;
            let parts =
                list(displs, count).iter().zip(&lengths).map(|(at, length)| (*at, *length, &*ty));
            keep_type(rank, Type::structure(parts, "an indexed type")?, new)
        })
    }
}

pub unsafe extern "C" fn Type_hindexed(
    rank: *const Rank,
    address: usize,
    count: c_int,
    lengths: *const c_int,
    displs: *const isize,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_hindexed", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            count_of(count)?;
            let lengths: Outcome<Vec<usize>> =
                list(lengths, count).iter().map(|it| count_of(*it)).collect();
            let lengths = lengths?;
            let parts =
                list(displs, count).iter().zip(&lengths).map(|(at, length)| (*at, *length, &*ty));
            keep_type(rank, Type::structure(parts, "an indexed type")?, new)
        })
    }
}

pub unsafe extern "C" fn Type_create_indexed_block(
    rank: *const Rank,
    address: usize,
    count: c_int,
    length: c_int,
    displs: *const c_int,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_create_indexed_block", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            count_of(count)?;
            let length = count_of(length)?;
            let parts =
                list(displs, count).iter().map(|at| (*at as isize * ty.extent, length, &*ty));
            keep_type(rank, Type::structure(parts, "an indexed type")?, new)
        })
    }
}

pub unsafe extern "C" fn Type_create_hindexed_block(
    rank: *const Rank,
    address: usize,
    count: c_int,
    length: c_int,
    displs: *const isize,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_create_hindexed_block", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            count_of(count)?;
            let length = count_of(length)?;
            let parts = list(displs, count).iter().map(|at| (*at, length, &*ty));
            keep_type(rank, Type::structure(parts, "an indexed type")?, new)
        })
    }
}

pub unsafe extern "C" fn Type_create_struct(
    rank: *const Rank,
    address: usize,
    count: c_int,
    lengths: *const c_int,
    displs: *const isize,
    types: *const Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_create_struct", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            count_of(count)?;
            let lengths: Outcome<Vec<usize>> =
                list(lengths, count).iter().map(|it| count_of(*it)).collect();
            let types: Outcome<Vec<Arc<Type>>> =
                list(types, count).iter().map(|it| rank.ty(*it)).collect();
            let (lengths, types) = (lengths?, types?);
            let parts = list(displs, count)
                .iter()
                .zip(&lengths)
                .zip(&types)
                .map(|((at, length), ty)| (*at, *length, &**ty));
            keep_type(rank, Type::structure(parts, "a structure type")?.padded(), new)
        })
    }
}

pub unsafe extern "C" fn Type_struct(
    rank: *const Rank,
    address: usize,
    count: c_int,
    lengths: *const c_int,
    displs: *const isize,
    types: *const Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_struct", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            count_of(count)?;
            let lengths: Outcome<Vec<usize>> =
                list(lengths, count).iter().map(|it| count_of(*it)).collect();
            let types: Outcome<Vec<Arc<Type>>> =
                list(types, count).iter().map(|it| rank.ty(*it)).collect();
            let (lengths, types) = (lengths?, types?);
            let parts = list(displs, count)
                .iter()
                .zip(&lengths)
                .zip(&types)
                .map(|((at, length), ty)| (*at, *length, &**ty));
            keep_type(rank, Type::structure(parts, "a structure type")?.padded(), new)
        })
    }
}

pub unsafe extern "C" fn Type_create_subarray(
    rank: *const Rank,
    address: usize,
    n: c_int,
    sizes: *const c_int,
    parts: *const c_int,
    starts: *const c_int,
    order: c_int,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_create_subarray", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (sizes, parts, starts) = (list(sizes, n), list(parts, n), list(starts, n));
            let bad = |i: usize| {
                sizes[i] < 1 || parts[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - parts[i]
            };
            if n < 1 || (0..sizes.len()).any(bad) {
                return error(Class::Arg, "the part does not lie within the array");
            }
            let mut ty = (*rank.ty(old)?).clone();
            let element = ty.extent;
            let (mut stride, mut offset) = (element, 0_isize);
            // From the fastest dimension to the slowest, each makes a vector of the last.
            let mut axes: Vec<usize> = (0..sizes.len()).collect();
            if order == 12 {
                axes.reverse();
            }
            for axis in axes {
                let vector = (0..parts[axis] as isize).map(|it| (it * stride, 1, &ty));
                let next = Type::structure(vector, "a subarray type")?;
                offset += starts[axis] as isize * stride;
                stride *= sizes[axis] as isize;
                ty = next.resized(0, stride);
            }
            let placed = Type::structure([(offset, 1, &ty)], "a subarray type")?;
            keep_type(rank, placed.resized(0, stride), new)
        })
    }
}

pub unsafe extern "C" fn Type_create_resized(
    rank: *const Rank,
    address: usize,
    old: Handle,
    lb: isize,
    extent: isize,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_create_resized", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            keep_type(rank, ty.resized(lb, extent), new)
        })
    }
}

pub unsafe extern "C" fn Type_dup(
    rank: *const Rank,
    address: usize,
    old: Handle,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Type_dup", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(old)?;
            keep_type(rank, (*ty).clone(), new)
        })
    }
}

pub unsafe extern "C" fn Type_commit(rank: *const Rank, address: usize, ty: *mut Handle) -> c_int {
    let site = Site { function: "MPI_Type_commit", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            rank.ty(*ty)?;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Type_free(rank: *const Rank, address: usize, ty: *mut Handle) -> c_int {
    let site = Site { function: "MPI_Type_free", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            if rank.types.borrow_mut().remove(*ty).is_none() {
                return error(Class::Type, format!("{:#x} is no derived datatype", *ty));
            }
            *ty = fixed::DATATYPE_NULL;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Type_size(
    rank: *const Rank,
    address: usize,
    ty: Handle,
    size: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Type_size", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            *size = c_int::try_from(rank.ty(ty)?.size).unwrap_or(UNDEFINED);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Type_get_extent(
    rank: *const Rank,
    address: usize,
    ty: Handle,
    lb: *mut isize,
    extent: *mut isize,
) -> c_int {
    let site = Site { function: "MPI_Type_get_extent", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let ty = rank.ty(ty)?;
            (*lb, *extent) = (ty.lb, ty.extent);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Type_extent(
    rank: *const Rank,
    address: usize,
    ty: Handle,
    extent: *mut isize,
) -> c_int {
    let site = Site { function: "MPI_Type_extent", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            *extent = rank.ty(ty)?.extent;
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Type_get_true_extent(
    rank: *const Rank,
    address: usize,
    ty: Handle,
    lb: *mut isize,
    extent: *mut isize,
) -> c_int {
    let site = Site { function: "MPI_Type_get_true_extent", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let (low, high) = rank.ty(ty)?.true_bounds();
            (*lb, *extent) = (low, high - low);
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Dims_create(
    rank: *const Rank,
    address: usize,
    nodes: c_int,
    n: c_int,
    dims: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Dims_create", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, fixed::COMM_WORLD, || {
            let Ok(nodes) = usize::try_from(nodes) else {
                return error(Class::Arg, "the number of ranks is negative");
            };
            let mut wanted = list(dims.cast_const(), n).to_vec();
            dims_create(nodes, &mut wanted)?;
            for (index, dim) in wanted.iter().enumerate() {
                *dims.add(index) = *dim;
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Cart_create(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    n: c_int,
    dims: *const c_int,
    periods: *const c_int,
    _reorder: c_int,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Cart_create", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let old = rank.comm(comm)?;
            let dims: Outcome<Vec<usize>> = list(dims, n).iter().map(|it| count_of(*it)).collect();
            let dims = dims?;
            let total: usize = dims.iter().product();
            if n < 0 || total > old.size() || total == 0 {
                return error(
                    Class::Dims,
                    format!("a grid of {total} ranks out of {}", old.size()),
                );
            }
            let color = if old.rank < total { 0 } else { -1 };
            let shared = split(rank, &old, site, color, 0);
            let cart = Cart { periods: list(periods, n).iter().map(|it| *it != 0).collect(), dims };
            keep_comm(rank, &old, shared, Some(cart), new)
        })
    }
}

pub unsafe extern "C" fn Cart_coords(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    of: c_int,
    room: c_int,
    coords: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Cart_coords", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let of = peer_of(&it, of)?.unwrap_or(0);
            let all = grid(&it)?.coords(of);
            for (index, coord) in all.iter().enumerate().take(room.max(0) as usize) {
                *coords.add(index) = *coord as c_int;
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Cart_rank(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    coords: *const c_int,
    out: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Cart_rank", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let cart = grid(&it)?;
            let coords: Vec<i64> =
                list(coords, cart.dims.len() as c_int).iter().map(|it| i64::from(*it)).collect();
            match cart.rank(&coords) {
                Some(found) => *out = found as c_int,
                None => {
                    return error(Class::Arg, format!("no rank has the coordinates {coords:?}"));
                }
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Cart_shift(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    direction: c_int,
    by: c_int,
    source: *mut c_int,
    target: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Cart_shift", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let cart = grid(&it)?;
            let Some(axis) = usize::try_from(direction).ok().filter(|it| *it < cart.dims.len())
            else {
                return error(Class::Dims, format!("the grid has no dimension {direction}"));
            };
            let by = i64::from(by);
            let neighbour =
                |by| cart.neighbour(it.rank, axis, by).map_or(PROC_NULL, |it| it as c_int);
            (*source, *target) = (neighbour(-by), neighbour(by));
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Cart_sub(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    remain: *const c_int,
    new: *mut Handle,
) -> c_int {
    let site = Site { function: "MPI_Cart_sub", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let old = rank.comm(comm)?;
            let cart = grid(&old)?;
            let kept: Vec<bool> =
                list(remain, cart.dims.len() as c_int).iter().map(|it| *it != 0).collect();
            let coords = cart.coords(old.rank);
            let mut color = 0_i64;
            for (axis, dim) in cart.dims.iter().enumerate() {
                if !kept[axis] {
                    color = color * *dim as i64 + coords[axis] as i64;
                }
            }
            let shared = split(rank, &old, site, color, 0);
            let axes = || (0..cart.dims.len()).filter(|it| kept[*it]);
            let sub = Cart {
                dims: axes().map(|it| cart.dims[it]).collect(),
                periods: axes().map(|it| cart.periods[it]).collect(),
            };
            keep_comm(rank, &old, shared, Some(sub), new)
        })
    }
}

pub unsafe extern "C" fn Cart_get(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    room: c_int,
    dims: *mut c_int,
    periods: *mut c_int,
    coords: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Cart_get", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            let cart = grid(&it)?;
            let own = cart.coords(it.rank);
            for (index, coord) in own.iter().enumerate().take(room.max(0) as usize) {
                *dims.add(index) = cart.dims[index] as c_int;
                *periods.add(index) = c_int::from(cart.periods[index]);
                *coords.add(index) = *coord as c_int;
            }
            Ok(())
        })
    }
}

pub unsafe extern "C" fn Cartdim_get(
    rank: *const Rank,
    address: usize,
    comm: Handle,
    n: *mut c_int,
) -> c_int {
    let site = Site { function: "MPI_Cartdim_get", address };
    // SAFETY: see the head of the file.
    unsafe {
        let rank = &*rank;
        rank.call(site, comm, || {
            let it = rank.comm(comm)?;
            *n = grid(&it)?.dims.len() as c_int;
            Ok(())
        })
    }
}

/// The predefined attributes of the world.
fn predefined(key: c_int, ranks: usize) -> Option<c_int> {
    match key {
        501 => Some(c_int::MAX),
        502 | 503 => Some(if key == 502 { ANY_SOURCE } else { PROC_NULL }),
        504 => Some(1),
        505 => c_int::try_from(ranks).ok(),
        506 => Some(0),
        507 => Some(0x3fff),
        _ => None,
    }
}

fn alike(one: &[usize], two: &[usize]) -> c_int {
    let sorted = |list: &[usize]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    match () {
        () if one == two => 202,
        () if sorted(one) == sorted(two) => 203,
        () => 204,
    }
}

fn member(group: &Group, index: c_int) -> Outcome<usize> {
    match usize::try_from(index).ok().and_then(|it| group.get(it)) {
        Some(rank) => Ok(*rank),
        None => error(Class::Rank, format!("rank {index} is none of the group's {}", group.len())),
    }
}

fn wait_any(rank: &Rank, site: Site, active: Vec<Arc<Req>>) {
    let list = active.clone();
    let holds = || active.iter().any(|it| it.is_done());
    rank.world.wait(rank.me, site, holds, || Arc::new(OneOf(list)) as _);
}

fn grid(comm: &Rc<Comm>) -> Outcome<&Cart> {
    match &comm.cart {
        Some(cart) => Ok(cart),
        None => error(Class::Topology, "the communicator has no grid"),
    }
}

/// What a rank offers all: nothing if its data lies in place.
fn offer(rank: &Rank, send: *const c_void, count: c_int, ty: Handle) -> Outcome<Offer> {
    if send as usize == IN_PLACE {
        return Ok(Offer::Nothing);
    }
    Ok(Offer::Same(rank.place(send, count, ty)?))
}

/// Where each rank's part goes; not the own one if it lies in place.
fn even(comm: &Comm, target: &Place, send: *const c_void) -> Vec<Option<Place>> {
    let part = |peer: usize| target.moved((peer * target.count) as isize, target.count);
    let is_kept = |peer| send as usize == IN_PLACE && peer == comm.rank;
    (0..comm.size()).map(|peer| (!is_kept(peer)).then(|| part(peer))).collect()
}

type Layout = (*const c_int, *const c_int);

/// The parts of a buffer by counts and displacements.
///
/// # Safety
/// Both lists have an entry for each rank.
unsafe fn parts(
    rank: &Rank,
    size: usize,
    buffer: *const c_void,
    (counts, displs): Layout,
    ty: Handle,
) -> Outcome<Vec<Place>> {
    // SAFETY: the caller's promise.
    let (counts, displs) = unsafe { (list(counts, size as c_int), list(displs, size as c_int)) };
    if counts.len() != size || displs.len() != size {
        return error(Class::Arg, "a list of counts or displacements is a null pointer");
    }
    let base = rank.place(buffer, counts.iter().copied().max().unwrap_or(0), ty)?;
    let part =
        |(count, displ): (&c_int, &c_int)| Ok(base.moved(*displ as isize, count_of(*count)?));
    counts.iter().zip(displs).map(part).collect()
}

/// As `parts`, displacements in bytes and a datatype each.
///
/// # Safety
/// As `parts`; so has the list of types.
unsafe fn typed_parts(
    rank: &Rank,
    size: usize,
    buffer: *const c_void,
    (counts, displs): Layout,
    types: *const Handle,
) -> Outcome<Vec<Place>> {
    let part = |peer| {
        // SAFETY: the caller's promise.
        let (count, displ, ty) =
            unsafe { (*counts.add(peer), *displs.add(peer), *types.add(peer)) };
        let ty = if ty == fixed::DATATYPE_NULL && count == 0 { BYTE } else { ty };
        rank.place(buffer.wrapping_byte_offset(displ as isize), count, ty)
    };
    (0..size).map(part).collect()
}

/// The ranks of triplets (first, last, stride).
fn ranges_of(group: &Group, ranges: &[[c_int; 3]]) -> Outcome<Vec<usize>> {
    let mut chosen = Vec::new();
    for [first, last, stride] in ranges {
        if *stride == 0 {
            return error(Class::Arg, "a stride is zero");
        }
        let mut at = *first;
        while (*stride > 0 && at <= *last) || (*stride < 0 && at >= *last) {
            chosen.push(member(group, at)?);
            at += stride;
        }
    }
    Ok(chosen)
}

/// As `even`, by counts and displacements.
///
/// # Safety
/// As `parts`.
unsafe fn uneven(
    rank: &Rank,
    comm: &Comm,
    buffer: *const c_void,
    layout: Layout,
    ty: Handle,
    send: *const c_void,
) -> Outcome<Vec<Option<Place>>> {
    // SAFETY: the caller's promise.
    let all = unsafe { parts(rank, comm.size(), buffer, layout, ty)? };
    let mut all: Vec<Option<Place>> = all.into_iter().map(Some).collect();
    if send as usize == IN_PLACE {
        all[comm.rank] = None;
    }
    Ok(all)
}

/// What a rank takes of a scatter: nothing if it lies in place.
fn from_root(
    rank: &Rank,
    size: usize,
    root: usize,
    recv: *mut c_void,
    count: c_int,
    ty: Handle,
) -> Outcome<Vec<Option<Place>>> {
    let mut takes: Vec<Option<Place>> = (0..size).map(|_| None).collect();
    if recv as usize != IN_PLACE {
        takes[root] = Some(rank.place(recv, count, ty)?);
    }
    Ok(takes)
}

/// Copies of these parts, offered one to each; they live as long as the second value.
///
/// # Safety
/// As `pack`.
unsafe fn packed(parts: &[Place]) -> (Offer, Vec<Vec<u8>>) {
    // SAFETY: the caller's promise.
    let kept: Vec<Vec<u8>> = parts.iter().map(|it| unsafe { pack(it) }).collect();
    let each = kept.iter().map(|it| bytes_at(it.as_ptr() as usize, it.len()));
    (Offer::Each(each.collect()), kept)
}
