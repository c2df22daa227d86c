//! Whether ranks shared a core or lost theirs to other programs while they were measured: then
//! times say more of the system's scheduling than of the program.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A rank at one moment: its processing unit, and how often its core has been taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreMoment {
    pub pu: u64,
    pub lost: u64,
}

/// A rank in a measurement: at its beginning, and at its end; none where the system does not say.
pub type CoreSpan = [Option<CoreMoment>; 2];

/// A core is lost for a millisecond at least, the least slice of another program; this part of a
/// rank's time is too much. A quiet system takes a core now and then as well.
const LEAST_NS: u64 = 1_000_000;
const PART: u64 = 16;
/// Groups of ranks on one core that are named.
const NAMED: usize = 4;

/// The disturbances of several measurements of the same ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disturbance {
    ns: u64,
    /// By rank.
    lost: Vec<u64>,
    /// Measurements, and by ranks and core those in which these were on that one at one moment.
    count: u64,
    shared: BTreeMap<(Vec<usize>, u64), u64>,
}

impl Disturbance {
    /// Of one measurement of so many nanoseconds.
    pub fn of(ns: u64, ranks: &[CoreSpan]) -> Self {
        let mut it = Disturbance { ns, count: 1, ..Disturbance::default() };
        it.lost = ranks.iter().map(lost).collect();
        for moment in 0..2 {
            let mut on: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            for (rank, span) in ranks.iter().enumerate() {
                if let Some(at) = span[moment] {
                    on.entry(at.pu).or_default().push(rank);
                }
            }
            let shared = on.into_iter().filter(|(_, ranks)| ranks.len() > 1);
            it.shared.extend(shared.map(|(pu, ranks)| ((ranks, pu), 1)));
        }
        it
    }

    /// And of another one.
    pub fn add(&mut self, other: &Disturbance) {
        self.ns = self.ns.saturating_add(other.ns);
        self.count += other.count;
        self.lost.resize(self.lost.len().max(other.lost.len()), 0);
        for (all, lost) in self.lost.iter_mut().zip(&other.lost) {
            *all = all.saturating_add(*lost);
        }
        for (group, count) in &other.shared {
            *self.shared.entry(group.clone()).or_default() += count;
        }
    }

    /// In words, a part each; none if nothing was disturbed.
    pub fn said(&self) -> Vec<String> {
        let mut groups: Vec<_> = self.shared.iter().collect();
        groups.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let often = |count: u64| match self.count {
            1 => String::new(),
            all => format!(" in {count} of {all} runs"),
        };
        let shared = |((ranks, pu), count): &(&(Vec<usize>, u64), &u64)| {
            format!("ranks {} shared core {pu}{}", listed(ranks), often(**count))
        };
        let mut said: Vec<String> = groups.iter().take(NAMED).map(shared).collect();
        if groups.len() > NAMED {
            said.push(format!("{} more groups of ranks shared cores", groups.len() - NAMED));
        }
        let mut losers: Vec<_> = self.lost.iter().copied().enumerate().collect();
        losers.retain(|(_, lost)| lost.saturating_mul(LEAST_NS * PART) > self.ns);
        losers.sort_by_key(|(_, lost)| std::cmp::Reverse(*lost));
        let times = |(rank, lost): &(usize, u64)| match lost {
            1 => format!("rank {rank} lost its core once"),
            _ => format!("rank {rank} lost its core {lost} times"),
        };
        said.extend(losers.iter().take(NAMED).map(times));
        if losers.len() > NAMED {
            said.push(format!("{} more ranks lost theirs", losers.len() - NAMED));
        }
        said
    }

    /// One line for eyes; none if nothing was disturbed.
    pub fn line(&self) -> Option<String> {
        let said = self.said();
        let line =
            format!("disturbed, so that times are not the program's own: {}", said.join("; "));
        (!said.is_empty()).then_some(line)
    }

