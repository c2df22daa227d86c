//! The table in the columns of other benchmarks, so that scripts written for them can read it: OSU
//! Micro-Benchmarks 7.4, Intel MPI Benchmarks 2021, nccl-tests 2.
//!
//! Only the columns are theirs. The samples are those of `bench` (inputs are
//! rewritten, all ranks start at one moment, one place of the cores); the
//! average is the mean over ranks of each rank's mean, as with OSU and IMB;
//! the time of nccl-tests is our median of the slowest rank. Sizes count as
//! they do there: of one block, or of all.

use super::call_buffers::has_blocks;
use super::output_forms::Head;
use super::row::BenchRow;
use phalanx::schedule::Operation;
use std::fmt::Write as _;
use std::str::FromStr;

/// Whose columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Osu,
    Imb,
    Nccl,
}

impl FromStr for Style {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match crate::suggest::plain(text).as_str() {
            "osu" => Ok(Style::Osu),
            "imb" => Ok(Style::Imb),
            "nccl" => Ok(Style::Nccl),
            _ => Err(crate::suggest::unknown("style", text, &["osu", "imb", "nccl"])),
        }
    }
}

/// The rows of one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    pub(crate) rows: &'a [BenchRow],
}

impl Style {
    /// What comes before the rows.
    pub(crate) fn head(self, head: &Head) -> String {
        let s = &head.setting;
        let version = env!("CARGO_PKG_VERSION");
        let whose = match self {
            Style::Osu => "OSU Micro-Benchmarks 7.4",
            Style::Imb => "Intel(R) MPI Benchmarks 2021, MPI-1 part",
            Style::Nccl => "nccl-tests 2",
        };
        let mut out = format!(
            "# phalanx {version}, in the columns of {whose}\n# {}, {} ranks on PUs {}\n",
            s.cpu,
            s.ranks,
            s.places()
        );
        if let Some(warning) = crate::measure::emulation::warning() {
            out += &format!("# {warning}\n");
        }
        if self == Style::Nccl {
            out += NCCL_HEAD;
        }
        out
    }

    /// The rows of one operation.
    pub(crate) fn block(self, block: &Block<'_>) -> String {
        let Some(first) = block.rows.first() else { return String::new() };
        let mut out = match self {
            Style::Osu => osu_head(first),
            Style::Imb => imb_head(first),
            Style::Nccl => return nccl_rows(block.rows),
        };
        for row in block.rows {
            out += &match self {
                Style::Osu => osu_row(row),
                _ => imb_row(row),
            };
        }
        out
    }

    /// What comes after the rows.
    pub(crate) fn foot(self, rows: &[BenchRow], wrong: u64) -> String {
        match self {
            Style::Osu => String::new(),
            Style::Imb => "\n\n# All processes entering MPI_Finalize\n\n".to_string(),
            Style::Nccl => nccl_foot(rows, wrong),
        }
    }
}

/// Microseconds, the smallest, the mean and the largest of the ranks' means.
fn rank_times(row: &BenchRow) -> [f64; 3] {
    let means = &row.rank_means;
    let min = means.iter().copied().fold(f64::INFINITY, f64::min);
    let max = means.iter().copied().fold(0.0, f64::max);
    [min, means.iter().sum::<f64>() / means.len() as f64, max].map(|ns| ns / 1000.0)
}

/// Bytes of one block, for operations whose size is that of a block there.
fn block_bytes(row: &BenchRow) -> usize {
    let of_all = row.op == Operation::ReduceScatter || !has_blocks(row.op);
    if of_all { row.bytes } else { row.bytes / row.ranks }
}

/// The operation's name in the titles of OSU's tests.
fn osu_name(op: Operation) -> &'static str {
    match op {
        Operation::Broadcast => "Broadcast",
        Operation::Reduce => "Reduce",
        Operation::AllReduce => "Allreduce",
        Operation::AllGather => "Allgather",
        Operation::ReduceScatter => "Reduce_scatter",
        Operation::AllToAll => "All-to-All Personalized Exchange",
        Operation::Scatter => "Scatter",
        Operation::Gather => "Gather",
        Operation::Barrier => "Barrier",
        Operation::Scan => "Scan",
        Operation::ExclusiveScan => "Exscan",
        Operation::Shift => "Shift",
        form if form.base() != form => osu_name(form.base()),
        _ => "Collective",
    }
}

