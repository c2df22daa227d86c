//! A communicator has one owner: two of them would be two producers of one mailbox.
fn main() {
    phalanx::run(2, |comm| {
        let child = comm.split(0, 0);
        #[cfg(not(fixed))]
        let _second = child.clone(); //~ E0599
        drop(child);
    })
    .unwrap();
}
