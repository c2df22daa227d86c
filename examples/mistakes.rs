//! Mistakes, and the error that a run ends with for each: no wrong result and no wait for ever, and
//! the team can be used again. It prints the texts.

use phalanx::dist::Halo;
use phalanx::{Comm, Error, Source, Team, op};
use std::time::Duration;

/// A mistake, words that the error's text has, and a rank's closure that makes it.
type Mistake = (&'static str, &'static str, fn(&mut Comm));

const MISTAKES: [Mistake; 16] = [
    ("lengths", "expected", |c| c.all_reduce(&mut vec![1.0; 3 + c.rank() % 2], op::Sum)),
    ("types", "f32", |c| match c.rank() {
        0 => _ = c.sum([1.0f64]),
        _ => _ = c.sum([1.0f32]),
    }),
    ("a call that a rank forgets", "barrier", |c| {
        if c.rank() != 1 {
            c.barrier();
        }
        c.sum([1]);
    }),
    ("the last call, forgotten", "returned", |c| {
        if c.rank() != 1 {
            c.barrier();
        }
    }),
    ("roots", "root", |c| c.broadcast(&mut [1], c.rank() % 2)),
    ("a root that is no rank", "root", |c| c.broadcast(&mut [1], 3)),
    ("calls in another order", "sum", |c| match c.rank() {
        0 => {
            c.barrier();
            c.sum([1]);
        }
        _ => {
            c.sum([1]);
            c.barrier();
        }
    }),
    ("all receive first", "recv", |c| {
        let (from, to) = ((c.rank() + 2) % 3, (c.rank() + 1) % 3);
        c.recv(&mut [0], from);
        c.send(&[1], to);
    }),
    ("all send much first", "send", |c| {
        let (from, to) = ((c.rank() + 2) % 3, (c.rank() + 1) % 3);
        c.send(&[0u8; 100_000], to);
        c.recv(&mut [0u8; 100_000], from);
    }),
    ("tags", "tag", |c| match c.rank() {
        0 => c.send_tagged(&[1], 1, 5),
        1 => _ = c.recv_tagged(&mut [0], 0, 6),
        _ => {}
    }),
    ("a message that nobody receives", "tag 5", |c| {
        if c.rank() == 0 {
            c.send_owned(String::from("left over"), 1, 5);
        }
    }),
    ("a message that is too long", "expected", |c| match c.rank() {
        0 => c.send(&[1, 2, 3], 1),
        1 => c.recv(&mut [0; 2], 0),
        _ => {}
    }),
    ("an owned value of another type", "String", |c| match c.rank() {
        0 => c.send_owned(String::from("text"), 1, 5),
        1 => _ = c.recv_owned::<Vec<u8>>(Source::Any, 5),
        _ => {}
    }),
    ("halos of other shapes", "x1 cells", |c| {
        let halo = Halo::new(&[4 + c.rank(), 4], 1);
        c.cart(&[1, 3], &[false, false]).exchange_halo(&mut vec![0.0; halo.len()], &halo);
    }),
    ("a part that begins elsewhere", "begins", |c| _ = c.fixed_dot(&[1.0; 10], &[1.0; 10], 0)),
    ("a panic", "out of bounds", |c| {
        let ranks = [0; 3];
        _ = ranks[c.rank() + 1];
        c.barrier();
    }),
];

fn main() -> Result<(), Error> {
    let team = Team::builder().ranks(3).deadline(Duration::from_secs(20)).build()?;
    for (name, words, mistake) in MISTAKES {
        let error = team.run(mistake).expect_err(name);
        println!("{name}:\n    {error}\n");
        assert!(error.to_string().contains(words), "{name}: no `{words}` in: {error}");
        let is_deadline = matches!(error, Error::Deadline { .. });
        assert!(!is_deadline, "{name}: found by its cause, not by the clock");
        assert_eq!(team.run(|comm| comm.sum([1]))?, [[3]; 3]);
    }
    let error = team.try_run(|comm| match comm.rank() {
        1 => Err("no file"),
        _ => Ok(comm.sum([1])),
    });
    println!("a rank's own error:\n    {}", error.expect_err("rank 1 returned one"));
    Ok(())
}
