//! The timeline as a picture for a page of text: `-o timeline.svg`. A track for each rank, in
//! columns as high as the track, each with the shares of the rank's activities in that time.

use crate::page;
use crate::perfetto::{colour, colour_names};
use crate::record::Run;
use crate::summary::Summary;
use crate::timeline;
use crate::wait_state::{self, WaitState};
use phalanx_cli::markup::escape;
use std::fmt::Write as _;
use std::path::Path;

/// Pixels from the left to the tracks, of all tracks' width, of a track's height, and to the next
/// one.
const LEFT: u64 = 64;
const WIDTH: u64 = 800;
const HEIGHT: u64 = 40;
const STEP: u64 = 56;
const TOP: u64 = 56;
/// Tracks, at most: the first ranks.
const TRACKS: usize = 16;
/// Columns of all tracks together, and of one, at most: so the file stays small.
const CELLS: u64 = 1000;
const COLUMNS: u64 = 400;
/// Arrows from late ranks are drawn if there are no more in view.
const ARROWS: usize = 40;
/// Work, transfer, the states of waiting, and a late start.
const COLOURS: usize = 3 + WaitState::ALL.len();

/// A rank's activities in each column.
type Column = [u64; COLOURS];

/// The picture of the nanoseconds `begin..end` of the run; `begin` is less than `end`.
pub fn svg(run: &Run, summary: &Summary, (begin, end): (u64, u64)) -> String {
    let tracks = summary.lines.len().min(TRACKS);
    let columns = (CELLS / tracks.max(1) as u64).min(COLUMNS);
    let view = View { begin, end, columns };
    let mut used = [false; COLOURS];
    let mut body = String::new();
    for rank in 0..tracks {
        let top = TOP + STEP * rank as u64;
        text(&mut body, (LEFT - 8, top + HEIGHT / 2 + 4), "end", &format!("rank {rank}"));
        let all = track(summary, rank, &view);
        for (number, used) in used.iter_mut().enumerate() {
            let path = areas(&all, number, top, &view);
            if !path.is_empty() {
                *used = true;
                let fill = page::light_colour(number);
                let _ = writeln!(body, "<path fill=\"{fill}\" d=\"{path}\"/>");
            }
        }
        let path = on_path(summary, rank, top + HEIGHT + 2, &view);
        if !path.is_empty() {
            let _ = writeln!(body, "<path fill=\"#1b2733\" d=\"{path}\"/>");
        }
    }
    arrows(&mut body, summary, tracks, &view);
    let below = TOP + STEP * tracks as u64;
    for part in 0..=4 {
        let (x, time) = (LEFT + WIDTH * part / 4, begin + (end - begin) * part / 4);
        let anchor = ["start", "middle", "middle", "middle", "end"][part as usize];
        text(&mut body, (x, below + 8), anchor, &timeline::time(time));
    }
    let mut x = LEFT;
    let mut mark = |body: &mut String, name: &str, fill: &str, height: u64| {
        let y = below + 30 - height;
        let _ = writeln!(body, "<path fill=\"{fill}\" d=\"{}\"/>", area((x, y), (12, height)));
        text(body, (x + 16, below + 30), "start", name);
        x += 30 + 7 * name.len() as u64;
    };
    for (number, name) in colour_names().enumerate().filter(|(number, _)| used[*number]) {
        mark(&mut body, name, page::light_colour(number), 10);
    }
    mark(&mut body, "critical path", "#1b2733", 3);
    let program = Path::new(&run.program).file_name().unwrap_or_default().to_string_lossy();
    let ranks = summary.lines.len();
    let shown =
        if tracks < ranks { format!(", of which {tracks} are shown") } else { String::new() };
    let title = format!("{program}: {ranks} ranks{shown}");
    text(&mut body, (LEFT, 28), "start", &title);
    let (width, height) = (LEFT + WIDTH + 16, below + 44);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\" \
         fill=\"#1b2733\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// The part of the run that is shown.
struct View {
    begin: u64,
    end: u64,
    columns: u64,
}

impl View {
    /// When column `number` begins.
    fn time(&self, number: u64) -> u64 {
        let span = u128::from(self.end - self.begin);
        self.begin + (span * u128::from(number) / u128::from(self.columns)) as u64
    }

    /// The pixels of column `number`.
    fn x(&self, number: u64) -> u64 {
        LEFT + WIDTH * number / self.columns
    }

    /// The pixels of a moment.
    fn x_of(&self, time: u64) -> u64 {
        let since = u128::from(time.clamp(self.begin, self.end) - self.begin);
        LEFT + (since * u128::from(WIDTH) / u128::from(self.end - self.begin)) as u64
    }

    /// Adds to each column the part of it in `begin..end`.
    fn add(&self, (begin, end): (u64, u64), mut add: impl FnMut(usize, u64)) {
        let (begin, end) = (begin.max(self.begin), end.min(self.end));
        if begin >= end {
            return;
        }
        let span = u128::from(self.end - self.begin);
        let first = u128::from(begin - self.begin) * u128::from(self.columns) / span;
        for column in first as u64..self.columns {
            let from = self.time(column);
            if from >= end {
                break;
            }
            let part = end.min(self.time(column + 1)).saturating_sub(begin.max(from));
            add(column as usize, part);
        }
    }
}

/// The activities of `rank`, by columns.
fn track(summary: &Summary, rank: usize, view: &View) -> Vec<Column> {
    let mut all = vec![[0; COLOURS]; view.columns as usize];
    for part in wait_state::parts(&summary.lines[rank], &summary.late[rank]) {
        let number = usize::from(colour(part.doing, summary, rank));
        view.add((part.begin, part.end), |column, time| all[column][number] += time);
    }
    all
}

/// The pixels from the track's lower side up to the share of the colours before `number`.
fn up_to(column: &Column, number: usize, length: u64) -> u64 {
    let before: u64 = column[..number].iter().sum();
    (HEIGHT * before + length / 2) / length.max(1)
}

/// The areas of one colour in a track: equal columns beside each other are one.
fn areas(all: &[Column], number: usize, top: u64, view: &View) -> String {
    let mut path = String::new();
    let place = |at: usize| {
        let length = view.time(at as u64 + 1) - view.time(at as u64);
        (up_to(&all[at], number, length), up_to(&all[at], number + 1, length))
    };
    runs(all.len(), place, |first, next, (low, high)| {
        if low < high {
            let (left, right) = (view.x(first as u64), view.x(next as u64));
            path += &area((left, top + HEIGHT.saturating_sub(high)), (right - left, high - low));
        }
    });
    path
}

/// The time of `rank` on the critical path, as a line.
fn on_path(summary: &Summary, rank: usize, top: u64, view: &View) -> String {
    let mut all = vec![0; view.columns as usize];
    for piece in summary.pieces.iter().filter(|piece| piece.rank == rank) {
        view.add((piece.begin, piece.end), |column, time| all[column] += time);
    }
    let place = |at: usize| 2 * all[at] > view.time(at as u64 + 1) - view.time(at as u64);
    let mut path = String::new();
    runs(all.len(), place, |first, next, is_on| {
        if is_on {
            let (left, right) = (view.x(first as u64), view.x(next as u64));
            path += &area((left, top), (right - left, 3));
        }
    });
    path
}

/// Calls `f` with the bounds of each run of equal values.
fn runs<T: PartialEq>(count: usize, at: impl Fn(usize) -> T, mut f: impl FnMut(usize, usize, T)) {
    let mut first = 0;
    while first < count {
        let value = at(first);
        let next = (first + 1..count).find(|&next| at(next) != value).unwrap_or(count);
        f(first, next, value);
        first = next;
    }
}

fn area((x, y): (u64, u64), (width, height): (u64, u64)) -> String {
    format!("M{x} {y}h{width}v{height}h-{width}z")
}

/// From the call of each late rank to the end of the wait for it, if they can be told apart.
fn arrows(body: &mut String, summary: &Summary, tracks: usize, view: &View) {
    let is_seen = |begin: u64, end: u64| view.begin <= begin && end <= view.end;
    let mut all = Vec::new();
    for rank in 0..tracks {
        for late in summary.late[rank].iter().filter(|late| late.culprit < tracks) {
            let done = summary.lines[rank].waits[late.wait].end;
            if is_seen(late.end, done) {
                all.push((late.culprit, late.end, rank, done));
            }
        }
    }
    if all.is_empty() || all.len() > ARROWS {
        return;
    }
    let mut path = String::new();
    for (from, begin, to, end) in all {
        let middle = |rank: usize| TOP + STEP * rank as u64 + HEIGHT / 2;
        let (x, y) = (view.x_of(end), middle(to));
        let back = if from < to { y - 6 } else { y + 6 };
        let (from_x, from_y) = (view.x_of(begin), middle(from));
        let (left, right) = (x.saturating_sub(3), x + 3);
        let _ = write!(path, "M{from_x} {from_y}L{x} {y}M{left} {back}L{x} {y}L{right} {back}");
    }
    let _ = writeln!(body, "<path fill=\"none\" stroke=\"#1b2733\" d=\"{path}\"/>");
}

fn text(body: &mut String, (x, y): (u64, u64), anchor: &str, what: &str) {
    let what = escape(what).replace(char::is_control, " ");
    let _ = writeln!(body, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{what}</text>");
}
