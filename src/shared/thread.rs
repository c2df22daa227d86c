//! A thread's public state, for ranks that wait for it: its current wait, and the facts known about
//! that wait. The process has one graph of waits: a thread may be a rank of several teams, but
//! waits in one place at a time. See `README.md`, "Deadlocks".

use super::team_state::TeamState;
use super::thread_mark::ThreadMark;
use crate::error::CallSite;
use crate::sync::diagnostic::{self, AtomicU64 as PlainU64, Ordering::Relaxed};
use crate::sync::{AtomicU64, Ordering, Site, consume, publish};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// For whom a thread waits that waits for a message from any rank.
pub(crate) const ANYBODY: usize = u32::MAX as usize - 1;

/// See the module documentation. Never freed, and handed on to a later thread when its
/// own has ended: a thread that follows a circle may come to it at any time.
pub(crate) struct Thread {
    /// High half: number of the thread's latest long wait. Low half: the rank that it
    /// waits for, plus 1; 0 when that wait is over.
    wait: AtomicU64,
    /// The number of a long wait, and the thread's facts about it: all that it or its started
    /// calls await.
    edges: diagnostic::Mutex<(u32, Vec<WaitEdge>)>,
    /// The world and the rank of the latest wait, and in which call that was, for
    /// errors only.
    world: PlainU64,
    rank: PlainU64,
    told: diagnostic::Mutex<Option<(u32, Option<CallSite>)>>,
    /// The runs that the thread is in, the innermost first. Used by the thread only.
    parts: diagnostic::AtomicPtr<CatchScope>,
    /// The started calls that the thread goes on with while it waits, the latest first. Used by the
    /// thread only.
    started: diagnostic::AtomicPtr<Started>,
    /// The system's number of the thread, for ranks that look at its mask.
    #[cfg(not(loom))]
    pub(super) number: PlainU64,
    /// The mark by which its communicators know it.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    mark: ThreadMark,
    /// The ranks that the thread is beside that of its outermost run: those to be told
    /// when that fails, or when the thread ends.
    #[cfg(not(loom))]
    hats: diagnostic::Mutex<Vec<Hat>>,
}

/// A fact about a thread's wait: a word that it awaits comes from rank `rank` of world `world`, and
/// had not come when that rank's thread was in its long wait `number` already.
#[derive(Clone)]
pub(crate) struct WaitEdge {
    pub(super) to: &'static Thread,
    pub(super) number: u32,
    pub(super) world: u64,
    pub(super) rank: usize,
}

/// Calls that a thread has started, and goes on with in each call, and while it waits.
pub(crate) trait Background {
    /// Goes on as far as it can without waiting, but for receives that only this rank knows of.
    /// Never unwinds.
    fn carry_on(&self) -> OpenCalls;

    /// Adds the world and the rank there that each call awaits for which others may wait.
    fn awaits(&self, add: &mut dyn FnMut(&TeamState, usize));

    /// Posts the receives that only this rank knows of. Never unwinds.
    fn publish(&self);
}

/// How far started calls are: other once one publishes a word, or awaits another rank.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OpenCalls {
    /// So many are open.
    pub(crate) open: usize,
    /// Of which so many may have work that other ranks wait for.
    pub(crate) owing: usize,
    /// They have met so many ranks.
    pub(crate) passed: usize,
}

/// An entry of a thread's list of started calls.
struct Started {
    work: *const (dyn Background + 'static),
    below: *mut Started,
}

/// A run that a thread is in, or a piece of a program that catches the error that a failed call
/// throws (`protect`).
pub(crate) struct CatchScope {
    world: *const TeamState,
    run: u64,
    is_run: bool,
    below: *mut CatchScope,
}

/// See [`Thread::enter`].
pub(crate) struct Entered<'a>(&'a Thread, *mut CatchScope);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.parts.store(self.1, Relaxed);
    }
}

/// A rank that a thread is.
#[cfg(not(loom))]
struct Hat {
    world: std::sync::Weak<TeamState>,
    rank: usize,
    run: u64,
    /// In a run that was started in a rank's closure; else for as long as the thread
    /// lives.
    is_inner: bool,
}

