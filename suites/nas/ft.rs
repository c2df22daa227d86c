//! FT: a diffusion equation solved by 3D Fourier transforms.
//!
//! The space lives in planes z, the spectrum in planes y, each rank owning some of either. A
//! transform does two directions inside a plane, and the third while it reads its lines from all
//! ranks' planes of the other kind, in place (`with_peers`): the transpose is a way of reading, not
//! a copy.
//!
//! Lines that do not lie along memory are done WIDTH at a time: a pair of cache lines of each row
//! is read whole.

use super::class::Class;
use super::memory::{Lines, zeros};
use super::outcome::{Outcome, Stopwatch};
use super::random::{Random, SEED};
use super::spmd::{Spmd, part};
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};
use std::f64::consts::PI;
use std::sync::Arc;

/// Lines that are gathered together.
const WIDTH: usize = 16;
/// Elements between two gathered lines beyond their length, lest they share the cache's sets.
const GAP: usize = 4;
const ALPHA: f64 = 1e-6;

pub(crate) struct Ft {
    class: Class,
    n: [usize; 3],
    iterations: usize,
    forward: [Arc<dyn Fft<f64>>; 3],
    inverse: [Arc<dyn Fft<f64>>; 3],
}

/// Both directions of transform.
#[derive(Clone, Copy)]
enum Way {
    Forward,
    Inverse,
}

impl Ft {
    pub(crate) fn new(class: Class) -> Self {
        let n = class.of([[64, 64, 64], [128, 128, 32], [256, 256, 128], [512, 256, 256]]);
        let mut planner = FftPlanner::new();
        Ft {
            class,
            n,
            iterations: class.of([6, 6, 6, 20]),
            forward: n.map(|n| planner.plan_fft_forward(n)),
            inverse: n.map(|n| planner.plan_fft_inverse(n)),
        }
    }

    /// The most ranks that have something to do.
    pub(crate) fn most_ranks(&self) -> usize {
        self.n[1].min(self.n[2])
    }

    fn points(&self) -> usize {
        self.n.iter().product()
    }

    pub(crate) fn mops(&self) -> f64 {
        let (n, it) = (self.points() as f64, self.iterations as f64);
        n * (14.8157 + 7.19641 * n.ln() + it * (5.23518 + 7.21113 * n.ln())) / 1e6
    }

    /// Memory for the gathered lines of one rank.
    fn bench(&self) -> Bench {
        let longest = self.n.into_iter().max().expect("three of them");
        let ffts = self.forward.iter().chain(&self.inverse);
        let scratch = ffts.map(|fft| fft.get_inplace_scratch_len()).max().expect("six of them");
        Bench {
            lines: vec![Complex64::default(); WIDTH * (longest + GAP)],
            scratch: vec![Complex64::default(); scratch],
        }
    }

    /// The decay of each mode along an axis until step `t`.
    fn decay(&self, axis: usize, t: usize) -> Vec<f64> {
        let n = self.n[axis] as isize;
        let rate = -4.0 * ALPHA * PI * PI * t as f64;
        (0..n).map(|i| (i + n / 2) % n - n / 2).map(|i| (rate * (i * i) as f64).exp()).collect()
    }

    /// The decays along x, y and z until step `t`; a mode's is their product.
    fn decays(&self, t: usize) -> [Vec<f64>; 3] {
        [0, 1, 2].map(|axis| self.decay(axis, t))
    }

    /// Plane z of the start, transformed along x and y.
    fn first_plane(&self, z: usize, plane: &mut [Complex64], bench: &mut Bench) {
        let [nx, ny, _] = self.n;
        let mut stream = Random::new(SEED).jumped((2 * nx * ny * z) as u64);
        let mut numbers = vec![0.0; 2 * nx];
        for row in plane.chunks_exact_mut(nx) {
            stream.fill(&mut numbers);
            for (point, pair) in row.iter_mut().zip(numbers.as_chunks::<2>().0) {
                *point = Complex64::new(pair[0], pair[1]);
            }
            self.forward[0].process_with_scratch(row, &mut bench.scratch);
        }
        for x in (0..nx).step_by(WIDTH) {
            bench.gather(plane.chunks_exact(nx).map(|row| (&row[x..x + WIDTH], 1.0)), None);
            bench.transform(&*self.forward[1], ny);
            bench.scatter(plane.chunks_exact_mut(nx).map(|row| &mut row[x..x + WIDTH]), ny);
        }
    }

