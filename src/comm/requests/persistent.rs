//! Persistent requests: set up once, started many times.

use super::pending::{Gives, Kept, Lent};
use super::running::{Failure, Running, Underway};
use super::start::Form;
use super::started_collective::Collective;
use super::{Brand, OpenRequest, Requests};
use crate::Status;
use crate::error::At;
use crate::exec::board::started::{Job, WorkDesk};
use crate::exec::{Call, RawBuffers};
use crate::shared::EarlyReceive;
use crate::sync::catch_unwind;
use std::fmt;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;

/// A call that is [set up](Requests::set_up), and not under way: [`start`](Requests::start) starts
/// it, and [`wait`](Requests::wait) gives it back.
///
/// It has its buffers as long as it lives, and lends them out between two starts: `input` is the
/// memory that the rank gives, and `buf` that of the result; where a call works in place both are
/// the same.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let mut x = [0.0; 4];
///     comm.requests(|scope| {
///         let mut sum = scope.set_up(call::all_reduce(&mut x, op::Sum));
///         for step in 1..=10 {
///             sum.buf_mut().fill(f64::from(step));
///             let request = scope.start(sum);
///             // .. work ..
///             sum = scope.wait(request);
///         }
///         sum.buf()[0]
///     })
/// })?;
/// assert_eq!(out, [30.0; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct Persistent<'scope, 'env, T> {
    again: Box<dyn Repeatable<'env> + 'env>,
    input: *mut [T],
    buf: *mut [T],
    _brand: Brand<'scope>,
    _buf: PhantomData<&'env mut [T]>,
}

impl<'env, T> Persistent<'_, 'env, T> {
    pub(super) fn of<R: Restart<'env> + 'env>(again: Box<Repeated<'env, T, R>>) -> Self
    where
        T: 'env,
    {
        let (input, buf) = (again.input, again.buf);
        Persistent { again, input, buf, _brand: PhantomData, _buf: PhantomData }
    }

    /// The buffer, with the result of the latest call.
    ///
    /// # Examples
    /// See [`Persistent`].
    pub fn buf(&self) -> &[T] {
        // SAFETY: borrowed for 'env, and no call that has it is under way.
        unsafe { &*self.buf }
    }

    /// The buffer, to be filled for the next call.
    ///
    /// # Examples
    /// See [`Persistent`].
    pub fn buf_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; exclusively, as this is.
        unsafe { &mut *self.buf }
    }

    /// The input of this rank.
    ///
    /// # Examples
    /// See [`set_up`](Requests::set_up).
    pub fn input(&self) -> &[T] {
        // SAFETY: as above.
        unsafe { &*self.input }
    }

    /// The input of this rank, to be filled for the next call.
    ///
    /// # Examples
    /// See [`set_up`](Requests::set_up).
    pub fn input_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { &mut *self.input }
    }

    /// The facts of the latest message, if this is a receive that was waited for.
    ///
    /// # Examples
    /// See [`recv_tagged`](crate::call::recv_tagged).
    pub fn status(&self) -> Option<Status> {
        self.again.status()
    }
}

impl<T> fmt::Debug for Persistent<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Persistent").finish_non_exhaustive()
    }
}

/// The state of a call that was started again.
pub(super) enum Restarted {
    Over,
    Open,
    /// It is an early receive, in a slot that is still to be found.
    Early(EarlyReceive),
}

/// A call that can be started when it is not under way.
pub(super) trait Restart<'env> {
    /// The call, once it was started.
    fn running(&self) -> &dyn Running;

    /// As [`running`](Restart::running).
    fn running_mut(&mut self) -> &mut dyn Running;

    /// Starts it, at the line `at`. It was made in this scope, or in one of the same communicator.
    fn restart(&mut self, scope: &mut Requests<'_, 'env>, at: At) -> Restarted;

    /// The facts of the message that it has received.
    fn status(&self) -> Option<Status> {
        None
    }
}

/// A collective that is set up.
struct SetUpCollective<'env> {
    call: Call<'env, RawBuffers<'env>>,
    started: Collective<'env>,
}

impl<'env> Restart<'env> for SetUpCollective<'env> {
    fn running(&self) -> &dyn Running {
        &self.started
    }

    fn running_mut(&mut self) -> &mut dyn Running {
        &mut self.started
    }

    #[inline(always)]
    fn restart(&mut self, scope: &mut Requests<'_, 'env>, at: At) -> Restarted {
        let begun = scope.begin(&self.call, at);
        if scope.comm.port.size() == 1 {
            scope.run_alone(begun, &self.call);
            return Restarted::Over;
        }
        // SAFETY: made with this port (`set_up`), which `begin` has compared; the scope completes
        // the call, or waits until nobody has its memory.
        match unsafe { scope.launch(&mut self.started, begun) } {
            true => Restarted::Over,
            false => Restarted::Open,
        }
    }
}

/// The work of a call on this rank's own buffer: before it is started, and as soon as it is over.
pub(crate) trait OwnWork {
    /// # Safety
    /// The buffer is borrowed, and nobody else uses it meanwhile.
    unsafe fn before(&self);

    /// # Safety
    /// As [`before`](OwnWork::before).
    unsafe fn after(&self);
}

/// The parts of a [`Persistent`]: the call, the work around it, their memory, and the buffers.
pub(super) struct Repeated<'env, T, R> {
    call: R,
    own_work: Option<&'env dyn OwnWork>,
    _kept: Kept<'env>,
    input: *mut [T],
    buf: *mut [T],
    _buf: PhantomData<&'env mut [T]>,
}

