//! A rank's handle on a team, or on a group of it: meeting at the gates, and waiting.

use crate::bell::{Bell, Sleepers};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Gate, Head, INLINE, SLOTS};
use crate::layout::{
    BELL, DESK, EAGER, EAGERS, GATE, LEFT, PAGE, PIECE, PIECES_IN, PIECES_OUT, PROGRESS,
    TakenBuffer,
};
use crate::lines::Lines;
use crate::mail::Mail;
use crate::pieces::Progress;
use crate::ring::{RING, Ring};
use crate::shared::{Shared, forked};
use crate::site::{NO_ROOT, Names, Place};
use crate::stall::LongWait;
use crate::sync::{AtomicU64, Ordering};
use phalanx::engine::{Pauses, sleep_on, wake_all};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a wait that lasts looks for the dead, for the end of the team, and at the clock.
const EXAMINE: Duration = Duration::from_millis(5);

/// Looks before the first pause, where ranks outnumber cores.
const CROWDED_LOOKS: u32 = 64;

/// A rank of a team of processes; or of a group of it ([`split`](Team::split)).
///
/// All ranks make the same collective calls in the same order. Each call compares operation, type,
/// operator, length and root of all; each waits for all ranks to come to it. A call that fails ends
/// the team: each later one has the same error.
///
/// Results have the same bits on every rank, and in every run with the same number of ranks;
/// operators are applied in the order of ranks, by the tree of
/// [`Order::Fixed`](phalanx::Order::Fixed). (Of [`scan`](Team::scan): for one length, too.)
///
/// Dropping it leaves the team: a rank that still waits for this one gets an error that says so.
///
/// # Examples
/// ```
/// use phalanx_processes::{Team, op};
/// // In each process, with its own rank; here a team of one.
/// let mut team = Team::join("sums", 0, 1)?;
/// let mut x = [1.0_f32, 2.0];
/// team.all_reduce(&mut x, op::Sum)?;
/// assert_eq!(x, [1.0, 2.0]);
/// # Ok::<(), phalanx_processes::Error>(())
/// ```
pub struct Team {
    pub(crate) shared: Arc<Shared>,
    /// The number of its area, and where that is.
    pub(crate) area: usize,
    base: *mut u8,
    pub(crate) me: usize,
    /// Ranks in the team.
    pub(crate) members: Box<[usize]>,
    episode: u64,
    /// Pieces of all calls until now.
    pub(crate) pieces: u64,
    pub(crate) mail: Mail,
    failed: Option<Error>,
    /// The line of the next call, if it is in another language.
    pub(crate) place: Option<Place>,
    /// Lines that are written down.
    lines: Lines,
    /// User memory that is taken, in the order of its places; and how often some was.
    pub(crate) taken: Vec<TakenBuffer>,
    pub(crate) buffers: u64,
}

// SAFETY: the addresses are of shared memory, which `shared` keeps mapped; a handle is used by one
// thread at a time.
unsafe impl Send for Team {}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Team");
        shown.field("rank", &self.me).field("size", &self.members.len());
        shown.field("failed", &self.failed).finish_non_exhaustive()
    }
}

/// A call that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) names: &'static Names,
    pub(crate) at: Place,
    pub(crate) head: Head,
}

impl Team {
    pub(crate) fn of_all(shared: Shared) -> Result<Team> {
        let (rank, ranks) = (shared.rank, shared.layout.ranks);
        let shared = Arc::new(shared);
        let team = Team::in_area(Arc::clone(&shared), 0, rank, (0..ranks).collect());
        team.inspect_err(|error| shared.end(error))
    }

    /// Of these members in an area that is all 0.
    pub(crate) fn in_area(
        shared: Arc<Shared>,
        area: usize,
        me: usize,
        members: Box<[usize]>,
    ) -> Result<Team> {
        let layout = shared.layout;
        let at = layout.area(area);
        let base = shared.mapping.at(at, layout.area_bytes());
        // Memory for the words that every call writes, near the process that writes them.
        shared.mapping.take(at, PAGE)?;
        shared.mapping.take(at + layout.desk(me), DESK)?;
        let mail = Mail::new(members.len());
        Ok(Team {
            shared,
            area,
            base,
            me,
            members,
            episode: 0,
            pieces: 0,
            mail,
            failed: None,
            place: None,
            lines: Lines::new(),
            taken: Vec::new(),
            buffers: 0,
        })
    }

    /// This rank.
    ///
    /// # Examples
    /// See [`split`](Team::split).
    pub fn rank(&self) -> usize {
        self.me
    }

    /// How many ranks there are.
    ///
    /// # Examples
    /// See [`split`](Team::split).
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The next call is made in this line of the program: for other languages.
    ///
    /// # Examples
    /// See [`Place::of`].
    pub fn at(&mut self, place: Place) -> &mut Self {
        self.place = Some(place);
        self
    }