    /// A plane of one kind from rows of the other, transformed along the new direction; row `i` of
    /// the result begins as `row(i)`.
    fn cross<'a>(
        &self,
        way: Way,
        axis: usize,
        row: impl Fn(usize) -> &'a [Complex64],
        plane: &mut [Complex64],
        bench: &mut Bench,
    ) {
        let (nx, n) = (self.n[0], self.n[axis]);
        let fft = match way {
            Way::Forward => &self.forward[axis],
            Way::Inverse => &self.inverse[axis],
        };
        for x in (0..nx).step_by(WIDTH) {
            bench.gather((0..n).map(|i| (&row(i)[x..x + WIDTH], 1.0)), None);
            bench.transform(&**fft, n);
            bench.scatter(plane.chunks_exact_mut(nx).map(|row| &mut row[x..x + WIDTH]), n);
        }
    }

    /// Plane y of the spectrum from the rows (z, y) of the planes z.
    fn spectrum_plane<'a>(
        &self,
        row: impl Fn(usize) -> &'a [Complex64],
        plane: &mut [Complex64],
        bench: &mut Bench,
    ) {
        self.cross(Way::Forward, 2, row, plane, bench);
    }

    /// Plane y of the spectrum after some decay, transformed back along z.
    fn decayed_plane(
        &self,
        y: usize,
        decays: &[Vec<f64>; 3],
        spectrum: &[Complex64],
        plane: &mut [Complex64],
        bench: &mut Bench,
    ) {
        let [nx, _, nz] = self.n;
        let [dx, dy, dz] = decays;
        for x in (0..nx).step_by(WIDTH) {
            let rows = spectrum.chunks_exact(nx).zip(dz);
            let rows = rows.map(|(row, dz)| (&row[x..x + WIDTH], dy[y] * dz));
            bench.gather(rows, Some(&dx[x..x + WIDTH]));
            bench.transform(&*self.inverse[2], nz);
            bench.scatter(plane.chunks_exact_mut(nx).map(|row| &mut row[x..x + WIDTH]), nz);
        }
    }

    /// Plane z of the result from the rows (y, z) of the planes y.
    fn last_plane<'a>(
        &self,
        row: impl Fn(usize) -> &'a [Complex64],
        plane: &mut [Complex64],
        bench: &mut Bench,
    ) {
        self.cross(Way::Inverse, 1, row, plane, bench);
        self.inverse[0].process_with_scratch(plane, &mut bench.scratch);
    }

    /// The contribution of plane z to the checksum.
    fn checksum(&self, z: usize, plane: &[Complex64]) -> Complex64 {
        let [nx, ny, nz] = self.n;
        let points =
            (1..=1024).filter(|j| 5 * j % nz == z).map(|j| plane[3 * j % ny * nx + j % nx]);
        points.sum::<Complex64>() / self.points() as f64
    }

    pub(crate) fn spmd<C: Spmd>(&self, comm: &mut C) -> Outcome {
        let mut slabs = Slabs::new(self, comm);
        // Once for nothing, so that all memory is there.
        slabs.forward(self, comm);
        slabs.backward(self, comm, 0);
        let clock = Stopwatch::start(comm);
        slabs.forward(self, comm);
        let mut error = 0.0;
        for t in 1..=self.iterations {
            let sum = slabs.backward(self, comm, t);
            error = self.judge(t, sum, error);
        }
        Outcome::new(clock.stop(comm), error, 1e-12)
    }

    /// The worse of an error so far and that of the checksum of step `t`.
    fn judge(&self, t: usize, sum: Complex64, worst: f64) -> f64 {
        let checksums = self.class.of([&S[..], &W, &A, &B]);
        let [re, im] = checksums[t - 1].map(|x| 100.0 * x);
        let published = Complex64::new(re, im);
        let error = ((sum - published) / published).norm();
        if error.is_nan() { f64::INFINITY } else { worst.max(error) }
    }
}

/// Where lines are gathered.
struct Bench {
    lines: Vec<Complex64>,
    scratch: Vec<Complex64>,
}

impl Bench {
    /// Line `b` gets element `b` of each row, times the row's factor, and times the line's if there
    /// is one.
    #[inline(always)]
    fn gather<'a>(
        &mut self,
        rows: impl ExactSizeIterator<Item = (&'a [Complex64], f64)>,
        factors: Option<&[f64]>,
    ) {
        let stride = rows.len() + GAP;
        let lines = &mut self.lines[..WIDTH * stride];
        match factors {
            Some(factors) => {
                let factors: [f64; WIDTH] = factors.try_into().expect("a factor for each line");
                for (i, (row, factor)) in rows.enumerate() {
                    for (b, point) in row.iter().enumerate() {
                        lines[b * stride + i] = point * (factor * factors[b]);
                    }
                }
            }
            None => {
                for (i, (row, _)) in rows.enumerate() {
                    for (b, point) in row.iter().enumerate() {
                        lines[b * stride + i] = *point;
                    }
                }
            }
        }
    }

    fn transform(&mut self, fft: &dyn Fft<f64>, n: usize) {
        for line in self.lines.chunks_exact_mut(n + GAP).take(WIDTH) {
            fft.process_with_scratch(&mut line[..n], &mut self.scratch);
        }
    }

    #[inline(always)]
    fn scatter<'a>(&self, rows: impl Iterator<Item = &'a mut [Complex64]>, n: usize) {
        let stride = n + GAP;
        let lines = &self.lines[..WIDTH * stride];
        for (i, row) in rows.enumerate() {
            for (b, point) in row.iter_mut().enumerate() {
                *point = lines[b * stride + i];
            }
        }
    }
}

