//! Bodies that attract each other: a region a step.

use crate::rows::Rows;
use crate::{Pool, Random, part};

type Vector = [f32; 3];

/// Bodies of equal mass.
#[derive(Clone, Debug, PartialEq)]
pub struct Bodies {
    places: Vec<Vector>,
    next: Vec<Vector>,
    speeds: Vec<Vector>,
}

impl Bodies {
    /// So many bodies at random places, at rest.
    pub fn new(count: usize) -> Self {
        let mut random = Random::new(count as u64);
        let places: Vec<Vector> = (0..count).map(|_| [(); 3].map(|()| random.unit())).collect();
        Bodies { next: places.clone(), speeds: vec![[0.0; 3]; count], places }
    }

    /// One step of time, by one region.
    pub fn step(&mut self, pool: &mut impl Pool) {
        let (tasks, places) = (pool.tasks(), &self.places);
        let (next, speeds) = (Rows::new(&mut self.next), Rows::new(&mut self.speeds));
        pool.region(&|task| {
            let mine = part(places.len(), task, tasks);
            // SAFETY: tasks have parts that are apart.
            let (next, speeds) = unsafe { (next.part(mine.clone()), speeds.part(mine.clone())) };
            advance(places, &places[mine], next, speeds);
        });
        std::mem::swap(&mut self.places, &mut self.next);
    }
}

#[inline(never)]
fn advance(all: &[Vector], own: &[Vector], next: &mut [Vector], speeds: &mut [Vector]) {
    const STEP: f32 = 1e-3;
    for ((place, next), speed) in own.iter().zip(next).zip(speeds) {
        let mut force = [0.0f32; 3];
        for other in all {
            let way: Vector = std::array::from_fn(|d| other[d] - place[d]);
            let square = way.iter().map(|x| x * x).sum::<f32>() + 1e-4;
            let pull = 1.0 / (square * square.sqrt());
            force.iter_mut().zip(way).for_each(|(force, way)| *force += pull * way);
        }
        for d in 0..3 {
            speed[d] += STEP * force[d];
            next[d] = place[d] + STEP * speed[d];
        }
    }
}
