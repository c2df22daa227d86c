//! All-to-all broadcast on a ring, by hand: in p - 1 circular shifts every
//! rank's number visits every other rank (the textbook's Figure 4.9).

use phalanx::Team;

fn main() -> Result<(), phalanx::Error> {
    let team = Team::builder().ranks(5).build()?;

    let collected = team.run(|comm| {
        let (rank, ranks) = (comm.rank(), comm.size());
        let mut all = vec![0; ranks];
        let mut visitor = [100 + rank];
        for step in 0..ranks {
            // After `step` shifts, the visitor has come from `step` ranks back.
            all[(rank + ranks - step) % ranks] = visitor[0];
            comm.shift(&mut visitor, 1);
        }
        assert_eq!(visitor, [100 + rank], "after p shifts it is home again");

        // The library's own collective does the same.
        let mut same = vec![0; ranks];
        comm.ring().all_gather_into(&[100 + rank], &mut same);
        assert_eq!(all, same);
        all
    })?;

    for (rank, all) in collected.iter().enumerate() {
        println!("rank {rank}: {all:?}");
        assert_eq!(*all, [100, 101, 102, 103, 104]);
    }
    Ok(())
}
