//! The lines of the program that a communicator has called from: a table that grows, so that a
//! line is found by one look as a rule, however many there are.

/// Places at the start: a power of two.
const FEWEST: usize = 64;

/// Mixed places of the program, and the numbers of the lines that are written down of them. At most
/// a quarter is in use.
#[derive(Debug)]
pub(crate) struct Lines {
    places: Box<[(u64, u32)]>,
    /// From the mixed place to the index.
    shift: u32,
    used: usize,
}

impl Lines {
    pub(crate) fn new() -> Self {
        Lines::of(FEWEST)
    }

    fn of(places: usize) -> Self {
        let shift = u64::BITS - places.ilog2();
        Lines { places: vec![(0, 0); places].into(), shift, used: 0 }
    }

    /// The number of a line, if it is where it is looked for first.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        let line = self.places.get((key >> self.shift) as usize)?;
        (line.0 == key).then_some(line.1)
    }

    /// Where a line is, or a free place for it.
    fn place_of(&self, key: u64) -> usize {
        let (most, start) = (self.places.len() - 1, (key >> self.shift) as usize);
        let is_it = |at: &usize| matches!(self.places[*at].0, 0) || self.places[*at].0 == key;
        (start..).map(|at| at & most).find(is_it).unwrap_or(start)
    }

    /// The number of a line, which `write` makes if there is none.
    pub(crate) fn find_or<E>(
        &mut self,
        key: u64,
        write: impl FnOnce() -> Result<u32, E>,
    ) -> Result<u32, E> {
        let found = self.places[self.place_of(key)];
        if found.0 == key {
            return Ok(found.1);
        }
        let number = write()?;
        if 4 * self.used >= self.places.len() {
            let more = Lines::of(2 * self.places.len());
            let before = std::mem::replace(self, more);
            before.places.iter().filter(|it| it.0 != 0).for_each(|it| self.keep(*it));
        }
        self.keep((key, number));
        Ok(number)
    }

    fn keep(&mut self, line: (u64, u32)) {
        let at = self.place_of(line.0);
        self.places[at] = line;
        self.used += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_one_look_as_a_rule() {
        let key = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut lines = Lines::new();
        for n in 1..=5000_u64 {
            assert_eq!(lines.find_or(key(n), || Ok::<u32, ()>(n as u32)), Ok(n as u32));
        }
        let quickly = (1..=5000).filter(|n| lines.find(key(*n)) == Some(*n as u32)).count();
        assert!(quickly > 4000, "{quickly}");
        for n in 1..=5000 {
            assert_eq!(lines.find_or(key(n), || Err(n)), Ok(n as u32));
            assert!(lines.find(key(n)).is_none_or(|it| it == n as u32));
        }
        assert_eq!(lines.find_or(key(5001), || Err("not written")), Err("not written"));
    }
}
