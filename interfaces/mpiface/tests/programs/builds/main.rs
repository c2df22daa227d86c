//! As Cargo links a program with rsmpi: thread-local variables, a thread, MPI by its C functions.
use std::cell::Cell;
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn MPI_Init(argc: *mut c_int, argv: *mut c_void) -> c_int;
    fn MPI_Finalize() -> c_int;
    fn MPI_Comm_rank(comm: usize, rank: *mut c_int) -> c_int;
    fn MPI_Comm_c2f(comm: usize) -> c_int;
    fn MPI_Comm_f2c(comm: c_int) -> usize;
    fn MPI_Allreduce(
        from: *const c_int,
        to: *mut c_int,
        count: c_int,
        kind: usize,
        op: usize,
        comm: usize,
    ) -> c_int;
}

const WORLD: usize = 0x101;
const INT: usize = 0x209;
const SUM: usize = 0x21;

thread_local! {
    static HERE: Cell<c_int> = const { Cell::new(7) };
}

fn main() {
    let (mut rank, mut sum) = (0, 0);
    // SAFETY: MPI's functions, as its standard asks.
    unsafe {
        MPI_Init(std::ptr::null_mut(), std::ptr::null_mut());
        MPI_Comm_rank(WORLD, &raw mut rank);
    }
    HERE.set(HERE.get() + rank);
    let here = HERE.get();
    // SAFETY: as above.
    unsafe {
        let comm = MPI_Comm_f2c(MPI_Comm_c2f(WORLD));
        MPI_Allreduce(&raw const here, &raw mut sum, 1, INT, SUM, comm);
    }
    let fresh = std::thread::spawn(|| HERE.get()).join().expect("it ends well");
    println!("rank {rank} has {here}, all have {sum}, a thread {fresh}");
    // SAFETY: as above.
    unsafe { MPI_Finalize() };
}
