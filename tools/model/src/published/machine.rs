//! A published machine: its node and the software of the libraries on it, and their predictions.

use super::by_messages::Transport;
use super::clocks::PhaseClocks;
use super::ext_mpi::{self, Kind};
use super::mpich::{self, Flags};
use super::node::{Call, Node};
use super::open_mpi;
use super::phalanx_own::OwnCalls;

/// All constants of a machine.
///
/// Given are its shape, the hand-offs and links of `epyc-2x64`, and the transfers for a written
/// line; the others were fitted to the points of `fit-points.tsv` (`examples/fit.rs`).
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: &'static str,
    /// Its shape, as hwloc's synthetic descriptions write it.
    pub shape: &'static str,
    /// Its hardware.
    pub node: Node,
    /// The software of the libraries.
    pub software: Software,
}

/// Nanoseconds of software, and hand-offs.
#[derive(Clone, Debug, PartialEq)]
pub struct Software {
    /// ext_mpi: one instruction of its byte code.
    pub ext_op: f64,
    /// ext_mpi: a call: all-reduce, broadcast, reduce.
    pub ext_call: [f64; 3],
    /// MPICH: a call by release and gather: all-reduce, broadcast, reduce.
    pub call: [f64; 3],
    /// MPICH: a child of release and gather.
    pub child: f64,
    /// MPICH: a message.
    pub message: f64,
    /// MPICH: how much longer a message takes where each rank sends and receives at once.
    pub exchange: f64,
    /// MPICH: the hand-offs of a message.
    pub hand_offs: f64,
    /// MPICH: the further time of a message beyond a cell.
    pub long: f64,
    /// Open MPI; None where its measured build is erratic.
    pub open_mpi: Option<OpenMpi>,
}

/// Nanoseconds and hand-offs of Open MPI's messages.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenMpi {
    /// A message through a box.
    pub boxed: f64,
    /// A message through a list of fragments.
    pub listed: f64,
    /// A mapped message.
    pub mapped: f64,
    /// How much longer a message takes where each rank sends and receives at once.
    pub exchange: f64,
    /// The hand-offs of a message.
    pub hand_offs: f64,
}

/// A question to a [`Machine`].
///
/// # Examples
/// ```
/// use phalanx_model::published::{Asked, machines};
/// let [epyc, _] = machines();
/// let (library, operation) = ("mpich", "allreduce");
/// let asked = Asked { library, how: "", operation, ranks: 96, spread: false };
/// let us = epyc.predict(&asked, 8.0).unwrap();
/// assert!((2.0..8.0).contains(&us), "{us}");
/// // Calls of more bytes take longer.
/// assert!(epyc.predict(&asked, 65536.0).unwrap() > 10.0 * us);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked<'a> {
    /// `mpich`, `openmpi`, `ext_mpi` or `phalanx`.
    pub library: &'a str,
    /// MPICH's `blocking` or `persistent` calls; else the faster of the two.
    pub how: &'a str,
    /// `allreduce`, `bcast` or `reduce`.
    pub operation: &'a str,
    /// The number of ranks: at most the machine's cores.
    pub ranks: usize,
    /// Whether they are dealt over the packages in turn, not side by side.
    pub spread: bool,
}

impl Machine {
    /// Microseconds of a call of `bytes`: the mean over the ranks, as OSU's benchmarks report it.
    /// None where the operation or the library is not modelled on this machine, or the ranks are
    /// fewer than 2 or more than the cores.
    pub fn predict(&self, asked: &Asked<'_>, bytes: f64) -> Option<f64> {
        let kind = kind(asked.operation)?;
        let &Asked { library, how, ranks: p, spread, .. } = asked;
        if !(2..=self.node.size()).contains(&p) {
            return None;
        }
        let call = &Call { node: &self.node, p, spread, bytes };
        let s = &self.software;
        match (library, how) {
            ("ext_mpi", _) => ext_mpi::sets(&self.node, p, kind)
                .iter()
                .map(|set| ext_mpi::time(call, kind, set, (s.ext_call, s.ext_op)))
                .min_by(f64::total_cmp),
            ("mpich", "blocking") => Some(self.mpich_blocking(call, kind)),
            ("mpich", "persistent") => Some(mpich::messages(call, kind, &self.mpich(kind))),
            ("mpich", _) => {
                let other = mpich::messages(call, kind, &self.mpich(kind));
                Some(self.mpich_blocking(call, kind).min(other))
            }
            ("openmpi", _) => {
                let by = Machine::open_mpi(s.open_mpi.as_ref()?);
                Some(open_mpi::time(call, kind, &by))
            }
            ("phalanx", _) => {
                let calls = self.own_calls(p)?;
                let (algorithm, request) = calls.chosen(kind.operation(), bytes as usize);
                Some(calls.us(&calls.messages(algorithm, &request)?, bytes))
            }
            _ => None,
        }
    }

