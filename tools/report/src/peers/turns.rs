//! The turns: row by row, one slice of each program after the other, in rotating order, so that
//! a change on the machine meets all of them.

use super::contenders::{Ask, Contender, operations_of};
use super::player::Player;
use super::raw::Raw;
use phalanx_bench::bench::LARGEST_WITH_LANES;
use phalanx_bench::bench::turn_protocol::{
    BACK_TO_BACK, TurnAnswer, TurnCommand, TurnRow, TurnSlice,
};
use phalanx_bench::interrupt;
use phalanx_bench::measure::caches::CacheState;
use phalanx_bench::measure::proximity::Proximity;
use std::time::{Duration, Instant};

/// Turns of each row in a round.
pub(crate) const TURNS: usize = 3;
/// How often a row is visited in a round for each turn that it needs, where the cores move
/// meanwhile.
const VISITS: usize = 4;

/// How long everything may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnPace {
    pub(crate) rounds: usize,
    /// The time of a slice, if its fewest samples do not need more.
    pub(crate) slice: Duration,
    /// The time of all rows.
    pub(crate) limit: Duration,
    /// How long a program may take to answer.
    pub(crate) answer: Duration,
}

/// A program that takes part. It has no player any more when it was dropped.
#[derive(Debug)]
struct Entrant {
    contender: Contender,
    player: Option<Player>,
}

/// The calls that are compared.
#[derive(Clone, Debug, PartialEq)]
struct PlannedRow {
    /// MPI's name.
    op: &'static str,
    back_to_back: bool,
    bytes: usize,
    caches: CacheState,
}

/// One program's way to do a row.
#[derive(Debug)]
struct TurnCell {
    entrant: usize,
    /// The program's name of the operation.
    name: String,
    absent: bool,
    /// Slices at each place, in the order of [`Proximity::ALL`].
    slices: [usize; Proximity::ALL.len()],
}

/// The rows and the programs of one number of ranks.
pub(crate) struct Turns<'a> {
    ask: &'a Ask,
    pace: TurnPace,
    entrants: Vec<Entrant>,
    rows: Vec<(PlannedRow, Vec<TurnCell>)>,
    found: TurnsFound,
}

/// The results.
#[derive(Debug, Default)]
pub(crate) struct TurnsFound {
    pub(crate) rows: Vec<Raw>,
    /// Programs that were dropped or ended badly, and why.
    pub(crate) failed: Vec<(String, String)>,
    /// The programs' own words.
    pub(crate) notes: Vec<String>,
    /// Rows that some program has too few slices of, and all rows.
    pub(crate) short: usize,
    pub(crate) planned: usize,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextTurn {
    Row(usize),
    /// The cores are not where a row is missing.
    Wait,
    Done,
}

impl<'a> Turns<'a> {
    /// For these programs, which are ready.
    pub(crate) fn new(ask: &'a Ask, pace: TurnPace, players: Vec<(Contender, Player)>) -> Self {
        let entrant = |(contender, player)| Entrant { contender, player: Some(player) };
        let entrants: Vec<Entrant> = players.into_iter().map(entrant).collect();
        let cells = |row: &PlannedRow| {
            let mut cells = Vec::new();
            for (entrant, it) in entrants.iter().enumerate() {
                cells.extend(it.contender.names(row.op).into_iter().map(|name| TurnCell {
                    entrant,
                    name,
                    absent: false,
                    slices: [0; Proximity::ALL.len()],
                }));
            }
            cells
        };
        let rows = planned(ask).into_iter().map(|row| {
            let cells = cells(&row);
            (row, cells)
        });
        let rows: Vec<_> = rows.collect();
        let found = TurnsFound { planned: rows.len(), ..TurnsFound::default() };
        Turns { ask, pace, entrants, rows, found }
    }

    /// Visits of rows, if the cores do not move.
    pub(crate) fn visits(&self) -> usize {
        self.rows.len() * self.pace.rounds * TURNS * self.ask.places.len().max(1)
    }

