//! The example `solver` in small: files that cannot be read, matrices that cannot be solved, the
//! same bits on any number of ranks, and agreement with a direct solver. `PHALANX_MATRICES=DIR`
//! names a directory with 1138_bus.mtx and bcsstk09.mtx; without it the test that needs them skips,
//! and says so.

#![allow(dead_code)] // The example's own report uses more.

#[path = "../../solver/cg.rs"]
mod cg;
#[path = "../../solver/direct.rs"]
mod direct;
#[path = "../../solver/poisson.rs"]
mod poisson;
#[path = "../../solver/read.rs"]
mod read;
#[path = "../../solver/sparse.rs"]
mod sparse;

use super::damage;
use cg::{Breakdown, Convergence, Preconditioner, Settings, Solution, Sums};
use direct::Direct;
use phalanx::{DistributedArray, Team};
use sprs::{CsMat, TriMat};
use std::io::Write;
use std::path::PathBuf;

const RANKS: [usize; 5] = [1, 2, 3, 4, 8];

fn settings(preconditioner: Preconditioner) -> Settings {
    Settings { preconditioner, sums: Sums::Fixed, tolerance: 1e-8, most_steps: 10_000 }
}

/// All ranks have found the same residuals.
fn one(
    x: DistributedArray<f64>,
    parts: Vec<Result<Convergence, Breakdown>>,
) -> Result<Solution, Breakdown> {
    let mut parts: Vec<Convergence> = parts.into_iter().collect::<Result<_, _>>()?;
    assert!(parts.iter().all(|part| part.history == parts[0].history));
    Ok(Solution { x, found: parts.swap_remove(0) })
}

/// Cut wherever it falls: inside of the blocks of a fixed sum, too.
fn stored(matrix: &CsMat<f64>, ranks: usize, settings: &Settings) -> Result<Solution, Breakdown> {
    let team = Team::builder().ranks(ranks).build().unwrap();
    let rows = sparse::by_entries(matrix, ranks, 1);
    let values = sparse::values(&team, matrix, &rows).unwrap();
    let mut x = team.distributed(&rows, |_| 0.0).unwrap();
    let parts = team.run_with(&mut x.parts_mut(), |comm, x| {
        let own = sparse::Sparse::new(comm, matrix, &rows, values.part(comm.rank()));
        cg::solve(comm, &own, x, settings)
    });
    one(x, parts.unwrap())
}

fn cube(n: usize, ranks: usize, settings: &Settings) -> Result<Solution, Breakdown> {
    let team = Team::builder().ranks(ranks).build().unwrap();
    let mut x = team.distributed(&poisson::unknowns(n, ranks), |_| 0.0).unwrap();
    let parts = team.run_with(&mut x.parts_mut(), |comm, x| {
        let own = poisson::Poisson::new(comm, n);
        cg::solve(comm, &own, x, settings)
    });
    one(x, parts.unwrap())
}

fn bits(solution: &Solution) -> Vec<u64> {
    solution.x.iter().chain(&solution.found.history).map(|v| v.to_bits()).collect()
}

