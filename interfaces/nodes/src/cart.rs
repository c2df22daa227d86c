//! Cartesian views: neighbours in a grid of ranks on several nodes, and halo exchanges: the faces
//! are packed into messages, those to ranks of this node too.

use crate::call::NodeCall;
use crate::layout::Lengths;
use crate::messages::{Label, Underway};
use crate::node_comm::{NodeComm, of_comm};
use crate::origin::Origin;
use crate::steps::Steps;
use phalanx::dist::Halo;
use phalanx::engine::{FieldPart, fitting_fields, halo_problem, whole_field};
use phalanx::topology::Cartesian;
use phalanx::{Element, Peers};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// The leader's messages of nets have tag 0.
const FACES: u32 = 1;

/// A Cartesian view of a communicator, as [`phalanx::Cart`]; made by [`NodeComm::cart`].
///
/// # Examples
/// ```
/// let at = phalanx_nodes::run(6, |comm| comm.cart(&[2, 3], &[false, true]).coordinates())?;
/// assert_eq!(at[4], [1, 1]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Debug)]
pub struct NodeCart<'c, 'a> {
    comm: &'c mut NodeComm<'a>,
    grid: Cartesian,
}

impl<'a> Deref for NodeCart<'_, 'a> {
    type Target = NodeComm<'a>;
    fn deref(&self) -> &NodeComm<'a> {
        self.comm
    }
}

impl<'a> DerefMut for NodeCart<'_, 'a> {
    fn deref_mut(&mut self) -> &mut NodeComm<'a> {
        self.comm
    }
}

impl<'a> NodeComm<'a> {
    #[doc = of_comm!("cart",
        "let dims = phalanx_nodes::run(4, |comm| comm.cart(&[0, 0], &[true; 2]).dims().to_vec())?;",
        "assert_eq!(dims[0], [2, 2]);")]
    #[track_caller]
    pub fn cart(&mut self, dims: &[usize], periodic: &[bool]) -> NodeCart<'_, 'a> {
        match Cartesian::new(self.size(), dims, periodic) {
            Ok(grid) => NodeCart { comm: self, grid },
            Err(bad) => self.refuse(NodeCall::of::<()>("cart", 0), bad.to_string()),
        }
    }

    #[doc = of_comm!("cart_of",
        "use phalanx::topology::Cartesian;",
        "let grid = Cartesian::new(2, &[2], &[true]).unwrap();",
        "phalanx_nodes::run(2, |comm| assert_eq!(comm.cart_of(&grid).grid(), &grid))?;")]
    #[track_caller]
    pub fn cart_of(&mut self, grid: &Cartesian) -> NodeCart<'_, 'a> {
        self.cart(grid.dims(), grid.periodic())
    }
}

/// The page of a method that does what `Cart`'s of its name does.
macro_rules! of_cart {
    ($name:literal, $($line:literal),+) => {
        of_comm!(@ "Cart", $name, $($line),+)
    };
}

impl NodeCart<'_, '_> {
    /// [`NodeComm::phase`] of a grid: the closure is given the grid.
    ///
    /// ```
    /// phalanx_nodes::run(2, |comm| {
    ///     let mut grid = comm.cart(&[2], &[true]);
    ///     grid.phase("meeting", |grid| (grid.barrier(), grid.shift(0, 1)));
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn phase<R>(
        &mut self,
        name: &'static str,
        f: impl FnOnce(&mut NodeCart<'_, '_>) -> R,
    ) -> R {
        let grid = self.grid.clone();
        self.comm.phase(name, |comm| f(&mut NodeCart { comm, grid }))
    }

