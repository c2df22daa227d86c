//! Nor may it write to elements of them: each rank gets its own part by `run_with` or `run_chunks`.
fn main() {
    let mut x = vec![0, 0];
    #[cfg(not(fixed))]
    phalanx::run(2, |comm| x[comm.rank()] = 1).unwrap(); //~ E0596
    #[cfg(fixed)]
    phalanx::Team::builder()
        .ranks(2)
        .build()
        .and_then(|team| team.run_chunks(&mut x, |_, mine, _| mine[0] = 1))
        .unwrap();
    x.push(2);
    assert_eq!(x.len(), 3);
}
