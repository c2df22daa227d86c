//! Writes a record with many events, for the test of the page: `many_events FILE EVENTS`.

use phalanx::{Team, op};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, events] = &args[..] else { return Err("FILE EVENTS are wanted".into()) };
    let events: usize = events.parse()?;
    let team = Team::builder().ranks(4).record(file).record_events(events).build()?;
    team.run(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        for round in 0..events / 16 {
            comm.phase("exchange", |comm| {
                comm.exchange(&[1; 8], (rank + 1) % size, &mut [0; 8], (rank + size - 1) % size);
            });
            comm.phase("sum", |comm| comm.all_reduce(&mut [round], op::Sum));
            if round % 1024 == rank {
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        }
    })?;
    Ok(())
}
