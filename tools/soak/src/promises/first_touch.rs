//! The memory of a rank lies in the memory of its own NUMA node, and stays there while others use
//! it: mailboxes (also those of sub-communicators, and of threads of the caller's own), windows and
//! arrays with halos.

use super::page_nodes::{can_keep, fresh_bytes, nodes_of};
use super::subject::{Kept, Subject, said};
use phalanx::Comm;
use phalanx::dist::Halo;
use phalanx::engine::own_memory;
use phalanx::machine::{Level, Machine, NumaNode, affinity};
use phalanx::placement::{Placement, assign};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

/// Of a window, and words of an array with a halo: so that they have pages of their own.
const CELLS: usize = 1 << 16;

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let machine = subject.machine;
    let memories = match memories(machine) {
        Ok(memories) => memories,
        Err(why) => return Ok(Kept::NotHere(why)),
    };
    let ranks = machine.allowed_pus().len().min(subject.most);
    let mut pages = 0;
    for placement in [Placement::Scatter, Placement::Auto] {
        let planned = assign(&placement, machine, ranks).map_err(said)?;
        let units: Vec<usize> = planned.pus().iter().copied().flatten().collect();
        let team = subject.builder(ranks).placement(placement.clone());
        let found = team.build().and_then(|team| team.run(|comm| look_everywhere(comm, machine)));
        let found = found.map_err(said)?;
        pages += summed(found).map_err(|why| format!("{placement}, a team: {why}"))?;
        let found = of_own_threads(subject, &units)?;
        pages += summed(found).map_err(|why| format!("{placement}, own threads: {why}"))?;
    }
    let (of, later) = match pages_wander() {
        true => ("mailboxes and windows", "; the kernel balances memories, and leaves these alone"),
        false => ("mailboxes, windows and arrays with halos", ""),
    };
    let what = format!(
        "{ranks} ranks, {memories} memories: {pages} pages of {of}, each in its rank's own, before \
         others use them and after"
    );
    Ok(Kept::Holds(what + later))
}

/// How many memories there are in which something can lie, or why nothing can be said of it.
pub(super) fn memories(machine: &Machine) -> Result<usize, String> {
    let ours = |pus: &[usize]| pus.iter().any(|&pu| machine.is_allowed(pu));
    let memories = machine.numa_nodes().iter().filter(|node| ours(&node.pus)).count();
    if memories < 2 {
        let why = "the PUs that may be used have one memory, so nothing can lie elsewhere";
        return Err(why.to_string());
    }
    let probe = vec![1_u8; 1 << 12];
    if let Err(why) = nodes_of(probe.as_ptr().addr(), probe.len()) {
        return Err(format!("where pages lie: {why}"));
    }
    if pages_wander() && !can_keep() {
        let why = "the kernel moves pages to the processors that use them (numa_balancing), and \
                   this process may not forbid it (mbind)";
        return Err(why.to_string());
    }
    Ok(memories)
}

/// The findings of one rank: pages at home, and faults.
type PagesFound = (usize, Vec<String>);

fn summed(found: Vec<PagesFound>) -> Result<usize, String> {
    match found.iter().find_map(|(_, wrong)| wrong.first()) {
        Some(wrong) => Err(wrong.clone()),
        None => Ok(found.iter().map(|(pages, _)| pages).sum()),
    }
}

/// The same with threads that the library has not made, each bound before it begins.
fn of_own_threads(subject: &Subject<'_>, units: &[usize]) -> Result<Vec<PagesFound>, String> {
    let comms = subject.builder(units.len()).external().map_err(said)?;
    std::thread::scope(|scope| {
        let start = |(mut comm, &pu): (Comm, &usize)| {
            scope.spawn(move || {
                affinity::pin_current_thread(pu).map_err(said)?;
                comm.protect(|comm| look_everywhere(comm, subject.machine)).map_err(said)
            })
        };
        let threads: Vec<_> = comms.into_iter().zip(units).map(start).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|end| end.map_err(|_| "a thread panicked".to_string())?).collect()
    })
}

/// All ranks take part to the end, whatever one of them finds.
fn look_everywhere(comm: &mut Comm, machine: &Machine) -> PagesFound {
    let (mut pages, mut wrong) = (0, Vec::new());
    let home = home(&mut wrong);
    wrong.extend(abroad(home, own_nodes(machine)));
    inboxes_at(comm, home, "the communicator", &mut pages, &mut wrong);
    let (rank, size) = (comm.rank(), comm.size());
    for (name, mut child) in [
        ("a half of it", comm.split(rank / 2 % 2, rank)),
        ("a copy in reverse", comm.split(0, size - rank)),
        ("a package of it", comm.split_by(Level::Package)),
    ] {
        inboxes_at(&mut child, home, name, &mut pages, &mut wrong);
    }
    windows_at(comm, home, &mut pages, &mut wrong);
    let halo = Halo::new(&[8 * CELLS], 1);
    // Not of zeros, which nobody would have written.
    let mut field = fresh_bytes(halo.len(), 1);
    comm.cart(&[size], &[true]).exchange_halo(&mut field, &halo);
    if !pages_wander() {
        at_home("an array with a halo", &field, home, &mut pages, &mut wrong);
    }
    (pages, wrong)
}

