//! The costs of machines: impossible values are refused.

use super::MachineCosts;
use super::costs::shape;
use super::published::table;

#[test]
fn every_published_machine_can_be() {
    assert_eq!(MachineCosts::all().len(), 23);
    for costs in MachineCosts::all() {
        costs.check().unwrap();
        let machine = costs.machine().unwrap();
        assert!(costs.levels.iter().all(|l| !l.source.is_empty()), "{}", costs.id);
        assert!(machine.cores().len() > 1, "{}", costs.id);
    }
}

#[test]
fn the_table_has_the_shapes_of_machines_whose_levels_are_all_known() {
    let shapes = MachineCosts::all().iter().enumerate().filter_map(|(at, costs)| {
        let machine = costs.machine().unwrap();
        costs.missing(&machine).is_none().then(|| (shape(&machine), at))
    });
    assert_eq!(table().shapes, shapes.collect::<Vec<_>>());
}

#[test]
fn absurd_costs_are_refused() {
    let good = MachineCosts::named("thunderx2-2s").unwrap();
    let broken = |change: &dyn Fn(&mut MachineCosts)| {
        let mut costs = good.clone();
        change(&mut costs);
        costs.check().unwrap_err().to_string()
    };
    let at =
        |costs: &mut MachineCosts, i: usize, ns: f64| costs.levels.to_mut()[0].hand_off[i] = ns;
    assert!(broken(&|c| at(c, 1, f64::NAN)).contains("a hand-off of NaN ns at level l3"));
    assert!(broken(&|c| at(c, 2, 1e12)).contains("1000000000000 ns"));
    assert!(broken(&|c| at(c, 0, 27.0)).contains("percentiles 27, 26, 31.2"));
    assert!(broken(&|c| c.levels.to_mut()[1].rate = Some(0.0)).contains("0 GB/s at level machine"));
    assert!(broken(&|c| c.levels.to_mut()[1].level = c.levels[0].level).contains("l3 twice"));
    assert!(broken(&|c| c.memory.link = Some(-1.0)).contains("-1 GB/s"));
}
