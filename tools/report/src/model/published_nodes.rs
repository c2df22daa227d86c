//! The curves V6 to V8: all-reduces, broadcasts and reductions of three libraries on two nodes,
//! by size, beside the model.

use phalanx_model::published::{
    Asked, Curve, Machine, STATED_ERROR as FAR, curves, fitted, machines, sizes,
};
use serde_json::{Value, json};

/// The error within which four fifths of the points are promised.
const NEAR: f64 = 0.3;

/// One published number beside the model's.
#[derive(Clone, Debug)]
pub(crate) struct CollectivePoint {
    curve: Curve,
    bytes: f64,
    fitted: bool,
    published_us: f64,
    model_us: f64,
}

impl CollectivePoint {
    fn ratio(&self) -> f64 {
        self.model_us / self.published_us
    }

    fn is_near(&self) -> bool {
        (self.ratio() - 1.0).abs() <= NEAR
    }

    fn is_far(&self) -> bool {
        !(1.0 / FAR..=FAR).contains(&self.ratio())
    }

    fn name(&self) -> String {
        let Curve { operation, machine, library, ranks, .. } = &self.curve;
        format!("{operation} {machine} {ranks} {library} {}", self.bytes)
    }

    fn number(&self) -> &'static str {
        match &*self.curve.operation {
            "allreduce" => "V6",
            "bcast" => "V7",
            _ => "V8",
        }
    }
}

/// The points beyond a factor of 1.6, and their reasons.
const MISSED: &[(&str, &str)] = &[
    (
        "bcast epyc-2x64 128 ext_mpi 16384",
        "the published curve stands still from 4 to 16 KiB, as if a rank's stores into the others' \
         vectors cost nothing; the model's cores read what they pass on line by line",
    ),
    (
        "reduce epyc-2x64 128 ext_mpi 8388608",
        "published, it grows three-fold from 2 to 4 MiB and more than two-fold from there: the \
         caches of four cores end at once; the model's end more slowly",
    ),
    (
        "allreduce epyc-2x64 128 ext_mpi 4194304",
        "as for the reduction: published, it grows four-fold from 2 to 4 MiB",
    ),
    (
        "bcast grace 72 openmpi 4194304",
        "its algorithm at this size is not known; of the model's, a tree in segments is the \
         fastest, and pays for memory that the published run does not seem to need yet",
    ),
    (
        "reduce grace 72 ext_mpi 1048576",
        "published, it grows 3.8-fold from 512 KiB; the model's caches hold these vectors",
    ),
];

/// All points, in the order of the published rows.
pub(crate) fn points() -> Vec<CollectivePoint> {
    let machines = machines();
    let mut all = Vec::new();
    for curve in curves(false) {
        let Some(machine) = machines.iter().find(|m| m.name == curve.machine) else { continue };
        let asked = Asked {
            library: &curve.library,
            how: "",
            operation: &curve.operation,
            ranks: curve.ranks,
            spread: false,
        };
        for (place, bytes) in sizes().enumerate() {
            let Some(model_us) = machine.predict(&asked, bytes) else { continue };
            let (fitted, published_us) = (fitted(place), curve.us[place]);
            all.push(CollectivePoint {
                curve: curve.clone(),
                bytes,
                fitted,
                published_us,
                model_us,
            });
        }
    }
    all
}

/// How many statements about the points are untrue: four fifths near, and far just those that the
/// list of misses has.
pub(crate) fn wrong(points: &[CollectivePoint]) -> usize {
    let near = points.iter().filter(|p| p.is_near()).count();
    let missed = |p: &&CollectivePoint| MISSED.iter().any(|m| m.0 == p.name());
    usize::from(near * 5 < points.len() * 4)
        + points.iter().filter(|p| p.is_far() != missed(p)).count()
}

/// A row of the machine-readable output.
pub(crate) fn row(p: &CollectivePoint) -> Vec<Value> {
    let round = |x: f64| json!((x * 100.0).round() / 100.0);
    vec![
        json!(p.number()),
        json!(p.name()),
        json!(p.curve.ranks),
        round(p.published_us),
        round(p.model_us),
        round(p.ratio() - 1.0),
        Value::Null,
    ]
}

