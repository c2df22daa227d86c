//! Small forms of all programs, each beside its serial form.

use phalanx::Team;
use phalanx_regions::components::{Graph, ROUNDS};
use phalanx_regions::decode::{Decoder, Room, Weights};
use phalanx_regions::nbody::Bodies;
use phalanx_regions::rows::Rows;
use phalanx_regions::split_decode::DecoderPart;
use phalanx_regions::triangular::Triangle;
use phalanx_regions::{Pool, Serial, ThreadsAtBarrier, agents};

fn team(ranks: usize) -> Team {
    Team::builder().ranks(ranks).build().unwrap()
}

/// The same by a team of 1 to 4 ranks and by threads: the same bits as serial.
fn check<R: PartialEq + std::fmt::Debug>(program: impl Fn(&mut dyn DynamicPool) -> R) {
    let serial = program(&mut Serial);
    for ranks in 1..=4 {
        assert_eq!(program(&mut team(ranks)), serial, "{ranks} ranks");
        assert_eq!(program(&mut ThreadsAtBarrier::new(ranks)), serial, "{ranks} threads");
    }
}

trait DynamicPool {
    fn count(&self) -> usize;
    fn each(&mut self, task: &(dyn Fn(usize) + Sync));
}

impl<P: Pool> DynamicPool for P {
    fn count(&self) -> usize {
        self.tasks()
    }

    fn each(&mut self, task: &(dyn Fn(usize) + Sync)) {
        self.region(task);
    }
}

struct Any<'a>(&'a mut dyn DynamicPool);

impl Pool for Any<'_> {
    fn tasks(&self) -> usize {
        self.0.count()
    }

    fn region(&mut self, task: &(dyn Fn(usize) + Sync)) {
        self.0.each(task);
    }
}

#[test]
fn bodies() {
    for count in [1, 16, 33] {
        check(|pool| {
            let mut bodies = Bodies::new(count);
            (0..10).for_each(|_| bodies.step(&mut Any(pool)));
            bodies
        });
    }
}

#[test]
fn components() {
    let graph = Graph::chains(3);
    assert_eq!(graph.len(), 3 * ROUNDS);
    check(|pool| {
        let labels = graph.components(&mut Any(pool));
        let mut distinct = labels.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 3);
        labels
    });
}

#[test]
fn decoders() {
    for weights in [Weights::Float, Weights::Byte] {
        let decoder = Decoder::random(3, 128, weights);
        let whole = |pool: &mut dyn DynamicPool| {
            let (mut x, mut room) = (decoder.start(), Room::default());
            (0..2).for_each(|_| decoder.step(&mut Any(&mut *pool), &mut x, &mut room));
            x
        };
        check(whole);
        let serial = whole(&mut Serial);
        for ranks in [1, 2, 4] {
            let split = team(ranks).run(|comm| {
                let part = DecoderPart::new(&decoder, comm.rank(), comm.size());
                let (mut x, mut room) = (decoder.start(), Room::default());
                (0..2).for_each(|_| part.step(comm, &mut x, &mut room));
                x
            });
            for x in split.unwrap() {
                let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-3 * (1.0 + b.abs());
                assert!(x.iter().zip(&serial).all(near), "{ranks} ranks, {weights:?}");
                assert!(ranks > 1 || x == serial);
            }
        }
    }
}

#[test]
fn triangles() {
    let triangle = Triangle::new(20, 30, 4);
    assert_eq!((triangle.len(), triangle.levels()), (600, 20));
    let b: Vec<f64> = (0..600).map(|row| f64::from(row % 7)).collect();
    let solved = |pool: &mut dyn DynamicPool| {
        let mut x = vec![0.0; triangle.len()];
        triangle.solve(&mut Any(pool), &b, &mut x);
        x
    };
    check(solved);
    for ranks in 1..=4 {
        let mut x = vec![0.0; triangle.len()];
        let rows = Rows::new(&mut x);
        // SAFETY: the ranks alone use the slice, as long as the system.
        team(ranks).run(|comm| unsafe { triangle.solve_as_rank(comm, &b, &rows) }).unwrap();
        assert_eq!(x, solved(&mut Serial), "{ranks} ranks");
    }
}

#[test]
fn events() {
    for ranks in 1..=4 {
        let serial = agents::serial(ranks, 50);
        assert_eq!(agents::by_exchange(&team(ranks), 50).unwrap(), serial);
        assert_eq!(agents::by_channels(ranks, 50), serial);
    }
}