    // Where things are. Each is inside of the area, whose address was checked when it was made.

    fn desk(&self, member: usize) -> *mut u8 {
        debug_assert!(member < self.members.len());
        self.base.wrapping_add(PAGE + member * DESK)
    }

    #[inline(always)]
    pub(crate) fn gate(&self, member: usize) -> &Gate {
        // SAFETY: in the area, aligned; atomics.
        unsafe { &*self.desk(member).wrapping_add(GATE).cast() }
    }

    #[inline(always)]
    pub(crate) fn progress(&self, member: usize) -> &Progress {
        // SAFETY: as above.
        unsafe { &*self.desk(member).wrapping_add(PROGRESS).cast() }
    }

    fn bell(&self, member: usize) -> &Bell {
        // SAFETY: as above.
        unsafe { &*self.desk(member).wrapping_add(BELL).cast() }
    }

    /// 1 when the member has left.
    fn left(&self, member: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &*self.desk(member).wrapping_add(LEFT).cast() }
    }

    #[inline(always)]
    fn sleepers(&self) -> &Sleepers {
        // SAFETY: as above: the start of the area.
        unsafe { &*self.base.cast() }
    }

    /// Where a member puts a payload of the gate that is too long for the slot.
    pub(crate) fn eager(&self, member: usize, episode: u64) -> *mut u8 {
        let slot = (episode % SLOTS as u64) as usize;
        self.desk(member).wrapping_add(EAGERS + slot * EAGER)
    }

    /// A member's slot for a given piece.
    pub(crate) fn piece_in(&self, member: usize, slot: usize) -> *mut u8 {
        self.desk(member).wrapping_add(PIECES_IN + slot % 2 * PIECE)
    }

    /// A member's slot for results.
    pub(crate) fn piece_out(&self, member: usize, slot: usize) -> *mut u8 {
        self.desk(member).wrapping_add(PIECES_OUT + slot % 2 * PIECE)
    }

    /// Memory for the messages to a member.
    #[cold]
    pub(crate) fn take_ring(&self, to: usize) -> Result<()> {
        let layout = self.shared.layout;
        let at = layout.area(self.area) + layout.ring(self.me, to);
        self.shared.mapping.take(at, RING)
    }

    pub(crate) fn ring(&self, from: usize, to: usize) -> Ring {
        let at = self.shared.layout.ring(from, to);
        // SAFETY: in the area, aligned to a page, mapped as long as `shared` lives.
        unsafe { Ring::at(self.base.wrapping_add(at)) }
    }

    /// The names of a call at this place, as this rank shows them.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        names: &'static Names,
        caller: Place,
        length: usize,
        root: u64,
    ) -> Result<Begun> {
        let at = self.place.take().unwrap_or(caller);
        if self.shared.is_over() || self.shared.is_forked() {
            return Err(self.refusal());
        }
        let key = at.mixed(names.kind);
        let site = match self.lines.find(key) {
            Some(site) => site,
            None => self.write_line(key, names, at)?,
        };
        let place = root << 32 | u64::from(site);
        Ok(Begun { names, at, head: Head { kind: names.kind, length: length as u64, place } })
    }

    #[cold]
    fn write_line(&mut self, key: u64, names: &Names, at: Place) -> Result<u32> {
        let shared = &self.shared;
        let written = self.lines.find_or(key, || shared.write_site(names, at));
        written.map_err(|error| self.fail(error))
    }

    #[cold]
    fn refusal(&mut self) -> Error {
        if self.shared.is_forked() {
            return forked();
        }
        // The first cause; but a rank that has got an error keeps its own.
        let cause = self.shared.over();
        let cause = cause.unwrap_or_else(|| Error::new(ErrorKind::System, "the team is over"));
        self.failed.get_or_insert(cause).clone()
    }

    /// The team is over for this rank, and for the others, which wait perhaps.
    #[cold]
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.shared.end(&error);
        self.failed = Some(error.clone());
        self.ring_all();
        error
    }

    /// `fail`, of arguments.
    #[cold]
    pub(crate) fn wrong(&mut self, call: &Begun, text: &str) -> Error {
        self.refuse(call.names, call.at, text)
    }

    /// The same of a call that has not begun.
    #[cold]
    pub(crate) fn refuse(&mut self, names: &Names, at: Place, text: &str) -> Error {
        if self.shared.is_over() || self.shared.is_forked() {
            return self.refusal();
        }
        let me = self.shared.rank;
        let call = names.told(at).brief();
        let text = format!("{} calls {call}: {text}", self.shared.told(me));
        self.fail(Error::of(ErrorKind::Argument, me, text))
    }

    /// Meets all members at the gate of a call, and compares; `bytes` bytes at `payload` are shown
    /// to all. Returns the episode.
    ///
    /// # Safety
    /// There are that many bytes, [`EAGER`] at most.
    #[inline(always)]
    pub(crate) unsafe fn meet(
        &mut self,
        call: &Begun,
        payload: *const u8,
        bytes: usize,
    ) -> Result<u64> {
        let episode = self.episode + 1;
        self.episode = episode;
        let words = if bytes <= INLINE { bytes.div_ceil(8) } else { 0 };
        if bytes > INLINE {
            // SAFETY: by the contract; the slot is the caller's since all have shown the episode
            // before the last, and so have read the one four before.
            unsafe { phalanx::engine::copy(self.eager(self.me, episode), payload, bytes) };
        }
        let word = |i: usize| {
            let from = payload.wrapping_add(8 * i);
            if bytes >= 8 * i + 8 {
                // SAFETY: eight of the bytes.
                return unsafe { from.cast::<u64>().read_unaligned() };
            }
            let mut last = [0_u8; 8];
            // SAFETY: the last of the bytes: fewer than eight.
            unsafe { std::ptr::copy_nonoverlapping(from, last.as_mut_ptr(), bytes - 8 * i) };
            u64::from_ne_bytes(last)
        };
        self.gate(self.me).show(episode, call.head, word, words);
        self.tell();
        let p = self.members.len();
        let mut member = self.me + 1;
        for _ in 1..p {
            if member >= p {
                member = 0;
            }
            let gate = self.gate(member);
            if !gate.has_shown(episode) {
                let waited = self.wait(call, member, &mut || self.gate(member).has_shown(episode));
                waited.map_err(|error| self.fail(error))?;
            }
            if !self.gate(member).head(episode).agrees(&call.head) {
                return Err(self.disagreement(call, member, episode));
            }
            member += 1;
        }
        Ok(episode)
    }

    #[cold]
    fn disagreement(&mut self, call: &Begun, member: usize, episode: u64) -> Error {
        let other = self.gate(member).head(episode);
        let rank = self.members[member];
        let (mine, theirs) = (call.names.told(call.at), self.shared.site(rank, other.site()));
        let (length, root) = (call.head.length, call.head.root());
        let difference = mine.difference(&theirs, (length, other.length), (root, other.root()));
        let mut both = [
            (self.shared.rank, mine.with(length, root)),
            (rank, theirs.with(other.length, other.root())),
        ];
        both.sort_by_key(|it| it.0);
        let [a, b] = both.map(|(rank, call)| format!("{} calls {call}", self.shared.told(rank)));
        let text = format!("ranks disagree about the {difference}: {a}; {b}");
        self.fail(Error::of(ErrorKind::Disagreement, rank, text))
    }

    /// This rank has published something: wakes those that sleep until then.
    #[inline(always)]
    pub(crate) fn tell(&self) {
        let crowded = self.shared.is_crowded();
        if self.sleepers().are_there(crowded) {
            self.wake();
        }
        if crowded {
            self.shared.perhaps_count_cores(false);
        }
    }

    #[cold]
    fn wake(&self) {
        for member in (0..self.members.len()).filter(|member| *member != self.me) {
            self.bell(member).ring(Some(self.me), wake_all);
        }
    }

    /// All that sleep on this communicator look again.
    #[cold]
    pub(crate) fn ring_all(&self) {
        for member in 0..self.members.len() {
            self.bell(member).ring(None, wake_all);
        }
    }

    /// Waits until `ready`, which `member` makes true.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait(
        &self,
        call: &Begun,
        member: usize,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        self.wait_among(call, member, false, ready)
    }

    /// Waits until `ready`, which `member` makes true; with something to do, meanwhile, whenever
    /// `any` member publishes something.
    pub(crate) fn wait_among(
        &self,
        call: &Begun,
        member: usize,
        any: bool,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let shared = &*self.shared;
        let crowded = shared.is_crowded();
        let mut pauses = Pauses::new(crowded);
        let looks = if crowded { CROWDED_LOOKS } else { pauses.looks() };
        for _ in 0..looks {
            if ready() {
                return Ok(());
            }
        }
        let mut long = None;
        let outcome = loop {
            if ready() {
                break Ok(());
            }
            match pauses.pause() {
                None => {}
                Some(nap) => {
                    let mut awake = || ready() || shared.is_over();
                    let asleep = |word: &_, value| sleep_on(word, value, nap);
                    let awaited = (!any).then_some(member);
                    self.bell(self.me).sleep(self.sleepers(), awaited, &mut awake, asleep);
                }
            }
            if !pauses.is_long() {
                continue;
            }
            let now = Instant::now();
            let limits = (shared.timeout, shared.interrupt);
            let wait = long.get_or_insert_with(|| {
                shared.perhaps_count_cores(true);
                LongWait::new(member, limits)
            });
            if now < wait.examined + EXAMINE && !shared.is_over() {
                continue;
            }
            wait.examined = now;
            self.say_that_it_waits(call, wait, any);
            // In this order: the last words of a rank that left or died count.
            if let Some(error) = self.trouble(call, member, wait) {
                break if ready() { Ok(()) } else { Err(error) };
            }
            if let Some(error) = self.find_circle(wait, ready) {
                shared.end(&error);
                // All have one cause: several ranks may find the circle.
                break Err(shared.over().unwrap_or(error));
            }
            self.tell_of_stall(wait);
        };
        if let Some(wait) = &long {
            self.end_long_wait(wait);
        }
        outcome
    }

    /// Why a wait for `member` is in vain, if it is.
    #[cold]
    fn trouble(&self, call: &Begun, member: usize, wait: &mut LongWait) -> Option<Error> {
        let shared = &*self.shared;
        if let Some(error) = shared.over() {
            return Some(error);
        }
        let (rank, call) = (self.members[member], call.names.told(call.at));
        let waits = || {
            let me = shared.told(shared.rank);
            format!("{me} waits for rank {rank} in {}", call.brief())
        };
        if wait.interrupt.has_come() {
            let text = format!("rank {} was interrupted: {}", shared.rank, waits());
            return Some(Error::of(ErrorKind::Interrupted, shared.rank, text));
        }
        // Ordering: pairs with the store in `drop`: all that it published is visible.
        if self.left(member).load(Ordering::Acquire) != 0 {
            let text = format!("{} has left the team: {}", shared.told(rank), waits());
            return Some(Error::of(ErrorKind::Left, rank, text));
        }
        // A member that left this communicator in order may have ended.
        let is_missing = |rank: &usize| {
            let place = self.members.iter().position(|member| member == rank);
            place.is_some_and(|place| self.left(place).load(Ordering::Acquire) == 0)
        };
        if let Some(dead) = shared.ended().into_iter().find(is_missing) {
            let (kind, end) = shared.end_of(dead);
            let text = format!("{} {end}: {}", shared.told(dead), waits());
            return Some(Error::of(kind, dead, text));
        }
        if wait.patience.is_over() {
            let text = format!(
                "{} has not come within {}: {}; {}",
                shared.told(rank),
                wait.patience.told(),
                waits(),
                self.whereabouts(member)
            );
            return Some(Error::of(ErrorKind::Deadline, rank, text));
        }
        None
    }

    /// Where a member is, as far as it has said so.
    pub(crate) fn whereabouts(&self, member: usize) -> String {
        let (shared, rank) = (&*self.shared, self.members[member]);
        let mut text = String::new();
        if shared.is_stopped(rank) {
            text += "its process is stopped; ";
        }
        if let Some((site, peer)) = shared.seat(rank).wait() {
            let call = shared.site(rank, site).brief();
            text += &format!("it waits for rank {peer} in {call}");
        } else if let Some((episode, head)) = self.gate(member).latest(self.episode) {
            let call = shared.site(rank, head.site()).brief();
            text +=
                &format!("its last call was number {episode}, {call}; this is {}", self.episode);
        } else {
            text += "it has made no call yet";
        }
        text
    }

    /// Whether it is all ranks' own, not a group of all.
    pub(crate) fn is_whole(&self) -> bool {
        self.area == 0
    }

    /// A number without a root.
    pub(crate) const ROOTLESS: u64 = NO_ROOT;
}

impl Drop for Team {
    fn drop(&mut self) {
        if self.shared.is_forked() {
            return;
        }
        // The text of the panic is its hook's.
        if self.is_whole() && std::thread::panicking() {
            let (shared, rank) = (&self.shared, self.shared.rank);
            let text = format!("{} has panicked while it had the team", shared.told(rank));
            shared.end(&Error::of(ErrorKind::Panicked, rank, text));
        }
        // Ordering: whatever this rank published comes before; pairs with the loads in `trouble`.
        self.left(self.me).store(1, Ordering::Release);
        self.ring_all();
        if self.area == 0 {
            self.shared.release_name();
            return;
        }
        // Ordering: the last one sees that all have left the area.
        if self.shared.area_word(self.area).fetch_sub(1, Ordering::AcqRel) == 2 {
            let layout = self.shared.layout;
            self.shared.mapping.give_back(layout.area(self.area), layout.area_bytes());
            // Ordering: the area is all 0 again; pairs with the exchange in `group.rs`.
            self.shared.area_word(self.area).store(0, Ordering::Release);
        }
    }
}