    /// For [`from_json`](Disturbance::from_json), and for programs.
    pub fn json(&self) -> Value {
        fn shared(((ranks, pu), count): (&(Vec<usize>, u64), &u64)) -> Value {
            json!({ "ranks": ranks, "pu": pu, "count": count })
        }
        json!({
            "said": self.said(),
            "ns": self.ns,
            "count": self.count,
            "lost_cores": self.lost,
            "shared_cores": self.shared.iter().map(shared).collect::<Vec<_>>(),
        })
    }

    /// Of a saved object; one that is none is of nothing.
    pub fn from_json(saved: &Value) -> Self {
        let numbers = |value: &Value| -> Vec<u64> {
            value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
        };
        let shared = |it: &Value| {
            let ranks = numbers(&it["ranks"]).into_iter().map(|rank| rank as usize).collect();
            Some(((ranks, it["pu"].as_u64()?), it["count"].as_u64()?))
        };
        let groups = saved["shared_cores"].as_array().into_iter().flatten();
        Disturbance {
            ns: saved["ns"].as_u64().unwrap_or(0),
            lost: numbers(&saved["lost_cores"]),
            count: saved["count"].as_u64().unwrap_or(0),
            shared: groups.filter_map(shared).collect(),
        }
    }
}

fn lost(rank: &CoreSpan) -> u64 {
    match rank {
        [Some(begin), Some(end)] => end.lost.saturating_sub(begin.lost),
        _ => 0,
    }
}

/// `0 and 1`, `0, 1 and 2`; the first of many.
fn listed(ranks: &[usize]) -> String {
    let shown: Vec<String> = ranks.iter().take(8).map(usize::to_string).collect();
    match (ranks.len() - shown.len(), shown.split_last()) {
        (0, Some((last, before))) => format!("{} and {last}", before.join(", ")),
        (more, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn span(begin: u64, end: u64, lost: u64) -> CoreSpan {
        [Some(CoreMoment { pu: begin, lost: 5 }), Some(CoreMoment { pu: end, lost: 5 + lost })]
    }

    #[test]
    fn shared_and_lost_cores_are_told() {
        let it = Disturbance::of(2470 * MS, &[span(3, 3, 0), span(3, 1, 812), span(2, 3, 9)]);
        let wanted = [
            "ranks 0 and 1 shared core 3",
            "ranks 0 and 2 shared core 3",
            "rank 1 lost its core 812 times",
        ];
        assert_eq!(it.said(), wanted);
        assert!(it.line().unwrap().ends_with(&wanted.join("; ")));
        assert_eq!(Disturbance::from_json(&it.json()), it);
        let mut both = it.clone();
        both.add(&Disturbance::of(30 * MS, &[span(3, 0, 0), span(3, 1, 0)]));
        assert_eq!(both.said()[0], "ranks 0 and 1 shared core 3 in 2 of 2 runs");
    }

    #[test]
    fn a_quiet_machine_has_nothing_to_tell() {
        // A core that is taken now and then, ranks that change their cores, unknown ones.
        let quiet = [span(0, 1, 20), span(1, 0, 0), [None, None], [None, None]];
        assert_eq!(Disturbance::of(1000 * MS, &quiet).line(), None);
        assert_eq!(Disturbance::of(10 * MS, &quiet).said(), ["rank 0 lost its core 20 times"]);
        assert_eq!(
            Disturbance::of(10 * MS, &[span(0, 0, 1)]).said(),
            ["rank 0 lost its core once"]
        );
        assert_eq!(Disturbance::from_json(&Value::Null).line(), None);
    }

    #[test]
    fn many_are_listed_in_part() {
        let many = vec![span(0, 0, 100); 12];
        let said = Disturbance::of(MS, &many).said();
        assert_eq!(said[0], "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 4 more shared core 0");
        assert_eq!((said.len(), said[5].as_str()), (6, "8 more ranks lost theirs"));
    }
}
