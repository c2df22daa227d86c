//! The lists of one receiver: messages that nobody has asked for yet, and receives that nobody has
//! sent to yet, each in the order in which they came. Matching is by source and tag, either of
//! which a receive may leave open; of several that fit the first is taken. So messages of one
//! sender that fit one receive never overtake each other. Users with communicators of their own
//! give a context, too, which a receive never leaves open.
//!
//! Both are lists with keys ([`KeyedList`]): a message of many is on four chains, for the four ways
//! to ask for it; a receive is on that of its pattern alone, and a message looks at the first of
//! four. Safe code, which knows nothing of threads: `tagged_queue.rs` has the lock.

use super::keyed_list::{FAMILIES, Keyed, KeyedList};
use std::hash::Hash;

/// The source and tag that a receive asks for; none stands for any.
///
/// # Examples
/// See [`MatchList`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchPattern {
    /// The sender.
    pub source: Option<u32>,
    /// The tag.
    pub tag: Option<u32>,
}

impl MatchPattern {
    /// Whether a message from `source` with `tag` is asked for.
    #[inline(always)]
    fn fits(self, source: u32, tag: u32) -> bool {
        self.source.is_none_or(|it| it == source) && self.tag.is_none_or(|it| it == tag)
    }

    /// Its family of keys: of those with the same ones open.
    #[inline(always)]
    fn family(self) -> usize {
        usize::from(self.source.is_none()) << 1 | usize::from(self.tag.is_none())
    }
}

/// The family of names; those below are of patterns.
const NAMES: usize = FAMILIES - 1;

/// A context, and a source and a tag in one word; or a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct MatchKey<C>(Option<C>, u64);

impl<C> MatchKey<C> {
    fn new(context: C, source: u32, tag: u32) -> Self {
        MatchKey(Some(context), u64::from(source) << 32 | u64::from(tag))
    }

    fn of_name(name: u64) -> Option<Self> {
        (name != 0).then_some(MatchKey(None, name))
    }

    /// Of a message, in a family of patterns.
    fn of_message(family: usize, context: C, source: u32, tag: u32) -> Self {
        let is_open = |bit: usize| family & bit != 0;
        let source = if is_open(2) { 0 } else { source };
        MatchKey::new(context, source, if is_open(1) { 0 } else { tag })
    }

    fn of_pattern(context: C, pattern: MatchPattern) -> Self {
        MatchKey::new(context, pattern.source.unwrap_or(0), pattern.tag.unwrap_or(0))
    }
}

#[derive(Clone, Copy, Debug)]
struct MessageHead<C> {
    context: C,
    source: u32,
    tag: u32,
    name: u64,
}

impl<C: Copy + Eq + Hash> Keyed for MessageHead<C> {
    type Key = MatchKey<C>;

