//! Synch_global: all ranks' strings, one after the other, are one string, of which each rank then
//! takes every p-th letter. It is measured how often a second all can have heard of all.

use super::kernel::{Check, Kernel, Outcome, Unit, timed};
use phalanx::Comm;
use phalanx::dist::{BlockCyclic, Distribution};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SynchGlobal {
    /// Letters of the whole string
    #[arg(default_value_t = 10_000)]
    pub(crate) length: usize,
}

impl Kernel for SynchGlobal {
    const NAME: &str = "synch_global";
    const ITERATIONS: u32 = 20_000;
    const UNIT: Unit = Unit::Synchronisation;

    fn fits(&self, ranks: usize) -> Result<(), String> {
        if self.length < ranks {
            let length = self.length;
            return Err(format!(
                "a string of {length} letters for {ranks} ranks; at least one each"
            ));
        }
        Ok(())
    }

    fn work(&self, _: usize) -> f64 {
        1.0
    }

    fn sizes(&self) -> Vec<usize> {
        vec![self.length]
    }

    fn title(&self) -> String {
        format!("synch_global {}", self.length)
    }

    fn run(&self, comm: &mut Comm, _: &mut [f64], iterations: u32) -> Outcome {
        let (rank, p) = (comm.rank(), comm.size());
        // As many letters as are taken: those of numbers rank, rank + p, ..
        let counts = BlockCyclic::new(self.length, 1, p).counts();
        let own = counts[rank];
        let letter = |i: usize| b'0' + ((i * 27 + rank) % 10) as u8;
        let mut mine: Vec<u8> = (0..own).map(letter).collect();
        let mut whole = vec![0; self.length];
        let digits = |comm: &mut Comm, mine: &[u8]| {
            let [sum] = comm.sum([mine.iter().map(|&l| u64::from(l - b'0')).sum::<u64>()]);
            sum as f64
        };
        let expected = digits(comm, &mine);
        let seconds = timed(comm, iterations, |comm| {
            if self.length.is_multiple_of(p) {
                comm.all_gather_into(&mine, &mut whole);
            } else {
                comm.all_gather_varied_into(&mine, &mut whole, &counts);
            }
            take(&whole[rank..], p, &mut mine);
        });
        let found = digits(comm, &mine);
        Outcome { seconds, check: Check::absolute(found, expected, 0.0) }
    }
}

/// Every `p`th letter, from the first on; of pairs with vectors.
fn take(whole: &[u8], p: usize, to: &mut [u8]) {
    if p == 2 {
        let (pairs, last) = whole.as_chunks::<2>();
        let (to, end) = to.split_at_mut(pairs.len());
        to.iter_mut().zip(pairs).for_each(|(to, pair)| *to = pair[0]);
        end.copy_from_slice(last);
        return;
    }
    to.iter_mut().zip(whole.chunks(p)).for_each(|(to, turn)| *to = turn[0]);
}
