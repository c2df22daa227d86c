//! A drawing of the machine with the ranks on it and the pattern's edges between them.
//!
//! Every vertex of the machine's tree is a box in the box of the vertex above it, every core a
//! square with its rank. Edges have the colour of the level that they cross: the greener, the
//! closer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::matrix::unit_axis::{label, name};
use crate::svg::{document, text};
use phalanx::machine::{Level, Machine};
use phalanx::placement::{Assignment, Pattern};

/// Sizes in pixels: a core, the gap between things, the line of text at the top of a box.
const CORE: f64 = 46.0;
const GAP: f64 = 10.0;
const LABEL: f64 = 16.0;

/// Edges by how far they climb: none (threads of a core), then the innermost group, and so on
/// outwards.
const COLOURS: [&str; 6] = ["#9aa5b1", "#1b9e5a", "#2f7fd1", "#e08e0b", "#d1382f", "#8e44ad"];

/// More lines than this show nothing any more.
const MAX_EDGES: usize = 6000;

/// A box and the things in it.
#[derive(Clone, Copy, Debug, Default)]
struct Rectangle {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Draws the placement as an SVG document.
pub(crate) fn svg(machine: &Machine, pattern: &Pattern, assignment: &Assignment) -> String {
    let (boxes, cores) = layout(machine, pattern.is_chain());
    let top = 46.0;
    let mut ranks_on: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for rank in 0..assignment.ranks() {
        if let Some(core) = assignment.pu(rank).and_then(|pu| machine.core_of(pu)) {
            ranks_on.entry(core).or_default().push(rank);
        }
    }

    let mut body = String::new();
    for (vertex, at) in machine.tree().vertices().iter().zip(&boxes) {
        let shade = if vertex.depth.is_multiple_of(2) { "#f4f6f8" } else { "#ffffff" };
        put(
            &mut body,
            format_args!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 rx=\"6\" fill=\"{shade}\" stroke=\"#8795a5\"/>",
                at.x, at.y, at.width, at.height
            ),
        );
        text(&mut body, (at.x + 7.0, at.y + 12.5), 10, "start", "#51606f", &label(machine, vertex));
    }

    // The edges lie over the boxes and under the cores, so that the numbers stay readable.
    let mut found: BTreeMap<usize, usize> = BTreeMap::new();
    let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
    for &(from, to, _) in pattern.steps().iter().flat_map(|step| &step.messages) {
        if edges.len() == MAX_EDGES {
            break;
        }
        edges.insert((from.min(to), from.max(to)));
    }
    let core_of = |rank: usize| machine.core_of(assignment.pu(rank)?);
    let deepest = machine.tree().vertices().iter().map(|vertex| vertex.depth).max().unwrap_or(0);
    let mut names: BTreeMap<usize, Level> = BTreeMap::new();
    for &(from, to) in &edges {
        let (Some(a), Some(b)) = (core_of(from), core_of(to)) else { continue };
        let climb = if a == b {
            0
        } else {
            let common = &machine.tree().vertices()[machine.tree().common(a, b)];
            let climb = 1 + deepest - common.depth;
            names.entry(climb).or_insert(name(common));
            climb
        };
        *found.entry(climb).or_default() += 1;
        let colour = COLOURS[climb.min(COLOURS.len() - 1)];
        let centre = |core: usize| (cores[core].x + CORE / 2.0, cores[core].y + CORE / 2.0);
        let ((x1, y1), (x2, y2)) = (centre(a), centre(b));
        // Bent, so that edges over a core's head go round it.
        let (mx, my) = ((x1 + x2) / 2.0 + (y1 - y2) * 0.14, (y1 + y2) / 2.0 + (x2 - x1) * 0.14);
        put(
            &mut body,
            format_args!(
                "<path d=\"M{x1:.1} {y1:.1}Q{mx:.1} {my:.1} {x2:.1} {y2:.1}\" fill=\"none\" \
                 stroke=\"{colour}\" stroke-width=\"1.8\" stroke-opacity=\"0.75\"/>"
            ),
        );
    }

