//! A view that outlives its window.

fn main() {
    phalanx::run(2, |comm| {
        let view = {
            let window = comm.shared::<u64>(4);
            #[cfg(not(fixed))]
            let view = window.part(1); //~ E0597
            #[cfg(fixed)]
            let view = window.part(1).to_vec();
            view
        };
        view[0]
    })
    .unwrap();
}
