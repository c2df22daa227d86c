//! Persistent requests: set up once, started many times.

use super::pending::{Kept, Lent};
use super::running::{Failure, Running, Underway};
use super::start::Form;
use super::started_collective::Collective;
use super::{Brand, OpenRequest, Requests};
use crate::Status;
use crate::exec::board::started::{Job, WorkDesk};
use crate::exec::{Call, RawBuffers};
use crate::shared::EarlyReceive;
use crate::sync::catch_unwind;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location};

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
    pub(super) fn of<R, W>(again: Box<Repeated<'env, T, R, W>>) -> Self
    where
        T: 'env,
        R: Restart<'env> + 'env,
        W: OwnWork<T> + 'env,
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
    fn restart(
        &mut self,
        scope: &mut Requests<'_, 'env>,
        at: &'static Location<'static>,
    ) -> Restarted;

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

    fn restart(
        &mut self,
        scope: &mut Requests<'_, 'env>,
        at: &'static Location<'static>,
    ) -> Restarted {
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
pub(crate) trait OwnWork<T> {
    /// Whether there is any.
    const IS_ANY: bool = true;

    fn before(&self, buf: &[T]);
    fn after(&self, buf: &mut [T]);
}

impl<T, W: OwnWork<T>> OwnWork<T> for &W {
    fn before(&self, buf: &[T]) {
        (**self).before(buf);
    }

    fn after(&self, buf: &mut [T]) {
        (**self).after(buf);
    }
}

/// That of most calls. A type: they must not pay for those that have some.
pub(super) struct NoWork;

impl<T> OwnWork<T> for NoWork {
    const IS_ANY: bool = false;

    fn before(&self, _: &[T]) {}
    fn after(&self, _: &mut [T]) {}
}

/// The parts of a [`Persistent`]: the call, the work around it, their memory, and the buffers.
pub(super) struct Repeated<'env, T, R, W = NoWork> {
    call: R,
    own_work: W,
    /// Whether it is started once: its request gives the buffer.
    once: bool,
    _kept: Kept<'env>,
    input: *mut [T],
    buf: *mut [T],
    _buf: PhantomData<&'env mut [T]>,
}

impl<'env, T, R> Repeated<'env, T, R> {
    pub(super) fn new(call: R, kept: Kept<'env>, input: *mut [T], buf: *mut [T]) -> Self {
        Repeated { call, own_work: NoWork, once: false, _kept: kept, input, buf, _buf: PhantomData }
    }
}

impl<T, R, W: OwnWork<T>> Repeated<'_, T, R, W> {
    /// The call is over: does the work after it.
    fn finish(&mut self) {
        if const { W::IS_ANY } {
            // SAFETY: borrowed for 'env, and no call that has it is under way.
            self.own_work.after(unsafe { &mut *self.buf });
        }
    }
}

/// A [`Repeated`] of any kind.
trait Repeatable<'env>: Underway + 'env {
    /// As [`Restart::restart`].
    fn start(
        &mut self,
        scope: &mut Requests<'_, 'env>,
        at: &'static Location<'static>,
    ) -> Restarted;

    fn status(&self) -> Option<Status>;
}

