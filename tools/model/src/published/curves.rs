//! The published curves, and the points that are used to fit.

/// One row: 24 sizes from 8 bytes to 64 MiB.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `allreduce`, `bcast` or `reduce`.
    pub operation: String,
    /// `epyc-2x64` or `grace`.
    pub machine: String,
    /// The number of ranks.
    pub ranks: usize,
    /// `mpich`, `openmpi` or `ext_mpi`.
    pub library: String,
    /// Whether the ranks are dealt over the packages.
    pub spread: bool,
    /// `blocking` or `persistent`.
    pub how: String,
    /// ext_mpi's set of parameters.
    pub parameters: String,
    /// Microseconds, by size.
    pub us: Vec<f64>,
}

/// The sizes of a row.
///
/// # Examples
/// ```
/// use phalanx_model::published::sizes;
/// assert_eq!((sizes().next(), sizes().last()), (Some(8.0), Some(67_108_864.0)));
/// ```
pub fn sizes() -> impl Iterator<Item = f64> {
    (3..27).map(|i| f64::from(1u32 << i))
}

/// Whether the size of this place in a row may be fitted to (fit-points.tsv): every third.
///
/// # Examples
/// ```
/// use phalanx_model::published::{fitted, sizes};
/// let used: Vec<f64> = sizes().enumerate().filter(|s| fitted(s.0)).map(|s| s.1).collect();
/// assert_eq!(used[..3], [8.0, 64.0, 512.0]);
/// assert_eq!(used.len(), 8);
/// ```
pub fn fitted(place: usize) -> bool {
    place.is_multiple_of(3)
}

/// All published rows.
///
/// # Examples
/// ```
/// use phalanx_model::published::rows;
/// assert_eq!(rows().len(), 72);
/// ```
pub fn rows() -> Vec<Row> {
    let text = include_str!("collectives.tsv");
    let lines = text.lines().filter(|l| !l.starts_with('#')).skip(1);
    lines
        .filter_map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let (spread, library) = match cells.get(3)?.strip_prefix("spread ") {
                Some(library) => (true, library),
                None => (false, *cells.get(3)?),
            };
            Some(Row {
                operation: cells[0].into(),
                machine: cells[1].into(),
                ranks: cells[2].parse().ok()?,
                library: library.into(),
                spread,
                how: cells[4].into(),
                parameters: cells[5].into(),
                us: cells[6..].iter().filter_map(|c| c.parse().ok()).collect(),
            })
        })
        .collect()
}

/// The best of a library at each size: of its ways and of its sets of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// As in [`Row`].
    pub operation: String,
    /// As in [`Row`].
    pub machine: String,
    /// As in [`Row`].
    pub ranks: usize,
    /// As in [`Row`].
    pub library: String,
    /// `blocking` or `persistent` if the rows of one way were asked for.
    pub how: String,
    /// Microseconds, by size.
    pub us: Vec<f64>,
}

/// The curves that are modelled, with ranks side by side: all but those of Open MPI on EPYC, the
/// measured build is erratic. `ways` keeps MPICH's two ways apart.
///
/// # Examples
/// ```
/// use phalanx_model::published::curves;
/// assert_eq!(curves(false).len(), 18);
/// assert!(curves(false).iter().all(|c| c.us.len() == 24));
/// ```
pub fn curves(ways: bool) -> Vec<Curve> {
    let mut all: Vec<Curve> = Vec::new();
    for row in rows() {
        if row.spread || (row.library == "openmpi" && row.machine == "epyc-2x64") {
            continue;
        }
        let how = if ways && row.library == "mpich" { row.how } else { String::new() };
        let same = |c: &&mut Curve| {
            (&c.operation, &c.machine, c.ranks) == (&row.operation, &row.machine, row.ranks)
                && (&c.library, &c.how) == (&row.library, &how)
        };
        match all.iter_mut().find(same) {
            Some(c) => c.us.iter_mut().zip(&row.us).for_each(|(best, us)| *best = best.min(*us)),
            None => all.push(Curve {
                operation: row.operation,
                machine: row.machine,
                ranks: row.ranks,
                library: row.library,
                how,
                us: row.us,
            }),
        }
    }
    all
}
