//! A schedule drawn like the book's figures: the blocks of each rank after each step.

use super::state::State;
use phalanx::schedule::{Schedule, trace};
use phalanx::topology::Extents;

/// Above this many columns of text every step is drawn by itself.
const WIDE: usize = 150;

/// Above this many ranks the messages are not listed.
const MANY: usize = 64;

/// One column of cells for every step, the start first.
fn columns(schedule: &Schedule) -> Vec<Vec<String>> {
    let ranks = schedule.contract().ranks;
    let mut state = State::new(schedule.contract());
    let cells = |state: &State| (0..ranks).map(|rank| state.cell(rank)).collect::<Vec<_>>();
    let mut columns = vec![cells(&state)];
    for step in 0..schedule.steps() {
        state.step(schedule, step);
        columns.push(cells(&state));
    }
    columns
}

/// The figure: a row per rank and a column per step; of a mesh, a grid per
/// step with row 0 at the bottom.
pub(crate) fn draw(schedule: &Schedule, mesh: Option<&Extents>) -> String {
    let columns = columns(schedule);
    let title = |step: usize| match step {
        0 => "start".to_string(),
        n => format!("step {n}"),
    };
    let mut out = String::new();
    match mesh.filter(|m| m.columns() > 1 && m.columns() < m.ranks()) {
        Some(mesh) => {
            out += "held, row 0 at the bottom\n";
            for (step, cells) in columns.iter().enumerate() {
                out += &format!("\n{}\n{}", title(step), grid(mesh, cells));
            }
        }
        None => {
            let width = |column: &Vec<String>| column.iter().map(String::len).max().unwrap_or(0);
            let widths: Vec<usize> = columns.iter().map(|c| width(c).max(6)).collect();
            let label = (columns[0].len() - 1).to_string().len().max(4);
            let total: usize = label + widths.iter().map(|w| w + 2).sum::<usize>();
            if total <= WIDE {
                out += &format!("{:>label$}", "rank");
                for (step, width) in widths.iter().enumerate() {
                    out += &format!("  {:<width$}", title(step));
                }
                out = trimmed(out) + "\n";
                for rank in 0..columns[0].len() {
                    let mut line = format!("{rank:>label$}");
                    for (column, width) in columns.iter().zip(&widths) {
                        line += &format!("  {:<width$}", column[rank]);
                    }
                    out += &(trimmed(line) + "\n");
                }
            } else {
                for (step, column) in columns.iter().enumerate() {
                    out += &format!("{}\n", title(step));
                    for (rank, cell) in column.iter().enumerate() {
                        out += &format!("{rank:>label$}  {cell}\n");
                    }
                }
            }
        }
    }
    if columns[0].len() <= MANY {
        out += &messages(schedule);
    }
    out
}

fn trimmed(text: String) -> String {
    text.trim_end().to_string()
}

/// The rows of a mesh, the first at the bottom.
fn grid(mesh: &Extents, cells: &[String]) -> String {
    let width = cells.iter().map(String::len).max().unwrap_or(0);
    let label = (cells.len() - 1).to_string().len();
    let lines = cells.chunks(mesh.columns()).enumerate().map(|(row, line)| {
        let cells: Vec<String> = line.iter().map(|cell| format!("{cell:<width$}")).collect();
        let first = row * mesh.columns();
        let last = first + mesh.columns() - 1;
        trimmed(format!("  {first:>label$}..{last:<label$}  {}", cells.join("  "))) + "\n"
    });
    let mut lines: Vec<String> = lines.collect();
    // Planes of more dimensions are kept apart.
    let rows = if let d @ 3.. = mesh.dimensions() { mesh.extent(d - 2) } else { lines.len() };
    for plane in (rows..lines.len()).step_by(rows.max(1)) {
        lines[plane] += "\n";
    }
    lines.reverse();
    lines.concat()
}

/// The sender and receiver of each message, a line for each step.
fn messages(schedule: &Schedule) -> String {
    let mut out = String::from("\nmessages\n");
    let all: Vec<(usize, String)> =
        trace(schedule).map(|m| (m.step, format!("{}>{}", m.src, m.dst))).collect();
    for step in all.chunk_by(|a, b| a.0 == b.0) {
        let arcs: Vec<&str> = step.iter().map(|(_, arc)| arc.as_str()).collect();
        out += &format!("  step {}: {}\n", step[0].0, arcs.join(" "));
    }
    if all.is_empty() {
        out += "  none\n";
    }
    out
}