    #[doc = of_cart!("grid",
        "phalanx_nodes::run(2, |comm| assert_eq!(comm.cart(&[0], &[true]).grid().dims(), [2]))?;")]
    pub fn grid(&self) -> &Cartesian {
        &self.grid
    }

    #[doc = of_cart!("dims",
        "phalanx_nodes::run(2, |comm| assert_eq!(comm.cart(&[0], &[true]).dims(), [2]))?;")]
    pub fn dims(&self) -> &[usize] {
        self.grid.dims()
    }

    #[doc = of_cart!("coordinates",
        "let at = phalanx_nodes::run(2, |comm| comm.cart(&[0], &[true]).coordinates())?;",
        "assert_eq!(at, [[0], [1]]);")]
    pub fn coordinates(&self) -> Vec<usize> {
        self.grid.coordinates(self.comm.rank())
    }

    #[doc = of_cart!("rank_of",
        "let out = phalanx_nodes::run(2, |comm| comm.cart(&[2], &[true]).rank_of(&[-1]))?;",
        "assert_eq!(out, [Some(1); 2]);")]
    pub fn rank_of(&self, coordinates: &[isize]) -> Option<usize> {
        self.grid.rank_of(coordinates)
    }

    #[doc = of_cart!("shift",
        "let out = phalanx_nodes::run(2, |comm| comm.cart(&[2], &[false]).shift(0, 1))?;",
        "assert_eq!(out, [(None, Some(1)), (Some(0), None)]);")]
    pub fn shift(&self, dim: usize, by: isize) -> (Option<usize>, Option<usize>) {
        self.grid.shift(self.comm.rank(), dim, by)
    }

    #[doc = of_cart!("neighbours",
        "let out = phalanx_nodes::run(2, |comm| comm.cart(&[2], &[false]).neighbours())?;",
        "assert_eq!(out[0], [(None, Some(1))]);")]
    pub fn neighbours(&self) -> Vec<(Option<usize>, Option<usize>)> {
        (0..self.grid.dimensions()).map(|dim| self.shift(dim, 1)).collect()
    }

    #[doc = of_cart!("sub",
        "let grids = phalanx_nodes::run(6, |comm| {",
        "    comm.cart(&[2, 3], &[false; 2]).sub(&[false, true]).size()",
        "})?;",
        "assert_eq!(grids, [3; 6]);")]
    #[track_caller]
    pub fn sub(&mut self, keep: &[bool]) -> NodeComm<'static> {
        let part = self.grid.sub(self.comm.rank(), keep);
        let colors = part.map(|(_, which, place)| (which, place)).map_err(|bad| bad.to_string());
        self.comm.split_or_refuse("sub", colors)
    }

    #[doc = of_cart!("exchange_halo",
        "use phalanx::dist::Halo;",
        "let out = phalanx_nodes::run(3, |comm| {",
        "    let mut u = [0, comm.rank(), 0];",
        "    comm.cart(&[0], &[true]).exchange_halo(&mut u, &Halo::new(&[1], 1));",
        "    u",
        "})?;",
        "assert_eq!(out[1], [0, 1, 2]);")]
    ///
    /// **Cost** a message to and from each neighbour, packed and unpacked.
    #[track_caller]
    pub fn exchange_halo<T: Element>(&mut self, field: &mut [T], halo: &Halo) {
        if self.comm.group.is_none() {
            return self.comm.here().cart_of(&self.grid).exchange_halo(field, halo);
        }
        self.swap("exchange_halo", &mut [field], halo, |_| ());
    }

    #[doc = of_cart!("exchange_halos",
        "use phalanx::dist::Halo;",
        "phalanx_nodes::run(2, |comm| {",
        "    let (mut u, mut v, halo) = ([1; 3], [2; 3], Halo::new(&[1], 1));",
        "    comm.cart(&[0], &[true]).exchange_halos(&mut [&mut u, &mut v], &halo);",
        "})?;")]
    #[track_caller]
    pub fn exchange_halos<T: Element>(&mut self, fields: &mut [&mut [T]], halo: &Halo) {
        if self.comm.group.is_none() {
            return self.comm.here().cart_of(&self.grid).exchange_halos(fields, halo);
        }
        self.swap("exchange_halos", fields, halo, |_| ());
    }

    #[doc = of_cart!("exchange_halo_while",
        "use phalanx::dist::Halo;",
        "let inner = phalanx_nodes::run(2, |comm| {",
        "    let (mut u, halo) = ([0, 5, 0], Halo::new(&[1], 1));",
        "    comm.cart(&[0], &[true]).exchange_halo_while(&mut u, &halo, |u| u[1])",
        "})?;",
        "assert_eq!(inner, [5, 5]);")]
    #[track_caller]
    pub fn exchange_halo_while<T: Element, R>(
        &mut self,
        field: &mut [T],
        halo: &Halo,
        work: impl FnOnce(&[T]) -> R,
    ) -> R {
        if self.comm.group.is_none() {
            return self.comm.here().cart_of(&self.grid).exchange_halo_while(field, halo, work);
        }
        self.swap("exchange_halo_while", &mut [field], halo, work)
    }

    #[track_caller]
    fn swap<T: Element, R>(
        &mut self,
        name: &'static str,
        fields: &mut [&mut [T]],
        halo: &Halo,
        work: impl FnOnce(&[T]) -> R,
    ) -> R {
        let call = NodeCall::of::<T>(name, fields.first().map_or(0, |field| field.len()));
        let steps = self.comm.aside(call.with("number of fields", fields.len()));
        let mut steps = steps.expect("a call between nodes");
        steps.comm.check();
        if let Some(what) = halo_problem(fields, halo, &self.grid) {
            steps.refuse(what);
        }
        let mut swap = Swap { steps, grid: &self.grid, halo, sent: Vec::new() };
        let mut work = Some(work);
        let mut result = None;
        let dims: Vec<usize> = (0..halo.dimensions()).filter(|&d| halo.widths()[d] > 0).collect();
        let mut do_work = |fields: &[&mut [T]]| {
            let field = fields.first().map_or(&[][..], |field| field);
            result = work.take().map(|work| work(field)).or(result.take());
        };
        if !halo.corners() {
            dims.iter().for_each(|&dim| swap.post(fields, dim));
            do_work(fields);
        }
        for &dim in &dims {
            if halo.corners() {
                swap.post(fields, dim);
                do_work(fields);
            }
            swap.take(fields, dim);
        }
        do_work(fields);
        swap.finish();
        result.expect("the work is done once")
    }

    #[doc = of_cart!("gather_grid",
        "use phalanx::dist::Halo;",
        "let all = phalanx_nodes::run(2, |comm| {",
        "    let u = [0, comm.rank() + 5, 0];",
        "    comm.cart(&[2], &[false]).gather_grid(&u, &Halo::new(&[1], 1), 0)",
        "})?;",
        "assert_eq!(all, [Some(vec![5, 6]), None]);")]
    ///
    /// **Cost** two all-gathers, of shapes and fields.
    #[track_caller]
    pub fn gather_grid<T: Element>(
        &mut self,
        field: &[T],
        halo: &Halo,
        root: usize,
    ) -> Option<Vec<T>> {
        let NodeCart { comm, grid } = self;
        if comm.group.is_none() {
            return comm.here().cart_of(grid).gather_grid(field, halo, root);
        }
        let mut steps = comm.steps(NodeCall::of::<()>("gather_grid", 1))?;
        steps.check_rank("root", root);
        let (dims, own_dims) = (grid.dimensions(), halo.dimensions());
        if dims != own_dims {
            steps.refuse(format!("a halo of {own_dims} dimensions on a grid of {dims}"));
        }
        steps.check_len("the field", field.len(), Some(halo.len()));
        let own = FieldPart::new(*halo, grid, root);
        let mut parts = vec![own; grid.ranks()];
        steps.all_gather(&[own], &mut parts, &Lengths::Equal(1));
        let halos = fitting_fields(grid, &own, &parts).unwrap_or_else(|what| steps.refuse(what));
        drop(steps);
        let is_root = comm.rank() == root;
        comm.show_all("gather_grid", field, |fields: Peers<'_, T>| {
            is_root.then(|| whole_field(grid, &halos, |rank| &fields[rank]))
        })
    }
}

