//! The effect of each part of the model on its error: the curves without an effect, with a constant
//! halved or doubled, and with another structure.

use super::validate::{Setup, Validation};
use phalanx_bench::failure::Failure;
use phalanx_model::Effect;

/// How far off the curves are.
#[derive(Clone, Debug)]
pub(crate) struct SetupRow {
    pub(crate) name: String,
    /// Mean absolute errors from 8 ranks on, as fractions: V1; V2 linear, ring, Bruck; V3.
    pub(crate) errors: [f64; 5],
    /// Pairs in the published order, of how many: V3's signs, V4, V5.
    pub(crate) orders: [(usize, usize); 3],
}

impl SetupRow {
    fn of(name: String, setup: &Setup) -> Result<SetupRow, Failure> {
        let validation = setup.run()?;
        let error = |curve, what| mean(&validation, curve, what);
        Ok(SetupRow {
            name,
            errors: [
                error("V1", ""),
                error("V2", "linear"),
                error("V2", "ring"),
                error("V2", "Bruck"),
                error("V3", ""),
            ],
            orders: ["V3", "V4", "V5"].map(|curve| {
                let own = validation.claims.iter().filter(|c| c.curve == curve);
                own.fold((0, 0), |sum, c| (sum.0 + c.pairs.1, sum.1 + c.pairs.0))
            }),
        })
    }
}

fn mean(validation: &Validation, curve: &str, what: &str) -> f64 {
    let own = validation.points.iter();
    let own = own.filter(|p| p.curve == curve && p.what.contains(what) && p.ranks >= 8);
    let (sum, n) = own.fold((0.0, 0), |(sum, n), p| (sum + p.error().abs(), n + 1));
    sum / f64::from(n.max(1))
}

/// As it is, and without each effect; the spread of hand-offs, which is off, on.
pub(crate) fn ablation() -> Result<Vec<SetupRow>, Failure> {
    let all = Setup::default();
    let mut setups = vec![("as it is".to_string(), all.clone())];
    for effect in Effect::ALL.into_iter().filter(|e| *e != Effect::Spread) {
        let effects = all.effects.without(effect);
        setups.push((format!("without {effect}"), Setup { effects, ..all.clone() }));
    }
    let effects = all.effects.with(Effect::Spread);
    setups.push(("with spread".to_string(), Setup { effects, ..all.clone() }));
    setups.push(("one call instead of a loop".to_string(), Setup { loops: false, ..all }));
    rows(setups)
}

/// Each constant halved and doubled.
pub(crate) fn sensitivity() -> Result<Vec<SetupRow>, Failure> {
    type Change = fn(&mut Setup, f64);
    let constants: [(&str, Change); 9] = [
        ("all hand-offs", |s, x| s.hand_offs = x),
        ("software of the sender", |s, x| s.mpi.send_ns *= x),
        ("software of the receiver", |s, x| s.mpi.receive_ns *= x),
        ("the sender's share of a hand-off", |s, x| s.mpi.send_share *= x),
        ("transfers of the line", |s, x| s.mpi.transfers *= x),
        ("acknowledgement (fitted)", |s, x| s.mpi.acknowledge_ns *= x),
        ("copy rate (fitted)", |s, x| s.mpi.copy_rate = s.mpi.copy_rate.map(|r| r * x)),
        ("lines in flight", |s, x| {
            s.mpi.pulls *= x;
            s.smelt.pulls *= x;
        }),
        ("Smelt: the sender's share", |s, x| s.smelt.send_share *= x),
    ];
    let mut setups = Vec::new();
    for (name, change) in constants {
        for factor in [0.5, 2.0] {
            let mut setup = Setup::default();
            change(&mut setup, factor);
            setups.push((format!("{name} x {factor}"), setup));
        }
    }
    rows(setups)
}

/// Every combination of the structures that were tried, by the error of V1 alone, the least first;
/// ours is the first of the second list.
pub(crate) fn structures() -> Result<Vec<SetupRow>, Failure> {
    let mut setups = Vec::new();
    for bits in 0..16usize {
        let has = |bit: usize| bits >> bit & 1 == 0;
        let mut setup = Setup { loops: has(3), ..Setup::default() };
        setup.mpi.turnaround = has(0);
        if !has(1) {
            setup.mpi.send_share = 0.0;
        }
        if !has(2) {
            setup.effects = setup.effects.without(Effect::Acknowledgement);
        }
        let parts = ["turnaround", "gap", "acknowledgement", "loop"];
        let name: Vec<&str> = (0..4).filter(|&bit| has(bit)).map(|bit| parts[bit]).collect();
        let name = if name.is_empty() { "none".to_string() } else { name.join(", ") };
        setups.push((if bits == 0 { format!("**{name}**") } else { name }, setup));
    }
    let mut rows = rows(setups)?;
    rows.sort_by(|a, b| a.errors[0].total_cmp(&b.errors[0]));
    Ok(rows)
}

/// On as many threads as there are cores.
fn rows(setups: Vec<(String, Setup)>) -> Result<Vec<SetupRow>, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let own = setups.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = setups
            .chunks(own)
            .map(|part| {
                let row = |(name, setup): &(String, Setup)| SetupRow::of(name.clone(), setup);
                scope.spawn(move || part.iter().map(row).collect::<Result<Vec<_>, _>>())
            })
            .collect();
        let mut all = Vec::new();
        for part in parts {
            all.extend(part.join().unwrap_or_else(|e| std::panic::resume_unwind(e))?);
        }
        Ok(all)
    })
}
