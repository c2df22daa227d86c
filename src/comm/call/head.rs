//! The facts of a call beside its kind and its data.

use std::panic::Location;

/// See the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct CallHead<'a> {
    /// The line that made it.
    pub(super) at: &'static Location<'static>,
    /// The root, or the distance of a shift; else 0.
    pub(super) parameter: isize,
    /// Elements of each rank's block; of an all-to-all, of those that are sent, and received.
    pub(super) counts: [&'a [usize]; 2],
}
