//! MG: V-cycles of multigrid on a periodic cube.
//!
//! The ranks own slabs of planes z, with copies of neighbouring planes (the halo) on both sides,
//! which are copied from where their owners keep them (`with_peers`). Grids below a certain size
//! are whole on every rank, and all ranks do the same on them: that is shorter than one meeting.
//!
//! On the finest grid a thick slab is swept once per cycle: plane s is interpolated, then s - 1
//! gets its residual, s - 2 is smoothed, s - 3 gets the next residual, which goes into the coarser
//! grid's right-hand side. Each number comes from memory once and not four times; for it, a few
//! planes of the halo are computed by both neighbours.

use super::class::Class;
use super::memory::{Lines, zeros};
use super::mg_planes::{
    add_interpolated, interpolate, norm_squared, residual, restrict, scratch, smooth, subtract,
};
use super::outcome::{Outcome, Stopwatch, agree};
use super::random::{Random, SEED};
use super::spmd::{Spmd, part};
use std::ops::Range;

/// The largest grid that is whole on every rank (if there are no more ranks than planes).
const WHOLE: usize = 8;
/// Planes of a slab from which on the sweep pays: the work that both neighbours do is 16 planes'
/// work of 4 per plane.
const THICK: usize = 32;
/// The halos that the sweep needs, below and above.
const DEEP: (usize, usize) = (3, 4);

pub(crate) struct Mg {
    class: Class,
    n: usize,
    iterations: usize,
    smoother: [f64; 3],
    /// Places and signs of the right-hand side's points.
    charges: Vec<(usize, f64)>,
}

impl Mg {
    pub(crate) fn new(class: Class) -> Self {
        let n = class.of([32, 128, 256, 256]);
        let small = [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0];
        let large = [-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0];
        Mg {
            class,
            n,
            iterations: class.of([4, 4, 4, 20]),
            smoother: class.of([small, small, small, large]),
            charges: charges(n),
        }
    }

    /// The most ranks that the slabs can be given to.
    pub(crate) fn most_ranks(&self) -> usize {
        self.n / 2
    }

    pub(crate) fn mops(&self) -> f64 {
        58.0 * (self.iterations * self.n.pow(3)) as f64 / 1e6
    }

    /// Puts the charges of plane z into a plane of zeros, the rows of which have a ghost on either
    /// end.
    fn put_charges(&self, z: usize, plane: &mut [f64]) {
        let n = self.n;
        for &(at, value) in self.charges.iter().filter(|(at, _)| at / (n * n) == z) {
            let row = &mut plane[at / n % n * (n + 2)..][..n + 2];
            row[at % n + 1] = value;
            (row[0], row[n + 1]) = (row[n], row[1]);
        }
    }

    fn judge(&self, seconds: f64, squares: f64) -> Outcome {
        let norm = (squares / self.n.pow(3) as f64).sqrt();
        let published =
            [5.307707005734e-5, 6.467329375339e-6, 2.433365309069e-6, 1.800564401355e-6];
        Outcome::new(seconds, agree(norm, self.class.of(published)), 1e-8)
    }

    pub(crate) fn spmd<C: Spmd>(&self, comm: &mut C) -> Outcome {
        let mut grids = Grids::new(self, comm);
        // A cycle for nothing, so that all memory is there.
        grids.first_residual(comm);
        grids.cycle(comm, false);
        grids.top_mut().u.data.fill(0.0);
        let clock = Stopwatch::start(comm);
        let start = grids.first_residual(comm);
        let mut squares = comm.sum([start])[0];
        for it in 1..=self.iterations {
            squares = grids.cycle(comm, it == self.iterations);
        }
        let [squares] = comm.sum([squares]);
        self.judge(clock.stop(comm), squares)
    }
}

/// The ten largest of the first n^3 random numbers are +1, the ten smallest -1.
fn charges(n: usize) -> Vec<(usize, f64)> {
    let mut stream = Random::new(SEED);
    let mut row = vec![0.0; n];
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for start in (0..n.pow(3)).step_by(n) {
        stream.fill(&mut row);
        for (at, &x) in (start..).zip(&row) {
            keep_ten(&mut low, x, at);
            keep_ten(&mut high, -x, at);
        }
    }
    let sign = |sign: f64| move |&(_, at): &(f64, usize)| (at, sign);
    low.iter().map(sign(-1.0)).chain(high.iter().map(sign(1.0))).collect()
}