/// The section of the page.
pub(super) fn section(points: &[CollectivePoint]) -> String {
    let share = |of: &dyn Fn(&CollectivePoint) -> bool| {
        let all: Vec<&CollectivePoint> = points.iter().filter(|p| of(p)).collect();
        let near = all.iter().filter(|p| p.is_near()).count();
        let far = all.iter().filter(|p| p.is_far()).count();
        (near, all.len(), far)
    };
    let (near, all, far) = share(&|_| true);
    let (predicted, of, _) = share(&|p| !p.fitted);
    let mut out = format!(
        "\n## V6 to V8: all-reduce, broadcast and reduce by size\n\n\
         Medians of ten runs of OSU's benchmarks on one node (tools/model/src/published), the mean \
         over the ranks: V6 all-reduce, V7 broadcast, V8 reduce. Each library by its own schedule: \
         of MPICH the faster of its blocking calls (release and gather by flags of 8 bytes and \
         cells of 8 KiB) and its persistent ones (messages), of ext_mpi the best of its authors' \
         sets of radices. Open MPI's build on EPYC is erratic and left out.\n\n\
         {near} of {all} points are within 30 %, {} within a factor of 1.6. A third of the points, \
         every third size, was fitted to, and was listed in \
         tools/model/src/published/fit-points.tsv before the fit; of the {of} others {predicted} \
         are within 30 %. **The effects were chosen in sight of all three numbers of ranks**; \
         other numbers were not looked at. From ext_mpi's repository its sources and its job \
         scripts (with the radices of all its runs) were read, of its results only these rows.\n\n\
         What a fit without whole numbers of ranks predicts for them: fitted to Grace's 72 ranks \
         alone, with 350 ns and 0.5 ns a line between the packages, which nothing was fitted to, \
         60 of the 72 points of 288 ranks are within 30 % and 68 within 1.6. Fitted to the \
         all-reduces of 288 ranks alone the points of 72 ranks come out badly (196 of all 288 \
         points within 30 %): software, and all of broadcast and reduce, cannot be told from \
         them.\n\n",
        all - far
    );
    out += "Modelled over published, the lowest and the highest of the 24 sizes; `phalanx model \
            validate --format tsv` prints each point:\n\n\
            | curve | machine | ranks | library | within 30 % | lowest | highest |\n\
            |---|---|---|---|---|---|---|\n";
    for row in points.chunk_by(|a, b| a.curve == b.curve) {
        let Curve { machine, ranks, library, operation, .. } = &row[0].curve;
        let mut by_ratio: Vec<&CollectivePoint> = row.iter().collect();
        by_ratio.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let at = |p: &CollectivePoint| format!("{:.2} at {}", p.ratio(), short(p.bytes));
        let near = row.iter().filter(|p| p.is_near()).count();
        out += &format!(
            "| {} {operation} | {machine} | {ranks} | {library} | {near} of {} | {} | {} |\n",
            row[0].number(),
            row.len(),
            at(by_ratio[0]),
            at(by_ratio[row.len() - 1])
        );
    }
    out += "\nBeyond a factor of 1.6:\n\n";
    for p in points.iter().filter(|p| p.is_far()) {
        let why = MISSED.iter().find(|m| m.0 == p.name()).map_or("no reason known", |m| m.1);
        out += &format!("- {} bytes, {:.2}: {why}.\n", p.name(), p.ratio());
    }
    out += "\nThe constants (tools/model/src/published/machine.rs): given are cores and caches, \
            EPYC's hand-offs and links, and the transfers for a written line; fitted is the rest \
            (EPYC's with 0.5 ns a line on the links; 0.44 is kept). Those at the end of their \
            range (a core's writes in flight, one hand-off a message on EPYC, Open MPI's mapped \
            messages) are not determined by the curves.\n";
    out + &ours(points)
}

/// Ours, in microseconds, beside a measured time of the best library.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    /// Ahead, the model's error taken against us.
    Ahead,
    /// Not ahead, but no schedule would be, by these clocks.
    Bound,
    Near,
    Behind,
}

impl Standing {
    fn of(machine: &Machine, p: &CollectivePoint, us: f64) -> Self {
        let Curve { operation, ranks, .. } = &p.curve;
        let bound = machine.bound(operation, *ranks, p.bytes);
        match p.published_us {
            measured if us * (1.0 + NEAR) < measured => Standing::Ahead,
            _ if bound.is_some_and(|bound| us < bound * (1.0 + NEAR)) => Standing::Bound,
            measured if us / (1.0 + NEAR) > measured => Standing::Behind,
            _ => Standing::Near,
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Standing::Ahead => " +",
            Standing::Bound => " =",
            Standing::Near => " ~",
            Standing::Behind => " -",
        }
    }
}