    /// Takes all turns, and ends the programs. `step` hears of each.
    pub(crate) fn play(mut self, mut step: impl FnMut(&str)) -> TurnsFound {
        let started = Instant::now();
        let mut naps = (100..8000).step_by(1931).map(Duration::from_micros).cycle();
        let mut here = self.look();
        let rounds = self.pace.rounds;
        for round in 1..=rounds {
            let mut visits = vec![0; self.rows.len()];
            let until = self.pace.limit.mul_f64(round as f64 / rounds as f64);
            while !interrupt::asked() && started.elapsed() < until {
                match self.next(here, round * TURNS, &visits) {
                    NextTurn::Row(row) => {
                        step(&self.what(row, round));
                        here = self.visit(row, here, round * TURNS, visits[row]);
                        visits[row] += 1;
                    }
                    NextTurn::Wait => {
                        // Asleep, so that the host may move the cores.
                        naps.by_ref().take(1).for_each(std::thread::sleep);
                        here = self.look();
                    }
                    NextTurn::Done => break,
                }
            }
        }
        self.found.short = self.short(rounds * TURNS);
        self.end();
        self.found
    }

    fn what(&self, row: usize, round: usize) -> String {
        let (row, rounds, ranks) = (&self.rows[row].0, self.pace.rounds, self.ask.ranks);
        let (op, bytes, caches) = (row.op, row.bytes, row.caches);
        format!("round {round} of {rounds}, p = {ranks}: {op} {bytes} {caches}")
    }

    /// Whether a cell has too few slices at this place.
    fn lacks(&self, cell: &TurnCell, place: Proximity, wanted: usize) -> bool {
        if cell.absent || self.entrants[cell.entrant].player.is_none() {
            return false;
        }
        if self.ask.places.is_empty() {
            return cell.slices.iter().sum::<usize>() < wanted;
        }
        self.ask.places.contains(&place) && cell.slices[index(place)] < wanted
    }

    fn lacks_somewhere(&self, cell: &TurnCell, wanted: usize) -> bool {
        Proximity::ALL.into_iter().any(|place| self.lacks(cell, place, wanted))
    }

    fn next(&self, here: Proximity, wanted: usize, visits: &[usize]) -> NextTurn {
        let most = VISITS * TURNS * self.ask.places.len().max(1);
        let open = || self.rows.iter().enumerate().filter(|(row, _)| visits[*row] < most);
        let lacks_here = |cells: &[TurnCell]| cells.iter().any(|c| self.lacks(c, here, wanted));
        let lacks = |cells: &[TurnCell]| cells.iter().any(|c| self.lacks_somewhere(c, wanted));
        match open().find(|(_, (_, cells))| lacks_here(cells)) {
            Some((row, _)) => NextTurn::Row(row),
            None if open().any(|(_, (_, cells))| lacks(cells)) => NextTurn::Wait,
            None => NextTurn::Done,
        }
    }

    /// One turn of each program that lacks one here. Returns where the cores are then.
    fn visit(&mut self, row: usize, from: Proximity, wanted: usize, turn: usize) -> Proximity {
        let mut here = from;
        let cells = self.rows[row].1.len();
        for k in 0..cells {
            let at = (k + turn) % cells;
            let (planned, cell) = (&self.rows[row].0, &self.rows[row].1[at]);
            if !self.lacks(cell, here, wanted) || interrupt::asked() {
                continue;
            }
            let end = if planned.back_to_back { BACK_TO_BACK } else { "" };
            let op = format!("{}{end}", cell.name);
            let asked = TurnRow { op, bytes: planned.bytes, caches: planned.caches };
            let entrant = cell.entrant;
            let command = TurnCommand::Slice(asked.clone(), self.pace.slice);
            match self.tell(entrant, &command) {
                Some(TurnAnswer::Slice(of, slice)) if of == asked => {
                    here = slice.place;
                    self.file(row, at, &slice);
                }
                Some(TurnAnswer::Moved(of)) if of == asked => here = self.look(),
                Some(TurnAnswer::Absent(of)) if of == asked => self.rows[row].1[at].absent = true,
                Some(other) => {
                    self.drop_entrant(entrant, format!("'{command}' was answered by '{other}'"));
                }
                None => {}
            }
        }
        here
    }

