//! A machine as the animation draws it: groups of cores with shared caches or memory, cores, and
//! ranks. The page's script fits it to the width of the window.

use super::layout::Network;
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign};
use phalanx::topology::Extents;
use phalanx_bench::matrix::unit_axis::{label, name};
use serde_json::{Map, Value, json};

/// The seed of the random placement.
const SEED: u64 = 1;

/// Placements that do not ask for whom.
const PLAIN: [(&str, Placement); 3] = [
    ("compact", Placement::Compact),
    ("scatter", Placement::Scatter),
    ("random", Placement::Random(SEED)),
];

/// The machine, and the cores of `ranks` ranks each: by the placement that is made for each network
/// (under the name that the traces have for it, `ring 8`), and by those that are made for none
/// (`8`).
pub(crate) fn plan(machine: &Machine, ranks: &[usize]) -> Value {
    let rooms = machine.tree().vertices().iter().map(|vertex| {
        json!({
            "name": label(machine, vertex),
            "level": name(vertex).key(),
            "meet": name(vertex).to_string(),
            "parent": vertex.parent,
            "from": vertex.cores.start,
            "to": vertex.cores.end,
        })
    });
    let cores = machine.cores().iter().map(|core| {
        json!({ "pus": core.pus, "usable": core.pus.iter().any(|&pu| machine.is_allowed(pu)) })
    });
    let mut places = Map::new();
    let mut fitted = Map::new();
    for &p in ranks {
        for network in Network::ALL {
            if let Some(cores) = placed(machine, &made_for(network, p), p) {
                fitted.insert(network.with_ranks(p), cores);
            }
        }
    }
    places.insert("for the network".to_string(), Value::Object(fitted));
    for (name, placement) in PLAIN {
        let own =
            ranks.iter().filter_map(|&p| Some((p.to_string(), placed(machine, &placement, p)?)));
        places.insert(name.to_string(), Value::Object(own.collect()));
    }
    json!({
        "rooms": rooms.collect::<Vec<_>>(),
        "cores": cores.collect::<Vec<_>>(),
        "places": places,
    })
}

/// The placement that is made for a network.
fn made_for(network: Network, p: usize) -> Placement {
    match network {
        Network::Ring => Placement::Ring,
        Network::Line => Placement::Linear,
        Network::Mesh => {
            let extents = Extents::squarest(p);
            Placement::Mesh(p / extents.columns(), extents.columns())
        }
        Network::Hypercube if p.is_power_of_two() => Placement::Hypercube,
        Network::Leaves | Network::Nodes => Placement::Tree,
        Network::Hypercube | Network::Any => Placement::Auto,
    }
}

/// The core of each rank.
fn placed(machine: &Machine, placement: &Placement, p: usize) -> Option<Value> {
    let assignment = assign(placement, machine, p).ok()?;
    let core = |pu: &Option<usize>| pu.and_then(|pu| machine.core_of(pu));
    let cores: Option<Vec<usize>> = assignment.pus().iter().map(core).collect();
    cores.map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(value: &Value) -> Vec<u64> {
        value.as_array().unwrap().iter().map(|core| core.as_u64().unwrap()).collect()
    }

    #[test]
    fn rooms_hold_all_cores_and_ranks_have_one_each() {
        let machine = Machine::from_synthetic("pack:2 [numa] l3:2 core:4 pu:1").unwrap();
        let found = plan(&machine, &[8, 16]);
        let rooms = found["rooms"].as_array().unwrap();
        let names: Vec<&str> = rooms.iter().map(|room| room["name"].as_str().unwrap()).collect();
        assert_eq!(names[0], "machine");
        assert!(names.contains(&"package 1, NUMA node 1") && names.contains(&"L3 3"), "{names:?}");
        assert_eq!((&rooms[0]["from"], &rooms[0]["to"]), (&json!(0), &json!(16)));
        assert_eq!(found["cores"].as_array().unwrap().len(), 16);
        for p in [8, 16] {
            for network in Network::ALL {
                let cores = list(&found["places"]["for the network"][&network.with_ranks(p)]);
                let mut own = cores.clone();
                own.sort_unstable();
                own.dedup();
                assert_eq!((cores.len(), own.len()), (p, p), "{network:?}");
            }
            for (name, _) in PLAIN {
                assert_eq!(list(&found["places"][name][p.to_string()]).len(), p, "{name}");
            }
        }
        let scattered = list(&found["places"]["scatter"]["8"]);
        assert_ne!(scattered[0] / 8, scattered[1] / 8, "neighbours on different packages");
    }

    #[test]
    fn a_small_machine_has_many_ranks_a_core() {
        let found = plan(&Machine::from_synthetic("l3:1 core:2 pu:1").unwrap(), &[8]);
        let cores = list(&found["places"]["compact"]["8"]);
        assert_eq!(cores.iter().filter(|&&core| core == 0).count(), 4, "{cores:?}");
        assert_eq!(found["rooms"][0]["meet"], "L3");
    }
}
