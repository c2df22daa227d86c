//! Tagged messages as values.

use super::input::Input;
use super::made::Made;
use super::startable::sealed::{SetUp, Start};
use crate::comm::{OpenRequest, Persistent, Requests};
use crate::element::Element;
use crate::error::At;
use crate::{Source, Status, Tag};
use std::panic::Location;

/// A message that is not sent yet: of a slice `I`, `&[T]` or `&mut [T]`.
///
/// # Examples
/// See [`send_tagged`].
#[derive(Debug)]
#[must_use = "a message is only sent when it is started"]
pub struct SendMessage<I> {
    data: I,
    to: usize,
    tag: u32,
    at: At,
}

/// A receive that is not started yet, into a slice of elements `T`.
///
/// # Examples
/// See [`recv_tagged`].
#[derive(Debug)]
#[must_use = "a message is only received when that is started"]
pub struct ReceiveMessage<'a, T> {
    data: &'a mut [T],
    from: Source,
    tag: Tag,
    at: At,
}

/// A [`send_tagged`](crate::Comm::send_tagged), to be started, or set up: then it is sent always
/// from one buffer, to one rank, with one tag. A rank may receive it by any call.
///
/// A start never waits: a message that is not copied stays in `data` until its receiver has asked
/// for it, and the request is complete then. If the receiver has asked for it before, it is copied
/// at the start. The receiver may be this rank itself. The request gives nothing.
///
/// # Errors
/// A receiver that is no rank ends the run.
///
/// # Examples
/// Two ranks that send each other more than is copied, which neither could by two calls:
/// ```
/// use phalanx::call;
/// let out = phalanx::run(2, |comm| {
///     let (me, peer) = (comm.rank(), 1 - comm.rank());
///     let (mine, mut theirs) = (vec![me; 100_000], vec![9usize; 100_000]);
///     comm.requests(|scope| {
///         let sent = scope.start(call::send_tagged(&mine, peer, 0));
///         let got = scope.start(call::recv_tagged(&mut theirs, peer, 0));
///         let (got, status) = scope.wait(got);
///         scope.wait(sent);
///         (got[99_999], status.len)
///     })
/// })?;
/// assert_eq!(out, [(1, 100_000), (0, 100_000)]);
/// # Ok::<(), phalanx::Error>(())
/// ```
/// Set up, and filled between two starts:
/// ```
/// use phalanx::call;
/// let out = phalanx::run(2, |comm| {
///     let (me, peer, mut x, mut sum) = (comm.rank(), 1 - comm.rank(), [0; 3], 0);
///     comm.requests(|scope| {
///         let mut message = scope.set_up(call::send_tagged(&mut x, peer, 0));
///         for step in 1..=10 {
///             message.buf_mut()[2] = step * (me + 1);
///             let request = scope.start(message);
///             let mut got = [0usize; 3];
///             scope.comm().recv_tagged(&mut got, peer, 0);
///             sum += got[2];
///             message = scope.wait(request);
///         }
///     });
///     sum
/// })?;
/// assert_eq!(out, [110, 55]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn send_tagged<'a, T: Element, I: Input<'a, T>>(
    data: I,
    to: usize,
    tag: u32,
) -> SendMessage<I::Slice> {
    SendMessage { data: data.slice(), to, tag, at: Location::caller() }
}

