//! Published measurements of real machines, read from `published-machines.tsv`.

use std::sync::LazyLock;

use super::costs::{LevelCost, MachineCosts, MemoryCosts};
use crate::decimal;

/// The machines of a table.
#[derive(Debug, Default)]
pub(super) struct PublishedMachines {
    pub(super) all: Vec<MachineCosts>,
    /// Of those whose levels are all known: packages, memory nodes, L3 caches, cores, threads; and
    /// the place in `all`. In the table as well, as a program that starts reads no descriptions.
    pub(super) shapes: Vec<([usize; 5], usize)>,
}

/// The machines.
pub(super) fn table() -> &'static PublishedMachines {
    let _inside = crate::fork::inside();
    &TABLE
}

static TABLE: LazyLock<PublishedMachines> = LazyLock::new(|| {
    // The file is a part of the program, and a test reads it.
    read(include_str!("published-machines.tsv")).expect("the table of published machines")
});

/// The machines of a table; its first comment says which fields a line has. The error names the
/// line.
fn read(table: &'static str) -> Result<PublishedMachines, String> {
    let mut machines = PublishedMachines::default();
    for (at, line) in table.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let fields: Vec<&'static str> = line.split('\t').collect();
        add(&mut machines, &fields).ok_or_else(|| format!("line {}: {line}", at + 1))?;
    }
    Ok(machines)
}

/// Adds a line to the machines; none if it cannot be read.
fn add(machines: &mut PublishedMachines, fields: &[&'static str]) -> Option<()> {
    let all = &mut machines.all;
    match *fields {
        ["machine", id, name, synthetic] => all.push(MachineCosts {
            id: id.into(),
            name: name.into(),
            synthetic: synthetic.into(),
            levels: Vec::new().into(),
            memory: MemoryCosts::default(),
        }),
        ["shape", packages, nodes, caches, cores, threads] => {
            let mut shape = [0; 5];
            for (n, field) in shape.iter_mut().zip([packages, nodes, caches, cores, threads]) {
                *n = field.parse().ok()?;
            }
            machines.shapes.push((shape, all.len().checked_sub(1)?));
        }
        ["level", level, low, median, high, rate, source] => {
            let [low, median, high] = [low, median, high].map(decimal::parse);
            all.last_mut()?.levels.to_mut().push(LevelCost {
                level: level.parse().ok()?,
                hand_off: [low?, median?, high?],
                rate: known(rate)?,
                source: source.into(),
            });
        }
        ["memory", one_core, per_l3, per_node, per_package, link, cache, source] => {
            all.last_mut()?.memory = MemoryCosts {
                one_core: known(one_core)?,
                per_l3: known(per_l3)?,
                per_node: known(per_node)?,
                per_package: known(per_package)?,
                link: known(link)?,
                cache_per_core: known(cache)?,
                source: if source == "-" { "" } else { source }.into(),
            };
        }
        _ => return None,
    }
    Some(())
}

/// A number, or "-" where none was published; none if it is neither.
fn known(field: &str) -> Option<Option<f64>> {
    if field == "-" { Some(None) } else { decimal::parse(field).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let machine = "machine\tx\tX\tpack:1 core:2 pu:1";
        for line in ["level\tl3\t1\t2\t3\t-", "level\tl3\t1\t2\t-\t-\tsource", "memory\t1", "", "x"]
        {
            let table: &'static str = format!("# comment\n{machine}\n{line}\n").leak();
            assert_eq!(read(table).unwrap_err(), format!("line 3: {line}"));
        }
        assert!(read("level\tl3\t1\t2\t3\t-\tsource").is_err());
        let all = read("machine\tx\tX\tpu:1\nlevel\tl3\t1\t2\t3\t4\tsource").unwrap().all;
        assert_eq!(
            (all[0].levels[0].rate, all[0].levels[0].hand_off),
            (Some(4.0), [1.0, 2.0, 3.0])
        );
    }
}
