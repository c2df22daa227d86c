//! The executors of few bytes, of calls in either form.

use super::call::{Call, RawBuffers, Slices};
use super::{Workspace, all_at_once, alone, eager};
use crate::element::Element;
use crate::op::Operator;
use crate::shared::{Port, StartedCall, Stop};

/// A call as the executors take it: of a few bytes, on slices; or on memory.
pub(crate) trait Executed<'a>: Sized {
    /// The call without its data.
    fn facts(&self) -> Call<'a>;

    /// The call on memory, as all long ones are.
    fn on_memory(&self) -> &Call<'a, RawBuffers<'a>>;

    fn run_alone(self, port: &mut Port, begun: StartedCall);

    fn run_at_the_gates<R>(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
        between: impl FnOnce() -> R,
    ) -> Result<R, Stop>;

    fn run_eagerly(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop>;
}

impl<'a, T: Element, O: Operator<T>> Executed<'a> for Call<'a, Slices<'a, T, O>> {
    #[inline(always)]
    fn facts(&self) -> Call<'a> {
        self.bare()
    }

    fn on_memory(&self) -> &Call<'a, RawBuffers<'a>> {
        unreachable!("a call on slices has a short route")
    }

    #[inline(always)]
    fn run_alone(self, port: &mut Port, begun: StartedCall) {
        alone::run_on_slices(port, begun, self);
    }

    #[inline(always)]
    fn run_at_the_gates<R>(
        self,
        port: &mut Port,
        _: &mut Workspace,
        begun: StartedCall,
        between: impl FnOnce() -> R,
    ) -> Result<R, Stop> {
        all_at_once::run(port, begun, self, between)
    }

    #[inline(always)]
    fn run_eagerly(
        self,
        port: &mut Port,
        _: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop> {
        eager::run(port, begun, self)
    }
}

impl<'a> Executed<'a> for &Call<'a, RawBuffers<'a>> {
    #[inline(always)]
    fn facts(&self) -> Call<'a> {
        self.bare()
    }

    #[inline(always)]
    fn on_memory(&self) -> &Call<'a, RawBuffers<'a>> {
        self
    }

    #[inline(always)]
    fn run_alone(self, port: &mut Port, begun: StartedCall) {
        alone::run(port, begun, self);
    }

    #[inline(always)]
    fn run_at_the_gates<R>(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
        between: impl FnOnce() -> R,
    ) -> Result<R, Stop> {
        all_at_once::run_on_memory(port, work, begun, self, between)
    }

    #[inline(always)]
    fn run_eagerly(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop> {
        eager::run_among(port, work, begun, self)
    }
}
