//! Coming in: a team is complete when all ranks are there at once, and until then any may give up.
//!
//! ```text
//! arrive:   door; over, and nobody there? over = 0; take the place, fill the seat;
//!           all there? complete = 1
//! give up:  door; complete? go on : write the cause, over = 1 + rank, leave the place
//! ```
//!
//! All of it happens behind the [door](Presence::door), so a team is never complete for one rank
//! and given up for another. Whoever dies behind it has left its place, and the door.

use crate::course::Course;
use crate::error::{Error, ErrorKind, Result};
use crate::head;
use crate::layout::Layout;
use crate::mapping::Mapping;
use crate::patience::Patience;
use crate::presence::Presence;
use crate::rendezvous::Reply;
use crate::seat::Seat;
use crate::shared::{end_of, over, seat, spoilt, told};
use std::time::Duration;

/// See the module documentation.
pub(crate) struct Entry<'a> {
    mapping: &'a Mapping,
    layout: &'a Layout,
    presence: &'a Presence,
    rank: usize,
    /// The ranks that were there once.
    seen: Vec<bool>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(
        mapping: &'a Mapping,
        layout: &'a Layout,
        presence: &'a Presence,
        rank: usize,
    ) -> Self {
        Entry { mapping, layout, presence, rank, seen: vec![false; layout.ranks] }
    }

    fn course(&self) -> &Course {
        &head::head(self.mapping).course
    }

    fn seat(&self, rank: usize) -> &Seat {
        seat(self.mapping, self.layout, rank)
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.rank;
        (0..self.layout.ranks).filter(move |rank| *rank != me)
    }

    pub(crate) fn is_there(&self, rank: usize) -> bool {
        rank == self.rank || self.presence.is_there(rank)
    }

    fn pid(&self, rank: usize) -> u32 {
        self.seat(rank).name().map_or(0, |name| name.pid)
    }

    /// Takes the rank's place. Not if this process is to ask again for the next team of the name:
    /// rank 0, whose memory it is, has given up, or all have come.
    pub(crate) fn arrive(&self, by_name: bool, patience: &mut Patience) -> Result<bool> {
        let (course, rank) = (self.course(), self.rank);
        loop {
            let door = self.presence.door(rank, patience)?;
            let is_over = course.over().is_some();
            if by_name && rank != 0 && (is_over || course.is_complete() || !self.is_there(0)) {
                return Ok(false);
            }
            if course.is_complete() || self.presence.is_there(rank) {
                let text = format!("rank {rank} of the team is process {} already", self.pid(rank));
                return Err(Error::of(ErrorKind::Refused, rank, text));
            }
            // Those that were there when somebody gave up hear of it before it is forgotten.
            if is_over && self.others().any(|rank| self.is_there(rank)) {
                drop(door);
                patience.heed(rank)?;
                if patience.is_over() {
                    return Err(self.told_of_the_end());
                }
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            course.begin();
            self.presence.take(rank)?;
            self.seat(rank).fill();
            if self.others().all(|rank| self.is_there(rank)) {
                course.set_complete();
            }
            return Ok(true);
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.course().is_complete()
    }

    /// What rank 0 says to a process that asks for a place.
    pub(crate) fn reply(&self, rank: usize) -> Reply {
        if rank >= self.layout.ranks || self.is_complete() || self.course().over().is_some() {
            Reply::Again
        } else if self.is_there(rank) {
            Reply::Taken(self.pid(rank))
        } else {
            Reply::Welcome
        }
    }

    /// Why not all will come, if somebody has given up, or, if `all` are looked at, one that was
    /// there has gone.
    pub(crate) fn trouble(&mut self, all: bool) -> Option<Error> {
        let mut gone = None;
        for rank in self.others().filter(|_| all) {
            let is_there = self.is_there(rank);
            if self.seen[rank] && !is_there {
                gone = self.seat(rank).name().map(|name| (rank, name));
            }
            self.seen[rank] = is_there;
        }
        // In this order: it may have given up, or all have come and it has done its work.
        if self.course().over().is_some() {
            return Some(self.told_of_the_end());
        }
        let (rank, name) = gone.filter(|_| !self.is_complete())?;
        let (kind, end) = end_of(&name);
        Some(Error::of(kind, rank, format!("{} {end}", told(rank, &name))))
    }

    fn told_of_the_end(&self) -> Error {
        over(self.mapping, self.layout).unwrap_or_else(spoilt)
    }

    /// Gives up for a reason; none if all have come meanwhile. The others hear of it, and the place
    /// is free.
    pub(crate) fn give_up(&self, error: Error) -> Option<Error> {
        let mut patience = Patience::new(Some(Duration::from_secs(1)));
        // Without the door, as a process that has it may be stopped, the others see that this one
        // is gone.
        let door = self.presence.door(self.rank, &mut patience);
        let (course, seat) = (self.course(), self.seat(self.rank));
        if course.is_complete() {
            return None;
        }
        if door.is_ok() && course.over().is_none() {
            // The first cause is everybody's.
            let (rank, text) = match (error.kind(), seat.name()) {
                (ErrorKind::Died | ErrorKind::Left, _) | (_, None) => {
                    (error.rank(), error.text().to_string())
                }
                (_, Some(name)) => {
                    let told = told(self.rank, &name);
                    (Some(self.rank), format!("{told} has given up: {}", error.text()))
                }
            };
            seat.set_cause(error.kind().number(), rank, &text);
            course.set_over(self.rank);
        }
        self.presence.leave(self.rank);
        Some(error)
    }
}