/// Looks where the windows of `comm` are, before and after all ranks have read and written them.
fn windows_at(comm: &mut Comm, home: Option<usize>, pages: &mut usize, wrong: &mut Vec<String>) {
    // One element of each page is enough to have read it.
    const STEP: usize = 64;
    let rank = comm.rank();
    let mut look = |name: &str, at: usize| {
        lie_at(&format!("rank {rank}: {name}"), at, CELLS * size_of::<u64>(), home, pages, wrong);
    };
    let mut plain = comm.shared::<u64>(CELLS);
    let copied = comm.shared_from(&vec![rank as u64; CELLS]);
    let atomic = comm.shared_atomic::<u64>(CELLS);
    for is_used in [false, true] {
        if is_used {
            plain.update(comm, |mine| mine.fill(1));
            let all = plain.parts().iter().chain(copied.parts().iter());
            std::hint::black_box(all.flat_map(|part| part.iter().step_by(STEP)).sum::<u64>());
            for part in atomic.parts().iter() {
                for cell in part.iter().step_by(STEP) {
                    cell.fetch_add(1, Relaxed);
                }
            }
            comm.barrier();
        }
        look("a window", plain.mine().as_ptr().addr());
        look("a window of copies", copied.mine().as_ptr().addr());
        look("a window of atomics", atomic.part(rank).as_ptr().addr());
    }
}

/// The node in which a page lies that this thread is the first to touch.
pub(super) fn home(wrong: &mut Vec<String>) -> Option<usize> {
    let fresh = fresh_bytes(1 << 16, 1);
    let nodes = nodes_of(fresh.as_ptr().addr(), fresh.len()).unwrap_or_default();
    // Of a page that the kernel watches, to balance memories, it tells nothing.
    let home = nodes.iter().copied().flatten().next_back();
    if home.is_none() {
        wrong.push("a fresh page is nowhere".to_string());
    }
    home
}

/// The nodes that have memory, and are next to the processors that the calling thread may use.
fn own_nodes(machine: &Machine) -> Vec<usize> {
    let mask = affinity::current_mask().unwrap_or_default();
    let has_memory = |node: &NumaNode| node.memory_bytes.is_none_or(|bytes| bytes > 0);
    let near = |node: &&NumaNode| has_memory(node) && node.pus.iter().any(|pu| mask.contains(pu));
    machine.numa_nodes().iter().filter(near).map(|node| node.os_id).collect()
}

/// The fault of a home that is none of a rank's own nodes. (Processors without memory have
/// none.)
fn abroad(home: Option<usize>, own: Vec<usize>) -> Option<String> {
    let home = home.filter(|home| !own.is_empty() && !own.contains(home))?;
    Some(format!(
        "a fresh page lies in node {home}, not in {own:?} beside the rank's PU: is that memory \
         full, or does this process have a policy (numactl)?"
    ))
}

/// Looks where the mailboxes of `comm` are, uses all of them, and looks again.
fn inboxes_at(
    comm: &mut Comm,
    home: Option<usize>,
    name: &str,
    pages: &mut usize,
    wrong: &mut Vec<String>,
) {
    let mut look = |comm: &Comm| {
        for (part, at, bytes) in own_memory(comm) {
            let what = format!("rank {}: {part} of {name}", comm.rank());
            lie_at(&what, at, bytes, home, pages, wrong);
        }
    };
    look(comm);
    let p = comm.size();
    // In the line, in the eager buffer, by address.
    for elements in [1, 100, 1000] {
        let (mine, mut theirs) = (vec![1_u64; p * elements], vec![0; p * elements]);
        comm.all_to_all_into(&mine, &mut theirs);
    }
    let mut homes = vec![0; p];
    comm.all_gather_into(&[home.unwrap_or(0)], &mut homes);
    look(comm);
    if own_memory(comm).is_empty() && homes.iter().any(|home| *home != homes[0]) {
        wrong.push(format!("{name}: its ranks are in several memories, its mailboxes in one"));
    }
}

/// Whether the kernel moves pages to the processors that use them, whoever touched them first.
fn pages_wander() -> bool {
    let on = std::fs::read_to_string("/proc/sys/kernel/numa_balancing");
    on.is_ok_and(|text| text.trim() != "0")
}

/// The whole pages of an array.
fn at_home(
    what: &str,
    array: &[u8],
    home: Option<usize>,
    pages: &mut usize,
    wrong: &mut Vec<String>,
) {
    const MARGIN: usize = 1 << 16;
    let (at, bytes) = (array.as_ptr().addr(), size_of_val(array));
    lie_at(what, at + MARGIN, bytes.saturating_sub(2 * MARGIN), home, pages, wrong);
}

pub(super) fn lie_at(
    what: &str,
    at: usize,
    bytes: usize,
    home: Option<usize>,
    pages: &mut usize,
    wrong: &mut Vec<String>,
) {
    match nodes_of(at, bytes) {
        Err(why) => wrong.push(format!("{what}: {why}")),
        Ok(nodes) => {
            let away: BTreeSet<_> = nodes.iter().filter(|node| **node != home).collect();
            if !away.is_empty() {
                let count = nodes.iter().filter(|node| **node != home).count();
                let all = nodes.len();
                wrong.push(format!("{what}: {count} of {all} pages in {away:?}, not in {home:?}"));
            }
            *pages += nodes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_whose_memory_is_elsewhere_is_told() {
        assert_eq!(abroad(Some(1), vec![1]), None);
        assert_eq!(abroad(Some(1), Vec::new()), None, "its processors have no memory");
        assert!(abroad(Some(0), vec![1]).unwrap().starts_with("a fresh page lies in node 0, not"));
    }
}
