//! Regions take references to slices, and no iterators.
// says: is nothing that is cut into blocks for ranks
use phalanx::Team;

fn main() {
    let team = Team::builder().ranks(2).build().unwrap();
    let (mut x, y) = (vec![1.0; 8], vec![2.0; 8]);
    #[cfg(not(fixed))]
    team.run_chunks(x.iter_mut(), |_, _, _| ()).unwrap(); //~ E0277
    #[cfg(fixed)]
    team.run_chunks(&mut x, |_, _, _| ()).unwrap();
    drop((x, y));
}
