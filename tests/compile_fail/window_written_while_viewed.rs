//! A part that is written while this rank still looks at the window.

fn main() {
    phalanx::run(2, |comm| {
        let mut window = comm.shared::<u64>(4);
        let view = window.part(0);
        #[cfg(fixed)]
        let view = view.to_vec();
        window.update(comm, |mine| mine.fill(1)); //~ E0502
        view[0]
    })
    .unwrap();
}
