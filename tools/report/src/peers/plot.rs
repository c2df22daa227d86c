//! The comparison as a plot: for each operation, one line of ns over bytes for each program.

use super::merge::{Merged, MergedLine};
use phalanx_bench::measure::caches::CacheState;
use phalanx_bench::measure::proximity::Proximity;
use phalanx_bench::table::of_key;
use plotters::prelude::*;

const COLUMNS: usize = 3;
const PANEL: (u32, u32) = (420, 300);

type Pick = fn(&MergedLine) -> Option<&Merged>;
/// The lines of which contender, in which colour.
const SERIES: [(&str, RGBColor, Pick); 5] = [
    ("phalanx", RGBColor(200, 30, 30), |line| line.ours.as_ref()),
    ("floor", RGBColor(120, 120, 120), |line| line.floor.as_ref()),
    ("Open MPI", RGBColor(30, 90, 200), |line| line.openmpi.as_ref()),
    ("MPICH", RGBColor(20, 140, 90), |line| line.mpich.as_ref()),
    ("OpenMP", RGBColor(190, 130, 0), |line| line.openmp.as_ref()),
];

/// Draws single calls of all operations that have sizes, at the place with the
/// most lines, and state of the caches. None if there is nothing to draw.
pub(crate) fn svg(lines: &[MergedLine]) -> Option<Result<String, String>> {
    let group = fullest(lines)?;
    let shown: Vec<&MergedLine> = lines
        .iter()
        .filter(|line| group_of(line) == group)
        .filter(|line| line.key.bytes > 0 && !line.key.op.ends_with(".b2b"))
        .collect();
    let panels: Vec<&[&MergedLine]> = shown.chunk_by(|a, b| a.key.op == b.key.op).collect();
    (!panels.is_empty()).then(|| draw(&panels, group).map_err(|e| e.to_string()))
}

/// Ranks, place and caches.
type Group = (usize, Proximity, CacheState);

fn group_of(line: &MergedLine) -> Group {
    (line.key.ranks, line.key.place, line.key.caches)
}

fn fullest(lines: &[MergedLine]) -> Option<Group> {
    let mut counts: Vec<(Group, usize)> = Vec::new();
    for line in lines.iter().filter(|line| line.ours.is_some() && line.key.bytes > 0) {
        *of_key(&mut counts, group_of(line)) += 1;
    }
    // Of several, the first.
    counts.into_iter().rev().max_by_key(|count| count.1).map(|count| count.0)
}

fn draw(
    panels: &[&[&MergedLine]],
    (ranks, place, caches): Group,
) -> Result<String, Box<dyn std::error::Error>> {
    let rows = panels.len().div_ceil(COLUMNS);
    let size = (PANEL.0 * COLUMNS as u32, PANEL.1 * rows as u32 + 30);
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, size).into_drawing_area();
        root.fill(&WHITE)?;
        let title = format!(
            "single calls, {ranks} ranks, {place}, {caches}: ns over bytes of the larger buffer"
        );
        let area = root.titled(&title, ("sans-serif", 16))?;
        for (area, panel) in area.split_evenly((rows, COLUMNS)).iter().zip(panels) {
            draw_panel(area, panel)?;
        }
        root.present()?;
    }
    Ok(out)
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    panel: &[&MergedLine],
) -> Result<(), Box<dyn std::error::Error>> {
    let points = |pick: Pick| -> Vec<(f64, f64)> {
        let point = |line: &&MergedLine| Some((line.key.bytes as f64, pick(line)?.ns));
        panel.iter().filter_map(point).collect()
    };
    let all: Vec<(f64, f64)> = SERIES.iter().flat_map(|series| points(series.2)).collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let low = all.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = all.iter().map(of).fold(0.0, f64::max);
        (low / 1.5)..(high * 1.5)
    };
    let mut chart = ChartBuilder::on(area)
        .caption(&panel[0].key.op, ("sans-serif", 14))
        .margin(8)
        .x_label_area_size(26)
        .y_label_area_size(52)
        .build_cartesian_2d(range(|p| p.0).log_scale(), range(|p| p.1).log_scale())?;
    let bytes = |x: &f64| phalanx_bench::byte_size::text(x.round() as usize);
    chart.configure_mesh().light_line_style(TRANSPARENT).x_label_formatter(&bytes).draw()?;
    for (name, colour, pick) in SERIES {
        let points = points(pick);
        if points.is_empty() {
            continue;
        }
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 2, colour.filled())))?;
        chart
            .draw_series(LineSeries::new(points, &colour))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], colour));
    }
    let style = WHITE.mix(0.8);
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(style)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::merge::merge;
    use super::super::raw::{OURS, parse};
    use super::*;

    #[test]
    fn everybody_has_a_line() {
        let mut text = String::new();
        for library in ["phalanx", "floor", "openmpi", "mpich", "openmp-gcc"] {
            for bytes in [8, 1024, 1 << 20] {
                text +=
                    &format!("{library}\tallreduce\t2\t{bytes}\t50\t{bytes}0\t1\tfar\twarm\t9\n");
            }
        }
        let svg = svg(&merge(&parse(&text).0, OURS)).unwrap().unwrap();
        assert!(svg.starts_with("<svg"), "{svg}");
        for wanted in ["allreduce", "2 ranks, far, warm", "phalanx", "Open MPI", "MPICH", "OpenMP"]
        {
            assert!(svg.contains(wanted), "{wanted}");
        }
        assert!(svg.matches("<polyline").count() >= SERIES.len());
        assert!(super::svg(&[]).is_none());
    }
}
