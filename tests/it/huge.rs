//! More elements than 32 bits can count: of no size always; of one byte where
//! `PHALANX_HUGE=1` says that there are 16 GiB of memory (and `--release` that it
//! takes a minute instead of ten).

use crate::common::{runs, team, watch};
use phalanx::op;

const MANY: usize = (1 << 32) + 3;

#[test]
fn elements_of_no_size_beyond_2_to_the_32() {
    let _watch = watch();
    for p in [2, 3] {
        runs(&team(p), format!("p={p}"), |comm| {
            let (r, many) = (comm.rank(), vec![(); MANY]);
            comm.broadcast(&mut many.clone(), p - 1);
            comm.shift(&mut many.clone(), 1);
            comm.all_gather_into(&many, &mut vec![(); MANY * p]);
            comm.all_to_all_into(&vec![(); MANY * p], &mut vec![(); MANY * p]);
            comm.scatter_into(&vec![(); MANY * p], &mut many.clone(), 0);
            comm.gather_into(&many, &mut vec![(); MANY * p], 0);
            let counts: Vec<usize> = (0..p).map(|q| MANY + q).collect();
            let mut all = vec![(); counts.iter().sum()];
            comm.all_gather_varied_into(&vec![(); counts[r]], &mut all, &counts);
            comm.with_peers(&many, |all| assert!(all.iter().all(|x| x.len() == MANY)));
            comm.exchange(&many, (r + 1) % p, &mut many.clone(), (r + p - 1) % p);
        });
    }
}

/// Counts that fit 16 bits, and 20, always.
#[test]
fn more_than_2_to_the_16() {
    bytes((1 << 20) + 3);
    bytes((1 << 16) + 1);
}

#[test]
fn bytes_beyond_2_to_the_31() {
    if std::env::var("PHALANX_HUGE").is_err() {
        eprintln!("SKIPPED: 2^31 elements of a byte: needs PHALANX_HUGE=1 and 16 GiB of memory");
        return;
    }
    bytes((1 << 31) + 5);
}

fn byte(r: usize, i: usize) -> u8 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(r as u32 + 8) as u8
}

/// Two ranks, `n` bytes: the operations that move and combine whole vectors.
fn bytes(n: usize) {
    // Not watched: it may take minutes.
    runs(&team(2), format!("n={n}"), |comm| {
        let r = comm.rank();
        // Looked at: the ends, the places where 31 and 32 bits end, and some others.
        let places = |n: usize| {
            let edges = [0, 1, (1 << 16) - 1, 1 << 16, (1 << 31) - 1, 1 << 31, n / 2, n - 1];
            edges.into_iter().chain((0..n).step_by(1 + n / 9973)).filter(move |&i| i < n)
        };
        let fill = |x: &mut [u8]| x.iter_mut().enumerate().for_each(|(i, x)| *x = byte(r, i));
        let mut x = vec![0; n];
        fill(&mut x);
        comm.all_reduce(&mut x, op::Sum);
        assert!(places(n).all(|i| x[i] == byte(0, i).wrapping_add(byte(1, i))), "all-reduce");
        fill(&mut x);
        comm.reduce(&mut x, op::BitXor, 1);
        let sum = |i: usize| if r == 1 { byte(0, i) ^ byte(1, i) } else { byte(0, i) };
        assert!(places(n).all(|i| x[i] == sum(i)), "reduce");
        fill(&mut x);
        comm.broadcast(&mut x, 1);
        assert!(places(n).all(|i| x[i] == byte(1, i)), "broadcast");
        fill(&mut x);
        comm.shift(&mut x, 1);
        assert!(places(n).all(|i| x[i] == byte(1 - r, i)), "shift");
        fill(&mut x);
        let half = n.div_ceil(2);
        let mut all = vec![0; 2 * half];
        comm.all_gather_into(&x[..half], &mut all);
        assert!(places(2 * half).all(|i| all[i] == byte(i / half, i % half)), "all-gather");
        let mut mine = vec![0; n / 2];
        comm.reduce_scatter_into(&x[..n / 2 * 2], &mut mine, op::Sum);
        let sum = |i: usize| byte(0, r * (n / 2) + i).wrapping_add(byte(1, r * (n / 2) + i));
        assert!(places(n / 2).all(|i| mine[i] == sum(i)), "reduce-scatter");
        comm.with_peers(&x, |all| {
            assert!(places(n).all(|i| all[1 - r][i] == byte(1 - r, i)), "view");
        });
    });
}
