//! Profiles from files: which one is followed, and the errors of unusable ones. The process looks
//! for one once, so each case is a process of its own: this test program again, with the ignored
//! test.
#![cfg(feature = "profile")]

use crate::common::again;
use phalanx::schedule::Operation;
use phalanx::tuning::{Origin, Profile, Tuning};
use phalanx::{Algorithm, Error, Team};
use std::path::{Path, PathBuf};

/// The words that the child is to find.
const WANTED: &str = "PHALANX_TEST_WANTED";

/// A directory of the test's own.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("{}-profile-{name}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(dir.join("phalanx")).unwrap();
        Scratch(dir)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _: std::io::Result<()> = std::fs::remove_dir_all(&self.0);
    }
}

/// A profile of this machine by which every all-to-all of 2 ranks is fused.
fn own() -> String {
    let machine = phalanx::machine::Machine::this().unwrap();
    let mut tuning = Tuning::of(&machine, 2);
    tuning.all_to_all_fused = 0;
    Profile::of(&machine, "today").with_tuning(2, tuning).unwrap().to_json()
}

/// A profile of another machine, by which none is.
fn foreign() -> String {
    let machine = phalanx::machine::Machine::from_synthetic("pack:2 core:99 pu:1").unwrap();
    Profile::of(&machine, "today").with_tuning(2, Tuning::default()).unwrap().to_json()
}

fn find(variable: Option<&Path>, cache: &Path, wanted: &str) {
    let mut command = again(module_path!(), "child");
    command.arg("--ignored").env(WANTED, wanted);
    command.env("XDG_CACHE_HOME", cache).env_remove("PHALANX_PROFILE");
    if let Some(path) = variable {
        command.env("PHALANX_PROFILE", path);
    }
    let child = command.output().unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && text.contains("1 passed"), "{wanted}\n{text}\n{errors}");
}

/// Whether an automatic all-to-all of 8 bytes a block takes `algorithm`: with a rank
/// that forces another one there would be a mismatch.
fn takes(team: &Team, algorithm: Algorithm) -> bool {
    let result = team.run(|comm| {
        // Longer than blocks at the gates, shorter than those that are read directly.
        let (mine, mut all) = ([comm.rank(); 200], [0; 200]);
        match comm.rank() {
            0 => comm.all_to_all_into(&mine, &mut all),
            _ => comm.with(algorithm).all_to_all_into(&mine, &mut all),
        }
    });
    match result {
        Ok(_) => true,
        Err(Error::Mismatch { .. }) => false,
        Err(e) => panic!("{e}"),
    }
}

#[test]
#[ignore = "only as a child, with the variables set"]
fn child() {
    let Ok(wanted) = std::env::var(WANTED) else { return };
    let build = || Team::builder().ranks(2).build();
    match wanted.as_str() {
        "error" => {
            let path = std::env::var("PHALANX_PROFILE").unwrap();
            for error in [build().unwrap_err(), Team::external(2).unwrap_err()] {
                assert!(matches!(error, Error::Profile(_)), "{error}");
                let text = error.to_string();
                assert!(text.contains(&path) && text.contains("PHALANX_PROFILE"), "{text}");
            }
            // A program that hands one in needs no file.
            let given = Team::builder().ranks(2).profile(Profile::default()).build().unwrap();
            assert_eq!(given.profile().origin, Origin::Given);
        }
        "environment" | "cache" => {
            let team = build().unwrap();
            let report = team.profile();
            let right = match &report.origin {
                Origin::Environment(_) => wanted == "environment",
                Origin::Cache(_) => wanted == "cache",
                _ => false,
            };
            assert!(right && report.profile.is_some() && report.refused.is_none(), "{report:?}");
            assert!(takes(&team, Algorithm::TX_FUSED));
            // All teams alike, whatever the variable says by now.
            let again = build().unwrap();
            assert_eq!(again.profile().origin, report.origin);
            // Sizes that are handed in go before.
            let team = Team::builder().ranks(2).tuning(Tuning::default()).build().unwrap();
            assert!(takes(&team, Algorithm::TX_ANY));
            // Sub-communicators of other numbers of ranks, and threads of one's own.
            let sizes = team.run(|comm| comm.split(0, 0).size()).unwrap();
            assert_eq!(sizes, [2, 2]);
            assert_eq!(Team::external(2).unwrap().len(), 2);
        }
        "refused" => {
            let team = build().unwrap();
            let report = team.profile();
            assert!(report.profile.is_none(), "{report:?}");
            let why = report.refused.as_ref().unwrap().to_string();
            assert!(why.contains("profile.json'"), "{why}");
            assert!(report.to_string().contains("refused"), "{report}");
            assert!(takes(&team, Algorithm::TX_ANY));
        }
        "nowhere" => {
            let team = build().unwrap();
            assert_eq!(team.profile().origin, Origin::Nowhere);
            assert!(takes(&team, Algorithm::TX_ANY));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn the_variables_file_is_followed() {
    let scratch = Scratch::new("variable");
    let path = scratch.write("own.json", &own());
    find(Some(&path), Path::new("/no/such/cache"), "environment");
    // It goes before the cache's.
    scratch.write("phalanx/profile.json", &foreign());
    find(Some(&path), &scratch.0, "environment");
}

#[test]
fn the_caches_file_is_followed() {
    let scratch = Scratch::new("cache");
    find(None, &scratch.0, "nowhere");
    scratch.write("phalanx/profile.json", &own());
    find(None, &scratch.0, "cache");
    // A variable that is set to nothing: no profile at all.
    find(Some(Path::new("")), &scratch.0, "nowhere");
}

#[test]
fn a_named_file_that_cannot_be_read_is_an_error() {
    let scratch = Scratch::new("broken");
    find(Some(&scratch.0.join("missing.json")), &scratch.0, "error");
    find(Some(&scratch.0), &scratch.0, "error");
    let other = own().replace("\"phalanx_profile\": 2", "\"phalanx_profile\": 7");
    for (i, text) in ["", "{", "[]", &own()[..200], &other].into_iter().enumerate() {
        let path = scratch.write(&format!("{i}.json"), text);
        find(Some(&path), &scratch.0, "error");
    }
}

#[test]
fn profiles_of_other_machines_are_refused() {
    let scratch = Scratch::new("foreign");
    let path = scratch.write("profile.json", &foreign());
    find(Some(&path), Path::new("/no/such/cache"), "refused");
    scratch.write("phalanx/profile.json", &foreign());
    find(None, &scratch.0, "refused");
    // Nobody named this one: damage is no error.
    scratch.write("phalanx/profile.json", "{");
    find(None, &scratch.0, "refused");
}

#[test]
fn a_profile_is_handed_in() {
    let profile = Profile::from_json(&own()).unwrap();
    let team = Team::builder().ranks(2).profile(profile).build().unwrap();
    assert!(takes(&team, Algorithm::TX_FUSED));
    // Of 5 ranks it says nothing.
    assert!(team.profile().profile.as_ref().unwrap().tuning(5).is_none());
    let foreign = Profile::from_json(&foreign()).unwrap();
    let chosen = foreign.algorithm(Operation::AllToAll, 2, 8);
    assert_eq!(chosen, Algorithm::TX_ANY);
    let error = Team::builder().ranks(2).profile(foreign).build().unwrap_err();
    assert!(error.to_string().contains("another machine"), "{error}");
}
