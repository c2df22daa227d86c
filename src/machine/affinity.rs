//! The affinity mask of the calling thread, and its binding to one processing unit.
//!
//! Linux keeps an affinity mask per thread. Phalanx never leaves the mask that it was given: the
//! mask that a thread had before Phalanx first bound it is remembered in that thread (written and
//! read by that thread only), and [`allowed_pus`] answers from it, so that building a second team
//! from inside a pinned rank sees the whole machine again.
//!
//! The only unsafe code of the machine room is here: the two system calls that `core_affinity`
//! cannot make for more than 1024 processors, and the number of those that are online.

use crate::sorted::Arrange;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use super::mask::{MAX_PU, format_list};
/// The affinity mask of a thread of this process.
pub(crate) use platform::get as mask_of;

thread_local! {
    /// The mask that this thread had before Phalanx first bound it; `None` if it never did.
    static INHERITED: RefCell<Option<Vec<usize>>> = const { RefCell::new(None) };
}

/// The number of processors that glibc's fixed `cpu_set_t`, and so `core_affinity`, can name:
/// from here on `core_affinity` 0.8.3 aborts the process.
const FIXED_SET_BITS: usize = 1024;

/// Why a thread could not be bound, or its mask not be read.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinError {
    /// The system refused.
    Refused {
        /// The processing units that were asked for.
        wanted: Vec<usize>,
        /// The system's words.
        reason: String,
    },
    /// The system agreed, and the mask read back is another one.
    Different {
        /// The processing units that were asked for.
        wanted: Vec<usize>,
        /// The mask that the thread has.
        got: Vec<usize>,
    },
    /// The mask of the calling thread cannot be read.
    Unreadable {
        /// The system's words.
        reason: String,
    },
    /// This platform offers no affinity masks that Phalanx knows how to set.
    Unsupported,
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PinError::Refused { wanted, reason } => {
                write!(f, "cannot bind the thread to PU {}: {reason}", format_list(wanted))
            }
            PinError::Different { wanted, got } => write!(
                f,
                "the thread was to be bound to PU {} and runs on PU {}",
                format_list(wanted),
                format_list(got)
            ),
            PinError::Unreadable { reason } => {
                write!(f, "cannot read the thread's affinity mask: {reason}")
            }
            PinError::Unsupported => f.write_str("binding threads is not supported here"),
        }
    }
}

crate::error_type!(PinError:
    Self::Refused { wanted, reason }, Self::Different { wanted, got }, Self::Unreadable { reason },
    Self::Unsupported,
);

/// The mask that this thread had before Phalanx first bound it; none in a destructor of a
/// thread-local that comes after the one here: it may build teams all the same.
fn inherited() -> Option<Vec<usize>> {
    INHERITED.try_with(|mask| mask.borrow().clone()).ok().flatten()
}

/// The processing units that Phalanx may use from this thread, sorted.
///
/// This is the thread's affinity mask, which already honours cpusets and `taskset`; in a thread
/// that Phalanx has bound, it is the mask from before. A thread *spawned by* a bound thread starts
/// with the narrow mask of its parent, as everywhere on Linux.
///
/// # Errors
///
/// [`PinError::Unreadable`] when the system call fails, [`PinError::Unsupported`] on other systems
/// than Linux.
///
/// ```
/// use phalanx::machine::affinity;
///
/// if let Ok(pus) = affinity::allowed_pus() {
///     assert!(!pus.is_empty());
/// }
/// ```
pub fn allowed_pus() -> Result<Vec<usize>, PinError> {
    match inherited() {
        Some(mask) => Ok(mask),
        None => current_mask(),
    }
}

/// The affinity mask that the calling thread has now, sorted.
///
/// # Errors
///
/// As for [`allowed_pus`].
pub fn current_mask() -> Result<Vec<usize>, PinError> {
    platform::get(0)
}

/// The calling thread's number, by which others can ask for its mask; 0 where there is none.
pub(crate) fn thread_number() -> u64 {
    platform::thread_number()
}

/// Whether thread `number` of this process is still bound to `pu` alone. A processor that goes
/// offline takes the binding with it: the system then lets the thread run elsewhere.
pub(crate) fn still_bound(number: u64, pu: usize) -> Result<(), PinError> {
    let got = platform::get(number)?;
    if got == [pu] { Ok(()) } else { Err(PinError::Different { wanted: vec![pu], got }) }
}

/// Gives thread `number` of this process the mask `to`, if its mask is within `from`, a sorted
/// list. Whether it has that now.
pub(crate) fn change(number: u64, from: &[usize], to: &[usize]) -> bool {
    let is_within = |mask: Vec<usize>| mask.iter().all(|pu| from.binary_search(pu).is_ok());
    platform::is_ours(number)
        && platform::get(number).is_ok_and(is_within)
        && platform::set(number, to).is_ok()
}