/// Keeps the ten smallest, ascending.
fn keep_ten(kept: &mut Vec<(f64, usize)>, x: f64, at: usize) {
    if kept.len() == 10 {
        if x >= kept[9].0 {
            return;
        }
        kept.pop();
    }
    let place = kept.partition_point(|&(y, _)| y < x);
    kept.insert(place, (x, at));
}

/// Planes of a grid: those of a rank and some around, or a few that travel with a sweep.
struct Slab {
    plane: usize,
    /// The plane that lies first; plane z lies z - base further, modulo the number of planes.
    base: isize,
    data: Lines<f64>,
}

impl Slab {
    fn new(n: usize, base: isize, planes: usize) -> Self {
        let plane = n * (n + 2);
        Slab { plane, base, data: zeros(plane * planes) }
    }

    fn at(&self, z: isize) -> Range<usize> {
        let planes = (self.data.len() / self.plane) as isize;
        let start = (z - self.base).rem_euclid(planes) as usize * self.plane;
        start..start + self.plane
    }

    fn of(&self, z: isize) -> &[f64] {
        &self.data[self.at(z)]
    }

    fn of_mut(&mut self, z: isize) -> &mut [f64] {
        let at = self.at(z);
        &mut self.data[at]
    }

    /// Plane z between its neighbours.
    fn around(&self, z: isize) -> [&[f64]; 3] {
        [self.of(z - 1), self.of(z), self.of(z + 1)]
    }
}

/// The owners of the planes of a grid.
#[derive(Clone, Copy)]
struct Layout {
    /// Planes, and elements in a row.
    n: usize,
    /// Unit of ownership: `part(n / unit, rank, size)` units each. None: all are everybody's.
    unit: Option<usize>,
    rank: usize,
    size: usize,
}

impl Layout {
    fn planes_of(&self, rank: usize) -> Range<isize> {
        match self.unit {
            None => 0..self.n as isize,
            Some(unit) => {
                let part = part(self.n / unit, rank, self.size);
                (part.start * unit) as isize..(part.end * unit) as isize
            }
        }
    }

    fn mine(&self) -> Range<isize> {
        self.planes_of(self.rank)
    }

    /// The owner of plane z, and its place there.
    fn owner(&self, z: isize) -> (usize, usize) {
        let z = z.rem_euclid(self.n as isize);
        let owned = (0..self.size).map(|rank| (rank, self.planes_of(rank)));
        let (rank, planes) =
            owned.into_iter().find(|(_, planes)| planes.contains(&z)).expect("an owner");
        (rank, (z - planes.start) as usize)
    }
}

/// A grid: the correction u and its right-hand side or residual r.
struct Grid {
    layout: Layout,
    halo: (usize, usize),
    u: Slab,
    r: Slab,
}

impl Grid {
    fn new(layout: Layout, halo: (usize, usize)) -> Self {
        let mine = layout.mine();
        let slab = |(below, above)| {
            Slab::new(layout.n, mine.start - below as isize, mine.len() + below + above)
        };
        Grid { layout, halo, u: slab(halo), r: slab((1, 1)) }
    }

    fn meet_u<C: Spmd>(&mut self, comm: &mut C) {
        fill_halo(comm, &self.layout, &mut self.u, self.halo);
    }

    fn meet_r<C: Spmd>(&mut self, comm: &mut C) {
        fill_halo(comm, &self.layout, &mut self.r, (1, 1));
    }

    fn smooth(&mut self, c: [f64; 3], rows: &mut [f64]) {
        for z in self.layout.mine() {
            smooth(self.layout.n, c, self.r.around(z), self.u.of_mut(z), rows);
        }
    }
}

/// Copies the halo from the planes' owners.
fn fill_halo<C: Spmd>(comm: &mut C, layout: &Layout, slab: &mut Slab, halo: (usize, usize)) {
    let (plane, mine) = (slab.plane, layout.mine());
    let (below, rest) = slab.data.split_at_mut(halo.0 * plane);
    let (own, above) = rest.split_at_mut(mine.len() * plane);
    let own = &*own;
    let below = (mine.start - halo.0 as isize..).zip(below.chunks_exact_mut(plane));
    let above = (mine.end..).zip(above.chunks_exact_mut(plane));
    let halo = below.chain(above);
    if layout.unit.is_none() {
        for (z, to) in halo {
            let z = z.rem_euclid(layout.n as isize) as usize;
            to.copy_from_slice(&own[z * plane..][..plane]);
        }
        return;
    }
    comm.with_peers(own, |all| {
        for (z, to) in halo {
            let (rank, place) = layout.owner(z);
            to.copy_from_slice(&all.of(rank)[place * plane..][..plane]);
        }
    });
}

