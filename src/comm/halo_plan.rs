//! The messages of an exchange of halos, as far as grid, shape and size of the elements say it:
//! with which ranks, how much, and where small faces lie. Made once, and kept for the next call.

use crate::dist::{Halo, MAX_DIMENSIONS, Region};
use crate::shared::{Digest, PayloadKind};
use crate::sorted::Listed;
use crate::topology::Cartesian;
use std::ops::Range;

/// Bytes of faces that travel in the message itself, behind eight bytes that
/// tell shapes apart.
pub(super) const SMALL: usize = PayloadKind::BRIEF - size_of::<u64>();

/// The call that an exchange is prepared for.
#[derive(Clone, Copy)]
pub(super) struct HaloShape<'a> {
    /// The grid's number in its communicator.
    pub(super) grid: u64,
    pub(super) fields: usize,
    /// Bytes of an element.
    pub(super) element: usize,
    pub(super) halo: &'a Halo,
}

/// Cells that a neighbour sends, or is sent.
pub(super) struct Face {
    /// This rank itself, where it is its own neighbour.
    pub(super) peer: usize,
    pub(super) dim: usize,
    /// Whether the cells go into the halo before, and after, the receiver's own cells.
    pub(super) sides: [bool; 2],
    /// Bytes of the message that holds the cells, if they travel in it: a digest, and the cells.
    pub(super) bytes: Option<usize>,
    /// That of the face's shape.
    pub(super) digest: u64,
    /// Of a message that holds its cells: where they lie in each field.
    rows: Range<usize>,
}

/// Neighbouring cells of a field: the first, and how many.
#[derive(Clone, Copy)]
pub(super) struct HaloRow {
    pub(super) start: usize,
    pub(super) run: usize,
}

/// The messages that are sent before one is awaited: everything or, with corners, one dimension.
pub(super) struct HaloStage {
    pub(super) sends: Range<usize>,
    pub(super) takes: Range<usize>,
}

/// See the module documentation.
pub(super) struct HaloPlan {
    grid: u64,
    fields: usize,
    element: usize,
    halo: Halo,
    /// Elements of a field.
    pub(super) len: usize,
    /// The grid's, for the call's fingerprint.
    pub(super) digest: Digest,
    pub(super) stages: Vec<HaloStage>,
    pub(super) sends: Vec<Face>,
    pub(super) takes: Vec<Face>,
    rows: Vec<HaloRow>,
}

impl HaloPlan {
    /// For rank `rank`; of arguments without a [`problem`](Halo::problem).
    pub(super) fn new(rank: usize, grid: &Cartesian, shape: HaloShape<'_>) -> Self {
        let HaloShape { fields, element, halo, .. } = shape;
        let mut plan = HaloPlan {
            grid: shape.grid,
            fields,
            element,
            halo: *halo,
            len: halo.len(),
            digest: digest_of(grid),
            stages: Vec::new(),
            sends: Vec::new(),
            takes: Vec::new(),
            rows: Vec::new(),
        };
        for dim in (0..halo.dimensions()).filter(|&dim| halo.widths()[dim] > 0) {
            let (sends, takes) = (plan.sends.len(), plan.takes.len());
            let (before, after) = grid.shift(rank, dim, 1);
            // The neighbour before this rank has this one after it; one message even where both
            // neighbours are one rank.
            let both = before == after;
            for (peer, sides) in [(before, [both, true]), (after, [!both, false])] {
                let Some(peer) = peer.filter(|&peer| sides != [false; 2] && peer != rank) else {
                    continue;
                };
                let face = plan.face(peer, dim, sides, |halo, after| halo.face(dim, !after));
                plan.sends.push(face);
            }
            for (peer, sides) in [(before, [true, both]), (after, [false, !both])] {
                let Some(peer) = peer.filter(|_| sides != [false; 2]) else { continue };
                let face = plan.face(peer, dim, sides, |halo, after| halo.ghost(dim, after));
                plan.takes.push(face);
            }
            match plan.stages.last_mut().filter(|_| !halo.corners()) {
                Some(stage) => {
                    stage.sends.end = plan.sends.len();
                    stage.takes.end = plan.takes.len();
                }
                None => plan.stages.push(HaloStage {
                    sends: sends..plan.sends.len(),
                    takes: takes..plan.takes.len(),
                }),
            }
        }
        plan
    }

    fn face(
        &mut self,
        peer: usize,
        dim: usize,
        sides: [bool; 2],
        region: impl Fn(&Halo, bool) -> crate::dist::Region,
    ) -> Face {
        let halo = self.halo;
        let of_one = halo.face_cells(dim).saturating_mul(self.fields);
        let cells = of_one.saturating_mul(sides.iter().filter(|side| **side).count());
        let bytes = cells.saturating_mul(self.element);
        let bytes = (bytes <= SMALL).then_some(bytes + size_of::<u64>());
        let first = self.rows.len();
        // (Of elements without a size there may be any number, and nothing of them travels.)
        if bytes.is_some() && self.element > 0 {
            for after in [false, true].into_iter().filter(|&after| sides[usize::from(after)]) {
                let region = region(&halo, after);
                let rows = &mut self.rows;
                Boxes::new(&halo, region, &halo, region)
                    .each_row(|start, _, run| rows.push(HaloRow { start, run }));
            }
        }
        let rows = first..self.rows.len();
        Face { peer, dim, sides, bytes, digest: halo.digest(dim), rows }
    }