/// Binds the calling thread to `pu` again, if others have changed its mask since Phalanx bound it,
/// and `pu` is in the new one: not against whoever confines a process, or a program that has
/// [`unpin`]ned the thread.
pub(crate) fn bind_again(pu: usize) {
    let is_wide = |mask: Vec<usize>| mask.len() > 1 && mask.contains(&pu);
    if inherited().is_some() && current_mask().is_ok_and(is_wide) {
        drop(platform::set(0, &[pu]));
    }
}

/// Gives the calling thread `mask` back. If that is all that the process may use, it is to follow
/// when that grows: the system takes a mask for its program's wish, also one that was read while a
/// cpuset was smaller.
fn give_back(mask: &[usize]) -> Result<(), PinError> {
    let all: Vec<usize> = (0..mask.last().map_or(0, |last| FIXED_SET_BITS.max(last + 1))).collect();
    let follows = platform::set(0, &all).is_ok() && current_mask().is_ok_and(|got| got == mask);
    if follows { Ok(()) } else { platform::set(0, mask) }
}

/// The processing unit that the calling thread runs on just now, where the system says so.
pub(crate) fn current_unit() -> Option<usize> {
    platform::current_unit()
}

/// Binds the calling thread to one processing unit, and reads the mask back.
///
/// The first call in a thread remembers the mask from before, for [`allowed_pus`] and [`unpin`].
///
/// Whether `pu` is among the [`allowed_pus`] is the caller's business: a thread that was spawned by
/// a bound thread has its parent's narrow mask, and must be able to leave it. Placements only hand
/// out allowed units.
///
/// # Errors
///
/// [`PinError::Refused`] when the system says no (an absent unit, or one outside the cpuset),
/// [`PinError::Different`] when it says yes and the mask is not the wanted one; both name the unit.
/// After an error the thread is bound as before.
///
/// ```
/// use phalanx::machine::affinity;
///
/// let Ok(before) = affinity::allowed_pus() else { return };
/// affinity::pin_current_thread(before[0]).unwrap();
/// assert_eq!(affinity::current_mask().unwrap(), [before[0]]);
/// assert_eq!(affinity::allowed_pus().unwrap(), before);
/// affinity::unpin().unwrap();
/// assert_eq!(affinity::current_mask().unwrap(), before);
/// ```
pub fn pin_current_thread(pu: usize) -> Result<(), PinError> {
    let before = current_mask()?;
    let result = bind_one(pu).and_then(|()| read_back(&[pu]));
    match result {
        // Not in a thread that is ending: nobody would ask for it.
        Ok(()) => drop(INHERITED.try_with(|mask| {
            mask.borrow_mut().get_or_insert(before);
        })),
        // The binding may have been changed half-way; the first error is the one to report.
        Err(_) => drop(platform::set(0, &before)),
    }
    result
}

/// Gives the calling thread the mask `pus`, and forgets that Phalanx ever bound it.
///
/// # Errors
///
/// As for [`pin_current_thread`]. The order of `pus` does not matter; an empty list is refused.
pub fn restore(pus: &[usize]) -> Result<(), PinError> {
    let mut wanted = pus.to_vec();
    wanted.arrange();
    wanted.dedup();
    platform::set(0, &wanted)?;
    read_back(&wanted)?;
    drop(INHERITED.try_with(|mask| mask.replace(None)));
    Ok(())
}

/// Gives the calling thread the mask back that it had before Phalanx first bound it; does nothing
/// in a thread that was never bound.
///
/// # Errors
///
/// As for [`restore`].
pub fn unpin() -> Result<(), PinError> {
    let Some(mask) = inherited() else { return Ok(()) };
    give_back(&mask)?;
    drop(INHERITED.try_with(|mask| mask.replace(None)));
    read_back(&mask)
}

/// A binding of the calling thread that ends when this is dropped: the thread then has the mask
/// that it had before, and its memory of that.
pub(crate) struct BoundForNow {
    mask: Vec<usize>,
    inherited: Option<Vec<usize>>,
    /// For the thread that made it.
    _not_send: PhantomData<*const ()>,
}

impl BoundForNow {
    /// Binds the calling thread as [`pin_current_thread`].
    pub(crate) fn to(pu: usize) -> Result<Self, PinError> {
        let (mask, inherited) = (current_mask()?, inherited());
        pin_current_thread(pu)?;
        Ok(BoundForNow { mask, inherited, _not_send: PhantomData })
    }

