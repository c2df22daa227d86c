//! Damaged records: an error in words, or a run that can be read; never a panic.

use phalanx::{Team, op};
use phalanx_waits::{page, perfetto, record, summary};

/// Numbers that look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// The record of a small run.
fn whole(name: &str) -> Vec<u8> {
    let file = std::env::temp_dir().join(format!("{name}-{}.phx", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let team = Team::builder().ranks(3).record(&file).build().unwrap();
    team.run(|comm| {
        comm.phase("first", |comm| comm.barrier());
        comm.phase("second", |comm| comm.phase("inner", |comm| comm.all_reduce(&mut [1], op::Sum)));
        let (rank, size) = (comm.rank(), comm.size());
        comm.exchange(&[1], (rank + 1) % size, &mut [0], (rank + size - 1) % size);
    })
    .unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    bytes
}

/// Everything that is done with a record.
fn read(bytes: &[u8]) -> Result<(), String> {
    for section in record::sections(bytes)?.whole {
        let run = record::run(&bytes[section])?;
        let summary = summary::read(&run);
        page::html(&run, &summary, "");
        perfetto::trace(&run, &summary);
    }
    Ok(())
}

#[test]
fn a_record_that_is_cut_off_is_refused_in_words() {
    let whole = whole("cut");
    read(&whole).unwrap();
    for length in 0..whole.len() {
        let error = read(&whole[..length]).unwrap_err();
        assert!(!error.is_empty());
    }
    assert!(read(b"PHLXWAIT").unwrap_err().contains("the version: 4 bytes wanted, 0 are left"));
    assert!(read(b"{\"command\": \"bench\"}").unwrap_err().contains("does not begin as"));
}

/// A process that ends while it writes takes no run with it that others have written.
#[test]
fn a_run_that_is_cut_off_leaves_the_others_readable() {
    let one = whole("one");
    let runs = |bytes: &[u8]| {
        let found = record::sections(bytes).unwrap();
        assert!(found.whole.iter().all(|place| record::run(&bytes[place.clone()]).is_ok()));
        (found.whole.len(), found.cut)
    };
    for length in 1..one.len() {
        let (cut, whole) = (&one[..length], &one[..]);
        let left_out = format!("; {length} bytes are left out");
        // At the end, at the beginning, and between two.
        for parts in [[whole, whole, cut], [cut, whole, whole], [whole, cut, whole]] {
            let (runs, said) = runs(&parts.concat());
            assert_eq!((runs, said.len()), (2, 1), "{length} bytes");
            assert!(said[0].ends_with(&left_out), "{said:?}");
        }
    }
}

#[test]
fn bytes_that_have_changed_do_no_harm() {
    let whole = whole("changed");
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut refused = 0;
    for round in 0..6000 {
        let mut bytes = whole.clone();
        for _ in 0..=round % 4 {
            let at = chance.below(bytes.len());
            bytes[at] = match round % 3 {
                0 => bytes[at] ^ 1 << chance.below(8),
                1 => 0xff,
                _ => chance.below(256) as u8,
            };
        }
        refused += usize::from(read(&bytes).is_err());
    }
    // Some changes are of times or of texts, and make another run of it.
    assert!((1000..6000).contains(&refused), "{refused} of 6000 were refused");
}

/// No number of a record asks for memory that the record could not fill, wherever it stands.
#[test]
fn huge_numbers_do_no_harm() {
    let whole = whole("huge");
    let mut refused = 0;
    // At each byte: where a number begins depends on the length of the texts before it.
    for at in 0..whole.len() - 8 {
        for number in [u64::MAX, 1 << 62, (1 << 62) - 1, 1 << 53, u64::from(u32::MAX), 0] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            refused += usize::from(read(&bytes).is_err());
        }
    }
    assert!(refused > 1000, "{refused}");
}

/// A phase's name is the program's: no tag, quote or line end of it may end anything else.
#[test]
fn phases_of_any_name_are_texts() {
    const NAME: &str = "</script><b a='\"'>\u{2028}\n\t\\";
    let file = std::env::temp_dir().join(format!("odd-{}.phx", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let team = Team::builder().ranks(2).record(&file).build().unwrap();
    team.run(|comm| {
        comm.phase(NAME, |comm| comm.phase("", |comm| comm.phase(NAME, |comm| comm.barrier())));
    })
    .unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let run = record::run(&bytes[record::sections(&bytes).unwrap().whole.remove(0)]).unwrap();
    let summary = summary::read(&run);
    assert!(summary.phases.iter().any(|row| row.name == NAME));
    for line in &summary.lines {
        assert_eq!(line.phases.len(), 3);
    }
    let html = page::html(&run, &summary, NAME);
    assert_eq!(html.matches("<script").count(), html.matches("</script").count());
    assert!(!html.contains("<b a="), "{html}");
    let trace = perfetto::trace(&run, &summary).to_string();
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events.iter().filter(|event| event["name"] == NAME).count(), 4);
}
