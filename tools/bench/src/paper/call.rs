//! A call on paper: number of ranks, mesh, root, distance.

use crate::failure::Failure;
use phalanx::schedule::{Algorithm, Operation, Request, Schedule, Unfit};
use phalanx::topology::{BadExtents, Extents};

/// The most words of a vector or block: products with numbers of blocks stay
/// far from overflow.
const MOST_WORDS: u64 = 1 << 32;

/// The call that is asked of an algorithm.
#[derive(Debug, clap::Args)]
pub(crate) struct CallArgs {
    /// Number of ranks [default: those of --dims]
    #[arg(short = 'p', long, allow_negative_numbers = true, value_parser = parse_ranks)]
    ranks: Option<usize>,
    /// The mesh, row by row, the last extent fastest [default: the squarest]
    #[arg(long, value_name = "ROWSxCOLUMNS", value_parser = parse_dims)]
    pub(crate) dims: Option<Extents>,
    /// m: words of the vector, or of one block where there are p
    #[arg(long, value_name = "M", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = parse_words)]
    pub(crate) words: u64,
    /// Root of broadcast, reduce, scatter and gather
    #[arg(long, value_name = "RANK", default_value = "0", allow_negative_numbers = true)]
    #[arg(value_parser = parse_root)]
    root: usize,
    /// Distance of a shift, taken mod p; negative goes backwards
    #[arg(long, value_name = "Q", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = parse_shift)]
    shift: isize,
    /// Of a scan: without the own value
    #[arg(long)]
    exclusive: bool,
}

impl CallArgs {
    /// The number of ranks.
    pub(crate) fn ranks(&self) -> Result<usize, Failure> {
        match (self.ranks, &self.dims) {
            (Some(p), _) => Ok(p),
            (None, Some(dims)) => Ok(dims.ranks()),
            (None, None) => Err(Failure::usage("say how many ranks: -p RANKS")),
        }
    }

    /// The call of `operation`.
    pub(crate) fn request(&self, operation: Operation) -> Result<Request, Failure> {
        let operation = match (operation, self.exclusive) {
            (Operation::Scan | Operation::ExclusiveScan, true) => Operation::ExclusiveScan,
            (other, true) => {
                return Err(Failure::usage(format!("--exclusive is for scans, not for {other}")));
            }
            (other, false) => other,
        };
        let ranks = self.ranks()?;
        if let Some(dims) = self.dims.clone().filter(|dims| dims.ranks() != ranks) {
            // Of algorithms that are not for meshes, too.
            return Err(Failure::usage(Unfit::Extents { dims, ranks }));
        }
        let mut request = Request::new(operation, ranks).root(self.root).shift(self.shift);
        request.dims = self.dims.clone();
        Ok(request)
    }

    /// The schedule of `algorithm`, or the rule that the call breaks.
    pub(crate) fn schedule(&self, algorithm: Algorithm) -> Result<(Request, Schedule), Failure> {
        let request = self.request(algorithm.operations()[0])?;
        let schedule = algorithm.schedule(&request).map_err(Failure::usage)?;
        Ok((request, schedule))
    }
}

/// The mesh that an algorithm lays a call's ranks out as, if it does so.
pub(crate) fn mesh(algorithm: Algorithm, request: &Request) -> Option<Extents> {
    let squarest = || Extents::squarest(request.ranks);
    algorithm.uses_dims().then(|| request.dims.clone().unwrap_or_else(squarest))
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    let ranks = text.parse().ok().filter(|&p| p > 0);
    ranks
        .ok_or_else(|| format!("'{text}' is no number of ranks; accepted are whole numbers from 1"))
}

/// Reads a mesh.
pub(crate) fn parse_dims(text: &str) -> Result<Extents, String> {
    text.parse().map_err(|e: BadExtents| e.to_string())
}

fn parse_words(text: &str) -> Result<u64, String> {
    let words = text.parse().ok().filter(|&m| m <= MOST_WORDS);
    words.ok_or_else(|| {
        format!("'{text}' is no number of words; accepted are whole numbers up to {MOST_WORDS}")
    })
}

fn parse_root(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("'{text}' is no rank; accepted are 0 to p - 1"))
}

fn parse_shift(text: &str) -> Result<isize, String> {
    text.parse().map_err(|_| format!("'{text}' is no distance; accepted are whole numbers"))
}
