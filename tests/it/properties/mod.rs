//! The properties that the test suites of the large message-passing libraries
//! check, one by one (MPICH `test/mpi`, nccl-tests, Gloo): each with the test here
//! that checks it.
//!
//! - teams of 1 to 11 ranks; world, reversed, halves, evens and odds, all but the last, alone:
//!   `shapes::every_shape_of_communicator`
//! - counts 0, 1, fewer than ranks, 1 to 130 000 doubling: `reductions::vectors_up_to_130_000`,
//!   `moves::broadcasts_into_poison`
//! - more than 2^31 elements: `huge` (of no size; of 1 byte with `PHALANX_HUGE=1`)
//!
//! 1. broadcast: every root (of the largest two), five in a row (of the largest one), another
//!    poison each time: `moves::broadcasts_into_poison`
//! 2. elements of no size leave buffers untouched; no elements on some ranks only:
//!    `moves::no_elements`, `elements` (`nothing`, `units`)
//! 3. reductions over all operators x types, all roots, in place and not, count > ranks:
//!    `reductions::every_operator_on_every_type`
//! 4. operators that are not commutative combine in rank order, whatever the root:
//!    `reductions::permutations_in_rank_order`
//! 5. a commutative operator declared as not: the same answer: `reductions::declared_otherwise`
//! 6. left(x, y) = x and right(x, y) = y: `reductions::projections`
//! 7. the same bits on every rank, and in every run: `reductions::the_same_bits`
//! 8. min-loc and max-loc: of equals the lowest index: `reductions::locations_of_equals`
//! 9. long vectors of a user's operator, of structs: `reductions::vectors_up_to_130_000`
//! 10. scans in rank order; exclusive: rank 0 untouched: the same, and
//!     `collectives`
//! 11. gather and scatter: nothing but the own block is written, no length, every root:
//!     `collectives`, `small` (root cost: `benches/ratios`)
//! 12. lengths i * rank; two neighbours only; structs at odd addresses: `moves::uneven_exchanges`,
//!     `moves::odd_addresses`
//! 13. aliased buffers are refused: by the borrow checker: `compile_fail` examples of
//!     `all_gather_into`, `with_peers`
//! 14. mismatches are reported, not hung: `mismatch` (its table)
//! 15. floods of one-way calls; all-to-all followed at once by all-reduce: `floods::one_way`,
//!     `floods::one_kind_after_another`
//! 16. random operations on four communicators with jitter: `faults::random` (nothing here is
//!     non-blocking)
//! 17. the same call started again and again, and out of turn: `floods::plans_come_and_go`
//! 18. one communicator per thread, overlapping in different orders: `shapes::teams_side_by_side`,
//!     `shapes::many_communicators_at_once`
//! 19. grids: shifts by +1, 0, -1; sub-grids; more ranks than the grid: `shapes::sub_grids`,
//!     `cartesian::shifts_and_coordinates_agree`, `grid::odd_grids`; refused:
//!     `cartesian::grids_that_cannot_be`, `grid::what_does_not_fit_is_refused`,
//!     `team::arguments_that_cannot_be`
//! 20. extents: product, balance, given ones kept: `shapes::squarest_extents`,
//!     `cartesian::balanced_extents_are_the_most_balanced`
//! 21. neighbours on rings of 1 and 2: `moves::small_rings`, `grid::odd_grids`
//! 22. every algorithm x every tunable: `tunables::every_algorithm_with_every_tunable`, `catalogue`
//! 23. machines from files, also shuffled: `saved_machines`, `damaged_machines`
//! 24. calls that cannot run say so: `catalogue::what_cannot_run_says_why`
//! 25. exactly predictable sums of floats, at odd addresses, every root:
//!     `reductions::the_same_bits`, `moves::odd_addresses`
//! 26. every counter wraps: `wrap::`
//! 27. all-reduce <= reduce + broadcast, barrier <= all-reduce: a benchmark: `benches/ratios`; no
//!     test has a time in it

mod floods;
mod moves;
mod reductions;
mod shapes;
mod tunables;
mod wrap;
