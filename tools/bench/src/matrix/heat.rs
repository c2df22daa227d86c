//! Colours, and the heat map in a terminal.

use super::unit_axis::Axis;
use std::fmt::Write as _;

/// From low to high: dark blue, teal, green, yellow. Lightness grows all the
/// way, so it also reads without colours.
const SCALE: [[u8; 3]; 5] =
    [[38, 50, 110], [34, 112, 142], [38, 160, 130], [130, 205, 85], [250, 230, 60]];

/// Units up to which numbers are printed in the cells.
const NUMBERS: usize = 24;

/// A quantity for each ordered pair of units.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) axis: Axis,
    /// Rows of cells in the axis's order; none where nothing was measured.
    pub(crate) cells: Vec<Vec<Option<f64>>>,
    /// The unit of the cells.
    pub(crate) unit: &'static str,
    pub(crate) title: String,
}

impl Grid {
    /// Empty cells.
    pub(crate) fn new(axis: Axis, unit: &'static str, title: String) -> Self {
        let n = axis.pus.len();
        Grid { axis, cells: vec![vec![None; n]; n], unit, title }
    }

    /// Sets the cell of two units, by their numbers.
    pub(crate) fn set(&mut self, src: usize, dst: usize, value: f64) {
        let at = |pu| self.axis.pus.iter().position(|&p| p == pu);
        if let (Some(row), Some(column)) = (at(src), at(dst)) {
            self.cells[row][column] = Some(value);
        }
    }

    /// The lowest and the highest cell.
    pub(crate) fn bounds(&self) -> Option<(f64, f64)> {
        let all = || self.cells.iter().flatten().flatten().copied();
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    }

    /// Where a value lies between the bounds, 0 to 1.
    pub(crate) fn position(&self, value: f64) -> f64 {
        self.bounds().map_or(0.0, |(low, high)| position(value, low, high))
    }
}

/// Where a value lies between two bounds, 0 to 1, on a logarithmic scale of a factor of 1.5 at
/// least, so that noise does not fill the scale.
pub fn position(value: f64, low: f64, high: f64) -> f64 {
    match low > 0.0 && high > low {
        true => ((value / low).ln() / (high / low).max(1.5).ln()).clamp(0.0, 1.0),
        false => 0.0,
    }
}