impl<'env, T, R, W> Repeatable<'env> for Repeated<'env, T, R, W>
where
    T: 'env,
    R: Restart<'env> + 'env,
    W: OwnWork<T> + 'env,
{
    fn start(
        &mut self,
        scope: &mut Requests<'_, 'env>,
        at: &'static Location<'static>,
    ) -> Restarted {
        if const { W::IS_ANY } {
            // SAFETY: borrowed for 'env, and no call that has it is under way.
            self.own_work.before(unsafe { &*self.buf });
        }
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

impl<'env, T, R, W> Underway for Repeated<'env, T, R, W>
where
    T: 'env,
    R: Restart<'env> + 'env,
    W: OwnWork<T> + 'env,
{
    fn running(&self) -> &dyn Running {
        self.call.running()
    }

    fn running_mut(&mut self) -> &mut dyn Running {
        self.call.running_mut()
    }

    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        let is_over = self.call.running_mut().advance(desk)?;
        if const { W::IS_ANY } && is_over {
            let finish = || desk.place.in_user_code(|| self.finish());
            catch_unwind(AssertUnwindSafe(finish)).map_err(Failure::Panicked)?;
        }
        Ok(is_over)
    }

    unsafe fn give(self: Box<Self>, to: *mut u8) {
        // SAFETY: a request for this gives its buffer, which is borrowed for 'env, and no call has
        // it any more; or a `Persistent` of the scope that it was made in (`Requests::start`);
        // lifetimes make no difference to the bytes that are written.
        unsafe {
            match self.once {
                true => to.cast::<&mut [T]>().write(&mut *self.buf),
                false => to.cast::<Persistent<'_, 'env, T>>().write(Persistent::of(self)),
            }
        }
    }
}

/// A call that can be started, the values that it uses, the work around it, and its buffer.
type FormWithWork<'env, T, W> = (Call<'env, RawBuffers<'env>>, Kept<'env>, &'env W, &'env mut [T]);

impl<'scope, 'env> Requests<'scope, 'env> {
    /// A call with work of the rank's own around it, not started yet.
    fn with_work<T, W: OwnWork<T>>(
        &mut self,
        (call, kept, work, buf): FormWithWork<'env, T, W>,
        once: bool,
    ) -> Repeated<'env, T, impl Restart<'env> + use<'env, T, W>, &'env W> {
        self.check_place();
        let (call, buf) = (self.collective(call), std::ptr::from_mut(buf));
        Repeated { call, own_work: work, once, _kept: kept, input: buf, buf, _buf: PhantomData }
    }

    /// Sets it up.
    pub(crate) fn set_up_with_work<T: 'env, W: OwnWork<T>>(
        &mut self,
        form: FormWithWork<'env, T, W>,
    ) -> Persistent<'scope, 'env, T> {
        Persistent::of(Box::new(self.with_work(form, false)))
    }

    /// Starts it, in the line `at`.
    pub(crate) fn start_with_work<T: 'env, W: OwnWork<T>>(
        &mut self,
        form: FormWithWork<'env, T, W>,
        at: &'static Location<'static>,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let mut call = Box::new(self.with_work(form, true));
        match call.start(self, at) {
            // SAFETY: borrowed for 'env, and no call has it any more.
            Restarted::Over => OpenRequest::over(unsafe { &mut *call.buf }),
            _ => OpenRequest::open(self.open.add_again(call)),
        }
    }

    /// Starts a call that was set up, in the line `at`.
    pub(crate) fn start_again<T>(
        &mut self,
        mut persistent: Persistent<'scope, 'env, T>,
        at: &'static Location<'static>,
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

    /// `form` of a call on memory, not started yet.
    pub(crate) fn set_up_as_it_is(&mut self, form: Form<'env, ()>) -> Persistent<'scope, 'env, ()> {
        self.check_place();
        let Form { call, kept, result } = form;
        let (call, none) = (self.collective(call), result.at());
        Persistent::of(Box::new(Repeated::new(call, kept, none, none)))
    }

    /// `form` as a call that is not started yet; its input, if that is not its result's buffer.
    pub(crate) fn set_up_form<T: 'env>(
        &mut self,
        form: Form<'env, T>,
        input: Option<Lent<'env, T>>,
    ) -> Persistent<'scope, 'env, T> {
        self.check_place();
        let Form { mut call, kept, result } = form;
        let buf = result.at();
        let from = input.as_ref().map(|input| input.at().cast_const().cast());
        // SAFETY: the same memory, by the addresses that the program's own use of it begins with.
        unsafe { call.place(from, buf.cast()) };
        let (call, input) = (self.collective(call), input.map_or(buf, |input| input.at()));
        Persistent::of(Box::new(Repeated::new(call, kept, input, buf)))
    }
}
