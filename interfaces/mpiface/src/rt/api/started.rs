//! Collectives that are started, and complete later. Those of intercommunicators are these, too:
//! data of one group, for the other; the blocking ones are awaited.

use super::arguments::root_of;
use super::buffers::{Buffer, Parts};
use super::counts::Lengths;
use super::keep::NewRequest;
use super::operands::Operands;
use super::prelude::*;
use super::requests::{finish, wait_one};
use crate::rt::awaits::Awaits;
use crate::rt::basic::Element;
use crate::rt::branch::Key;
use crate::rt::comm::{Shared, Terms};
use crate::rt::held::Hold;
use crate::rt::operator::Operator;
use crate::rt::ops::Mark;
use crate::rt::rank::{Persistent, Starter};
use crate::rt::reduction::To;
use crate::rt::request::Req;
use crate::rt::started::{self, Gives, Part, Pieces, Takes};
use crate::rt::types::bytes_at;

/// The operator of a rank that has no values.
const NONE: Operator = Operator::Known(standard::OP_NULL, Element::Byte);

/// Lays this rank's card down; `reach`: the ranks of the cards it needs, and of the users of its
/// memory if it lends that.
pub(super) fn begin(
    caller: Caller<'_>,
    comm: &Comm,
    terms: Terms,
    part: Part,
    reach: (Awaits, Awaits),
) -> NewRequest {
    part.check(comm.size())?;
    if caller.is_trial {
        return Ok(Arc::clone(&caller.sent));
    }
    let named = part.named();
    // SAFETY: the program's buffers (`arguments.rs`), which it leaves alone until the request is
    // complete, as the standard asks of it.
    let begin = unsafe { started::start(&caller.world, comm, caller.site, terms, part, reach) };
    Ok(caller.carry_on(caller.site, begin, comm.context(), named))
}

/// Awaits a collective that was started.
pub(super) fn await_started(caller: Caller<'_>, req: Arc<Req>) -> Outcome {
    wait_one(caller, &req);
    finish(caller, req, StatusOut::IGNORED)
}

/// Keeps datatypes and operators of a call that can be started many times.
pub(super) fn held(caller: Caller<'_>, handles: &[Handle]) -> Vec<Hold> {
    handles.iter().filter_map(|it| caller.hold(*it)).collect()
}

