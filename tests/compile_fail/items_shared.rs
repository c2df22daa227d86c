//! An item of `run_with` is one rank's alone, for the run.
fn main() {
    let team = phalanx::Team::builder().ranks(2).build().unwrap();
    let mut items = vec![0, 0];
    #[cfg(not(fixed))]
    team.run_with(&mut items, |_, mine| *mine = items.len()).unwrap(); //~ E0502
    #[cfg(fixed)]
    team.run_with(&mut items, |_, mine| *mine = 1).unwrap();
}
