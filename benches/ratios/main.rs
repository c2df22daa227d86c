//! The ratio of each call's time to the raw exchange of two flags between the same two cores,
//! measured in interleaved batches of one run.
//!
//! On a virtual machine the host moves the cores: the same exchange costs 30,
//! 60 or 280 ns from one moment to the next. So every batch stands between two
//! raw exchanges and counts only if they agree; its result is a multiple of
//! them, and is filed under the place that they show (below 45 ns the two are
//! threads of one core, below 130 ns `near`, else `far`).
//!
//! `cargo bench --bench ratios [-- PART..]`, parts: small, varied, requests, solver, large,
//! halves, dispatch, alone, crowded. With `--test` one round, nothing printed but that
//! it works. `SECONDS_PER_RUN` is the time for each of the first six; large takes four times as
//! long.
//! A row in which the library thought that the process is disturbed says so.

#[cfg(feature = "half")]
mod halves;
mod large;
mod raw;
mod requests;
mod small;
mod solver;
mod team;
mod varied;

use phalanx::{Comm, Team};
use raw::{Flags, Row};
use std::time::Duration;

/// One rank's rows of a part for two ranks.
type Part = fn(&mut Comm, &Flags, Duration) -> Vec<Row>;

fn main() -> Result<(), phalanx::Error> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let test = args.iter().any(|a| a == "--test");
    let parts: Vec<&str> =
        args.iter().map(String::as_str).filter(|a| !a.starts_with("-")).collect();
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    let seconds = std::env::var("SECONDS_PER_RUN").ok().and_then(|s| s.parse().ok()).unwrap_or(5.0);
    let time = Duration::from_secs_f64(if test { 0.0 } else { seconds });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        println!("ratios: skipped, a raw exchange needs two cores and there is {cores}");
        return Ok(());
    }
    let team = Team::builder().ranks(2).pin_caller(true).build()?;
    let mut rows = Vec::new();
    let of_two: &[(&str, Duration, Part)] = &[
        ("small", time, small::two_ranks),
        ("varied", time, varied::two_ranks),
        ("requests", time, requests::two_ranks),
        ("solver", time, solver::two_ranks),
        ("large", 4 * time, large::two_ranks),
        #[cfg(feature = "half")]
        ("halves", time, halves::two_ranks),
    ];
    for &(_, time, part) in of_two.iter().filter(|(name, ..)| wanted(name)) {
        let flags = Flags::default();
        rows.extend(team.run(|comm| part(comm, &flags, time))?.swap_remove(0));
    }
    if wanted("dispatch") {
        rows.extend(team::dispatch(&team, time / 4)?);
    }
    let mut more = Vec::new();
    if wanted("dispatch") {
        let us = team::asleep(&team, if test { 1 } else { 200 })?;
        more.push(format!("run of nothing on sleeping workers: {us:.1} us"));
    }
    drop(team);
    if wanted("solver") {
        more.extend(solver::crowded(if test { 1 } else { 31 })?);
    }
    if wanted("alone") {
        let calls = if test { 1 } else { 20_000 };
        for (what, ns) in [("", team::alone(calls)?), (", recorded", team::recorded(calls)?)] {
            let ns: Vec<_> = ns.iter().map(|(name, ns)| format!("{name} {ns:.1}")).collect();
            more.push(format!("one rank, 8 B{what}, ns: {}", ns.join(", ")));
        }
    }
    if wanted("crowded") {
        for ranks in [4, 8] {
            let [barrier, sum, std] = team::crowded(ranks, if test { 1 } else { 21 })?;
            more.push(format!(
                "{ranks} ranks on {cores} cores, us: barrier {:.1}, all-reduce of 8 B {:.1}, \
                 std::sync::Barrier {:.1}",
                barrier / 1e3,
                sum / 1e3,
                std / 1e3
            ));
        }
    }
    if test {
        println!("ratios: works");
        return Ok(());
    }
    if !rows.is_empty() {
        Row::heading();
        rows.iter_mut().for_each(Row::print);
    }
    more.iter().for_each(|line| println!("{line}"));
    Ok(())
}