/// This library's defaults beside the best measured library's times.
fn ours(points: &[CollectivePoint]) -> String {
    let mut out = String::from(
        "\n## This library on these nodes\n\n\
         **Modelled, not measured**: the schedules that this library chooses by itself on these \
         nodes, by the same clocks, / ext_mpi's measured times, in us. `+`: ahead with the model's \
         30 % taken against us. `=`: not, but no schedule would be: within 30 % of the bound that \
         reading and storing each word once, or memory, sets by these clocks. `~`: neither ahead \
         nor behind by 30 %; `-`: behind. The choice is made by the library's own estimates, with \
         the rates that were fitted here (tuning/published-machines.tsv).\n\n\
         | curve | machine | ranks |",
    );
    let shown = |bytes: f64| bytes.log2() as u32 % 3 == 1;
    sizes().filter(|b| shown(*b)).for_each(|b| out += &format!(" {} |", short(b)));
    out += &format!("\n|{}\n", "---|".repeat(3 + sizes().filter(|b| shown(*b)).count()));
    let machines = machines();
    let rows = points.chunk_by(|a, b| a.curve == b.curve);
    for row in rows.filter(|row| row[0].curve.library == "ext_mpi") {
        let Curve { operation, machine, ranks, .. } = &row[0].curve;
        let asked = Asked { library: "phalanx", how: "", operation, ranks: *ranks, spread: false };
        let found = machines.iter().find(|m| m.name == machine);
        out += &format!("| {} {operation} | {machine} | {ranks} |", row[0].number());
        for p in row.iter().filter(|p| shown(p.bytes)) {
            let us = |m: &Machine| m.predict(&asked, p.bytes);
            let cell = found.and_then(|m| Some((us(m)?, Standing::of(m, p, us(m)?))));
            let cell = cell.map(|(us, standing)| {
                format!("{}/{}{}", digits(us), digits(p.published_us), standing.mark())
            });
            out += &format!(" {} |", cell.unwrap_or_default());
        }
        out += "\n";
    }
    out
}

/// Where this library stands beside the best measured library, by size: for docs/modelled.md.
pub(crate) fn standings() -> String {
    let mut out = String::from(
        "\n## Beside the best measured library\n\n\
         On the nodes of V6 to V8 ([validation.md](validation.md)) this library's choice, \
         modelled, beside ext_mpi's measured times, by bytes: *ahead* with the model's 30 % taken \
         against us; *bound*: not ahead, but within 30 % of what reading and storing each word \
         once, or memory, takes by the model; *near*: within 30 %; *behind* by more.\n\n\
         | operation | node | ranks | ahead | bound | near | behind |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let (points, machines) = (points(), machines());
    let rows = points.chunk_by(|a, b| a.curve == b.curve);
    for row in rows.filter(|row| row[0].curve.library == "ext_mpi") {
        let Curve { operation, machine: name, ranks, .. } = &row[0].curve;
        let asked = Asked { library: "phalanx", how: "", operation, ranks: *ranks, spread: false };
        let Some(machine) = machines.iter().find(|m| m.name == name) else { continue };
        let standing = |p: &CollectivePoint| {
            let us = machine.predict(&asked, p.bytes)?;
            Some(Standing::of(machine, p, us))
        };
        let all: Vec<_> = row.iter().map(|p| (standing(p), short(p.bytes))).collect();
        out += &format!("| {operation} | {name} | {ranks} |");
        for wanted in [Standing::Ahead, Standing::Bound, Standing::Near, Standing::Behind] {
            let runs = all.chunk_by(|a, b| a.0 == b.0).filter(|run| run[0].0 == Some(wanted));
            let text = |run: &[(_, String)]| match run {
                [only] => only.1.clone(),
                _ => format!("{} to {}", run[0].1, run[run.len() - 1].1),
            };
            out += &format!(" {} |", runs.map(text).collect::<Vec<_>>().join(", "));
        }
        out += "\n";
    }
    out
}

fn short(bytes: f64) -> String {
    phalanx_bench::byte_size::text(bytes as usize)
}

fn digits(us: f64) -> String {
    match us {
        u if u < 10.0 => format!("{u:.2}"),
        u if u < 100.0 => format!("{u:.1}"),
        u => format!("{u:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_the_points_is_true() {
        let points = points();
        assert_eq!(points.len(), 432);
        let far: Vec<_> = points.iter().filter(|p| p.is_far()).map(CollectivePoint::name).collect();
        assert_eq!(wrong(&points), 0, "{far:?}");
    }
}
