//! The page about [`scaling`](super::scaling()): docs/scaling.md.

use super::scaling::MACHINES;
use super::{SCALING_SIZES, ScalingRow, scaling};
use phalanx::schedule::Operation;
use std::error::Error;

/// Ranks of the columns.
const RANKS: [usize; 5] = [2, 4, 16, 64, 256];

/// A default that takes more than so many times the best is counted.
const ALLOWED: f64 = 1.1;
/// And listed.
const LISTED: f64 = 1.25;

const WHY: &str = "
Scans of two and four ranks were measured otherwise ([choice.md](choice.md)). For all-reduces and
broadcasts the estimates follow V6 to V8 ([validation.md](validation.md)), by which stores cost less
than reads. Of the others the estimates know no overlap of steps, and the simulation not that all
ranks' lines pass through one memory.
";

/// Rows of the first table have a default that takes so many times the best.
const SHOWN: f64 = 1.045;

const HEAD: &str = "# Defaults against the number of ranks

**Simulated, not measured** (`phalanx model scaling -o docs/scaling.md`): one rank a core on six
published machines, 2 to 256 ranks. Beyond a machine's cores there are more of its packages (of
Graviton3: more cores), which nobody has built. [validation.md](validation.md) says how good the
model is, [model.md](model.md) what it knows.

A cell is the time of what a team takes if nothing is forced or calibrated, divided by that of the
best algorithm of the catalogue, flat or over levels; of the six machines the largest. Rows without
a number above 1.04 are left out. Bytes are those of the vector, or of a block where there is one
for each rank.

Left out of the catalogue is what the simulation cannot compare: stars that send step by step and
chains, since only the messages of one step share a link in it, and algorithms for several ports,
whose pulls take no time of each other. *Gates* is the way of small calls of up to four ranks, which
cannot be forced.

What a team takes to start, its memory against the number of ranks, and what a call touches is
measured: [start.md](start.md).

";

fn name(id: &str) -> &str {
    MACHINES.iter().find(|machine| machine.0 == id).map_or(id, |machine| machine.1)
}

fn size(bytes: usize) -> String {
    match bytes {
        0 => "-".to_string(),
        1..1024 => bytes.to_string(),
        1024..1048576 => format!("{}K", bytes >> 10),
        _ => format!("{}M", bytes >> 20),
    }
}

/// The page, in Markdown.
///
/// # Errors
/// Those of [`scaling`](super::scaling()).
pub fn scaling_page() -> Result<String, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (id, _) in MACHINES {
        for ranks in RANKS {
            rows.extend(scaling(id, ranks)?);
        }
    }
    Ok(page(&rows))
}

fn page(rows: &[ScalingRow]) -> String {
    let mut out = HEAD.to_string() + "| operation | bytes |";
    out.extend(RANKS.map(|ranks| format!(" {ranks} |")));
    out += &format!("\n|---|---|{}\n", "---|".repeat(RANKS.len()));
    for operation in Operation::ALL {
        let sizes = if operation == Operation::Barrier { &[0][..] } else { &SCALING_SIZES };
        for &bytes in sizes {
            let is_of = |row: &&ScalingRow| row.operation == operation && row.bytes == bytes;
            let own: Vec<&ScalingRow> = rows.iter().filter(is_of).collect();
            if own.iter().all(|row| row.ratio() < SHOWN) {
                continue;
            }
            out += &format!("| {operation} | {} |", size(bytes));
            for ranks in RANKS {
                let ratios = own.iter().filter(|row| row.ranks == ranks).map(|row| row.ratio());
                out += &format!(" {:.2} |", ratios.fold(1.0, f64::max));
            }
            out += "\n";
        }
    }
    let beyond = |most: f64| rows.iter().filter(move |row| row.ratio() > most);
    out += &format!(
        "\n## Exceptions\n\nOf {} defaults {} take more than {ALLOWED} times the best, these more \
         than {LISTED}:\n\n| operation | bytes | machine | ranks | chosen | best | ratio |\n\
         |---|---|---|---|---|---|---|\n",
        rows.len(),
        beyond(ALLOWED).count()
    );
    for row in beyond(LISTED) {
        out += &format!(
            "| {} | {} | {} | {} | {} | {} | {:.2} |\n",
            row.operation,
            size(row.bytes),
            name(row.machine),
            row.ranks,
            row.chosen,
            row.best,
            row.ratio()
        );
    }
    out + WHY
}