/// A collective that can be started many times: on a communicator of its own, as ranks may start
/// several in different orders. It is compared, and named, as the call that makes it here: ranks
/// may start one by different functions. Wrong arguments are found here, as far as they can be.
pub(super) fn again(
    caller: Caller<'_>,
    comm: &Rc<Comm>,
    held: Vec<Hold>,
    start: impl Fn(Caller<'_>, &Comm) -> NewRequest + 'static,
) -> Outcome<Persistent> {
    let key = Key::Persistent(comm.shared.context, comm.next_made());
    start(Caller { is_trial: true, ..caller }, comm)?;
    let make = || Shared::new(&caller.world, comm.shared.members.clone());
    let comm = comm.apart(caller.rank.run.branches.take(key, comm.size(), make));
    let site = caller.site;
    let start = move |rank: &_, comm: &_| start(Caller::of(rank, site), comm);
    Ok(Persistent::Collective { comm, start: Starter(Box::new(start)), _held: held })
}

/// A rank's part in a collective with a root.
#[derive(Clone, Copy)]
struct Role {
    is_root: bool,
    /// The root's place among the members, for a rank that gives it data, or takes its: all of the
    /// communicator; between two groups those of the other group.
    root: Option<usize>,
}

impl Role {
    fn of(comm: &Comm, root: c_int) -> Outcome<Role> {
        if !comm.is_inter() {
            let root = root_of(comm, root)?;
            return Ok(Role { is_root: comm.rank == root, root: Some(root) });
        }
        let others = comm.peers();
        let root = match usize::try_from(root) {
            Ok(root) if root < others.len() => Some(others.start + root),
            _ if root == standard::ROOT => return Ok(Role { is_root: true, root: None }),
            _ if root == PROC_NULL => None,
            _ => {
                let others = others.len();
                return error(Class::Root, format!("the root {root} is none of {others} ranks"));
            }
        };
        Ok(Role { is_root: false, root })
    }
}

/// What the others compare. Between two groups the ranks' arguments differ.
fn terms(comm: &Comm, root: Option<usize>, op: Mark, bytes: Option<usize>) -> Terms {
    if comm.is_inter() { Terms::default() } else { Terms { root, op, bytes } }
}

/// All that a rank exchanges data with.
fn peers(comm: &Comm) -> Awaits {
    Awaits::Range(comm.peers().start as u32, comm.peers().len() as u32)
}

/// Starts an exchange: a rank awaits those from which it takes. A root's data is for all, that of
/// others is for the root. `is_in_place`: what a rank takes goes to where its offer lies.
fn exchange(
    caller: Caller<'_>,
    comm: &Comm,
    role: Option<Role>,
    bytes: Option<usize>,
    (offer, takes): (Pieces, Takes),
    is_in_place: bool,
) -> NewRequest {
    let awaits = match &takes {
        Takes::Nothing => Awaits::Nobody,
        Takes::One(root, _) => Awaits::one(*root),
        _ => peers(comm),
    };
    let users = match role {
        Some(Role { is_root: false, root }) => root.map_or(Awaits::Nobody, Awaits::one),
        _ => peers(comm),
    };
    let terms = terms(comm, role.and_then(|it| it.root), Mark::None, bytes);
    let part = Part::Exchange { offer, takes, is_in_place };
    begin(caller, comm, terms, part, (awaits, users))
}

/// A part of the data for each, or for each of the other group.
fn offer(caller: Caller<'_>, comm: &Comm, parts: impl Parts) -> Outcome<Pieces> {
    if !comm.is_inter() {
        return parts.pieces(caller, comm.size());
    }
    let mut all = vec![bytes_at(0, 0); comm.size()];
    all[comm.peers()].clone_from_slice(&parts.list(caller, comm.peers().len())?);
    Ok(Pieces::Each(all))
}

/// The room for each one's data, or for that of each of the other group; not for the own data, if
/// it lies there.
fn takes(caller: Caller<'_>, comm: &Comm, parts: impl Parts, is_kept: bool) -> Outcome<Takes> {
    if !comm.is_inter() {
        return parts.takes(caller, comm.size(), is_kept.then_some(comm.rank));
    }
    let mut all = vec![None; comm.size()];
    let list = parts.list(caller, comm.peers().len())?;
    comm.peers().zip(list).for_each(|(it, place)| all[it] = Some(place));
    Ok(Takes::Each(all))
}

pub(super) fn ibarrier(caller: Caller<'_>, comm: &Comm) -> NewRequest {
    begin(caller, comm, Terms::default(), Part::nothing(), (Awaits::All, Awaits::All))
}

pub(super) fn ibcast(caller: Caller<'_>, data: Buffer, root: c_int, comm: &Comm) -> NewRequest {
    let role = Role::of(comm, root)?;
    let (bytes, exchanged) = match role {
        Role { is_root: true, .. } => {
            let place = data.place(caller)?;
            (place.bytes(), (Pieces::Same(place), Takes::Nothing))
        }
        Role { root: Some(root), .. } => {
            let place = data.place(caller)?;
            (place.bytes(), (Pieces::Nothing, Takes::One(root, place)))
        }
        _ => (0, Default::default()),
    };
    exchange(caller, comm, Some(role), Some(bytes), exchanged, false)
}

/// Every rank's data at the root, where the parts lie.
pub(super) fn igather(
    caller: Caller<'_>,
    data: Buffer,
    room: impl Parts,
    root: c_int,
    comm: &Comm,
) -> NewRequest {
    let (role, is_in_place) = (Role::of(comm, root)?, data.is_in_place());
    let takes = if role.is_root { takes(caller, comm, room, is_in_place)? } else { Takes::Nothing };
    let offer = match role.root {
        Some(_) if !is_in_place => Pieces::Same(data.place(caller)?),
        _ => Pieces::Nothing,
    };
    exchange(caller, comm, Some(role), None, (offer, takes), false)
}

/// The root's parts for each.
pub(super) fn iscatter(
    caller: Caller<'_>,
    data: impl Parts,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> NewRequest {
    let role = Role::of(comm, root)?;
    let offer = if role.is_root { offer(caller, comm, data)? } else { Pieces::Nothing };
    let takes = match role.root {
        Some(root) if !room.is_in_place() => Takes::One(root, room.place(caller)?),
        _ => Takes::Nothing,
    };
    exchange(caller, comm, Some(role), None, (offer, takes), false)
}

pub(super) fn iallgather(
    caller: Caller<'_>,
    data: Buffer,
    room: impl Parts,
    comm: &Comm,
) -> NewRequest {
    let is_in_place = data.is_in_place();
    let own = match is_in_place {
        true => room.places(caller, comm.size())?(comm.rank),
        false => data.place(caller)?,
    };
    let takes = takes(caller, comm, room, is_in_place)?;
    exchange(caller, comm, None, None, (Pieces::Same(own), takes), false)
}

/// Each rank gives each a part.
pub(super) fn ialltoall<P: Parts>(caller: Caller<'_>, data: P, room: P, comm: &Comm) -> NewRequest {
    let is_in_place = data.is_in_place();
    let offer = offer(caller, comm, if is_in_place { room } else { data })?;
    let takes = takes(caller, comm, room, false)?;
    exchange(caller, comm, None, None, (offer, takes), is_in_place)
}

/// Starts a reduction, with its result of these ranks, from this element on.
fn fold(
    caller: Caller<'_>,
    comm: &Comm,
    root: Option<usize>,
    (own, op): (Place, Operator),
    gives: Option<Gives>,
) -> NewRequest {
    let awaits = match &gives {
        _ if comm.is_inter() => Awaits::All,
        None => Awaits::Nobody,
        Some((_, ranks, _)) => Awaits::Range(0, ranks.end as u32),
    };
    let terms = terms(comm, root, op.mark(), Some(own.bytes()));
    begin(caller, comm, terms, Part::Fold { own, op, gives }, (awaits, Awaits::All))
}

/// Starts a reduction in which each rank has values; between two groups the other one's are
/// combined.
pub(super) fn combine(
    caller: Caller<'_>,
    operands: Operands,
    to: To<'_>,
    comm: &Comm,
) -> NewRequest {
    let own = operands.own(caller)?;
    let whole = || operands.target(caller);
    let gives = match to {
        To::Root(root) if root != comm.rank => None,
        To::All | To::Root(_) => Some((whole()?, comm.peers(), 0)),
        To::Prefix => Some((whole()?, 0..comm.rank + 1, 0)),
        To::Before => Some((whole()?, 0..comm.rank, 0)),
        To::Parts(counts) => {
            let me = comm.own_rank();
            let part = operands.with(counts[me] as i64).target(caller)?;
            Some((part, comm.peers(), counts[..me].iter().sum()))
        }
    };
    if let Some((target, ranks, _)) = &gives
        && !ranks.is_empty()
    {
        operands.apart(&own.0, target)?;
    }
    fold(caller, comm, to.root(), own, gives)
}

pub(super) fn ireduce(
    caller: Caller<'_>,
    operands: Operands,
    root: c_int,
    comm: &Comm,
) -> NewRequest {
    let nothing = || bytes_at(0, 0);
    match Role::of(comm, root)? {
        // Between two groups a root has no values, and the others of its group have no part.
        Role { is_root: true, root: None } => {
            let gives = (operands.target(caller)?, comm.peers(), 0);
            fold(caller, comm, None, (nothing(), operands.result_operator(caller)?), Some(gives))
        }
        Role { root: None, .. } => fold(caller, comm, None, (nothing(), NONE), None),
        Role { root: Some(root), .. } => combine(caller, operands, To::Root(root), comm),
    }
}

pub(super) fn iallreduce(caller: Caller<'_>, operands: Operands, comm: &Comm) -> NewRequest {
    combine(caller, operands, To::All, comm)
}

pub(super) fn iscan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> NewRequest {
    combine(caller, operands, To::Prefix, comm)
}

pub(super) fn iexscan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> NewRequest {
    combine(caller, operands, To::Before, comm)
}

pub(super) fn ireduce_scatter(
    caller: Caller<'_>,
    operands: Operands<impl Lengths>,
    comm: &Comm,
) -> NewRequest {
    let (all, counts) = operands.count.lengths(comm.own().len())?;
    combine(caller, operands.with(all), To::Parts(&counts), comm)
}
