//! Collectives by messages, as MPICH and Open MPI make them.

use super::clocks::PhaseClocks;
use super::node::Call;

/// The cost of a message beside its lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transport {
    /// The software of one message, sender and receiver.
    pub(super) message_ns: f64,
    /// How much longer it takes where each rank sends and receives at once.
    pub(super) exchange: f64,
    /// The hand-offs of one message: its queue, its cell, its flags.
    pub(super) hand_offs: f64,
    /// Copied through cells: the sender writes lines that the receiver had.
    pub(super) copied: bool,
    /// The buffers of m bytes that a rank has in use.
    pub(super) buffers: f64,
    /// The bytes of the cells that a rank has in use.
    pub(super) cells: f64,
    /// The bytes from which a message is mapped or needs a handshake, and its nanoseconds more.
    pub(super) long: (f64, f64),
}

/// A message of `bytes` from `from` to `to`, both in this phase.
pub(super) fn message(
    c: &mut PhaseClocks<'_>,
    from: usize,
    to: usize,
    bytes: f64,
    by: &Transport,
    adds: bool,
) {
    let h = c.hand_off(from, to);
    let long = if bytes >= by.long.0 { by.long.1 } else { 0.0 };
    c.work(from, 0.25 * by.message_ns);
    if by.copied {
        c.own_read(from, bytes);
        c.write_cell(from, to, bytes);
    }
    c.wait(to, from);
    c.work(to, 0.75 * by.message_ns + by.hand_offs * h + long);
    match by.copied {
        true => c.read_cell(to, from, bytes),
        false => c.read(to, from, bytes),
    }
    c.own_write(to, bytes);
    if adds {
        c.own_write(to, bytes);
    }
}

/// The ranks beyond a power of two hand their vectors to a neighbour: the ranks that stay.
fn fold(c: &mut PhaseClocks<'_>, m: f64, by: &Transport) -> Vec<usize> {
    let p = c.ranks();
    let power = 1 << p.ilog2();
    let rest = p - power;
    (0..rest).for_each(|i| message(c, 2 * i, 2 * i + 1, m, by, true));
    c.run();
    (0..power).map(|i| if i < rest { 2 * i + 1 } else { i + rest }).collect()
}

fn unfold(c: &mut PhaseClocks<'_>, m: f64, by: &Transport) {
    let p = c.ranks();
    let rest = p - (1 << p.ilog2());
    (0..rest).for_each(|i| message(c, 2 * i + 1, 2 * i, m, by, false));
    c.run();
}

pub(super) fn doubling_all_reduce(call: &Call<'_>, by: &Transport) -> f64 {
    let m = call.bytes;
    let mut c = PhaseClocks::new(call, by.buffers * m + by.cells);
    let by = &Transport { message_ns: by.message_ns * by.exchange, ..*by };
    let real = fold(&mut c, m, by);
    let mut mask = 1;
    while mask < real.len() {
        for i in 0..real.len() {
            message(&mut c, real[i], real[i ^ mask], m, by, true);
        }
        c.run();
        mask *= 2;
    }
    unfold(&mut c, m, by);
    c.mean_us()
}

pub(super) fn halving_all_reduce(call: &Call<'_>, by: &Transport) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    let mut c = PhaseClocks::new(call, by.buffers * m + by.cells);
    let by = &Transport { message_ns: by.message_ns * by.exchange, ..*by };
    (0..p).for_each(|r| {
        c.own_read(r, m);
        c.own_write(r, m);
    });
    c.run();
    let real = fold(&mut c, m, by);
    halve(&mut c, &real, m, by);
    let mut bytes = m / real.len() as f64;
    let mut mask = 1;
    while mask < real.len() {
        for i in 0..real.len() {
            message(&mut c, real[i], real[i ^ mask], bytes, by, false);
        }
        c.run();
        bytes *= 2.0;
        mask *= 2;
    }
    unfold(&mut c, m, by);
    c.mean_us()
}

