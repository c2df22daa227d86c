//! A view cannot be stored in a value that lives longer, either.
fn main() {
    phalanx::run(2, |comm| {
        let mut kept: Option<Vec<&[i32]>> = None;
        comm.with_peers(&[1, 2], |all| {
            #[cfg(not(fixed))]
            { kept = Some(all.iter().collect()); } //~ E0521
            #[cfg(fixed)]
            { kept = Some(vec![&[]; all.len()]); }
        });
        drop(kept);
    })
    .unwrap();
}
