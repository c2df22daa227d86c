//! Several calls on their way at a time, waited for in the order in which their results are needed.

use phalanx::{call, op};

fn main() -> Result<(), phalanx::Error> {
    phalanx::run(4, |comm| {
        let (rank, p) = (comm.rank(), comm.size());
        let (mut table, mut norms) = (vec![rank as f64; 10_000], [0.0]);
        comm.requests(|scope| {
            // A table from rank 2, two sums, and a maximum: started together.
            let table = scope.start(call::broadcast(&mut table, 2));
            let sums = scope.start(call::sum([1.0, rank as f64]));
            let highest = scope.start(call::all_reduce_values([rank], op::Max));

            // Calls that wait, and work, go on beside.
            let mut behind = [rank];
            scope.comm().shift(&mut behind, 1);
            assert_eq!(behind, [(rank + p - 1) % p]);

            assert_eq!(scope.wait(highest), [p - 1]);
            let [count, total] = scope.wait(sums);
            assert_eq!((count, total), (4.0, 6.0));
            assert_eq!(scope.wait(table)[9_999], 2.0);

            // The same sum again and again: set up once.
            let mut norm = scope.set_up(call::all_reduce(&mut norms, op::Sum));
            for step in 0..10 {
                norm.buf_mut()[0] = f64::from(step);
                let request = scope.start(norm);
                norm = scope.wait(request);
                assert_eq!(norm.buf(), [4.0 * f64::from(step)]);
            }
        }); // what is still open here is completed
    })?;
    Ok(())
}
