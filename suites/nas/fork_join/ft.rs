//! FT with a parallel iterator over planes for each transform.

use super::super::ft::Ft;
use super::super::memory::zeros;
use super::super::outcome::Outcome;
use rayon::prelude::*;
use rustfft::num_complex::Complex64;
use std::time::Instant;

pub(crate) fn iterate(ft: &Ft) -> Outcome {
    let points = ft.points();
    let (mut space, mut spectrum, mut decayed) = (zeros(points), zeros(points), zeros(points));
    forward(ft, &mut space, &mut spectrum);
    backward(ft, 0, &spectrum, &mut decayed, &mut space);
    let clock = Instant::now();
    forward(ft, &mut space, &mut spectrum);
    let mut error = 0.0;
    for t in 1..=ft.iterations {
        let sum = backward(ft, t, &spectrum, &mut decayed, &mut space);
        error = ft.judge(t, sum, error);
    }
    Outcome::new(clock.elapsed().as_secs_f64(), error, 1e-12)
}

fn forward(ft: &Ft, space: &mut [Complex64], spectrum: &mut [Complex64]) {
    let [nx, ny, nz] = ft.n;
    space
        .par_chunks_mut(nx * ny)
        .enumerate()
        .for_each_init(|| ft.bench(), |bench, (z, plane)| ft.first_plane(z, plane, bench));
    let space = &*space;
    spectrum.par_chunks_mut(nx * nz).enumerate().for_each_init(
        || ft.bench(),
        |bench, (y, plane)| {
            ft.spectrum_plane(|z| &space[(z * ny + y) * nx..][..nx], plane, bench);
        },
    );
}

fn backward(
    ft: &Ft,
    t: usize,
    spectrum: &[Complex64],
    decayed: &mut [Complex64],
    space: &mut [Complex64],
) -> Complex64 {
    let [nx, ny, nz] = ft.n;
    let decays = ft.decays(t);
    let from = spectrum.par_chunks(nx * nz);
    decayed.par_chunks_mut(nx * nz).zip(from).enumerate().for_each_init(
        || ft.bench(),
        |bench, (y, (plane, from))| ft.decayed_plane(y, &decays, from, plane, bench),
    );
    let decayed = &*decayed;
    space
        .par_chunks_mut(nx * ny)
        .enumerate()
        .map_init(
            || ft.bench(),
            |bench, (z, plane)| {
                ft.last_plane(|y| &decayed[(y * nz + z) * nx..][..nx], plane, bench);
                ft.checksum(z, plane)
            },
        )
        .sum()
}
