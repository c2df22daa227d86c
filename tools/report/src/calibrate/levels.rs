//! Messages of several lengths between pairs of every level, and the lines fitted to them.

use super::fit::{Fit, FitPoint};
use super::length_ranges::of_messages;
use phalanx::machine::Machine;
use phalanx::tuning::{LevelRates, Payloads};
use phalanx_bench::failure::Failure;
use phalanx_bench::interrupt;
use phalanx_bench::matrix::saved_run::{Spread, rounded};
use phalanx_bench::matrix::unit_axis::shared;
use phalanx_bench::measure::clock::Clock;
use phalanx_bench::measure::proximity::{Proximity, ProximityLimits};
use phalanx_bench::pair::message::measure;
use phalanx_bench::pair::probe_rounds::Effort;
use phalanx_bench::pair::team::team;
use phalanx_bench::progress::Progress;
use phalanx_bench::table::of_key;
use serde_json::{Value, json};
use std::time::Duration;

/// Lengths: on both sides of every limit of the mailbox, and on to lengths that no cache of a core
/// holds.
const LENGTHS: [usize; 17] = [
    8,
    LINE,
    LINE + 8,
    SLOT,
    SLOT + 8,
    256,
    512,
    COPIED,
    COPIED + 8,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
];
/// Up to where a message travels in the line that is looked at, in the slot, and as a copy.
const LINE: usize = Payloads::OWN.line;
const SLOT: usize = Payloads::OWN.slot;
const COPIED: usize = Payloads::OWN.copied;

/// Two units of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LevelPair {
    pub(crate) level: &'static str,
    pub(crate) pus: [usize; 2],
}

/// The first and the last pair of each level that the machine has, innermost
/// levels first.
pub(crate) fn pairs(machine: &Machine, pus: &[usize]) -> Vec<LevelPair> {
    let mut found: Vec<(LevelPair, Option<LevelPair>)> = Vec::new();
    for (i, &a) in pus.iter().enumerate() {
        for &b in &pus[i + 1..] {
            let pair = LevelPair { level: shared(machine, a, b), pus: [a, b] };
            match found.iter_mut().find(|(first, _)| first.level == pair.level) {
                Some((_, last)) => *last = Some(pair),
                None => found.push((pair, None)),
            }
        }
    }
    found.into_iter().flat_map(|(first, last)| [Some(first), last]).flatten().collect()
}

/// The measurement at one length.
#[derive(Clone, Debug)]
pub(crate) struct LengthTime {
    pub(crate) bytes: usize,
    pub(crate) ns: Spread,
    pub(crate) samples: usize,
}

/// A level at a place: the measurements, and the line through it.
#[derive(Clone, Debug)]
pub(crate) struct RateLine {
    pub(crate) level: &'static str,
    pub(crate) place: Proximity,
    pub(crate) times: Vec<LengthTime>,
    pub(crate) fit: Fit,
}

impl RateLine {
    /// Through these times; none if they are too few.
    pub(crate) fn new(
        level: &'static str,
        place: Proximity,
        times: Vec<LengthTime>,
    ) -> Option<Self> {
        let points: Vec<FitPoint> =
            times.iter().map(|t| FitPoint { bytes: t.bytes, ns: t.ns.median }).collect();
        Some(RateLine { level, place, fit: Fit::of(&points)?, times })
    }

    /// For the profile. A line through noise may begin below 0.
    pub(crate) fn rates(&self) -> LevelRates {
        let fit = &self.fit;
        LevelRates {
            level: self.level.to_string(),
            place: self.place.name().to_string(),
            t_s_ns: rounded(fit.t_s.max(0.0)),
            t_s_ci: fit.t_s_ci.map(rounded),
            t_w_ns_per_byte: precise(fit.t_w.max(0.0)),
            t_w_ci: fit.t_w_ci.map(precise),
            samples: self.times.iter().map(|t| t.samples).sum(),
            pieces: of_messages(&self.fit.residuals.iter().map(|r| r.point).collect::<Vec<_>>()),
        }
    }

    /// The cost of a message at each limit of the mailbox and just beyond, where both were
    /// measured.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        let of = |bytes| self.times.iter().find(|t| t.bytes == bytes).map(|t| t.ns.median);
        let ways = [("line", LINE), ("slot", SLOT), ("copied", COPIED)];
        let limit = |(way, bytes): (&'static str, usize)| {
            Some(Limit { way, bytes, ns: [of(bytes)?, of(bytes + 8)?] })
        };
        ways.into_iter().filter_map(limit).collect()
    }

    /// For json.
    pub(crate) fn object(&self) -> Value {
        let point = |(t, r): (&LengthTime, &super::fit::Residual)| {
            json!({
                "bytes": t.bytes,
                "ns_median": rounded(t.ns.median),
                "ns_p10": rounded(t.ns.p10),
                "ns_p90": rounded(t.ns.p90),
                "samples": t.samples,
                "fitted_ns": rounded(r.fitted),
                "residual": rounded(r.relative()),
            })
        };
        json!({
            "level": self.level,
            "place": self.place.name(),
            "rms_error": rounded(self.fit.rms()),
            "worst_factor": finite(self.fit.worst_factor()),
            "limits": self.limits().iter().map(Limit::object).collect::<Vec<_>>(),
            "points": self.times.iter().zip(&self.fit.residuals).map(point).collect::<Vec<_>>(),
        })
    }
}

/// A limit of the mailbox: a message of so many bytes, and one of 8 bytes more, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    /// Where the shorter one travels.
    pub(crate) way: &'static str,
    pub(crate) bytes: usize,
    pub(crate) ns: [f64; 2],
}

