//! Conjugate gradients: -u'' = 1 on 4 ranks, each with its rows of the matrix, and a plan that
//! brings the elements of other ranks that these rows need.

use phalanx::dist::Block;

const N: usize = 200; // unknowns

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The columns of row `i`, the diagonal's first.
fn columns(i: usize) -> impl Iterator<Item = usize> {
    [Some(i), i.checked_sub(1), Some(i + 1).filter(|&j| j < N)].into_iter().flatten()
}

fn main() -> Result<(), phalanx::Error> {
    let x = phalanx::run(4, |comm| {
        let rows = Block::new(N, comm.size());
        let (mine, n) = (rows.range(comm.rank()), rows.range(comm.rank()).len());
        let entries: Vec<usize> = mine.clone().flat_map(columns).collect();
        // Where each entry's element is: among the own ones, or the ghosts behind them.
        let (plan, places) = comm.ghosts_of_columns(&rows, &entries);
        let (mut x, mut r) = (vec![0.0; n], vec![1.0; n]);
        let mut p = vec![1.0; n + plan.ghosts()];
        let [mut rr] = comm.sum([dot(&r, &r)]);
        for _step in 0..N {
            let (own, ghosts) = p.split_at_mut(n);
            plan.gather(comm, own, ghosts);
            let mut place = places.iter();
            let ap = mine.clone().map(|i| {
                let row = columns(i).zip(&mut place);
                row.map(|(j, &at)| if j == i { 2.0 * p[at] } else { -p[at] }).sum()
            });
            let ap: Vec<f64> = ap.collect();
            let [p_ap] = comm.sum([dot(&p[..n], &ap)]);
            for i in 0..n {
                x[i] += rr / p_ap * p[i];
                r[i] -= rr / p_ap * ap[i];
            }
            let [new] = comm.sum([dot(&r, &r)]);
            if new < 1e-16 {
                return x;
            }
            for i in 0..n {
                p[i] = r[i] + new / rr * p[i];
            }
            rr = new;
        }
        panic!("it must converge in as many steps as there are unknowns")
    })?;
    let wanted = |i: usize| ((i + 1) * (N - i)) as f64 / 2.0;
    assert!((0..).zip(x.concat()).all(|(i, x)| (x - wanted(i)).abs() < 1e-8));
    Ok(())
}
