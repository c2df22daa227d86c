//! The cost of a message by its length: t_s and t_w differ between the transports.

use crate::mailbox::{EAGER, FIRST, LONG};

/// t_s and t_w of the messages from some length on: short ones travel in the mailbox's slot, longer
/// ones are copied by their sender, the rest is handed over by address, and a message that outgrows
/// the caches is slower again.
///
/// # Examples
/// ```
/// use phalanx::tuning::{LevelRates, Piece};
/// let pieces = vec![
///     Piece { from_bytes: 0, t_s_ns: 80.0, t_w_ns_per_byte: 0.0 },
///     Piece { from_bytes: 1025, t_s_ns: 200.0, t_w_ns_per_byte: 0.03 },
/// ];
/// let near = LevelRates {
///     level: "l3".to_string(),
///     place: "ccx".to_string(),
///     t_s_ns: 100.0,
///     t_s_ci: [90.0, 110.0],
///     t_w_ns_per_byte: 0.05,
///     t_w_ci: [0.04, 0.06],
///     samples: 600,
///     pieces,
/// };
/// // One line through all, and the two lines.
/// assert_eq!(near.t_s_ns + near.t_w_ns_per_byte * 8.0, 100.4);
/// assert_eq!(near.level_at(8.0).t_s, 80.0);
/// assert_eq!(near.level_at(1e4).t_w, 0.03);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The shortest message that it is for.
    pub from_bytes: usize,
    /// Start-up time, in ns.
    pub t_s_ns: f64,
    /// Time per byte, in ns.
    pub t_w_ns_per_byte: f64,
}

/// t_s and t_w of messages over one level.
///
/// # Examples
/// ```
/// use phalanx::tuning::LevelTimes;
/// let near = LevelTimes { t_s: 50.0, t_w: 0.5 };
/// assert!(near.t_s < LevelTimes { t_s: 200.0, ..near }.t_s);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelTimes {
    /// The start-up time of a message that goes over this level.
    pub t_s: f64,
    /// The time that a channel of this level takes per word.
    pub t_w: f64,
}

/// The rates for `bytes` bytes; none without pieces. A message that is shorter than the first piece
/// has those of the first.
pub(super) fn at(pieces: &[Piece], bytes: f64) -> Option<LevelTimes> {
    let own = pieces.iter().rev().find(|piece| piece.from_bytes as f64 <= bytes);
    let piece = own.or(pieces.first())?;
    Some(LevelTimes { t_s: piece.t_s_ns, t_w: piece.t_w_ns_per_byte })
}

/// The fault in pieces.
pub(super) fn problem(pieces: &[Piece]) -> Option<&'static str> {
    let times = |p: &Piece| [p.t_s_ns, p.t_w_ns_per_byte];
    if pieces.iter().flat_map(times).any(|x| !x.is_finite() || x < 0.0) {
        return Some("the t_s and t_w of a piece must be times");
    }
    let rising = pieces.windows(2).all(|two| two[0].from_bytes < two[1].from_bytes);
    (!rising).then_some("pieces must be for longer and longer messages")
}

/// Up to which length a message travels in which way: fixed by the layout of the mailbox.
///
/// # Examples
/// ```
/// use phalanx::tuning::Payloads;
/// let Payloads { line, slot, copied } = Payloads::OWN;
/// assert!(line < slot && slot < copied);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payloads {
    /// Bytes in the cache line that the receiver looks at.
    pub line: usize,
    /// Bytes in the slot, of two lines.
    pub slot: usize,
    /// Bytes that the sender copies; a longer one goes by its address.
    pub copied: usize,
}

impl Payloads {
    /// This library's.
    ///
    /// ```
    /// assert_eq!(phalanx::tuning::Payloads::OWN.copied, 1024);
    /// ```
    pub const OWN: Payloads = Payloads { line: FIRST, slot: LONG, copied: EAGER };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(from_bytes: usize, t_s_ns: f64) -> Piece {
        Piece { from_bytes, t_s_ns, t_w_ns_per_byte: 1.0 }
    }

    #[test]
    fn a_length_has_the_piece_that_it_is_in() {
        let pieces = [piece(8, 1.0), piece(97, 2.0), piece(1025, 3.0)];
        let found =
            [0.0, 8.0, 96.9, 97.0, 1024.5, 1025.0, 1e9].map(|b| at(&pieces, b).unwrap().t_s);
        assert_eq!(found, [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        assert_eq!(at(&[], 8.0), None);
    }

    #[test]
    fn pieces_rise_and_are_times() {
        assert_eq!(problem(&[]), None);
        assert_eq!(problem(&[piece(0, 1.0), piece(9, 1.0)]), None);
        assert!(problem(&[piece(9, 1.0), piece(9, 1.0)]).unwrap().contains("longer"));
        assert!(problem(&[piece(0, f64::NAN)]).unwrap().contains("times"));
        assert!(problem(&[piece(0, -1.0)]).unwrap().contains("times"));
    }
}
