//! Cartesian views and halo exchange: every cell of every halo against a global array, on grids of
//! one to four dimensions, periodic and not, with uneven parts, up to more ranks than cores; and
//! calls that must be refused.

use crate::common::{check_usable, failure, runs, succeeds, team, watch};
use phalanx::dist::Halo;
use phalanx::topology::Cartesian;
use phalanx::{Comm, Error};

/// The value of global cell `at`.
fn value(at: &[usize], salt: u64) -> u64 {
    at.iter().fold(salt, |h, &c| h.wrapping_mul(1_000_003).wrapping_add(c as u64 + 1))
}

/// Cells of part `c` of `n`: uneven on purpose, at least `least`.
fn part(c: usize, least: usize) -> usize {
    least + c % 3
}

const UNTOUCHED: u64 = u64::MAX;

/// The value that must be in the cell `at` (own cells from 0 on) of a rank's array.
fn wanted(grid: &Cartesian, rank: usize, halo: &Halo, at: &[isize], salt: u64) -> u64 {
    let least: Vec<usize> = halo.widths().iter().map(|&w| w.max(1)).collect();
    let mut global = Vec::new();
    let mut outside = 0;
    for (d, &c) in at.iter().enumerate() {
        let own = halo.extents()[d] as isize;
        let me = grid.coordinate(rank, d) as isize;
        let parts = grid.dims()[d] as isize;
        let side = if c < 0 { -1 } else { isize::from(c >= own) };
        outside += side.abs();
        let there = me + side;
        if !grid.periodic()[d] && !(0..parts).contains(&there) {
            return UNTOUCHED;
        }
        let there = there.rem_euclid(parts) as usize;
        let extent = part(there, least[d]);
        let local = match side {
            -1 => (extent as isize + c) as usize,
            1 => (c - own) as usize,
            _ => c as usize,
        };
        global.push((0..there).map(|q| part(q, least[d])).sum::<usize>() + local);
    }
    if outside > 1 && !halo.corners() { UNTOUCHED } else { value(&global, salt) }
}

fn each_cell(halo: &Halo, mut f: impl FnMut(usize, &[isize])) {
    let d = halo.dimensions();
    let mut at: Vec<isize> = halo.widths().iter().map(|&w| -(w as isize)).collect();
    for index in 0..halo.len() {
        assert_eq!(halo.index(&at), index);
        f(index, &at);
        for k in (0..d).rev() {
            at[k] += 1;
            if at[k] < (halo.extents()[k] + halo.widths()[k]) as isize {
                break;
            }
            at[k] = -(halo.widths()[k] as isize);
        }
    }
}

fn exchange(comm: &mut Comm, grid: &Cartesian, widths: &[usize], corners: bool, salt: u64) {
    let rank = comm.rank();
    let at = grid.coordinates(rank);
    let extents: Vec<usize> = at.iter().zip(widths).map(|(&c, &w)| part(c, w.max(1))).collect();
    let halo = Halo::with_widths(&extents, widths);
    let halo = if corners { halo.with_corners() } else { halo };
    let field = |salt| {
        let mut field = vec![UNTOUCHED; halo.len()];
        each_cell(&halo, |i, at| {
            let own = at.iter().zip(&extents).all(|(&c, &n)| c >= 0 && c < n as isize);
            if own {
                field[i] = wanted(grid, rank, &halo, at, salt);
            }
        });
        field
    };
    let check = |field: &[u64], salt| {
        each_cell(&halo, |i, at| {
            let want = wanted(grid, rank, &halo, at, salt);
            assert_eq!(field[i], want, "rank {rank} of {grid}, {halo:?}, cell {at:?}");
        });
    };
    let mut cart = comm.cart_of(grid);
    let mut u = field(salt);
    cart.exchange_halo(&mut u, &halo);
    check(&u, salt);
    let (mut a, mut b, mut c) = (field(salt + 1), field(salt + 2), field(salt + 3));
    cart.exchange_halos(&mut [&mut a, &mut b, &mut c], &halo);
    for (k, x) in [a, b, c].iter().enumerate() {
        check(x, salt + 1 + k as u64);
    }
    let (mut u, before) = (field(salt + 4), field(salt + 4));
    let seen = cart.exchange_halo_while(&mut u, &halo, |u| u == before);
    assert!(seen, "work sees the field as it was");
    check(&u, salt + 4);
}

