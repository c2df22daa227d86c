//! Ranks that call while one scribbles into the segment: calls may fail, or give any numbers; no
//! rank may crash, hang beyond its deadline, or touch memory that is not its own.

#[path = "../../../../src/mix.rs"]
mod mix;

use crate::start::{end_well, ranks_of};
use mix::SplitMix;
use phalanx_processes::{Segment, Team, op};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

/// Bytes before and behind every buffer, which no call may change.
const CANARY: u8 = 0x5a;

fn guarded(n: usize) -> (Vec<u8>, std::ops::Range<usize>) {
    (vec![CANARY; n + 128], 64..64 + n)
}

fn check(buffer: &[u8], range: &std::ops::Range<usize>) {
    let outside = buffer[..range.start].iter().chain(&buffer[range.end..]);
    assert!(outside.copied().all(|byte| byte == CANARY), "a byte outside of a buffer has changed");
}

/// Calls until one fails: all ranks choose the same ones.
pub(crate) fn rank(mut team: Team) {
    let seed = std::env::var("PHALANX_SEED").unwrap().parse().unwrap();
    let mut random = SplitMix(seed);
    let p = team.size();
    let end = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < end {
        let n = [1, 40, 900, 6000, 50_000][random.below(5)];
        let ((mut one, a), (mut all, b)) = (guarded(n), guarded(n * p));
        let (root, to) = (random.below(p), (team.rank() + 1) % p);
        let from = (team.rank() + p - 1) % p;
        let outcome = match random.below(10) {
            0 => team.all_reduce(&mut one[a.clone()], op::Sum),
            1 => team.broadcast(&mut one[a.clone()], root),
            2 => team.all_gather(&one[a.clone()], &mut all[b.clone()]),
            3 => team.scan(&mut one[a.clone()], op::Max),
            4 => team.all_to_all(&vec![3; n * p], &mut all[b.clone()]),
            5 => team.reduce_scatter(&all[b.clone()], &mut one[a.clone()], op::Min),
            6 => team.split(Some(0), 0).and_then(|group| group.unwrap().barrier()),
            7 => team.send(&one[a.clone()], to, 1).and_then(|()| {
                let got = team.receive_vec::<u8>(from, 1)?;
                assert!(got.len() < 1 << 32);
                Ok(())
            }),
            8 => team
                .send(&one[a.clone()], to, 1)
                .and_then(|()| team.receive(&mut one[a.clone()], from, 1)),
            _ => {
                let add = op::ordered(|a: u8, b: u8| [a, b][usize::from(a > b)]);
                team.all_reduce(&mut one[a.clone()], add)
            }
        };
        check(&one, &a);
        check(&all, &b);
        if outcome.is_err() {
            return;
        }
    }
}

/// A number that is more likely to hurt than a random one.
fn spiteful(random: &mut SplitMix, word: u64) -> u64 {
    match random.below(6) {
        0 => random.word(),
        1 => u64::MAX,
        2 => word.wrapping_add(1),
        3 => word ^ 1 << random.below(64),
        4 => random.below(1 << 20) as u64,
        _ => 0,
    }
}

#[test]
fn a_segment_full_of_scribbles_hurts_nobody() {
    let rounds = std::env::var("PHALANX_FUZZ").map_or(6, |text| text.parse().unwrap());
    for round in 0..rounds {
        let (mut random, p) = (SplitMix(round + 1), 2 + round as usize % 3);
        let segment = Segment::create(p, 1 << 16).unwrap();
        let copy = segment.inheritable().unwrap();
        let fd = copy.as_raw_fd();
        let (file, seed) = (fd.to_string(), round.to_string());
        let ranks = ranks_of("fuzz", p, |program| {
            program.env("PHALANX_FD", &file).env("PHALANX_SEED", &seed).env("PHALANX_TIMEOUT", "1")
        });
        std::thread::sleep(Duration::from_millis(200));
        // SAFETY: the system writes to `about` only.
        let bytes = unsafe {
            let mut about: libc::stat = std::mem::zeroed();
            assert_eq!(libc::fstat(fd, &raw mut about), 0);
            about.st_size as usize
        };
        let until = Instant::now() + Duration::from_millis(1200);
        while Instant::now() < until {
            // Half of it where the words are: the head, the seats, the first area.
            let most = if random.below(2) == 0 { 64 << 10 } else { bytes.min(4 << 20) };
            let at = random.below(most / 8) * 8;
            let mut word = [0; 8];
            // SAFETY: so many bytes.
            unsafe {
                libc::pread(fd, word.as_mut_ptr().cast(), 8, at as i64);
                let next = spiteful(&mut random, u64::from_ne_bytes(word)).to_ne_bytes();
                libc::pwrite(fd, next.as_ptr().cast(), 8, at as i64);
            }
            if random.below(4) == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        end_well(ranks);
    }
}
