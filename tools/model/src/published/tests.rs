use super::*;

fn asked(library: &str) -> Asked<'_> {
    Asked { library, how: "", operation: "allreduce", ranks: 72, spread: false }
}

/// Modelled over published, and whether the point was fitted.
fn ratios() -> Vec<(Curve, f64, bool, f64)> {
    let machines = machines();
    let mut all = Vec::new();
    for curve in curves(false) {
        let machine = machines.iter().find(|m| m.name == curve.machine).unwrap();
        let asked = Asked {
            library: &curve.library,
            how: "",
            operation: &curve.operation,
            ranks: curve.ranks,
            spread: false,
        };
        for (place, bytes) in sizes().enumerate() {
            let us = machine.predict(&asked, bytes).unwrap();
            all.push((curve.clone(), bytes, fitted(place), us / curve.us[place]));
        }
    }
    all
}

#[test]
fn four_fifths_of_the_predicted_points_are_within_thirty_percent() {
    let all = ratios();
    for fitted in [false, true] {
        let points: Vec<f64> = all.iter().filter(|r| r.2 == fitted).map(|r| r.3).collect();
        let near = points.iter().filter(|r| (0.7..=1.3).contains(*r)).count();
        assert!(near * 10 >= points.len() * 8, "fitted {fitted}: {near} of {}", points.len());
    }
    let far: Vec<_> = all.iter().filter(|r| !(1.0 / 1.6..=1.6).contains(&r.3)).collect();
    assert!(far.len() <= 6, "{far:?}");
}

/// The file that was committed before the fit says the points of `fitted`.
#[test]
fn the_points_that_are_fitted_are_those_of_the_file() {
    let used: Vec<String> =
        sizes().enumerate().filter(|s| fitted(s.0)).map(|s| s.1.to_string()).collect();
    let listed = include_str!("fit-points.tsv").lines().filter(|l| !l.starts_with('#')).skip(1);
    let listed: Vec<&str> = listed.collect();
    assert!(listed.iter().all(|l| l.ends_with(&used.join(","))));
    let modelled = |r: &Row| r.library != "openmpi" || r.machine == "grace";
    assert_eq!(listed.len(), rows().iter().filter(|r| modelled(r)).count());
}

#[test]
fn further_ranks_never_make_a_call_of_the_same_schedule_much_faster() {
    for machine in machines() {
        for p in [8, 24, 48, machine.node.cores - 1] {
            let at = |ranks| {
                machine
                    .predict(&Asked { how: "blocking", ranks, ..asked("mpich") }, 1024.0)
                    .unwrap()
            };
            assert!(at(p + 1) > 0.95 * at(p), "{} {p}", machine.name);
        }
    }
}

#[test]
fn what_is_not_modelled_has_no_time() {
    let [epyc, grace] = machines();
    assert_eq!(epyc.predict(&asked("openmpi"), 8.0), None);
    assert_eq!(grace.predict(&asked("gloo"), 8.0), None);
    assert_eq!(grace.predict(&Asked { ranks: 289, ..asked("mpich") }, 8.0), None);
    assert_eq!(grace.predict(&Asked { ranks: 1, ..asked("mpich") }, 8.0), None);
    assert_eq!(grace.predict(&Asked { operation: "scan", ..asked("mpich") }, 8.0), None);
}

/// A flag that goes around takes as long as its hand-offs.
#[test]
fn eight_bytes_take_hand_offs() {
    let [epyc, _] = machines();
    let two = Asked { ranks: 2, how: "blocking", ..asked("mpich") };
    let near = epyc.predict(&two, 8.0).unwrap();
    let far = epyc.predict(&Asked { spread: true, ..two }, 8.0).unwrap();
    let apart = (epyc.node.hand_off[2] - epyc.node.hand_off[0]) / 1000.0;
    assert!(far - near > 3.0 * apart && far - near < 7.0 * apart, "{near} {far}");
}

#[test]
fn our_own_defaults_have_times() {
    for machine in machines() {
        let small = machine.predict(&asked("phalanx"), 8.0).unwrap();
        let large = machine.predict(&asked("phalanx"), 1_048_576.0).unwrap();
        assert!(small > 0.1 && large > 10.0 * small, "{} {small} {large}", machine.name);
    }
}
