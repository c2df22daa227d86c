//! Conjugate gradients: -u'' = 1 on 4 ranks, each with its part of the line.

use phalanx::dist::Halo;

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn main() -> Result<(), phalanx::Error> {
    let steps = phalanx::run(4, |comm| {
        let n = 50; // unknowns of this rank
        let halo = Halo::new(&[n], 1); // and its neighbours' nearest ones
        let (mut x, mut r) = (vec![0.0; n], vec![1.0; n]);
        let mut p = vec![0.0; halo.len()];
        p[1..=n].copy_from_slice(&r);
        let [mut rr] = comm.sum([dot(&r, &r)]);
        for step in 0.. {
            if rr < 1e-16 {
                return (step, x[n - 1]);
            }
            comm.cart(&[0], &[false]).exchange_halo(&mut p, &halo);
            let ap: Vec<f64> = p.windows(3).map(|w| 2.0 * w[1] - w[0] - w[2]).collect();
            let [p_ap] = comm.sum([dot(&p[1..=n], &ap)]);
            for i in 0..n {
                x[i] += rr / p_ap * p[i + 1];
                r[i] -= rr / p_ap * ap[i];
            }
            let [new] = comm.sum([dot(&r, &r)]);
            for i in 0..n {
                p[i + 1] = r[i] + new / rr * p[i + 1];
            }
            rr = new;
        }
        unreachable!("it converges")
    })?;
    let (steps, last) = steps[3];
    assert!(steps <= 200 && (last - 100.0).abs() < 1e-9); // u(i) = i (201 - i) / 2
    Ok(())
}
