//! The groups and degrees that are tried for the best hierarchical algorithm of a machine.

use phalanx::schedule::{Exchange, Hierarchy};

/// The machine's groups with some degrees, and the same without one of the levels.
pub fn shapes(all: &Hierarchy) -> Vec<Hierarchy> {
    let mut out = Vec::new();
    let members: Vec<usize> = (0..all.ranks()).collect();
    let mut shapes = vec![all.of_members(&members)];
    let levels: Vec<Vec<usize>> = (0..all.stages() - 1)
        .map(|level| members.iter().filter_map(|&r| all.group(level, r)).collect())
        .collect();
    for left_out in 0..levels.len() {
        let mut fewer = levels.clone();
        fewer.remove(left_out);
        shapes.extend(Hierarchy::new(all.ranks(), &fewer));
    }
    for shape in shapes {
        let top = shape.stages() - 1;
        for (inner, outer, exchange) in [
            (0, 0, Exchange::Doubling),
            (4, 0, Exchange::Doubling),
            (0, 2, Exchange::Doubling),
            (0, 4, Exchange::Doubling),
            (0, 0, Exchange::Direct),
            (4, 4, Exchange::Direct),
            (0, 0, Exchange::Tree),
        ] {
            let mut exchanges = vec![Exchange::Doubling; top];
            exchanges.push(exchange);
            let degrees = [inner, outer, outer, outer];
            out.push(shape.clone().degrees(&degrees).exchanges(&exchanges));
        }
    }
    out
}
