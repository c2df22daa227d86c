//! Measured rows as curves: the best algorithm from each size on, and the error of the model.

use super::saved_report::SavedReport;
use phalanx::schedule::Operation;
use phalanx_bench::table::distinct;
use serde_json::Value;

/// The factor that the model may be off by before a sentence says so.
pub(crate) const FAR_OFF: f64 = 2.0;

/// Up to which ratio two times are as good as each other: rounds of one row differ by as much.
pub(crate) const AS_GOOD: f64 = 1.05;

/// One measured point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CurveRow {
    pub(crate) op: String,
    /// An id, or `auto`.
    pub(crate) algorithm: String,
    pub(crate) ranks: u64,
    /// Of a rank's larger buffer; 0 for the barrier.
    pub(crate) bytes: u64,
    /// Median, and the interval that has it with 95 % confidence.
    pub(crate) ns: f64,
    pub(crate) ci: [f64; 2],
    /// The raw exchange of two flags around it.
    pub(crate) floor: Option<f64>,
    /// Where the cores were.
    pub(crate) place: String,
    /// Samples, and those of them beyond the fences.
    pub(crate) samples: u64,
    pub(crate) outliers: u64,
    /// The level that moved meanwhile, by its name; `none`.
    pub(crate) drift: String,
}

impl CurveRow {
    /// All rows of a run's benchmarks; anything else is left out.
    pub(crate) fn all(run: &SavedReport) -> Vec<CurveRow> {
        let benches = run.sections().filter(|s| s.result["command"] == "bench");
        let rows = benches.filter_map(|s| s.result["rows"].as_array()).flatten();
        rows.filter_map(CurveRow::of).collect()
    }

    fn of(row: &Value) -> Option<CurveRow> {
        let text = |name: &str| row[name].as_str().map(String::from);
        let time = |name: &str| row[name].as_f64().filter(|ns| ns.is_finite() && *ns > 0.0);
        let ns = time("ns_median")?;
        Some(CurveRow {
            op: text("op")?,
            algorithm: text("algorithm")?,
            ranks: row["ranks"].as_u64()?,
            bytes: row["bytes"].as_u64()?,
            ns,
            ci: [time("ns_ci_low").unwrap_or(ns), time("ns_ci_high").unwrap_or(ns)],
            floor: time("floor_ns"),
            place: text("place").unwrap_or_else(|| "any".to_string()),
            samples: row["iterations"].as_u64().unwrap_or(0),
            outliers: row["outliers"].as_u64().unwrap_or(0),
            drift: text("drift").unwrap_or_else(|| "none".to_string()),
        })
    }
}

/// An algorithm's points, by size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MeasuredCurve {
    pub(crate) algorithm: String,
    pub(crate) points: Vec<(u64, f64)>,
    /// The points that were only seen while the cores were elsewhere.
    pub(crate) elsewhere: Vec<(u64, f64)>,
    /// The model's for this place.
    pub(crate) model: Vec<(u64, f64)>,
}

impl MeasuredCurve {
    fn at(points: &[(u64, f64)], bytes: u64) -> Option<f64> {
        points.iter().find(|point| point.0 == bytes).map(|point| point.1)
    }

    /// Measured over modelled, by size.
    pub(crate) fn errors(&self) -> Vec<(u64, f64)> {
        let ratio =
            |&(bytes, ns): &(u64, f64)| Some((bytes, ns / MeasuredCurve::at(&self.model, bytes)?));
        self.points.iter().filter_map(ratio).collect()
    }
}

/// One operation at one place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curves {
    pub(crate) op: String,
    /// The place with the most points, those of the automatic choice before all others.
    pub(crate) place: String,
    /// Where else the cores were.
    pub(crate) others: Vec<String>,
    /// All that was measured.
    pub(crate) rows: Vec<CurveRow>,
    /// The raw exchange, by size.
    pub(crate) floor: Vec<(u64, f64)>,
    /// `auto` first, then the algorithms, the fastest first.
    pub(crate) curves: Vec<MeasuredCurve>,
}

