//! Merges slices into one line for each operation, size, place and state of the caches: medians of
//! the slices' medians with their intervals, the best peer, and the winner.

use super::raw::{Raw, VARIANTS};
use phalanx_bench::measure::caches::CacheState;
use phalanx_bench::measure::proximity::Proximity;
use phalanx_bench::measure::stats::{median_interval, spread_percent};
use phalanx_model::median;
use std::collections::BTreeMap;

/// How far two medians may be apart and count as equal.
pub(super) const TIE: f64 = 1.05;

/// The slices of one library.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Merged {
    pub(crate) library: String,
    /// The smallest of all, and the median of the slices' medians.
    pub(crate) ns_min: f64,
    pub(crate) ns: f64,
    /// The interval of that median: 95 %, by order statistics of the slices' medians.
    pub(crate) interval: [f64; 2],
    pub(crate) runs: usize,
    /// The spread of the slices' medians.
    pub(crate) spread_percent: f64,
    /// The cores that the ranks kept busy, the median of the slices that say it.
    pub(crate) cores: Option<f64>,
}

/// What is compared: one operation and size, among so many ranks, at one
/// place. In the order of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) ranks: usize,
    pub(crate) place: Proximity,
    pub(crate) caches: CacheState,
    pub(crate) op: String,
    pub(crate) bytes: usize,
}

/// Everybody's time for one key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MergedLine {
    pub(crate) key: Key,
    pub(crate) ours: Option<Merged>,
    /// Two threads by hand, without any promise.
    pub(crate) floor: Option<Merged>,
    /// The best settings of each family.
    pub(crate) openmpi: Option<Merged>,
    pub(crate) mpich: Option<Merged>,
    pub(crate) openmp: Option<Merged>,
}

/// Who won: where two medians are more than a twentieth apart, and their intervals do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ours is faster.
    Win,
    Tie,
    /// Ours is slower.
    Loss,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Win => "win",
            Verdict::Tie => "tie",
            Verdict::Loss => "loss",
        }
    }
}

impl MergedLine {
    /// The fastest peer that does the same. OpenMP's sums are left out: they
    /// leave one shared result, not one with every rank.
    pub(crate) fn best(&self) -> Option<&Merged> {
        let openmp = self.openmp.as_ref().filter(|_| self.key.op.starts_with("barrier"));
        let peers = [self.openmpi.as_ref(), self.mpich.as_ref(), openmp];
        peers.into_iter().flatten().min_by(|a, b| a.ns.total_cmp(&b.ns))
    }

    /// Our time as a multiple of the best peer's.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.ours.as_ref()?.ns / self.best()?.ns)
    }

    /// Our time as a multiple of the floor's.
    pub(crate) fn floor_ratio(&self) -> Option<f64> {
        Some(self.ours.as_ref()?.ns / self.floor.as_ref()?.ns)
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let is_open = self.is_open()?;
        self.ratio().map(|ratio| match ratio {
            r if r > TIE && !is_open => Verdict::Loss,
            r if r < 1.0 / TIE && !is_open => Verdict::Win,
            _ => Verdict::Tie,
        })
    }

    /// Whether our interval and the best peer's overlap.
    pub(crate) fn is_open(&self) -> Option<bool> {
        let [ours, best] = [self.ours.as_ref()?.interval, self.best()?.interval];
        Some(ours[0] <= best[1] && best[0] <= ours[1])
    }
}

/// Merges all rows; `ours`: the library whose rows are compared with the peers'.
pub(crate) fn merge(rows: &[Raw], ours: &str) -> Vec<MergedLine> {
    let mut heaps: BTreeMap<(Key, String), Vec<&Raw>> = BTreeMap::new();
    for row in rows {
        let (op, variant) = split(&row.op);
        let (ranks, place, caches, bytes) = (row.ranks, row.place, row.caches, row.bytes);
        let key = Key { ranks, place, caches, op, bytes };
        let library = match variant {
            Some(variant) => format!("{} ({variant})", row.library),
            None => row.library.clone(),
        };
        heaps.entry((key, library)).or_default().push(row);
    }
    let mut lines: BTreeMap<Key, MergedLine> = BTreeMap::new();
    for ((key, library), rows) in heaps {
        let merged = merge_runs(library, &rows);
        let line = lines.entry(key.clone()).or_insert_with(|| MergedLine {
            key,
            ours: None,
            floor: None,
            openmpi: None,
            mpich: None,
            openmp: None,
        });
        let is_ours = merged.library.strip_prefix(ours).is_some_and(|rest| !rest.starts_with('-'));
        let family = match merged.library.as_str() {
            _ if is_ours => &mut line.ours,
            "floor" => &mut line.floor,
            name if name.starts_with("openmpi") => &mut line.openmpi,
            name if name.starts_with("mpich") => &mut line.mpich,
            name if name.starts_with("openmp-") => &mut line.openmp,
            _ => continue,
        };
        if family.as_ref().is_none_or(|best| merged.ns < best.ns) {
            *family = Some(merged);
        }
    }
    let mut lines: Vec<MergedLine> = lines.into_values().collect();
    let order = |op: &str| super::raw::operations().position(|name| op.starts_with(name));
    lines.sort_by_key(|line| {
        let Key { ranks, place, caches, op, bytes } = &line.key;
        let bare = op.strip_suffix(".b2b").unwrap_or(op);
        let exact = super::raw::operations().position(|name| name == bare);
        (*ranks, *place, *caches, exact.or(order(op)), op.clone(), *bytes)
    });
    lines
}

