//! Takes turns with other programs: measures slices of rows as it is asked for them. Between two
//! slices the ranks sleep, as between any two runs of a team, and rank 0 reads.

use super::cases::{BenchRequest, parse_operation};
use super::interleave::floor;
use super::sample::{Round, SampleCase, Tools, measure};
use super::turn_protocol::{BACK_TO_BACK, TurnAnswer, TurnCommand, TurnRow, TurnSlice};
use crate::failure::Failure;
use crate::measure::caches::CachesAsked;
use crate::measure::proximity::Proximity;
use phalanx::Team;
use phalanx_model::median;
use std::io::{BufRead, Write};
use std::time::Duration;

/// Samples of a slice at least, however long they take.
const FEWEST_OF_SLICE: usize = 3;

/// From the end of a run until the workers sleep, with room: they spin for a moment, in which the
/// next program's turn must not begin.
const ASLEEP: Duration = Duration::from_micros(200);

/// A team that is asked for slices.
pub(crate) struct TurnServer<'a> {
    team: &'a Team,
    tools: &'a Tools,
    /// The common part of all rows.
    request: &'a BenchRequest,
    /// Slices so far.
    slices: usize,
}

impl<'a> TurnServer<'a> {
    pub(crate) fn new(team: &'a Team, tools: &'a Tools, request: &'a BenchRequest) -> Self {
        TurnServer { team, tools, request, slices: 0 }
    }

    /// Answers until it is told to end.
    pub(crate) fn serve(mut self) -> Result<(), Failure> {
        answer(&TurnAnswer::Ready)?;
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(|e| Failure::Run(format!("no command can be read: {e}")))?;
            answer(&match line.parse().map_err(Failure::Usage)? {
                TurnCommand::Place => TurnAnswer::Place(self.place()?),
                TurnCommand::Slice(row, time) => self.slice(row, time)?,
                TurnCommand::End => break,
            })?;
        }
        Ok(())
    }

    fn place(&self) -> Result<Proximity, Failure> {
        let ns = floor(self.team, self.tools)?;
        Ok(ns.map_or(Proximity::Any, |ns| self.tools.limits.place(ns)))
    }

    fn slice(&mut self, row: TurnRow, time: Duration) -> Result<TurnAnswer, Failure> {
        let Some(case) = self.case(&row)? else { return Ok(TurnAnswer::Absent(row)) };
        self.slices += 1;
        // Never the first round of a row: its warm-up may take any time.
        let (number, fewest) = (self.slices, FEWEST_OF_SLICE);
        let round = Round { number, samples: None, time, fewest };
        let measured = measure(self.team, &case, round, self.tools)?;
        let cores = measured.used.map(|it| it.as_secs_f64() / measured.took.as_secs_f64());
        let record = measured.record;
        std::thread::sleep(ASLEEP);
        let filed = record.by_place(&self.tools.limits);
        let [one] = &filed[..] else { return Ok(TurnAnswer::Moved(row)) };
        let ns = one.samples.clone();
        if ns.is_empty() || ns.len() < record.all().len() {
            return Ok(TurnAnswer::Moved(row));
        }
        let slice = TurnSlice {
            place: one.place,
            samples: ns.len(),
            larger: case.shape.count * case.ty.size(),
            ns_min: ns.iter().copied().fold(f64::INFINITY, f64::min),
            ns_median: median(&ns),
            cores,
        };
        Ok(TurnAnswer::Slice(row, slice))
    }

    /// The case that is measured for a row; none if there is no such row.
    fn case(&self, row: &TurnRow) -> Result<Option<SampleCase>, Failure> {
        let (name, single) = match row.op.strip_suffix(BACK_TO_BACK) {
            Some(name) => (name, false),
            None => (row.op.as_str(), true),
        };
        let Ok(measured) = parse_operation(name) else { return Ok(None) };
        let mut request = self.request.clone();
        request.operations = vec![measured];
        request.sizes = vec![row.bytes.max(1)];
        request.caches = CachesAsked::One(row.caches);
        request.effort.calls = single.then_some(1);
        let plan = request.plan(self.team.size())?;
        Ok(plan.cases.into_iter().find(|case| single || case.shape.sets > 1))
    }
}

fn answer(answer: &TurnAnswer) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{answer}")?;
    Ok(out.flush()?)
}