/// The fastest algorithm of a range of sizes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BestFrom {
    /// The first and the last of the measured sizes.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) algorithm: String,
    /// Its times at both ends.
    pub(crate) ns: [f64; 2],
    /// The algorithms that are as good at all of these sizes.
    pub(crate) as_good: Vec<String>,
    /// By how much the automatic choice takes longer than the best, at the worst of these sizes.
    pub(crate) auto: Option<f64>,
}

/// The curves of every operation that has any, in the catalogue's order; on as many ranks as the
/// run is of.
pub(crate) fn curves(run: &SavedReport) -> Vec<Curves> {
    let ranks = run.part("ranks").as_u64().unwrap_or(0);
    let rows: Vec<CurveRow> =
        CurveRow::all(run).into_iter().filter(|row| row.ranks == ranks).collect();
    let predicted = run.part("predictions")["rows"].as_array().cloned().unwrap_or_default();
    let model = |op: &str, algorithm: &str, place: &str| {
        let own = predicted.iter().filter(|p| p["op"] == op && p["algorithm"] == algorithm);
        let own = own.filter(|p| p["place"] == place && p["ranks"] == ranks);
        sorted(own.filter_map(|p| Some((p["bytes"].as_u64()?, p["ns"].as_f64()?))).collect())
    };
    let of = |op: Operation| {
        let rows: Vec<&CurveRow> = rows.iter().filter(|row| row.op == op.name()).collect();
        let place = most(&rows)?;
        let names = distinct(rows.iter().map(|row| row.algorithm.as_str()));
        let curve = |name: &str| {
            let own = || rows.iter().filter(|row| row.algorithm == name);
            let there = |here: bool| {
                sorted(
                    own().filter(|r| (r.place == place) == here).map(|r| (r.bytes, r.ns)).collect(),
                )
            };
            let (points, mut elsewhere) = (there(true), there(false));
            elsewhere.retain(|point| MeasuredCurve::at(&points, point.0).is_none());
            let model = model(op.name(), name, place);
            MeasuredCurve { algorithm: name.to_string(), points, elsewhere, model }
        };
        let curves: Vec<MeasuredCurve> = names.into_iter().map(curve).collect();
        let others = rows.iter().map(|row| row.place.clone()).filter(|other| other != place);
        let others = distinct(others);
        let best = |bytes| {
            let times = curves.iter().filter_map(|curve| MeasuredCurve::at(&curve.points, bytes));
            times.fold(f64::INFINITY, f64::min)
        };
        // How near an algorithm comes to the best of its size, on average.
        let rank = |curve: &MeasuredCurve| {
            if curve.points.is_empty() {
                return f64::INFINITY;
            }
            let logs = curve.points.iter().map(|&(bytes, ns)| (ns / best(bytes)).ln());
            logs.sum::<f64>() / curve.points.len() as f64
        };
        let mut ranked: Vec<(f64, MeasuredCurve)> =
            curves.iter().map(|curve| (rank(curve), curve.clone())).collect();
        let key = |(rank, curve): &(f64, MeasuredCurve)| (curve.algorithm != "auto", *rank);
        ranked.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let here = rows.iter().filter(|row| row.place == place);
        let mut floor: Vec<(u64, f64)> =
            here.filter_map(|row| Some((row.bytes, row.floor?))).collect();
        floor.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        // The middle one of each size.
        let floor = floor.chunk_by(|a, b| a.0 == b.0).map(|same| same[same.len() / 2]).collect();
        Some(Curves {
            op: op.name().to_string(),
            place: place.to_string(),
            others,
            floor,
            rows: rows.iter().map(|row| (*row).clone()).collect(),
            curves: ranked.into_iter().map(|(_, curve)| curve).collect(),
        })
    };
    Operation::ALL.into_iter().filter_map(of).collect()
}

/// By size, one of each.
fn sorted(mut points: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    points.sort_by_key(|point| point.0);
    points.dedup_by_key(|point| point.0);
    points
}

/// The place with the most points; a chart without the automatic choice is none, so that counts
/// first.
fn most<'a>(rows: &[&'a CurveRow]) -> Option<&'a str> {
    let count = |place: &str, auto: bool| {
        rows.iter().filter(|r| r.place == place && (!auto || r.algorithm == "auto")).count()
    };
    let places = rows.iter().map(|row| row.place.as_str());
    places.max_by_key(|place| (count(place, true), count(place, false)))
}