/// A rank's part of all grids, the coarsest (2^3) first.
struct Grids {
    grids: Vec<Grid>,
    /// The right-hand side on the finest grid.
    v: Slab,
    smoother: [f64; 3],
    /// For the sweep, where it pays: the residuals before and after smoothing, of a few planes.
    sweep: Option<[Slab; 2]>,
    /// Rows that a stencil needs meanwhile.
    rows: Vec<f64>,
}

impl Grids {
    fn new<C: Spmd>(mg: &Mg, comm: &C) -> Self {
        let (rank, size) = (comm.rank(), comm.size());
        let whole = WHOLE.max(size.next_power_of_two()).min(mg.n / 2);
        let layout = |n: usize| {
            // The largest whole grid says which rank owns which planes.
            let unit = (n > whole).then(|| n / whole);
            Layout { n, unit, rank, size }
        };
        let top = layout(mg.n);
        let mine = top.mine();
        let sweep = (mine.len() >= THICK).then(|| [(); 2].map(|()| Slab::new(mg.n, 0, 3)));
        // All ranks must agree on their exchanges.
        let is_thick = (0..size).all(|rank| top.planes_of(rank).len() >= THICK);
        let sweep = sweep.filter(|_| is_thick);
        let halo = if sweep.is_some() { DEEP } else { (1, 1) };
        let sizes = (1..).map(|k| 1 << k).take_while(|&n| n <= mg.n);
        let grids =
            sizes.map(|n| Grid::new(layout(n), if n == mg.n { halo } else { (2, 2) })).collect();
        let mut v = Slab::new(mg.n, mine.start - 2, mine.len() + 5);
        for z in mine.start - 2..mine.end + 3 {
            mg.put_charges(z.rem_euclid(mg.n as isize) as usize, v.of_mut(z));
        }
        Grids { grids, v, smoother: mg.smoother, sweep, rows: scratch(mg.n) }
    }

    fn top_mut(&mut self) -> &mut Grid {
        self.grids.last_mut().expect("there are grids")
    }

    /// From u with no halo yet: r = v - A u, restricted; returns the sum of squares of the own
    /// part.
    fn first_residual<C: Spmd>(&mut self, comm: &mut C) -> f64 {
        self.top_mut().meet_u(comm);
        self.top_residual();
        let squares = self.top_squares();
        self.top_mut().meet_r(comm);
        self.restrict_to(comm, self.grids.len() - 2);
        squares
    }

    fn top_residual(&mut self) {
        let Grids { grids, v, rows, .. } = self;
        let Grid { layout, u, r, .. } = grids.last_mut().expect("there are grids");
        for z in layout.mine() {
            residual(layout.n, v.of(z), u.around(z), r.of_mut(z), rows);
        }
    }

    fn top_squares(&mut self) -> f64 {
        let Grid { layout, r, .. } = self.top_mut();
        layout.mine().map(|z| norm_squared(layout.n, r.of(z))).sum()
    }

    /// A V-cycle from the right-hand side that the last one left on the second grid; leaves the
    /// next there, or, at the end, returns the sum of squares of the own part of the residual.
    fn cycle<C: Spmd>(&mut self, comm: &mut C, is_last: bool) -> f64 {
        let top = self.grids.len() - 1;
        for k in (0..top - 1).rev() {
            self.restrict_to(comm, k);
        }
        let coarsest = &mut self.grids[0];
        coarsest.meet_r(comm);
        coarsest.u.data.fill(0.0);
        coarsest.smooth(self.smoother, &mut self.rows);
        coarsest.meet_u(comm);
        for k in 1..top {
            self.correct(comm, k);
        }
        let squares =
            if self.sweep.is_some() { self.sweep(is_last) } else { self.steps(comm, is_last) };
        match (is_last, &self.sweep) {
            (true, _) => {}
            (false, None) => {
                self.top_mut().meet_r(comm);
                self.restrict_to(comm, top - 1);
            }
            (false, Some(_)) => {
                self.share(comm, top - 1);
                self.top_mut().meet_u(comm);
            }
        }
        squares
    }

    /// The right-hand side of grid `k` from the residual of grid `k + 1`, with its halo filled.
    fn restrict_to<C: Spmd>(&mut self, comm: &mut C, k: usize) {
        let Grids { grids, rows, .. } = self;
        let [coarse, fine] = &mut grids[k..k + 2] else { unreachable!("two grids") };
        let fine_planes = fine.layout.mine();
        for z in fine_planes.start / 2..fine_planes.end / 2 {
            restrict(fine.layout.n, fine.r.around(2 * z + 1), coarse.r.of_mut(z), rows);
        }
        self.share(comm, k);
    }

