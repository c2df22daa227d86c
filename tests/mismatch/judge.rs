//! The expected outcome of each case, and the check of the error's text.

use super::kinds::*;
use super::saying::*;
use phalanx::{CallSite, Error};

/// How a case may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// A mismatch that says the difference.
    Told,
    /// A rank returned while another waited, or made fewer calls.
    Missed,
    /// Messages: one of mismatch, deadlock, left, unreceived.
    Message,
    /// The same algorithm after all (or none that fits): told, or fine.
    Perhaps,
}

use Outcome::*;

impl Outcome {
    pub(crate) fn letter(self) -> char {
        match self {
            Told => 'M',
            Missed => 'L',
            Message => 'S',
            Perhaps => 'v',
        }
    }
}

/// The one table of the detected mistakes; none where a call has no such kind.
pub(crate) fn expected(call: Call, kind: Kind) -> Option<Outcome> {
    let told = |applies: bool| applies.then_some(Told);
    match kind {
        Length if call.has(Fact::Message) => Some(Message),
        Length => told(call.has(Fact::Length)),
        ElementType if call.has(Fact::Message) => Some(Message),
        ElementType => told(call.has(Fact::Data)),
        Operator | Closure => told(call.has(Fact::Operator)),
        Root => told(call.has(Fact::Root)),
        Distance if call == Exchange => Some(Message),
        Distance => told(call == Shift),
        Algorithm | Extents => told(call.operation().is_some()),
        View => call.operation().map(|_| Perhaps),
        Counts => told(call.has(Fact::Counts) || call == AllToAllVaried),
        Order | FewerThenOthers | MoreThenOthers if call == Barrier && kind != Order => {
            Some(Missed)
        }
        Operation | Order | FewerThenOthers | MoreThenOthers if !call.has(Fact::Message) => {
            Some(Told)
        }
        FewerAtLast | MoreAtLast | Nothing if !call.has(Fact::Message) => Some(Missed),
        _ => Some(Message),
    }
}

/// The outcomes of a case in which the odd rank has number `place` in the communicator of `p`
/// ranks: the table's, but where a barrier is replaced by a message that waits for nobody.
///
/// Such a message (a `send` of so little; the last rank of an odd number does nothing at all) meets
/// nobody at the gates: the odd rank has made a barrier less, and a rank that waits in the last one
/// says that it has returned. Where barriers go by messages, the send is met in place of one. Up to
/// 4 ranks, and where ranks outnumber cores, it is the gates. With more ranks and cores enough it
/// is messages, unless the runs of other tests crowd the cores at that moment: that alone is not
/// known here.
pub(crate) fn allowed(case: &Case, place: usize, p: usize) -> Vec<Outcome> {
    let wanted = expected(case.call, case.kind).expect("only kinds that apply are generated");
    let is_silent = case.call == Barrier
        && case.kind == Operation
        && case.odd[0].call == SendRecv
        && place.is_multiple_of(2);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    match wanted {
        Told if is_silent && (p <= 4 || p > cores) => vec![Missed],
        // The last rank's nothing is met nowhere.
        Told if is_silent && place + 1 == p => vec![Missed],
        Told if is_silent => vec![Missed, Told],
        wanted => vec![wanted],
    }
}

/// Whether the odd rank can be told from the others in any case: three ranks or more have made the
/// call in question, their first one, before the run is over, and its record says the difference.
fn is_outvoted(case: &Case, p: usize) -> bool {
    let of_own_len = case.call == AllToAllVaried && matches!(case.kind, Length | Counts);
    p > 2 && !case.odd[0].call.has(Fact::Message) && !of_own_len && case.kind != MoreThenOthers
}

