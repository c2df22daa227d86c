//! A call with tagged messages, in terms of the state.

use crate::shared::{CallParams, Digest, Fingerprint, MatchPattern, MessageLabel, Port, Signature};
use std::any::TypeId;
use std::panic::Location;

/// A call with tagged messages.
#[derive(Clone, Copy)]
pub(crate) struct TaggedCall {
    pub(crate) sig: &'static Signature,
    pub(crate) at: &'static Location<'static>,
    pub(crate) len: usize,
    /// The rank on the other end; none for any.
    pub(crate) peer: Option<usize>,
    pub(crate) tag: Option<u32>,
}

impl TaggedCall {
    pub(crate) fn label<T: 'static>(&self, owned: bool) -> MessageLabel {
        let &TaggedCall { sig, at, len, .. } = self;
        MessageLabel { sig, at, len, element: TypeId::of::<T>(), owned }
    }

    pub(crate) fn pattern(&self) -> MatchPattern {
        MatchPattern { source: self.peer.map(|rank| rank as u32), tag: self.tag }
    }

    #[inline(always)]
    pub(crate) fn params(&self) -> CallParams {
        let parameter = self.peer.unwrap_or(Fingerprint::NO_PARAMETER);
        let digest = Digest::of_tag(self.tag);
        CallParams { parameter, digest, ..CallParams::of(self.len) }
    }

    /// Makes it the call in progress of `port`, on record.
    pub(crate) fn begin(&self, port: &mut Port) {
        let &TaggedCall { sig, at, .. } = self;
        let begun = port.begin_p2p(sig, sig, at, self.params());
        port.log_call(begun);
    }
}
