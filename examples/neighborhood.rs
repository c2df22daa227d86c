//! An unstructured neighbourhood: a graph's vertices are shared out among 4 ranks, and each vertex
//! needs the values at the other ends of its edges, wherever they are. The graph's Laplacian is
//! applied twice: by gathering values, and by assembling the values that each rank computes for its
//! edges.

use phalanx::dist::Block;
use std::collections::BTreeMap;

const VERTICES: usize = 1000;

/// Edges from vertex `i` to others: a ring, and chords that go anywhere.
fn edges(i: usize) -> [(usize, usize); 2] {
    [(i, (i + 1) % VERTICES), (i, (i * i + 7) % VERTICES)]
}

fn value(i: usize) -> i64 {
    (i * 37 % 101) as i64
}

fn main() -> Result<(), phalanx::Error> {
    let assembled = phalanx::run(4, |comm| {
        let vertices = Block::new(VERTICES, comm.size());
        let mine = vertices.range(comm.rank());
        let edges: Vec<(usize, usize)> = mine.clone().flat_map(edges).collect();

        // The plan, made once: vertices of other ranks at the ends of our edges.
        let foreign = edges.iter().map(|edge| edge.1).filter(|end| !mine.contains(end));
        let mut wanted: Vec<usize> = foreign.collect();
        wanted.sort_unstable();
        wanted.dedup(); // in order, so that neighbours' elements come in runs
        let plan = comm.ghosts(&vertices, &wanted);
        let ghost: BTreeMap<usize, usize> = wanted.iter().copied().zip(0..).collect();

        // Gather: values from their owners.
        let own: Vec<i64> = mine.clone().map(value).collect();
        let mut ghosts = vec![0; plan.ghosts()];
        plan.gather(comm, &own, &mut ghosts);
        assert!(wanted.iter().zip(&ghosts).all(|(&i, &g)| g == value(i)));
        // Each edge gives its difference to both ends; a foreign end's share waits in its ghost.
        let (mut at_own, mut at_ghosts) = (vec![0; own.len()], vec![0; ghosts.len()]);
        for (i, j) in edges {
            let there = ghost.get(&j).map_or_else(|| own[j - mine.start], |&k| ghosts[k]);
            let difference = own[i - mine.start] - there;
            at_own[i - mine.start] += difference;
            match ghost.get(&j) {
                Some(&k) => at_ghosts[k] -= difference,
                None => at_own[j - mine.start] -= difference,
            }
        }
        plan.scatter_add(comm, &at_ghosts, &mut at_own);
        at_own
    })?;

    let mut serial = vec![0; VERTICES];
    for (i, j) in (0..VERTICES).flat_map(edges) {
        serial[i] += value(i) - value(j);
        serial[j] -= value(i) - value(j);
    }
    assert_eq!(assembled.concat(), serial);
    Ok(())
}
