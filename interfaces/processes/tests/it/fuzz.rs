//! Ranks that call while one scribbles into the segment: calls may fail, or give any numbers; no
//! rank may crash, hang beyond its deadline, or touch memory that is not its own.

use crate::start::{name, program, start};
use phalanx_processes::{Segment, Team, op};
use std::time::{Duration, Instant};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

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
    let mut random = Random(seed);
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
fn spiteful(random: &mut Random, word: u64) -> u64 {
    match random.below(6) {
        0 => random.next(),
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
        let (mut random, p) = (Random(round + 1), 2 + round as usize % 3);
        let segment = Segment::create(p, 1 << 16).unwrap();
        let copy = segment.inheritable().unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&copy);
        let ranks: Vec<_> = (0..p)
            .map(|rank| {
                let mut program = program("fuzz", &name(), rank, p);
                program.env("PHALANX_FD", fd.to_string()).env("PHALANX_TIMEOUT", "1");
                program.env("PHALANX_SEED", round.to_string());
                start(program)
            })
            .collect();
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
        for rank in ranks {
            let ended = rank.end();
            assert!(ended.status.success(), "round {round}: {:?} {}", ended.status, ended.text);
        }
    }
}
