//! A view ends with its collective.
fn main() {
    phalanx::run(2, |comm| {
        let mine = [comm.rank(); 100];
        #[cfg(not(fixed))]
        let kept = comm.with_peers(&mine, |all| all.get(0).unwrap()); //~ lifetime
        #[cfg(fixed)]
        let kept = comm.with_peers(&mine, |all| all.get(0).unwrap().to_vec());
        assert_eq!(kept[0], 0);
    })
    .unwrap();
}
