//! Fits one line to each range of message lengths. A message travels in the mailbox's slot, is
//! copied by its sender, or is handed over by its address; and from some length on it outgrows the
//! caches. The first two limits are the library's; the last one is the length at which two lines
//! fit much better than one.

use super::fit::FitPoint;
use phalanx::tuning::{Payloads, Piece};
use phalanx_bench::matrix::saved_run::rounded;

/// Two lines instead of one have to bring the squares of the relative errors down to this share.
const WORTH: f64 = 0.5;
/// Points of the lines before and behind the break, at least.
const FEWEST: [usize; 2] = [3, 2];

/// Pieces of messages; `points` by length.
pub(crate) fn of_messages(points: &[FitPoint]) -> Vec<Piece> {
    let Payloads { slot, copied, .. } = Payloads::OWN;
    let within = |from: usize, to: usize| -> Vec<FitPoint> {
        points.iter().copied().filter(|p| (from..=to).contains(&p.bytes)).collect()
    };
    let mut pieces = Vec::new();
    for (from, to) in [(0, slot), (slot + 1, copied)] {
        pieces.extend(line(&within(from, to)).map(|line| line.piece(from)));
    }
    pieces.extend(with_break(&within(copied + 1, usize::MAX), copied + 1));
    pieces
}

/// Pieces of copies, from the first length on.
pub(crate) fn of_copies(points: &[FitPoint]) -> Vec<Piece> {
    with_break(points, 0)
}

/// One line, or two.
fn with_break(points: &[FitPoint], from: usize) -> Vec<Piece> {
    let Some(one) = line(points) else { return Vec::new() };
    let split = |at: usize| {
        let (near, far) = (line(&points[..at])?, line(&points[at..])?);
        Some((near.error + far.error, at, near, far))
    };
    let splits = (FEWEST[0]..(points.len() + 1).saturating_sub(FEWEST[1])).filter_map(split);
    match splits.min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((error, at, near, far)) if error < WORTH * one.error => {
            vec![near.piece(from), far.piece(points[at].bytes)]
        }
        _ => vec![one.piece(from)],
    }
}

/// A line without negative times.
#[derive(Clone, Copy, Debug)]
struct Straight {
    t_s: f64,
    t_w: f64,
    /// The sum of the squared relative errors.
    error: f64,
}

impl Straight {
    fn piece(&self, from_bytes: usize) -> Piece {
        let t_w_ns_per_byte = format!("{:.5e}", self.t_w).parse().unwrap_or(self.t_w);
        Piece { from_bytes, t_s_ns: rounded(self.t_s), t_w_ns_per_byte }
    }
}

/// By least squares of the relative errors, as in [`Fit`](super::fit::Fit); of a value that would
/// be negative nothing is left.
fn line(points: &[FitPoint]) -> Option<Straight> {
    let mut sums = [0.0; 5];
    for p in points {
        let (x, w) = (p.bytes as f64, 1.0 / (p.ns * p.ns));
        for (sum, term) in sums.iter_mut().zip([w, w * x, w * x * x, w * p.ns, w * x * p.ns]) {
            *sum += term;
        }
    }
    let [w, wx, wxx, wy, wxy] = sums;
    if points.is_empty() || !w.is_finite() {
        return None;
    }
    let det = w * wxx - wx * wx;
    let (t_s, t_w) = match det > 1e-12 * w * wxx {
        true => ((wxx * wy - wx * wxy) / det, (w * wxy - wx * wy) / det),
        // One length: all of it is the start, unless it is long.
        false => (-1.0, 0.0),
    };
    let (t_s, t_w) = match (t_s < 0.0, t_w < 0.0) {
        (true, _) => (0.0, wxy / wxx),
        (_, true) => (wy / w, 0.0),
        _ => (t_s, t_w),
    };
    let error = points.iter().map(|p| ((p.ns - t_s - t_w * p.bytes as f64) / p.ns).powi(2)).sum();
    Some(Straight { t_s, t_w, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [usize; 10] = [8, 96, 104, 1024, 1032, 16384, 65536, 262144, 1 << 20, 4 << 20];

    fn points(ns: impl Fn(usize) -> f64) -> Vec<FitPoint> {
        LENGTHS.into_iter().map(|bytes| FitPoint { bytes, ns: ns(bytes) }).collect()
    }

    #[test]
    fn ways_are_told_apart() {
        let pieces = of_messages(&points(|bytes| match bytes {
            0..=96 => 80.0,
            97..=1024 => 100.0 + 0.1 * bytes as f64,
            1025..=262144 => 200.0 + 0.03 * bytes as f64,
            _ => 0.07 * bytes as f64,
        }));
        let from: Vec<usize> = pieces.iter().map(|piece| piece.from_bytes).collect();
        assert_eq!(from, [0, 97, 1025, 1 << 20], "{pieces:?}");
        let near = |a: f64, b: f64| (a - b).abs() < 0.01 * b.abs().max(1.0);
        let wanted = [(80.0, 0.0), (100.0, 0.1), (200.0, 0.03), (0.0, 0.07)];
        for (piece, (t_s, t_w)) in pieces.iter().zip(wanted) {
            assert!(near(piece.t_s_ns, t_s) && near(piece.t_w_ns_per_byte, t_w), "{piece:?}");
        }
    }

    #[test]
    fn one_line_is_not_broken_and_nothing_is_negative() {
        let pieces = of_copies(&points(|bytes| 20.0 + 0.02 * bytes as f64));
        assert_eq!(pieces.len(), 1, "{pieces:?}");
        // A parabola: its chord begins below 0.
        let steep = of_copies(&points(|bytes| 1.0 + (bytes as f64).powi(2) * 1e-6));
        assert!(steep.iter().all(|p| p.t_s_ns >= 0.0 && p.t_w_ns_per_byte >= 0.0), "{steep:?}");
        let falling = of_copies(&points(|bytes| 100.0 - bytes as f64 * 1e-5));
        assert!(falling.iter().all(|p| p.t_w_ns_per_byte == 0.0), "{falling:?}");
        assert!(of_messages(&[]).is_empty());
    }
}
