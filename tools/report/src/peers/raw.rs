//! The rows that the programs print: eight cells, separated by tabs.

use phalanx_tool::measure::proximity::Proximity;

/// The names of the cells.
pub(crate) const COLUMNS: &str = "library\toperation\tranks\tbytes\tns_min\tns_median\tgb_s\tplace";

/// One run's result for one operation and size at one place.
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
}

impl Raw {
    /// A line, as it is stored.
    pub(crate) fn line(&self) -> String {
        let Raw { library, op, ranks, bytes, ns_min, ns_median, place } = self;
        let gb_s = *bytes as f64 / ns_median;
        format!(
            "{library}\t{op}\t{ranks}\t{bytes}\t{ns_min:.1}\t{ns_median:.1}\t{gb_s:.4}\t{place}"
        )
    }

    fn parse(line: &str) -> Option<Raw> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [library, op, ranks, bytes, ns_min, ns_median, _, place] = cells[..] else {
            return None;
        };
        let ns = |cell: &str| cell.parse::<f64>().ok().filter(|ns| *ns > 0.0 && ns.is_finite());
        Some(Raw {
            library: library.to_string(),
            op: op.to_string(),
            ranks: ranks.parse().ok()?,
            bytes: bytes.parse().ok()?,
            ns_min: ns(ns_min)?,
            ns_median: ns(ns_median)?,
            place: place.parse().ok()?,
        })
    }
}

/// The rows of a program's output or of a stored file, and what is no row
/// (comments, empty lines and the header aside).
pub(crate) fn parse(text: &str) -> (Vec<Raw>, Vec<String>) {
    let (mut rows, mut rest) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim_end) {
        match Raw::parse(line) {
            Some(row) => rows.push(row),
            None if line.is_empty() || line.starts_with('#') || line == COLUMNS => {}
            None => rest.push(line.to_string()),
        }
    }
    (rows, rest)
}

/// The rows of `phalanx bench --format tsv`, under the peers' names; `.b2b`
/// where a sample had several calls.
pub(crate) fn parse_bench(text: &str) -> Vec<Raw> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |name: &str| {
            let column = header.iter().position(|column| *column == name)?;
            cells.get(column).copied()
        };
        let calls: usize = cell("calls_per_iteration")?.parse().ok()?;
        let op = mpi_name(cell("op")?);
        Some(Raw {
            library: OURS.to_string(),
            op: if calls > 1 { format!("{op}.b2b") } else { op.to_string() },
            ranks: cell("ranks")?.parse().ok()?,
            bytes: cell("bytes")?.parse().ok()?,
            ns_min: cell("ns_min")?.parse().ok()?,
            ns_median: cell("ns_median")?.parse().ok()?,
            place: cell("place")?.parse().ok()?,
        })
    };
    lines.filter_map(row).collect()
}

/// The name under which our rows stand.
pub(crate) const OURS: &str = "phalanx";

/// The variants of the peers' operations: what their names end in, and what they are called.
pub(crate) const VARIANTS: [(&str, &str); 3] =
    [("_inplace", "in place"), ("_clause", "clause"), ("_persistent", "persistent")];

/// Operations: our name, and MPI's in small letters.
const NAMES: [(&str, &str); 22] = [
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
    ("barrier-started", "ibarrier"),
    ("broadcast-started", "ibcast"),
    ("all-reduce-started", "iallreduce"),
    ("all-gather-started", "iallgather"),
    ("all-to-all-started", "ialltoall"),
];

fn mpi_name(ours: &str) -> &str {
    NAMES.iter().find(|name| name.0 == ours).map_or(ours, |name| name.1)
}

/// Our name for an operation of the peers' programs.
pub(crate) fn our_name(mpi: &str) -> Option<&'static str> {
    NAMES.iter().find(|name| name.1 == mpi).map(|name| name.0)
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
        let line = "openmpi-sm\tallreduce.b2b\t2\t8\t150.0\t251.0\t0.0319\tccx";
        let text = format!("{COLUMNS}\n# a note\n\n{line}\nmpirun: no such file\nx\ty\t2\n");
        let (rows, rest) = parse(&text);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].line(), line);
        assert_eq!(rest, ["mpirun: no such file", "x\ty\t2"]);
        assert!(parse(&line.replace("251.0", "0.0")).0.is_empty());
        assert!(parse(&line.replace("ccx", "cxc")).0.is_empty());
    }

    #[test]
    fn our_table_is_read_by_its_names() {
        let text = "op\tbytes\tranks\tcalls_per_iteration\tplace\tns_median\tns_min\n\
                    broadcast\t64\t2\t32\tfar\t38.5\t30.1\n\
                    reduce-scatter\t128\t2\t1\tccx\t120.0\t99.0\n\
                    broken\n";
        let rows = parse_bench(text);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].line(), "phalanx\tbcast.b2b\t2\t64\t30.1\t38.5\t1.6623\tfar");
        assert_eq!(rows[1].op, "reduce_scatter_block");
        assert_eq!(our_name("alltoall"), Some("all-to-all"));
    }
}
