//! The example `solver` in small: files that cannot be read, matrices that cannot be solved, the
//! same bits on any number of ranks, and agreement with a direct solver. `PHALANX_MATRICES=DIR`
//! names a directory with 1138_bus.mtx and bcsstk09.mtx; without it the test that needs them skips,
//! and says so.

#![allow(dead_code)] // The example's own report uses more.

#[path = "../../examples/solver/cg.rs"]
mod cg;
#[path = "../../examples/solver/direct.rs"]
mod direct;
#[path = "../../examples/solver/poisson.rs"]
mod poisson;
#[path = "../../examples/solver/read.rs"]
mod read;
#[path = "../../examples/solver/sparse.rs"]
mod sparse;

use cg::{Breakdown, Preconditioner, Settings, Solution, Sums};
use direct::Direct;
use sprs::{CsMat, TriMat};
use std::io::Write;
use std::path::PathBuf;

const RANKS: [usize; 5] = [1, 2, 3, 4, 8];

fn settings(preconditioner: Preconditioner) -> Settings {
    Settings { preconditioner, sums: Sums::Fixed, tolerance: 1e-8, most_steps: 10_000 }
}

fn join(parts: Vec<Result<Solution, Breakdown>>) -> Result<Solution, Breakdown> {
    let parts: Vec<Solution> = parts.into_iter().collect::<Result<_, _>>()?;
    // What is not spread is known to all alike.
    assert!(parts.iter().all(|part| part.history == parts[0].history));
    let x = parts.iter().flat_map(|part| part.x.iter().copied()).collect();
    Ok(Solution { x, ..parts.into_iter().next().unwrap() })
}

/// Cut wherever it falls: inside of the blocks of a fixed sum, too.
fn stored(matrix: &CsMat<f64>, ranks: usize, settings: &Settings) -> Result<Solution, Breakdown> {
    let rows = sparse::Cuts::by_entries(matrix, ranks, 1);
    let parts = phalanx::run(ranks, |comm| {
        let own = sparse::Sparse::new(comm, matrix, &rows);
        cg::solve(comm, &own, settings)
    });
    join(parts.unwrap())
}

fn cube(n: usize, ranks: usize, settings: &Settings) -> Result<Solution, Breakdown> {
    let parts = phalanx::run(ranks, |comm| {
        let own = poisson::Poisson::new(comm, n);
        cg::solve(comm, &own, settings)
    });
    join(parts.unwrap())
}

fn bits(solution: &Solution) -> Vec<u64> {
    solution.x.iter().chain(&solution.history).map(|v| v.to_bits()).collect()
}

/// Solves on all numbers of ranks and returns the one solution.
fn on_all(
    matrix: &CsMat<f64>,
    ranks: &[usize],
    settings: &Settings,
    solve: impl Fn(usize) -> Result<Solution, Breakdown>,
) -> Solution {
    let first = solve(ranks[0]).unwrap();
    assert!(first.converged(settings) && first.residual < 2e-8, "{:e}", first.residual);
    for &p in &ranks[1..] {
        assert!(bits(&solve(p).unwrap()) == bits(&first), "other bits on {p} ranks");
    }
    let direct = Direct::new(matrix).unwrap();
    let verdict = direct.judge(&first.x, settings.tolerance);
    assert!(verdict.is_good(), "{verdict:?}");
    let mut wrong = first.x.clone();
    wrong[0] += 10.0 * verdict.bound;
    assert!(!direct.judge(&wrong, settings.tolerance).is_good());
    first
}

#[test]
fn the_same_bits_on_any_number_of_ranks() {
    let n = 8;
    let matrix = poisson::stored(n);
    for preconditioner in [Preconditioner::None, Preconditioner::Jacobi] {
        let settings = settings(preconditioner);
        let by_stencil = on_all(&matrix, &RANKS, &settings, |p| cube(n, p, &settings));
        let by_rows = on_all(&matrix, &RANKS, &settings, |p| stored(&matrix, p, &settings));
        assert!(by_stencil.steps().abs_diff(by_rows.steps()) <= 1);
        // For b = A 1 the solution is 1.
        assert!(by_rows.x.iter().all(|x| (x - 1.0).abs() < 1e-6));
    }
    let fast = Settings { sums: Sums::Fast, ..settings(Preconditioner::None) };
    for p in RANKS {
        assert!(cube(n, p, &fast).unwrap().residual < 2e-8);
    }
}

/// The first half has three entries a row, the second fifteen: by rows, the last rank of two would
/// have five times the first one's work.
#[test]
fn ranks_have_equally_many_entries() {
    const N: usize = 4096;
    let mut entries = TriMat::new((N, N));
    for row in 0..N {
        let reach: usize = if row < N / 2 { 1 } else { 7 };
        for column in row.saturating_sub(reach)..(row + reach + 1).min(N) {
            entries.add_triplet(row, column, if row == column { 20.0 } else { -1.0 });
        }
    }
    let matrix: CsMat<f64> = entries.to_csr();
    for ranks in [1, 2, 3, 8] {
        for unit in [1, 64] {
            let cuts = sparse::Cuts::by_entries(&matrix, ranks, unit);
            let mut next = 0;
            for rank in 0..ranks {
                let rows = cuts.range(rank);
                assert_eq!(rows.start, next);
                next = rows.end;
                let own = matrix.slice_outer(rows.clone()).nnz();
                let off = own.abs_diff(matrix.nnz() / ranks);
                assert!(off <= 15 * unit + ranks, "{ranks} ranks: rank {rank} has {own}");
                assert!(rows.start.is_multiple_of(unit));
            }
            assert_eq!(next, N);
        }
    }
}

