//! The descriptors that a process keeps for its teams: above those of the standard streams, which a
//! program may have closed, and closed in the children of a fork, which would keep alive what ends
//! with the process.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Forks, counted in each child.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// 1 + a descriptor, or 0. (When all places are taken, children keep what comes.)
static PLACES: [AtomicI32; 4096] = [const { AtomicI32::new(0) }; 4096];

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    for place in &PLACES {
        let file = place.swap(0, Ordering::Relaxed) - 1;
        if file >= 0 {
            // SAFETY: of the place's owner, which finds the place empty from now on.
            unsafe { libc::close(file) };
        }
    }
}

/// How many forks lie between the program's first process and this one, since teams are there.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Moves a descriptor above those of the standard streams.
pub(crate) fn above(file: OwnedFd) -> io::Result<OwnedFd> {
    if file.as_raw_fd() > 2 { Ok(file) } else { file.try_clone() }
}

/// A descriptor that the children of a fork do not have.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Taken when it is dropped.
    file: Option<OwnedFd>,
    place: Option<&'static AtomicI32>,
}

impl Kept {
    pub(crate) fn new(file: OwnedFd) -> io::Result<Kept> {
        static ASKED: Once = Once::new();
        // SAFETY: the handler changes statics and closes descriptors.
        ASKED.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
        let file = above(file)?;
        let mine = file.as_raw_fd() + 1;
        let take = |it: &&AtomicI32| {
            it.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        Ok(Kept { place: PLACES.iter().find(take), file: Some(file) })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let (Some(file), Some(place)) = (self.file.take(), self.place) else { return };
        let mine = file.as_raw_fd() + 1;
        let is_closed = place.compare_exchange(mine, 0, Ordering::Relaxed, Ordering::Relaxed);
        if is_closed.is_err() {
            // In a child: the number may be another file's.
            std::mem::forget(file);
        }
    }
}

#[cfg(test)]
#[test]
fn a_place_is_free_when_its_descriptor_is_closed() {
    let is_free_again = |_| {
        let kept = Kept::new(std::fs::File::open("/dev/null").unwrap().into()).unwrap();
        let (place, mine) = (kept.place.unwrap(), kept.fd() + 1);
        assert_eq!(place.load(Ordering::Relaxed), mine);
        drop(kept);
        place.load(Ordering::Relaxed) != mine
    };
    assert!((0..99).any(is_free_again)); // Others may take both in between.
}