    /// Makes the right-hand side of grid `k` complete, of which every rank has the part below its
    /// part of grid `k + 1`.
    fn share<C: Spmd>(&mut self, comm: &mut C, k: usize) {
        let [coarse, fine] = &mut self.grids[k..k + 2] else { unreachable!("two grids") };
        if let (None, Some(_)) = (coarse.layout.unit, fine.layout.unit) {
            let plane = coarse.r.plane;
            let of = |rank| {
                let planes = fine.layout.planes_of(rank);
                // Behind one plane of the halo.
                plane * (1 + planes.start as usize / 2)..plane * (1 + planes.end as usize / 2)
            };
            let (rank, size) = (comm.rank(), comm.size());
            let mine = of(rank);
            let (before, rest) = coarse.r.data.split_at_mut(mine.start);
            let (own, after) = rest.split_at_mut(mine.len());
            comm.with_peers(own, |all| {
                for other in (0..size).filter(|&other| other != rank) {
                    let at = of(other);
                    let to = if other < rank {
                        &mut before[at]
                    } else {
                        &mut after[at.start - mine.end..at.end - mine.end]
                    };
                    to.copy_from_slice(all.of(other));
                }
            });
        }
        coarse.meet_r(comm);
    }

    /// Grid `k` below the finest: u = Q (u of the coarser grid), r -= A u, u += C r.
    fn correct<C: Spmd>(&mut self, comm: &mut C, k: usize) {
        let Grids { grids, rows, smoother, .. } = self;
        let [coarse, fine] = &mut grids[k - 1..k + 1] else { unreachable!("two grids") };
        let (n, mine) = (fine.layout.n, fine.layout.mine());
        for z in mine.start - 1..mine.end + 1 {
            interpolate(n, z, |z| coarse.u.of(z), fine.u.of_mut(z), rows);
        }
        for z in mine {
            subtract(n, fine.u.around(z), fine.r.of_mut(z), rows);
        }
        fine.meet_r(comm);
        fine.smooth(*smoother, rows);
        fine.meet_u(comm);
    }

    /// The finest grid step by step: u += Q (u of the coarser grid), r = v - A u, u += C r, r = v -
    /// A u. Returns the sum of the squares of the own part, if it is the last time.
    fn steps<C: Spmd>(&mut self, comm: &mut C, is_last: bool) -> f64 {
        let Grids { grids, rows, .. } = self;
        let [.., coarse, top] = &mut grids[..] else { unreachable!("two grids") };
        let (n, mine) = (top.layout.n, top.layout.mine());
        for z in mine.start - 1..mine.end + 1 {
            add_interpolated(n, z, |z| coarse.u.of(z), top.u.of_mut(z), rows);
        }
        self.top_residual();
        let Grids { grids, rows, smoother, .. } = self;
        let top = grids.last_mut().expect("there are grids");
        top.meet_r(comm);
        top.smooth(*smoother, rows);
        top.meet_u(comm);
        self.top_residual();
        if is_last { self.top_squares() } else { 0.0 }
    }

    /// The same in one sweep over the planes, and unless it is the last, the restriction of the
    /// residual.
    fn sweep(&mut self, is_last: bool) -> f64 {
        let Grids { grids, v, smoother, sweep, rows } = self;
        let [.., coarse, top] = &mut grids[..] else { unreachable!("two grids") };
        let [before, after] = sweep.as_mut().expect("the sweep pays");
        let (n, mine) = (top.layout.n, top.layout.mine());
        let (first, last) = (mine.start, mine.end);
        let u = &mut top.u;
        let mut squares = 0.0;
        for s in first - 3..=last + 3 {
            add_interpolated(n, s, |z| coarse.u.of(z), u.of_mut(s), rows);
            let z = s - 1;
            if z >= first - 2 {
                residual(n, v.of(z), u.around(z), before.of_mut(z), rows);
            }
            let z = s - 2;
            if z >= first - 1 {
                smooth(n, *smoother, before.around(z), u.of_mut(z), rows);
            }
            let z = s - 3;
            if z >= first {
                residual(n, v.of(z), u.around(z), after.of_mut(z), rows);
                if is_last && z < last {
                    squares += norm_squared(n, after.of(z));
                }
                if !is_last && z > first && (z - first) % 2 == 0 {
                    restrict(n, after.around(z - 1), coarse.r.of_mut(z / 2 - 1), rows);
                }
            }
        }
        squares
    }
}
