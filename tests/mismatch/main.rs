//! Checks that ranks that disagree about a call always get an error that names both ranks, both
//! source lines, the expected value and the received one, and that the team is usable afterwards.
//!
//! The battery is generated: every call x every kind of disagreement, p = 2 to
//! 8, the odd rank going round, in a team's own communicator and in one that was
//! split off it, with its ranks reversed; `PHALANX_ROUNDS` goes round more often,
//! with other lengths, operations and algorithms. The detected mistakes, and how:
#![doc = include_str!("table.txt")]

#[path = "../common/mod.rs"]
mod common;
mod judge;
mod kinds;
mod names;
mod saying;
mod singles;

use common::{Watch, check_usable, rounds, team, watch};
use judge::{Outcome, allowed, expected, judge};
use kinds::{Case, KINDS, Kind, cases};
use phalanx::{Comm, Error, Team, op};
use saying::{CALLS, Call, Saying, SendRecv, odd, usual};
use std::collections::BTreeMap;

/// The source line of the split that is no part of a case.
const SETUP: u32 = line!() + 5;

fn disagree(team: &Team, case: &Case, odd: usize, in_child: bool) -> Result<(), Error> {
    let run = team.run(|comm: &mut Comm| {
        let (rank, key) = (comm.rank(), comm.size() - comm.rank());
        let mut child = in_child.then(|| comm.split(0, key));
        let comm = child.as_mut().unwrap_or(comm);
        let (said, say): (_, fn(&Saying, &mut Comm)) = match rank == odd {
            true => (&case.odd, odd::say),
            false => (&case.usual, usual::say),
        };
        said.iter().for_each(|it| say(it, comm));
    });
    run.map(drop)
}

fn battery(watch: &Watch, p: usize) {
    let mut table: BTreeMap<(Call, Kind), usize> = BTreeMap::new();
    let mut bad = Vec::new();
    let team = team(p);
    let mut number = p;
    for call in CALLS.into_iter().cycle().take(CALLS.len() * rounds()) {
        for case in cases(call, p, number) {
            let Case { kind, usual, odd: other, .. } = &case;
            number += 1;
            // Every fourth round in a child.
            let in_child = (number / p).is_multiple_of(4);
            let odd = match call {
                // The last of an odd number of ranks has no partner.
                SendRecv if in_child => p - 1 - number % (p / 2 * 2),
                SendRecv => number % (p / 2 * 2),
                _ => number % p,
            };
            let name = || {
                let place = if in_child { ", reversed child" } else { "" };
                format!(
                    "{call:?}, {kind:?}, p={p}{place}\n  rank {odd} {other:?}\n  others {usual:?}"
                )
            };
            watch.case(name());
            let place = if in_child { p - 1 - odd } else { odd };
            let wanted = allowed(&case, place, p);
            let may_be_none = wanted == [Outcome::Perhaps];
            let outcome = match disagree(&team, &case, odd, in_child) {
                Ok(()) if may_be_none => Ok(Outcome::Perhaps),
                Ok(()) => Err("no error".to_string()),
                Err(error) => judge(&error, &case, odd, p),
            };
            match outcome {
                Ok(outcome) if wanted.contains(&outcome) || may_be_none => {}
                Ok(Outcome::Perhaps) => {}
                Ok(outcome) => bad.push(format!("{outcome:?}, not {wanted:?}: {}", name())),
                Err(problem) => bad.push(format!("{problem}\n  {}", name())),
            }
            *table.entry((call, *kind)).or_default() += 1;
            if number.is_multiple_of(16) {
                check_usable(&team, number as u64);
            } else {
                still_sums(&team, number);
            }
        }
    }
    for call in CALLS {
        for kind in KINDS {
            let exists = match kind {
                Kind::Counts => p > 2,
                Kind::Extents => true,
                Kind::Distance => p > 2 || call != Call::Exchange,
                // One algorithm only, on so few ranks.
                Kind::Algorithm => call.algorithms(p).len() > 1,
                _ => true,
            };
            if exists && expected(call, kind).is_some() != table.contains_key(&(call, kind)) {
                bad.push(format!("p={p}: no case of {call:?}, {kind:?}"));
            }
        }
    }
    println!("p={p}: {} cases", table.values().sum::<usize>());
    assert!(bad.is_empty(), "{} of them:\n{}", bad.len(), bad.join("\n"));
}

/// The least that shows that nothing of the failed run is left.
fn still_sums(team: &Team, salt: usize) {
    let p = team.size();
    let sums = team.run(|comm| {
        let mut x = [comm.rank() + salt, 1];
        comm.all_reduce(&mut x, op::Sum);
        let mut y = vec![comm.rank() + salt; 40];
        comm.all_reduce(&mut y, op::Sum);
        assert_eq!(y, [x[0]; 40]);
        x
    });
    assert_eq!(
        sums.expect("a correct run after a failed one"),
        vec![[p * salt + p * (p - 1) / 2, p]; p]
    );
}

macro_rules! batteries {
    ($($name:ident $p:literal;)*) => {$(
        #[test]
        fn $name() {
            battery(&watch(), $p);
        }
    )*};
}

batteries! {
    two_ranks 2;
    three_ranks 3;
    four_ranks 4;
    five_ranks 5;
    six_ranks 6;
    seven_ranks 7;
    eight_ranks 8;
}

/// The table in the documentation above is the one that the battery asserts.
#[test]
fn the_table_is_up_to_date() {
    let mut text = String::from("\n```text\n");
    for (i, kind) in KINDS.iter().enumerate() {
        text += &format!("{:>20}{} {kind:?}\n", "", " |".repeat(i) + " +-".trim_start());
    }
    for call in CALLS {
        let cell = |&kind: &Kind| expected(call, kind).map_or('.', Outcome::letter);
        let cells: Vec<String> = KINDS.iter().map(|kind| cell(kind).to_string()).collect();
        text += format!("{:<20} {}", format!("{call:?}"), cells.join(" ")).trim_end();
        text += "\n";
    }
    text += "```\n\n\
        - `M`: a mismatch that names the odd rank, both source lines, and what was expected and \
        got.\n  (A `send` in place of a barrier may be `L`: see `allowed`.)\n\
        - `L`: a rank has returned, or made fewer calls: both ranks, the call that waited (or that \
        was\n  one too many) and the last call of the other.\n\
        - `S`: messages; a mismatch, a deadlock, `Left` or `Unreceived`, with the odd rank and \
        source lines.\n\
        - `v`: the view may come to the same algorithm, or not fit; else `M`.\n\
        - `.`: the call has no such thing (or may differ in it: the length of a view, or of a part \
        of a sum).\n";
    let there = include_str!("table.txt");
    if text != there {
        println!("{text}");
    }
    assert!(text == there, "tests/mismatch/table.txt should be as printed");
}
