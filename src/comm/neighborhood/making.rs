//! How a plan is made: each rank shows the elements that it wants, and those that it gives if it
//! says so; its neighbours take from that the lists that they need, after they have checked it.

use super::{Edge, Moves, Neighborhood};
use crate::comm::Comm;
use crate::comm::arguments::CallAt;
use crate::dist::Distribution;
use crate::shared::{Signature, Stop};
use crate::sorted::Arrange;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::panic::Location;

/// The lists that a rank shows while a plan is made.
struct Offer {
    owned: usize,
    /// By owner.
    wants: BTreeMap<usize, Want>,
    /// By reader, the own elements in its order. None if readers say which they want.
    gives: Option<BTreeMap<usize, Vec<usize>>>,
}

/// The elements that a rank wants of one owner.
#[derive(Default)]
struct Want {
    ghosts: Vec<usize>,
    /// The owner's elements, one for each ghost; none if the owner says which they are.
    owned: Option<Vec<usize>>,
}

/// An offer's address.
#[derive(Clone, Copy)]
struct OfferAt(*const Offer);

// SAFETY: stands for a shared reference, and an offer is `Sync`.
unsafe impl Send for OfferAt {}
// SAFETY: as above.
unsafe impl Sync for OfferAt {}

/// Of a call that makes a plan.
const fn signature(call: &'static str) -> Signature {
    // For people there is no element.
    Signature { element_name: std::any::type_name::<()>, ..Signature::of::<OfferAt>(call, "") }
}

/// Owner's elements and ghosts of rank `of_reader` that has ghosts of rank `of_owner`'s; empty if
/// it has none. Both ranks come to the same result, or text.
fn pairs(
    (of_owner, owner): (usize, &Offer),
    (of_reader, reader): (usize, &Offer),
) -> Result<Vec<(usize, usize)>, String> {
    let want = reader.wants.get(&of_owner);
    let ghosts: &[usize] = want.map_or(&[], |want| &want.ghosts);
    let owned: &[usize] = match (&owner.gives, want) {
        (Some(gives), _) => gives.get(&of_reader).map_or(&[], |owned| owned),
        (None, Some(Want { owned: Some(owned), .. })) => owned,
        (None, _) => &[],
    };
    if ghosts.len() != owned.len() {
        return Err(format!(
            "elements from rank {of_owner} to rank {of_reader}: the owner lists {}, the reader {}",
            owned.len(),
            ghosts.len()
        ));
    }
    if let Some(bad) = owned.iter().find(|&&i| i >= owner.owned) {
        return Err(format!(
            "elements from rank {of_owner} to rank {of_reader}: element {bad} of {} that rank \
             {of_owner} has",
            owner.owned
        ));
    }
    Ok(owned.iter().copied().zip(ghosts.iter().copied()).collect())
}

/// The lists by neighbour, each of which is named once; and each index, of which there are `most`,
/// once in all if `once` says so. Else the fault in them.
fn by_neighbor<L: AsRef<[usize]>>(
    lists: &[(usize, L)],
    p: usize,
    (what, most, once): (&str, usize, bool),
) -> Result<BTreeMap<usize, Vec<usize>>, String> {
    let mut by_rank = BTreeMap::new();
    let mut named = BTreeMap::new();
    for (rank, list) in lists {
        let list = list.as_ref();
        if *rank >= p {
            return Err(format!("a list for rank {rank}, which is none of {p}"));
        }
        if let Some(bad) = list.iter().find(|&&i| i >= most) {
            return Err(format!("{what} {bad} of {most}, in the list for rank {rank}"));
        }
        for &i in list.iter().filter(|_| once) {
            if let Some(before) = named.insert(i, *rank) {
                let text = format!("{what} {i} twice: in the lists for rank {before} and {rank}");
                return Err(text);
            }
        }
        if by_rank.insert(*rank, list.to_vec()).is_some() {
            return Err(format!("two lists for rank {rank}"));
        }
    }
    Ok(by_rank)
}

