//! Every rank says hello, in the order of the ranks.
//!
//! Ranks run at the same time, so the lines that they print themselves come in any
//! order. Here a token goes from rank to rank: whoever has it may print.

use phalanx::Team;

fn main() -> Result<(), phalanx::Error> {
    let team = Team::builder().ranks(4).build()?;

    let greetings = team.run(|comm| {
        let (rank, ranks) = (comm.rank(), comm.size());
        let mut token = [0u8; 0];
        if rank > 0 {
            comm.recv(&mut token, rank - 1);
        }
        println!("hello from rank {rank} of {ranks}");
        if rank + 1 < ranks {
            comm.send(&token, rank + 1);
        }
        rank
    })?;

    // The ranks' results are in their order anyway.
    assert_eq!(greetings, [0, 1, 2, 3]);
    Ok(())
}
