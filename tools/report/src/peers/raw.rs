//! The rows that `--raw` stores, one for each slice: cells, separated by tabs; the last one is not
//! there where the system does not say it.

use phalanx_bench::bench::turn_protocol::TurnSlice;
use phalanx_bench::measure::caches::CacheState;
use phalanx_bench::measure::proximity::Proximity;

/// The names of the cells.
pub(crate) const COLUMNS: &str =
    "library\toperation\tranks\tbytes\tns_min\tns_median\tgb_s\tplace\tcaches\tsamples\tcores";

/// One slice of an operation and size at one place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Raw {
    pub(crate) library: String,
    pub(crate) op: String,
    pub(crate) ranks: usize,
    /// Of a rank's larger buffer.
    pub(crate) bytes: usize,
    pub(crate) ns_min: f64,
    pub(crate) ns_median: f64,
    pub(crate) place: Proximity,
    pub(crate) caches: CacheState,
    pub(crate) samples: usize,
    /// Those that the ranks kept busy.
    pub(crate) cores: Option<f64>,
}

impl Raw {
    /// Of a slice.
    pub(crate) fn new(
        library: &str,
        op: String,
        ranks: usize,
        caches: CacheState,
        slice: &TurnSlice,
    ) -> Self {
        Raw {
            library: library.to_string(),
            op,
            ranks,
            bytes: slice.larger,
            ns_min: slice.ns_min,
            ns_median: slice.ns_median,
            place: slice.place,
            caches,
            samples: slice.samples,
            cores: slice.cores,
        }
    }

    /// A line, as it is stored.
    pub(crate) fn line(&self) -> String {
        let Raw { library, op, ranks, bytes, ns_min, ns_median, place, caches, samples, cores } =
            self;
        let gb_s = *bytes as f64 / ns_median;
        let cores = cores.map_or(String::new(), |cores| format!("\t{cores:.2}"));
        format!(
            "{library}\t{op}\t{ranks}\t{bytes}\t{ns_min:.1}\t{ns_median:.1}\t{gb_s:.4}\t{place}\t\
             {caches}\t{samples}{cores}"
        )
    }

    fn parse(line: &str) -> Option<Raw> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [
            library,
            op,
            ranks,
            bytes,
            ns_min,
            ns_median,
            _,
            place,
            caches,
            samples,
            ref cores @ ..,
        ] = cells[..]
        else {
            return None;
        };
        let ns = |cell: &str| cell.parse::<f64>().ok().filter(|ns| *ns > 0.0 && ns.is_finite());
        let cores = match cores {
            [] => None,
            [cores] => Some(cores.parse().ok()?),
            _ => return None,
        };
        Some(Raw {
            library: library.to_string(),
            op: op.to_string(),
            ranks: ranks.parse().ok()?,
            bytes: bytes.parse().ok()?,
            ns_min: ns(ns_min)?,
            ns_median: ns(ns_median)?,
            place: place.parse().ok()?,
            caches: caches.parse().ok()?,
            samples: samples.parse().ok()?,
            cores,
        })
    }
}

/// The rows of a stored file, and what is no row (comments, empty lines and headers aside).
pub(crate) fn parse(text: &str) -> (Vec<Raw>, Vec<String>) {
    let (mut rows, mut rest) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim_end) {
        match Raw::parse(line) {
            Some(row) => rows.push(row),
            None if line.is_empty() || line.starts_with('#') => {}
            None if line.starts_with("library\toperation\t") => {}
            None => rest.push(line.to_string()),
        }
    }
    (rows, rest)
}

/// The name under which our rows stand.
pub(crate) const OURS: &str = "phalanx";
/// The name of our own MPI's rows.
pub(crate) const OUR_MPI: &str = "phalanx-mpi";

/// The variants of the peers' operations: what their names end in, and what they are called.
pub(crate) const VARIANTS: [(&str, &str); 3] =
    [("_inplace", "in place"), ("_clause", "clause"), ("_persistent", "persistent")];

/// Operations: our name, and MPI's in small letters; without ours, it is MPI's alone.
const NAMES: [(&str, &str); 23] = [
    ("barrier", "barrier"),
    ("broadcast", "bcast"),
    ("reduce", "reduce"),
    ("all-reduce", "allreduce"),
    ("all-gather", "allgather"),
    ("reduce-scatter", "reduce_scatter_block"),
    ("all-to-all", "alltoall"),
    ("scan", "scan"),
    ("scatter", "scatter"),
    ("gather", "gather"),
    ("all-gather-varied", "allgatherv"),
    ("reduce-scatter-varied", "reduce_scatter"),
    ("all-to-all-varied", "alltoallv"),
    ("scatter-varied", "scatterv"),
    ("gather-varied", "gatherv"),
    ("all-to-all-neighbors", "neighbor_alltoallv"),
    ("all-to-all-messages", "isend_irecv"),
    ("", "ping_pong"),
    ("barrier-started", "ibarrier"),
    ("broadcast-started", "ibcast"),
    ("all-reduce-started", "iallreduce"),
    ("all-gather-started", "iallgather"),
    ("all-to-all-started", "ialltoall"),
];

/// Our name for an operation of the peers' programs.
pub(crate) fn our_name(mpi: &str) -> Option<&'static str> {
    NAMES.iter().find(|name| name.1 == mpi && !name.0.is_empty()).map(|name| name.0)
}

/// The peers' names of all operations.
pub(crate) fn operations() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|name| name.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_written_back() {
        let without = "openmpi-sm\tallreduce.b2b\t2\t8\t150.0\t251.0\t0.0319\tccx\tcold\t12";
        let new = format!("{without}\t1.98");
        let text = format!(
            "{COLUMNS}\n# a note\n\nmpirun: no such file\nx\ty\t2\n{without}\n{COLUMNS}\n\
             {new}\n"
        );
        let (rows, rest) = parse(&text);
        assert_eq!(rows.iter().map(Raw::line).collect::<Vec<_>>(), [without, &new]);
        assert_eq!((rows[1].caches, rows[0].cores), (CacheState::Cold, None));
        assert_eq!(rows[1].cores, Some(1.98));
        assert_eq!(rest, ["mpirun: no such file", "x\ty\t2"]);
        for (from, to) in [("251.0", "0.0"), ("ccx", "cxc"), ("cold", "cool"), ("\t12\t", "\t")] {
            assert!(parse(&new.replace(from, to)).0.is_empty(), "{to}");
        }
        assert_eq!(our_name("alltoall"), Some("all-to-all"));
    }
}
