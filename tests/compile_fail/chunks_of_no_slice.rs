//! Regions take references to slices: alone, in tuples, and in a cut.
// says: is nothing that is cut into blocks for ranks
// says: no slice, and no tuple of slices
use phalanx::{Team, dist::dynamic};

fn main() {
    let team = Team::builder().ranks(2).build().unwrap();
    let (mut x, y) = (vec![1.0; 8], vec![2.0; 8]);
    #[cfg(not(fixed))]
    team.run_chunks((&mut x, y), |_, _, _| ()).unwrap(); //~ E0277
    #[cfg(not(fixed))]
    team.run_chunks(dynamic(8).cut(x.iter_mut()), |_, _, _| ()).unwrap(); //~ E0277
    #[cfg(fixed)]
    team.run_chunks((&mut x, &y), |_, _, _| ()).unwrap();
    #[cfg(fixed)]
    team.run_chunks(dynamic(8).cut(&mut x), |_, _, _| ()).unwrap();
}
