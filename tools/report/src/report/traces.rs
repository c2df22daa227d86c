//! The messages of every algorithm on a few ranks, for the animation.

use super::layout::Network;
use phalanx::schedule::{Algorithm, Hierarchy, Request, trace};
use phalanx_bench::table::distinct;
use serde_json::{Map, Value, json};

/// Numbers of ranks that are drawn; more messages than those of the last one are no picture any
/// more.
const RANKS: [usize; 2] = [8, 16];
/// Distance of shifts.
const SHIFT: isize = 3;

/// The numbers of ranks that are drawn for a run of `own` ranks.
pub(crate) fn ranks(own: usize) -> Vec<usize> {
    let own = Some(own).filter(|own| (2..=RANKS[1]).contains(own));
    distinct(RANKS.into_iter().chain(own))
}

/// All algorithms on so many [`ranks`], and the drawings that they share. A message is an array:
/// step, src, dst, blocks, words of a vector (or block) of as many words as ranks.
pub(crate) fn traces(ranks: &[usize]) -> Value {
    let mut layouts = Map::new();
    let mut all = Vec::new();
    for &p in ranks {
        for &algorithm in Algorithm::ALL {
            for &operation in algorithm.operations() {
                // One rule serves both scans; one of them shows it.
                let base = operation.base();
                if base != operation && algorithm.operations().contains(&base) {
                    continue;
                }
                let groups = Hierarchy::even(p, &[4]);
                let request = Request::new(operation, p).shift(SHIFT).levels(groups);
                let Ok(schedule) = algorithm.schedule(&request) else { continue };
                let network = Network::of(algorithm);
                let key = network.with_ranks(p);
                layouts.entry(key.clone()).or_insert_with(|| network.object(p));
                let messages: Vec<Value> = trace(&schedule)
                    .map(|m| {
                        json!([m.step, m.src, m.dst, m.label(), m.words(p as u64).to_string()])
                    })
                    .collect();
                all.push(json!({
                    "id": algorithm.id(),
                    "op": operation.name(),
                    "ranks": p,
                    "about": algorithm.about(),
                    "needs": algorithm.precondition(),
                    "source": algorithm.source(),
                    "layout": key,
                    "steps": schedule.steps(),
                    "ports": schedule.ports(),
                    "messages": messages,
                }));
            }
        }
    }
    json!({ "shift": SHIFT, "layouts": layouts, "all": all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_there_and_every_message_between_its_ranks() {
        assert_eq!((ranks(2), ranks(16), ranks(64)), (vec![2, 8, 16], vec![8, 16], vec![8, 16]));
        let found = traces(&ranks(12));
        let all = found["all"].as_array().unwrap();
        for algorithm in Algorithm::ALL {
            assert!(all.iter().any(|t| t["id"] == algorithm.id()), "{algorithm} is missing");
        }
        for t in all {
            let (p, steps) = (t["ranks"].as_u64().unwrap(), t["steps"].as_u64().unwrap());
            let layout = &found["layouts"][t["layout"].as_str().unwrap()];
            assert!(layout["nodes"].as_array().unwrap().len() as u64 >= p);
            for m in t["messages"].as_array().unwrap() {
                let number = |i: usize| m[i].as_u64().unwrap();
                assert!((1..=steps).contains(&number(0)), "{}: {m}", t["id"]);
                assert!(number(1) < p && number(2) < p, "{}: {m}", t["id"]);
            }
        }
        // The page has to be opened on a telephone.
        let bytes = found.to_string().len();
        assert!(bytes < 900_000, "{bytes} bytes of traces");
    }
}
