//! A profile for one number of ranks: what a communicator looks into at every
//! call.

use super::{Profile, Switch, serves};
use crate::schedule::{Algorithm, Operation};
use std::sync::Arc;

/// What a communicator chooses by: the team's profile, looked up for its own
/// number of ranks. Without one the rules of `choice.rs` decide.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tuning {
    profile: Option<Arc<Profile>>,
    tuned: Option<Arc<Tuned>>,
}

impl Tuning {
    pub(crate) fn new(profile: Option<Arc<Profile>>, ranks: usize) -> Self {
        let tuned = profile.as_deref().and_then(|profile| Tuned::new(profile, ranks));
        Tuning { profile, tuned: tuned.map(Arc::new) }
    }

    /// For another number of ranks.
    pub(crate) fn of_ranks(&self, ranks: usize) -> Self {
        Tuning::new(self.profile.clone(), ranks)
    }

    /// The algorithm for `bytes` bytes; none where the rules decide.
    #[inline(always)]
    pub(crate) fn algorithm(&self, operation: Operation, bytes: usize) -> Option<Algorithm> {
        self.tuned.as_deref()?.algorithm(operation, bytes)
    }
}

/// By operation the switches, if there are any that all can serve.
#[derive(Debug)]
struct Tuned {
    steps: [Box<[Switch]>; Operation::ALL.len()],
}

impl Tuned {
    /// For `ranks` ranks; none if the profile says nothing of them.
    fn new(profile: &Profile, ranks: usize) -> Option<Self> {
        let steps: [Box<[Switch]>; _] = Operation::ALL.map(|operation| {
            let steps = profile.switches(operation, ranks).unwrap_or(&[]);
            // Measured on another number of ranks, perhaps.
            let all = steps.iter().all(|s| serves(s.algorithm, operation, ranks).is_ok());
            Box::from(if all { steps } else { &[] })
        });
        steps.iter().any(|steps| !steps.is_empty()).then_some(Tuned { steps })
    }

    /// The algorithm for `bytes` bytes; none where the rules decide.
    #[inline]
    fn algorithm(&self, operation: Operation, bytes: usize) -> Option<Algorithm> {
        // The variants are in the order of `Operation::ALL`.
        let steps = &self.steps[operation as usize];
        steps.iter().rev().find(|step| step.from_bytes <= bytes).map(|step| step.algorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_are_found_by_operation_and_size() {
        let steps = |sizes: &[(usize, Algorithm)]| -> Vec<Switch> {
            let switch = |&(from_bytes, algorithm)| Switch { from_bytes, algorithm };
            sizes.iter().map(switch).collect()
        };
        let shift = steps(&[(0, Algorithm::CS_ANY), (100, Algorithm::CS_RING)]);
        let cube = steps(&[(0, Algorithm::AG_HCUBE)]);
        let profile = Profile::default()
            .with_switches(Operation::Shift, 4, &shift)
            .and_then(|p| p.with_switches(Operation::AllGather, 4, &cube))
            .unwrap();
        for (index, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, index);
        }
        let tuned = Tuned::new(&profile, 4).unwrap();
        let shift = |bytes| tuned.algorithm(Operation::Shift, bytes);
        assert_eq!(shift(0), Some(Algorithm::CS_ANY));
        assert_eq!(shift(99), Some(Algorithm::CS_ANY));
        assert_eq!(shift(100), Some(Algorithm::CS_RING));
        assert_eq!(shift(usize::MAX), Some(Algorithm::CS_RING));
        assert_eq!(tuned.algorithm(Operation::Scatter, 8), None);
        assert_eq!(tuned.algorithm(Operation::AllGather, 8), Some(Algorithm::AG_HCUBE));
        // 6 ranks are near to 4, but no power of two.
        let six = Tuned::new(&profile, 6).unwrap();
        assert_eq!(six.algorithm(Operation::AllGather, 8), None);
        assert_eq!(six.algorithm(Operation::Shift, 100), Some(Algorithm::CS_RING));
        assert!(Tuned::new(&profile, 64).is_none());
        assert!(Tuned::new(&Profile::default(), 4).is_none());
    }
}