#[test]
fn matrices_that_are_not_positive_definite() {
    let made = |entries: &[(usize, usize, f64)]| {
        let mut matrix = TriMat::new((2, 2));
        entries.iter().for_each(|&(i, j, v)| matrix.add_triplet(i, j, v));
        matrix.to_csr::<usize>()
    };
    let plain = settings(Preconditioner::None);
    for p in [1, 2, 3] {
        let indefinite = made(&[(0, 0, 1.0), (0, 1, 3.0), (1, 0, 3.0), (1, 1, 2.0)]);
        let error = stored(&indefinite, p, &plain).unwrap_err();
        assert!(matches!(error, Breakdown::Indefinite { step: 2, .. }), "{error}");
        assert!(Direct::new(&indefinite).is_none());
        let negative = made(&[(0, 0, 1.0), (1, 1, -2.0)]);
        let error = stored(&negative, p, &plain).unwrap_err();
        assert_eq!(error, Breakdown::Diagonal { row: 1, value: -2.0 });
        let empty = made(&[(1, 1, 1.0)]);
        let error = stored(&empty, p, &plain).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not positive definite: the diagonal's entry in row 1 is 0e0"
        );
    }
}

#[test]
fn files_that_cannot_be_read_say_why_in_one_line() {
    let real = "%%MatrixMarket matrix coordinate real symmetric\n";
    let general = "%%MatrixMarket matrix coordinate real general\n";
    let cases: &[(String, &str)] = &[
        ("".into(), "it does not begin with %%MatrixMarket"),
        ("hello\n1 1 1\n".into(), "it does not begin with %%MatrixMarket"),
        ("%%MatrixMarket matrix\n".into(), "expected %%MatrixMarket matrix coordinate"),
        (
            "%%MatrixMarket matrix array real general\n1 1\n1\n".into(),
            "accepted: matrix coordinate",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n1 1\n".into(),
            "a pattern file",
        ),
        ("%%MatrixMarket matrix coordinate complex general\n".into(), "entries are complex"),
        ("%%MatrixMarket matrix coordinate real skew-symmetric\n".into(), "symmetry is skew"),
        // sprs would wait for ever, and for memory beyond measure.
        (format!("{real}% nothing more\n"), "it ends before"),
        (format!("{real}2 2 18446744073709551615\n1 1 1\n"), "announces 18446744073709551615"),
        (format!("{real}2 2\n"), "line 2: expected rows, columns and entries"),
        (format!("{real}2 3 1\n1 1 1\n"), "not square: 2 x 3"),
        (format!("{real}0 0 0\n"), "0 rows"),
        (format!("{real}2 2 3\n1 1 1\n2 2 1\n"), "announces 3 entries; there are 2"),
        (format!("{real}2 2 1\n1 1 1\n2 2 1\n"), "announces 1 entries; there are 2"),
        (format!("{real}2 2 1\n1 3 1\n"), "line 3: expected row and column, 1 to 2"),
        (format!("{real}2 2 1\n0 1 1\n"), "line 3: expected row and column, 1 to 2"),
        (format!("{real}2 2 1\n1 1\n"), "line 3: expected one real value"),
        (format!("{real}2 2 1\n1 1 one\n"), "line 3: expected one real value"),
        (format!("{real}2 2 1\n1 1 nan\n"), "line 3: expected one real value"),
        (format!("{real}2 2 1\n1 1 1 1\n"), "line 3: expected one real value"),
        (
            format!("{general}2 2 3\n1 1 2\n1 2 1\n2 2 2\n"),
            "not symmetric: entry (1, 2) is 1, (2, 1) is 0",
        ),
    ];
    for (text, what) in cases {
        let error = read::parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(what) && !error.contains('\n'), "`{text}`: {error}");
    }
    assert!(read::parse(&[0xff, 0xfe]).unwrap_err().contains("not text"));
    assert!(read::read(&PathBuf::from("no such file.mtx")).unwrap_err().contains("no such file"));
    // What can be read: integers, both triangles, comments and empty lines between.
    let whole = "%%MatrixMarket MATRIX coordinate integer general\n% so\n2 2 4\n1 1 2\n\n1 2 \
                 -1\n2 1 -1\n2 2 2\n";
    let matrix = read::parse(whole.as_bytes()).unwrap();
    assert_eq!((matrix.nnz(), matrix.get(1, 0)), (4, Some(&-1.0)));
}

#[test]
fn real_matrices() {
    let Some(folder) = std::env::var_os("PHALANX_MATRICES").map(PathBuf::from) else {
        let text = "skipped: PHALANX_MATRICES names no directory with matrices\n";
        let _: Result<_, _> = std::io::stderr().write_all(text.as_bytes());
        return;
    };
    // Steps by numpy to 1e-8, which move with the order of the sums.
    let cases = [
        ("1138_bus", Preconditioner::None, 2173),
        ("1138_bus", Preconditioner::Jacobi, 936),
        ("bcsstk09", Preconditioner::None, 208),
        ("bcsstk09", Preconditioner::Jacobi, 180),
    ];
    for (name, preconditioner, steps) in cases {
        let matrix = read::read(&folder.join(name).with_extension("mtx")).unwrap();
        let settings = settings(preconditioner);
        let solution = on_all(&matrix, &[1, 2, 3], &settings, |p| stored(&matrix, p, &settings));
        let band = steps * 85 / 100..=steps * 115 / 100;
        assert!(band.contains(&solution.steps()), "{name}: {} steps", solution.steps());
    }
    for (name, what) in [("orsreg_1", "not symmetric"), ("bcspwr10", "a pattern file")] {
        let error = read::read(&folder.join(name).with_extension("mtx")).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}
