//! Elements go to other threads: no raw pointers, no references to types that are not `Sync`.
use std::cell::Cell;
fn main() {
    let _cell: &'static Cell<u8> = Box::leak(Box::new(Cell::new(0)));
    phalanx::run(2, |comm| {
        let mine: Cell<u8> = Cell::new(1);
        let pointer: *const u8 = mine.as_ptr();
        #[cfg(not(fixed))]
        comm.all_gather_into(&[pointer], &mut [pointer; 2]); //~ E0277
        #[cfg(fixed)]
        comm.all_gather_into(&[pointer.addr()], &mut [pointer.addr(); 2]);
    })
    .unwrap();
}
