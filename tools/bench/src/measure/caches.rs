//! The state of the caches in which a sample starts.
//!
//! How long a call of many bytes takes depends on the content of the caches. So that two programs
//! can be compared, each rank brings its own buffers to a stated state just before a sample, after
//! it has written its inputs. The peers' programs do the same, line by line
//! (`tools/report/peers/harness.h`).

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

/// Bytes that are fetched and thrown out together.
const LINE: usize = 64;
/// Bytes that are read to throw out all others, where lines cannot be named.
#[cfg(not(target_arch = "x86_64"))]
const SWEEP: usize = 64 << 20;

/// The part of a rank's buffers that the caches hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CacheState {
    /// All that fits: the owner has read and written each line just before, outputs first.
    Warm,
    /// Nothing: after that, the lines are thrown out of all caches.
    Cold,
}

impl CacheState {
    /// Both.
    pub const ALL: [CacheState; 2] = [CacheState::Warm, CacheState::Cold];

    /// Its meaning, for the head of a table.
    pub fn meaning(self) -> &'static str {
        match self {
            CacheState::Warm => "each rank has read and written its buffers just before a sample",
            CacheState::Cold => "each rank's buffers are thrown out of all caches before a sample",
        }
    }
}

phalanx_cli::named! { CacheState "state of the caches": Warm "warm" Cold "cold" }

/// The states to measure, as `--caches` names them: in turns, if they are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachesAsked {
    /// This one.
    One(CacheState),
    /// A row for each.
    Both,
}

impl CachesAsked {
    /// The states.
    pub fn states(&self) -> &[CacheState] {
        match self {
            CachesAsked::One(state) => std::slice::from_ref(state),
            CachesAsked::Both => &CacheState::ALL,
        }
    }
}

impl fmt::Display for CachesAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            CachesAsked::One(state) => state.name(),
            CachesAsked::Both => "both",
        })
    }
}

impl FromStr for CachesAsked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let [warm, cold] = CacheState::ALL.map(|it| (it.name(), CachesAsked::One(it)));
        let all = [warm, cold, ("both", CachesAsked::Both)];
        crate::suggest::find("state of the caches", text, &all)
    }
}

/// Reads and writes each line, so that the caches of this core have all that fits, as its own.
pub(crate) fn touch<T: Copy>(memory: &mut [T]) {
    for line in memory.chunks_mut((LINE / size_of::<T>()).max(1)) {
        if let Some(first) = line.first_mut() {
            *first = black_box(*first);
        }
    }
}

/// Throws each line out of all caches of the machine.
#[cfg(target_arch = "x86_64")]
pub(crate) fn throw_out<T: Copy>(memory: &mut [T]) {
    use std::arch::x86_64::{_mm_clflush, _mm_mfence};
    for line in memory.chunks((LINE / size_of::<T>()).max(1)) {
        // SAFETY: the address is that of borrowed memory, and CLFLUSH (part of x86-64) changes no
        // value.
        unsafe { _mm_clflush(line.as_ptr().cast()) };
    }
    // SAFETY: a fence, part of x86-64: the timed code does not overlap the accesses above.
    unsafe { _mm_mfence() };
}

/// Throws everything out of this core's caches, and out of those that it shares, by reading more
/// than they hold.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn throw_out<T: Copy>(_: &mut [T]) {
    thread_local! {
        static OTHERS: Vec<u8> = vec![1; SWEEP];
    }
    OTHERS.with(|others| {
        for byte in others.iter().step_by(LINE) {
            black_box(*byte);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay() {
        for len in [0, 1, 7, 8, 9, 1000] {
            let wanted: Vec<f64> = (0..len).map(f64::from).collect();
            let mut values = wanted.clone();
            touch(&mut values);
            throw_out(&mut values);
            assert_eq!(values, wanted);
        }
    }

    #[test]
    fn states_are_read() {
        assert_eq!("Cold".parse(), Ok(CacheState::Cold));
        assert!("both".parse::<CacheState>().is_err());
        assert_eq!("both".parse::<CachesAsked>().unwrap().states(), CacheState::ALL);
        assert_eq!("warm".parse::<CachesAsked>().unwrap().states(), [CacheState::Warm]);
        let why = "wram".parse::<CachesAsked>().unwrap_err();
        assert!(why.contains("did you mean warm? accepted are warm, cold, both"), "{why}");
    }
}
