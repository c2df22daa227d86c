//! Started calls: what they give, in which order they may be waited for, and how they end badly.

use phalanx::{Team, op};

#[test]
fn a_started_all_reduce_gives_the_sum() {
    for p in 1..=5 {
        for len in [0usize, 1, 8, 9, 1000] {
            let team = Team::builder().ranks(p).build().unwrap();
            let out = team
                .run(|comm| {
                    let mut x = vec![comm.rank() as u64 + 1; len];
                    let mut y = vec![comm.rank() as u64 * 10; len];
                    comm.requests(|scope| {
                        let a = scope.all_reduce(&mut x, op::Sum);
                        let b = scope.all_reduce(&mut y, op::Sum);
                        scope.comm().barrier();
                        let b = scope.wait(b).to_vec();
                        (scope.wait(a).to_vec(), b)
                    })
                })
                .unwrap();
            let sum = (p * (p - 1) / 2) as u64;
            for (a, b) in out {
                assert_eq!(a, vec![sum + p as u64; len]);
                assert_eq!(b, vec![sum * 10; len]);
            }
        }
    }
}
