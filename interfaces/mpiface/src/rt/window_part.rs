//! One rank's part of a window, as the others see it.

use super::error::{Class, Outcome, error};
use super::mutex::lock;
use super::standings::Standings;
use super::target_lock::TargetLock;
use super::word::Word;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::{Arc, Mutex};

/// Memory of a window that the window has made: zeros.
#[derive(Debug)]
pub struct Memory {
    address: usize,
    layout: Layout,
}

impl Memory {
    /// So many bytes; none if there are not as many.
    pub fn new(bytes: usize) -> Option<Memory> {
        let layout = Layout::from_size_align(bytes.max(1), 64).ok()?;
        // SAFETY: the layout is not empty.
        let address = unsafe { alloc_zeroed(layout) } as usize;
        (address != 0).then_some(Memory { address, layout })
    }

    /// Where it begins.
    pub fn address(&self) -> usize {
        self.address
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made by `alloc_zeroed` with this layout.
        unsafe { dealloc(self.address as *mut u8, self.layout) };
    }
}

/// One rank's part of a window, as the others see it.
#[derive(Debug)]
pub struct Part {
    /// The rank of the world.
    pub owner: usize,
    /// Its memory: where it begins, bytes, and bytes of a unit of displacement.
    pub base: usize,
    /// Bytes.
    pub size: usize,
    /// Bytes of a displacement of one.
    pub unit: usize,
    /// Memory that the window has made.
    pub memory: Option<Arc<Memory>>,
    /// Of a dynamic window: the attached memory, address and bytes.
    pub(super) attached: Mutex<Vec<(usize, usize)>>,
    pub(super) lock: TargetLock,
    /// Whoever accumulates here holds it.
    pub(super) gate: Mutex<()>,
    /// By the rank to which it posts: how often it has. Told by the owner.
    pub(super) posted: Vec<Word>,
    /// By the rank that accesses it: how often that has completed. Told by that rank.
    pub(super) completed: Vec<Word>,
}

impl Part {
    /// Of a window of so many ranks.
    pub fn new(
        owner: usize,
        ranks: usize,
        (base, size, unit): (usize, usize, usize),
        memory: Option<Arc<Memory>>,
    ) -> Part {
        let words = || (0..ranks).map(|_| Word::default()).collect();
        Part {
            owner,
            base,
            size,
            unit,
            memory,
            attached: Mutex::default(),
            lock: TargetLock::default(),
            gate: Mutex::default(),
            posted: words(),
            completed: words(),
        }
    }

    /// Attaches memory of the program.
    ///
    /// # Errors
    /// If a part of it is attached.
    pub fn attach(&self, base: usize, size: usize) -> Outcome {
        let mut all = lock(&self.attached);
        if all.iter().any(|it| base < it.0 + it.1 && it.0 < base + size) {
            return error(Class::RmaAttach, "a part of the memory is attached already");
        }
        all.push((base, size));
        Ok(())
    }

    /// Detaches it.
    ///
    /// # Errors
    /// If it is not attached.
    pub fn detach(&self, base: usize) -> Outcome {
        let mut all = lock(&self.attached);
        let Some(place) = all.iter().position(|it| it.0 == base) else {
            return error(Class::RmaAttach, "no memory that begins there is attached");
        };
        all.remove(place);
        Ok(())
    }

    /// Whether all bytes of a range are attached.
    pub(super) fn is_attached(&self, low: usize, high: usize) -> bool {
        let all = lock(&self.attached);
        let mut at = low;
        while at < high {
            match all.iter().find(|it| (it.0..it.0 + it.1).contains(&at)) {
                Some(found) => at = found.0 + found.1,
                None => return false,
            }
        }
        true
    }

    pub(super) fn unlock(&self, world: &Standings, me: usize, is_exclusive: bool) {
        self.lock.give_back(is_exclusive).into_iter().for_each(|it| world.wake(me, it));
    }
}
