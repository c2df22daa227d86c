//! The answer to a request for huge pages, in words.

use super::fresh_memory::FreshMemory;
use super::pages::HugeRequest;
use std::fmt;

/// Whether an array's memory is in huge pages:
/// [`DistributedArray::huge_pages`](crate::DistributedArray::huge_pages).
///
/// # Examples
/// ```
/// use phalanx::{HugePages, Team, dist::Block};
/// let team = Team::builder().ranks(2).build()?;
/// let x = team.distributed(&Block::new(1 << 20, 2), |_| 0.0)?;
/// match x.huge_pages() {
///     HugePages::Taken { bytes, .. } => println!("asked for, of {bytes} bytes"),
///     HugePages::Refused { why } => println!("none, as {why}"),
/// }
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HugePages {
    /// The system has taken the request. A touched page is a huge one as long as it has some.
    Taken {
        /// Bytes of the array that may be in huge pages: all but those beside its ends, and beside
        /// places where the ranks of another memory begin.
        bytes: usize,
        /// Bytes that are in huge pages now, if the system tells.
        held: Option<usize>,
    },
    /// There are none.
    Refused {
        /// Why not.
        why: String,
    },
}

impl fmt::Display for HugePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HugePages::Taken { bytes, held: Some(held) } => {
                write!(f, "{held} bytes are in huge pages, of {bytes} that may be")
            }
            HugePages::Taken { bytes, held: None } => {
                write!(f, "{bytes} bytes may be in huge pages")
            }
            HugePages::Refused { why } => write!(f, "no huge pages: {why}"),
        }
    }
}

impl HugePages {
    /// Of these elements.
    pub(crate) fn of<T>(memory: &FreshMemory<T>) -> HugePages {
        let refused = |why: String| HugePages::Refused { why };
        let bytes = match memory.huge_request() {
            HugeRequest::Small => return refused(small(align_of::<T>())),
            HugeRequest::Refused(number) => {
                let error = std::io::Error::from_raw_os_error(number);
                return refused(format!("the system refuses the request: {error}"));
            }
            HugeRequest::Taken(bytes) => bytes,
        };
        if let Some(why) = switched_off() {
            return refused(why);
        }
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok();
        let (at, all) = (memory.at().addr().get(), memory.len() * size_of::<T>());
        HugePages::Taken { bytes, held: smaps.map(|text| held(&text, at, all).min(bytes)) }
    }
}

/// Why nothing was asked for, of elements that are aligned so.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
fn small(align: usize) -> String {
    let (page, huge) = (super::pages::page(), super::pages::huge_page());
    match align > page {
        true => format!("elements that are aligned to {align} bytes, more than a page of {page}"),
        false => format!("nowhere do the ranks of one memory have a whole one ({huge} bytes)"),
    }
}

#[cfg(not(all(target_os = "linux", not(miri), not(any(loom, shuttle)))))]
fn small(_: usize) -> String {
    "they are asked for on Linux only".to_string()
}

/// Where the system takes requests, and gives no huge page all the same: why.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
fn switched_off() -> Option<String> {
    // SAFETY: asks for a number.
    if unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) } == 1 {
        return Some("they are switched off for this process (PR_SET_THP_DISABLE)".to_string());
    }
    const FOLDER: &str = "/sys/kernel/mm/transparent_hugepage";
    let chosen = |name: &str| chosen(&std::fs::read_to_string(format!("{FOLDER}/{name}")).ok()?);
    // Since Linux 6.8 each size has a setting, as a rule to inherit the common one.
    let own = format!("hugepages-{}kB/enabled", super::pages::huge_page() >> 10);
    let (name, word) = match chosen(&own) {
        Some(word) if word != "inherit" => (own.as_str(), word),
        _ => ("enabled", chosen("enabled")?),
    };
    (word == "never").then(|| format!("{FOLDER}/{name} says never"))
}

#[cfg(not(all(target_os = "linux", not(miri), not(any(loom, shuttle)))))]
fn switched_off() -> Option<String> {
    None
}

/// The word in brackets: `always [madvise] never`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_string())
}

/// The bytes in huge pages of the mappings that `bytes` bytes from `at` on lie in.
fn held(smaps: &str, at: usize, bytes: usize) -> usize {
    let (mut is_within, mut kib) = (false, 0);
    for line in smaps.lines() {
        let word = line.split(' ').next().unwrap_or_default();
        let address = |text| usize::from_str_radix(text, 16).ok();
        let ends = word.split_once('-').and_then(|(from, to)| Some((address(from)?, address(to)?)));
        if let Some((from, to)) = ends {
            is_within = from < at + bytes && at < to;
        } else if is_within && word == "AnonHugePages:" {
            kib += line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        }
    }
    kib << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_in_words() {
        let taken = |held| HugePages::Taken { bytes: 4 << 20, held }.to_string();
        assert_eq!(taken(Some(2 << 20)), "2097152 bytes are in huge pages, of 4194304 that may be");
        assert_eq!(taken(None), "4194304 bytes may be in huge pages");
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!((chosen(""), chosen("always [")), (None, None));
        let few = HugePages::of(&FreshMemory::<u64>::new(10, &[]).unwrap()).to_string();
        assert!(few.starts_with("no huge pages: "), "{few}");
    }

    #[test]
    fn mappings_are_found_by_their_addresses() {
        let smaps = "1000-3000 rw-p 00000000 00:00 0 \nSize: 8 kB\nAnonHugePages: 4 kB\n\
                     3000-5000 rw-p 00000000 00:00 0 [heap]\nAnonHugePages:  2 kB\nVmFlags: rd\n";
        assert_eq!(held(smaps, 0x1000, 0x1000), 4 << 10);
        assert_eq!(held(smaps, 0x2fff, 2), 6 << 10);
        assert_eq!((held(smaps, 0x3000, 1), held(smaps, 0x5000, 1)), (2 << 10, 0));
    }
}
