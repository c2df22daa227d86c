//! The page's sections on the collectives: their curves, and the best algorithm from each size on.

use super::curves::{AS_GOOD, BestFrom, CurveRow, Curves, size, time};
use super::html::{details, escape, table};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Names that a cell of a table holds.
const NAMES: usize = 3;

/// The charts.
pub(crate) fn collectives(all: &[Curves]) -> String {
    let mut out = "<section id=\"collectives\"><h2>Collectives: measured, modelled, and the raw \
        exchange</h2>\n\
        <p>Time of one call over the bytes of a rank's larger buffer, both axes logarithmic. The \
        thick line is what the library chooses by itself (<code>auto</code>); each thin one is an \
        algorithm, dashed in the same colour what the model says of it. Dotted is the raw exchange \
        of two flags between the same cores at the same time: what the hardware takes for one step \
        there and back (calls that go one way may overlap, and cost less). The best five are \
        shown; the buttons show and hide.</p>\n<div class=\"charts\">\n"
        .to_string();
    for (number, own) in all.iter().enumerate() {
        let mut note = match own.place.as_str() {
            "any" => String::new(),
            place => format!("Measured while the cores were {}.", place_of(place)),
        };
        if own.curves.iter().any(|curve| !curve.elsewhere.is_empty()) {
            let others = own.others.iter().map(|place| place_of(place));
            let _ = write!(
                note,
                " The host moved them meanwhile: rings are points that were only seen while they \
                 were {}.",
                others.collect::<Vec<_>>().join(" or ")
            );
        }
        let moved = own.rows.iter().filter(|row| row.drift != "none").count();
        if moved > 0 {
            let _ = write!(
                note,
                " During {moved} of {} measurements something moved; the numbers say what.",
                own.rows.len()
            );
        }
        out += &figure(
            &number.to_string(),
            &own.op,
            &note,
            &details("The numbers", &numbers(own)),
            "",
        );
    }
    if all.is_empty() {
        out += "<p class=\"warning\">Nothing was measured.</p>\n";
    }
    out + "</div></section>\n"
}

/// What the names of places mean.
pub(crate) fn place_of(place: &str) -> String {
    match place {
        "smt" => "threads of one core (smt)".to_string(),
        "ccx" => "near each other, in one cache (ccx)".to_string(),
        "far" => "far from each other (far)".to_string(),
        "any" => "anywhere".to_string(),
        other => other.to_string(),
    }
}

/// The frame of a chart; the script draws into it.
pub(crate) fn figure(key: &str, title: &str, note: &str, more: &str, class: &str) -> String {
    let title = escape(title);
    format!(
        "<figure class=\"chart{class}\" data-chart=\"{key}\"><h3>{title}</h3><div \
         class=\"plot\"></div>\
         <p class=\"read\" aria-live=\"polite\"></p><div class=\"legend\" role=\"group\" \
         aria-label=\"Curves of {title}\"></div>\n\
         <figcaption>{}</figcaption>\n{more}</figure>\n",
        escape(note)
    )
}

fn numbers(own: &Curves) -> String {
    let at = |points: &[(u64, f64)], bytes| {
        points.iter().find(|p| p.0 == bytes).map_or(String::new(), |p| time(p.1))
    };
    let model = |row: &CurveRow| {
        let curve =
            own.curves.iter().find(|c| c.algorithm == row.algorithm && row.place == own.place);
        curve.map_or(String::new(), |curve| at(&curve.model, row.bytes))
    };
    let line = |row: &CurveRow| {
        vec![
            row.algorithm.clone(),
            row.place.clone(),
            if row.drift == "none" { String::new() } else { row.drift.clone() },
            if row.bytes == 0 { "-".to_string() } else { size(row.bytes) },
            time(row.ns),
            row.ci.map(time).join(" to "),
            format!("{} of {}", row.outliers, row.samples),
            model(row),
            row.floor.map_or(String::new(), time),
        ]
    };
    let mut rows: Vec<&CurveRow> = own.rows.iter().collect();
    let order = |row: &CurveRow| own.curves.iter().position(|c| c.algorithm == row.algorithm);
    rows.sort_by_key(|row| (order(row), row.bytes));
    let rows: Vec<Vec<String>> = rows.into_iter().map(line).collect();
    let head = [
        "algorithm",
        "place",
        "moved",
        "size",
        "median",
        "95 % interval",
        "outliers",
        "modelled",
        "raw exchange",
    ];
    let about = "<p>Outliers lie more than 3 interquartile ranges above the upper quartile; they \
        are counted and left in. Moved: what changed while the row was measured: the raw exchange \
        (floor: frequency, or a neighbour), time stolen by the host (steal), the cores \
        (place).</p>\n";
    table(&format!("{}: medians", own.op), &head, 3, &rows) + about
}

/// The table of crossovers.
pub(crate) fn crossovers(all: &[Curves]) -> String {
    let line = |op: &str, best: &BestFrom| {
        let sizes = match (best.from, best.to) {
            (0, _) => "-".to_string(),
            (from, to) if from == to => size(from),
            (from, to) => format!("{} to {}", size(from), size(to)),
        };
        let [first, last] = best.ns.map(time);
        let times = if best.from == best.to { first } else { format!("{first} to {last}") };
        let slower = best.auto.map_or("not measured here".to_string(), |ratio| match ratio {
            ratio if ratio <= AS_GOOD => "as good".to_string(),
            ratio if ratio < 2.0 => format!("{:.0} % longer", (ratio - 1.0) * 100.0),
            ratio => format!("{ratio:.1} x as long"),
        });
        vec![op.to_string(), sizes, best.algorithm.clone(), some(&best.as_good), times, slower]
    };
    let rows: Vec<Vec<String>> = all
        .iter()
        .flat_map(|own| own.best().into_iter().map(|best| line(&own.op, &best)))
        .collect();
    let head =
        ["operation", "sizes", "best", "as good", "time of the best", "auto takes, at worst"];
    format!(
        "<section id=\"crossovers\"><h2>Who is best from which size</h2>\n\
         <p>The fastest algorithm by name, for as many of the measured sizes as it is within 5 % \
         of the best; who is so, too, is as good. On few ranks many algorithms send the same \
         messages. The last column is the price of the automatic choice.</p>\n{}</section>\n",
        table("The fastest algorithm by size", &head, 4, &rows)
    )
}

/// The first names, and how many more.
fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES)].join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What the script draws of one operation.
pub(crate) fn chart(own: &Curves) -> Value {
    let curves: Vec<Value> = own
        .curves
        .iter()
        .map(|c| {
            json!({
                "name": c.algorithm, "points": c.points, "elsewhere": c.elsewhere,
                "model": c.model,
            })
        })
        .collect();
    json!({
        "title": own.op,
        "x": "Size of a rank's larger buffer",
        "y": "Time of one call",
        "floor": own.floor,
        "curves": curves,
        "sizes": own.sizes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_names_are_cut() {
        let names = ["A", "B", "C", "D", "E"].map(String::from);
        assert_eq!(some(&names[..2]), "A, B");
        assert_eq!(some(&names), "A, B, C and 2 more");
    }
}
