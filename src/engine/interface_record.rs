//! The record of a team with the calls of an interface, which moves a part of the data by itself:
//! the interface says which functions its program calls, and the library's waits are waits of those
//! calls.

use crate::Comm;
use crate::error::Error;
use crate::shared::{InterfaceCall, Recorder, TeamState};
use crate::sync::Arc;
use crate::team::Builder;
use std::fmt;

use super::ForeignCall;

/// [`Builder::external`](crate::team::Builder::external) for an interface that says itself which of
/// its functions is a call, if the team is recorded.
///
/// # Errors
/// Those of [`Builder::external`](crate::team::Builder::external).
///
/// # Examples
/// See [`InterfaceRecord`].
pub fn external(builder: Builder) -> Result<Vec<Comm>, Error> {
    builder.external_of_interface()
}

/// A call of an interface's program.
///
/// # Examples
/// See [`InterfaceRecord`].
#[derive(Clone, Copy, Debug)]
pub struct RecordedCall {
    /// The function. (Its line is asked for by the address, when the run is written.)
    pub call: &'static ForeignCall,
    /// The address after the call.
    pub address: usize,
    /// The interface's number of the communicator.
    pub comm: u64,
    /// Number of the collective call in its communicator; 0 for a message.
    pub number: u64,
    /// Bytes of this rank's vector or block.
    pub bytes: u64,
    /// Root or partner, a rank of the team.
    pub peer: Option<usize>,
}

/// An event of an [`InterfaceRecord`]: a call that has begun.
///
/// # Examples
/// See [`InterfaceRecord`].
#[derive(Clone, Copy, Debug)]
pub struct CallEvent(u64);

/// Where a team's calls are recorded that [`external`] has made. Each rank writes its own part.
///
/// **Cost** about 10 ns an event; 64 bytes each, of which a rank keeps its latest
/// ([`Builder::record_events`]).
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall, InterfaceRecord, RecordedCall};
/// let file = std::env::temp_dir().join(format!("interface-{}.phx", std::process::id()));
/// let comms = engine::external(phalanx::Team::builder().ranks(1).record(&file))?;
/// let record = InterfaceRecord::of(&comms[0]).expect("the team is recorded");
/// let call = ForeignCall::kept("MPI_Send", "", 0);
/// let (address, bytes, peer) = (0x1234, 80, Some(0)); // the line is asked for by the address
/// record.begin_run(0);
/// let event = record.begin(0, &RecordedCall { call, address, comm: 0, number: 0, bytes, peer });
/// let start = record.now();
/// record.waited(0, 0, start..record.now());
/// record.name_source(0, 0); // of a receive from any rank
/// record.end(0, event, None, None);
/// record.end_run(0);
/// let line = |addresses: &[usize]| addresses.iter().map(|_| "heat.c:12".into()).collect();
/// record.save(("heat", 1), "", &line);
/// assert!(std::fs::read(&file)?.starts_with(b"PHLXWAIT"));
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InterfaceRecord(Arc<TeamState>);

impl fmt::Debug for InterfaceRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterfaceRecord").finish_non_exhaustive()
    }
}

impl InterfaceRecord {
    /// Of the team of `comm`, if that is recorded.
    pub fn of(comm: &Comm) -> Option<InterfaceRecord> {
        let world = comm.comm_state().world_arc().clone();
        world.recorder().is_some_and(Recorder::is_interfaces).then_some(InterfaceRecord(world))
    }

    fn recorder(&self) -> &Recorder {
        self.0.recorder().expect("`of` has seen it, and it stays")
    }

    /// Rank `rank`, the caller, begins a run: its record so far is forgotten.
    pub fn begin_run(&self, rank: usize) {
        self.recorder().begin_run(rank);
    }

    /// Its part of the run is over.
    pub fn end_run(&self, rank: usize) {
        self.recorder().end_run(rank);
    }

    /// Rank `rank`, the caller, begins a call: its waits belong to this one until the
    /// next.
    pub fn begin(&self, rank: usize, call: &RecordedCall) -> CallEvent {
        let RecordedCall { call, address, comm, number, bytes, peer } = *call;
        let call = InterfaceCall { call, address, comm, number, bytes, peer };
        CallEvent(self.recorder().begin_interface_call(rank, &call))
    }

    /// The call ends; bytes and partner, if they are known now only.
    pub fn end(&self, rank: usize, event: CallEvent, bytes: Option<u64>, peer: Option<usize>) {
        self.recorder().end_interface_call(rank, event.0, bytes, peer);
    }

    /// The time, for [`waited`](InterfaceRecord::waited).
    pub fn now(&self) -> u64 {
        self.recorder().now()
    }

    /// Rank `rank`, the caller, has waited in its latest call for `peer`, in this time.
    pub fn waited(&self, rank: usize, peer: usize, time: std::ops::Range<u64>) {
        self.recorder().waited(rank, 0, peer, (time.start, time.end));
    }

    /// The word that rank `rank`, the caller, has awaited last of all from any rank has come from
    /// `peer`.
    pub fn name_source(&self, rank: usize, peer: usize) {
        self.recorder().name_source(rank, peer);
    }

    /// Appends the run of `program` to the file, with its end in words (none: it has ended well).
    /// `places` says the lines of addresses. If the run has failed, its ranks may still run.
    pub fn save(
        &self,
        (program, run): (&str, u64),
        outcome: &str,
        places: &dyn Fn(&[usize]) -> Vec<String>,
    ) {
        self.recorder().save_interface_run((program, run), outcome, places);
    }
}
