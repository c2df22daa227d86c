//! The waits of a rank. A wait lasts until the awaited rank's data have come; the part of it in
//! which the other rank had not even begun the call is *waiting*, and has a state by Scalasca's
//! names; the rest is *transfer*, as is all else of a call.

use crate::record::{END, Run};
use crate::timeline::{Call, RankLine, Wait};
use std::collections::HashMap;

/// Why a rank waited, by Scalasca's names. docs/timeline.md defines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitState {
    /// A receiver was there before the sender had begun.
    LateSender,
    /// A sender that waits for its data to be taken was there before the receiver.
    LateReceiver,
    /// In a barrier: until the last rank has come.
    Barrier,
    /// In an operation of all to all: until the last rank has come.
    NxN,
    /// The root of a reduction or gather, or a rank on the way there, was early.
    EarlyReduce,
    /// The root of a broadcast or scatter was late.
    LateBroadcast,
    /// In a scan: until the ranks before have come.
    EarlyScan,
    /// At the end of the run: until the last rank has come.
    End,
}

impl WaitState {
    /// All.
    pub const ALL: [WaitState; 8] = [
        WaitState::LateSender,
        WaitState::LateReceiver,
        WaitState::Barrier,
        WaitState::NxN,
        WaitState::EarlyReduce,
        WaitState::LateBroadcast,
        WaitState::EarlyScan,
        WaitState::End,
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            WaitState::LateSender => "late sender",
            WaitState::LateReceiver => "late receiver",
            WaitState::Barrier => "wait at barrier",
            WaitState::NxN => "wait at N x N",
            WaitState::EarlyReduce => "early reduce",
            WaitState::LateBroadcast => "late broadcast",
            WaitState::EarlyScan => "early scan",
            WaitState::End => "wait at end",
        }
    }

    /// That of a wait in a call of `name`; none for a name that this program does not know.
    pub fn of_call(name: &str, is_root: bool) -> Option<Self> {
        use WaitState::*;
        if let Some(name) = name.strip_prefix("MPI_") {
            return Some(WaitState::of_mpi(&name.to_lowercase(), is_root));
        }
        let name = name.strip_prefix("wait for ").unwrap_or(name);
        let name = ["started ", "persistent ", "overlapped "]
            .iter()
            .find_map(|it| name.strip_prefix(it))
            .unwrap_or(name);
        let begins = |names: &[&str]| names.iter().any(|it| name.starts_with(it));
        let from_root = match is_root {
            // For its memory, which the others read.
            true => LateReceiver,
            false => LateBroadcast,
        };
        Some(match name {
            END => End,
            _ if begins(&["Neighborhood::", "exchange", "shift", "recv", "probe"]) => LateSender,
            _ if begins(&["send"]) => LateReceiver,
            _ if begins(&["barrier"]) => Barrier,
            _ if begins(&["broadcast", "scatter", "with_root"]) => from_root,
            _ if begins(&["scan", "exclusive_", "segmented_scan"]) => EarlyScan,
            _ if begins(&["reduce_scatter", "all_", "sum", "fixed_", "with_", "split"]) => NxN,
            _ if begins(&["reduce", "gather"]) => EarlyReduce,
            // Windows, plans of ghosts, and parts of a grid, which all ranks make together.
            _ if begins(&["shared", "Window::", "AtomicWindow::"]) => NxN,
            _ if begins(&["ghosts", "neighborhood", "sub"]) => NxN,
            _ => return None,
        })
    }

    /// The same in a call of MPI. (MPI_Wait and MPI_Test await a message, or another
    /// rank's part of a collective.)
    fn of_mpi(name: &str, is_root: bool) -> Self {
        use WaitState::*;
        let begins = |names: &[&str]| names.iter().any(|it| name.starts_with(it));
        match name {
            _ if begins(&["bcast", "scatter"]) && is_root => LateReceiver,
            _ if begins(&["bcast", "scatter"]) => LateBroadcast,
            _ if begins(&["barrier", "win_fence"]) => Barrier,
            _ if begins(&["scan", "exscan"]) => EarlyScan,
            _ if begins(&["reduce_scatter"]) => NxN,
            _ if begins(&["reduce", "gather"]) => EarlyReduce,
            _ if begins(&["all", "comm_", "cart_", "graph_", "dist_", "inter", "fin"]) => NxN,
            _ if begins(&["win_create", "win_alloc", "win_free"]) => NxN,
            _ if begins(&["sendrecv"]) => LateSender,
            _ if begins(&["send", "ssend", "rsend", "bsend", "win_start"]) => LateReceiver,
            _ => LateSender,
        }
    }

    /// The same for the wait of a call with this number in its communicator.
    fn of(name: &str, number: u64, is_root: bool) -> Self {
        let other = if number == 0 { WaitState::LateSender } else { WaitState::NxN };
        WaitState::of_call(name, is_root).unwrap_or(other)
    }
}

