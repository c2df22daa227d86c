//! The heat map as SVG: cells in the machine's order, with borders and brackets around units that
//! share a cache or a package.

use super::heat::{Grid, colour, is_light};
use crate::svg::{document, text};
use std::fmt::Write as _;

/// Pixels of the side of the cells together, at least and at most for a cell.
const SIDE: f64 = 560.0;
const CELL: (f64, f64) = (5.0, 46.0);
/// Between groups, by the depth of the border: the outermost is the widest.
const GAPS: [f64; 3] = [8.0, 5.0, 3.0];
/// A row of brackets.
const BRACKET: f64 = 20.0;
/// Units up to which cells have numbers, and the axes too.
const NUMBERS: usize = 20;
const LABELS: usize = 64;

/// Draws the grid as an SVG document. `below` are lines of text under it.
pub(crate) fn svg(grid: &Grid, below: &[String]) -> String {
    let n = grid.axis.pus.len();
    let cell = (SIDE / n.max(1) as f64).clamp(CELL.0, CELL.1);
    let mut levels: Vec<&str> = Vec::new();
    for span in &grid.axis.spans {
        if !levels.contains(&span.level.as_str()) {
            levels.push(&span.level);
        }
    }
    let margin = 16.0;
    let left = margin + 34.0 + BRACKET * levels.len() as f64;
    let top = margin + 46.0 + BRACKET * levels.len() as f64;
    // The start of each position.
    let mut starts = Vec::with_capacity(n + 1);
    let mut at = 0.0;
    for position in 0..n {
        if let Some(depth) = grid.axis.border(position) {
            at += GAPS[depth.min(GAPS.len() - 1)];
        }
        starts.push(at);
        at += cell;
    }
    let side = at;
    let (width, mut height) = ((left + side + margin).max(430.0), top + side + margin);
    let mut body = String::new();
    text(&mut body, (margin, margin + 8.0), 15, "start", "#0d2b45", &grid.title);
    let ink = "#51606f";
    // Brackets, the outermost level on the outside.
    for span in &grid.axis.spans {
        let depth = levels.iter().position(|l| *l == span.level).unwrap_or(0) as f64;
        let (from, to) = (starts[span.at.start], starts[span.at.end - 1] + cell);
        let name = match span.at.len() as f64 * cell {
            room if room > 60.0 => format!("{} {}", span.level, span.number),
            room if room > 18.0 => span.number.to_string(),
            _ => String::new(),
        };
        let offset = margin + 30.0 + depth * BRACKET;
        text(&mut body, (left + (from + to) / 2.0, offset), 10, "middle", ink, &name);
    }
    if n <= LABELS {
        let size = if cell < 12.0 { 6 } else { 10 };
        for (position, pu) in grid.axis.pus.iter().enumerate() {
            let middle = starts[position] + cell / 2.0;
            let name = pu.to_string();
            text(&mut body, (left + middle, top - 5.0), size, "middle", ink, &name);
            let down = top + middle + f64::from(size) / 3.0;
            text(&mut body, (left - 5.0, down), size, "end", ink, &name);
        }
    }
    let value = |v: f64| if v < 100.0 { format!("{v:.1}") } else { format!("{v:.0}") };
    let mut lines = below.to_vec();
    if let Some((low, high)) = grid.bounds() {
        lines.insert(0, format!("{} to {} {}", value(low), value(high), grid.unit));
    }
    for (i, line) in lines.iter().enumerate() {
        let y = top + side + margin + 30.0 + 14.0 * i as f64;
        text(&mut body, (margin, y), 10, "start", ink, line);
        height = y + margin;
    }
    // Cells over the texts' layer: they never overlap.
    for span in &grid.axis.spans {
        let depth = levels.iter().position(|l| *l == span.level).unwrap_or(0) as f64;
        let (from, to) = (starts[span.at.start], starts[span.at.end - 1] + cell);
        let y = margin + 34.0 + depth * BRACKET;
        let x = margin + 10.0 + depth * BRACKET;
        let _ = writeln!(
            body,
            "<path d=\"M{:.1} {:.1}v-3h{w:.1}v3M{:.1} {:.1}h-3v{w:.1}h3\" fill=\"none\" \
             stroke=\"#8795a5\"/>",
            left + from,
            y + 3.0,
            x + 3.0,
            top + from,
            w = to - from
        );
    }
    for (row, cells) in grid.cells.iter().enumerate() {
        for (column, cell_value) in cells.iter().enumerate() {
            let (x, y) = (left + starts[column], top + starts[row]);
            let (src, dst) = (grid.axis.pus[row], grid.axis.pus[column]);
            let Some(v) = *cell_value else {
                let fill = "#eef1f4";
                let _ = writeln!(
                    body,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{cell:.1}\" height=\"{cell:.1}\" \
                     fill=\"{fill}\"/>"
                );
                continue;
            };
            let shade = colour(grid.position(v));
            let [r, g, b] = shade;
            let _ = writeln!(
                body,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{cell:.1}\" height=\"{cell:.1}\" \
                 fill=\"#{r:02x}{g:02x}{b:02x}\"><title>PU {src} to PU {dst}: {} {}</title></rect>",
                value(v),
                grid.unit
            );
            if n <= NUMBERS {
                let ink = if is_light(shade) { "#0d2b45" } else { "#ffffff" };
                let _ = writeln!(
                    body,
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\" text-anchor=\"middle\" \
                     fill=\"{ink}\">{}</text>",
                    x + cell / 2.0,
                    y + cell / 2.0 + 3.5,
                    value(v)
                );
            }
        }
    }
    // The scale, in 40 steps.
    let y = top + side + margin;
    for step in 0..40 {
        let [r, g, b] = colour(f64::from(step) / 39.0);
        let x = margin + 4.0 * f64::from(step);
        let _ = writeln!(
            body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"4.5\" height=\"8\" \
             fill=\"#{r:02x}{g:02x}{b:02x}\"/>"
        );
    }
    document(width, height, &body)
}

#[cfg(test)]
mod tests {
    use super::super::heat::tests::grid;
    use super::*;

    #[test]
    fn groups_are_set_apart() {
        let drawing = svg(&grid("pack:2 l3:2 core:2 pu:1"), &["<b>".into()]);
        assert!(drawing.starts_with("<svg") && drawing.ends_with("</svg>\n"));
        assert!(drawing.contains(">package 1</text>") && drawing.contains(">l3 3</text>"));
        assert_eq!(drawing.matches("<title>").count(), 56);
        assert!(drawing.contains("PU 0 to PU 7: 200 ns") && drawing.contains("&lt;b&gt;"));
        // Two axes of two packages and four caches: brackets.
        assert_eq!(drawing.matches("<path").count(), 6);
    }

    #[test]
    fn large_machines_stay_small() {
        let drawing = svg(&grid("pack:2 l3:4 core:8 pu:1"), &[]);
        assert_eq!(drawing.matches("<title>").count(), 64 * 63);
        assert!(drawing.len() < 1 << 20);
    }
}