/// A rank's planes.
struct Slabs {
    /// Planes z, rows y: the start, later the results.
    space: Lines<Complex64>,
    /// Planes y, rows z: the spectrum at the start.
    spectrum: Lines<Complex64>,
    /// Planes y, rows z: on the way back.
    decayed: Lines<Complex64>,
    bench: Bench,
}

impl Slabs {
    fn new<C: Spmd>(ft: &Ft, comm: &C) -> Self {
        let [nx, ny, nz] = ft.n;
        let of_spectrum = comm.part(ny).len() * nz * nx;
        Slabs {
            space: zeros(comm.part(nz).len() * ny * nx),
            spectrum: zeros(of_spectrum),
            decayed: zeros(of_spectrum),
            bench: ft.bench(),
        }
    }

    fn forward<C: Spmd>(&mut self, ft: &Ft, comm: &mut C) {
        let [nx, ny, nz] = ft.n;
        for (z, plane) in comm.part(nz).zip(self.space.chunks_exact_mut(nx * ny)) {
            ft.first_plane(z, plane, &mut self.bench);
        }
        let (mine, size) = (comm.part(ny), comm.size());
        let Slabs { space, spectrum, bench, .. } = self;
        comm.with_peers(space, |all| {
            let planes = planes(nz, nx * ny, size, |rank| all.of(rank));
            for (y, plane) in mine.zip(spectrum.chunks_exact_mut(nx * nz)) {
                ft.spectrum_plane(|z| &planes[z][y * nx..][..nx], plane, bench);
            }
        });
    }

    /// The result of step `t`, and its checksum.
    fn backward<C: Spmd>(&mut self, ft: &Ft, comm: &mut C, t: usize) -> Complex64 {
        let [nx, ny, nz] = ft.n;
        let decays = ft.decays(t);
        let Slabs { space, spectrum, decayed, bench } = self;
        let from = spectrum.chunks_exact(nx * nz);
        for ((y, from), to) in comm.part(ny).zip(from).zip(decayed.chunks_exact_mut(nx * nz)) {
            ft.decayed_plane(y, &decays, from, to, bench);
        }
        let (mine, size) = (comm.part(nz), comm.size());
        let sum: Complex64 = comm.with_peers(decayed, |all| {
            let planes = planes(ny, nx * nz, size, |rank| all.of(rank));
            let here = mine.zip(space.chunks_exact_mut(nx * ny)).map(|(z, plane)| {
                ft.last_plane(|y| &planes[y][z * nx..][..nx], plane, bench);
                ft.checksum(z, plane)
            });
            here.sum()
        });
        let [re, im] = comm.sum([sum.re, sum.im]);
        Complex64::new(re, im)
    }
}

/// All `count` planes in order, in the slabs where they lie.
fn planes<'a>(
    count: usize,
    len: usize,
    ranks: usize,
    slab: impl Fn(usize) -> &'a [Complex64],
) -> Vec<&'a [Complex64]> {
    let planes: Vec<_> = (0..ranks).flat_map(|rank| slab(rank).chunks_exact(len)).collect();
    assert_eq!(planes.len(), count);
    debug_assert!((0..ranks).all(|rank| slab(rank).len() == part(count, rank, ranks).len() * len));
    planes
}

/// The published checksums, in hundreds.
const S: [[f64; 2]; 6] = [
    [5.546087004964, 4.845363331978],
    [5.546385409189, 4.865304269511],
    [5.546148406171, 4.883910722336],
    [5.545423607415, 4.901273169046],
    [5.544255039624, 4.917475857993],
    [5.542683411902, 4.932597244941],
];
const W: [[f64; 2]; 6] = [
    [5.673612178944, 5.293246849175],
    [5.631436885271, 5.282149986629],
    [5.594024089970, 5.270996558037],
    [5.560698047020, 5.260027904925],
    [5.530898991250, 5.249400845633],
    [5.504159734538, 5.239212247086],
];
const A: [[f64; 2]; 6] = [
    [5.046735008193, 5.114047905510],
    [5.059412319734, 5.098809666433],
    [5.069376896287, 5.098144042213],
    [5.077892868474, 5.101336130759],
    [5.085233095391, 5.104914655194],
    [5.091487099959, 5.107917842803],
];
const B: [[f64; 2]; 20] = [
    [5.177643571579, 5.077803458597],
    [5.154521291263, 5.088249431599],
    [5.146409228649, 5.096208912659],
    [5.142378756213, 5.101023387619],
    [5.139626667737, 5.103976610617],
    [5.137423460082, 5.105948019802],
    [5.135547056878, 5.107404165783],
    [5.133910925466, 5.108576573661],
    [5.132470705390, 5.109577278523],
    [5.131197729984, 5.110460304483],
    [5.130070319283, 5.111252433800],
    [5.129070537032, 5.111968077718],
    [5.128182883502, 5.112616233064],
    [5.127393733383, 5.113203605551],
    [5.126691062020, 5.113735928093],
    [5.126064276004, 5.114218460548],
    [5.125504076570, 5.114656139760],
    [5.125002331720, 5.115053595966],
    [5.124551951846, 5.115415130407],
    [5.124146770029, 5.115744692211],
];
