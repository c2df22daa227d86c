//! ext_mpi's compiled collectives: several radices, blocks read and written in mapped memory.

use super::clocks::PhaseClocks;
use super::node::{Call, Node};
use phalanx::schedule::Operation;

/// One set of parameters, as its authors' scripts set it: `EXT_MPI_COPYIN`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set {
    /// The bytes of a block; 0: the vector by the ranks.
    pub(super) block: f64,
    /// The radices, the first over the nearest ranks.
    pub(super) radices: Vec<usize>,
}

/// The operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    AllReduce,
    Broadcast,
    Reduce,
}

impl Kind {
    pub(super) fn operation(self) -> Operation {
        match self {
            Kind::AllReduce => Operation::AllReduce,
            Kind::Broadcast => Operation::Broadcast,
            Kind::Reduce => Operation::Reduce,
        }
    }
}

/// The bytes of each of `p` blocks: fixed ones with the rest in the last, or equal parts.
fn blocks(p: usize, m: f64, block: f64) -> Vec<f64> {
    if block == 0.0 {
        // Whole elements of 4 bytes.
        let elements = (m / 4.0) as usize;
        return (0..p)
            .map(|i| 4.0 * (elements / p + usize::from(i < elements % p)) as f64)
            .collect();
    }
    let mut rest = m;
    (0..p)
        .map(|i| {
            let own = if i + 1 == p { rest } else { block.min(rest) };
            rest -= own;
            own
        })
        .collect()
}

/// Where the rank of a place in the schedule sits: the first radix is of near ranks where the
/// product of all is the number of ranks, and of far ones otherwise (the cyclic form).
fn places(p: usize, radices: &[usize]) -> Vec<usize> {
    let mut place = vec![0; p];
    for (rank, to) in place.iter_mut().enumerate() {
        let (mut rest, mut size, mut at) = (rank, p, 0);
        for r in radices {
            size /= r;
            at += rest % r * size;
            rest /= r;
        }
        *to = at;
    }
    let mut rank_at = vec![0; p];
    place.iter().enumerate().for_each(|(rank, at)| rank_at[*at] = rank);
    rank_at
}