    for (index, at) in cores.iter().enumerate() {
        let core = &machine.cores()[index];
        let usable = core.pus.iter().any(|&pu| machine.is_allowed(pu));
        let ranks = ranks_on.get(&index);
        let (fill, stroke) = match (usable, ranks) {
            (false, _) => ("#d9dee3", "#c2c9d0"),
            (true, None) => ("#ffffff", "#8795a5"),
            (true, Some(_)) => ("#ddeefb", "#20619a"),
        };
        put(
            &mut body,
            format_args!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"{w:.1}\" rx=\"4\" \
                 fill=\"{fill}\" fill-opacity=\"0.88\" stroke=\"{stroke}\"/>",
                at.x + 7.0,
                at.y + 7.0,
                w = CORE - 14.0
            ),
        );
        let middle = at.x + CORE / 2.0;
        if let Some(ranks) = ranks {
            let list = match ranks.as_slice() {
                [a] => a.to_string(),
                [a, b] => format!("{a} {b}"),
                [a, ..] => format!("{a} +{}", ranks.len() - 1),
                [] => String::new(),
            };
            let size = if list.len() > 3 { 10 } else { 14 };
            text(&mut body, (middle, at.y + CORE / 2.0 + 3.0), size, "middle", "#0d2b45", &list);
        }
        let pus: Vec<String> = core.pus.iter().take(2).map(usize::to_string).collect();
        text(&mut body, (middle, at.y + CORE - 9.0), 7, "middle", "#708090", &pus.join(","));
    }

    let width = boxes.first().map_or(0.0, |at| at.width).max(420.0) + 2.0 * GAP;
    let bottom = top + boxes.first().map_or(0.0, |at| at.height) + GAP;
    let mut head = String::new();
    let extents: Vec<String> = pattern.extents().iter().map(usize::to_string).collect();
    let extents = match extents.as_slice() {
        [_] => String::new(),
        many => format!(" {}", many.join("x")),
    };
    let title = format!("{} ranks, {}{extents}", assignment.ranks(), pattern.name());
    text(&mut head, (GAP, 20.0), 15, "start", "#0d2b45", &title);
    let source: String = machine.source().cores.chars().take(80).collect();
    let about = format!(
        "{} cores, {} PUs, from {source}. A square is a core: rank, PUs below",
        machine.cores().len(),
        machine.pu_count()
    );
    text(&mut head, (GAP, 37.0), 10, "start", "#51606f", &about);
    let mut y = bottom + 10.0;
    for (climb, count) in &found {
        let colour = COLOURS[(*climb).min(COLOURS.len() - 1)];
        let what = match (names.get(climb), count) {
            (None, _) => "within a core".to_owned(),
            (Some(level), 1) => format!("meets in the {level}"),
            (Some(level), _) => format!("meet in the {level}"),
        };
        put(
            &mut head,
            format_args!(
                "<line x1=\"{GAP}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" \
                 stroke=\"{colour}\" stroke-width=\"3\"/>",
                GAP + 26.0
            ),
        );
        let pairs = if *count == 1 { "pair" } else { "pairs" };
        let line = format!("{count} {pairs} {what}");
        text(&mut head, (GAP + 34.0, y + 4.0), 11, "start", "#0d2b45", &line);
        y += 17.0;
    }
    let body = format!("{head}<g transform=\"translate({GAP},{top})\">\n{body}</g>\n");
    document(width, y, &body)
}

/// Writing to a string cannot fail.
fn put(to: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(to, "{line}");
}

