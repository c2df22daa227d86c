//! Parts from which the operations' rules are built.

use super::{BlockRange, Incoming, Outgoing, Rule, Step, StepTraffic};

pub(crate) type Boxed = Box<dyn Rule>;

/// A rule of `steps` steps given by a function of step and rank.
pub(crate) fn rule(
    steps: usize,
    part: impl Fn(usize, usize) -> Step + Send + Sync + 'static,
) -> Boxed {
    Box::new(FromFn { steps, alike: 0, part })
}

/// A rule whose steps up to the first `alike` have the peers of the first.
pub(crate) fn repeated(
    steps: usize,
    alike: usize,
    part: impl Fn(usize, usize) -> Step + Send + Sync + 'static,
) -> Boxed {
    Box::new(FromFn { steps, alike, part })
}

/// A rule whose peers a function of their own counts.
pub(crate) fn counted(
    steps: usize,
    peers: impl Fn(usize, usize, &mut StepTraffic) + Send + Sync + 'static,
    part: impl Fn(usize, usize) -> Step + Send + Sync + 'static,
) -> Boxed {
    counted_once(steps, 0, peers, part)
}

/// A rule whose peers `peers` counts, and whose steps up to the first `alike` have the peers of the
/// first.
pub(crate) fn counted_once(
    steps: usize,
    alike: usize,
    peers: impl Fn(usize, usize, &mut StepTraffic) + Send + Sync + 'static,
    part: impl Fn(usize, usize) -> Step + Send + Sync + 'static,
) -> Boxed {
    Box::new(Counted { rule: FromFn { steps, alike, part }, peers })
}

struct FromFn<F> {
    steps: usize,
    alike: usize,
    part: F,
}

impl<F: Fn(usize, usize) -> Step + Send + Sync> Rule for FromFn<F> {
    fn steps(&self) -> usize {
        self.steps
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        (self.part)(step, rank)
    }

    fn repeats(&self, step: usize) -> bool {
        (1..self.alike.min(self.steps)).contains(&step)
    }
}

struct Counted<F, G> {
    rule: FromFn<F>,
    peers: G,
}

impl<F, G> Rule for Counted<F, G>
where
    F: Fn(usize, usize) -> Step + Send + Sync,
    G: Fn(usize, usize, &mut StepTraffic) + Send + Sync,
{
    fn steps(&self) -> usize {
        self.rule.steps
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        (self.rule.part)(step, rank)
    }

    fn peers(&self, step: usize, rank: usize, out: &mut StepTraffic) {
        (self.peers)(step, rank, out);
    }

    fn repeats(&self, step: usize) -> bool {
        self.rule.repeats(step)
    }
}

/// The number of doublings from one to at least `n`.
pub(crate) fn ceil_log(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}

/// A list of runs that merges what touches.
#[derive(Default)]
pub(crate) struct BlockRanges(pub(crate) Vec<BlockRange>);

impl BlockRanges {
    pub(crate) fn push(&mut self, first: usize, count: usize) {
        match self.0.last_mut() {
            _ if count == 0 => {}
            Some(last) if last.first + last.count == first => last.count += count,
            _ => self.0.push(BlockRange { first, count }),
        }
    }
}

/// The `count <= n` numbers from `first` on, cyclic mod `n`: one run or two,
/// ascending.
pub(crate) fn cyclic(first: usize, count: usize, n: usize) -> Vec<BlockRange> {
    let first = first % n;
    let wrapped = (first + count).saturating_sub(n);
    let mut runs = BlockRanges::default();
    runs.push(0, wrapped);
    runs.push(first, count - wrapped);
    runs.0
}

/// Several rules at the same time: the all-port algorithms. The shorter ones
/// idle at the end.
pub(crate) struct Together(pub(crate) Vec<Boxed>);

impl Rule for Together {
    fn steps(&self) -> usize {
        self.0.iter().map(|r| r.steps()).max().unwrap_or(0)
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        let mut all = Step::default();
        for rule in self.0.iter().filter(|r| step < r.steps()) {
            let part = rule.step(step, rank);
            all.sends.extend(part.sends);
            all.recvs.extend(part.recvs);
        }
        all
    }

    fn peers(&self, step: usize, rank: usize, out: &mut StepTraffic) {
        self.0.iter().filter(|r| step < r.steps()).for_each(|r| r.peers(step, rank, out));
    }

    fn repeats(&self, step: usize) -> bool {
        // None has just ended, and all that still run repeat theirs.
        step > 0 && self.0.iter().filter(|r| step <= r.steps()).all(|r| r.repeats(step))
    }
}

/// A rule for sub-block `part` of every block cut into `split`.
pub(crate) struct Sliced {
    pub(crate) rule: Boxed,
    pub(crate) part: usize,
    pub(crate) split: usize,
}

impl Sliced {
    fn runs(&self, runs: &[BlockRange]) -> Vec<BlockRange> {
        let mut out = BlockRanges::default();
        for b in runs.iter().flat_map(|r| r.range()) {
            out.push(b * self.split + self.part, 1);
        }
        out.0
    }
}

impl Rule for Sliced {
    fn steps(&self) -> usize {
        self.rule.steps()
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        let whole = self.rule.step(step, rank);
        let send = |s: Outgoing| Outgoing { blocks: self.runs(&s.blocks), ..s };
        let recv = |r: Incoming| Incoming { blocks: self.runs(&r.blocks), ..r };
        Step {
            sends: whole.sends.into_iter().map(send).collect(),
            recvs: whole.recvs.into_iter().map(recv).collect(),
        }
    }

    // A block has one sub-block of each part.
    fn peers(&self, step: usize, rank: usize, out: &mut StepTraffic) {
        self.rule.peers(step, rank, out);
    }

    fn repeats(&self, step: usize) -> bool {
        self.rule.repeats(step)
    }
}

/// A rule followed by idle steps, up to `steps` in all.
pub(crate) struct Padded {
    pub(crate) rule: Boxed,
    pub(crate) steps: usize,
}

impl Rule for Padded {
    fn steps(&self) -> usize {
        self.steps
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        if step < self.rule.steps() { self.rule.step(step, rank) } else { Step::default() }
    }

    fn peers(&self, step: usize, rank: usize, out: &mut StepTraffic) {
        if step < self.rule.steps() {
            self.rule.peers(step, rank, out);
        }
    }

    fn repeats(&self, step: usize) -> bool {
        let own = self.rule.steps();
        if step < own { self.rule.repeats(step) } else { step > own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cyclic_ranges_ascend_and_merge() {
        assert_eq!(cyclic(2, 3, 8), [BlockRange { first: 2, count: 3 }]);
        assert_eq!(
            cyclic(6, 4, 8),
            [BlockRange { first: 0, count: 2 }, BlockRange { first: 6, count: 2 }]
        );
        assert_eq!(cyclic(3, 8, 8), [BlockRange { first: 0, count: 8 }]);
        assert_eq!(cyclic(3, 0, 8), []);
    }
}
