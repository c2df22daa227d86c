//! Where the model is not as close as promised, and why.

const SIXTEEN: &str = "all that was published of V2 at 16 ranks is dear (its default barrier takes 2.29 us where V1 has 1.47 on the \
     same kind of node), and from 8 to 16 ranks this curve grows 3.5-fold, from 16 to 32 by a sixth; no effect of the model does that";

const RELEASES: &str = "the root lets one rank go after the other, each for the gap that was published for messages to a single receiver \
     (5 of the 6.4 us); to different receivers lines may well be taken back side by side";

const SOCKET_OF_FOUR: &str = "with four ranks on the second socket one round of four crosses when spread and two when packed, so \
     spreading wins here; the published run has packing ahead by 9 %, for a reason that no effect of the model covers";

const ALIKE: &str = "ours has both alike: the ranks beyond the power of two report to, and are released by, ranks whose distance \
     is the same either way; published: packed 37 % dearer";

const COPIES: &str = "linear is as published, the trees come out too fast, the binary one by a factor of six: in its last rounds 64 pairs \
     copy at once, and what that costs through Open MPI's buffers (7.1 ms for seven levels) is not in the two-rank rate that the model has; \
     caches and memory are far from saturated by 64 such streams, so it is the library's copying";

/// A point of a curve.
pub(crate) fn point(what: &str, ranks: usize) -> Option<&'static str> {
    match (what, ranks) {
        ("linear barrier", 16) => Some(SIXTEEN),
        ("linear barrier", 32) => Some(RELEASES),
        _ => None,
    }
}

/// V3's ratio.
pub(crate) fn sign(ranks: usize) -> Option<&'static str> {
    match ranks {
        16 => Some(SOCKET_OF_FOUR),
        20 => Some(ALIKE),
        _ => None,
    }
}

/// An order of V4 (by operation) or V5 (by size).
pub(crate) fn order(kind: &str) -> Option<&'static str> {
    (kind == "1M").then_some(COPIES)
}
