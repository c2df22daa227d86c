//! The page's sections on the collectives: their curves, and the best algorithm from each size on.

use super::curves::{AS_GOOD, BestFrom, CurveRow, Curves, size, time};
use super::html::{details, escape, table};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The operation with large charts: most programs wait for this one.
pub(crate) const LEAD: &str = "all-reduce";
/// And the one beside it, which has no sizes.
const SECOND: &str = "barrier";

/// The meanings of the names of places, as sentences.
pub(crate) const PLACES: &str = "A place is where the host had the cores of ranks 0 and 1, told by \
    a raw exchange: <b>smt</b> two threads of one core, <b>ccx</b> two cores of one cache (AMD \
    calls that a core complex), <b>far</b> farther apart, <b>any</b> not told apart.";

/// All with their numbers, the most important first.
pub(crate) fn by_weight<T>(all: &[T], op: impl Fn(&T) -> &str) -> Vec<(usize, &T)> {
    let mut sorted: Vec<(usize, &T)> = all.iter().enumerate().collect();
    sorted.sort_by_key(|(_, own)| match op(own) {
        LEAD => 0,
        SECOND => 1,
        _ => 2,
    });
    sorted
}

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
        there and back (calls that go one way may overlap, and cost less). The fastest are shown; \
        the names below a chart show and hide.</p>\n"
        .to_string();
    if all.iter().any(|own| own.place != "any") {
        let _ = writeln!(
            out,
            "<p>{PLACES} A chart is of one place; where an algorithm was only seen while the host \
             had the cores elsewhere, its points are rings.</p>"
        );
    }
    out += "<div class=\"charts\">\n";
    for (number, own) in by_weight(all, |own| &own.op) {
        let mut note = match own.place.as_str() {
            "any" => String::new(),
            place => format!("Place: {place}."),
        };
        if own.curves.iter().any(|curve| !curve.elsewhere.is_empty()) {
            let _ = write!(note, " Rings: {}.", own.others.join(" or "));
        }
        let moved = own.rows.iter().filter(|row| row.drift != "none").count();
        if moved > 0 {
            let _ = write!(
                note,
                " During {moved} of {} measurements something moved; the numbers say what.",
                own.rows.len()
            );
        }
        let class = if own.op == LEAD { " lead" } else { "" };
        let more = details("The numbers", &numbers(own));
        out += &figure(&number.to_string(), &own.op, &note, &more, class);
    }
    if all.is_empty() {
        out += "<p class=\"warning\">Nothing was measured.</p>\n";
    }
    out + "</div></section>\n"
}

/// The meaning of the name of a place.
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
    let head = ["operation", "sizes", "fastest", "as good", "its time", "auto takes, at worst"];
    format!(
        "<section id=\"crossovers\"><h2>The fastest algorithm for each size</h2>\n\
         <p>A row is a range of sizes and the algorithm that is within 5 % of the fastest in all \
         of it. Algorithms that are so, too, stand under <em>as good</em>: on few ranks many send \
         the same messages. The last column is how much longer the automatic choice takes than \
         the fastest, at the worst of these sizes.</p>\n{}</section>\n",
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

/// The data that the script draws of one operation.
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