    /// Keeps the calling thread on these units, if the system does.
    pub(crate) fn among(pus: &[usize]) -> Result<Self, PinError> {
        let (mask, inherited) = (current_mask()?, inherited());
        platform::set(0, pus)?;
        // Not in a thread that is ending.
        let _ = INHERITED.try_with(|before| {
            before.borrow_mut().get_or_insert_with(|| mask.clone());
        });
        Ok(BoundForNow { mask, inherited, _not_send: PhantomData })
    }
}

impl Drop for BoundForNow {
    fn drop(&mut self) {
        drop(give_back(&self.mask));
        let inherited = self.inherited.take();
        drop(INHERITED.try_with(|mask| mask.replace(inherited)));
    }
}

/// `core_affinity` where it can name the unit, the system call beyond.
#[cfg(target_os = "linux")]
fn bind_one(pu: usize) -> Result<(), PinError> {
    if pu >= FIXED_SET_BITS {
        return platform::set(0, &[pu]);
    }
    if core_affinity::set_for_current(core_affinity::CoreId { id: pu }) {
        return Ok(());
    }
    // `core_affinity` keeps the reason to itself; `errno` is still that of its system call.
    let reason = std::io::Error::last_os_error().to_string();
    Err(PinError::Refused { wanted: vec![pu], reason })
}

#[cfg(not(target_os = "linux"))]
fn bind_one(_pu: usize) -> Result<(), PinError> {
    Err(PinError::Unsupported)
}

