//! `main`, `unwrap` and `{:?}` show the text of an error; `{:#?}` shows the fields.

use crate::common::again;
use phalanx::placement::Placement;
use phalanx::schedule::{BadHierarchy, Hierarchy, Operation, Request, Violation};
use phalanx::topology::{Cartesian, Extents};
use phalanx::tuning::{MachineCosts, Profile};
use phalanx::{Algorithm, Error, Hazard, Team, TryError, machine};
use std::process::{ExitCode, Termination};

fn failing() -> Result<(), Error> {
    phalanx::run(2, |comm| {
        if comm.rank() == 0 {
            comm.barrier();
        }
    })
    .map(drop)
}

/// As the end of a `main` that returns this.
#[test]
#[ignore = "for the test below"]
fn a_main_that_fails() {
    assert_eq!(failing().report(), ExitCode::FAILURE);
    failing().expect("the run");
}

#[test]
fn main_and_expect_print_the_text() {
    let output = again(module_path!(), "a_main_that_fails").arg("--ignored").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let text = failing().unwrap_err().to_string();
    assert!(text.contains(" waited for it in barrier at ") && !text.contains('{'), "{text}");
    for line in [format!("Error: {text}"), format!("the run: {text}")] {
        assert!(said.lines().any(|it| it == line), "`{line}` is no line of: {said}");
    }
}

/// `field` is in the long form alone.
fn shown<E: std::error::Error>(error: E, field: &str) {
    let text = error.to_string();
    assert_eq!(format!("{error:?}"), text);
    assert_eq!(format!("{:?}", [Some(&error)]), format!("[Some({text})]"));
    let long = format!("{error:#?}");
    assert!(long.contains(field) && !text.contains(field), "{long}");
}

#[test]
fn errors_show_their_texts() {
    shown(failing().unwrap_err(), "Left {");
    shown(phalanx::run(0, |_| ()).unwrap_err(), "asked: 0");
    shown(Error::Dead, "Dead");
    let refused = Team::builder().ranks(2).placement(Placement::List(vec![0])).build();
    shown(refused.unwrap_err(), "ListTooShort {");
    shown("here".parse::<Placement>().unwrap_err(), "UnknownPlacement {");
    shown("3x".parse::<Extents>().unwrap_err(), "Syntax(");
    shown(Cartesian::new(4, &[3], &[true]).unwrap_err(), "Product {");
    shown("AG".parse::<Algorithm>().unwrap_err(), "UnknownAlgorithm {");
    shown("gossip".parse::<Operation>().unwrap_err(), "UnknownOperation(");
    let request = Request::new(Operation::AllReduce, 3);
    shown(Algorithm::AG_RING.schedule(&request).unwrap_err(), "algorithm:");
    shown(Hierarchy::new(2, &[vec![0]]).map(drop).unwrap_err(), "Ranks {");
    shown(BadHierarchy::NotNested { level: 1, ranks: [0, 1] }, "NotNested {");
    shown(Violation::Missing { rank: 0, block: 1 }, "Missing {");
    shown(Hazard { rank: 0, peer: 1, action: 2 }, "action: 2");
    shown("floor".parse::<machine::Level>().unwrap_err(), "UnknownLevel {");
    shown(machine::Machine::from_synthetic("what?").unwrap_err(), "Malformed {");
    shown(machine::affinity::PinError::Unsupported, "Unsupported");
    shown(MachineCosts::named("none").unwrap_err(), "Unknown {");
    shown(Profile::read("/no/such/file").unwrap_err(), "path: Some(");
}

/// Of a rank's own error `{:?}` is its own; it need have no `Display`.
#[test]
fn a_ranks_own_error_shows_itself() {
    let team = Team::builder().ranks(2).build().unwrap();
    let error = team.try_run(|_| Err::<(), _>("no file".to_string())).unwrap_err();
    let TryError::Rank { rank, .. } = &error else { panic!("{error}") };
    assert_eq!(format!("{error:?}"), format!("rank {rank}: \"no file\""));
    assert!(format!("{error:#?}").starts_with("Rank {\n    rank: "));
    let run: TryError<()> = TryError::Run(Error::Dead);
    assert_eq!(format!("{run:?}"), Error::Dead.to_string());
    assert_eq!(format!("{run:#?}"), "Run(\n    Dead,\n)");
}