#[test]
fn every_cell_of_every_halo() {
    for p in 1..=9 {
        let team = team(p);
        for dims in 1..=4usize {
            for periodic in 0..1u32 << dims {
                let periodic: Vec<bool> = (0..dims).map(|d| periodic >> d & 1 == 1).collect();
                let grid = Cartesian::new(p, &vec![0; dims], &periodic).unwrap();
                let widths: &[&[usize]] = match dims {
                    1 => &[&[1], &[3]],
                    2 => &[&[1, 1], &[2, 3], &[1, 0]],
                    3 => &[&[1, 1, 1], &[0, 2, 1]],
                    _ => &[&[1, 1, 1, 1]],
                };
                let _watch = watch();
                succeeds(&team, |comm| {
                    for widths in widths {
                        for corners in [false, true] {
                            exchange(comm, &grid, widths, corners, p as u64);
                        }
                    }
                });
            }
        }
    }
}

/// Extents in another order than balanced, and grids of one row.
#[test]
fn odd_grids() {
    for (p, dims) in [(6, [1, 6, 1]), (6, [1, 1, 6]), (8, [2, 1, 4]), (12, [2, 3, 2])] {
        for periodic in [[true; 3], [false; 3], [false, true, false]] {
            let grid = Cartesian::new(p, &dims, &periodic).unwrap();
            succeeds(&team(p), |comm| {
                (0..20).for_each(|k| exchange(comm, &grid, &[1, 2, 1], k % 2 == 0, k));
            });
        }
    }
}

/// Elements of several sizes, none and 4096 bytes among them.
#[test]
fn any_element() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(4096))]
    struct Page(u8);
    succeeds(&team(4), |comm| {
        let r = comm.rank();
        let halo = Halo::new(&[2, 2], 1);
        let mut cart = comm.cart(&[2, 2], &[true, true]);
        let mut nothing = vec![(); halo.len()];
        cart.exchange_halo(&mut nothing, &halo);
        let mut pages = vec![Page(r as u8); halo.len()];
        cart.exchange_halo(&mut pages, &halo);
        assert_eq!(pages[halo.index(&[-1, 0])], Page((r ^ 2) as u8));
        assert_eq!(pages[halo.index(&[0, 2])], Page((r ^ 1) as u8));
        let mut bytes = vec![r as u8; halo.len()];
        cart.exchange_halo(&mut bytes, &halo);
        assert_eq!(bytes[halo.index(&[1, -1])], (r ^ 1) as u8);
        cart.exchange_halos::<u8>(&mut [], &halo);
    });
}

#[test]
fn rows_and_columns() {
    for (p, dims) in [(1, [1, 1]), (6, [2, 3]), (8, [2, 4]), (9, [3, 3])] {
        succeeds(&team(p), |comm| {
            let mut cart = comm.cart(&dims, &[false, true]);
            let at = cart.coordinates();
            let (row, column) = (cart.sub(&[false, true]), cart.sub(&[true, false]));
            assert_eq!((row.rank(), row.size()), (at[1], dims[1]));
            assert_eq!((column.rank(), column.size()), (at[0], dims[0]));
            let (mut all, none) = (cart.sub(&[true, true]), cart.sub(&[false, false]));
            assert_eq!((all.rank(), all.size(), none.size()), (cart.rank(), p, 1));
            let mut x = [1];
            all.all_reduce(&mut x, phalanx::op::Sum);
            assert_eq!(x, [p]);
        });
    }
}

/// Every cell at its place, whatever the halo, the parts (some without cells) and the root.
#[test]
fn assembled_fields() {
    for p in 1..=8 {
        let team = team(p);
        for dims in 1..=4usize {
            let grid = Cartesian::new(p, &vec![0; dims], &vec![false; dims]).unwrap();
            runs(&team, format!("{grid}"), |comm| {
                let (rank, extents) = (comm.rank(), grid.dims().to_vec());
                for (width, least) in [(0, 1), (2, 2), (1, 0)] {
                    let at = grid.coordinates(rank);
                    let own: Vec<usize> = at.iter().map(|&c| part(c, least)).collect();
                    let halo = Halo::with_widths(&own, &vec![width; dims]);
                    let first = |c: usize| (0..c).map(|q| part(q, least)).sum::<usize>();
                    let mut field = vec![UNTOUCHED; halo.len()];
                    each_cell(&halo, |i, cell| {
                        if cell.iter().zip(&own).all(|(&c, &n)| (0..n as isize).contains(&c)) {
                            let global = (0..dims).map(|d| first(at[d]) + cell[d] as usize);
                            field[i] = value(&global.collect::<Vec<_>>(), 7);
                        }
                    });
                    let whole: Vec<usize> = (0..dims).map(|d| first(extents[d])).collect();
                    let cells = whole.iter().product();
                    let wanted: Vec<u64> = (0..cells)
                        .map(|mut i: usize| {
                            let mut cell = vec![0; dims];
                            for d in (0..dims).rev() {
                                (cell[d], i) = (i % whole[d], i / whole[d]);
                            }
                            value(&cell, 7)
                        })
                        .collect();
                    for root in 0..p {
                        let got = comm.cart_of(&grid).gather_grid(&field, &halo, root);
                        assert_eq!(got, (rank == root).then(|| wanted.clone()), "{grid} {halo:?}");
                    }
                }
            });
        }
    }
}

