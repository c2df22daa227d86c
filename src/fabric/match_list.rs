//! The lists of one receiver: messages that nobody has asked for yet, and receives that nobody has
//! sent to yet, each in the order in which they came. Matching is by source and tag, either of
//! which a receive may leave open; of several that fit the first is taken. So messages of one
//! sender that fit one receive never overtake each other.
//!
//! A message is on two chains: that of all messages, and that of its source's. A receive from a
//! named source looks at that source's alone; one from any source at all. Safe code, which knows
//! nothing of threads: `tagged_queue.rs` has the lock.

use std::collections::VecDeque;

/// What a receive asks for; none stands for any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MatchPattern {
    pub(crate) source: Option<u32>,
    pub(crate) tag: Option<u32>,
}

impl MatchPattern {
    /// Whether a message from `source` with `tag` is asked for.
    #[inline(always)]
    fn fits(self, source: u32, tag: u32) -> bool {
        self.source.is_none_or(|it| it == source) && self.tag.is_none_or(|it| it == tag)
    }
}

/// No place.
const NONE: u32 = u32::MAX;
/// Vacant places beyond which memory is given back once no message is left.
const KEPT: usize = 64;

/// The two ends of a chain.
#[derive(Clone, Copy)]
struct ListEnds {
    first: u32,
    last: u32,
}

const EMPTY: ListEnds = ListEnds { first: NONE, last: NONE };

/// Neighbours on a chain; of a vacant place `next` is the next vacant one.
#[derive(Clone, Copy)]
struct Links {
    before: u32,
    next: u32,
}

/// The chain of all messages, and that of a message's source.
const ALL: usize = 0;
const OF_SOURCE: usize = 1;

struct ListPlace<M> {
    source: u32,
    tag: u32,
    links: [Links; 2],
    /// None: vacant.
    message: Option<M>,
}

/// See the module documentation. `M`: what is kept of a message; `R`: of a receive.
pub(crate) struct MatchList<M, R> {
    places: Vec<ListPlace<M>>,
    vacant: u32,
    count: usize,
    all: ListEnds,
    /// By source, as far as any has sent.
    of_source: Vec<ListEnds>,
    posted: VecDeque<(MatchPattern, R)>,
}

impl<M, R> Default for MatchList<M, R> {
    fn default() -> Self {
        MatchList {
            places: Vec::new(),
            vacant: NONE,
            count: 0,
            all: EMPTY,
            of_source: Vec::new(),
            posted: VecDeque::new(),
        }
    }
}

impl<M, R> MatchList<M, R> {
    /// Adds a message that no receive is posted for.
    #[inline]
    pub(crate) fn push(&mut self, source: u32, tag: u32, message: M) {
        let vacant = Links { before: NONE, next: NONE };
        let place = ListPlace { source, tag, links: [vacant; 2], message: Some(message) };
        let at = match self.vacant {
            NONE => {
                self.places.push(place);
                self.places.len() as u32 - 1
            }
            at => {
                self.vacant = self.places[at as usize].links[ALL].next;
                self.places[at as usize] = place;
                at
            }
        };
        if self.of_source.len() <= source as usize {
            self.of_source.resize(source as usize + 1, EMPTY);
        }
        self.count += 1;
        for chain in [ALL, OF_SOURCE] {
            let ends = self.ends(chain, source);
            let last = std::mem::replace(&mut ends.last, at);
            match last {
                NONE => ends.first = at,
                last => self.places[last as usize].links[chain].next = at,
            }
            self.places[at as usize].links[chain].before = last;
        }
    }

    #[inline(always)]
    fn ends(&mut self, chain: usize, source: u32) -> &mut ListEnds {
        if chain == ALL { &mut self.all } else { &mut self.of_source[source as usize] }
    }

    /// The first message that `pattern` asks for, if there is one.
    #[inline]
    pub(crate) fn find(&self, pattern: MatchPattern) -> Option<usize> {
        let (chain, mut at) = match pattern.source {
            None => (ALL, self.all.first),
            Some(source) => {
                (OF_SOURCE, self.of_source.get(source as usize).map_or(NONE, |ends| ends.first))
            }
        };
        while at != NONE {
            let place = &self.places[at as usize];
            if pattern.tag.is_none_or(|tag| tag == place.tag) {
                return Some(at as usize);
            }
            at = place.links[chain].next;
        }
        None
    }

    /// Source, tag and what is kept of the message at a place that `find` has found.
    pub(crate) fn message(&self, at: usize) -> Option<(u32, u32, &M)> {
        let place = self.places.get(at)?;
        Some((place.source, place.tag, place.message.as_ref()?))
    }

    /// Takes the message at `at`.
    #[inline]
    pub(crate) fn take(&mut self, at: usize) -> Option<M> {
        let place = &mut self.places[at];
        let message = place.message.take()?;
        let (source, links) = (place.source, place.links);
        for (chain, Links { before, next }) in links.into_iter().enumerate() {
            match before {
                NONE => self.ends(chain, source).first = next,
                before => self.places[before as usize].links[chain].next = next,
            }
            match next {
                NONE => self.ends(chain, source).last = before,
                next => self.places[next as usize].links[chain].before = before,
            }
        }
        self.places[at].links[ALL].next = self.vacant;
        self.vacant = at as u32;
        self.count -= 1;
        if self.count == 0 && self.places.len() > KEPT {
            self.places = Vec::new();
            self.vacant = NONE;
        }
        Some(message)
    }