#[cfg(not(loom))]
impl Hat {
    /// Whether it is this rank's, for as long as the thread lives.
    fn is(&self, world: &TeamState, rank: usize, run: u64) -> bool {
        let is_of = std::ptr::eq(self.world.as_ptr(), world);
        is_of && !self.is_inner && (self.rank, self.run) == (rank, run)
    }
}

/// A wait that a rank is in: [`Waits::of_rank`](crate::engine::Waits::of_rank).
///
/// # Examples
/// Three ranks that wait for each other for ever, as an interface that adds waits of its own finds:
/// ```
/// use phalanx::engine::RankWait;
/// let wait = |peer| RankWait { number: 1, peer: Some(peer), is_confirmed: true };
/// let (waits, mut at) = ([wait(1), wait(2), wait(0)], 0);
/// for _ in 0..3 {
///     assert!(waits[at].is_confirmed);
///     at = waits[at].peer.unwrap();
/// }
/// assert_eq!(at, 0); // the circle is closed
/// ```
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankWait {
    /// Its number among the long waits of the rank's thread.
    pub number: u32,
    /// For which rank of the team; for any, if none.
    pub peer: Option<usize>,
    /// The awaited word had not come, nor any other that a call of the rank awaits, when their
    /// ranks were in their present waits already: so none comes while these waits last.
    pub is_confirmed: bool,
}

/// One wait of a circle.
#[derive(Clone, Debug)]
#[cfg_attr(loom, allow(dead_code))] // Read by communicators only.
pub(crate) struct Seen {
    /// The world's id.
    pub(crate) world: u64,
    pub(crate) rank: usize,
    pub(crate) peer: usize,
    /// For circles through several worlds: the others' records are out of reach.
    pub(crate) site: Option<CallSite>,
}