/// The operation, and what is special about how it was called: in place, by OpenMP's clause, or by
/// a persistent request.
fn split(op: &str) -> (String, Option<&'static str>) {
    for (part, name) in VARIANTS {
        if op.contains(part) {
            return (op.replacen(part, "", 1), Some(name));
        }
    }
    (op.to_string(), None)
}

fn merge_runs(library: String, rows: &[&Raw]) -> Merged {
    let medians: Vec<f64> = rows.iter().map(|row| row.ns_median).collect();
    let cores: Vec<f64> = rows.iter().filter_map(|row| row.cores).collect();
    Merged {
        library,
        ns_min: rows.iter().map(|row| row.ns_min).fold(f64::INFINITY, f64::min),
        ns: median(&medians),
        interval: median_interval(&medians).unwrap_or_default(),
        runs: rows.len(),
        spread_percent: spread_percent(&medians),
        cores: (!cores.is_empty()).then(|| median(&cores)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::raw::{OUR_MPI, OURS};
    use super::*;

    pub(in crate::peers) const CANNED: &str = "\
phalanx\tallreduce\t2\t8\t70.0\t90.0\t0.1\tccx\twarm\t9
phalanx\tallreduce\t2\t8\t60.0\t100.0\t0.1\tccx\twarm\t9
phalanx\tallreduce\t2\t8\t65.0\t120.0\t0.1\tccx\twarm\t9
phalanx\tallreduce\t2\t8\t65.0\t300.0\t0.1\tfar\twarm\t9
floor\tallreduce\t2\t8\t50.0\t80.0\t0.1\tccx\twarm\t9
openmpi-sm\tallreduce\t2\t8\t150.0\t250.0\t0.1\tccx\twarm\t9
openmpi-sm\tallreduce_inplace\t2\t8\t150.0\t200.0\t0.1\tccx\twarm\t9
mpich\tallreduce\t2\t8\t350.0\t600.0\t0.1\tccx\twarm\t9
openmp-gcc\tallreduce\t2\t8\t10.0\t20.0\t0.1\tccx\twarm\t9
openmp-gcc\tbarrier\t2\t0\t10.0\t99.0\t0.1\tccx\twarm\t9
phalanx\tbarrier\t2\t0\t10.0\t110.0\t0.1\tccx\twarm\t9
phalanx\tscan.b2b\t2\t64\t10.0\t50.0\t0.1\tccx\twarm\t9
openmpi\tscan_inplace.b2b\t2\t64\t10.0\t51.0\t0.1\tccx\twarm\t9
stranger\tbarrier\t2\t0\t1.0\t1.0\t0.1\tccx\twarm\t9
";

    #[test]
    fn a_persistent_request_is_a_variant_of_its_call() {
        let lines = "phalanx\tneighbor_alltoallv.b2b\t2\t8\t70.0\t90.0\t0.1\tccx\twarm\t9
mpich\tneighbor_alltoallv.b2b\t2\t8\t60.0\t200.0\t0.1\tccx\twarm\t9
mpich\tneighbor_alltoallv_persistent.b2b\t2\t8\t60.0\t180.0\t0.1\tccx\twarm\t9
";
        let lines = merge(&super::super::raw::parse(lines).0, OURS);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].key.op, "neighbor_alltoallv.b2b");
        assert_eq!(lines[0].best().unwrap().library, "mpich (persistent)");
        assert_eq!(lines[0].ratio(), Some(0.5));
    }

    #[test]
    fn our_mpi_is_compared_instead_of_the_library() {
        let lines = "phalanx\tscan\t2\t8\t9.0\t10.0\t1\tccx\twarm\t9
phalanx-mpi\tscan\t2\t8\t9.0\t40.0\t1\tccx\twarm\t9
phalanx-mpi\tscan_inplace\t2\t8\t9.0\t30.0\t1\tccx\twarm\t9
mpich\tscan\t2\t8\t9.0\t60.0\t1\tccx\twarm\t9
";
        let rows = super::super::raw::parse(lines).0;
        for (ours, ratio) in [(OURS, 10.0 / 60.0), (OUR_MPI, 0.5)] {
            assert_eq!(merge(&rows, ours)[0].ratio(), Some(ratio), "{ours}");
        }
    }

    #[test]
    fn a_verdict_needs_intervals_that_are_apart_and_medians_that_are_not_level() {
        let line = |ours: [f64; 7], peers: [f64; 7]| {
            let of = |library: &'static str, ns: [f64; 7]| {
                ns.map(|ns| format!("{library}\tscan\t2\t8\t9.0\t{ns}\t1\tccx\twarm\t9\n")).concat()
            };
            let text = of("phalanx", ours) + &of("mpich", peers);
            let (rows, rest) = super::super::raw::parse(&text);
            assert!(rest.is_empty(), "{rest:?}");
            merge(&rows, OURS).remove(0)
        };
        let peers = [100.0, 100.1, 99.9, 100.2, 99.8, 99.7, 100.3];
        let shifted = |by: f64| peers.map(|ns| ns + by);
        for (ours, ratio, verdict) in [
            (shifted(20.0), 1.2, Verdict::Loss),
            (shifted(-20.0), 0.8, Verdict::Win),
            // Apart, but level.
            (shifted(4.9), 1.049, Verdict::Tie),
            // Slower by a fifth, and now and then as fast.
            ([120.0, 121.0, 119.0, 118.0, 122.0, 100.2, 123.0], 1.2, Verdict::Tie),
        ] {
            let line = line(ours, peers);
            assert!((line.ratio().unwrap() - ratio).abs() < 1e-9, "{:?}", line.ratio());
            assert_eq!(line.verdict(), Some(verdict), "{ours:?}");
            // 7 slices: the interval is all of them.
            assert_eq!(line.best().unwrap().interval, [99.7, 100.3]);
        }
    }

    #[test]
    fn states_of_the_caches_are_rows_of_their_own() {
        let text = "phalanx\tscan\t2\t8\t9.0\t10.0\t1\tccx\twarm\t9
phalanx\tscan\t2\t8\t9.0\t30.0\t1\tccx\tcold\t9
";
        let lines = merge(&super::super::raw::parse(text).0, OURS);
        let found: Vec<_> =
            lines.iter().map(|l| (l.key.caches, l.ours.as_ref().unwrap().ns)).collect();
        assert_eq!(found, [(CacheState::Warm, 10.0), (CacheState::Cold, 30.0)]);
    }

    #[test]
    fn runs_are_merged_and_the_best_peer_is_found() {
        let (rows, rest) = super::super::raw::parse(CANNED);
        assert!(rest.is_empty(), "{rest:?}");
        let lines = merge(&rows, OURS);
        let keys: Vec<String> =
            lines.iter().map(|l| format!("{} {} {}", l.key.op, l.key.bytes, l.key.place)).collect();
        assert_eq!(
            keys,
            ["barrier 0 ccx", "allreduce 8 ccx", "scan.b2b 64 ccx", "allreduce 8 far"]
        );
        let line = &lines[1];
        let ours = line.ours.as_ref().unwrap();
        assert_eq!((ours.ns_min, ours.ns, ours.runs, ours.spread_percent), (60.0, 100.0, 3, 30.0));
        assert_eq!(ours.interval, [90.0, 120.0]);
        // Not OpenMP's, which leaves one shared result.
        assert_eq!(line.best().unwrap().library, "openmpi-sm (in place)");
        assert_eq!((line.ratio(), line.floor_ratio()), (Some(0.5), Some(1.25)));
        assert_eq!(line.verdict(), Some(Verdict::Win));
        assert_eq!(lines[0].best().unwrap().library, "openmp-gcc");
        assert_eq!(lines[0].verdict(), Some(Verdict::Loss));
        assert_eq!(lines[2].verdict(), Some(Verdict::Tie));
        assert_eq!((lines[3].best(), lines[3].verdict()), (None, None));
    }
}
