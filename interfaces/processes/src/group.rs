//! Groups: teams of some of the ranks.

use crate::error::{Error, ErrorKind, Result};
use crate::site::{Names, Place};
use crate::sync::Ordering;
use crate::team::Team;
use std::sync::Arc;

/// The colour of a rank that wants no group, and the area of none.
const NONE: u64 = u64::MAX;

impl Team {
    /// Makes groups: of the ranks that call it with one `color`. In a group ranks are in the order
    /// of their `key` (`-rank` turns them round), and of their ranks where keys are equal. A rank
    /// without a colour gets no group.
    ///
    /// At most 8 to 64 communicators exist at once (1024 by the number of ranks of the team). A
    /// group's memory is given back when all its members have dropped it.
    ///
    /// # Errors
    /// As [`barrier`](Team::barrier); there are too many groups.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("groups", 0, 1)?;
    /// let half = (team.rank() % 2) as u32; // even and odd ranks
    /// let mut group = team.split(Some(half), 0)?.expect("a colour");
    /// assert_eq!((group.rank(), group.size()), (team.rank() / 2, team.size().div_ceil(2)));
    /// group.barrier()?;
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn split(&mut self, color: Option<u32>, key: i64) -> Result<Option<Team>> {
        let names = const { &Names::without_data("split") };
        let call = self.begin(names, Place::caller(), 0, Team::ROOTLESS)?;
        let mine = [color.map_or(NONE, u64::from), key.cast_unsigned()];
        // SAFETY: so many bytes.
        let episode = unsafe { self.meet(&call, mine.as_ptr().cast(), size_of_val(&mine))? };
        let p = self.members.len();
        let said = |member: usize| [0, 1].map(|i| self.gate(member).word(episode, i));
        let alike = (0..p).filter(|it| said(*it)[0] == mine[0]);
        let mut order: Vec<(i64, usize)> =
            alike.map(|it| (said(it)[1].cast_signed(), it)).collect();
        // This rank's own place comes from its own numbers.
        order.retain(|it| it.1 != self.me);
        order.push((key, self.me));
        order.sort_unstable();
        let group: Vec<usize> = order.iter().map(|it| it.1).collect();
        let leader = group.iter().copied().min().unwrap_or(self.me);
        let is_wanted = mine[0] != NONE;
        // The lowest member takes an area for the group, and says which.
        let area = match is_wanted && leader == self.me {
            true => self.take_area(group.len()).map_or(NONE, |area| area as u64),
            false => 0,
        };
        let names = const { &Names::without_data("split: area") };
        let call = self.begin(names, call.at, 0, Team::ROOTLESS)?;
        // SAFETY: so many bytes.
        let episode = unsafe { self.meet(&call, (&raw const area).cast(), size_of_val(&area))? };
        // Every rank hears of a group that has no area.
        let areas: Vec<u64> = (0..p).map(|member| self.gate(member).word(episode, 0)).collect();
        let lacks = areas.iter().any(|area| *area >= self.shared.layout.areas as u64);
        if lacks {
            let most = self.shared.layout.areas;
            let text = format!("more than {most} communicators at once: drop some groups");
            return Err(self.fail(Error::new(ErrorKind::Memory, text)));
        }
        if !is_wanted {
            return Ok(None);
        }
        let place = group.iter().position(|member| *member == self.me).unwrap_or(0);
        let members = group.iter().map(|member| self.members[*member]).collect();
        let area = areas[leader] as usize;
        match Team::in_area(Arc::clone(&self.shared), area, place, members) {
            Ok(team) => Ok(Some(team)),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// An area that nobody has.
    fn take_area(&self, members: usize) -> Option<usize> {
        (1..self.shared.layout.areas).find(|area| {
            let word = self.shared.area_word(*area);
            let mine = members as u64 + 1;
            // Ordering: the area is all 0 again; pairs with the store in `drop`.
            word.compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed).is_ok()
        })
    }
}
