//! Every public method is named in errors as the program calls it, also where another method
//! carries it out.

use super::saying::{CALLS, Saying, usual};
use phalanx::dist::{Block, Halo};
use phalanx::machine::Level;
use phalanx::topology::{Cartesian, Extents};
use phalanx::{Comm, Order, Team, call, op};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A method's name in errors, and a run of two ranks of which rank 0 calls it, and rank 1 something
/// that is never met.
struct Named(&'static str, Box<dyn Fn(&mut Comm) + Sync>);

macro_rules! named {
    ($($name:tt $(with $($made:ident = $make:expr),+)?, |$comm:ident| $call:expr;)*) => {
        [$(Named($name, Box::new(|$comm: &mut Comm| {
            $($(#[allow(unused_mut)] let mut $made = $make;)+)?
            match $comm.rank() {
                0 => { let _ = $call; }
                _ => $comm.scan(&mut [0u8], op::Max),
            }
        }))),*]
    };
}

/// Calls that are started, and set up.
macro_rules! started {
    ($($call:ident ($($argument:expr),*);)*) => {
        [$(
            named! {
                (concat!("started ", stringify!($call))), |comm| comm.requests(|scope| {
                    let open = scope.start(call::$call($($argument),*));
                    let _ = scope.wait(open);
                });
                (concat!("persistent ", stringify!($call))), |comm| comm.requests(|scope| {
                    let call = scope.set_up(call::$call($($argument),*));
                    let open = scope.start(call);
                    let _ = scope.wait(open);
                });
            },
        )*].into_iter().flatten()
    };
}

/// Buffers that live for longer than any scope of requests.
fn buf(len: usize) -> &'static mut [f64] {
    Box::leak(vec![1.0; len].into_boxed_slice())
}

fn plan(comm: &mut Comm) -> phalanx::Neighborhood {
    let other = 1 - comm.rank();
    comm.ghosts(&Block::new(2, 2), &[other])
}

const COUNTS: &[usize] = &[1, 1];

/// The calls of the battery, and those that it does not have.
fn all() -> Vec<Named> {
    let plain = named! {
        "overlapped barrier", |comm| comm.ring().overlap(call::barrier(), || ());
        "all_reduce_values", |comm| comm.all_reduce_values([1.0], op::Sum);
        "sum", |comm| comm.sum([1.0]);
        "sum", |comm| comm.hypercube().sum([1.0; 1000]);
        "overlapped all_reduce",
            |comm| comm.ring().overlap(call::all_reduce(&mut [1.0], op::Sum), || ());
        "overlapped sum", |comm| comm.overlap(call::sum([1.0]), || ());
        "started scan", |comm| comm.overlap(call::scan(&mut [1.0], op::Sum), || ());
        "scan", |comm| comm.run(call::scan(&mut [1.0f32], op::Sum))[0];
        "all_reduce in fixed order",
            |comm| comm.with_order(Order::Fixed).run(call::all_reduce(&mut [1.0], op::Sum))[0];
        "sum in fixed order", |comm| comm.with_order(Order::Fixed).sum([1.0]);
        "sum in fixed order", |comm| {
            let mut view = comm.ring();
            let _ = view.with_order(Order::Fixed).sum([1.0; 1000]);
        };
        "all_reduce_values in fixed order",
            |comm| comm.with_order(Order::Fixed).all_reduce_values([1.0], op::Sum);
        "reduce in fixed order",
            |comm| comm.with_order(Order::Fixed).reduce(&mut [1.0], op::Sum, 0);
        "reduce_scatter_into in fixed order", |comm| {
            comm.with_order(Order::Fixed).reduce_scatter_into(&[1.0; 2], &mut [1.0], op::Sum)
        };
        "reduce_scatter_varied_into in fixed order", |comm| {
            let mut view = comm.with_order(Order::Fixed);
            view.reduce_scatter_varied_into(&[1.0; 2], &mut [1.0], COUNTS, op::Sum)
        };
        "segmented_scan", |comm| comm.segmented_scan(&mut [1.0], &[true], op::Sum);
        "exclusive_segmented_scan",
            |comm| comm.exclusive_segmented_scan(&mut [1.0], &[true], op::Sum);
        "all_gather_vec", |comm| comm.all_gather_vec(&[1.0]);
        "all_gather_vec", |comm| comm.ring().all_gather_vec(&[1.0]);
        "gather_vec", |comm| comm.gather_vec(&[1.0], 0);
        "gather_vec", |comm| comm.ring().gather_vec(&[1.0], 0);
        "all_to_all_vec", |comm| comm.all_to_all_vec(&[1.0; 2], COUNTS);
        "all_to_all_vec", |comm| comm.ring().all_to_all_vec(&[1.0; 2], COUNTS);
        "all_to_all_owned", |comm| comm.all_to_all_owned(&mut vec![(1, ())], &mut Vec::new());
        "fixed_sum", |comm| comm.fixed_sum(&[1.0], 0);
        "fixed_dot", |comm| comm.fixed_dot(&[1.0], &[1.0], 0);
        "fixed_dots", |comm| comm.fixed_dots([(&[1.0], &[1.0]); 2], 0);
        "split_by", |comm| comm.split_by(Level::Package);
        "sub", |comm| comm.cart(&[2], &[true]).sub(&[true]);
        // Nothing is sent by these: an argument is wrong.
        "sub", |comm| comm.cart(&[2], &[true]).sub(&[true, true]);
        "cart", |comm| drop(comm.cart(&[3], &[true]));
        "cart_of", |comm| drop(comm.cart_of(&Cartesian::new(3, &[3], &[true]).unwrap()));
        "mesh", |comm| drop(comm.mesh(1, 3));
        "mesh_of", |comm| drop(comm.mesh_of(&"3x1".parse::<Extents>().unwrap()));
        "exchange_halos",
            |comm| comm.cart(&[2], &[true]).exchange_halos(&mut [buf(4)], &Halo::new(&[2], 1));
        "exchange_halo_while", |comm| {
            comm.cart(&[2], &[true]).exchange_halo_while(&mut [0.0; 4], &Halo::new(&[2], 1), |_| ())
        };
        "gather_grid",
            |comm| comm.cart(&[2], &[true]).gather_grid(&[0.0; 4], &Halo::new(&[2], 1), 0);
        "ghosts_of_columns", |comm| comm.ghosts_of_columns(&Block::new(2, 2), &[0]);
        "neighborhood", |comm| comm.neighborhood(0, &[(1, [])], 0, &[(1, [])]);
        "Neighborhood::gather" with plan = plan(comm), |comm| plan.gather(comm, &[1.0], &mut [0.0]);
        "Neighborhood::gather_while" with plan = plan(comm),
            |comm| plan.gather_while(comm, &[1.0], &mut [0.0], || ());
        "Neighborhood::scatter_add" with plan = plan(comm),
            |comm| plan.scatter_add(comm, &[1.0], &mut [0.0]);
        "Neighborhood::scatter_with" with plan = plan(comm),
            |comm| plan.scatter_with(comm, &[1.0], &mut [0.0], op::Max);
        "shared", |comm| comm.shared::<u64>(1);
        "shared_atomic", |comm| comm.shared_atomic::<u64>(1);
        "Window::update" with window = comm.shared::<u64>(1), |comm| window.update(comm, |_| ());
        "Window::update" with window = comm.shared::<u64>(1),
            |comm| window.update(&mut comm.with_order(Order::Fixed), |_| ());
        "AtomicWindow::update" with window = comm.shared_atomic::<u64>(1),
            |comm| window.update(comm, |_| ());
        "AtomicWindow::read" with window = comm.shared_atomic::<u64>(1),
            |comm| window.read(comm, |_| ());
        "recv", |comm| comm.recv(&mut [1.0], 1);
        "send_tagged", |comm| comm.send_tagged(&[1.0], 1, 7);
        "recv_tagged", |comm| comm.recv_tagged(&mut [1.0], 1, 7);
        "recv_vec", |comm| comm.recv_vec::<f64>(1, 7);
        "send_owned", |comm| comm.send_owned(1.0, 1, 7);
        "recv_owned", |comm| comm.recv_owned::<f64>(1, 7);
        "probe", |comm| comm.probe(1, 7);
        "started sum", |comm| comm.requests(|scope| {
            let open = scope.start(call::sum([1.0]));
            scope.wait(open)
        });
        "started all_reduce_values", |comm| comm.requests(|scope| {
            let open = scope.start(call::all_reduce_values([1.0; 100], op::Sum));
            scope.wait(open)
        });
        // The fault is found when the call is set up.
        "persistent broadcast", |comm| comm.requests(|scope| {
            drop(scope.set_up(call::broadcast(buf(1), 5)));
        });
    };
    let started = started! {
        barrier();
        broadcast(buf(1), 0);
        reduce(buf(1), op::Sum, 0);
        all_reduce(buf(1), op::Sum);
        scan(buf(1), op::Sum);
        exclusive_scan(buf(1), op::Sum);
        segmented_scan(buf(1), &[true], op::Sum);
        exclusive_segmented_scan(buf(1), &[true], op::Sum);
        reduce_scatter_into(buf(2), buf(1), op::Sum);
        reduce_scatter_varied_into(buf(2), buf(1), COUNTS, op::Sum);
        all_gather_into(buf(1), buf(2));
        all_gather_varied_into(buf(1), buf(2), COUNTS);
        all_to_all_into(buf(2), buf(2));
        all_to_all_varied_into(buf(2), COUNTS, buf(2), COUNTS);
        gather_into(buf(1), buf(2), 0);
        gather_varied_into(buf(1), buf(2), COUNTS, 0);
        scatter_into(buf(2), buf(1), 0);
        scatter_varied_into(buf(2), buf(1), COUNTS, 0);
        shift(buf(1), 1);
        send_tagged(buf(1), 1, 7);
        recv_tagged(buf(1), 1, 7);
    };
    let battery = CALLS.map(|call| {
        let go = move |comm: &mut Comm| match comm.rank() {
            0 => usual::say(&Saying::new(call, 1), comm),
            _ => comm.scan(&mut [0u8], op::Max),
        };
        Named(call.name(), Box::new(go))
    });
    battery.into_iter().chain(plain).chain(started).collect()
}

#[test]
fn every_method_is_named_as_it_is_called() {
    let team = Team::builder().ranks(2).build().unwrap();
    let mut bad = Vec::new();
    for Named(name, call) in all() {
        match team.run(call) {
            Ok(_) => bad.push(format!("{name}: no error")),
            Err(error) => {
                let text = error.to_string();
                if !text.contains(&format!(" {name} of "))
                    && !text.contains(&format!(" {name} at "))
                    && !text.contains(&format!(" {name}, from rank "))
                {
                    bad.push(format!("{name}: {text}"));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Ranks that call two methods of which one carries the other out still meet.
#[test]
fn methods_that_carry_each_other_out_meet() {
    let team = Team::builder().ranks(2).build().unwrap();
    let sums = team.run(|comm| {
        let odd = comm.rank() == 1;
        let mut x = [1.0];
        let child = match odd {
            true => comm.split(0, 1),
            false => comm.cart(&[2], &[true]).sub(&[true]),
        };
        for fixed in [false, true] {
            let mut view = comm.with_order(if fixed { Order::Fixed } else { Order::Ranked });
            x = if odd { view.sum(x) } else { view.all_reduce_values(x, op::Sum) };
            match odd {
                true => view.all_reduce(&mut x, op::Sum),
                false => x = view.sum(x),
            }
        }
        comm.requests(|scope| match odd {
            true => {
                let open = scope.start(call::sum([1.0]));
                let [sum] = scope.wait(open);
                let scan = scope.start(call::scan(buf(1), op::Sum));
                (child.size(), x[0], sum, scope.wait(scan)[0])
            }
            false => {
                let all = scope.set_up(call::all_reduce(buf(1), op::Sum));
                let open = scope.start(all);
                let all = scope.wait(open);
                let scan = scope.set_up(call::scan(buf(1), op::Sum));
                let open = scope.start(scan);
                let scan = scope.wait(open);
                (child.size(), x[0], all.buf()[0], scan.buf()[0])
            }
        })
    });
    assert_eq!(sums.unwrap(), [(2, 16.0, 2.0, 1.0), (2, 16.0, 2.0, 2.0)]);
}

/// Methods in which no rank waits, or that have no name of their own: the call that they wait for
/// has.
const NAMELESS: [&str; 11] = [
    "phase",
    "requests",
    "wait",
    "wait_all",
    "wait_any",
    "test",
    "start",
    "check",
    "overlap",
    "run_by",
    "begin_steps",
];

/// No public method that knows its caller's line is left out above.
#[test]
fn every_method_is_in_the_table() {
    let named: BTreeSet<&str> = all().iter().map(|it| it.0).collect();
    let mut folders = vec![Path::new("src/comm").to_path_buf()];
    let (mut found, mut missing) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for (at, _) in text.match_indices("#[track_caller]\n") {
                // Other attributes may stand between.
                let mut lines =
                    text[at..].lines().map(str::trim).skip_while(|it| it.starts_with('#'));
                let Some(method) = lines.next().and_then(|it| it.strip_prefix("pub fn ")) else {
                    continue;
                };
                let end = method.find(['<', '(']).unwrap();
                let (method, file) = (&method[..end], path.to_str().unwrap());
                let name = match file.rsplit('/').next().unwrap() {
                    "make.rs" | "make_blocks.rs" | "message.rs" | "segmented.rs"
                        if file.contains("/call/") =>
                    {
                        format!("started {method}")
                    }
                    "window.rs" if method == "update" => "Window::update".to_string(),
                    "atomic_window.rs" if method != "shared_atomic" => {
                        format!("AtomicWindow::{method}")
                    }
                    "mod.rs" if file.contains("neighborhood") => format!("Neighborhood::{method}"),
                    _ => method.to_string(),
                };
                found += 1;
                let is_known = NAMELESS.contains(&method) || method == "try_probe";
                if !is_known && !named.contains(name.as_str()) {
                    missing.push(name);
                }
            }
        }
    }
    assert!(found > 90, "{found}");
    assert!(missing.is_empty(), "{missing:?}");
}