    fn key(&self, family: usize) -> Option<MatchKey<C>> {
        match family {
            NAMES => MatchKey::of_name(self.name),
            _ => Some(MatchKey::of_message(family, self.context, self.source, self.tag)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct ReceiveHead<C> {
    context: C,
    pattern: MatchPattern,
    name: u64,
}

impl<C: Copy + Eq + Hash> Keyed for ReceiveHead<C> {
    type Key = MatchKey<C>;

    fn key(&self, family: usize) -> Option<MatchKey<C>> {
        match family {
            NAMES => MatchKey::of_name(self.name),
            _ if family == self.pattern.family() => {
                Some(MatchKey::of_pattern(self.context, self.pattern))
            }
            _ => None,
        }
    }
}

/// The messages and receives of one receiver that have not met, each in the order in which they
/// came. A receive matches by source and tag, either of which it may leave open: the first of those
/// that fit. `M`: the data kept of a message; `R`: of a receive; `C`: a context, such as a
/// communicator, which must be the same. Threads are its users' business.
///
/// **Cost** of few, a look at each; of many, a search in a table.
///
/// A place is good until the list changes. A name is a number by which a message, or a receive, is
/// taken back: no other one that lies here has it; 0 stands for none.
///
/// # Examples
/// ```
/// use phalanx::engine::{MatchList, MatchPattern};
/// let mut list = MatchList::<&str, char, u8>::default();
/// let any = MatchPattern { source: None, tag: None };
/// let of_two = MatchPattern { source: Some(2), tag: None };
/// // Messages come to context 7, from ranks 1 and 2 with tag 5.
/// list.push(7, (1, 5), 0, "first");
/// list.push(7, (2, 5), 10, "second");
/// assert_eq!(list.find(8, any), None);
/// let at = list.find(7, of_two).unwrap();
/// assert_eq!(list.message(at), Some((2, 5, &"second")));
/// assert_eq!(list.withdraw(10), Some("second")); // its sender takes it back
/// let at = list.find(7, any).unwrap();
/// assert_eq!((list.take(at), list.messages().count()), (Some("first"), 0));
/// // A receive is posted; its message comes, then another for one that is withdrawn.
/// list.post(7, of_two, 20, 'r');
/// list.post(7, any, 21, 's');
/// let (at, pattern, receive) = list.find_posted(7, (2, 9)).unwrap();
/// assert_eq!((pattern, *receive), (of_two, 'r'));
/// assert_eq!(list.take_posted(at), Some('r'));
/// assert_eq!(list.withdraw_posted(21), Some('s'));
/// assert_eq!((list.count(), list.count_posted()), (0, 0));
/// ```
#[derive(Debug)]
pub struct MatchList<M, R, C: Copy + Eq + Hash = ()> {
    messages: KeyedList<MessageHead<C>, M>,
    receives: KeyedList<ReceiveHead<C>, R>,
}

impl<M, R, C: Copy + Eq + Hash> Default for MatchList<M, R, C> {
    fn default() -> Self {
        MatchList { messages: KeyedList::default(), receives: KeyedList::default() }
    }
}

impl<M, R, C: Copy + Eq + Hash> MatchList<M, R, C> {
    /// Adds a message of a name that no receive is posted for.
    #[inline]
    pub fn push(&mut self, context: C, (source, tag): (u32, u32), name: u64, message: M) {
        self.messages.push(MessageHead { context, source, tag, name }, message);
    }

    /// The place of the first message that `pattern` asks for, if there is one.
    #[inline]
    pub fn find(&mut self, context: C, pattern: MatchPattern) -> Option<usize> {
        let key = || [(pattern.family(), MatchKey::of_pattern(context, pattern))];
        self.messages.find(key, |it| it.context == context && pattern.fits(it.source, it.tag))
    }

    /// Source, tag and the data kept of the message at a place.
    #[inline]
    pub fn message(&self, at: usize) -> Option<(u32, u32, &M)> {
        self.messages.get(at).map(|(head, message)| (head.source, head.tag, message))
    }

    /// Takes the message at a place.
    #[inline]
    pub fn take(&mut self, at: usize) -> Option<M> {
        self.messages.take(at)
    }

    /// How many messages and receives there are.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.messages.count() + self.receives.count()
    }

    /// How many of them are receives.
    #[inline(always)]
    pub fn count_posted(&self) -> usize {
        self.receives.count()
    }

    /// Messages that nobody has asked for, in their order: places, sources, and their data.
    pub fn messages(&self) -> impl Iterator<Item = (usize, u32, &M)> {
        self.messages.all().map(|(at, head, message)| (at, head.source, message))
    }

    /// Adds a receive of a name that no message is there for.
    #[inline]
    pub fn post(&mut self, context: C, pattern: MatchPattern, name: u64, receive: R) {
        self.receives.push(ReceiveHead { context, pattern, name }, receive);
    }

    /// The first receive that asks for a message from a source with a tag: its place, the pattern
    /// that it asks for, and its data.
    #[inline]
    pub fn find_posted(
        &mut self,
        context: C,
        (source, tag): (u32, u32),
    ) -> Option<(usize, MatchPattern, &R)> {
        // As a rule.
        if self.receives.count() == 0 {
            return None;
        }
        let key = |family| (family, MatchKey::of_message(family, context, source, tag));
        let at = self.receives.find(
            || [key(0), key(1), key(2), key(3)],
            |it| it.context == context && it.pattern.fits(source, tag),
        )?;
        self.receives.get(at).map(|(head, receive)| (at, head.pattern, receive))
    }

    /// Takes the receive at a place.
    #[inline]
    pub fn take_posted(&mut self, at: usize) -> Option<R> {
        self.receives.take(at)
    }

    /// Takes the receive of this name, if it is still posted.
    pub fn withdraw_posted(&mut self, name: u64) -> Option<R> {
        let key = || [(NAMES, MatchKey(None, name))];
        let at = self.receives.find(key, |it| it.name == name)?;
        self.take_posted(at)
    }

    /// Takes the message of this name, if it is still here.
    pub fn withdraw(&mut self, name: u64) -> Option<M> {
        let key = || [(NAMES, MatchKey(None, name))];
        let at = self.messages.find(key, |it| it.name == name)?;
        self.take(at)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Odd ones are never taken back.
    fn name(n: u64) -> u64 {
        if n.is_multiple_of(2) { n } else { 0 }
    }

    type List = MatchList<u64, u64, u8>;
    const ANY: MatchPattern = MatchPattern { source: None, tag: None };

    fn of(source: u32, tag: u32) -> MatchPattern {
        MatchPattern { source: Some(source), tag: Some(tag) }
    }

    /// A list of messages and receives, as plainly as can be: to compare with.
    #[derive(Default)]
    struct Oracle {
        messages: Vec<(u8, u32, u32, u64)>,
        posted: Vec<(u8, MatchPattern, u64)>,
    }

    struct Chance(u64);

    impl Chance {
        fn below(&mut self, most: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % most
        }
    }

    fn send(list: &mut List, oracle: &mut Oracle, (c, s, t): (u8, u32, u32), n: u64) {
        let fits = |(context, it, _): &(u8, MatchPattern, u64)| *context == c && it.fits(s, t);
        let wanted = oracle.posted.iter().position(fits).map(|at| oracle.posted.remove(at));
        let found = list.find_posted(c, (s, t)).map(|(at, pattern, &it)| (at, pattern, it));
        assert_eq!(found.map(|it| (c, it.1, it.2)), wanted);
        match found {
            Some((at, _, receive)) => assert_eq!(list.take_posted(at), Some(receive)),
            None => {
                oracle.messages.push((c, s, t, n));
                list.push(c, (s, t), name(n), n);
            }
        }
    }

    fn receive(list: &mut List, oracle: &mut Oracle, (c, it): (u8, MatchPattern), n: u64) {
        let fits = |&(context, s, t, _): &(u8, u32, u32, u64)| context == c && it.fits(s, t);
        let wanted = oracle.messages.iter().position(fits).map(|at| oracle.messages.remove(at));
        let found = list.find(c, it);
        let seen = found.and_then(|at| list.message(at)).map(|(s, t, &m)| (c, s, t, m));
        assert_eq!(seen, wanted);
        match found.zip(seen) {
            Some((at, seen)) => assert_eq!(list.take(at), Some(seen.3)),
            None => {
                oracle.posted.push((c, it, n));
                list.post(c, it, name(n), n);
            }
        }
    }

    fn take_back(list: &mut List, oracle: &mut Oracle, chance: &mut Chance) {
        let of_one = |chance: &mut Chance, count| chance.below(count as u64) as usize;
        if !oracle.posted.is_empty() {
            let at = of_one(chance, oracle.posted.len());
            let n = oracle.posted[at].2;
            if name(n) != 0 {
                oracle.posted.remove(at);
                assert_eq!(list.withdraw_posted(n), Some(n));
                assert_eq!(list.withdraw_posted(n), None);
            }
        }
        if !oracle.messages.is_empty() {
            let at = of_one(chance, oracle.messages.len());
            let n = oracle.messages[at].3;
            if name(n) != 0 {
                oracle.messages.remove(at);
                assert_eq!((list.withdraw(n), list.withdraw(n)), (Some(n), None));
            }
        }
    }

    /// Sends, receives and withdrawals by chance, of few and of many entries, in several contexts
    /// and with all wildcards: each finds the entry that a plain list finds.
    #[test]
    fn lists_match_as_plain_lists_do() {
        let mut longest = (0, 0);
        for seed in 0..24 {
            let mut chance = Chance(seed);
            let (mut list, mut oracle) = (List::default(), Oracle::default());
            let (mut wild, mut sends, mut few) = (3, 1, 4);
            for n in 0..5000 {
                if n % 250 == 0 {
                    // For a while the one or the other comes more often.
                    (wild, sends) = ([3, 4, 40][chance.below(3) as usize], 1 + chance.below(8));
                    few = [4, 400][chance.below(2) as usize];
                }
                let context = chance.below(3) as u8;
                let (source, tag) = (chance.below(5) as u32, chance.below(few) as u32);
                match chance.below(10) {
                    9 => take_back(&mut list, &mut oracle, &mut chance),
                    it if it < sends => send(&mut list, &mut oracle, (context, source, tag), n),
                    _ => {
                        let source = (chance.below(wild) > 0).then_some(source);
                        let tag = (chance.below(wild) > 0).then_some(tag);
                        let pattern = MatchPattern { source, tag };
                        receive(&mut list, &mut oracle, (context, pattern), n);
                    }
                }
                let (messages, posted) = (oracle.messages.len(), oracle.posted.len());
                assert_eq!((list.count(), list.count_posted()), (messages + posted, posted));
                longest = (longest.0.max(messages), longest.1.max(posted));
                if n % 10 == 0 {
                    let all = list.messages().map(|(_, _, &m)| m);
                    assert!(all.eq(oracle.messages.iter().map(|it| it.3)));
                }
            }
        }
        assert!(longest.0 > 200 && longest.1 > 200, "lists of many, too: {longest:?}");
    }

    const MANY: u64 = 20_000;

    /// The entries that `run` looks at, for each of [`MANY`].
    fn looks(run: impl FnOnce(&mut List)) -> usize {
        let mut list = List::default();
        run(&mut list);
        assert_eq!(list.count(), 0);
        assert!(list.messages.capacity() <= 64 && list.receives.capacity() <= 64);
        let looks = list.messages.looks.get() + list.receives.looks.get();
        looks.div_ceil(MANY as usize)
    }

    fn take(list: &mut List, context: u8, pattern: MatchPattern, wanted: u64) {
        let at = list.find(context, pattern).expect("it is there");
        assert_eq!(list.take(at), Some(wanted));
    }

    /// Context, source and tag of an entry of this number.
    type Label = fn(u64) -> (u8, u32, u32);

    /// Of 20 000 entries, taken from either end, or with wildcards between them, each is found by
    /// some looks, not by a walk.
    #[test]
    fn one_of_many_is_found_by_few_looks() {
        let most = 12;
        let labels: [Label; 3] = [
            |n| (0, 0, n as u32),
            |n| (0, n as u32, 7),
            |n| ((n % 250) as u8, (n / 250) as u32, 7),
        ];
        for label in labels {
            for is_reverse in [false, true] {
                let order = |n| if is_reverse { MANY - 1 - n } else { n };
                let messages = looks(|list| {
                    for n in 0..MANY {
                        let (context, source, tag) = label(n);
                        assert!(list.find_posted(context, (source, tag)).is_none());
                        list.push(context, (source, tag), 0, n);
                    }
                    for n in (0..MANY).map(order) {
                        let (context, source, tag) = label(n);
                        take(list, context, of(source, tag), n);
                    }
                });
                assert!(messages <= most, "{messages} looks at messages");
                let receives = looks(|list| {
                    for n in 0..MANY {
                        let (context, source, tag) = label(n);
                        assert!(list.find(context, of(source, tag)).is_none());
                        list.post(context, of(source, tag), 0, n);
                    }
                    for n in (0..MANY).map(order) {
                        let (context, source, tag) = label(n);
                        let (at, ..) = list.find_posted(context, (source, tag)).unwrap();
                        assert_eq!(list.take_posted(at), Some(n));
                    }
                });
                assert!(receives <= most, "{receives} looks at receives");
                let names = looks(|list| {
                    (1..=MANY).for_each(|n| list.post(0, ANY, n, n));
                    (1..=MANY).for_each(|n| list.push(0, (0, 0), n, n));
                    for name in (0..MANY).map(|n| 1 + order(n)) {
                        assert_eq!(list.withdraw_posted(name), Some(name));
                        assert_eq!(list.withdraw(name), Some(name));
                    }
                });
                assert!(names <= most, "{names} looks for names");
            }
        }
        let wildcards = looks(|list| {
            // A message of each, then one of the last by each kind of pattern.
            (0..MANY).for_each(|n| list.push(0, (n as u32 % 100, n as u32 / 100), 0, n));
            let mut left: VecDeque<u64> = (0..MANY).collect();
            while let Some(last) = left.pop_back() {
                let (source, tag) = (last as u32 % 100, last as u32 / 100);
                take(list, 0, of(source, tag), last);
                if let Some(first) = left.pop_front() {
                    take(list, 0, ANY, first);
                }
            }
        });
        assert!(wildcards <= most, "{wildcards} looks with wildcards");
        let open = |list: &mut List| {
            // Receives for any tag of each source, and for any source of each tag.
            for n in 0..MANY / 2 {
                list.post(0, MatchPattern { source: Some(n as u32), tag: None }, 0, 2 * n);
                list.post(0, MatchPattern { source: None, tag: Some(n as u32) }, 0, 2 * n + 1);
            }
            for n in (0..MANY / 2).rev() {
                for (source, tag) in [(n as u32, u32::MAX), (u32::MAX, n as u32)] {
                    let (at, ..) = list.find_posted(0, (source, tag)).unwrap();
                    let wanted = 2 * n + u64::from(source == u32::MAX);
                    assert_eq!(list.take_posted(at), Some(wanted));
                }
            }
        };
        let open = looks(open);
        assert!(open <= most, "{open} looks at open receives");
    }

    #[test]
    fn memory_of_many_messages_is_given_back() {
        let mut list = List::default();
        (0..100_000).for_each(|n| list.push(0, (n as u32 % 7, u32::MAX), 0, n));
        for n in 0..100_000 {
            take(&mut list, 0, ANY, n);
            let left = 100_000 - n as usize;
            let most = (16 * left).max(64);
            assert!(list.messages.capacity() <= most, "of {left}: {}", list.messages.capacity());
        }
    }
}
