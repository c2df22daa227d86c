//! Many runs: which one is shown, the table by the line that starts them, late starts, and ranks
//! that lost or shared their cores.

mod common;
#[path = "../../bench/tests/common/mod.rs"]
mod program;

use common::{Section, TestFile};
use phalanx::{Team, dist, op};
use phalanx_waits::record::{self, END};
use phalanx_waits::summary::{self, By, Regions, Spent};
use phalanx_waits::svg::svg;
use phalanx_waits::wait_state::WaitState;
use program::{json, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_phalanx-waits");
const MS: u64 = 1_000_000;

/// The words of the program about a record of these runs.
fn said(name: &str, sections: &[Section], more: &[&str]) -> String {
    let file = TestFile::new(name);
    std::fs::write(&file.0, sections.iter().flat_map(Section::bytes).collect::<Vec<_>>()).unwrap();
    text(&[&["waits", file.0.to_str().unwrap()], more].concat())
}

#[test]
fn each_kind_of_run_has_the_line_of_its_caller() {
    let file = TestFile::new("callers");
    let team = Team::builder().ranks(2).record(&file.0).build().unwrap();
    let (mut x, mut items) = ([1.0; 8], [0; 2]);
    let first = line!() + 1;
    team.run(|_| ()).unwrap();
    team.run(|comm| vec![comm.rank()]).unwrap();
    team.run_queued(|_| ()).unwrap();
    team.run_with(&mut items, |_, _| ()).unwrap();
    team.try_run(|_| Ok::<_, String>(())).unwrap();
    team.try_run_with(&mut items, |_, _| Ok::<_, String>(())).unwrap();
    team.try_run_chunks(&mut x, |_, _, _| Ok::<_, String>(())).unwrap();
    team.run_chunks(&mut x, |_, _, _| ()).unwrap();
    team.run_chunks(dist::dynamic(3).cut(&mut x), |_, _, _| ()).unwrap();
    team.reduce_chunks(&x, |_, x, _| x.len(), op::Sum).unwrap();
    team.reduce_chunks(dist::dynamic(3).cut(&x), |_, x, _| x.len(), op::Sum).unwrap();
    team.join(|| (), || ()).unwrap();
    let runs = file.runs();
    assert_eq!(runs.len(), 12);
    for (run, line) in runs.iter().zip(first..) {
        let at = run.text(run.at);
        assert!(at.contains(&format!("regions.rs:{line}:")), "{at} is not line {line}");
        let start = run.dispatched.expect("a caller has started it");
        assert!(run.ranks.iter().all(|rank| start <= rank.began), "{run:?}");
        assert_eq!(run.process.1, std::process::id());
    }
    // The process is the same in all, and each rank knows its core where the system says.
    assert!(runs.iter().all(|run| run.process == runs[0].process));
    let known = phalanx::engine::CoreUse::now().is_some();
    let cores = runs.iter().flat_map(|run| &run.ranks).flat_map(|rank| rank.cores);
    assert!(cores.into_iter().all(|core| core.is_some() == known));
}

#[test]
fn a_program_of_regions_has_a_row_for_each_line() {
    let file = TestFile::new("regions");
    let team = Team::builder().ranks(2).record(&file.0).build().unwrap();
    let mut x = [0.0; 8];
    for round in 0..30 {
        team.run_chunks(&mut x, |_, x, _| x.iter_mut().for_each(|x| *x += 1.0)).unwrap();
        if round % 3 == 0 {
            team.reduce_chunks(&x, |_, x, _| x.iter().sum::<f64>(), op::Sum).unwrap();
        }
    }
    let mut regions = Regions::default();
    let runs = file.runs();
    runs.iter().for_each(|run| regions.add(run));
    let rows = regions.rows();
    let mut counts: Vec<u64> = rows.iter().map(|row| row.runs).collect();
    counts.sort_unstable();
    assert_eq!(counts, [10, 30]);
    for row in &rows {
        assert!(row.at.contains("regions.rs:"), "{row:?}");
        for spent in &row.spent {
            let Spent { work, transfer, waiting, late_start } = spent;
            assert_eq!(work + transfer + waiting + late_start, row.total, "{row:?}");
        }
    }
    let found = json(&["waits", file.0.to_str().unwrap()]);
    assert_eq!((found["runs"].as_u64(), found["regions"].as_array().unwrap().len()), (Some(40), 2));
    let tsv = text(&["waits", file.0.to_str().unwrap(), "--format", "tsv"]);
    assert_eq!(tsv.lines().filter(|line| line.starts_with("region\t")).count(), 4, "{tsv}");
}

/// Rank 1 begins 30 ms after the caller has started it; rank 0 has done its part after 10 ms.
#[test]
fn a_late_start_is_a_state_of_its_own() {
    let section = Section::of(1, "cg.rs:9:5", &[[MS, 10 * MS], [30 * MS, 40 * MS]]);
    let run = record::run(&section.bytes()).unwrap();
    let summary = summary::read(&run);
    let spent: Vec<Spent> = summary.ranks.iter().map(|row| row.spent).collect();
    assert_eq!((spent[0].late_start, spent[1].late_start), (MS, 30 * MS));
    assert_eq!((spent[0].work, spent[0].waiting, spent[1].waiting), (9 * MS, 30 * MS, 0));
    // Rank 0 waited at the end: 20 ms for the start of rank 1, and 10 ms for its work.
    let late: Vec<_> = summary.culprits.iter().map(|it| (it.rank, it.by, it.caused)).collect();
    assert_eq!(late, [(1, By::LateStart, 20 * MS), (1, By::Work, 10 * MS)]);
    let row = &summary.calls[0];
    assert_eq!((row.call.as_str(), row.at.as_str()), (END, "cg.rs:9:5"));
    assert_eq!(row.waiting, [(WaitState::End, 30 * MS)]);
    let path: Vec<_> = summary.path.iter().map(|it| (it.rank, it.by, it.time)).collect();
    assert_eq!(path, [(1, By::LateStart, 30 * MS), (1, By::Work, 10 * MS)]);
    let picture = svg(&run, &summary, (0, summary.length));
    assert!(picture.contains(">late start<") && picture.contains(">wait at end<"), "{picture}");
    let page = phalanx_waits::page::html(&run, &summary, "");
    assert!(page.contains("\"late start\""), "{page}");
    // A hundred of them.
    let said = said("late-start", &vec![section; 100], &[]);
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    let rows: Vec<_> = said.lines().skip_while(|it| !it.starts_with("RUNS")).skip(2).collect();
    assert_eq!(words(rows[0])[..6], ["cg.rs:9:5", "100", "4.000", "s", "40.00", "ms"]);
    let spent = ["1", "1.000", "s", "0", "ns", "0", "ns", "3.000", "s"];
    assert_eq!(words(rows[1]), spent, "{said}");
    let late = said.lines().map(words).filter(|line| line.starts_with(&words("1 late start")));
    assert_eq!(late.count(), 2, "LATE and CRITICAL PATH: {said}");
}

#[test]
fn the_newest_process_is_shown_and_of_it_the_longest_run_of_several_ranks() {
    let run = |process: u64, ranks: usize, length: u64| {
        Section::of(process, "a.rs:1:1", &vec![[0, length]; ranks])
    };
    let (old, new) = (5, 1_795_883_999_000_000_000);
    let all =
        [run(old, 2, 900), run(new, 1, 500), run(new, 2, 300), run(new, 4, 400), run(old, 2, 7)];
    let said_of = |sections: &[Section]| said("newest", sections, &[]);
    assert!(said_of(&all).starts_with("run 4 of 5 (--list shows all): 4 ranks, 400 ns,"));
    assert!(said_of(&all).contains("\nRUNS: 2 of the newest process"), "{}", said_of(&all));
    assert!(said_of(&all[..1]).starts_with("run 1 of 1: 2 ranks, 900 ns, ended well\n\nRANKS\n"));
    let alone = said_of(&[all[0].clone(), run(new, 1, 3), run(new, 1, 4)]);
    assert!(alone.starts_with("run 3 of 3 (--list shows all): 1 rank, 4 ns"), "{alone}");
    assert!(alone.contains("\nthe newest process has no run of several ranks\n"), "{alone}");
    let named = said("named", &all, &["--run", "1"]);
    assert!(named.starts_with("run 1 of 5") && !named.contains("RUNS"), "{named}");
    let listed = said("listed", &all, &["--list"]);
    assert!(listed.contains("  2026-11-28 16:39:59        7  a.rs:1:1      4  400 ns"), "{listed}");
}

#[test]
fn shared_and_lost_cores_are_at_the_head() {
    let mut section = Section::of(1, "a.rs:1:1", &[[0, 2470 * MS], [0, 2470 * MS]]);
    let head = |section: &Section| {
        let said = said("cores", std::slice::from_ref(section), &[]);
        let head = said.lines().skip(1).take_while(|line| !line.is_empty());
        head.map(str::trim).collect::<Vec<_>>().join(" ")
    };
    // Now and then a quiet system takes a core as well.
    section.ranks[0].1 = [[0, 5], [0, 40]];
    assert_eq!(head(&section), "");
    section.ranks[1].1 = [[0, 100], [1, 912]];
    let wanted = "disturbed, so that times are not the program's own: \
                  ranks 0 and 1 shared core 0; rank 1 lost its core 812 times";
    assert_eq!(head(&section), wanted);
    // Unknown ones.
    section.ranks[1].1 = [[u64::MAX; 2]; 2];
    assert_eq!(head(&section), "");
    let many = said("many-cores", &[section.clone(), section], &[]);
    assert!(many.contains("\n\nRUNS: 2 of"), "{many}");
}

#[test]
fn records_of_other_versions_are_refused() {
    for version in [1, 3] {
        let other = Section { version, ..Section::of(9, "", &[[0, 900], [100, 800]]) };
        let refused = record::sections(&other.bytes()).unwrap_err();
        let wanted = format!("it has version {version}; this program reads 2");
        assert!(refused.contains(&wanted), "{refused}");
    }
}
