//! Pages by task, pages for users of other libraries, and the textbook: one page per
//! operation, with the figures of its algorithms, their preconditions, their costs, and the fastest
//! for each case.
//!
//! | page | task |
//! |---|---|
//! | [`errors`] | the texts of the compiler and of a run, and the remedies; a rank's own error |
//! | [`arrays`] | arrays of other crates; a distributed field on one rank; memory near ranks |
//! | [`progress`] | how far a run is; Ctrl-C, time limits |
//! | [`servers`] | a team in a server or an async program |
//! | [`beside`] | Rayon, BLAS and other pools in one program |
//! | [`hosts`] | containers, hybrid machines, pools that spin, plug-ins, interpreters |
//! | [`waiting`] | which [`Wait`](crate::Wait) fits when; other processes on the cores |
//! | [`from_mpi`], [`from_openmp`], [`from_rayon`] | equivalents, and programs side by side |
//!
//! The table at the head of [`Comm`](crate::Comm) lists the calls by task.
//!
//! # The textbook
//!
//! | page | operation | ids |
//! |---|---|---|
//! | [`cost_model`] | how to read the tables: t_s + t_w m, steps, ports, crossovers | |
//! | [`embeddings`] | Gray codes, E-cube routing, dilation, congestion | |
//! | [`broadcast`] | one-to-all broadcast | `BC-..` |
//! | [`reduce`] | all-to-one reduction | `RED-..` |
//! | [`all_gather`] | all-to-all broadcast | `AG-..` |
//! | [`reduce_scatter`] | all-to-all reduction | `RS-..` |
//! | [`all_reduce`] | everybody gets the combination | `AR-..` |
//! | [`barrier`] | nobody leaves before everybody has come | `BAR-..` |
//! | [`scan`] | prefix sums | `SCAN-..` |
//! | [`scatter_gather`] | one-to-all and all-to-one personalised communication | `SC-..`, `GA-..` |
//! | [`all_to_all`] | total exchange | `TX-..` |
//! | [`shift`] | circular q-shift | `CS-..` |
//!
//! An operation that a method of [`Comm`](crate::Comm) carries out is a value of
//! [`call`](crate::call), too, under the method's name: to be started, set up, overlapped with
//! work, or run by a forced algorithm.
//!
//! The figures are drawn from the schedules that the engine runs, and the
//! examples under them compare the two. Figures ("Fig."), equations ("Eq.") and
//! algorithms ("Alg.") are numbered as in Grama, Gupta, Karypis and Kumar,
//! *Introduction to Parallel Computing*, 2nd edition, chapter 4; "ours" marks
//! algorithms that are not there, G1 to G8 the rules for any p ([`cost_model`]).

#[doc = include_str!("all_gather.md")]
pub mod all_gather {}
#[doc = include_str!("all_reduce.md")]
pub mod all_reduce {}
#[doc = include_str!("all_to_all.md")]
pub mod all_to_all {}
#[doc = include_str!("arrays.md")]
pub mod arrays {}
#[doc = include_str!("barrier.md")]
pub mod barrier {}
#[doc = include_str!("beside.md")]
pub mod beside {}
#[doc = include_str!("broadcast.md")]
pub mod broadcast {}
#[doc = include_str!("cost_model.md")]
pub mod cost_model {}
#[doc = include_str!("embeddings.md")]
pub mod embeddings {}
#[doc = include_str!("errors.md")]
pub mod errors {}
#[doc = include_str!("from_mpi.md")]
pub mod from_mpi {}
#[doc = include_str!("from_openmp.md")]
pub mod from_openmp {}
#[doc = include_str!("from_rayon.md")]
pub mod from_rayon {}
#[doc = include_str!("hosts.md")]
pub mod hosts {}
#[doc = include_str!("progress.md")]
pub mod progress {}
#[doc = include_str!("reduce.md")]
pub mod reduce {}
#[doc = include_str!("reduce_scatter.md")]
pub mod reduce_scatter {}
#[doc = include_str!("scan.md")]
pub mod scan {}
#[doc = include_str!("scatter_gather.md")]
pub mod scatter_gather {}
#[doc = include_str!("servers.md")]
pub mod servers {}
#[doc = include_str!("shift.md")]
pub mod shift {}
#[doc = include_str!("waiting.md")]
pub mod waiting {}

#[cfg(test)]
mod tests {
    use crate::schedule::{Algorithm, Operation, Request};

    fn page(operation: Operation) -> &'static str {
        match operation.base() {
            Operation::Broadcast => include_str!("broadcast.md"),
            Operation::Reduce => include_str!("reduce.md"),
            Operation::AllGather => include_str!("all_gather.md"),
            Operation::ReduceScatter => include_str!("reduce_scatter.md"),
            Operation::AllReduce => include_str!("all_reduce.md"),
            Operation::Barrier => include_str!("barrier.md"),
            Operation::Scan => include_str!("scan.md"),
            Operation::Scatter | Operation::Gather => include_str!("scatter_gather.md"),
            Operation::AllToAll => include_str!("all_to_all.md"),
            Operation::Shift => include_str!("shift.md"),
            other => panic!("no page for {other}"),
        }
    }

    #[test]
    fn every_algorithm_has_one_row_in_the_table_of_its_operation() {
        for &algorithm in Algorithm::ALL {
            for &operation in algorithm.operations() {
                let row = format!("| `{algorithm}` |");
                assert_eq!(page(operation).matches(&row).count(), 1, "{row} of {operation}");
            }
        }
    }

    /// The pre-condition and the ports that a table states are those that the
    /// catalogue and the schedule for 8 ranks have.
    #[test]
    fn the_tables_state_what_the_algorithms_ask_for() {
        for &algorithm in Algorithm::ALL {
            for &operation in algorithm.operations() {
                let row = format!("| `{algorithm}` |");
                let line = page(operation).lines().find(|line| line.starts_with(&row)).unwrap();
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                let [_, _, topology, needs, _, _] = cells[..] else { panic!("{line}") };
                let asks = algorithm.precondition();
                assert_eq!(needs.contains("p = 2^d"), asks.contains("power of two"), "{line}");
                assert_eq!(needs.contains("root 0"), asks.contains("root 0"), "{line}");
                assert_eq!(needs.contains("two dim"), asks.contains("rows x columns"), "{line}");
                let root = usize::from(operation.is_rooted() && !asks.contains("root 0"));
                let schedule = algorithm.schedule(&Request::new(operation, 8).root(root)).unwrap();
                assert_eq!(needs.contains("commutative"), !schedule.is_ordered(), "{line}");
                assert_eq!(topology.contains("port"), schedule.ports() > 1, "{line}");
            }
        }
    }

    #[test]
    fn no_table_names_an_algorithm_that_does_not_exist() {
        for operation in Operation::ALL {
            for line in page(operation).lines() {
                assert!(line.chars().count() <= 120, "{line}");
                if let Some(id) = line.strip_prefix("| `").and_then(|l| l.split('`').next()) {
                    assert!(id.parse::<Algorithm>().is_ok(), "{id} on the page of {operation}");
                }
            }
        }
    }
}
