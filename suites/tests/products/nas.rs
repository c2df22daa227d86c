//! The NAS kernels of `suites/nas` against the official values: class S on 1 to 4 and 8 ranks. The
//! larger classes:
//!
//!     cargo test --release -p suites --test products nas:: -- --ignored --test-threads 1

#[allow(dead_code)]
#[path = "../../nas/main.rs"]
mod nas;

use nas::spmd::{Shown, Spmd};
use nas::{Class, Kernel, Problem};
use phalanx::{Comm, Element};

fn verify(kernel: Kernel, class: Class, ranks: &[usize]) {
    let problem = Problem::new(kernel, class);
    for &p in ranks {
        problem.check_ranks(p).unwrap();
        for (rank, outcome) in
            phalanx::run(p, |comm| problem.spmd(comm)).unwrap().into_iter().enumerate()
        {
            assert!(outcome.is_verified(), "{kernel} {class}, rank {rank} of {p}: {outcome:?}");
        }
    }
}

#[test]
fn ep() {
    verify(Kernel::Ep, Class::S, &[1, 2, 3, 4, 8]);
}

#[test]
fn cg() {
    verify(Kernel::Cg, Class::S, &[1, 2, 3, 4, 8]);
}

#[test]
fn is() {
    verify(Kernel::Is, Class::S, &[1, 2, 3, 4, 8]);
}

#[test]
fn ft() {
    verify(Kernel::Ft, Class::S, &[1, 2, 3, 4, 8]);
}

#[test]
fn mg() {
    verify(Kernel::Mg, Class::S, &[1, 2, 3, 4, 8, 16]);
}

/// Shows rank 0's slices in place of all others.
struct Mistaken<'a>(&'a mut Comm);

struct OnlyFirst<'a, T>(&'a [T]);

impl<T> Shown<T> for OnlyFirst<'_, T> {
    fn of(&self, _: usize) -> &[T] {
        self.0
    }
}

impl Spmd for Mistaken<'_> {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn barrier(&mut self) {
        self.0.barrier();
    }

    fn sum<const N: usize>(&mut self, x: [f64; N]) -> [f64; N] {
        self.0.sum(x)
    }

    fn with_peers<T: Element, R>(&mut self, mine: &[T], f: impl FnOnce(&dyn Shown<T>) -> R) -> R {
        self.0.with_peers(mine, |all| f(&OnlyFirst(&all[0])))
    }
}

#[test]
fn wrong_results_are_not_verified() {
    for kernel in Kernel::ALL {
        let problem = Problem::new(kernel, Class::S);
        let outcomes = phalanx::run(2, |comm| problem.spmd(&mut Mistaken(comm))).unwrap();
        assert!(outcomes.iter().all(|it| !it.is_verified()), "{kernel}: {outcomes:?}");
    }
}

/// Whoever takes which batch, and however many there are: the same bits.
#[test]
fn ep_is_the_same_bits_on_any_number_of_ranks() {
    let problem = Problem::new(Kernel::Ep, Class::S);
    let error = |p| phalanx::run(p, |comm| problem.spmd(comm)).unwrap()[0].error.to_bits();
    assert_eq!(error(1), error(3));
}

#[test]
fn too_many_ranks_are_refused_with_the_number_that_is_not() {
    for (kernel, most) in [(Kernel::Ft, 64), (Kernel::Mg, 16)] {
        let problem = Problem::new(kernel, Class::S);
        problem.check_ranks(most).unwrap();
        let message = problem.check_ranks(most + 1).unwrap_err();
        assert!(message.contains(&format!("at most {most} ranks")), "{message}");
    }
    Problem::new(Kernel::Ep, Class::S).check_ranks(phalanx::MAX_RANKS).unwrap();
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let message = nas::kernels("LU").unwrap_err();
    assert_eq!(message, "no such kernel; there are EP, CG, IS, FT, MG and ALL");
    let message = nas::classes("C").unwrap_err();
    assert_eq!(message, "no such class; there are S, W, A, B and ALL");
    for wrong in ["0", "x", "4..1", "1..2000", ""] {
        nas::ranks(wrong).unwrap_err();
    }
    assert_eq!(nas::ranks("1..3,8").unwrap().0, [1, 2, 3, 8]);
}

#[test]
#[ignore = "long: see the top of this file"]
fn w_and_a() {
    for kernel in Kernel::ALL {
        for class in [Class::W, Class::A] {
            verify(kernel, class, &[1, 2, 3, 4, 8]);
        }
    }
}

#[test]
#[ignore = "long: see the top of this file"]
fn b() {
    for kernel in Kernel::ALL {
        verify(kernel, Class::B, &[2]);
    }
}