/// The words of the mismatch about the calls `expected` and `got`.
fn words(case: &Case, expected: &Saying, got: &Saying, p: usize) -> Vec<String> {
    let pair = |what: &str, a: String, b: String| vec![format!("{what}: expected {a}, got {b}")];
    let whole = |it: &Saying| if it.call.has(Fact::Counts) { it.len * p } else { it.len };
    match case.kind {
        Length | Counts if case.call == AllToAllVaried => vec!["message".into(), "expected".into()],
        Length => pair("length", whole(expected).to_string(), whole(got).to_string()),
        ElementType => {
            pair("element type", expected.element.name().into(), got.element.name().into())
        }
        Operator | Closure => {
            pair("operator", expected.combine.name().into(), got.combine.name().into())
        }
        Root => pair("root", expected.parameter.to_string(), got.parameter.to_string()),
        Distance => pair("distance", expected.parameter.to_string(), got.parameter.to_string()),
        Algorithm => {
            let name = |it: &Saying| match it.way {
                Way::With(algorithm) => algorithm.to_string(),
                _ => unreachable!("this kind forces algorithms"),
            };
            pair("algorithm", name(expected), name(got))
        }
        // A mesh may change nothing but the extents.
        View if got.way == expected.way => unreachable!("one of them has a view"),
        View => vec![": expected".into()],
        Extents => {
            let mesh = |it: &Saying| match it.way {
                Way::Mesh(rows, cols) => format!("{rows}x{cols}"),
                _ => unreachable!("this kind forces meshes"),
            };
            vec![mesh(expected), mesh(got), "mesh".into()]
        }
        Counts => vec!["counts: expected [".into(), "], got [".into()],
        Operation if !expected.call.has(Fact::Message) && !got.call.has(Fact::Message) => {
            pair("operation", expected.call.name().into(), got.call.name().into())
        }
        _ => vec!["operation: expected ".into()],
    }
}

/// Judges the error of a run in which rank `odd` disagreed.
pub(crate) fn judge(error: &Error, case: &Case, odd: usize, p: usize) -> Result<Outcome, String> {
    let text = error.to_string();
    // A call that is named must be one of that rank's, with its line.
    let named = |rank: usize, site: Option<&CallSite>| -> Result<(), String> {
        let Some(site) = site else { return Err(format!("no call of rank {rank}: {text}")) };
        let line = if rank == odd { odd::LINE } else { usual::LINE };
        let is_setup = site.call.starts_with("split") && site.at.line() == super::SETUP;
        if site.at.line() != line && !is_setup {
            return Err(format!("not the line of rank {rank}: {text}"));
        }
        let there = format!("{site}");
        if !there.contains(&format!("{}:{}", site.at.file(), site.at.line()))
            || !text.contains(&there)
        {
            return Err(format!("`{there}` is not in: {text}"));
        }
        Ok(())
    };
    let about_odd = |ranks: &[usize]| match ranks.contains(&odd) {
        true => Ok(()),
        false => Err(format!("rank {odd} is not named: {text}")),
    };
    match error {
        Error::Mismatch { rank, here, peer, there, what } => {
            about_odd(&[*rank, *peer])?;
            named(*rank, Some(here))?;
            if what.contains("collective call(s) more than") {
                let none = what.contains("which made none in this run");
                if !none || there.is_some() {
                    named(*peer, there.as_ref())?;
                }
                return Ok(Missed);
            }
            named(*peer, there.as_ref())?;
            if case.call.has(Fact::Message) {
                return Ok(Message);
            }
            if is_outvoted(case, p) && *peer != odd {
                return Err(format!("rank {odd} is in the minority: {text}"));
            }
            let said = |who: usize| if who == odd { &case.odd[0] } else { &case.usual[0] };
            match words(case, said(*rank), said(*peer), p).iter().find(|w| !what.contains(&**w)) {
                Some(missing) => Err(format!("does not say `{missing}`: {text}")),
                None => Ok(Told),
            }
        }
        Error::Left { rank, site, peer, last, .. } => {
            about_odd(&[*rank, *peer])?;
            named(*rank, site.as_ref())?;
            if case.kind != Nothing || last.is_some() {
                named(*peer, last.as_ref())?;
            }
            Ok(if case.call.has(Fact::Message) { Message } else { Missed })
        }
        Error::Unreceived { rank, site, peer, last, .. } if case.call.has(Fact::Message) => {
            about_odd(&[*rank, *peer])?;
            named(*rank, site.as_ref())?;
            if last.is_some() {
                named(*peer, last.as_ref())?;
            }
            Ok(Message)
        }
        Error::Deadlock { circle } if case.call.has(Fact::Message) => {
            about_odd(&circle.iter().map(|w| w.rank).collect::<Vec<_>>())?;
            circle.iter().try_for_each(|w| named(w.rank, w.site.as_ref()))?;
            Ok(Message)
        }
        // Ring and mesh cannot do it, whatever the others say.
        Error::Argument { .. } if [View, Extents].contains(&case.kind) => Ok(Perhaps),
        _ => Err(format!("not about the disagreement: {text}")),
    }
}
