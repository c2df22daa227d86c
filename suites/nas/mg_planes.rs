//! MG's stencils, a plane at a time, on planes of n rows of n + 2 elements: one ghost on either
//! end, so that nothing in a row wraps.
//!
//! A stencil has four weights: of the centre, the 6 faces, the 12 edges and the 8 corners of a cube
//! of 27. Two rows of sums over the neighbouring rows (faces, corners) are formed first and used
//! three times, for x - 1, x and x + 1.

use multiversion::multiversion;

/// Of A, in the sequence centre, edges, corners; its faces weigh nothing.
const A: [f64; 3] = [-8.0 / 3.0, 1.0 / 6.0, 1.0 / 12.0];

/// r = v - A u.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn residual(n: usize, v: &[f64], u: [&[f64]; 3], r: &mut [f64], rows: &mut [f64]) {
    stencil(n, u, v, r, rows, |r, v, s| *r = v - A[0] * s[0] - A[1] * s[2] - A[2] * s[3]);
}

/// r -= A u.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn subtract(n: usize, u: [&[f64]; 3], r: &mut [f64], rows: &mut [f64]) {
    stencil(n, u, u[1], r, rows, |r, _, s| *r = *r - A[0] * s[0] - A[1] * s[2] - A[2] * s[3]);
}

/// u += C r, with C's weights of centre, faces and edges; its corners weigh nothing.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn smooth(n: usize, c: [f64; 3], r: [&[f64]; 3], u: &mut [f64], rows: &mut [f64]) {
    stencil(n, r, r[1], u, rows, |u, _, s| *u += c[0] * s[0] + c[1] * s[1] + c[2] * s[2]);
}

/// Memory for the sums over neighbouring rows, as the functions here want it: for some rows of a
/// plane of n, so that a sum has left the store buffer when it is read with a shift, but not the
/// innermost cache.
pub(crate) fn scratch(n: usize) -> Vec<f64> {
    vec![0.0; 2 * (n + 2).max(300)]
}

/// Calls `f` for each element of `out` with that of `beside` and the four sums over the cube in
/// `planes`.
#[inline(always)]
fn stencil(
    n: usize,
    planes: [&[f64]; 3],
    beside: &[f64],
    out: &mut [f64],
    rows: &mut [f64],
    f: impl Fn(&mut f64, f64, [f64; 4]),
) {
    let w = n + 2;
    let (faces, corners) = rows.split_at_mut(rows.len() / 2);
    let at_once = (faces.len() / w).min(n) * w;
    let blocks = out.chunks_mut(at_once).zip(beside.chunks(at_once)).zip(planes[1].chunks(at_once));
    for (first, ((out, beside), centre)) in (0..n).step_by(at_once / w).zip(blocks) {
        let sums = faces.chunks_exact_mut(w).zip(corners.chunks_exact_mut(w));
        for (y, (faces, corners)) in (first..n).zip(sums) {
            sum_rows(n, planes, y, faces, corners);
        }
        let sums = faces.chunks_exact(w).zip(corners.chunks_exact(w));
        let rows = out.chunks_exact_mut(w).zip(beside.chunks_exact(w)).zip(centre.chunks_exact(w));
        for (((out, beside), centre), (faces, corners)) in rows.zip(sums) {
            let (left, here, right) = thirds(n, centre);
            let (faces_left, faces_here, faces_right) = thirds(n, faces);
            let (corners_left, corners_here, corners_right) = thirds(n, corners);
            let (inner, beside) = (&mut out[1..=n], &beside[1..=n]);
            for x in 0..n {
                let s = [
                    here[x],
                    left[x] + right[x] + faces_here[x],
                    corners_here[x] + (faces_left[x] + faces_right[x]),
                    corners_left[x] + corners_right[x],
                ];
                f(&mut inner[x], beside[x], s);
            }
            close(n, out);
        }
    }
}

/// Around row y: the sum of the four rows that touch it with a face, and of the four with an edge.
#[inline(always)]
fn sum_rows(
    n: usize,
    [low, mid, high]: [&[f64]; 3],
    y: usize,
    faces: &mut [f64],
    corners: &mut [f64],
) {
    let w = n + 2;
    let (before, after) = ((y + n - 1) % n, (y + 1) % n);
    let (mid_before, mid_after) = (row(w, mid, before), row(w, mid, after));
    let (low_before, low_here, low_after) =
        (row(w, low, before), row(w, low, y), row(w, low, after));
    let (high_before, high_here, high_after) =
        (row(w, high, before), row(w, high, y), row(w, high, after));
    let (faces, corners) = (&mut faces[..w], &mut corners[..w]);
    for x in 0..w {
        faces[x] = mid_before[x] + mid_after[x] + (low_here[x] + high_here[x]);
        corners[x] = (low_before[x] + low_after[x]) + (high_before[x] + high_after[x]);
    }
}

#[inline(always)]
fn row(w: usize, plane: &[f64], y: usize) -> &[f64] {
    &plane[y * w..][..w]
}

/// The inner elements of a row by two: 2 j and 2 j + 1.
#[inline(always)]
fn pairs(n: usize, row: &[f64]) -> &[[f64; 2]] {
    row[1..=n].as_chunks().0
}