/// Solves on all numbers of ranks and returns the one solution.
fn on_all(
    matrix: &CsMat<f64>,
    ranks: &[usize],
    settings: &Settings,
    solve: impl Fn(usize) -> Result<Solution, Breakdown>,
) -> Solution {
    let first = solve(ranks[0]).unwrap();
    assert!(
        first.found.converged(settings) && first.found.residual < 2e-8,
        "{:e}",
        first.found.residual
    );
    for &p in &ranks[1..] {
        assert!(bits(&solve(p).unwrap()) == bits(&first), "other bits on {p} ranks");
    }
    let direct = Direct::new(matrix).unwrap();
    let verdict = direct.judge(&first.x, settings.tolerance);
    assert!(verdict.is_good(), "{verdict:?}");
    let mut wrong = first.x.to_vec();
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
        assert!(by_stencil.found.steps().abs_diff(by_rows.found.steps()) <= 1);
        // For b = A 1 the solution is 1.
        assert!(by_rows.x.iter().all(|x| (x - 1.0).abs() < 1e-6));
    }
    let fast = Settings { sums: Sums::Fast, ..settings(Preconditioner::None) };
    for p in RANKS {
        assert!(cube(n, p, &fast).unwrap().found.residual < 2e-8);
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
            let cuts = sparse::by_entries(&matrix, ranks, unit);
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
    let integer = "%%MatrixMarket matrix coordinate integer symmetric\n";
    let array = "%%MatrixMarket matrix array real general\n";
    let lower = "%%MatrixMarket matrix array real symmetric\n";
    let cases: &[(String, &str)] = &[
        ("".into(), "it does not begin with %%MatrixMarket"),
        ("hello\n1 1 1\n".into(), "it does not begin with %%MatrixMarket"),
        (format!("\n{real}1 1 1\n1 1 1\n"), "it does not begin with %%MatrixMarket"),
        ("%%MatrixMarket matrix\n".into(), "line 1: expected %%MatrixMarket matrix"),
        (
            "%%MatrixMarket matrix coordinate real\n".into(),
            "line 1: expected %%MatrixMarket matrix FORMAT FIELD SYMMETRY, got `%%matrixmarket",
        ),
        // All that the format has, and no solver of these can use.
        ("%%MatrixMarket vector array real general\n".into(), "line 1: the object is a vector"),
        ("%%MatrixMarket matrix elemental real general\n".into(), "line 1: the format is elem"),
        (
            "%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n1 1\n".into(),
            "line 1: a pattern file",
        ),
        (
            "%%MatrixMarket matrix coordinate complex general\n".into(),
            "line 1: entries are complex",
        ),
        ("%%MatrixMarket matrix array complex hermitian\n".into(), "line 1: entries are complex"),
        ("%%MatrixMarket matrix coordinate real hermitian\n".into(), "line 1: symmetry is hermi"),
        ("%%MatrixMarket matrix array real skew-symmetric\n".into(), "line 1: symmetry is skew"),
        // Sizes.
        (format!("{real}% nothing more\n\n"), "it ends before the line with the numbers of rows"),
        (format!("{real}2 2\n"), "line 2: expected rows, columns and entries, got `2 2`"),
        (format!("{real}2 2 3 4\n"), "line 2: expected rows, columns and entries"),
        (format!("{real}2 2 -1\n"), "line 2: expected rows, columns and entries"),
        (format!("{real}\n%\n2 2 x\n"), "line 4: expected rows, columns and entries"),
        (format!("{real}2 2 18446744073709551616\n"), "line 2: expected rows, columns and entries"),
        (format!("{array}2 2 4\n"), "line 2: expected rows and columns, got `2 2 4`"),
        (format!("{real}2 3 1\n1 1 1\n"), "line 2: not square: 2 x 3"),
        (format!("{lower}2 3\n1\n"), "line 2: not square: 2 x 3"),
        (format!("{real}0 0 0\n"), "line 2: 0 rows"),
        (format!("{array}0 0\n"), "line 2: 0 rows"),
        // Memory for such sizes ends a process.
        (
            format!("{real}4000000000 4000000000 1\n1 1 1\n"),
            "line 2 announces 4000000000 rows; row 2 has no entry",
        ),
        (
            format!("{general}18446744073709551615 18446744073709551615 1\n1 1 1\n"),
            "line 2 announces 18446744073709551615 rows; row 2 has no entry",
        ),
        (
            format!("{real}2 2 18446744073709551615\n1 1 1\n"),
            "line 2 announces 18446744073709551615 entries; there are 1",
        ),
        (format!("{array}4000000000 4000000000\n1\n"), "line 2 announces 16000000000000000000"),
        (format!("{lower}4000000000 4000000000\n1\n"), "line 2 announces 8000000002000000000"),
        (
            format!("{array}8000000000 8000000000\n1\n"),
            "line 2: 8000000000 x 8000000000 entries are more than can be counted",
        ),
        (
            format!("{lower}18446744073709551615 18446744073709551615\n1\n"),
            "line 2: 18446744073709551615 x 18446744073709551615 entries are more",
        ),
        // Entries.
        (format!("{real}2 2 3\n1 1 1\n2 2 1\n"), "line 2 announces 3 entries; there are 2"),
        (format!("{array}2 2\n1\n2\n3\n"), "line 2 announces 4 entries; there are 3"),
        (
            format!("{real}2 2 1\n1 1 1\n2 2 1\n"),
            "line 4: expected the end after the 1 entries that line 2 announces, got `2 2 1`",
        ),
        (format!("{array}1 1\n1\n1\n"), "line 4: expected the end after the 1 entries"),
        (format!("{real}1 1 1\n1 1 1\n\nand so on"), "line 5: expected the end after"),
        (format!("{real}2 2 1\n1 3 1\n"), "line 3: expected row and column, 1 to 2, got `1 3 1`"),
        (format!("{real}2 2 1\n0 1 1\n"), "line 3: expected row and column, 1 to 2"),
        (format!("{real}2 2 1\n1 -1 1\n"), "line 3: expected row and column, 1 to 2"),
        (format!("{real}2 2 1\n1.0 1 1\n"), "line 3: expected row and column, 1 to 2"),
        (format!("{real}2 2 1\n1 1\n"), "line 3: expected one real value, got `1 1`"),
        (format!("{real}2 2 1\n1 1 one\n"), "line 3: expected one real value"),
        (format!("{real}2 2 1\n1 1 nan\n"), "line 3: expected one real value"),
        (format!("{real}2 2 1\n1 1 -inf\n"), "line 3: expected one real value"),
        (format!("{real}2 2 1\n1 1 1e999\n"), "line 3: expected one real value"),
        (format!("{real}2 2 1\n1 1 1 1\n"), "line 3: expected one real value"),
        (format!("{array}1 1\n1 2\n"), "line 3: expected one real value, got `1 2`"),
        (format!("{integer}1 1 1\n1 1 1.5\n"), "line 3: expected one integer value"),
        (format!("{integer}1 1 1\n1 1 9223372036854775808\n"), "line 3: expected one integer"),
        (format!("{real}1 1 1\n1 1 \u{a0}\0\x07\n"), "got `1 1 \\u{a0}\\0\\u{7}`"),
        (
            format!("{real}1 1 1\n1 1 {}\n", "1".repeat(5000) + "x"),
            &format!("got `1 1 {}..`", "1".repeat(56)),
        ),
        // Places.
        (
            format!("{real}2 2 3\n1 1 2\n2 1 1\n1 2 1\n"),
            "line 5: expected an entry of the lower triangle, as in every symmetric file, got `1",
        ),
        (
            format!("{real}2 2 4\n1 1 2\n2 1 1\n2 2 1\n2 1 3\n"),
            "line 6: entry (2, 1) once more; it is in line 4, too",
        ),
        (
            format!("{general}2 2 4\n1 1 2\n1 2 1\n1 2 1\n2 2 2\n"),
            "line 5: entry (1, 2) once more; it is in line 4, too",
        ),
        (format!("{real}3 3 2\n1 1 1\n3 3 1\n"), "line 2 announces 3 rows; row 2 has no entry"),
        (
            format!("{general}2 2 3\n1 1 2\n1 2 1\n2 2 2\n"),
            "line 4: not symmetric: entry (1, 2) is 1, (2, 1) is 0",
        ),
        (
            format!("{array}2 2\n1\n2\n3\n4\n"),
            "line 5: not symmetric: entry (1, 2) is 3, (2, 1) is 2",
        ),
    ];
    for (text, what) in cases {
        let error = read::parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(what) && !error.contains('\n'), "`{text}`: {error}");
    }
    let no_text = read::parse(&[0xff, 0xfe]).unwrap_err();
    assert!(no_text.contains("it does not begin with"), "{no_text}");
    assert!(read::read(&PathBuf::from("no such file.mtx")).unwrap_err().contains("no such file"));
}