/// The datatype's name as MPI has it.
fn mpi_type(ty: &str) -> &'static str {
    match ty {
        "f32" => "MPI_FLOAT",
        "f64" => "MPI_DOUBLE",
        "i8" => "MPI_INT8_T",
        "i16" => "MPI_INT16_T",
        "i32" => "MPI_INT32_T",
        "i64" => "MPI_INT64_T",
        "u8" => "MPI_UINT8_T",
        "u16" => "MPI_UINT16_T",
        "u32" => "MPI_UINT32_T",
        "u64" => "MPI_UINT64_T",
        _ => "MPI_CHAR",
    }
}

/// As with `-f` (the full listing), which a script that reads the short one
/// reads as well: by columns 1 and 2.
fn osu_head(row: &BenchRow) -> String {
    let mut out = format!("\n# OSU MPI {} Latency Test v7.4\n", osu_name(row.op));
    let full = format!("{:>18}{:>18}{:>12}", "Min Latency(us)", "Max Latency(us)", "Iterations");
    if row.op == Operation::Barrier {
        writeln!(out, "# Avg Latency(us){full}").unwrap_or_default();
    } else {
        writeln!(out, "# Datatype: {}.", mpi_type(row.ty)).unwrap_or_default();
        writeln!(out, "{:<10}{:>18}{full}", "# Size", "Avg Latency(us)").unwrap_or_default();
    }
    out
}

fn osu_row(row: &BenchRow) -> String {
    let [min, avg, max] = rank_times(row);
    let full = format!("{min:>18.2}{max:>18.2}{:>12}", row.iterations * row.calls);
    if row.op == Operation::Barrier {
        format!("{avg:>17.2}{full}\n")
    } else {
        format!("{:<10}{avg:>18.2}{full}\n", block_bytes(row))
    }
}

/// The name in IMB's list.
fn imb_name(op: Operation) -> &'static str {
    match op {
        Operation::Broadcast => "Bcast",
        Operation::ReduceScatter => "Reduce_scatter",
        op if op.base() == Operation::AllToAll => "Alltoall",
        other => osu_name(other),
    }
}

fn imb_head(row: &BenchRow) -> String {
    let line = format!("#{}\n", "-".repeat(64));
    let bytes = if row.op == Operation::Barrier { "" } else { "       #bytes" };
    format!(
        "\n{line}# Benchmarking {} \n# #processes = {} \n{line}{bytes} #repetitions  t_min[usec]  \
         t_max[usec]  t_avg[usec]\n",
        imb_name(row.op),
        row.ranks
    )
}

fn imb_row(row: &BenchRow) -> String {
    let [min, avg, max] = rank_times(row);
    let bytes = match row.op {
        Operation::Barrier => String::new(),
        _ => format!("{:>13}", block_bytes(row)),
    };
    let repetitions = row.iterations * row.calls;
    format!("{bytes}{repetitions:>13}{min:>13.2}{max:>13.2}{avg:>13.2}\n")
}

const NCCL_HEAD: &str = "\
#
#                                                              out-of-place              \
\x20        in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     \
time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            \
(us)  (GB/s)  (GB/s)       
";

/// One line for each size and algorithm; the two ways of an operation that has
/// both in one line. A way that we do not have is N/A.
fn nccl_rows(rows: &[BenchRow]) -> String {
    let mut out = String::new();
    let mut rest = rows;
    while let Some((row, tail)) = rest.split_first() {
        let other = tail.first().filter(|other| {
            (other.bytes, other.algorithm) == (row.bytes, row.algorithm) && other.apart != row.apart
        });
        rest = if other.is_some() { &tail[1..] } else { tail };
        let both = || std::iter::once(row).chain(other);
        let is_apart = |row: &&BenchRow| row.apart || !row.op.is_in_place();
        write!(
            out,
            "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}",
            row.bytes,
            row.count,
            nccl_type(row.ty),
            row.redop,
            row.root.map_or("-1".to_string(), |root| root.to_string())
        )
        .unwrap_or_default();
        out += &nccl_half(both().find(is_apart));
        out += &nccl_half(both().find(|row| !is_apart(row)));
        out.push('\n');
    }
    out
}

