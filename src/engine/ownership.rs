//! Which thread has a communicator: in other languages nothing but the program's promise says so.

use crate::Comm;

/// A number of the calling thread, which no other live one has.
///
/// **Cost** an address of the thread's own memory: one instruction.
///
/// # Examples
/// ```
/// use phalanx::engine::this_thread;
/// let here = this_thread();
/// std::thread::scope(|s| s.spawn(|| assert_ne!(this_thread(), here)).join()).unwrap();
/// ```
#[inline(always)]
pub fn this_thread() -> usize {
    crate::sync::this_thread()
}

/// The calling thread uses the communicator from now on.
///
/// **Cost** a comparison if it has it already.
///
/// # Safety
/// All threads that use it do so one after the other, each after the one before has told it so;
/// none of them has a scope of requests open on a communicator of the rank meanwhile.
///
/// # Examples
/// ```
/// use phalanx::engine;
/// let mut comm = phalanx::Team::builder().ranks(1).external()?.pop().unwrap();
/// comm.barrier(); // on this thread
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         // SAFETY: the thread before makes no calls while this one runs.
///         unsafe { engine::adopt(&mut comm) };
///         comm.barrier();
///     });
/// });
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline]
pub unsafe fn adopt(comm: &mut Comm) {
    // SAFETY: passed on.
    unsafe { comm.adopt() }
}

/// From now on any thread may use the communicator, one of threads of the program's own, and those
/// that are split off it, without being asked whether the thread before has ended.
///
/// # Safety
/// As [`adopt`], of all communicators of the rank.
///
/// # Examples
/// ```
/// use phalanx::engine;
/// let mut comm = phalanx::Team::builder().ranks(1).external()?.pop().unwrap();
/// // SAFETY: the threads below use it one after the other.
/// unsafe { engine::take_turns(&mut comm) };
/// comm.barrier();
/// std::thread::scope(|s| {
///     s.spawn(|| comm.barrier());
/// });
/// # Ok::<(), phalanx::Error>(())
/// ```
pub unsafe fn take_turns(comm: &mut Comm) {
    // SAFETY: passed on.
    unsafe { comm.take_turns() }
}

/// As [`adopt`], if the thread may: a communicator of a team's run stays on its rank's thread if
/// the rank has split off others, and is no other rank's; and none goes to another thread while one
/// has a scope of requests open on the rank. Whether it has it now.
///
/// # Safety
/// As [`adopt`].
///
/// # Examples
/// ```
/// use phalanx::engine;
/// let mut comm = phalanx::Team::builder().ranks(1).external()?.pop().unwrap();
/// comm.barrier();
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         // SAFETY: the thread before makes no calls while this one runs.
///         assert!(unsafe { engine::take(&mut comm) });
///         comm.barrier();
///     });
/// });
/// # Ok::<(), phalanx::Error>(())
/// ```
pub unsafe fn take(comm: &mut Comm) -> bool {
    comm.take_foreign()
}

/// The rank, of a thread of the program's own, makes no more calls: whoever waits for it hears of
/// it, on all communicators of the team. (One that is dropped leaves its own communicator alone.)
///
/// # Examples
/// ```
/// use phalanx::engine;
/// let mut comms = phalanx::Team::builder().ranks(2).external()?;
/// engine::leave(comms.pop().unwrap());
/// let mut first = comms.pop().unwrap();
/// // SAFETY: the communicator stays in its place.
/// let made = unsafe { engine::attempt(&mut first, None, |comm| comm.barrier()) };
/// let (_, text) = engine::first_cause(&mut first, made.unwrap_err(), |_| ());
/// assert!(text.contains("rank 1"), "{text}");
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn leave(comm: Comm) {
    comm.leave_run();
}