/// The part of a wait in which the other rank was late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    /// When the wait began.
    pub begin: u64,
    /// When the rank that was late began its call.
    pub end: u64,
    /// Which rank.
    pub culprit: usize,
    /// In which call: a place in that rank's calls.
    pub culprit_call: usize,
    /// Why.
    pub state: WaitState,
    /// The wait: a place in the own rank's waits.
    pub wait: usize,
}

/// The calls of a run by communicator and number: their ranks, and places among the rank's calls.
type Meetings = HashMap<(u64, u64), Vec<(usize, usize)>>;

/// The waits of each rank, in the order of time.
pub fn find(run: &Run, lines: &[RankLine]) -> Vec<Vec<Late>> {
    let mut meetings = Meetings::new();
    for (rank, line) in lines.iter().enumerate() {
        for (at, call) in line.calls.iter().enumerate().filter(|(_, call)| call.number > 0) {
            meetings.entry((call.comm, call.number)).or_default().push((rank, at));
        }
    }
    let of_rank = |(rank, line): (usize, &RankLine)| {
        let waits = line.waits.iter().enumerate();
        waits.filter_map(|(at, wait)| late(run, lines, &meetings, rank, at, wait)).collect()
    };
    lines.iter().enumerate().map(of_rank).collect()
}

/// The latest call on `comm` that `line` had begun at `time`.
fn begun_at(line: &RankLine, comm: u64, time: u64) -> Option<usize> {
    const NEAR: usize = 64;
    let end = line.calls.partition_point(|call| call.begin <= time);
    let near = end.saturating_sub(NEAR);
    let same = line.calls[near..end].iter().rposition(|call| call.comm == comm);
    same.map(|at| near + at)
}

fn late(
    run: &Run,
    lines: &[RankLine],
    meetings: &Meetings,
    rank: usize,
    at: usize,
    wait: &Wait,
) -> Option<Late> {
    let call = &lines[rank].calls[wait.call?];
    let is_root = call.peer == Some(rank);
    let state = WaitState::of(run.text(call.name), call.number, is_root);
    let begin_of = |(rank, at): &(usize, usize)| lines[*rank].calls[*at].begin;
    let met = meetings.get(&(call.comm, call.number)).filter(|_| call.number > 0);
    let released = match met {
        Some(met) => {
            let counts = |other: usize| match state {
                WaitState::LateBroadcast => Some(other) == call.peer || other == wait.peer,
                WaitState::EarlyScan => other < rank || other == wait.peer,
                WaitState::LateSender => other == wait.peer,
                _ => true,
            };
            let there = met.iter().filter(|it| it.0 != rank && counts(it.0));
            there.filter(|it| begin_of(it) <= wait.end).max_by_key(|it| begin_of(it)).copied()
        }
        // From any rank, and it is not known which.
        None if wait.peer == rank => return None,
        None => Some((wait.peer, begun_at(&lines[wait.peer], call.comm, wait.end)?)),
    };
    let (culprit, culprit_call) = released?;
    let end = lines[culprit].calls[culprit_call].begin;
    if end <= wait.begin {
        return None;
    }
    Some(Late { begin: wait.begin, end, culprit, culprit_call, state, wait: at })
}

/// A rank's activity in a part of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Not yet: the caller has started the run, and the rank has not begun it.
    Starts,
    /// Its own code. The call is the next one, if there is one.
    Works(Option<usize>),
    /// A call moved data.
    Transfers(usize),
    /// It waited for a rank that was late: a place in its list of [`Late`].
    Waits(usize),
}

/// A part of a rank's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// The rank's activity.
    pub doing: Doing,
}

/// The whole of a rank's time in parts that follow each other.
pub fn parts(line: &RankLine, late: &[Late]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut now = line.began;
    if line.dispatched < now {
        parts.push(Part { begin: line.dispatched, end: now, doing: Doing::Starts });
    }
    let mut next_late = late.iter().enumerate().peekable();
    let mut push = |begin: u64, end: u64, doing: Doing| {
        if begin < end {
            parts.push(Part { begin, end, doing });
        }
    };
    for (at, Call { begin, end, .. }) in line.calls.iter().enumerate() {
        // (A call in another's closure is inside that one's time.)
        if *begin > now {
            push(now, *begin, Doing::Works(Some(at)));
            now = *begin;
        }
        while let Some((place, it)) = next_late.next_if(|(_, it)| it.begin < *end) {
            push(now, it.begin, Doing::Transfers(at));
            now = now.max(it.begin);
            push(now, it.end, Doing::Waits(place));
            now = now.max(it.end);
        }
        push(now, *end, Doing::Transfers(at));
        now = now.max(*end);
    }
    push(now, line.over, Doing::Works(None));
    parts
}