/// A [`recv_tagged`](crate::Comm::recv_tagged), to be started, or set up. Its request gives the
/// buffer back, and the message's status; of one that was set up,
/// [`Persistent::status`] has the latest message's facts.
///
/// Of several receives that fit a message, the one that was started first gets it. A receive that
/// waits later, or a probe, gets no message that a started one has got.
///
/// # Errors
/// A source that is no rank, and a message that does not fit, end the run. A receive from this rank
/// itself that it has sent nothing for is found when it is waited for: an
/// [`Error::Deadlock`](crate::Error::Deadlock).
///
/// # Examples
/// ```
/// use phalanx::{Source, call};
/// let out = phalanx::run(3, |comm| {
///     let (me, mut x) = (comm.rank() as u8, [[0u8]; 2]);
///     let [a, b] = &mut x;
///     comm.requests(|scope| {
///         let first = scope.start(call::recv_tagged(a, Source::Any, 7));
///         let second = scope.start(call::recv_tagged(b, Source::Any, 7));
///         for peer in (0..3).filter(|&peer| peer != me as usize) {
///             scope.comm().send_tagged(&[me], peer, 7);
///         }
///         let (_, first) = scope.wait(first);
///         let (_, second) = scope.wait(second);
///         assert_ne!(first.source, second.source);
///     });
///     x[0][0] + x[1][0]
/// })?;
/// assert_eq!(out, [3, 2, 1]);
/// # Ok::<(), phalanx::Error>(())
/// ```
/// Two buffers, one of which is filled while the program works on the other:
/// ```
/// use phalanx::call;
/// let out = phalanx::run(2, |comm| {
///     if comm.rank() == 0 {
///         (1..=10u64).for_each(|step| comm.send_tagged(&[step], 1, 0));
///         return 0;
///     }
///     let (mut a, mut b, mut sum) = ([0; 9], [0; 9], 0);
///     comm.requests(|scope| {
///         let a = scope.set_up(call::recv_tagged(&mut a, 0, 0));
///         let b = scope.set_up(call::recv_tagged(&mut b, 0, 0));
///         let mut open = std::collections::VecDeque::from([scope.start(a), scope.start(b)]);
///         while let Some(first) = open.pop_front() {
///             let message = scope.wait(first);
///             sum += message.buf()[..message.status().unwrap().len].iter().sum::<u64>();
///             if message.buf()[0] < 9 {
///                 open.push_back(scope.start(message));
///             }
///         }
///     });
///     sum
/// })?;
/// assert_eq!(out[1], 55);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn recv_tagged<T: Element>(
    data: &mut [T],
    from: impl Into<Source>,
    tag: impl Into<Tag>,
) -> ReceiveMessage<'_, T> {
    ReceiveMessage { data, from: from.into(), tag: tag.into(), at: Location::caller() }
}

impl<I> Made for SendMessage<I> {
    #[inline(always)]
    fn made_at(self, at: At) -> Self {
        SendMessage { at, ..self }
    }
}

impl<T> Made for ReceiveMessage<'_, T> {
    #[inline(always)]
    fn made_at(self, at: At) -> Self {
        ReceiveMessage { at, ..self }
    }
}

macro_rules! start_sends {
    ($($slice:ty)*) => {$(
        impl<'scope, 'env, T: Element> Start<'scope, 'env> for SendMessage<$slice> {
            type Gives = ();

            fn start(
                self,
                scope: &mut Requests<'scope, 'env>,
                _: At,
            ) -> OpenRequest<'scope, ()> {
                scope.start_send(self.data, (self.to, self.tag), self.at)
            }
        }
    )*};
}
start_sends! { &'env [T] &'env mut [T] }

impl<'scope, 'env, T: Element> SetUp<'scope, 'env> for SendMessage<&'env mut [T]> {
    type Element = T;

    fn set_up(self, scope: &mut Requests<'scope, 'env>) -> Persistent<'scope, 'env, T> {
        scope.set_up_send(self.data, (self.to, self.tag), self.at)
    }
}

impl<'scope, 'env, T: Element> Start<'scope, 'env> for ReceiveMessage<'env, T> {
    type Gives = (&'env mut [T], Status);

    fn start(
        self,
        scope: &mut Requests<'scope, 'env>,
        _: At,
    ) -> OpenRequest<'scope, (&'env mut [T], Status)> {
        scope.start_receive(self.data, (self.from, self.tag), self.at)
    }
}

impl<'scope, 'env, T: Element> SetUp<'scope, 'env> for ReceiveMessage<'env, T> {
    type Element = T;

    fn set_up(self, scope: &mut Requests<'scope, 'env>) -> Persistent<'scope, 'env, T> {
        scope.set_up_receive(self.data, (self.from, self.tag), self.at)
    }
}