impl Curves {
    /// All sizes.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        let points =
            self.curves.iter().flat_map(|curve| curve.points.iter().chain(&curve.elsewhere));
        distinct(points.map(|point| point.0))
    }

    /// The fastest from which size on, among the named algorithms (the one that the automatic
    /// choice takes is one of them, so it would only win by noise). Within [`AS_GOOD`] of the best
    /// is as good as the best, and of those as good the one that stays so for longest counts.
    pub(crate) fn best(&self) -> Vec<BestFrom> {
        let sizes = self.sizes();
        let named: Vec<&MeasuredCurve> =
            self.curves.iter().filter(|c| c.algorithm != "auto").collect();
        let best = |bytes| {
            let times = named.iter().filter_map(|curve| MeasuredCurve::at(&curve.points, bytes));
            times.fold(f64::INFINITY, f64::min)
        };
        let lasts = |curve: &MeasuredCurve, from: usize| {
            let good = |&&bytes: &&u64| {
                MeasuredCurve::at(&curve.points, bytes)
                    .is_some_and(|ns| ns <= AS_GOOD * best(bytes))
            };
            sizes[from..].iter().take_while(good).count()
        };
        let mut ranges = Vec::new();
        let mut at = 0;
        while at < sizes.len() {
            let time = |curve: &MeasuredCurve| {
                MeasuredCurve::at(&curve.points, sizes[at]).unwrap_or(f64::INFINITY)
            };
            let order = |a: &&&MeasuredCurve, b: &&&MeasuredCurve| {
                lasts(a, at).cmp(&lasts(b, at)).then(time(b).total_cmp(&time(a)))
            };
            let chosen = named.iter().max_by(order).filter(|curve| lasts(curve, at) > 0);
            let Some(chosen) = chosen else {
                // Only the automatic choice was measured here.
                at += 1;
                continue;
            };
            let count = lasts(chosen, at);
            let own = &sizes[at..at + count];
            let others = named.iter().filter(|curve| curve.algorithm != chosen.algorithm);
            let as_good = others.filter(|curve| lasts(curve, at) >= count);
            let auto = self.curves.iter().find(|curve| curve.algorithm == "auto");
            let longer =
                |&bytes: &u64| Some(MeasuredCurve::at(&auto?.points, bytes)? / best(bytes));
            let end = |bytes| MeasuredCurve::at(&chosen.points, bytes).unwrap_or(f64::INFINITY);
            ranges.push(BestFrom {
                from: own[0],
                to: own[count - 1],
                algorithm: chosen.algorithm.clone(),
                ns: [end(own[0]), end(own[count - 1])],
                as_good: as_good.map(|curve| curve.algorithm.clone()).collect(),
                auto: own.iter().filter_map(longer).reduce(f64::max),
            });
            at += count;
        }
        ranges
    }

    /// Every algorithm at which the model is off by more than [`FAR_OFF`].
    pub(crate) fn wrong(&self) -> Vec<Wrong> {
        let of = |curve: &MeasuredCurve| {
            let errors = curve.errors();
            let off = |ratio: f64| ratio.max(1.0 / ratio);
            let far = || errors.iter().filter(|e| off(e.1) > FAR_OFF);
            let &(bytes, ratio) = far().max_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
            Some(Wrong {
                op: self.op.clone(),
                algorithm: curve.algorithm.clone(),
                bytes,
                measured: MeasuredCurve::at(&curve.points, bytes)?,
                ratio,
                sizes: [far().count(), errors.len()],
            })
        };
        self.curves.iter().filter_map(of).collect()
    }
}

/// Where the model is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wrong {
    pub(crate) op: String,
    pub(crate) algorithm: String,
    /// The worst size, its time, and that by the model.
    pub(crate) bytes: u64,
    pub(crate) measured: f64,
    pub(crate) ratio: f64,
    /// How many sizes are as wrong, of how many.
    pub(crate) sizes: [usize; 2],
}

