//! Published measurements. docs/validation.md lists the parts of the model that were fitted to them
//! or chosen with knowledge of them.
//!
//! V1: dododevs/units-hpc-final, exercise1/data (osu_barrier, Open MPI default, `--map-by core`,
//! minimum of 4 runs). V2: Omega97/HPC-exercise, exercise1/results/barrierEPYC.csv (Open MPI 4.1.6,
//! forced algorithm, median of 10). V3: mzampar/High_Performance_Computing_2023,
//! barrier_default.csv (2 x 12 cores, `--map-by core` and `socket`). V4: libsmelt/Simulator,
//! ab-bench.csv (20 threads, 64-byte channels, kilocycles). V5: Omega97/HPC-exercise, bcastEPYC.csv
//! (128 ranks, 1 MiB forced; 2 bytes: as V1; the mean over ranks, as OSU's benchmark gives it).

/// Ranks and microseconds.
pub(crate) type Curve = &'static [(usize, f64)];

/// `MPI_Barrier`, default, 2 x EPYC 7H12.
pub(crate) const V1: Curve = &[
    (2, 0.18),
    (4, 0.44),
    (8, 0.97),
    (16, 1.47),
    (32, 2.29),
    (48, 3.80),
    (64, 3.15),
    (96, 5.63),
    (112, 5.60),
    (128, 5.31),
];

/// `MPI_Barrier`, linear, the same machine.
pub(crate) const V2_LINEAR: Curve = &[
    (2, 0.52),
    (4, 0.72),
    (8, 1.19),
    (16, 4.22),
    (32, 4.89),
    (48, 7.83),
    (64, 10.96),
    (96, 24.36),
    (128, 37.78),
];

/// `MPI_Barrier`, double ring, the same machine.
pub(crate) const V2_RING: Curve = &[
    (2, 2.14),
    (4, 3.92),
    (8, 7.69),
    (16, 23.70),
    (32, 36.42),
    (48, 48.64),
    (64, 73.25),
    (96, 104.47),
    (128, 142.19),
];

/// `MPI_Barrier`, Bruck, the same machine.
pub(crate) const V2_BRUCK: Curve = &[
    (2, 0.33),
    (4, 0.55),
    (8, 1.12),
    (16, 2.41),
    (32, 2.72),
    (48, 3.49),
    (64, 3.72),
    (96, 5.82),
    (128, 5.89),
];

/// `MPI_Barrier`, default, 2 x 12 cores, ranks packed.
pub(crate) const V3_CORE: Curve =
    &[(2, 0.24), (4, 0.72), (8, 0.93), (12, 1.53), (16, 2.04), (20, 3.17), (24, 3.29)];

/// The same, ranks on the two sockets in turn.
pub(crate) const V3_SOCKET: Curve =
    &[(2, 0.46), (4, 1.23), (8, 1.46), (12, 2.02), (16, 2.23), (20, 2.31), (24, 2.68)];

/// Tree, and kilocycles of barrier, reduction and broadcast on 2 x 10 Ivy Bridge cores. Four of the
/// seven published trees: the others' shapes are
/// not known (docs/validation.md).
pub(crate) const V4: &[(&str, [f64; 3])] = &[
    ("sequential", [10.745, 2.400, 5.548]),
    ("fibonacci", [6.625, 3.048, 3.660]),
    ("binary", [6.516, 2.752, 3.212]),
    ("cluster", [5.307, 2.086, 2.872]),
];

/// A broadcast's ranks, bytes, and microseconds by algorithm.
pub(crate) type Broadcasts = (usize, usize, [(&'static str, f64); 3]);

/// `MPI_Bcast`, forced, 2 x EPYC 7H12.
pub(crate) const V5: &[Broadcasts] = &[
    (64, 2, [("linear", 5.1), ("chain", 4.6), ("binary", 2.2)]),
    (128, 2, [("linear", 13.4), ("chain", 7.2), ("binary", 3.6)]),
    (128, 1 << 20, [("linear", 12_422.0), ("binary", 7_087.0), ("chain", 3_674.0)]),
];