    fn file(&mut self, row: usize, at: usize, slice: &TurnSlice) {
        let (planned, cells) = &mut self.rows[row];
        let cell = &mut cells[at];
        cell.slices[index(slice.place)] += 1;
        let contender = &self.entrants[cell.entrant].contender;
        let name = if contender.is_ours() { planned.op } else { &cell.name };
        let op = format!("{name}{}", if planned.back_to_back { BACK_TO_BACK } else { "" });
        let raw = Raw::new(&contender.library, op, self.ask.ranks, planned.caches, slice);
        self.found.rows.push(raw);
    }

    /// Where the cores are, as the first program says.
    fn look(&mut self) -> Proximity {
        while let Some(entrant) = self.entrants.iter().position(|it| it.player.is_some()) {
            match self.tell(entrant, &TurnCommand::Place) {
                Some(TurnAnswer::Place(place)) => return place,
                Some(other) => {
                    self.drop_entrant(entrant, format!("'place' was answered by '{other}'"));
                }
                None => {}
            }
        }
        Proximity::Any
    }

    /// Its answer; none if it gave none, and was dropped.
    fn tell(&mut self, entrant: usize, command: &TurnCommand) -> Option<TurnAnswer> {
        let limit = self.pace.answer + self.pace.slice;
        let answer = self.entrants[entrant].player.as_mut()?.ask(command, limit);
        answer.map_err(|why| self.drop_entrant(entrant, format!("'{command}': {why}"))).ok()
    }

    fn drop_entrant(&mut self, entrant: usize, why: String) {
        let Entrant { contender, player } = &mut self.entrants[entrant];
        if let Some(player) = player.take() {
            self.found.failed.push((contender.library.clone(), player.drop_for(why)));
        }
    }

    /// Rows that some program has too few slices of.
    fn short(&self, wanted: usize) -> usize {
        let is_short =
            |cells: &Vec<TurnCell>| cells.iter().any(|c| self.lacks_somewhere(c, wanted));
        self.rows.iter().filter(|(_, cells)| is_short(cells)).count()
    }

