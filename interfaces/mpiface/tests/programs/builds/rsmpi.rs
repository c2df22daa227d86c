//! A program of rsmpi: a derived type, messages, an operator of its own, a started sum.
use mpi::collective::{SystemOperation, UserOperation};
use mpi::request::WaitGuard;
use mpi::traits::*;
use std::cell::Cell;

#[derive(Clone, Copy, Default, Equivalence)]
struct Particle {
    place: [f64; 2],
    number: i32,
    is_here: bool,
}

thread_local! {
    static HERE: Cell<i32> = const { Cell::new(7) };
}

fn main() {
    let universe = mpi::initialize().expect("MPI begins once");
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);

    let mine = Particle { place: [f64::from(rank), 0.5], number: 10 * rank, is_here: true };
    let mut theirs = Particle::default();
    mpi::request::scope(|scope| {
        let next = world.process_at_rank(next);
        let _sent = WaitGuard::from(next.immediate_send(scope, &mine));
        world.process_at_rank(previous).receive_into(&mut theirs);
    });
    assert!(theirs.is_here && theirs.number == 10 * previous);
    assert!(theirs.place == [f64::from(previous), 0.5]);

    HERE.set(HERE.get() + rank);
    let (here, mut sum, mut largest) = (HERE.get(), 0, 0);
    mpi::request::scope(|scope| {
        let operator = SystemOperation::sum();
        world.immediate_all_reduce_into(scope, &here, &mut sum, operator).wait();
    });
    let larger = UserOperation::commutative(|x, y| {
        let x: &[i32] = x.downcast().expect("the calls' type");
        let y: &mut [i32] = y.downcast().expect("the calls' type");
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = x.max(*y));
    });
    world.all_reduce_into(&here, &mut largest, &larger);

    let mut all = vec![0; size as usize];
    world.all_gather_into(&rank, &mut all[..]);
    assert!(all.iter().copied().eq(0..size));
    let halves = world.split_by_color(mpi::topology::Color::with_value(rank % 2)).expect("a part");
    println!(
        "rank {rank} has {here}, all have {sum}, the largest {largest}, {} in its half",
        halves.size()
    );
}