    /// Microseconds below which no schedule gets by these clocks: each word of each vector is read
    /// by another core (all-reduce, reduce), or comes from another core (broadcast, and
    /// all-reduce again, by stores where those are faster), and passes through memory where the
    /// vectors do not fit the caches. None as for [`predict`](Machine::predict).
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::published::machines;
    /// let [epyc, _] = machines();
    /// // 4 MiB for each of 128 ranks: no longer in the caches.
    /// let us = epyc.bound("allreduce", 128, 4_194_304.0).unwrap();
    /// assert!((1500.0..4000.0).contains(&us), "{us}");
    /// ```
    pub fn bound(&self, operation: &str, ranks: usize, bytes: f64) -> Option<f64> {
        let (kind, n, p) = (kind(operation)?, &self.node, ranks);
        if !(2..=n.size()).contains(&p) {
            return None;
        }
        let missed = PhaseClocks::new(&Call { node: n, p, spread: false, bytes }, bytes).missed();
        let (sharers, cores) = (n.sharers.min(p) as f64, n.cores.min(p) as f64);
        // The near ones first: of each word all but one vector of a cache, of a package, of all.
        let far = [1.0 - 1.0 / sharers, 1.0 / sharers - 1.0 / cores, 1.0 / cores - 1.0 / p as f64];
        let line = |distance| n.line(distance, n.reads_in_flight);
        let reading: f64 = far.iter().enumerate().map(|(d, share)| share * line(d)).sum();
        let storing = reading.min(n.work.max(n.served * sharers));
        let (time, passes) = match kind {
            Kind::AllReduce => (reading + storing, 1.0 + n.write_traffic),
            Kind::Broadcast => (storing, n.write_traffic),
            Kind::Reduce => (reading, 1.0),
        };
        let memory = passes * missed * n.memory * cores;
        Some(bytes / 64.0 * time.max(memory) / 1000.0)
    }

    /// This library's own calls of so many ranks; None where the node has fewer cores.
    pub fn own_calls(&self, ranks: usize) -> Option<OwnCalls<'_>> {
        (ranks <= self.node.size()).then(|| OwnCalls::new(&self.node, self.shape, ranks))?
    }

    fn mpich(&self, kind: Kind) -> Transport {
        let s = &self.software;
        Transport {
            message_ns: s.message,
            exchange: s.exchange,
            hand_offs: s.hand_offs,
            copied: true,
            buffers: if kind == Kind::Broadcast { 1.0 } else { 3.0 },
            // 64 cells of 16 KiB.
            cells: 64.0 * 16384.0,
            long: (16384.0, s.long),
        }
    }

    fn mpich_blocking(&self, call: &Call<'_>, kind: Kind) -> f64 {
        // Longer broadcasts go by messages: generic.json of its selection.
        let most = if call.p.is_power_of_two() { 524_288.0 } else { 12_288.0 };
        let flags = Flags { call_ns: self.software.call, child_ns: self.software.child };
        match kind == Kind::Broadcast && call.bytes >= most {
            true => mpich::messages(call, kind, &self.mpich(kind)),
            false => mpich::release_gather(call, kind, flags),
        }
    }

    fn open_mpi(s: &OpenMpi) -> open_mpi::Ways {
        let of = |message_ns, copied| Transport {
            message_ns,
            exchange: s.exchange,
            hand_offs: s.hand_offs,
            copied,
            buffers: 2.0,
            cells: 0.0,
            long: (f64::INFINITY, 0.0),
        };
        open_mpi::Ways {
            boxed: of(s.boxed, true),
            listed: of(s.listed, true),
            mapped: of(s.mapped, false),
        }
    }
}

fn kind(operation: &str) -> Option<Kind> {
    match operation {
        "allreduce" => Some(Kind::AllReduce),
        "bcast" => Some(Kind::Broadcast),
        "reduce" => Some(Kind::Reduce),
        _ => None,
    }
}

/// The machines: given facts, and fitted ones (see [`Machine`]).
///
/// # Examples
/// ```
/// use phalanx_model::published::machines;
/// assert_eq!(machines().map(|m| (m.name, m.node.size())), [("epyc-2x64", 128), ("grace", 288)]);
/// ```
pub fn machines() -> [Machine; 2] {
    [
        Machine {
            name: "epyc-2x64",
            shape: "pack:2 group:4 [numa] l3:4 core:4 pu:1",
            // Given: cores, caches, the hand-offs of an EPYC 7742, four links of 36 GB/s each way.
            node: Node {
                packages: 2,
                cores: 64,
                memories: 4,
                sharers: 4,
                hand_off: [25.3, 134.6, 266.6],
                reads_in_flight: 5.3,
                writes_in_flight: 100.0,
                slope: 0.207,
                overlap: 0.851,
                flags_in_flight: 16.0,
                work: 1.34,
                served: 3.29,
                link: 0.44,
                home: 1.26,
                write_traffic: 2.0,
                memory: 0.391,
                core_memory: 4.23,
                capacity: 34.8e6,
                reader: 0.546,
            },
            software: Software {
                ext_op: 1.03,
                ext_call: [1490.0, 1.43, 1010.0],
                call: [3.29, 297.0, 549.0],
                exchange: 1.24,
                child: 0.089,
                message: 1610.0,
                hand_offs: 1.0,
                long: 6.44,
                open_mpi: None,
            },
        },
        Machine {
            name: "grace",
            shape: "pack:4 [numa] l3:1 core:72 pu:1",
            // Given: cores and caches. Stores that fill lines do not read them first.
            node: Node {
                packages: 4,
                cores: 72,
                memories: 1,
                sharers: 72,
                hand_off: [42.1, 42.1, 386.0],
                reads_in_flight: 6.75,
                writes_in_flight: 71.8,
                slope: 0.382,
                overlap: 0.423,
                flags_in_flight: 2.63,
                work: 0.656,
                served: 0.1,
                link: 0.297,
                home: 0.039,
                write_traffic: 1.0,
                memory: 0.094,
                core_memory: 10.0,
                capacity: 340.0e6,
                reader: 0.126,
            },
            software: Software {
                ext_op: 1.0,
                ext_call: [170.0, 1.0, 164.0],
                call: [601.0, 127.0, 428.0],
                exchange: 1.0,
                child: 0.944,
                message: 407.0,
                hand_offs: 7.39,
                long: 3630.0,
                open_mpi: Some(OpenMpi {
                    boxed: 335.0,
                    listed: 1170.0,
                    mapped: 10.0,
                    exchange: 1.0,
                    hand_offs: 0.5,
                }),
            },
        },
    ]
}