impl Comm {
    /// The plan by which this rank gets the elements `indices` of a vector that is shared out by
    /// `distribution`: ghost `k` is a copy of element `indices[k]`. They may come in any order,
    /// more than once, and from this rank itself; ranks may want any number of them, or none.
    ///
    /// Consecutive indices make the longest runs, and so the fastest plan.
    ///
    /// **Must agree on all ranks:** the distribution.
    ///
    /// **Cost** `2 (p-1)` looks ([`with_peers`](Comm::with_peers)), and `log p` steps for each
    /// index; once.
    ///
    /// # Errors
    /// An index that is no element's, or a distribution among another number of ranks, ends the
    /// run, as do distributions by which an owner has fewer elements than a reader believes.
    ///
    /// # Examples
    /// Any distribution will do:
    /// ```
    /// use phalanx::dist::{BlockCyclic, Distribution};
    /// let out = phalanx::run(3, |comm| {
    ///     let cyclic = BlockCyclic::new(9, 1, comm.size());
    ///     let mine: Vec<usize> = cyclic.indices(comm.rank()).collect();
    ///     let plan = comm.ghosts(&cyclic, &[8, comm.rank(), 0]);
    ///     let mut ghosts = [0; 3];
    ///     plan.gather(comm, &mine, &mut ghosts);
    ///     ghosts
    /// })?;
    /// assert_eq!(out, [[8, 0, 0], [8, 1, 0], [8, 2, 0]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn ghosts<D: Distribution>(&mut self, distribution: &D, indices: &[usize]) -> Neighborhood {
        static SIG: Signature = signature("ghosts");
        let at = Location::caller();
        self.check_distribution((&SIG, at), distribution, indices);
        let mut wants: BTreeMap<usize, Want> = BTreeMap::new();
        for (ghost, &i) in indices.iter().enumerate() {
            let want = wants.entry(distribution.owner(i)).or_default();
            want.ghosts.push(ghost);
            want.owned.get_or_insert_default().push(distribution.local(i));
        }
        let owned = distribution.count(self.rank());
        let offer = Offer { owned, wants, gives: None };
        self.make_plan((&SIG, at), &offer, indices.len())
    }

    /// The plan for a product with a sparse matrix, of which this rank has the rows that `rows`
    /// says, and `columns` are the column numbers of its entries; and these columns renumbered:
    /// below [`owned`](Neighborhood::owned) this rank's own elements, from there on ghosts, of
    /// which there is one for each column of other ranks. So a vector of `owned() + ghosts()`
    /// elements, with the ghosts gathered, is the one that the rows are multiplied with.
    ///
    /// **Must agree on all ranks:** the distribution.
    ///
    /// **Cost** `2 (p-1)` looks ([`with_peers`](Comm::with_peers)), and `log p` steps for each
    /// column; once.
    ///
    /// # Errors
    /// A column that is no element's, or a distribution among another number of ranks, ends the
    /// run.
    ///
    /// # Examples
    /// The Laplacian of a ring of 6 points, in compressed rows:
    /// ```
    /// use phalanx::dist::{Block, Distribution};
    /// let out = phalanx::run(3, |comm| {
    ///     let rows = Block::new(6, comm.size());
    ///     let own = rows.range(comm.rank());
    ///     let columns = own.clone().flat_map(|i| [(i + 5) % 6, i, (i + 1) % 6]);
    ///     let columns: Vec<usize> = columns.collect();
    ///     let (plan, columns) = comm.ghosts_of_columns(&rows, &columns);
    ///     let mut x: Vec<f64> = own.map(|i| (i * i) as f64).collect();
    ///     x.resize(plan.owned() + plan.ghosts(), 0.0);
    ///     let (mine, ghosts) = x.split_at_mut(plan.owned());
    ///     plan.gather(comm, mine, ghosts);
    ///     columns.chunks(3).map(|c| x[c[0]] - 2.0 * x[c[1]] + x[c[2]]).collect::<Vec<_>>()
    /// })?;
    /// assert_eq!(out.concat(), [26.0, 2.0, 2.0, 2.0, 2.0, -34.0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn ghosts_of_columns<D: Distribution>(
        &mut self,
        rows: &D,
        columns: &[usize],
    ) -> (Neighborhood, Vec<usize>) {
        static SIG: Signature = signature("ghosts_of_columns");
        let at = Location::caller();
        self.check_distribution((&SIG, at), rows, columns);
        let (rank, owned) = (self.rank(), rows.count(self.rank()));
        let place = |&column: &usize| (rows.owner(column), rows.local(column));
        let mut places: Vec<(usize, usize)> = columns.iter().map(place).collect();
        let mut foreign: Vec<_> = places.iter().copied().filter(|at| at.0 != rank).collect();
        foreign.arrange();
        foreign.dedup();
        let renumbered = places.drain(..).map(|at| match foreign.binary_search(&at) {
            // (A distribution of the user's own may say anything.)
            Ok(ghost) => owned.saturating_add(ghost),
            Err(_) => at.1,
        });
        let renumbered = renumbered.collect();
        let mut wants: BTreeMap<usize, Want> = BTreeMap::new();
        for (ghost, &(owner, local)) in foreign.iter().enumerate() {
            let want = wants.entry(owner).or_default();
            want.ghosts.push(ghost);
            want.owned.get_or_insert_default().push(local);
        }
        let offer = Offer { owned, wants, gives: None };
        (self.make_plan((&SIG, at), &offer, foreign.len()), renumbered)
    }

    /// The plan by lists for each neighbour: `gives` are the ranks that read from this one, each
    /// with the numbers of those of its `owned` elements that it reads; `wants` are the ranks that
    /// this one reads from, each with the places among its `ghosts` that their elements go to, in
    /// the order in which the owner lists them. (As `MPI_Dist_graph_create_adjacent`, and the lists
    /// of `MPI_Neighbor_alltoallw`.)
    ///
    /// An element may be given any number of times; a ghost is named once at most. Ranks that are
    /// not named are no neighbours; a rank may be its own.
    ///
    /// **Cost** `2 (p-1)` looks ([`with_peers`](Comm::with_peers)), once.
    ///
    /// # Errors
    /// These end the run: numbers beyond `owned` or `ghosts`, a rank or a ghost named twice, ranks
    /// that there are not; and two ranks with lists for each other that are not of one length, with
    /// an error that names both.
    ///
    /// # Examples
    /// Each rank reads the last two of its left neighbour's elements, in reverse order:
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (rank, p) = (comm.rank(), comm.size());
    ///     let (left, right) = ((rank + p - 1) % p, (rank + 1) % p);
    ///     let plan = comm.neighborhood(3, &[(right, [2, 1])], 2, &[(left, [0, 1])]);
    ///     let mut ghosts = [0; 2];
    ///     plan.gather(comm, &[rank, rank + 10, rank + 20], &mut ghosts);
    ///     ghosts
    /// })?;
    /// assert_eq!(out, [[22, 12], [20, 10], [21, 11]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn neighborhood<A: AsRef<[usize]>, B: AsRef<[usize]>>(
        &mut self,
        owned: usize,
        gives: &[(usize, A)],
        ghosts: usize,
        wants: &[(usize, B)],
    ) -> Neighborhood {
        static SIG: Signature = signature("neighborhood");
        let at = Location::caller();
        let p = self.size();
        let gives = by_neighbor(gives, p, ("element", owned, false));
        let wants = by_neighbor(wants, p, ("ghost", ghosts, true));
        let (gives, wants) = match (gives, wants) {
            (Ok(gives), Ok(wants)) => (gives, wants),
            (Err(what), _) | (_, Err(what)) => {
                self.wrong((&SIG, at), 1, what);
                self.nothing_to_return();
            }
        };
        let wants = wants.into_iter().map(|(rank, ghosts)| (rank, Want { ghosts, owned: None }));
        let wants = wants.collect();
        self.make_plan((&SIG, at), &Offer { owned, wants, gives: Some(gives) }, ghosts)
    }

    /// Ends the run if the distribution is another number of ranks', or does not have the elements.
    fn check_distribution<D: Distribution>(
        &mut self,
        (sig, at): CallAt,
        distribution: &D,
        indices: &[usize],
    ) {
        let (p, ranks, len) = (self.size(), distribution.ranks(), distribution.len());
        let what = if ranks != p {
            format!("a distribution among {ranks} ranks on a communicator of {p}")
        } else if let Some(bad) = indices.iter().find(|&&i| i >= len) {
            format!("element {bad} of {len}")
        } else {
            return;
        };
        self.wrong((sig, at), 1, what);
        self.nothing_to_return();
    }

    /// Agrees with the others on the plan in which this rank offers `offer` and has so many ghosts.
    fn make_plan(&mut self, (sig, at): CallAt, offer: &Offer, ghosts: usize) -> Neighborhood {
        let (rank, p) = (self.rank(), self.size());
        // A distribution of the user's own may say anything.
        if let Some(&bad) = offer.wants.keys().find(|&&owner| owner >= p) {
            self.wrong((sig, at), 1, format!("elements of rank {bad}, which is none of {p}"));
            self.nothing_to_return();
        }
        let edges = self.show_all((sig, at), &[OfferAt(offer)], |offers| {
            let (mut sources, mut readers) = (Vec::new(), Vec::new());
            for (peer, theirs) in offers.iter().enumerate() {
                // SAFETY: each rank shows one address, of an offer that stays, unwritten, until
                // all ranks have done with it: the caller holds a reference for the call.
                let theirs = unsafe { &*theirs[0].0 };
                let add = |edges: &mut Vec<Edge>, pairs: Vec<(usize, usize)>| {
                    if !pairs.is_empty() {
                        let (count, moves) = (pairs.len(), Moves::new(&pairs));
                        edges.push(Edge { peer, count, moves });
                    }
                };
                let (own, other) = ((rank, offer), (peer, theirs));
                add(&mut sources, pairs(other, own).map_err(|what| (peer, what))?);
                add(&mut readers, pairs(own, other).map_err(|what| (peer, what))?);
            }
            Ok((sources.into(), readers.into()))
        });
        let (sources, readers) = match edges {
            Ok(edges) => edges,
            Err((peer, what)) => self.stop_for_good(Stop::Differs { peer, what }),
        };
        Neighborhood {
            comm: self.port.id(),
            run: self.port.run(),
            rank,
            number: self.port.call_number() as usize,
            made_at: at,
            owned: offer.owned,
            ghosts,
            sources,
            readers,
            _thread: PhantomData,
        }
    }
}