#[test]
fn parts_of_no_one_field_are_refused() {
    let says = |text: &str, f: &(dyn Fn(&mut Comm) + Sync)| {
        let error = refused(4, f);
        let said = error.to_string();
        assert!(matches!(error, Error::Argument { .. } | Error::Mismatch { .. }), "{said}");
        assert!(said.contains(text) && said.contains("grid.rs"), "{said}");
    };
    let halo = Halo::new(&[2, 2], 0);
    says("root 4 is no rank", &|c| {
        drop(c.cart(&[2, 2], &[true; 2]).gather_grid(&[0; 4], &halo, 4))
    });
    says("a halo of 2 dimensions on a grid of 1", &|c| {
        drop(c.cart(&[4], &[true]).gather_grid(&[0; 4], &halo, 0))
    });
    says("the field has 5 elements, must have 4", &|c| {
        drop(c.cart(&[2, 2], &[true; 2]).gather_grid(&[0; 5], &halo, 0))
    });
    says("the root is", &|c| {
        let root = c.rank() / 3;
        drop(c.cart(&[2, 2], &[true; 2]).gather_grid(&[0; 4], &halo, root))
    });
    says("the grid is", &|c| {
        let dims = if c.rank() == 2 { [4, 1] } else { [2, 2] };
        drop(c.cart(&dims, &[true; 2]).gather_grid(&[0; 4], &halo, 0))
    });
    says("own cells along dimension 1", &|c| {
        let halo = Halo::new(&[1, 2 + c.rank() % 3], 0);
        let field = vec![0; halo.len()];
        drop(c.cart(&[2, 2], &[true; 2]).gather_grid(&field, &halo, 0))
    });
    says("element type: expected", &|c| match c.rank() {
        3 => drop(c.cart(&[2, 2], &[true; 2]).gather_grid(&[0u8; 4], &halo, 0)),
        _ => drop(c.cart(&[2, 2], &[true; 2]).gather_grid(&[0i8; 4], &halo, 0)),
    });
}

fn refused(p: usize, f: impl Fn(&mut Comm) + Sync) -> Error {
    let team = team(p);
    let _watch = watch();
    let error = failure(team.run(&f));
    check_usable(&team, 3);
    error
}