/// An exchange of halos in progress.
struct Swap<'s, 'g, T> {
    steps: Steps<'s>,
    grid: &'g Cartesian,
    halo: &'g Halo,
    /// Messages to other nodes, and the data that they send, which are dropped after them.
    sent: Vec<(Vec<Underway>, Vec<T>)>,
}

impl<T: Element> Swap<'_, '_, T> {
    /// The facts that a face's ends agree about.
    fn label(&self, dim: usize) -> Label {
        let (grid, halo, mut h) = (self.grid, self.halo, DefaultHasher::new());
        (grid.dims(), grid.periodic()).hash(&mut h);
        let cells = (0..halo.dimensions()).filter(|&d| d != dim).map(|d| halo.extents()[d]);
        (cells.collect::<Vec<_>>(), halo.widths(), halo.corners(), dim).hash(&mut h);
        Label { digest: self.steps.call.message_digest("face", 0), word: h.finish() }
    }

    /// The faces that the neighbour has in its halo before and after (as `sides` says) along `dim`.
    fn pack(&self, fields: &[&mut [T]], dim: usize, sides: [bool; 2]) -> Vec<T> {
        let mut cells = Vec::new();
        for field in fields {
            for after in [false, true].into_iter().filter(|&after| sides[usize::from(after)]) {
                let rows = self.halo.face_rows(dim, !after);
                rows.for_each(|row| cells.extend_from_slice(&field[row]));
            }
        }
        cells
    }

