//! The clocks and verdicts of a kernel's run.

use super::spmd::Spmd;
use std::time::Instant;

/// The outcome of a run of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    /// The worst relative error against the published values.
    pub(crate) error: f64,
    pub(crate) tolerance: f64,
}

impl Outcome {
    pub(crate) fn new(seconds: f64, error: f64, tolerance: f64) -> Self {
        Outcome { seconds, error, tolerance }
    }

    pub(crate) fn is_verified(&self) -> bool {
        self.error <= self.tolerance
    }
}

/// The relative error of `got`; infinite for no number.
pub(crate) fn agree(got: f64, published: f64) -> f64 {
    let error = ((got - published) / published).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The time from when the last rank starts until the last one stops.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start<C: Spmd>(comm: &mut C) -> Self {
        comm.barrier();
        Stopwatch(Instant::now())
    }

    pub(crate) fn stop<C: Spmd>(self, comm: &mut C) -> f64 {
        comm.barrier();
        self.0.elapsed().as_secs_f64()
    }
}
