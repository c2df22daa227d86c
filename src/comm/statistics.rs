//! Counts of a rank's calls, where the run is recorded.

use super::Comm;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a rank's calls of one method come to: see [`Comm::statistics`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallStatistics {
    /// The method's name.
    pub operation: &'static str,
    /// Calls.
    pub calls: u64,
    /// Their bytes: of this rank's vectors or blocks.
    pub bytes: u64,
    /// Waits of more than about 100 ns in them.
    pub waits: u64,
    /// How long these lasted.
    pub waited: Duration,
}

impl Comm {
    /// What this rank's calls in the current run come to, on all communicators, by method; none if
    /// the run is not recorded ([`Builder::record`](crate::Builder::record), `PHALANX_RECORD`, or
    /// for the feature `tracing`).
    ///
    /// **Cost** none where it is not called and nothing is recorded. Does not wait.
    ///
    /// # Examples
    /// ```
    /// # let file = std::env::temp_dir().join(format!("statistics-{}.phx", std::process::id()));
    /// let team = phalanx::Team::builder().ranks(2).record(&file).build()?;
    /// let counts = team.run(|comm| {
    ///     comm.all_reduce(&mut [1.0; 4], phalanx::op::Sum);
    ///     comm.barrier();
    ///     comm.statistics().expect("recorded")
    /// })?;
    /// assert_eq!((counts[0][0].operation, counts[0][0].calls), ("all_reduce", 1));
    /// assert_eq!(counts[0][0].bytes, 32);
    /// assert_eq!(phalanx::run(2, |comm| comm.statistics())?, [None, None]);
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics(&self) -> Option<Vec<CallStatistics>> {
        let (counts, rate) = self.port.call_counts()?;
        let mut all: BTreeMap<&'static str, (CallStatistics, u64)> = BTreeMap::new();
        for count in counts {
            let operation = count.sig.map_or("others", |sig| sig.call);
            let (row, ticks) = all.entry(operation).or_default();
            row.operation = operation;
            row.calls += count.calls;
            row.bytes += count.bytes;
            row.waits += count.waits;
            *ticks += count.waited;
        }
        let rows = all.into_values().map(|(row, ticks)| CallStatistics {
            waited: Duration::from_nanos((ticks as f64 * rate) as u64),
            ..row
        });
        Some(rows.collect())
    }
}