    /// How many messages and receives there are.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count + self.posted.len()
    }

    /// Messages that nobody has asked for, in their order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (usize, u32, &M)> {
        let at = |at: u32| (at != NONE).then_some(at as usize);
        std::iter::successors(at(self.all.first), move |&it| at(self.places[it].links[ALL].next))
            .filter_map(|it| Some((it, self.places[it].source, self.places[it].message.as_ref()?)))
    }

    /// Adds a receive that no message is there for.
    pub(crate) fn post(&mut self, pattern: MatchPattern, receive: R) {
        self.posted.push_back((pattern, receive));
    }

    /// The first receive that asks for a message from `source` with `tag`: its place, and all of
    /// it.
    #[inline]
    pub(crate) fn find_posted(&self, source: u32, tag: u32) -> Option<(usize, &(MatchPattern, R))> {
        // As a rule.
        if self.posted.is_empty() {
            return None;
        }
        self.posted.iter().enumerate().find(|(_, (it, _))| it.fits(source, tag))
    }

    /// Takes the receive at `at`.
    #[inline]
    pub(crate) fn take_posted(&mut self, at: usize) -> Option<R> {
        self.posted.remove(at).map(|(_, receive)| receive)
    }

    /// Takes the receive that `is` the one, if it is still posted.
    pub(crate) fn withdraw_posted(&mut self, is: impl Fn(&R) -> bool) -> Option<R> {
        let at = self.posted.iter().position(|(_, receive)| is(receive))?;
        self.take_posted(at)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The same, as plainly as can be.
    #[derive(Default)]
    struct Oracle {
        messages: Vec<(u32, u32, usize)>,
        posted: Vec<(MatchPattern, usize)>,
    }

    fn dice(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    /// 100 000 sends, receives and withdrawals by chance, with few sources and tags: each finds
    /// what a plain list finds.
    #[test]
    fn lists_match_as_plain_lists_do() {
        for seed in 0..20 {
            let mut state = seed;
            let (mut list, mut oracle) = (MatchList::<usize, usize>::default(), Oracle::default());
            for n in 0..5000 {
                let (source, tag) = (dice(&mut state) as u32 % 5, dice(&mut state) as u32 % 4);
                let any = dice(&mut state);
                let pattern = MatchPattern {
                    source: (!any.is_multiple_of(3)).then_some(source),
                    tag: (!any.is_multiple_of(5)).then_some(tag),
                };
                match dice(&mut state) % 9 {
                    0..4 => {
                        let fits = |(it, _): &(MatchPattern, usize)| it.fits(source, tag);
                        let wanted = oracle.posted.iter().position(fits);
                        let found = list.find_posted(source, tag).map(|(at, &(_, r))| (at, r));
                        assert_eq!(found, wanted.map(|at| (at, oracle.posted[at].1)));
                        match wanted {
                            Some(at) => {
                                oracle.posted.remove(at);
                                assert!(list.take_posted(at).is_some());
                            }
                            None => {
                                oracle.messages.push((source, tag, n));
                                list.push(source, tag, n);
                            }
                        }
                    }
                    4..8 => {
                        let fits = |it: &(u32, u32, usize)| pattern.fits(it.0, it.1);
                        let wanted = oracle.messages.iter().position(fits);
                        let found = list.find(pattern);
                        let seen =
                            found.and_then(|at| list.message(at)).map(|(s, t, &m)| (s, t, m));
                        assert_eq!(seen, wanted.map(|at| oracle.messages[at]));
                        match (wanted, found) {
                            (Some(at), Some(place)) => {
                                oracle.messages.remove(at);
                                assert_eq!(list.take(place), seen.map(|it| it.2));
                            }
                            _ => {
                                oracle.posted.push((pattern, n));
                                list.post(pattern, n);
                            }
                        }
                    }
                    _ => {
                        let at = oracle.posted.len() / 2;
                        if let Some(&(_, it)) = oracle.posted.get(at) {
                            oracle.posted.remove(at);
                            assert_eq!(list.withdraw_posted(|&r| r == it), Some(it));
                        }
                    }
                }
                let all: Vec<usize> = list.messages().map(|(_, _, &m)| m).collect();
                let wanted: Vec<usize> = oracle.messages.iter().map(|it| it.2).collect();
                assert_eq!(all, wanted);
            }
        }
    }

    #[test]
    fn memory_of_many_messages_is_given_back() {
        let mut list = MatchList::<usize, ()>::default();
        let any = MatchPattern { source: None, tag: None };
        (0..100_000).for_each(|n| list.push(n as u32 % 7, u32::MAX, n));
        for n in 0..100_000 {
            let at = list.find(any).unwrap();
            assert_eq!(list.take(at), Some(n));
        }
        assert_eq!(list.places.capacity(), 0);
    }
}
