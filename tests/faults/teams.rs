//! Idle teams, large teams, impossible teams, and processes that end in the middle of a run.

use super::common::{bomb, bomb_if, check_usable, failure, right, team, watch};
use super::is_bomb_of;
use phalanx::{Error, Team, op};
use std::time::Duration;

#[test]
fn teams_dropped_at_rest() {
    let _watch = watch();
    drop(team(4));
    let parked = team(4);
    std::thread::sleep(Duration::from_millis(30));
    drop(parked);
    let used = team(4);
    check_usable(&used, 1);
    std::thread::sleep(Duration::from_millis(30));
    check_usable(&used, 2);
    std::thread::sleep(Duration::from_millis(30));
    drop(used);
    let failed = team(4);
    failure(failed.run(|comm| if comm.rank() == 3 { bomb() } else { comm.barrier() }));
    drop(failed);
}

#[test]
fn sixteen_ranks_on_few_cores() {
    let _watch = watch();
    let team = team(16);
    for salt in 0..5 {
        check_usable(&team, salt);
    }
    for who in [0, 7, 15] {
        let error = failure(team.run(|comm| {
            right(comm, 1);
            bomb_if(comm.rank() == who);
            right(comm, 2);
        }));
        is_bomb_of(&error, who);
    }
    check_usable(&team, 9);
}

#[test]
fn stacks_that_cannot_be() {
    let _watch = watch();
    for bytes in [1 << 20, 1 << 46, isize::MAX as usize, usize::MAX] {
        match Team::builder().ranks(3).stack_size(bytes).build() {
            Ok(team) => check_usable(&team, 1),
            Err(error) => assert!(matches!(error, Error::Spawn(_)), "{error}"),
        }
    }
}

/// Runs the test `name` of this program in a process of its own, with `how` in
/// its environment, and returns how that ended. In the process itself: the `how`.
fn in_a_process(name: &str, how: &str) -> Result<std::process::ExitStatus, String> {
    const HOW: &str = "PHALANX_TEST_HOW";
    if let Ok(how) = std::env::var(HOW) {
        return Err(how);
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(HOW, how)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok(status);
        }
        if begin.elapsed() > Duration::from_secs(50) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{how}: the process hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `exit` in any rank, whatever the others are doing, ends the process with that
/// code: nothing that runs at exit waits for a rank.
#[test]
fn a_process_that_ends_inside_a_rank() {
    const NAME: &str = "teams::a_process_that_ends_inside_a_rank";
    let _watch = watch();
    for who in 0..3 {
        for place in ["alone", "waiting", "parked", "view", "operator"] {
            let status = match in_a_process(NAME, &format!("{who} {place}")) {
                Ok(status) => status,
                Err(how) => exit_inside(&how),
            };
            assert_eq!(status.code(), Some(42), "{who} {place}");
        }
    }
}

fn exit_inside(how: &str) -> ! {
    let (who, place) = how.split_once(' ').unwrap();
    let who: usize = who.parse().unwrap();
    let team = team(3);
    check_usable(&team, 1);
    let ended = team.run(|comm| {
        let rank = comm.rank();
        let exit = || {
            if rank == who {
                std::process::exit(42);
            }
        };
        match place {
            "alone" if rank == who => exit(),
            "alone" => std::thread::sleep(Duration::from_secs(40)),
            "view" => comm.with_peers(&[1; 1000], |_| exit()),
            "operator" => comm.all_reduce(
                &mut [1; 1000],
                op::commutative(|a: i32, b| {
                    exit();
                    a + b
                }),
            ),
            _ => {
                if rank == who && place == "parked" {
                    std::thread::sleep(Duration::from_millis(50));
                }
                exit();
                comm.barrier();
            }
        }
    });
    unreachable!("{ended:?}");
}

/// Not some other failure.
fn is_abort(status: std::process::ExitStatus) -> bool {
    #[cfg(unix)]
    {
        const SIGABRT: i32 = 6;
        std::os::unix::process::ExitStatusExt::signal(&status) == Some(SIGABRT)
    }
    #[cfg(not(unix))]
    !status.success()
}

/// What a program does that leaks its team, or panics twice at once, is not to
/// hang either.
#[test]
fn a_process_that_ends_otherwise() {
    const NAME: &str = "teams::a_process_that_ends_otherwise";
    /// A view while a panic unwinds has nowhere to go: the second panic aborts.
    struct View<'a>(&'a mut phalanx::Comm);
    impl Drop for View<'_> {
        fn drop(&mut self) {
            self.0.with_peers(&[1], |_| ());
        }
    }
    let _watch = watch();
    for how in ["leaked", "leaked in a run", "twice"] {
        match in_a_process(NAME, how) {
            Ok(status) if how == "twice" => assert!(is_abort(status), "{status}"),
            Ok(status) => assert_eq!(status.code(), Some(0), "{how}"),
            Err(how) => {
                let team = std::mem::ManuallyDrop::new(team(3));
                let died = team.run(|comm| match &*how {
                    "leaked" => right(comm, 3),
                    "leaked in a run" if comm.rank() == 1 => std::process::exit(0),
                    "leaked in a run" => std::thread::sleep(Duration::from_secs(40)),
                    _ => {
                        let view = View(comm);
                        bomb_if(view.0.rank() == 1);
                        view.0.barrier();
                    }
                });
                std::process::exit(if died.is_ok() { 0 } else { 1 });
            }
        }
    }
}
