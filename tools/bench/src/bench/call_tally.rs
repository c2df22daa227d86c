//! The counts of the ranks' calls of a row, where they are recorded: `Comm::statistics` of all
//! ranks together.

use phalanx::Comm;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The columns of a tsv table, behind the others.
pub(crate) const COLUMNS: [&str; 4] = ["calls", "call_bytes", "waits", "waited_ns"];

/// Of one method.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct MethodTally {
    calls: u64,
    bytes: u64,
    waits: u64,
    waited: Duration,
}

impl MethodTally {
    fn add(&mut self, other: MethodTally) {
        self.calls += other.calls;
        self.bytes += other.bytes;
        self.waits += other.waits;
        self.waited += other.waited;
    }

    fn numbers(&self) -> [u64; 4] {
        [self.calls, self.bytes, self.waits, self.waited.as_nanos() as u64]
    }
}

/// Of all methods.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallTally(BTreeMap<&'static str, MethodTally>);

impl CallTally {
    /// Of this rank's calls in the current run; none if it is not recorded.
    pub(crate) fn of(comm: &Comm) -> Option<CallTally> {
        let tally = |row: &phalanx::CallStatistics| MethodTally {
            calls: row.calls,
            bytes: row.bytes,
            waits: row.waits,
            waited: row.waited,
        };
        let rows = comm.statistics()?;
        Some(CallTally(rows.iter().map(|row| (row.operation, tally(row))).collect()))
    }

    /// Of all of these; none if there is none of any.
    pub(crate) fn sum<'a>(tallies: impl Iterator<Item = &'a CallTally>) -> Option<CallTally> {
        let mut sum: Option<CallTally> = None;
        for (operation, tally) in tallies.flat_map(|tally| &tally.0) {
            sum.get_or_insert_default().0.entry(operation).or_default().add(*tally);
        }
        sum
    }

    /// In the order of [`COLUMNS`].
    pub(crate) fn cells(&self) -> [Value; 4] {
        let mut sum = MethodTally::default();
        self.0.values().for_each(|tally| sum.add(*tally));
        sum.numbers().map(|number| json!(number))
    }

    /// Each method.
    pub(crate) fn json(&self) -> Value {
        let object = |(operation, tally): (&&'static str, &MethodTally)| {
            let [calls, bytes, waits, waited] = tally.numbers();
            json!({
                "operation": operation,
                COLUMNS[0]: calls,
                COLUMNS[1]: bytes,
                COLUMNS[2]: waits,
                COLUMNS[3]: waited,
            })
        };
        self.0.iter().map(object).collect()
    }

    /// A line for each method.
    pub(crate) fn text(&self) -> String {
        let line = |(operation, tally): (&&'static str, &MethodTally)| {
            let MethodTally { calls, bytes, waits, waited } = *tally;
            let mean = match u32::try_from(waits) {
                Ok(waits @ 1..) => format!(" of {:?} on average", waited / waits),
                _ => String::new(),
            };
            format!("#   {operation}: {calls} calls, {bytes} bytes, {waits} waits{mean}\n")
        };
        self.0.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(operation: &'static str, calls: u64, waits: u64) -> CallTally {
        let waited = Duration::from_nanos(100 * waits);
        let of_one = MethodTally { calls, bytes: 8 * calls, waits, waited };
        CallTally([(operation, of_one)].into())
    }

    #[test]
    fn methods_are_added_up_and_told_apart() {
        assert_eq!(CallTally::sum([].into_iter()), None);
        let all = [tally("barrier", 2, 0), tally("scan", 3, 2), tally("scan", 4, 2)];
        let sum = CallTally::sum(all.iter()).unwrap();
        assert_eq!(sum.cells().map(|cell| cell.as_u64().unwrap()), [9, 72, 4, 400]);
        assert_eq!(
            sum.text(),
            "#   barrier: 2 calls, 16 bytes, 0 waits\n\
             #   scan: 7 calls, 56 bytes, 4 waits of 100ns on average\n"
        );
        assert_eq!(sum.json()[1]["call_bytes"], 56);
    }
}
