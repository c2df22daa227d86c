//! A rank cannot hand its own communicator out of its closure.
use std::sync::Mutex;
fn main() {
    let team = phalanx::Team::builder().ranks(2).build().unwrap();
    let kept: Mutex<Vec<&mut phalanx::Comm>> = Mutex::new(Vec::new());
    team.run(|comm| {
        comm.barrier();
        #[cfg(not(fixed))]
        kept.lock().unwrap().push(comm); //~ E0521
    })
    .unwrap();
    drop(kept);
}