impl Limit {
    fn object(&self) -> Value {
        let [ns, beyond] = self.ns.map(rounded);
        json!({ "way": self.way, "bytes": self.bytes, "ns": ns, "ns_8_bytes_more": beyond })
    }
}

/// All levels, and one line through all of them.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    pub(crate) lines: Vec<RateLine>,
    /// How well one t_s and one t_w would do for all levels and places.
    pub(crate) flat: Option<Fit>,
}

impl Levels {
    fn new(lines: Vec<RateLine>) -> Self {
        let points = lines.iter().flat_map(|line| &line.fit.residuals).map(|r| r.point);
        let flat = Fit::of(&points.collect::<Vec<_>>());
        Levels { lines, flat }
    }

    /// For json.
    pub(crate) fn object(&self) -> Value {
        let flat = self.flat.as_ref().map(|fit| {
            json!({
                "t_s_ns": rounded(fit.t_s),
                "t_w_ns_per_byte": precise(fit.t_w),
                "rms_error": rounded(fit.rms()),
                "worst_factor": finite(fit.worst_factor()),
            })
        });
        json!({
            "lines": self.lines.iter().map(RateLine::object).collect::<Vec<_>>(),
            "flat": flat,
        })
    }
}

/// Six significant digits.
fn precise(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// Json has no infinity.
fn finite(x: f64) -> Option<f64> {
    x.is_finite().then(|| rounded(x))
}

/// The time for one length of one pair.
const LIMIT: Duration = Duration::from_millis(400);
const SAMPLES: usize = 240;

/// Measures all levels.
pub(crate) fn measure_levels(
    machine: &Machine,
    pus: &[usize],
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Levels, Failure> {
    let pairs = pairs(machine, pus);
    let mut progress = Progress::new(pairs.len() * LENGTHS.len());
    let effort = Effort { samples: SAMPLES, round: 6, limit: LIMIT };
    // By level and place: samples by length.
    type Lengths = Vec<(usize, Vec<f64>)>;
    let mut heap: Vec<((&'static str, Proximity), Lengths)> = Vec::new();
    for pair in &pairs {
        let team = team(&pair.pus)?;
        for bytes in LENGTHS {
            if interrupt::asked() {
                return Err(Failure::Interrupted);
            }
            let [a, b] = pair.pus;
            progress.step(&format!("messages of {bytes} bytes between PUs {a} and {b}"));
            for placed in measure(&team, bytes, &effort, limits, clock)? {
                let key = (pair.level, placed.place);
                of_key(of_key(&mut heap, key), bytes).extend(placed.samples);
            }
        }
    }
    let line = |((level, place), lengths): ((&'static str, Proximity), Lengths)| {
        // A handful of samples from a place that was hardly seen says nothing.
        let enough = lengths.into_iter().filter(|(_, samples)| samples.len() >= 6);
        let times = enough.filter_map(|(bytes, samples)| {
            Some(LengthTime { bytes, ns: Spread::of(&samples)?, samples: samples.len() })
        });
        RateLine::new(level, place, times.collect())
    };
    Ok(Levels::new(heap.into_iter().filter_map(line).collect()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A line with these rates, at all lengths.
    pub(crate) fn line(level: &'static str, place: Proximity, t_s: f64, t_w: f64) -> RateLine {
        let time = |bytes: usize| {
            let median = t_s + t_w * bytes as f64;
            let ns = Spread { min: median, median, p10: median, p90: median };
            LengthTime { bytes, ns, samples: 10 }
        };
        RateLine::new(level, place, LENGTHS.into_iter().map(time).collect()).unwrap()
    }

    #[test]
    fn every_level_that_exists_has_pairs() {
        let of = |text: &str| {
            let machine = Machine::from_synthetic(text).unwrap();
            let pus: Vec<usize> =
                machine.cores().iter().flat_map(|core| core.pus.clone()).collect();
            pairs(&machine, &pus).into_iter().map(|p| (p.level, p.pus)).collect::<Vec<_>>()
        };
        assert_eq!(
            of("pack:2 [numa] l3:2 core:2 pu:2"),
            [
                ("core", [0, 1]),
                ("core", [14, 15]),
                ("l3", [0, 2]),
                ("l3", [13, 15]),
                ("numa", [0, 4]),
                ("numa", [11, 15]),
                ("machine", [0, 8]),
                ("machine", [7, 15]),
            ]
        );
        assert_eq!(of("l3:1 core:2 pu:1"), [("l3", [0, 1])]);
        assert_eq!(of("core:1 pu:1"), []);
    }

    #[test]
    fn the_flat_model_is_judged() {
        let near = line("l3", Proximity::Any, 100.0, 0.1);
        let one = Levels::new(vec![near.clone()]);
        assert!(one.flat.as_ref().unwrap().worst_factor() < 1.01);
        let two = Levels::new(vec![near, line("machine", Proximity::Any, 1000.0, 0.8)]);
        assert!(two.flat.as_ref().unwrap().worst_factor() > 1.5);
        let rates = two.lines[1].rates();
        assert_eq!(
            (rates.t_s_ns, rates.t_w_ns_per_byte, rates.samples),
            (1000.0, 0.8, 10 * LENGTHS.len())
        );
        let limits = two.lines[0].limits();
        assert_eq!(limits.iter().map(|l| l.way).collect::<Vec<_>>(), ["line", "slot", "copied"]);
        assert_eq!(limits[0].ns.map(f64::round), [104.0, 105.0]);
        let object = two.object();
        assert_eq!(object["lines"][0]["points"].as_array().unwrap().len(), LENGTHS.len());
        assert!(object["flat"]["worst_factor"].as_f64().unwrap() > 1.5);
        assert!(Levels::new(vec![]).flat.is_none());
    }
}