/// The elements before, at and after each inner element of a row.
#[inline(always)]
fn thirds(n: usize, row: &[f64]) -> (&[f64], &[f64], &[f64]) {
    (&row[..n], &row[1..=n], &row[2..n + 2])
}

/// Sets a row's ghosts.
#[inline(always)]
fn close(n: usize, row: &mut [f64]) {
    row[0] = row[n];
    row[n + 1] = row[1];
}

/// A coarse plane from the three fine planes around its middle: weights 1/2, 1/4, 1/8, 1/16. Coarse
/// element j lies at fine element 2 j + 1.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn restrict(n: usize, fine: [&[f64]; 3], coarse: &mut [f64], rows: &mut [f64]) {
    let (w, half) = (n + 2, n / 2);
    let (faces, corners) = rows.split_at_mut(rows.len() / 2);
    let (faces, corners) = (&mut faces[..w], &mut corners[..w]);
    for (j, out) in coarse.chunks_exact_mut(half + 2).enumerate() {
        let y = 2 * j + 1;
        sum_rows(n, fine, y, faces, corners);
        let centre = &fine[1][y * w..][..w];
        let (centre2, faces2, corners2) = (pairs(n, centre), pairs(n, faces), pairs(n, corners));
        for (x, out) in out[1..=half].iter_mut().enumerate() {
            let behind = 2 * x + 3;
            let at = |two: &[[f64; 2]], row: &[f64]| (two[x][0] + row[behind], two[x][1]);
            let (centre_sides, centre_mid) = at(centre2, centre);
            let (faces_sides, faces_mid) = at(faces2, faces);
            let (corners_sides, corners_mid) = at(corners2, corners);
            *out = 0.5 * centre_mid
                + 0.25 * (centre_sides + faces_mid)
                + 0.125 * (faces_sides + corners_mid)
                + 0.0625 * corners_sides;
        }
        close(half, out);
    }
}

/// fine = Q coarse, trilinear, for fine plane z of n rows; `coarse(z)` is a plane of the coarse
/// grid.
#[inline]
pub(crate) fn interpolate<'a>(
    n: usize,
    z: isize,
    coarse: impl Fn(isize) -> &'a [f64],
    fine: &mut [f64],
    rows: &mut [f64],
) {
    let (low, high) = neighbours(z, coarse);
    put_interpolated(n, low, high, fine, rows);
}

/// fine += Q coarse.
#[inline]
pub(crate) fn add_interpolated<'a>(
    n: usize,
    z: isize,
    coarse: impl Fn(isize) -> &'a [f64],
    fine: &mut [f64],
    rows: &mut [f64],
) {
    let (low, high) = neighbours(z, coarse);
    put_more_interpolated(n, low, high, fine, rows);
}

/// The coarse planes on either side of fine plane z: the same twice where z lies on one.
fn neighbours<'a>(z: isize, coarse: impl Fn(isize) -> &'a [f64]) -> (&'a [f64], &'a [f64]) {
    let above = z.div_euclid(2);
    let below = (z - 1).div_euclid(2);
    (coarse(below), coarse(above))
}

#[multiversion(targets("x86_64+avx2"))]
fn put_interpolated(n: usize, low: &[f64], high: &[f64], fine: &mut [f64], rows: &mut [f64]) {
    for_interpolated(n, low, high, fine, rows, |fine, q| *fine = q);
}

#[multiversion(targets("x86_64+avx2"))]
fn put_more_interpolated(n: usize, low: &[f64], high: &[f64], fine: &mut [f64], rows: &mut [f64]) {
    for_interpolated(n, low, high, fine, rows, |fine, q| *fine += q);
}

#[inline(always)]
fn for_interpolated(
    n: usize,
    low: &[f64],
    high: &[f64],
    fine: &mut [f64],
    rows: &mut [f64],
    put: impl Fn(&mut f64, f64),
) {
    let half = n / 2;
    let w = half + 2;
    let mean = &mut rows[..w];
    for (y, fine) in fine.chunks_exact_mut(n + 2).enumerate() {
        // A quarter of four rows; where the fine row lies on a coarse one, that one twice or four
        // times.
        let (before, after) = ((y + n - 1) % n / 2, y / 2);
        let (a, b) = (&low[before * w..][..w], &low[after * w..][..w]);
        let (c, d) = (&high[before * w..][..w], &high[after * w..][..w]);
        for x in 0..w {
            mean[x] = 0.25 * ((a[x] + b[x]) + (c[x] + d[x]));
        }
        let (left, right) = (&mean[..half], &mean[1..=half]);
        let pairs = fine[1..=n].as_chunks_mut::<2>().0;
        for ((pair, left), right) in pairs.iter_mut().zip(left).zip(right) {
            put(&mut pair[0], 0.5 * (left + right));
            put(&mut pair[1], *right);
        }
        close(n, fine);
    }
}

/// The sum of the squares of a plane.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn norm_squared(n: usize, plane: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    let mut rest = 0.0;
    for row in plane.chunks_exact(n + 2) {
        let (lanes, tail) = row[1..=n].as_chunks::<16>();
        for x in lanes {
            for k in 0..16 {
                sums[k] += x[k] * x[k];
            }
        }
        rest += tail.iter().map(|x| x * x).sum::<f64>();
    }
    sums.iter().sum::<f64>() + rest
}