impl<'env, T, R> Repeated<'env, T, R> {
    pub(super) fn new(call: R, kept: Kept<'env>, input: *mut [T], buf: *mut [T]) -> Self {
        Repeated { call, own_work: None, _kept: kept, input, buf, _buf: PhantomData }
    }

    /// The call is over: does the work after it.
    fn finish(&self) {
        if let Some(work) = self.own_work {
            // SAFETY: borrowed for 'env, and no call that has it is under way.
            unsafe { work.after() };
        }
    }
}

/// A [`Repeated`] of any kind.
trait Repeatable<'env>: Underway + 'env {
    /// As [`Restart::restart`].
    fn start(&mut self, scope: &mut Requests<'_, 'env>, at: At) -> Restarted;

    fn status(&self) -> Option<Status>;
}

impl<'env, T: 'env, R: Restart<'env> + 'env> Repeatable<'env> for Repeated<'env, T, R> {
    fn start(&mut self, scope: &mut Requests<'_, 'env>, at: At) -> Restarted {
        let Some(work) = self.own_work else { return self.call.restart(scope, at) };
        // SAFETY: borrowed for 'env, and no call that has it is under way.
        unsafe { work.before() };
        let restarted = self.call.restart(scope, at);
        if let Restarted::Over = restarted {
            self.finish();
        }
        restarted
    }

    fn status(&self) -> Option<Status> {
        self.call.status()
    }
}

impl<'env, T: 'env, R: Restart<'env> + 'env> Underway for Repeated<'env, T, R> {
    fn running(&self) -> &dyn Running {
        self.call.running()
    }

    fn running_mut(&mut self) -> &mut dyn Running {
        self.call.running_mut()
    }

    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        let is_over = self.call.running_mut().advance(desk)?;
        if is_over && self.own_work.is_some() {
            let finish = || desk.place.in_user_code(|| self.finish());
            catch_unwind(AssertUnwindSafe(finish)).map_err(Failure::Panicked)?;
        }
        Ok(is_over)
    }

    unsafe fn give(self: Box<Self>, to: *mut u8) {
        // SAFETY: a request for this gives a `Persistent` of the scope that it was made in
        // (`Requests::start`); lifetimes make no difference to the bytes that are written.
        unsafe { to.cast::<Persistent<'_, 'env, T>>().write(Persistent::of(self)) };
    }
}

/// A [`Repeated`] that is started once: its request gives that.
struct StartedOnce<'env, R>(Repeated<'env, (), R>, Gives<'env>);

impl<'env, R: Restart<'env> + 'env> Underway for StartedOnce<'env, R> {
    fn running(&self) -> &dyn Running {
        self.0.running()
    }

    fn running_mut(&mut self) -> &mut dyn Running {
        self.0.running_mut()
    }

    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        self.0.advance(desk)
    }

    unsafe fn give(self: Box<Self>, to: *mut u8) {
        // SAFETY: passed on.
        unsafe { self.1.give(to) };
    }
}

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts a call with work around it, in the line `at`; its slot, if it is not over.
    pub(crate) fn start_around(
        &mut self,
        (call, kept, work): (Call<'env, RawBuffers<'env>>, Kept<'env>, &'env dyn OwnWork),
        gives: Gives<'env>,
        at: At,
    ) -> Option<usize> {
        self.check_place();
        let none = std::ptr::from_mut(&mut [] as &mut [()]);
        let again = Repeated::new(self.collective(call), kept, none, none);
        let mut once = Box::new(StartedOnce(Repeated { own_work: Some(work), ..again }, gives));
        match once.0.start(self, at) {
            Restarted::Over => None,
            _ => Some(self.open.add_again(once)),
        }
    }

    /// Starts a call that was set up, in the line `at`.
    pub(crate) fn start_again<T>(
        &mut self,
        mut persistent: Persistent<'scope, 'env, T>,
        at: At,
    ) -> OpenRequest<'scope, Persistent<'scope, 'env, T>> {
        match persistent.again.start(self, at) {
            Restarted::Over => OpenRequest::over(persistent),
            Restarted::Open => OpenRequest::open(self.open.add_again(persistent.again)),
            Restarted::Early(early) => {
                // SAFETY: the buffer is borrowed for longer than the scope, which does not end
                // before the request is complete or withdrawn; nobody uses it before that.
                OpenRequest::open(unsafe { self.open.add_early_again(persistent.again, early) })
            }
        }
    }

    /// `call`, not started yet.
    pub(super) fn collective(
        &self,
        call: Call<'env, RawBuffers<'env>>,
    ) -> impl Restart<'env> + use<'env> {
        let comm = &*self.comm;
        let job = Job::new(&call, (comm.port.rank(), comm.port.size()), &comm.work);
        SetUpCollective { call, started: Collective::new(job) }
    }

    /// `form` as a call that is not started yet, with such work around it; its input, if that is
    /// not its result's buffer.
    pub(crate) fn set_up_form<T: 'env>(
        &mut self,
        form: Form<'env, T>,
        input: Option<Lent<'env, T>>,
        own_work: Option<&'env dyn OwnWork>,
    ) -> Persistent<'scope, 'env, T> {
        self.check_place();
        let Form { call, kept, result } = form;
        let (call, buf) = (self.collective(call), result.at());
        let again = Repeated::new(call, kept, input.map_or(buf, |input| input.at()), buf);
        Persistent::of(Box::new(Repeated { own_work, ..again }))
    }
}
