//! The memory that a team takes from the allocator: by its building in proportion to its ranks, by
//! its first run a little for each pair of ranks. (Messages' own memory comes from the system, page
//! by page as it is used: `docs/cost-of-starting.md`.)

#[path = "../../benches/raw/counting.rs"]
mod counting;

use crate::common::again;
use counting::asked_for;
use phalanx::{Team, placement::Placement};

/// Bytes asked for while a team of `ranks` is built, and in its first run.
fn bytes(ranks: usize) -> [usize; 2] {
    let start = asked_for();
    let team = Team::builder().ranks(ranks).placement(Placement::Unpinned).build().unwrap();
    let built = asked_for();
    team.run(|_| ()).unwrap();
    [built - start, asked_for() - built]
}

/// Bytes that a rank keeps for each of its peers: addresses and counters.
const PER_PAIR: usize = 80;

/// Bytes that a rank has beside these.
const PER_RANK: usize = 16 << 10;
#[test]
fn alone() {
    let test = "memory_grows_with_ranks_and_little_with_pairs";
    crate::in_a_process(module_path!(), test, None, 1);
}

#[test]
#[ignore = "run by `alone`"]
fn memory_grows_with_ranks_and_little_with_pairs() {
    bytes(2); // what is allocated once
    let [small, large] = [64, 256].map(bytes);
    let built = large[0].saturating_sub(small[0]);
    assert!(built <= (256 - 64) * PER_RANK, "building 192 ranks more takes {built} bytes");
    let pairs = 256 * 256 - 64 * 64;
    let run = large[1].saturating_sub(small[1]);
    let most = pairs * PER_PAIR + (256 - 64) * PER_RANK;
    assert!(run <= most, "the first run of 192 ranks more takes {run} bytes, above {most}");
    // The workers of a team that never runs know nothing of each other.
    assert!(built < pairs * PER_PAIR, "{built}");
}

/// The team that the test below builds and runs under a limit of its address space.
#[test]
#[ignore = "for the test below"]
fn under_a_limit() {
    let ranks: usize = std::env::var("PHALANX_TEST_RANKS").unwrap().parse().unwrap();
    let builder = Team::builder().ranks(ranks).placement(Placement::Unpinned);
    let say = |what: &str, result: Result<(), phalanx::Error>| match result {
        Ok(()) => println!("{what}: good"),
        Err(error) => println!("{what}: {error}"),
    };
    say("external", builder.clone().external().map(drop));
    for (what, builder) in [("usual", builder.clone()), ("small", builder.stack_size(64 << 10))] {
        let run = || builder.build()?.run(|comm| comm.barrier()).map(drop);
        say(what, run());
    }
}

/// With less memory than the ranks need there is an error that says so: no abort, and no hang.
#[cfg(target_os = "linux")]
#[test]
fn without_memory_there_is_an_error() {
    let again = again(module_path!(), "under_a_limit");
    let said = |ranks: usize, limit: usize| {
        let out = std::process::Command::new("timeout")
            .args(["60", "sh", "-c", &format!("ulimit -v {limit} && exec \"$@\""), "sh"])
            .arg(again.get_program())
            .args(again.get_args())
            .args(["--ignored", "--test-threads=1"])
            .env("PHALANX_TEST_RANKS", ranks.to_string())
            // Else each thread may take 64 MiB for itself: which ones get them is chance.
            .env("MALLOC_ARENA_MAX", "1")
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap();
        let (text, err) = (String::from_utf8(out.stdout).unwrap(), out.stderr);
        let err = String::from_utf8_lossy(&err);
        assert!(
            out.status.success(),
            "{ranks} ranks in {limit} KiB: {:?} {text} {err}",
            out.status
        );
        text
    };
    let limit = "address space (ulimit -v) 204800000 bytes";
    let text = said(1000, 200_000);
    let refused = "1152000000 bytes of memory for 1000 ranks were refused";
    for what in ["external", "usual", "small"] {
        let line = text.lines().find(|it| it.contains(&format!("{what}: {refused}")));
        assert!(line.is_some_and(|it| it.contains(limit)), "{what}: {text}");
    }
    let text = said(64, 120_000);
    let limit = "address space (ulimit -v) 122880000 bytes";
    let line = text.lines().find(|it| it.contains("usual: ")).unwrap();
    assert!(line.contains("a worker thread cannot be started: "), "{text}");
    assert!(line.contains(" of 63, each with the standard library's stack (2 MiB, or"), "{text}");
    assert!(line.contains("Builder::stack_size") && line.contains(limit), "{text}");
    assert!(text.contains("small: good"), "{text}");
    // Wherever the memory ends: in the mailboxes, the stacks, or the ranks' data about each other.
    for ranks in [100, 150, 200, 300, 350] {
        for kib in [120_000, 200_000, 300_000] {
            let text = said(ranks, kib);
            let told = |it: &&str| {
                it.ends_with(": good") || it.contains(" were refused") || it.contains("be started")
            };
            assert_eq!(text.lines().filter(told).count(), 3, "{ranks} in {kib}: {text}");
        }
    }
}