/// The microseconds of a call.
pub(super) fn time(
    call: &Call<'_>,
    kind: Kind,
    set: &Set,
    (call_ns, op_ns): ([f64; 3], f64),
) -> f64 {
    let &Call { node, p, bytes: m, .. } = call;
    let cyclic = set.radices.iter().product::<usize>() != p;
    // Its own vectors, and its reads and writes of those in other caches.
    let near = node.sharers as f64 / set.radices[0] as f64;
    let others = (1.0 - near).max(0.0);
    let own = match kind {
        Kind::Broadcast => 1.0,
        Kind::AllReduce => 2.0,
        // Its vector, and a cell for the input and one for the output.
        Kind::Reduce => 3.0,
    };
    let buffers = m * (others + own);
    let mut clocks = PhaseClocks::new(call, buffers);
    let at: Vec<usize> = if cyclic { (0..p).collect() } else { places(p, &set.radices) };
    let sizes = blocks(p, m, set.block);
    let mut stride = set.radices.iter().product::<usize>();
    let mut strides = Vec::new();
    for radix in &set.radices {
        stride /= radix;
        strides.push((*radix, stride));
    }
    // The blocks of a step of a place: within its stride, or from itself on.
    let span = |place: usize, stride: usize, len: usize| -> (usize, f64) {
        match cyclic {
            false => {
                let first = place / stride * stride;
                (1, sizes[first..first + stride].iter().sum())
            }
            true => (1, (0..len).map(|i| sizes[(place + i) % p]).sum()),
        }
    };
    let partner =
        |place: usize, radix: usize, stride: usize, sub: usize| -> Option<(usize, usize)> {
            match cyclic {
                false => {
                    // A tree's first ranks have all: whoever owns a block works for them.
                    let (own, base) = match kind {
                        Kind::AllReduce => {
                            (place / stride % radix, place / stride / radix * stride * radix)
                        }
                        _ => (0, 0),
                    };
                    (own != sub).then(|| (base + sub * stride + place % stride, stride))
                }
                true => {
                    let far = stride * sub;
                    let len = stride.min(p.saturating_sub(far));
                    (sub > 0 && len > 0).then(|| ((place + p - far % p) % p, len))
                }
            }
        };
    let call_ns = call_ns[kind as usize];
    clocks.at.iter_mut().for_each(|t| *t += call_ns);
    if kind == Kind::Reduce {
        // Copied into the shared segment first.
        (0..p).for_each(|place| {
            clocks.work(at[place], op_ns);
            clocks.own_read(at[place], m);
            // Lines that the next of its first group has read.
            clocks.write_cell(at[place], at[(place + strides[0].1) % p], m);
        });
        clocks.run();
    }
    let reduces = kind != Kind::Broadcast;
    if reduces {
        for (step, &(radix, stride)) in strides.iter().enumerate() {
            for place in 0..p {
                let (_, bytes) = span(place, stride, stride);
                if bytes > 0.0 {
                    clocks.work(at[place], op_ns);
                    if step == 0 && kind == Kind::AllReduce {
                        clocks.own_read(at[place], bytes);
                        clocks.own_write(at[place], bytes);
                    }
                }
                for sub in 0..radix {
                    let Some((from, len)) = partner(place, radix, stride, sub) else { continue };
                    let (_, bytes) = span(place, stride, len);
                    if bytes > 0.0 {
                        clocks.wait(at[place], at[from]);
                        clocks.work(at[place], op_ns);
                        match kind {
                            Kind::Reduce => clocks.read_cell(at[place], at[from], bytes),
                            _ => clocks.read(at[place], at[from], bytes),
                        }
                        clocks.again(at[place], bytes, true);
                    }
                }
            }
            clocks.run();
        }
    }
    if kind != Kind::Reduce {
        for &(radix, stride) in strides.iter().rev() {
            let mut from: Vec<(usize, usize)> = Vec::new();
            for place in 0..p {
                // A broadcast's rank copies its part from the first of its group to the others.
                let source = place % stride;
                if kind == Kind::Broadcast && source != place && span(place, stride, stride).1 > 0.0
                {
                    if stride == 1 {
                        clocks.wait(at[place], at[source]);
                    }
                    clocks.read(at[place], at[source], span(place, stride, stride).1);
                }
                for sub in 0..radix {
                    let Some((to, len)) = partner(place, radix, stride, sub) else { continue };
                    let (_, bytes) = span(place, stride, len);
                    if bytes > 0.0 {
                        clocks.work(at[place], op_ns);
                        clocks.again(at[place], bytes, false);
                        clocks.write(at[place], at[to], bytes);
                        from.push((at[to], at[place]));
                    }
                }
            }
            clocks.run();
            from.into_iter().for_each(|(to, by)| {
                clocks.wait(to, by);
                clocks.work(to, 0.2 * op_ns);
            });
            clocks.run();
        }
    }
    clocks.mean_us()
}

/// The sets of radices for so many ranks: those that the authors ran where they did, and for other
/// numbers the sets of the next number of full packages, in the cyclic form.
pub(super) fn sets(node: &Node, p: usize, kind: Kind) -> Vec<Set> {
    let small: &[f64] = match kind {
        Kind::AllReduce => &[256.0],
        Kind::Reduce => &[256.0],
        Kind::Broadcast => &[256.0, 1024.0, 4096.0],
    };
    let whole: Vec<Vec<usize>> = match (node.packages, p > node.cores) {
        (2, _) => match kind {
            Kind::AllReduce => vec![vec![16, 4, 2], vec![4, 4, 4, 2]],
            _ => vec![vec![16, 4, 2]],
        },
        (_, false) => match kind {
            Kind::AllReduce => vec![vec![9, 8], vec![72]],
            _ => vec![vec![9, 8], vec![72]],
        },
        (_, true) => match kind {
            Kind::AllReduce => vec![vec![9, 8, 4], vec![72, 4]],
            _ => vec![vec![9, 8, 4], vec![72, 4]],
        },
    };
    let mut all = Vec::new();
    for radices in whole {
        small.iter().for_each(|&block| all.push(Set { block, radices: radices.clone() }));
        all.push(Set { block: 0.0, radices });
    }
    all
}
