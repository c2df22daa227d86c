//! What a tagged message is asked for by, and what is said of it.

use crate::shared::Envelope;

/// From whom a tagged message is received: a rank (`2.into()`, or just `2`), or any.
///
/// **Any source gives up run-to-run order**: of messages that different ranks have sent, the one
/// that came first is taken, and which that is may differ from run to run. A sum over them in the
/// order of arrival then differs in its last bits.
///
/// # Examples
/// ```
/// use phalanx::Source;
/// assert_eq!(Source::from(2), Source::Rank(2));
/// assert_ne!(Source::Any, Source::Rank(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// From this rank.
    Rank(usize),
    /// From any rank, in the order of arrival.
    Any,
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Source::Rank(rank)
    }
}

impl Source {
    pub(super) fn rank(self) -> Option<usize> {
        match self {
            Source::Rank(rank) => Some(rank),
            Source::Any => None,
        }
    }
}

/// Which tag a message must have to be received: a number (`7.into()`, or just `7`), or any. Every
/// `u32` is a tag.
///
/// # Examples
/// ```
/// use phalanx::Tag;
/// assert_eq!(Tag::from(7), Tag::Is(7));
/// assert_ne!(Tag::Any, Tag::Is(u32::MAX));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// This one.
    Is(u32),
    /// Any, in the order of arrival.
    Any,
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Tag::Is(tag)
    }
}

impl Tag {
    pub(super) fn number(self) -> Option<u32> {
        match self {
            Tag::Is(tag) => Some(tag),
            Tag::Any => None,
        }
    }
}

/// What is known of a tagged message that was received, or that is there.
///
/// # Examples
/// ```
/// let out = phalanx::run(2, |comm| {
///     if comm.rank() == 0 {
///         comm.send_tagged(&[1.5, 2.5], 1, 7);
///         return None;
///     }
///     Some(comm.probe(phalanx::Source::Any, phalanx::Tag::Any)).inspect(|_| {
///         comm.recv_tagged(&mut [0.0; 2], 0, 7);
///     })
/// })?;
/// let status = out[1].unwrap();
/// assert_eq!((status.source, status.tag, status.len), (0, 7, 2));
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status {
    /// The rank that sent it.
    pub source: usize,
    /// Its tag.
    pub tag: u32,
    /// Its elements; 1 for an owned value.
    pub len: usize,
}

impl From<Envelope> for Status {
    fn from(Envelope { source, tag, len }: Envelope) -> Self {
        Status { source: source as usize, tag, len }
    }
}