    pub(super) fn halo(&self) -> &Halo {
        &self.halo
    }

    #[inline(always)]
    fn is_for(&self, shape: &HaloShape<'_>) -> bool {
        (self.grid, self.fields, self.element) == (shape.grid, shape.fields, shape.element)
            && self.halo.is(shape.halo)
    }

    /// Where the cells of `face`, which travel in its message, lie in each field.
    #[inline(always)]
    pub(super) fn rows(&self, face: &Face) -> &[HaloRow] {
        &self.rows[face.rows.clone()]
    }
}

/// The digest of a grid in the fingerprint of a call.
pub(super) fn digest_of(grid: &Cartesian) -> Digest {
    let axes = grid.dims().iter().zip(grid.periodic());
    Digest::of_mesh(&axes.map(|(&n, &wraps)| 2 * n + usize::from(wraps)).listed())
}

/// The latest plans of a communicator.
#[derive(Default)]
pub(super) struct HaloPlans {
    plans: Vec<HaloPlan>,
    /// Which of them was used last.
    latest: usize,
    /// Which gives way to the next one.
    oldest: usize,
}

/// Plans that are kept.
const KEPT: usize = 8;

impl HaloPlans {
    /// Makes the plan for `shape` the latest, if it is kept.
    #[inline(always)]
    pub(super) fn find(&mut self, shape: &HaloShape<'_>) -> bool {
        self.plans.get(self.latest).is_some_and(|plan| plan.is_for(shape)) || self.find_older(shape)
    }

    #[cold]
    fn find_older(&mut self, shape: &HaloShape<'_>) -> bool {
        let found = self.plans.iter().position(|plan| plan.is_for(shape));
        self.latest = found.unwrap_or(self.latest);
        found.is_some()
    }

    pub(super) fn keep(&mut self, plan: HaloPlan) {
        if self.plans.len() < KEPT {
            self.latest = self.plans.len();
            return self.plans.push(plan);
        }
        self.latest = self.oldest;
        self.plans[self.oldest] = plan;
        self.oldest = (self.oldest + 1) % KEPT;
    }

    /// The latest plan.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub(super) fn latest(&self) -> &HaloPlan {
        &self.plans[self.latest]
    }
}

/// Two boxes of one shape in two arrays: the cells that are copied, and their places.
pub(super) struct Boxes {
    dims: usize,
    shape: [usize; MAX_DIMENSIONS],
    /// Of the target and of the source: first element, and elements between
    /// neighbours along each dimension.
    start: [usize; 2],
    strides: [[usize; MAX_DIMENSIONS]; 2],
}

impl Boxes {
    pub(super) fn new(to: &Halo, ghost: Region, from: &Halo, face: Region) -> Self {
        let mut dims = to.dimensions();
        let mut boxes =
            Boxes { dims, shape: ghost.shape, start: [0; 2], strides: [[1; MAX_DIMENSIONS]; 2] };
        for (i, (halo, region)) in [(to, ghost), (from, face)].into_iter().enumerate() {
            let mut stride = 1;
            for d in (0..dims).rev() {
                boxes.strides[i][d] = stride;
                boxes.start[i] += region.start[d] * stride;
                stride *= halo.total(d);
            }
        }
        // A row that is followed at once by the next, in both, is a longer row.
        let shape = &mut boxes.shape;
        while dims > 1 && boxes.strides.iter().all(|s| s[dims - 2] == shape[dims - 1]) {
            shape[dims - 2] *= shape[dims - 1];
            boxes.strides.iter_mut().for_each(|s| s[dims - 2] = 1);
            dims -= 1;
        }
        boxes.dims = dims;
        boxes
    }

    /// Calls `f` with where each row begins in both arrays, and its length.
    #[inline(always)]
    pub(super) fn each_row(&self, mut f: impl FnMut(usize, usize, usize)) {
        let run = self.shape[self.dims - 1];
        // The last two dimensions are loops, those before count up like digits.
        let (outer, rows) = match self.dims {
            1 => (0, 1),
            dims => (dims - 2, self.shape[dims - 2]),
        };
        if run == 0 || rows == 0 || self.shape[..outer].contains(&0) {
            return;
        }
        let steps = self.strides.map(|s| if self.dims > 1 { s[outer] } else { 0 });
        let mut digits = [0; MAX_DIMENSIONS];
        loop {
            let [a, b] = [0, 1].map(|i: usize| {
                let strides = self.strides[i].iter();
                let sum = digits[..outer].iter().zip(strides).map(|(c, s)| c * s).sum::<usize>();
                self.start[i] + sum
            });
            (0..rows).for_each(|row| f(a + row * steps[0], b + row * steps[1], run));
            let Some(d) = (0..outer).rev().find(|&d| digits[d] + 1 < self.shape[d]) else { return };
            digits[d] += 1;
            digits[d + 1..outer].fill(0);
        }
    }
}