    /// Fills the halo with the cells that a neighbour has packed.
    fn unpack(&self, fields: &mut [&mut [T]], dim: usize, sides: [bool; 2], cells: &[T]) {
        let mut rest = cells;
        for field in fields {
            for after in [false, true].into_iter().filter(|&after| sides[usize::from(after)]) {
                for row in self.halo.ghost_rows(dim, after) {
                    let (own, behind) = rest.split_at(row.len());
                    field[row].copy_from_slice(own);
                    rest = behind;
                }
            }
        }
    }

    /// The neighbours along `dim`, and whether both are one rank.
    fn neighbours(&self, dim: usize) -> (Option<usize>, Option<usize>, bool) {
        let (before, after) = self.grid.shift(self.steps.group.rank, dim, 1);
        (before, after, before == after)
    }

    #[track_caller]
    fn post(&mut self, fields: &[&mut [T]], dim: usize) {
        let (label, rank) = (self.label(dim), self.steps.group.rank);
        let (before, after, both) = self.neighbours(dim);
        for (peer, sides) in [(before, [both, true]), (after, [!both, false])] {
            let is_other = |&peer: &usize| sides != [false; 2] && peer != rank;
            let Some(peer) = peer.filter(is_other) else { continue };
            let cells = self.pack(fields, dim, sides);
            match self.steps.place_here(peer) {
                Some(to) => {
                    let origin = Origin::of(&self.steps.call);
                    self.steps.comm.send_owned((label.word, origin, cells), to, FACES);
                }
                None => {
                    // SAFETY: kept beside the transfer that reads it, which is dropped first.
                    let underway = unsafe { self.steps.post(peer, &cells, label) };
                    self.sent.push((underway, cells));
                }
            }
        }
    }

    #[track_caller]
    fn take(&mut self, fields: &mut [&mut [T]], dim: usize) {
        let (label, rank) = (self.label(dim), self.steps.group.rank);
        let (before, after, both) = self.neighbours(dim);
        for (peer, sides) in [(before, [true, both]), (after, [false, !both])] {
            let Some(peer) = peer.filter(|_| sides != [false; 2]) else { continue };
            let mut cells = self.pack(fields, dim, sides);
            let fits = match self.steps.place_here(peer) {
                // The own outermost cells.
                _ if peer == rank => Ok(()),
                Some(from) => self.take_here(from, peer, &mut cells, label),
                None => {
                    let underway = self.steps.begin_take(peer);
                    self.steps.take(underway, peer, &mut cells, label)
                }
            };
            if let Err(origin) = fits {
                let (halo, grid) = (self.halo, self.grid);
                self.steps.fail(&format!(
                    "rank {peer}: face across dimension {dim}: expected that of {halo:?} on \
                     {grid}, got another of {origin}"
                ));
            }
            self.unpack(fields, dim, sides, &cells);
        }
    }

    /// Receives the cells that a rank of this node has packed, as [`Steps::take`].
    #[track_caller]
    fn take_here(
        &mut self,
        from: usize,
        peer: usize,
        cells: &mut Vec<T>,
        label: Label,
    ) -> Result<(), Origin> {
        let comm = &mut self.steps.comm;
        let ((word, origin, came), _) = comm.recv_owned::<(u64, Origin, Vec<T>)>(from, FACES);
        if word != label.word {
            return Err(origin);
        }
        if came.len() != cells.len() {
            self.steps.fail_for_length(peer, (cells.len(), came.len() as u64), origin);
        }
        *cells = came;
        Ok(())
    }

    fn finish(mut self) {
        for (underway, cells) in std::mem::take(&mut self.sent) {
            self.steps.finish(underway);
            drop(cells);
        }
    }
}