fn nccl_half(row: Option<&BenchRow>) -> String {
    match row {
        None => format!("  {:>7}  {:>6}  {:>6}  {:>5}", "N/A", "N/A", "N/A", "N/A"),
        Some(row) => {
            let wrong = row.wrong.map_or("N/A".to_string(), |wrong| wrong.to_string());
            let time = seven(row.ns.median / 1000.0);
            format!("  {time:>7}  {:>6.2}  {:>6.2}  {wrong:>5}", row.algbw, row.busbw)
        }
    }
}

/// As many decimals as seven characters have room for, two at most.
fn seven(us: f64) -> String {
    match us {
        us if us < 9999.5 => format!("{us:.2}"),
        us if us < 99999.5 => format!("{us:.1}"),
        us => format!("{us:.0}"),
    }
}

fn nccl_type(ty: &str) -> &'static str {
    match ty {
        "f32" => "float",
        "f64" => "double",
        "i8" => "int8",
        "i16" => "int16",
        "i32" => "int32",
        "i64" => "int64",
        "u8" => "uint8",
        "u16" => "uint16",
        "u32" => "uint32",
        "u64" => "uint64",
        _ => "none",
    }
}

fn nccl_foot(rows: &[BenchRow], wrong: u64) -> String {
    let verdict = if wrong == 0 { "OK" } else { "FAILED" };
    let mean = rows.iter().map(|row| row.busbw).sum::<f64>() / rows.len().max(1) as f64;
    format!(
        "# Out of bounds values : {wrong} {verdict}\n# Avg bus bandwidth    : {mean:<8.6} \n#\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::output_forms::tests::row;
    use super::*;

    #[test]
    fn osu_is_to_the_letter() {
        let text = Style::Osu.block(&Block { rows: &[row()] });
        assert_eq!(
            text,
            "\n# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_DOUBLE.\n\
             # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n\
             8                       0.07              0.07              0.07        3200\n"
        );
        let text =
            Style::Osu.block(&Block { rows: &[BenchRow { op: Operation::Barrier, ..row() }] });
        assert!(text.contains("\n# Avg Latency(us)   Min Latency(us)"), "{text}");
        assert!(
            text.ends_with("\n             0.07              0.07              0.07        3200\n")
        );
    }

    #[test]
    fn imb_is_to_the_letter() {
        let text = Style::Imb.block(&Block { rows: &[BenchRow { bytes: 4096, ..row() }] });
        let line = "#----------------------------------------------------------------\n";
        assert_eq!(
            text,
            format!(
                "\n{line}# Benchmarking Allreduce \n# #processes = 2 \n{line}       \
                 #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n         \
                 4096         3200         0.07         0.07         0.07\n"
            )
        );
    }

    #[test]
    fn nccl_is_to_the_letter() {
        let rows = [
            BenchRow { apart: true, bytes: 1 << 20, count: 1 << 17, ..row() },
            BenchRow { bytes: 1 << 20, count: 1 << 17, ..row() },
            BenchRow { op: Operation::AllGather, redop: "none", ..row() },
        ];
        let text = Style::Nccl.block(&Block { rows: &rows });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "     1048576        131072    double     sum      -1     \
                 0.06    0.13    0.13      0     0.06    0.13    0.13      0",
                "           8             1    double    none      -1     \
                 0.06    0.13    0.13      0      N/A     N/A     N/A    N/A",
            ]
        );
        // The last header line is as wide as the rows, but for trailing blanks.
        let header = NCCL_HEAD.lines().nth(2).unwrap();
        assert_eq!(header.split_whitespace().count() - 1, lines[0].split_whitespace().count());
        assert_eq!(header.len(), lines[0].len());
    }

    #[test]
    fn sizes_count_as_they_do_there() {
        let sized = |op| BenchRow { op, bytes: 64, ranks: 2, ..row() };
        assert_eq!(block_bytes(&sized(Operation::AllGather)), 32);
        assert_eq!(block_bytes(&sized(Operation::ReduceScatter)), 64);
        assert_eq!(block_bytes(&sized(Operation::Broadcast)), 64);
    }

    #[test]
    fn long_times_keep_their_width() {
        assert_eq!(
            [1.0, 9999.494, 12345.67, 123456.7].map(seven),
            ["1.00", "9999.49", "12345.7", "123457"]
        );
    }
}
