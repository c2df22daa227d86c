//! Damaged input for the readers of files.

use super::Dice;

/// How many inputs to try where the usual suite tries `n`, and which: always the same ones, unless
/// more are asked for.
pub(crate) fn tries(n: usize, seed: u64) -> (usize, Dice) {
    match std::env::var("PHALANX_FUZZ") {
        Ok(scale) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let seed = seed ^ now.unwrap().as_nanos() as u64;
            println!("seed {seed}");
            (n * scale.parse::<usize>().expect("PHALANX_FUZZ is a number"), Dice(seed))
        }
        Err(_) => (n, Dice(seed)),
    }
}

/// Faults of files: bytes change, vanish, are repeated, or numbers become absurd.
pub(crate) fn mutate(original: &[u8], random: &mut Dice) -> Vec<u8> {
    const PIECES: [&[u8]; 14] = [
        b"99999999999999999999",
        b"4294967295",
        b"-1",
        b"0",
        b",",
        b"-",
        b":",
        b"(",
        b"[",
        b"\0",
        b"<",
        b"\"",
        b"\xff\xfe",
        b"ffffffff,ffffffff",
    ];
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] = random.word() as u8,
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                drop(bytes.splice(to..to, piece));
            }
            3 => bytes.truncate(at),
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                let end = (at + random.below(3)).min(bytes.len());
                drop(bytes.splice(at..end, piece.iter().copied()));
            }
        }
    }
    bytes
}