/// Where everything is: a box for each vertex, a corner for each core. With `snake`, every other
/// row runs backwards, so that a ring is a line that winds through the machine.
fn layout(machine: &Machine, snake: bool) -> (Vec<Rectangle>, Vec<Rectangle>) {
    let tree = machine.tree();
    let vertices = tree.vertices();
    let mut boxes = vec![Rectangle::default(); vertices.len()];
    let mut cores =
        vec![Rectangle { x: 0.0, y: 0.0, width: CORE, height: CORE }; machine.cores().len()];
    // Sizes from the inside out, as parents come before children; positions relative to the box.
    for index in (0..vertices.len()).rev() {
        let vertex = &vertices[index];
        let own: Vec<usize> =
            vertex.cores.clone().filter(|&core| tree.above(core) == index).collect();
        // Cores directly in this box are a block of their own, before or after the boxes in it.
        let inner: Vec<(f64, f64)> = vertex
            .children
            .iter()
            .map(|&child| (boxes[child].width, boxes[child].height))
            .collect();
        let cores_first = match (own.first(), vertex.children.first()) {
            (Some(&core), Some(&child)) => core < vertices[child].cores.start,
            _ => true,
        };
        let (mut width, mut height) = (0.0_f64, LABEL + GAP / 2.0);
        for block in [cores_first, !cores_first] {
            let sizes = if block { vec![(CORE, CORE); own.len()] } else { inner.clone() };
            if sizes.is_empty() {
                continue;
            }
            let (spots, w, h) = grid(&sizes, if block { 0.0 } else { GAP }, snake);
            for (number, (x, y)) in spots.into_iter().enumerate() {
                let at = if block {
                    &mut cores[own[number]]
                } else {
                    &mut boxes[vertex.children[number]]
                };
                (at.x, at.y) = (GAP + x, height + y);
            }
            width = width.max(w);
            height += h + GAP;
        }
        // A label must fit, too.
        let words = label(machine, vertex).len() as f64;
        boxes[index].width = (width + 2.0 * GAP).max(5.6 * words + 16.0);
        boxes[index].height = height;
    }
    // From the outside in: absolute positions.
    for index in 0..vertices.len() {
        let (x, y) = (boxes[index].x, boxes[index].y);
        for &child in &vertices[index].children {
            boxes[child].x += x;
            boxes[child].y += y;
        }
        for core in vertices[index].cores.clone().filter(|&core| tree.above(core) == index) {
            cores[core].x += x;
            cores[core].y += y;
        }
    }
    (boxes, cores)
}

/// Puts things in rows: their corners, and the size of it all.
fn grid(sizes: &[(f64, f64)], gap: f64, snake: bool) -> (Vec<(f64, f64)>, f64, f64) {
    let columns = columns(sizes);
    let (mut spots, mut y, mut width) = (Vec::with_capacity(sizes.len()), 0.0, 0.0_f64);
    for (number, row) in sizes.chunks(columns).enumerate() {
        let mut x = 0.0;
        let start = spots.len();
        for &(w, _) in row {
            spots.push((x, y));
            x += w + gap;
        }
        if snake && number % 2 == 1 {
            // Mirrored within the width of a full row, so that a short last row is on the right.
            let full = width.max(x - gap);
            for (spot, &(w, _)) in spots[start..].iter_mut().zip(row) {
                spot.0 = full - spot.0 - w;
            }
        }
        width = width.max(x - gap);
        y += row.iter().map(|&(_, h)| h).fold(0.0, f64::max) + gap;
    }
    (spots, width, y - gap)
}

/// How many things side by side make a box about twice as wide as high.
fn columns(sizes: &[(f64, f64)]) -> usize {
    let (width, height) = sizes.first().copied().unwrap_or((1.0, 1.0));
    let count = sizes.len().max(1);
    let ideal = (2.0 * count as f64 * height / width).sqrt().round() as usize;
    // Full rows look better: the next divisor, when there is one close by.
    (ideal.clamp(1, count)..=count.min(2 * ideal.max(1)))
        .find(|&columns| count.is_multiple_of(columns))
        .unwrap_or(ideal.clamp(1, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::placement::{Placement, assign};

    #[test]
    fn every_rank_is_drawn() {
        let machine = Machine::from_synthetic("pack:2 l3:2 core:3 pu:1").unwrap();
        let ring = Pattern::ring(12).unwrap();
        let drawing = svg(&machine, &ring, &assign(&Placement::Ring, &machine, 12).unwrap());
        for rank in 0..12 {
            assert!(drawing.contains(&format!(">{rank}</text>")), "{rank}");
        }
        assert!(drawing.contains("pairs meet in the L3"));
        assert!(drawing.contains("pairs meet in the machine"));
        // Unpinned ranks are nowhere.
        let unpinned = svg(&machine, &ring, &assign(&Placement::Unpinned, &machine, 12).unwrap());
        assert!(!unpinned.contains("<path"));
    }
}