#[test]
fn what_does_not_fit_is_refused() {
    let says = |error: Error, text: &str| {
        assert!(matches!(error, Error::Argument { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    says(
        refused(6, |c| drop(c.cart(&[4, 0], &[true; 2]))),
        "a 4x0 grid does not have 6 ranks: 6 is no multiple of 4 (an extent of 0",
    );
    says(
        refused(6, |c| drop(c.cart(&[4, 2], &[true; 2]))),
        "a 4x2 grid has 8 ranks, the communicator 6",
    );
    says(refused(6, |c| drop(c.cart(&[], &[]))), "at least one dimension");
    says(refused(6, |c| drop(c.cart(&[2, 3], &[true]))), "`periodic`");
    says(refused(6, |c| drop(c.cart(&[2, 3], &[true; 2]).sub(&[true]))), "`keep`");
    let halo = Halo::new(&[4], 1);
    says(
        refused(2, |c| c.cart(&[2], &[true]).exchange_halo(&mut [0; 5], &halo)),
        "a field has 5 elements; Halo(4 + 1) has 6",
    );
    says(
        refused(2, |c| c.cart(&[1, 2], &[true; 2]).exchange_halo(&mut [0; 6], &halo)),
        "has 1 dimensions, the grid 1px2p has 2",
    );
    let endless = Halo::new(&[0, usize::MAX / 2, 8], 0);
    says(
        refused(2, |c| c.cart(&[2, 1, 1], &[true; 3]).exchange_halo(&mut [0u8; 0], &endless)),
        "more cells along its dimensions than can be counted",
    );
    let wide = Halo::new(&[1], 2);
    says(
        refused(2, |c| c.cart(&[2], &[true]).exchange_halo(&mut [0; 5], &wide)),
        "width 2 along dimension 0, where there are only 1 own cells",
    );
}

#[test]
fn neighbours_that_disagree_are_named() {
    let mismatch = |text: &str, f: &(dyn Fn(&mut Comm) + Sync)| {
        let error = refused(4, f);
        let said = error.to_string();
        let Error::Mismatch { rank, peer, here, .. } = error else { panic!("{said}") };
        assert_ne!(rank, peer);
        assert!(here.to_string().contains("grid.rs"), "{said}");
        assert!(said.contains(text), "{said}");
    };
    // Faces across dimension 0 are rows, of 9 or 10 cells.
    mismatch("face across dimension 0: expected 1x", &|comm| {
        let halo = Halo::new(&[3, 9 + comm.rank() / 2], 1);
        comm.cart(&[2, 2], &[false; 2]).exchange_halo(&mut vec![0.0; halo.len()], &halo);
    });
    mismatch("halo of width 9", &|comm| {
        let halo = Halo::new(&[10], 8 + comm.rank() / 2);
        comm.cart(&[4], &[true]).exchange_halo(&mut vec![0.0; halo.len()], &halo);
    });
    // Faces that travel in the message.
    for text in ["1 cells (halo of width 1)", "2 cells (halo of width 2)", " of 6 f64", " of 8 f64"]
    {
        mismatch(text, &|comm| {
            let halo = Halo::new(&[4], 1 + comm.rank() / 2);
            comm.cart(&[4], &[true]).exchange_halo(&mut vec![0.0; halo.len()], &halo);
        });
    }
    // One in the message, one beside it.
    for text in ["1x4 cells (halo of width 1x1)", "1x9 cells (halo of width 1x1)", " of 55 f64"] {
        mismatch(text, &|comm| {
            let halo = Halo::new(&[3, if comm.rank() < 2 { 4 } else { 9 }], 1);
            comm.cart(&[4, 1], &[false; 2]).exchange_halo(&mut vec![0.0; halo.len()], &halo);
        });
    }
    // As many cells, after exchanges of other shapes.
    for text in ["1x1x2 cells (halo", "1x2x1 cells (halo"] {
        mismatch(text, &|comm| {
            let mut grid = comm.cart(&[4, 1, 1], &[false; 3]);
            for n in 1..4 {
                let halo = Halo::new(&[n, 1, n], 1);
                grid.exchange_halo(&mut vec![0.0; halo.len()], &halo);
            }
            let extents = if grid.rank() < 2 { [4, 1, 2] } else { [4, 2, 1] };
            let halo = Halo::new(&extents, 1);
            grid.exchange_halo(&mut vec![0.0; halo.len()], &halo);
        });
    }
    mismatch("number of fields: expected ", &|comm| {
        let (halo, rank) = (Halo::new(&[1], 1), comm.rank());
        let mut fields = [[0.0; 3]; 2];
        let [a, b] = &mut fields;
        let mut all: Vec<&mut [f64]> = vec![a, b];
        all.truncate(if rank == 3 { 1 } else { 2 });
        comm.cart(&[4], &[true]).exchange_halos(&mut all, &halo);
    });
    mismatch("face across dimension 0: expected 1x", &|comm| {
        let extents = if comm.rank() < 2 { [4, 1, 2] } else { [4, 2, 1] };
        let halo = Halo::new(&extents, 1);
        comm.cart(&[4, 1, 1], &[false; 3]).exchange_halo(&mut vec![0.0; halo.len()], &halo);
    });
    mismatch("with corners", &|comm| {
        let halo = Halo::new(&[4, 4], 1);
        let halo = if comm.rank() == 3 { halo.with_corners() } else { halo };
        comm.cart(&[2, 2], &[true; 2]).exchange_halo(&mut vec![0.0; halo.len()], &halo);
    });
    mismatch("element type", &|comm| {
        let halo = Halo::new(&[4], 1);
        let mut cart = comm.cart(&[4], &[true]);
        match cart.rank() {
            2 => cart.exchange_halo(&mut [0u64; 6], &halo),
            _ => cart.exchange_halo(&mut [0f64; 6], &halo),
        }
    });
    mismatch("", &|comm| {
        let halo = Halo::new(&[4, 4], 1).with_corners();
        let dims = if comm.rank() < 2 { [4, 1] } else { [1, 4] };
        comm.cart(&dims, &[true; 2]).exchange_halo(&mut vec![0; halo.len()], &halo);
    });
}

/// A panic in the work, or a rank that does not come, ends the run for all;
/// nobody reads a field that is gone.
#[test]
fn failures_between() {
    for p in [2, 3, 5, 9] {
        for bad in [0, p - 1] {
            let error = refused(p, |comm| {
                let halo = Halo::new(&[40], 4);
                let mut field = crate::common::Canary(vec![7; halo.len()]);
                let r = comm.rank();
                comm.cart(&[p], &[true]).exchange_halo_while(&mut field.0, &halo, |_| {
                    if r == bad {
                        crate::common::bomb();
                    }
                });
                assert!(!field.0.contains(&crate::common::POISON));
            });
            assert!(matches!(error, Error::Panicked { rank, .. } if rank == bad), "{error}");
            let error = refused(p, |comm| {
                let halo = Halo::new(&[40], 4);
                let mut field = crate::common::Canary(vec![7; halo.len()]);
                if comm.rank() != bad {
                    comm.cart(&[p], &[true]).exchange_halo(&mut field.0, &halo);
                }
            });
            assert!(matches!(error, Error::Left { peer, .. } if peer == bad), "{error}");
        }
    }
}
