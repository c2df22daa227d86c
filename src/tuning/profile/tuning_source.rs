//! The source of a communicator's sizes: the user's, the profile's, or the machine's.

use super::Profile;
use crate::tuning::Tuning;
use std::sync::Arc;

/// Sizes that were handed in, else those of a profile, else the machine's.
#[derive(Debug)]
pub(crate) struct TuningSource {
    given: Option<Tuning>,
    profile: Option<Arc<Profile>>,
    machine: Tuning,
}

impl TuningSource {
    pub(crate) fn new(
        given: Option<Tuning>,
        profile: Option<Arc<Profile>>,
        machine: Tuning,
    ) -> Self {
        TuningSource { given, profile, machine }
    }

    /// The sizes for a communicator of `ranks` ranks.
    pub(crate) fn tuning(&self, ranks: usize) -> Tuning {
        let measured = || self.profile.as_deref().and_then(|profile| profile.tuning(ranks));
        self.given.or_else(measured).unwrap_or(self.machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_goes_before_what_was_measured() {
        let sizes = |shift_fused| Tuning { shift_fused, ..Tuning::default() };
        let profile = Profile::default().with_tuning(4, sizes(44)).unwrap();
        let profile = Some(Arc::new(profile));
        let shift = |given, ranks| {
            TuningSource::new(given, profile.clone(), sizes(77)).tuning(ranks).shift_fused
        };
        assert_eq!([shift(None, 4), shift(None, 8), shift(None, 9)], [44, 44, 77]);
        assert_eq!(shift(Some(sizes(11)), 4), 11);
        assert_eq!(TuningSource::new(None, None, sizes(77)).tuning(4).shift_fused, 77);
    }
}