/// The colour of a position between 0 and 1.
pub fn colour(position: f64) -> [u8; 3] {
    let at = position.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let below = (at.floor() as usize).min(SCALE.len() - 2);
    let part = at - below as f64;
    let mix = |i: usize| {
        let (a, b) = (f64::from(SCALE[below][i]), f64::from(SCALE[below + 1][i]));
        (a + (b - a) * part).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

/// Whether black letters read better than white ones on a colour.
pub fn is_light([r, g, b]: [u8; 3]) -> bool {
    0.3 * f64::from(r) + 0.59 * f64::from(g) + 0.11 * f64::from(b) > 120.0
}

/// The heat map as text: numbers for few units, a digit from 0 (lowest) to 9
/// (highest) for many; with colours where a terminal shows them.
pub(crate) fn text(grid: &Grid, colours: bool) -> String {
    let Some((low, high)) = grid.bounds() else { return String::new() };
    let n = grid.axis.pus.len();
    let numbers = n <= NUMBERS;
    let widest = grid.axis.pus.iter().map(|pu| pu.to_string().len()).max().unwrap_or(1);
    let value = |v: f64| if high < 100.0 { format!("{v:.1}") } else { format!("{v:.0}") };
    let longest = value(high).len().max(value(low).len());
    let width = if numbers { longest.max(widest) + 1 } else { 1 };
    let mut out = format!("{} ({}), from the row's PU to the column's\n", grid.title, grid.unit);
    let gap = |at: usize| if grid.axis.border(at).is_some() { " " } else { "" };
    let label = widest.max(3);
    let mut header = |name: &str, cell: &dyn Fn(usize) -> String| {
        let _ = write!(out, "{name:>label$} ");
        for at in 0..n {
            let _ = write!(out, "{}{}", gap(at), cell(at));
        }
        out.push('\n');
    };
    if numbers {
        header("PU", &|at| format!("{:>width$}", grid.axis.pus[at]));
    } else {
        // The numbers stand upright.
        for digit in 0..widest {
            let place = |at: usize| {
                let text = format!("{:>widest$}", grid.axis.pus[at]);
                text[digit..=digit].to_string()
            };
            header(if digit == 0 { "PU" } else { "" }, &place);
        }
    }
    for (row, cells) in grid.cells.iter().enumerate() {
        if row > 0 && grid.axis.border(row) == Some(0) {
            out.push('\n');
        }
        let _ = write!(out, "{:>label$} ", grid.axis.pus[row]);
        for (column, cell) in cells.iter().enumerate() {
            out += gap(column);
            let Some(v) = *cell else {
                let _ = write!(out, "{:>width$}", if numbers { "-" } else { "." });
                continue;
            };
            let position = grid.position(v);
            let shown = match numbers {
                true => format!("{:>width$}", value(v)),
                false => ((position * 9.0).round() as u8).to_string(),
            };
            match colours {
                true => out += &painted(&shown, colour(position)),
                false => out += &shown,
            }
        }
        out.push('\n');
    }
    if !numbers {
        let _ = writeln!(out, "0 = {}, 9 = {} {}, logarithmic", value(low), value(high), grid.unit);
    }
    out
}

fn painted(text: &str, [r, g, b]: [u8; 3]) -> String {
    let ink = if is_light([r, g, b]) { 30 } else { 97 };
    format!("\x1b[{ink};48;2;{r};{g};{b}m{text}\x1b[0m")
}

/// Whether colours may be used: a terminal, and nobody asked for none.
pub(crate) fn colours(to_stdout: bool) -> bool {
    to_stdout
        && std::io::IsTerminal::is_terminal(&std::io::stdout())
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && std::env::var_os("TERM").is_none_or(|v| v != "dumb")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use phalanx::machine::Machine;

    pub(crate) fn grid(text: &str) -> Grid {
        let machine = Machine::from_synthetic(text).unwrap();
        let axis = Axis::new(&machine, machine.allowed_pus());
        let mut grid = Grid::new(axis, "ns", "round trip".into());
        for a in machine.allowed_pus() {
            for b in machine.allowed_pus() {
                if a != b {
                    let near = crate::matrix::unit_axis::shared(&machine, *a, *b) != "machine";
                    grid.set(*a, *b, if near { 50.0 } else { 200.0 });
                }
            }
        }
        grid
    }

    #[test]
    fn few_units_have_numbers() {
        let out = text(&grid("pack:2 core:2 pu:1"), false);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[1], " PU    0   1    2   3");
        assert_eq!(lines[2], "  0    -  50  200 200");
        assert_eq!(lines[4], "", "a gap between packages: {out}");
        assert_eq!(lines[5], "  2  200 200    -  50");
    }

    #[test]
    fn many_units_have_digits() {
        let out = text(&grid("pack:2 core:16 pu:1"), false);
        assert!(out.contains("0 = 50, 9 = 200 ns"), "{out}");
        let row = out.lines().nth(3).unwrap();
        assert_eq!(row, "  0 .000000000000000 9999999999999999");
    }

    #[test]
    fn colours_grow_lighter() {
        let light = |at: f64| colour(at).iter().map(|&c| u32::from(c)).sum::<u32>();
        for i in 0..10 {
            assert!(light(f64::from(i) / 10.0) < light(f64::from(i + 1) / 10.0));
        }
        assert!(text(&grid("core:2 pu:1"), true).contains("\x1b[0m"));
        let machine = Machine::from_synthetic("core:1 pu:1").unwrap();
        let alone = Grid::new(Axis::new(&machine, &[0]), "ns", String::new());
        assert_eq!(text(&alone, false), "");
    }
}
