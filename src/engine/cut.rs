//! How a call cuts its data.

/// How the data of a call are cut into the contract's blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut<'a> {
    /// A vector of so many elements, whole or cut evenly into the parts.
    Vector(usize),
    /// Blocks of so many elements each.
    Equal(usize),
    /// Block `j` has `counts[j]` elements.
    Varied(&'a [usize]),
    /// All-to-all: this rank sends `send[j]` elements to `j` and receives
    /// `recv[j]` from it. Only for schedules that do not forward.
    Pairs { send: &'a [usize], recv: &'a [usize] },
}
