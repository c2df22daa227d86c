//! Questions behind pointers.

/// Something that is asked again and again. (A closure behind `dyn FnMut` has two bodies: that is
/// `FnOnce`, too.)
pub(crate) trait Question {
    fn ask(&mut self) -> bool;
}

impl<F: FnMut() -> bool> Question for F {
    fn ask(&mut self) -> bool {
        self()
    }
}