/// Reduce-scatter by recursive halving: near partners first, as MPICH and Open MPI do.
fn halve(c: &mut PhaseClocks<'_>, real: &[usize], m: f64, by: &Transport) {
    let (mut mask, mut bytes) = (1, m / 2.0);
    while mask < real.len() {
        for i in 0..real.len() {
            message(c, real[i], real[i ^ mask], bytes, by, true);
        }
        c.run();
        bytes /= 2.0;
        mask *= 2;
    }
}

pub(super) fn binomial_broadcast(call: &Call<'_>, by: &Transport) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    let mut c = PhaseClocks::new(call, by.buffers * m + by.cells);
    let mut mask = p.next_power_of_two() / 2;
    while mask > 0 {
        for r in (0..p).filter(|r| r % (2 * mask) == 0 && r + mask < p) {
            message(&mut c, r, r + mask, m, by, false);
        }
        c.run();
        mask /= 2;
    }
    c.mean_us()
}

pub(super) fn scatter_broadcast(call: &Call<'_>, by: &Transport, doubles: bool) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    let mut c = PhaseClocks::new(call, by.buffers * m + by.cells);
    let part = m / p as f64;
    let mut mask = p.next_power_of_two() / 2;
    while mask > 0 {
        for r in (0..p).filter(|r| r % (2 * mask) == 0 && r + mask < p) {
            let parts = mask.min(p - r - mask) as f64;
            message(&mut c, r, r + mask, parts * part, by, false);
        }
        c.run();
        mask /= 2;
    }
    if doubles {
        let mut mask = 1;
        while mask < p {
            for r in 0..p {
                message(&mut c, r, r ^ mask, part * mask as f64, by, false);
            }
            c.run();
            mask *= 2;
        }
        return c.mean_us();
    }
    // p - 1 rounds alike, which the slowest pair paces: two are run, from an even start.
    let mut ring = PhaseClocks::new(call, by.buffers * m + by.cells);
    for _ in 0..2 {
        (0..p).for_each(|r| message(&mut ring, r, (r + 1) % p, part, by, false));
        ring.run();
    }
    let round = ring.at.iter().copied().fold(0.0, f64::max) / 2.0;
    c.mean_us() + round * (p - 1) as f64 / 1000.0
}

pub(super) fn binomial_reduce(call: &Call<'_>, by: &Transport) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    let mut c = PhaseClocks::new(call, by.buffers * m + by.cells);
    let mut mask = 1;
    while mask < p {
        for r in (0..p).filter(|r| r % (2 * mask) == 0 && r + mask < p) {
            message(&mut c, r + mask, r, m, by, true);
        }
        c.run();
        mask *= 2;
    }
    c.mean_us()
}

pub(super) fn halving_reduce(call: &Call<'_>, by: &Transport) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    let mut c = PhaseClocks::new(call, by.buffers * m + by.cells);
    (0..p).for_each(|r| {
        c.own_read(r, m);
        c.own_write(r, m);
    });
    c.run();
    let real = fold(&mut c, m, by);
    halve(&mut c, &real, m, by);
    let (mut mask, mut bytes) = (real.len() / 2, m / real.len() as f64);
    // A gather to the first, by halves of the rest.
    let mut step = 1;
    while mask > 0 {
        for i in (0..real.len()).filter(|i| i % (2 * step) == 0) {
            message(&mut c, real[i + step], real[i], bytes, by, false);
        }
        c.run();
        bytes *= 2.0;
        step *= 2;
        mask /= 2;
    }
    c.mean_us()
}

/// A tree in which a rank that has the vector gives it to `radix - 1` others at once.
pub(super) fn wide_broadcast(call: &Call<'_>, by: &Transport, radix: usize) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    let mut c = PhaseClocks::new(call, by.buffers * m + by.cells);
    let mut span = 1;
    while span * radix < p {
        span *= radix;
    }
    while span > 0 {
        for r in (0..p).step_by(span * radix) {
            for to in (1..radix).map(|i| r + i * span).filter(|to| *to < p) {
                message(&mut c, r, to, m, by, false);
            }
        }
        c.run();
        span /= radix;
    }
    c.mean_us()
}
