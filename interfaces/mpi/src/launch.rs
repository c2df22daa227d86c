//! Checks the start of the job: the launcher, the program and the cores.

use crate::engine::{Calls, FAILED};
use crate::raw;
use phalanx::machine::{Machine, affinity};
use phalanx_nodes::net::{Net, NetError, Transfer};
use std::env;
use std::fs::File;
use std::io::Read;

/// Variables in which launchers say how many processes they have started.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// Says the fault, and ends the job.
pub(crate) fn refuse(calls: &Calls, what: &str) -> ! {
    eprintln!("phalanx: {what}");
    if raw::world().size() > 1 { calls.abort() } else { std::process::exit(FAILED) }
}

/// Why the launcher is not that of the MPI that the program was built with, if it
/// is not: each process then takes itself for the only one.
pub(crate) fn wrong_launcher(world: usize) -> Option<String> {
    let number = |name: &str| env::var(name).ok()?.trim().parse::<usize>().ok();
    let told = SIZES.iter().find_map(|&name| Some((name, number(name)?)));
    let said = match told {
        Some((name, n)) if n != world => Some((name, n)),
        Some(_) => None,
        // Not in a batch script itself, and not below an mpirun (which says so).
        None if world == 1 && env::var_os("SLURM_PROCID").is_some() => {
            let name = "SLURM_STEP_NUM_TASKS";
            number(name).filter(|&n| n > 1).map(|n| (name, n))
        }
        None => None,
    };
    said.map(|(name, n)| {
        format!(
            "the launcher has started {n} processes ({name}), MPI sees {world}: the launcher of \
             another MPI than the one this program was built with (with Slurm: srun --mpi=pmix or \
             pmi2)"
        )
    })
}

/// A number for the program file, word by word.
fn digest(mut file: File) -> std::io::Result<u64> {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut buffer = vec![0u8; 1 << 20];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(sum);
        }
        buffer[n..].iter_mut().take(8).for_each(|b| *b = 0);
        for word in buffer[..n.next_multiple_of(8).min(1 << 20)].as_chunks::<8>().0 {
            sum = (sum.rotate_left(5) ^ u64::from_le_bytes(*word))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

/// Compares the program of all processes: the facts that they agree about by hashes of types,
/// and data sent as bytes, are the same only there.
pub(crate) fn same_program(net: &dyn Net) -> Result<(), NetError> {
    let node = net.node();
    let own = File::open("/proc/self/exe").and_then(digest);
    let own = own.map_err(|e| NetError::new(format!("the program's own file: {e}")))?;
    let all = gather(net, &[own])?;
    match all.iter().position(|&other| other != own) {
        Some(other) => Err(NetError::new(format!(
            "nodes {node} and {other} run different programs (builds), {own:016x} and {:016x}; \
             copy one to all nodes",
            all[other]
        ))),
        None => Ok(()),
    }
}

/// The part of the host that this process has.
#[derive(Debug)]
pub(crate) struct Share {
    /// Threads, if nobody says how many.
    pub(crate) threads: usize,
    /// Whether ranks are to be bound to cores.
    pub(crate) bind: bool,
    /// The text that the user should read.
    pub(crate) warning: Option<String>,
    /// Whether more threads run than there are processing units.
    pub(crate) crowded: bool,
}

/// The part of the host's cores for process `which` of those there, which have these masks: the
/// cores that the launcher has bound it to; or, of processes that all may use all, its share, to
/// which this thread is bound.
pub(crate) fn share(wanted: Option<usize>, which: usize, all_masks: &[Vec<usize>]) -> Share {
    let processes = all_masks.len();
    let own = &all_masks[which];
    let shared = all_masks.iter().filter(|mask| *mask == own).count();
    let Ok(machine) = Machine::this() else {
        let threads = wanted.unwrap_or(1);
        return Share { threads, bind: false, warning: None, crowded: false };
    };
    let allowed = |c: &phalanx::machine::Core| -> Vec<usize> {
        c.pus.iter().copied().filter(|&pu| machine.is_allowed(pu)).collect()
    };
    let cores: Vec<Vec<usize>> =
        machine.cores().iter().map(allowed).filter(|pus| !pus.is_empty()).collect();
    let mut mine = &cores[..];
    let mut bind = true;
    if shared > 1 {
        let among = all_masks[..which].iter().filter(|mask| *mask == own).count();
        let (from, to) = (cores.len() * among / shared, cores.len() * (among + 1) / shared);
        if from < to {
            mine = &cores[from..to];
            bind = affinity::restore(&mine.concat()).is_ok();
        } else {
            bind = false;
        }
    }
    let threads = wanted.unwrap_or(mine.len().max(1));
    let pus: usize = mine.iter().map(Vec::len).sum();
    let mut warning = None;
    let few = threads > pus;
    let total: usize = machine.cores().iter().map(|c| c.pus.len()).sum();
    if few && shared == 1 && total > pus {
        warning = Some(format!(
            "{threads} threads on {pus} processing unit(s): the launcher has bound this process. \
             Open MPI: mpirun --bind-to none, or --map-by ppr:1:node:PE={threads}; Slurm: \
             --cpus-per-task={threads}"
        ));
    } else if few {
        warning = Some(format!(
            "{threads} threads on {pus} processing unit(s) of {processes} process(es) on this host"
        ));
    }
    Share { threads, bind: bind && !few, warning, crowded: few }
}

/// A number of every node.
fn gather(net: &dyn Net, own: &[u64]) -> Result<Vec<u64>, NetError> {
    let (nodes, node, n) = (net.nodes(), net.node(), own.len());
    let mut all = vec![0u64; nodes * n];
    all[node * n..][..n].copy_from_slice(own);
    let counts = vec![8 * n; nodes];
    let at = all.as_mut_ptr().cast();
    // SAFETY: so many words of each node; they outlive the transfer.
    let mut pending = unsafe { net.start(Transfer::AllGather { all: at, counts: &counts })? };
    while !pending.test()? {
        std::thread::yield_now();
    }
    Ok(all)
}

/// The most that any node has.
pub(crate) fn most(net: &dyn Net, own: usize) -> Result<usize, NetError> {
    Ok(gather(net, &[own as u64])?.into_iter().max().unwrap_or(0) as usize)
}

/// The processing units of the processes on this host, which have the numbers
/// `here`.
pub(crate) fn masks(net: &dyn Net, here: &[usize]) -> Result<Vec<Vec<usize>>, NetError> {
    let own = mask();
    let words = most(net, own.last().map_or(1, |pu| pu / 64 + 1))?;
    let mut bits = vec![0u64; words];
    own.iter().for_each(|&pu| bits[pu / 64] |= 1 << (pu % 64));
    let all = gather(net, &bits)?;
    let pus =
        |bits: &[u64]| (0..words * 64).filter(|pu| bits[pu / 64] >> (pu % 64) & 1 == 1).collect();
    Ok(here.iter().map(|&node| pus(&all[node * words..][..words])).collect())
}

/// The processing units that this process may use; none if that is not known.
pub(crate) fn mask() -> Vec<usize> {
    affinity::current_mask().unwrap_or_default()
}