impl Thread {
    /// Of a new thread, for ever.
    pub(crate) fn leak() -> &'static Thread {
        // Numbers wrap soon.
        let before = u64::from(u32::MAX - 2) << 32;
        Box::leak(Box::new(Thread {
            wait: AtomicU64::new(before),
            edges: diagnostic::Mutex::new((u32::MAX, Vec::new())),
            world: PlainU64::new(0),
            rank: PlainU64::new(0),
            told: diagnostic::Mutex::new(None),
            parts: diagnostic::AtomicPtr::new(null_mut()),
            started: diagnostic::AtomicPtr::new(null_mut()),
            #[cfg(not(loom))]
            number: PlainU64::new(0),
            mark: ThreadMark::nobody(),
            #[cfg(not(loom))]
            hats: diagnostic::Mutex::new(Vec::new()),
        }))
    }

    /// The thread begins a long wait, as rank `rank` of `world`, for `peer`; returns the
    /// wait's number. See [`TeamState::begin_wait`].
    pub(super) fn begin_wait(&self, world: u64, rank: usize, peer: usize) -> u32 {
        let number = ((self.wait.load(Ordering::Relaxed) >> 32) as u32).wrapping_add(1);
        self.world.store(world, Relaxed);
        self.rank.store(rank as u64, Relaxed);
        // Ordering: whoever sees this wait also sees everything that the thread
        // sent before it; pairs with the load in `wait`.
        self.wait.store(u64::from(number) << 32 | (peer as u64 + 1), publish(Site::Waiting));
        number
    }

    pub(super) fn end_wait(&self) {
        // Relaxed: the number stays, so that nobody takes an old edge for a
        // new one; that the wait is over publishes nothing.
        self.wait.store(self.wait.load(Ordering::Relaxed) >> 32 << 32, Ordering::Relaxed);
    }

    /// The number of the thread's current long wait, and for which rank of its world.
    pub(super) fn wait(&self) -> Option<(u32, usize)> {
        // Ordering: pairs with the store in `begin_wait`.
        let word = self.wait.load(consume(Site::Waiting));
        Some(((word >> 32) as u32, (word as u32).checked_sub(1)? as usize))
    }

    /// The rank of its world that the thread waits for. For reports.
    pub(super) fn awaited(&self) -> Option<usize> {
        // Relaxed: reports only.
        let word = self.wait.load(Ordering::Relaxed) as u32;
        word.checked_sub(1).map(|peer| peer as usize)
    }

    /// The id of the world that the thread waits in, or waited in last. For reports.
    pub(super) fn waits_in(&self) -> u64 {
        self.world.load(Relaxed)
    }

    /// The thread has seen in its wait `number` that `edges` are true, and publishes nothing in it
    /// before one of their words comes.
    pub(crate) fn confirm(&self, number: u32, edges: Vec<WaitEdge>) {
        // Later, if a reader has it. (In a child of a fork a reader may have it for ever.)
        if let Ok(mut stored) = self.edges.try_lock() {
            *stored = (number, edges);
        }
    }

    /// The facts that the thread has confirmed about its wait `number`, if it is still in that.
    fn edges(&self, number: u32) -> Option<Vec<WaitEdge>> {
        if self.wait()?.0 != number {
            return None;
        }
        let (of, edges) = self.edges.try_lock().ok()?.clone();
        (of == number && self.wait()?.0 == number).then_some(edges)
    }

    /// The thread's long wait, by any rank's words or a named one's.
    #[cfg(not(loom))]
    pub(super) fn long_wait(&self) -> Option<RankWait> {
        let (number, peer) = self.wait()?;
        let is_true = |it: &WaitEdge| it.to.wait().is_some_and(|wait| wait.0 == it.number);
        let is_confirmed = self.edges(number).is_some_and(|all| all.iter().all(is_true));
        Some(RankWait { number, peer: (peer != ANYBODY).then_some(peer), is_confirmed })
    }

    /// The threads that this one waits for, those that they wait for, and so on, itself the first,
    /// each with the number of its wait and its facts; if none can be the first to go on.
    fn deadlocked(&'static self) -> Option<Vec<(&'static Thread, u32, Vec<WaitEdge>)>> {
        let mut numbers = HashMap::from([(std::ptr::from_ref(self), self.wait()?.0)]);
        let mut all = vec![(self, numbers[&std::ptr::from_ref(self)], Vec::new())];
        let mut next = 0;
        while let Some((at, number, facts)) = all.get_mut(next) {
            *facts = at.edges(*number)?;
            let edges = facts.clone();
            for WaitEdge { to, number, world, rank } in edges {
                let at = (to.world.load(Relaxed), to.rank.load(Relaxed) as usize);
                // A thread that waits as another rank of the world than the awaited one may have
                // handed that one over to a thread that has not called yet.
                if at.0 == world && at.1 != rank {
                    return None;
                }
                match numbers.insert(to, number) {
                    None => all.push((to, number, Vec::new())),
                    Some(known) if known == number => {}
                    Some(_) => return None,
                }
            }
            next += 1;
        }
        Some(all)
    }

    #[inline(never)]
    fn told(&self) -> Option<(u32, Option<CallSite>)> {
        self.told.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// The circle that the thread, waiting in world `world`, belongs to: each on it awaits the next
    /// one first, and whatever else it awaits it never gets. What goes through several worlds
    /// counts only when all threads that it depends on have found it: none of them then has seen
    /// its run fail, which would have ended its wait.
    pub(super) fn circle(
        &'static self,
        world: u64,
        site: impl FnOnce() -> Option<CallSite>,
    ) -> Option<Vec<Seen>> {
        let all = self.deadlocked()?;
        let is_within = all.iter().all(|(at, ..)| at.world.load(Relaxed) == world);
        let mut sites = HashMap::new();
        if !is_within {
            let number = all[0].1;
            if self.told().is_none_or(|(told, _)| told != number) {
                *self.told.lock().unwrap_or_else(|e| e.into_inner()) = Some((number, site()));
            }
            for &(at, number, _) in &all {
                let (told, site) = at.told()?;
                if told != number {
                    return None;
                }
                sites.insert(std::ptr::from_ref(at), site);
            }
        }
        let edges: HashMap<_, _> =
            all.iter().map(|(at, _, edges)| (std::ptr::from_ref(*at), edges)).collect();
        let (mut circle, mut at) = (Vec::new(), self);
        while circle.len() < all.len() {
            let first = edges[&std::ptr::from_ref(at)].first()?;
            let (world, rank) = (at.world.load(Relaxed), at.rank.load(Relaxed) as usize);
            let site = sites.remove(&std::ptr::from_ref(at)).flatten();
            circle.push(Seen { world, rank, peer: first.rank, site });
            at = first.to;
            if std::ptr::eq(at, self) {
                return Some(circle);
            }
        }
        None
    }

    /// Calls `f` as a part of run `run` of `world`. `is_run`: as a rank's closure; else
    /// as code that catches the errors of its calls.
    #[inline]
    pub(crate) fn within<R>(
        &self,
        world: &TeamState,
        run: u64,
        is_run: bool,
        f: impl FnOnce() -> R,
    ) -> R {
        let mut place = MaybeUninit::uninit();
        // SAFETY: both stay, here.
        let _entered = unsafe { self.enter(world, run, is_run, &mut place) };
        f()
    }

    /// [`within`](Thread::within), from here until the result is dropped.
    ///
    /// # Safety
    /// `place` and `world` stay until then; a run that is entered later is left before.
    pub(crate) unsafe fn enter(
        &self,
        world: *const TeamState,
        run: u64,
        is_run: bool,
        place: &mut MaybeUninit<CatchScope>,
    ) -> Entered<'_> {
        // Relaxed, here and below: only the thread itself uses it.
        let below = self.parts.load(Relaxed);
        let part = place.write(CatchScope { world, run, is_run, below });
        self.parts.store(part, Relaxed);
        Entered(self, below)
    }

    /// Calls `f`; wherever the thread waits meanwhile, and in each call that it makes while its
    /// [mark](Thread::mark) says so, it goes on with `work`.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    #[inline]
    pub(crate) fn beside<R>(&self, work: &dyn Background, f: impl FnOnce() -> R) -> R {
        struct Out<'a>(&'a Thread, *mut Started);
        impl Drop for Out<'_> {
            fn drop(&mut self) {
                self.0.started.store(self.1, Relaxed);
            }
        }
        // Relaxed, here and below: only the thread itself uses it.
        let below = self.started.load(Relaxed);
        // SAFETY: the lifetime is forgotten, and the entry taken off the list (`Out`) before it
        // ends.
        let work = unsafe {
            std::mem::transmute::<*const (dyn Background + '_), *const (dyn Background + 'static)>(
                work,
            )
        };
        let mut started = Started { work, below };
        let _out = Out(self, below);
        self.started.store(&raw mut started, Relaxed);
        f()
    }

    /// The mark by which its communicators know it.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn mark(&'static self) -> &'static ThreadMark {
        &self.mark
    }

    /// Goes on with the started calls, if peers may wait for some of it; whether they still may.
    /// All calls come here while their communicator's [mark](ThreadMark) says that there is
    /// something.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn go_on(&self) -> bool {
        self.mark.has_started() && self.go_on_now()
    }

    #[cfg(not(loom))]
    #[cold]
    #[inline(never)]
    fn go_on_now(&self) -> bool {
        self.carry_on();
        self.mark.has_started()
    }

    /// All that the thread has started, the latest first. Used by the thread only.
    #[inline]
    fn each_started(&self, mut with: impl FnMut(&dyn Background)) {
        let mut at = self.started.load(Relaxed);
        // SAFETY: entries are on the stack of this thread, below this frame, until `beside` takes
        // them off the list.
        while let Some(started) = unsafe { at.as_ref() } {
            // SAFETY: as above; `work` was borrowed for as long.
            with(unsafe { &*started.work });
            at = started.below;
        }
    }

    /// Goes on with the started calls, as each wait does; returns what is left of them.
    #[inline]
    pub(super) fn carry_on(&self) -> OpenCalls {
        let mut all = OpenCalls::default();
        self.each_started(|work| {
            let it = work.carry_on();
            all.open += it.open;
            all.owing += it.owing;
            all.passed += it.passed;
        });
        all
    }

    /// Adds the present waits of all that the started calls await; none if one does not wait.
    pub(super) fn with_calls(&self, edges: Vec<WaitEdge>) -> Option<Vec<WaitEdge>> {
        let mut all = Some(edges);
        let mut add = |world: &TeamState, peer| match (&mut all, world.edge(peer)) {
            (Some(all), Some(edge)) => all.push(edge),
            _ => all = None,
        };
        self.each_started(|work| work.awaits(&mut add));
        all
    }

    /// Posts the receives that only the thread's ranks know of.
    pub(crate) fn publish(&self) {
        self.each_started(|work| work.publish());
    }

    /// The first of the thread's parts, from the innermost, of which `is` holds, as
    /// world's id and run.
    fn part(&self, is: impl Fn(&TeamState, &CatchScope) -> bool) -> Option<(u64, u64)> {
        let mut at = self.parts.load(Relaxed);
        // SAFETY: parts are on the stack of this thread, below this frame, until
        // `within` takes them off the list; each is made of a `&TeamState` that outlives it.
        while let Some(part) = unsafe { at.as_ref() } {
            // SAFETY: as above.
            let world = unsafe { &*part.world };
            if is(world, part) {
                return Some((world.id(), part.run));
            }
            at = part.below;
        }
        None
    }

    /// Whether the thread is in a rank's closure.
    #[inline]
    pub(crate) fn is_in_a_run(&self) -> bool {
        !self.parts.load(Relaxed).is_null() && self.part(|_, part| part.is_run).is_some()
    }

    /// Whether the thread is in a rank's closure in run `run` of `world`.
    pub(crate) fn is_in(&self, world: &TeamState, run: u64) -> bool {
        self.part(|it, part| part.is_run && std::ptr::eq(it, world) && part.run == run).is_some()
    }

    /// Whether an error that is thrown for run `run` of `world` is caught on this thread.
    pub(crate) fn catches(&self, world: &TeamState, run: u64) -> bool {
        self.part(|it, part| std::ptr::eq(it, world) && part.run == run).is_some()
    }

    /// Another run than those of `world` that the thread is in, and that is over: the
    /// thread has no business in a wait any more.
    pub(crate) fn outer_over(&self, world: &TeamState) -> Option<(u64, u64)> {
        self.part(|it, part| part.is_run && !std::ptr::eq(it, world) && it.is_poisoned(part.run))
    }
}

