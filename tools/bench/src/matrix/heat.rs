//! Colours, and the numbers in a terminal.

use super::unit_axis::Axis;

/// From low to high: dark blue, teal, green, yellow. Lightness grows all the
/// way, so it also reads without colours.
const SCALE: [[u8; 3]; 5] =
    [[38, 50, 110], [34, 112, 142], [38, 160, 130], [130, 205, 85], [250, 230, 60]];

/// Units up to which numbers are printed.
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

/// The numbers, for few units; of more, how to draw them.
pub(crate) fn text(grid: &Grid) -> String {
    let Some((low, high)) = grid.bounds() else { return String::new() };
    let pus = &grid.axis.pus;
    if pus.len() > NUMBERS {
        return format!("{}: svg and tsv have all {} units\n", grid.title, pus.len());
    }
    let digits = usize::from(high < 100.0);
    let value = |v: f64| format!("{v:.digits$}");
    let widest = pus.iter().map(|pu| pu.to_string().len()).max().unwrap_or(1);
    let width = value(high).len().max(value(low).len()).max(widest) + 1;
    let label = widest.max(3);
    let cells = |texts: Vec<String>| {
        let cell = |(at, text): (usize, &String)| {
            let gap = if grid.axis.border(at).is_some() { " " } else { "" };
            format!("{gap}{text:>width$}")
        };
        texts.iter().enumerate().map(cell).collect::<String>()
    };
    let mut out = format!("{} ({}), from the row's PU to the column's\n", grid.title, grid.unit);
    out += &format!("{:>label$} {}\n", "PU", cells(pus.iter().map(usize::to_string).collect()));
    for (row, (pu, of_row)) in pus.iter().zip(&grid.cells).enumerate() {
        if row > 0 && grid.axis.border(row) == Some(0) {
            out.push('\n');
        }
        let texts = of_row.iter().map(|cell| cell.map_or("-".to_string(), value)).collect();
        out += &format!("{pu:>label$} {}\n", cells(texts));
    }
    out
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
        let out = text(&grid("pack:2 core:2 pu:1"));
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[1], " PU    0   1    2   3");
        assert_eq!(lines[2], "  0    -  50  200 200");
        assert_eq!(lines[4], "", "a gap between packages: {out}");
        assert_eq!(lines[5], "  2  200 200    -  50");
    }

    #[test]
    fn of_many_units_there_is_a_drawing() {
        let out = text(&grid("pack:2 core:16 pu:1"));
        assert_eq!(out, "round trip: svg and tsv have all 32 units\n");
    }

    #[test]
    fn colours_grow_lighter() {
        let light = |at: f64| colour(at).iter().map(|&c| u32::from(c)).sum::<u32>();
        for i in 0..10 {
            assert!(light(f64::from(i) / 10.0) < light(f64::from(i + 1) / 10.0));
        }
        let machine = Machine::from_synthetic("core:1 pu:1").unwrap();
        let alone = Grid::new(Axis::new(&machine, &[0]), "ns", String::new());
        assert_eq!(text(&alone), "");
    }
}