/// A size with its unit: `8 B`, `16 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift && bytes.trailing_zeros() >= shift {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

/// A time with its unit, three digits.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run() -> SavedReport {
        let row = |algorithm: &str, bytes: u64, ns: f64, place: &str| {
            json!({
                "op": "all-reduce", "algorithm": algorithm, "ranks": 2, "bytes": bytes,
                "ns_median": ns, "floor_ns": 50.0, "place": place,
            })
        };
        let rows = [
            row("AR-RING", 8, 300.0, "ccx"),
            row("AR-RING", 1024, 800.0, "ccx"),
            row("AR-FUSED", 8, 400.0, "ccx"),
            row("AR-FUSED", 1024, 500.0, "ccx"),
            row("AR-HCUBE", 8, 100.0, "far"),
            row("auto", 8, 290.0, "ccx"),
        ];
        let predicted = |algorithm: &str, bytes: u64, ns: f64| {
            let op = "all-reduce";
            json!({
                "op": op, "algorithm": algorithm, "ranks": 2, "bytes": bytes, "place": "ccx",
                "ns": ns,
            })
        };
        SavedReport::new(json!({
            "ranks": 2,
            "sections": [
                { "command": "phalanx bench", "result": { "command": "bench", "rows": rows } },
            ],
            "predictions": { "rows": [
                predicted("AR-RING", 8, 100.0),
                predicted("AR-RING", 1024, 700.0),
                predicted("AR-FUSED", 8, 400.0),
                predicted("AR-FUSED", 1024, 1500.0),
            ] },
        }))
    }

    #[test]
    fn points_of_one_place_make_the_curves() {
        let all = curves(&run());
        assert_eq!(all.len(), 1);
        let found = &all[0];
        assert_eq!((found.place.as_str(), &found.others[..]), ("ccx", &["far".to_string()][..]));
        let names: Vec<&str> = found.curves.iter().map(|c| c.algorithm.as_str()).collect();
        assert_eq!(names, ["auto", "AR-FUSED", "AR-RING", "AR-HCUBE"]);
        assert_eq!(
            (&found.curves[3].points[..], &found.curves[3].elsewhere[..]),
            (&[][..], &[(8, 100.0)][..])
        );
        assert_eq!(found.floor, [(8, 50.0), (1024, 50.0)]);
        assert_eq!(found.sizes(), [8, 1024]);
    }

    #[test]
    fn crossovers_are_found_without_the_automatic_choice() {
        let best = curves(&run())[0].best();
        let found: Vec<(u64, &str)> = best.iter().map(|b| (b.from, b.algorithm.as_str())).collect();
        assert_eq!(found, [(8, "AR-RING"), (1024, "AR-FUSED")]);
        assert_eq!((best[0].ns, best[0].as_good.len()), ([300.0, 300.0], 0));
        assert_eq!(best[0].auto, Some(290.0 / 300.0));
        assert_eq!(best[1].auto, None, "it was not measured there");
    }

    #[test]
    fn the_model_is_called_wrong_where_it_is() {
        let found = curves(&run())[0].wrong();
        let said: Vec<_> = found.iter().map(|w| (w.algorithm.as_str(), w.bytes, w.sizes)).collect();
        assert_eq!(said, [("AR-FUSED", 1024, [1, 2]), ("AR-RING", 8, [1, 2])]);
        assert_eq!((found[0].ratio, found[1].ratio), (1.0 / 3.0, 3.0));
    }

    #[test]
    fn the_automatic_choice_decides_on_the_place() {
        let mut rows = CurveRow::all(&run());
        rows.iter_mut()
            .filter(|row| row.algorithm == "auto")
            .for_each(|row| row.place = "far".into());
        assert_eq!(most(&rows.iter().collect::<Vec<_>>()), Some("far"));
    }

    #[test]
    fn units_stand_beside_numbers() {
        assert_eq!(size(8), "8 B");
        assert_eq!(size(1 << 20), "1 MiB");
        assert_eq!(size(1000), "1000 B");
        assert_eq!(time(9.87), "9.87 ns");
        assert_eq!(time(1234.0), "1.23 us");
        assert_eq!(time(3.4e8), "340 ms");
    }
}