/// The processors that are online. (The standard library's number of them reads the quota
/// once more, which is code that a program has no other use for.)
#[cfg(target_os = "linux")]
pub(super) fn online_processors() -> usize {
    // SAFETY: asks for a number.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(online).unwrap_or(1).max(1)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn online_processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Checks that the thread's mask is `wanted`, a sorted list.
fn read_back(wanted: &[usize]) -> Result<(), PinError> {
    let got = current_mask()?;
    if got == wanted { Ok(()) } else { Err(PinError::Different { wanted: wanted.to_vec(), got }) }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::io::{Error, ErrorKind};

    use super::{MAX_PU, PinError};

    const WORD_BITS: usize = usize::BITS as usize;

    pub(super) fn thread_number() -> u64 {
        // SAFETY: asks for a number of the calling thread.
        u64::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(0)
    }

    /// Whether this process has a thread of that number.
    pub(super) fn is_ours(thread: u64) -> bool {
        let thread = libc::pid_t::try_from(thread).unwrap_or(0);
        // SAFETY: signal 0 is none; the kernel takes any number for a thread's.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) == 0 }
    }

    pub(super) fn current_unit() -> Option<usize> {
        // SAFETY: asks for a number.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    /// `sched_getaffinity` of a thread (0: the calling one), with a mask that grows until the
    /// kernel's fits.
    pub(crate) fn get(thread: u64) -> Result<Vec<usize>, PinError> {
        let thread = libc::pid_t::try_from(thread).unwrap_or(0);
        let mut words = vec![0_usize; 1024 / WORD_BITS];
        loop {
            let bytes = size_of_val(words.as_slice());
            // SAFETY: the pointer is valid for `bytes` bytes of writes (the vector's own buffer,
            // borrowed for the call only), and the kernel writes no more than that; it takes any
            // number for a thread's.
            let status =
                unsafe { libc::sched_getaffinity(thread, bytes, words.as_mut_ptr().cast()) };
            if status == 0 {
                break;
            }
            let error = Error::last_os_error();
            // The kernel says EINVAL when its own masks are longer than ours.
            if error.kind() != ErrorKind::InvalidInput || words.len() * WORD_BITS >= MAX_PU {
                return Err(PinError::Unreadable { reason: error.to_string() });
            }
            words.resize(words.len() * 2, 0);
        }
        let is_set = |pu: &usize| words[pu / WORD_BITS] >> (pu % WORD_BITS) & 1 == 1;
        Ok((0..words.len() * WORD_BITS).filter(is_set).collect())
    }

    /// `sched_setaffinity` of a thread (0: the calling one), with a mask as long as the ids need.
    pub(super) fn set(thread: u64, pus: &[usize]) -> Result<(), PinError> {
        let refused = |reason: String| PinError::Refused { wanted: pus.to_vec(), reason };
        let Some(&last) = pus.iter().max() else {
            return Err(refused("the mask is empty".to_owned()));
        };
        if last >= MAX_PU {
            return Err(refused(format!("PU {last} is beyond the limit of {MAX_PU}")));
        }
        let mut words = vec![0_usize; (last / WORD_BITS + 1).max(1024 / WORD_BITS)];
        for pu in pus {
            words[pu / WORD_BITS] |= 1 << (pu % WORD_BITS);
        }
        let thread = libc::pid_t::try_from(thread).unwrap_or(0);
        let bytes = size_of_val(words.as_slice());
        // SAFETY: the pointer is valid for `bytes` bytes of reads for the length of the call, and
        // the kernel takes any length and any bits, and any number for a thread's.
        let status = unsafe { libc::sched_setaffinity(thread, bytes, words.as_ptr().cast()) };
        if status == 0 { Ok(()) } else { Err(refused(Error::last_os_error().to_string())) }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::{MAX_PU, PinError};

    pub(crate) fn get(_thread: u64) -> Result<Vec<usize>, PinError> {
        Err(PinError::Unsupported)
    }

    pub(super) fn thread_number() -> u64 {
        0
    }

    pub(super) fn current_unit() -> Option<usize> {
        None
    }

    pub(super) fn is_ours(_thread: u64) -> bool {
        false
    }

    pub(super) fn set(_thread: u64, pus: &[usize]) -> Result<(), PinError> {
        debug_assert!(pus.iter().all(|&pu| pu < MAX_PU));
        Err(PinError::Unsupported)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Each test runs in a thread of its own, so that no mask leaks into another test.
    fn in_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_bound_thread_remembers_the_mask_it_was_given() {
        in_thread(|| {
            let given = allowed_pus().unwrap();
            for &pu in &given {
                pin_current_thread(pu).unwrap();
                assert_eq!(current_mask().unwrap(), [pu]);
                assert_eq!(allowed_pus().unwrap(), given);
            }
            unpin().unwrap();
            assert_eq!((current_mask().unwrap(), inherited()), (given.clone(), None));
            unpin().unwrap();
            drop(BoundForNow::to(given[0]).unwrap());
            drop(BoundForNow::among(&given[..1]).unwrap());
            assert_eq!((current_mask().unwrap(), inherited()), (given, None));
        });
    }

    /// As the system does when the processor goes offline.
    #[test]
    fn a_lost_binding_is_told_by_another_thread() {
        use std::sync::mpsc::channel;
        let (tell, told) = channel();
        let (go, gone) = channel::<()>();
        let given = allowed_pus().unwrap();
        let pu = *given.last().unwrap();
        let wide = given.clone();
        let thread = std::thread::spawn(move || {
            pin_current_thread(pu).unwrap();
            tell.send(thread_number()).unwrap();
            gone.recv().unwrap();
            restore(&wide).unwrap();
            tell.send(0).unwrap();
            gone.recv().unwrap_err();
        });
        let number = told.recv().unwrap();
        assert_eq!(still_bound(number, pu), Ok(()));
        go.send(()).unwrap();
        told.recv().unwrap();
        if given.len() > 1 {
            let lost = PinError::Different { wanted: vec![pu], got: given };
            assert_eq!(still_bound(number, pu), Err(lost));
        }
        drop(go);
        thread.join().unwrap();
    }

    /// By another's hand; a program that has unpinned the thread wants it so.
    #[test]
    fn a_lost_binding_comes_back_with_the_unit_unless_it_was_given_up() {
        in_thread(|| {
            let given = allowed_pus().unwrap();
            let (first, last) = (given[0], *given.last().unwrap());
            let mask_after = |pu, mask: &[usize]| {
                platform::set(0, mask).unwrap();
                bind_again(pu);
                current_mask().unwrap()
            };
            pin_current_thread(last).unwrap();
            assert_eq!(mask_after(last, &given), [last], "all units are there again");
            assert_eq!(
                mask_after(last, &[first]),
                [first],
                "whoever confines it has the last word"
            );
            unpin().unwrap();
            assert_eq!(mask_after(last, &given), given);
        });
    }

    #[test]
    fn a_restricted_mask_is_what_is_allowed() {
        in_thread(|| {
            let given = allowed_pus().unwrap();
            let last = *given.last().unwrap();
            restore(&[last]).unwrap();
            assert_eq!(allowed_pus().unwrap(), [last]);
            restore(&given).unwrap();
        });
    }

    #[test]
    fn an_absent_unit_is_refused_by_name_and_changes_nothing() {
        in_thread(|| {
            let given = current_mask().unwrap();
            for absent in [1023, 1024, 5000, MAX_PU - 1, MAX_PU, usize::MAX] {
                if given.contains(&absent) {
                    continue;
                }
                let error = pin_current_thread(absent).unwrap_err();
                assert!(error.to_string().contains(&absent.to_string()), "{error}");
                assert_eq!((current_mask().unwrap(), inherited()), (given.clone(), None));
            }
            assert!(restore(&[]).is_err());
            assert_eq!(current_mask().unwrap(), given);
        });
    }
}
