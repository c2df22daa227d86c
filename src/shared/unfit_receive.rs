//! The error of a tagged message and a receive that match, and do not fit.

use super::digest::Digest;
use super::match_list::MatchPattern;
use super::message_label::MessageLabel;
use crate::error::CallSite;

/// A message and a receive match, and do not fit.
#[derive(Debug)]
#[cfg_attr(loom, allow(dead_code))] // Read by communicators only.
pub(crate) struct UnfitReceive {
    /// The rank that came first.
    pub(crate) peer: usize,
    pub(crate) there: CallSite,
    pub(crate) what: String,
}

impl UnfitReceive {
    /// `label` is that of `peer`'s call, which named a rank, or any, and a tag, or any.
    #[cold]
    pub(crate) fn new(
        peer: u32,
        label: &MessageLabel,
        named: MatchPattern,
        what: String,
    ) -> Box<Self> {
        let rank = named.source.map(|rank| rank as usize);
        let call = label.sig.words(label.len, rank);
        let call = call + &Digest::of_tag(named.tag).tag_in_words(rank.is_some());
        let there = CallSite { call, at: label.at.into() };
        Box::new(UnfitReceive { peer: peer as usize, there, what })
    }
}