#[cfg(not(loom))]
mod here {
    use super::super::team_state::discard;
    use super::{Hat, TeamState, Thread};
    use crate::error::Error;
    use crate::machine::affinity::thread_number;
    use crate::sync::diagnostic::{Mutex, Ordering::Relaxed};
    use std::cell::Cell;
    use std::ptr::null_mut;
    use std::sync::Arc;

    /// Those of which the thread has ended.
    static IDLE: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

    struct Here(&'static Thread);

    /// See [`Thread::leads`].
    pub(crate) struct Inner {
        thread: &'static Thread,
        /// Compared only.
        world: *const TeamState,
    }

    impl Drop for Inner {
        fn drop(&mut self) {
            let is_it = |hat: &Hat| hat.is_inner && std::ptr::eq(hat.world.as_ptr(), self.world);
            let mut hats = self.thread.hats.lock().unwrap_or_else(|e| e.into_inner());
            hats.retain(|hat| !is_it(hat));
        }
    }

    crate::sync::thread_local! {
        static HERE: Here = Here::new();
        /// For the destructors after `HERE`'s. It has none of its own, so it stays.
        static LATE: Cell<Option<&'static Thread>> = const { Cell::new(None) };
    }

    fn here_from_now_on(thread: &'static Thread) -> &'static Thread {
        thread.mark.be_here();
        thread.number.store(thread_number(), Relaxed);
        thread
    }

    #[cold]
    fn late() -> &'static Thread {
        LATE.with(|late| {
            let thread = late.get().unwrap_or_else(|| here_from_now_on(Thread::leak()));
            late.set(Some(thread));
            thread
        })
    }

    impl Here {
        fn new() -> Self {
            let _inside = crate::fork::inside();
            let idle = IDLE.lock().unwrap_or_else(|e| e.into_inner()).pop();
            Here(here_from_now_on(idle.unwrap_or_else(Thread::leak)))
        }
    }

    impl Drop for Here {
        fn drop(&mut self) {
            let hats = std::mem::take(&mut *self.0.hats.lock().unwrap_or_else(|e| e.into_inner()));
            // The thread has been taken out of a call, by other means than a panic.
            let is_in_a_call = !self.0.parts.swap(null_mut(), Relaxed).is_null();
            self.0.started.store(null_mut(), Relaxed);
            for Hat { world, rank, run, .. } in hats {
                if let Some(world) = world.upgrade() {
                    if is_in_a_call && world.is_held_here(rank) {
                        world.leave(rank, run);
                    }
                    world.rise(rank, self.0);
                    // It may be the last to have it.
                    discard(world);
                }
            }
            self.0.mark.be_nobodys();
            let _inside = crate::fork::inside();
            IDLE.lock().unwrap_or_else(|e| e.into_inner()).push(self.0);
        }
    }

    impl Thread {
        /// The calling thread's.
        #[inline]
        pub(crate) fn here() -> &'static Thread {
            HERE.try_with(|here| here.0).unwrap_or_else(|_| late())
        }

        /// The thread, which is the calling one, is rank `rank` in run `run` of `world`, until
        /// another is, or it ends.
        pub(crate) fn put_on(&'static self, world: &Arc<TeamState>, rank: usize, run: u64) {
            world.sit(rank, self);
            self.push(world, rank, run, false);
        }

        fn push(&self, world: &Arc<TeamState>, rank: usize, run: u64, is_inner: bool) {
            let hat = Hat { world: Arc::downgrade(world), rank, run, is_inner };
            {
                let mut hats = self.hats.lock().unwrap_or_else(|e| e.into_inner());
                let is_over = |it: &Hat| {
                    let is_of = std::ptr::eq(it.world.as_ptr(), Arc::as_ptr(world));
                    it.world.strong_count() == 0 || is_of && it.run != run
                };
                hats.retain(|hat| !is_over(hat));
                // A rank that goes from thread to thread comes back.
                if is_inner || !hats.iter().any(|it| it.is(world, rank, run)) {
                    hats.push(hat);
                }
            }
            // A rank that fails calls home first, and looks at the list then, or finds the hat
            // there.
            if self.outer_over(world).is_some() {
                self.tell(world, rank, run, is_inner);
            }
        }

        /// The thread, as rank 0, carries out run `run` of `world` inside another one, until
        /// the result is dropped.
        pub(crate) fn leads(&'static self, world: &Arc<TeamState>, run: u64) -> Inner {
            self.push(world, 0, run, true);
            Inner { thread: self, world: Arc::as_ptr(world) }
        }

        /// An outer run has failed: ends the inner one, or makes the rank look.
        fn tell(&self, world: &TeamState, rank: usize, run: u64, is_inner: bool) {
            if is_inner {
                let what = "the run in which it was started has ended with an error";
                discard(world.poison(run, rank, Some(Error::Stale { what })));
            } else {
                world.shut(rank, run);
            }
        }

        /// A run of `world`, in which the thread is a rank, has failed. If that is one of a
        /// team's, the runs inside it are over, too; and the thread looks at it before it
        /// does anything as another rank.
        pub(in super::super) fn call_home(&self, world: &TeamState) {
            let inner: Vec<_> = {
                let hats = self.hats.lock().unwrap_or_else(|e| e.into_inner());
                let own = hats.iter().position(|hat| std::ptr::eq(hat.world.as_ptr(), world));
                let from = match own {
                    Some(own) if !hats[own].is_inner => return,
                    own => own.map_or(0, |own| own + 1),
                };
                let is_meant = |i: usize, hat: &Hat| i >= from || !hat.is_inner;
                let meant = hats.iter().enumerate().filter(|(i, hat)| is_meant(*i, hat));
                meant
                    .filter_map(|(_, hat)| {
                        Some((hat.world.upgrade()?, hat.rank, hat.run, hat.is_inner))
                    })
                    .collect()
            };
            for (world, rank, run, is_inner) in inner {
                self.tell(&world, rank, run, is_inner);
                // It may be the last to have it.
                discard(world);
            }
        }
    }
}