/// One matrix in all the ways that are read.
#[test]
fn files_that_can_be_read() {
    let symmetric =
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 4\n";
    let wanted = read::parse(symmetric.as_bytes()).unwrap();
    assert_eq!((wanted.nnz(), wanted.get(0, 1)), (4, Some(&-1.0)));
    let header = "%%MatrixMarket matrix coordinate real symmetric";
    let entries = "2 2 3\n1 1 2\n2 1 -1\n2 2 4\n";
    for text in [
        symmetric.replace('\n', "\r\n"),
        symmetric.trim_end().into(),
        symmetric.replace(' ', "\t \t"),
        symmetric.replace("real", "double").replace("%%M", "%%m"),
        symmetric.replace("real", "integer").to_uppercase(),
        symmetric.replace("symmetric", "SYMMETRIC  \t"),
        symmetric.replace("2 1 -1", "  +2 1   -10.0E-1  "),
        // Comments and blank lines everywhere, some of them long.
        format!("{header}\n\n   \n%\n{entries}"),
        format!("{header}\n% {}\n{entries}\n\n% end", "long ".repeat(1000)),
        format!("{header}\n{}", entries.replace('\n', "\n% between\n  % blanks before it\n \n")),
        format!("{header}\n{}", entries.replace("1 1 2", &format!("1 1 {}2", " ".repeat(5000)))),
        // In any order.
        format!("{header}\n2 2 3\n2 2 4\n2 1 -1\n1 1 2\n"),
        format!("{header}\n2 2 3\n2 2 4\n2 1 -1\n1 1 2")
            .replace("symmetric", "general")
            .replace("2 2 3", "2 2 4\n1 2 -1"),
        "%%MatrixMarket matrix array integer symmetric\n2 2\n2\n-1\n4\n".into(),
        "%%MatrixMarket matrix array real general\n%\n2 2\n2\n-1\n\n-1\n4\n".into(),
    ] {
        let read = read::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(read, wanted, "{text}");
    }
    // Latin-1, in a comment.
    let latin = [header.as_bytes(), b"\n% Fran\xe7ois\n", entries.as_bytes()].concat();
    assert_eq!(read::parse(&latin).unwrap(), wanted);
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
        assert!(band.contains(&solution.found.steps()), "{name}: {} steps", solution.found.steps());
    }
    for (name, what) in [("orsreg_1", "not symmetric"), ("bcspwr10", "a pattern file")] {
        let error = read::read(&folder.join(name).with_extension("mtx")).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

/// Damaged matrices are read as symmetric ones, whatever the file promised, or not at all.
/// (`PHALANX_FUZZ=100` tries more: `tests/it/damaged_machines.rs`.)
#[test]
fn damaged_matrices() {
    let general = "%%MatrixMarket matrix coordinate real general\n% small\n3 3 5\n\
                   1 1 4.0\n2 2 4.0\n3 3 4e0\n1 2 -1.5\n2 1 -1.5\n";
    let symmetric = "%%MatrixMarket matrix coordinate integer symmetric\n4 4 5\n\
                     1 1 4\n2 2 4\n3 3 4\n4 4 4\n3 1 -1\n";
    let array = "%%MatrixMarket matrix array real symmetric\r\n%\r\n2 2\r\n4\r\n-1\r\n4\r\n";
    let (n, mut random) = damage::tries(3000, 12);
    for original in [general, symmetric, array] {
        assert!(read::parse(original.as_bytes()).is_ok());
        let mut read = 0;
        for _ in 0..n {
            match read::parse(&damage::mutate(original.as_bytes(), &mut random)) {
                Ok(matrix) => {
                    read += 1;
                    assert_eq!(matrix.rows(), matrix.cols());
                    assert!(matrix.iter().all(|(_, (i, j))| matrix.get(j, i).is_some()));
                }
                Err(error) => assert!(!error.is_empty()),
            }
        }
        assert!(0 < read && read < n, "{read} of {n}");
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = std::env::temp_dir();
    assert!(read::read(&folder).unwrap_err().ends_with("it is no file"));
}
