//! As `view_outlives`, for the root's slice.
fn main() {
    phalanx::run(2, |comm| {
        #[cfg(not(fixed))]
        let kept = comm.with_root(&[1, 2], 0, |x| x); //~ lifetime
        #[cfg(fixed)]
        let kept = comm.with_root(&[1, 2], 0, |x| x.len());
        let _ = kept;
    })
    .unwrap();
}
