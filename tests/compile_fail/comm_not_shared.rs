//! A communicator may move to another thread, but not be used by two.
fn is_send<T: Send>(_: &T) {}
fn is_sync<T: Sync>(_: &T) {}
fn main() {
    let comm = phalanx::Team::external(1).unwrap().remove(0);
    is_send(&comm);
    #[cfg(not(fixed))]
    is_sync(&comm); //~ E0277
}
