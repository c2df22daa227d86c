//! The result of a call that is set up is filled between two starts: so it is borrowed exclusively.
// says: a call that is set up has its buffers by `&mut`
use phalanx::call;

fn main() {
    phalanx::run(2, |comm| {
        let (mut mine, mut all) = ([1.0], [0.0; 2]);
        mine[0] = 2.0;
        comm.requests(|scope| {
            #[cfg(not(fixed))]
            drop(scope.set_up(call::all_gather_into(&mine, &mut all))); //~ E0277
            #[cfg(fixed)]
            drop(scope.set_up(call::all_gather_into(&mut mine, &mut all)));
        });
    })
    .unwrap();
}