    fn end(&mut self) {
        let players = self.entrants.iter_mut().filter_map(|it| it.player.as_mut());
        players.for_each(Player::dismiss);
        for Entrant { contender, player } in &mut self.entrants {
            let Some((ended, said)) = player.take().map(Player::end) else { continue };
            let notes = said.iter().filter_map(|line| line.strip_prefix("# "));
            self.found.notes.extend(notes.map(|note| format!("{}: {note}", contender.library)));
            if let Err(why) = ended {
                self.found.failed.push((contender.library.clone(), why));
            }
        }
    }
}

fn index(place: Proximity) -> usize {
    Proximity::ALL.iter().position(|it| *it == place).unwrap_or(0)
}

/// All rows, in the order of the operations. Ranks that share cores have single calls only.
fn planned(ask: &Ask) -> Vec<PlannedRow> {
    let mut rows = Vec::new();
    for op in operations_of(ask) {
        let sizes: &[usize] = if op.ends_with("barrier") { &[0] } else { &ask.sizes };
        for &bytes in sizes {
            for &caches in ask.caches.states() {
                let several = !ask.is_crowded() && bytes <= LARGEST_WITH_LANES;
                let ways: &[bool] = if several { &[false, true] } else { &[false] };
                let row = |&back_to_back| PlannedRow { op, back_to_back, bytes, caches };
                rows.extend(ways.iter().map(row));
            }
        }
    }
    rows
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::player::tests::shell;
    use super::*;
    use phalanx_bench::measure::caches::CachesAsked;
    use phalanx_bench::measure::proximity::ProximityLimits;

    const LONG: Duration = Duration::from_secs(60);

    fn ask(places: &[Proximity]) -> Ask {
        Ask {
            ranks: 2,
            pus: vec![0, 1],
            ops: vec!["barrier".to_string(), "scan".to_string()],
            sizes: vec![8, 1 << 20],
            caches: CachesAsked::One(CacheState::Cold),
            places: places.to_vec(),
            limits: ProximityLimits::default(),
        }
    }

    /// A program that has single calls only, and of them no variants; `$n` counts the commands.
    fn program(slice: &str) -> String {
        format!(
            "echo ready; n=0; while read what op bytes caches ms; do n=$((n+1)); \
             case \"$what $op\" in end*) exit 0;; place*) echo place ccx;; \
             *_*|*b2b) echo absent $op $bytes $caches;; *) {slice};; esac; done"
        )
    }

    const GOOD: &str = "echo slice $op $bytes $caches ccx 5 $bytes 90.0 10$((n%10)).0";

    fn play(ask: &Ask, programs: &[(&str, &str)], answer: Duration) -> TurnsFound {
        let players = programs.iter().map(|(library, slice)| {
            let player = Player::start(shell(&program(slice)), LONG).unwrap();
            (Contender::for_test(library), player)
        });
        let slice = Duration::from_millis(1);
        let pace = TurnPace { rounds: 2, slice, limit: LONG, answer };
        Turns::new(ask, pace, players.collect()).play(|_| ())
    }

    fn slices(found: &TurnsFound, library: &str, op: &str) -> usize {
        found.rows.iter().filter(|row| row.library == library && row.op == op).count()
    }

    #[test]
    fn every_program_has_its_turns_of_every_row() {
        let ask = ask(&[Proximity::Ccx]);
        let found = play(&ask, &[("floor", GOOD), ("mpich", GOOD)], LONG);
        assert_eq!((found.failed.len(), found.short), (0, 0), "{:?}", found.failed);
        // Barrier and 8 bytes also back to back.
        assert_eq!(found.planned, 5);
        for library in ["floor", "mpich"] {
            assert_eq!(slices(&found, library, "barrier"), 2 * TURNS);
            assert_eq!(slices(&found, library, "scan"), 2 * 2 * TURNS);
        }
        assert!(found.rows.iter().all(|row| row.caches == CacheState::Cold));
        // Nobody always follows the same one.
        let first: Vec<&str> = found.rows.chunks(2).map(|two| two[0].library.as_str()).collect();
        assert!(first.contains(&"floor") && first.contains(&"mpich"), "{first:?}");
    }

    #[test]
    fn those_that_die_hang_or_babble_are_dropped_and_the_others_go_on() {
        let ask = ask(&[]);
        let found = play(
            &ask,
            &[
                ("dies", "echo oh >&2; exit 9"),
                ("hangs", "sleep 1000"),
                ("babbles", "echo hello"),
                ("lies", "echo slice other $bytes $caches ccx 5 8 90.0 100.0"),
                ("mpich", GOOD),
            ],
            Duration::from_millis(300),
        );
        assert_eq!(slices(&found, "mpich", "scan"), 2 * 2 * TURNS);
        assert!(found.rows.iter().all(|row| row.library == "mpich"));
        let why = |library: &str| {
            let why: Vec<_> = found.failed.iter().filter(|it| it.0 == library).collect();
            assert_eq!(why.len(), 1, "{library}: {:?}", found.failed);
            why[0].1.clone()
        };
        assert!(why("dies").contains("ended by itself") && why("dies").ends_with("oh"));
        assert!(why("hangs").contains("gave no answer in its time"));
        assert!(why("babbles").contains("'hello' is no answer"));
        assert!(why("lies").contains("was answered by 'slice other "));
    }

    #[test]
    fn a_place_that_does_not_come_ends_with_the_time() {
        let ask = ask(&[Proximity::Ccx, Proximity::Far]);
        let player = Player::start(shell(&program(GOOD)), LONG).unwrap();
        let players = vec![(Contender::for_test("floor"), player)];
        let pace = TurnPace {
            rounds: 1,
            slice: Duration::from_millis(1),
            limit: Duration::from_secs(1),
            answer: LONG,
        };
        let found = Turns::new(&ask, pace, players).play(|_| ());
        assert_eq!((found.short, found.planned), (5 - 2, 5));
        assert!(found.rows.iter().all(|row| row.place == Proximity::Ccx));
    }

    #[test]
    fn cores_that_move_cost_the_slice() {
        let ask = ask(&[Proximity::Ccx]);
        let moves =
            format!("if [ $((n%3)) = 0 ]; then echo moved $op $bytes $caches; else {GOOD}; fi");
        let found = play(&ask, &[("floor", &moves)], LONG);
        assert_eq!((slices(&found, "floor", "scan"), found.short), (2 * 2 * TURNS, 0));
    }
}
