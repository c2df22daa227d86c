//! The oracle's calls as a table of numbers, for the tests of C and MPI (`cases.h` reads it). A
//! line is one rank's call: the number of ranks, its rank, how many calls it has, the operation,
//! whether blocks differ in length, root or distance, the counts of all ranks, those of its pairs
//! to and from each; then its input, its output before and after the call, as spans. A span has a
//! kind (old elements, a rank's, sums of the ranks before one), a rank, a place and a length.

#[path = "one_call.rs"]
mod one_call;

use one_call::{Buffers, OneCall};
use phalanx::schedule::Operation;
use std::fmt::Write;
use std::ops::Range;

fn spans(elements: &[[usize; 3]]) -> String {
    let mut spans: Vec<([usize; 3], usize)> = Vec::new();
    for &[kind, rank, i] in elements {
        match spans.last_mut() {
            Some(([0, ..], n)) if kind == 0 => *n += 1,
            Some(([k, r, from], n)) if [*k, *r, *from + *n] == [kind, rank, i] => *n += 1,
            _ => spans.push(([kind, rank, i], 1)),
        }
    }
    let texts = spans.iter().map(|([kind, rank, i], n)| format!(" {kind} {rank} {i} {n}"));
    format!(" {}{}", spans.len(), texts.collect::<String>())
}

/// The calls on so many ranks.
pub(crate) fn cases(ranks: impl Iterator<Item = usize>) -> String {
    // Lengths at which the transport changes: in a line, in a slot, copied, by address.
    const LENGTHS: [usize; 8] = [0, 1, 5, 12, 100, 128, 129, 3601];
    let mut text = String::new();
    for (p, rank) in ranks.flat_map(|p| (0..p).map(move |rank| (p, rank))) {
        let roots: Vec<usize> = (0..p).filter(|r| p < 5 || [0, 3, p - 1].contains(r)).collect();
        let distances = [-(p as isize), -1, 0, 2, p as isize];
        let mut all = Vec::new();
        for n in LENGTHS {
            let counts: Vec<usize> = (0..p).map(|q| if q % 3 == 1 { 0 } else { n + q }).collect();
            all.extend(OneCall::all(&(rank, p), n, &roots, &distances));
            all.extend(OneCall::all_varied(&(rank, p), &counts, &[p - 1]));
        }
        for it in &all {
            let of = |kind| {
                move |r, range: Range<usize>| range.map(|i| [kind, r, i]).collect::<Vec<_>>()
            };
            let Buffers { input, output, wanted } = it.buffers_of([0; 3], &of(1), &of(2));
            let place = Operation::ALL.iter().position(|op| *op == it.operation).unwrap();
            let (calls, is_varied) = (all.len(), u8::from(it.is_varied));
            write!(text, "{p} {rank} {calls} {place} {is_varied} {}", it.v).unwrap();
            for counts in [&it.counts, &it.to, &it.from] {
                counts.iter().for_each(|n| write!(text, " {n}").unwrap());
            }
            writeln!(text, "{}{}{}", spans(&input), spans(&output), spans(&wanted)).unwrap();
        }
    }
    text
}
