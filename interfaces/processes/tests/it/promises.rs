//! Faults, and the errors that name them.

use crate::start::{Ended, Rank, end_well, name, program, ranks_of, start, team};
use phalanx_processes::{ErrorKind, Segment, Team, op};
use std::os::fd::AsRawFd as _;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

/// The roles of ranks that meet a fault. Each prints the error that it gets.
pub(crate) fn rank(role: &str, mut team: Team) {
    let (me, p) = (team.rank(), team.size());
    let outcome = match role {
        "forever" => {
            eprintln!("ready");
            loop {
                let mut x = vec![1.0_f32; 20_000];
                let done = team.all_reduce(&mut x, op::Sum).and_then(|()| team.barrier());
                if let Err(error) = done {
                    break Err(error);
                }
            }
        }
        "last dies" => {
            // All have attached: who dies before that is named by the error of attaching.
            let all = team.barrier();
            if me == p - 1 {
                std::process::abort();
            }
            all.and_then(|()| team.receive_vec::<u8>(p - 1, 0).map(drop))
        }
        "sends and leaves" => {
            return match me {
                0 => (1..p).for_each(|from| {
                    assert_eq!(team.receive_vec::<usize>(from, 7).unwrap(), [from]);
                }),
                _ => team.send(&[me], 0, 7).unwrap(),
            };
        }
        "last leaves" => {
            team.barrier().unwrap();
            if me == p - 1 {
                return;
            }
            team.barrier()
        }
        "leave in turns" => {
            // Whoever has ended in order is no loss.
            team.barrier().unwrap();
            let halves = team.split(Some((me % 2) as u32), 0).unwrap();
            drop(team);
            let mut half = halves.unwrap();
            if me % 2 == 1 {
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
            return half.barrier().unwrap();
        }
        "operation" if me == 1 => team.broadcast(&mut [1_u8], 0),
        "operation" => team.barrier(),
        "length" => team.all_reduce(&mut vec![1.0_f32; 100 + me], op::Sum),
        "type" if me == 1 => team.all_reduce(&mut [1.0_f32], op::Sum),
        "type" => team.all_reduce(&mut [1_u32], op::Sum),
        "operator" if me == 1 => team.all_reduce(&mut [1.0_f32], op::Max),
        "operator" => team.all_reduce(&mut [1.0_f32], op::Sum),
        "root" => team.broadcast(&mut vec![0_u64; 100_000], me % 2),
        "argument" if me == 1 => team.broadcast(&mut [1], 9),
        "argument" => team.barrier(),
        "message" if me == 1 => team.send(&[1.0_f32; 3], 0, 5).and_then(|()| team.barrier()),
        "message" => team.receive(&mut [0.0_f64], 1, 5),
        role if role.starts_with("panics ") => {
            let n = role["panics ".len()..].parse().unwrap();
            let add = op::ordered(move |a: u32, b: u32| if me == 1 { panic!("no") } else { a + b });
            let sum = || team.all_reduce(&mut vec![1_u32; n], add).and_then(|()| team.barrier());
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(sum));
            // The rank itself can go on no more than the others.
            outcome.unwrap_or_else(|_| team.barrier())
        }
        "unwinds with it" if me == 1 => {
            let with_team = move || {
                let _team = team;
                panic!("no")
            };
            let _: Result<(), _> = std::panic::catch_unwind(AssertUnwindSafe(with_team));
            return;
        }
        "unwinds with it" => team.barrier(),
        "frees twice" => {
            let buffer = team.symmetric::<u8>(4096).unwrap();
            let again = buffer.of_elements::<u8>(4096).unwrap();
            team.free(buffer).unwrap();
            // It has the place of the first.
            let _next = team.symmetric::<u8>(4096).unwrap();
            team.free(again)
        }
        "forks" => {
            // SAFETY: the child only makes a call that is refused, and ends.
            match unsafe { libc::fork() } {
                0 => {
                    let refused = team.barrier().is_err_and(|e| e.kind() == ErrorKind::Forked);
                    drop(team);
                    // SAFETY: ends the child.
                    unsafe { libc::_exit(i32::from(!refused)) }
                }
                child => {
                    let mut status = 1;
                    // SAFETY: the child's number.
                    unsafe { libc::waitpid(child, &raw mut status, 0) };
                    assert_eq!(status, 0);
                    return team.barrier().unwrap();
                }
            }
        }
        role => panic!("no role {role}"),
    };
    let error = outcome.expect_err("a fault");
    let again = team.barrier().expect_err("the team is over");
    assert_eq!(error, again);
    eprintln!("{:?}: {error}", error.kind());
    std::process::exit(3);
}

fn pid(rank: &Rank) -> i32 {
    rank.process.id() as i32
}

fn signal(rank: &Rank, signal: i32) {
    // SAFETY: a child of this process that has not been waited for.
    unsafe { libc::kill(pid(rank), signal) };
}

/// Ranks that wait for others to attach print nothing: they are there after a while.
fn settle() {
    std::thread::sleep(Duration::from_millis(700));
}

/// All ranks have got an error; their texts.
fn texts(ranks: Vec<Rank>) -> Vec<String> {
    let check = |ended: Ended| {
        assert_eq!(ended.status.code(), Some(3), "{}", ended.text);
        ended.text
    };
    ranks.into_iter().map(|rank| check(rank.end())).collect()
}

#[test]
fn a_rank_that_is_killed_is_named_within_a_second() {
    for (p, victim) in [(2, 0), (3, 2), (5, 1)] {
        let mut ranks = team("forever", p);
        ranks.iter().for_each(|rank| rank.await_word("ready"));
        let dead = pid(&ranks[victim]);
        signal(&ranks[victim], libc::SIGKILL);
        let since = Instant::now();
        drop(ranks.remove(victim));
        for text in texts(ranks) {
            let right = format!("Died: rank {victim} (process {dead}, `");
            assert!(text.contains(&right), "{right}: {text}");
            assert!(text.contains("has died"), "{text}");
        }
        // The machine may be busy: the promise is a second.
        assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    }
}

#[test]
fn a_rank_that_dies_ends_a_receive() {
    let mut ranks = team("last dies", 3);
    let last = ranks.pop().unwrap();
    let dead = pid(&last);
    assert!(!last.end().status.success());
    for text in texts(ranks) {
        assert!(text.contains(&format!("rank 2 (process {dead}, `")), "{text}");
        assert!(text.contains("has died") && text.contains("promises.rs:"), "{text}");
    }
}

#[test]
fn a_rank_that_is_stopped_meets_the_deadline() {
    let mut ranks = ranks_of("forever", 3, |program| program.env("PHALANX_TIMEOUT", "1.5"));
    ranks.iter().for_each(|rank| rank.await_word("ready"));
    signal(&ranks[1], libc::SIGSTOP);
    let stopped = ranks.remove(1);
    for text in texts(ranks) {
        assert!(text.contains("Deadline: rank 1 (process"), "{text}");
        assert!(text.contains("has not come within 1.5 s"), "{text}");
        assert!(text.contains("its process is stopped"), "{text}");
    }
    // It goes on, and hears of it.
    signal(&stopped, libc::SIGCONT);
    let text = texts(vec![stopped]).remove(0);
    assert!(text.contains("rank 1") && text.contains("Deadline"), "{text}");
}

#[test]
fn a_rank_that_leaves_is_named() {
    let mut ranks = team("last leaves", 3);
    let last = ranks.pop().unwrap();
    let left = pid(&last);
    assert!(last.end().status.success());
    for text in texts(ranks) {
        assert!(text.contains(&format!("Left: rank 2 (process {left}, `")), "{text}");
        assert!(text.contains("barrier at "), "{text}");
    }
}

/// A rank that has done its part may have ended before another has seen that all are there.
#[test]
fn a_message_of_a_rank_that_has_ended_arrives() {
    for _ in 0..10 {
        let mut ranks = team("sends and leaves", 3);
        ranks.reverse();
        end_well(ranks);
    }
}

#[test]
fn ranks_may_leave_one_after_the_other() {
    end_well(team("leave in turns", 4));
}

/// The text of each rank at a disagreement: both processes, and two lines of this file.
fn disagreement(role: &str, words: &[&str]) {
    let ranks = team(role, 2);
    let pids = [pid(&ranks[0]), pid(&ranks[1])];
    for text in texts(ranks) {
        for (rank, pid) in pids.into_iter().enumerate() {
            assert!(text.contains(&format!("rank {rank} (process {pid}, `")), "{role}: {text}");
        }
        assert!(text.matches("promises.rs:").count() >= 2, "{role}: {text}");
        for word in words {
            assert!(text.contains(word), "{role}: {word}: {text}");
        }
    }
}

#[test]
fn ranks_that_disagree_are_both_named() {
    disagreement("operation", &["about the operation", "calls barrier at", "broadcast of 1 u8"]);
    disagreement("length", &["about the length:", "100 f32 by sum", "101 f32 by sum"]);
    disagreement("type", &["about the type:", "of 1 f32 by sum", "of 1 u32 by sum"]);
    disagreement("operator", &["about the operator:", "by max", "by sum"]);
    disagreement("root", &["about the root:", "root 0,", "root 1,"]);
    disagreement("message", &["tag 5", "sends 12 bytes of f32", "receives 8 bytes of f64"]);
}

#[test]
fn a_wrong_argument_is_told_to_all() {
    for text in texts(team("argument", 3)) {
        assert!(text.contains("rank 9 is none of 3 ranks"), "{text}");
        assert!(text.contains("Argument: rank 1 (process"), "{text}");
    }
}

#[test]
fn a_panic_in_an_operator_is_told_to_all() {
    for n in [1, 4, 5, 20_000] {
        for text in texts(team(&format!("panics {n}"), 3)) {
            assert!(text.contains("Panicked: rank 1 (process"), "{text}");
            assert!(text.contains("in all_reduce at ") && text.contains(": no\n"), "{text}");
        }
    }
}

#[test]
fn a_panic_of_a_rank_with_its_team_is_told() {
    let mut ranks = team("unwinds with it", 2);
    let text = ranks.remove(0).end().text;
    assert!(text.contains("Panicked: rank 1 (process") && text.contains("had the team"), "{text}");
}

#[test]
fn memory_is_freed_once() {
    for text in texts(team("frees twice", 2)) {
        assert!(text.contains("calls free at ") && text.contains("has been freed"), "{text}");
    }
}

#[test]
fn a_child_of_a_fork_has_no_team() {
    end_well(team("forks", 2));
}

/// Why a rank that attaches like this is refused.
fn refused(program: std::process::Command) -> String {
    let ended = start(program).end();
    assert_eq!(ended.status.code(), Some(3), "{}", ended.text);
    ended.text
}

#[test]
fn a_second_team_of_a_name_is_refused() {
    let name = name();
    let ranks = [0, 1].map(|rank| start(program("forever", &name, rank, 2)));
    ranks.iter().for_each(|rank| rank.await_word("ready"));
    let text = refused(program("attach", &name, 0, 2));
    assert!(
        text.contains("Refused: a team named `") && text.contains("is there already"),
        "{text}"
    );
    let text = refused(program("attach", &name, 1, 2));
    assert!(text.contains("is complete: it takes no more ranks"), "{text}");
    drop(ranks);
    // The name is free when they have died, whatever they died of.
    end_well([0, 1].map(|rank| start(program("attach", &name, rank, 2))));
}

#[test]
fn ranks_that_do_not_fit_are_refused() {
    let name = name();
    let host = start(program("attach", &name, 0, 3));
    let first = start(program("attach", &name, 1, 3));
    settle();
    let text = refused(program("attach", &name, 1, 3));
    let taken = format!("rank 1 of team `{name}` is process {} already", pid(&first));
    assert!(text.contains(&taken), "{taken}: {text}");
    let text = refused(program("attach", &name, 1, 4));
    assert!(text.contains("has 3 ranks, this process expects 4"), "{text}");
    // Whoever was refused has done no harm.
    let last = start(program("attach", &name, 2, 3));
    end_well([host, first, last]);
}

#[test]
fn another_user_is_refused() {
    use std::os::unix::process::CommandExt;
    // SAFETY: has no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("SKIPPED: only root can be another user");
    }
    let name = name();
    let host = start(program("attach", &name, 0, 2));
    settle();
    let mut other = program("attach", &name, 1, 2);
    other.uid(65534);
    // Where the program cannot be read by that user, nothing is shown.
    let other = std::panic::catch_unwind(AssertUnwindSafe(|| start(other)));
    let Ok(other) = other else { return eprintln!("SKIPPED: the user cannot run this program") };
    let ended = other.end();
    assert!(ended.text.contains("user 65534"), "{}", ended.text);
    assert!(ended.text.contains("user 0"), "{}", ended.text);
    drop(host);
}

#[test]
fn a_rank_that_never_comes_is_named() {
    let name = name();
    let ranks = [0, 2].map(|rank| {
        let mut program = program("attach", &name, rank, 3);
        program.env("PHALANX_ATTACH", "0.8");
        start(program)
    });
    let texts = texts(ranks.into());
    assert!(
        texts[0].contains("Deadline") && texts[0].contains("rank 1 is missing"),
        "{}",
        texts[0]
    );
    // Rank 0 may have given up a moment before.
    let is_told = |text: &str| text.contains("rank 1 is missing") || text.contains("rank 0");
    assert!(is_told(&texts[1]), "{}", texts[1]);
    let mut alone = program("attach", "nobody hosts this", 1, 3);
    alone.env("PHALANX_ATTACH", "0.3");
    assert!(refused(alone).contains("has found no rank 0 of a team named `nobody hosts this`"));
}

#[test]
fn a_team_by_a_descriptor() {
    let segment = Segment::create(3, 1 << 20).unwrap();
    let copy = segment.inheritable().unwrap();
    let file = copy.as_raw_fd().to_string();
    end_well(ranks_of("attach", 3, |program| program.env("PHALANX_FD", &file)));
    let mut again = program("attach", "", 1, 3);
    again.env("PHALANX_FD", &file);
    let text = refused(again);
    assert!(text.contains("rank 1 of the team is process") && text.contains("already"), "{text}");
}

#[test]
fn files_that_are_no_team_are_refused() {
    use std::os::fd::{FromRawFd, OwnedFd};
    let attach = |file: OwnedFd| {
        let builder = Team::builder().attach_timeout(Duration::from_millis(50));
        builder.attach(Segment::from_fd(file), 0, 1).map(drop).unwrap_err().to_string()
    };
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert!(attach(file.into()).contains("is not sealed"));
    let made = |bytes: i64| {
        // SAFETY: a new file.
        unsafe {
            let file = libc::memfd_create(c"x".as_ptr(), libc::MFD_ALLOW_SEALING);
            assert_eq!(libc::ftruncate(file, bytes), 0);
            let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
            assert_eq!(libc::fcntl(file, libc::F_ADD_SEALS, seals), 0);
            OwnedFd::from_raw_fd(file)
        }
    };
    assert!(attach(made(4096)).contains("is too short"));
    assert!(attach(made(1 << 30)).contains("does not begin as one"));
    let segment = Segment::create(2, 0).unwrap();
    assert!(attach(segment.inheritable().unwrap()).contains("has 2 ranks, this process expects 1"));
    // A head that lies about its size.
    let file = segment.inheritable().unwrap();
    let lie = (1_u64 << 62).to_ne_bytes();
    // SAFETY: so many bytes, behind the number of ranks: magic, version, ranks, part.
    unsafe {
        assert_eq!(libc::pwrite(file.as_raw_fd(), lie.as_ptr().cast(), 8, 80), 8);
    }
    let builder = Team::builder().attach_timeout(Duration::from_millis(50));
    let error = builder.attach(Segment::from_fd(file), 0, 2).unwrap_err();
    assert!(error.to_string().contains("another size than its head says"), "{error}");
}

#[test]
fn another_version_is_refused() {
    use std::io::{Read, Write};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};
    let other = *b"phalanx-processes 9.9.9\0";
    // By a descriptor: a segment that another version made.
    let segment = Segment::create(1, 0).unwrap();
    let file = segment.inheritable().unwrap();
    // SAFETY: so many bytes, behind the magic.
    let written = unsafe { libc::pwrite(file.as_raw_fd(), other.as_ptr().cast(), other.len(), 8) };
    assert_eq!(written, other.len() as isize);
    let error = Team::builder().attach(Segment::from_fd(file), 0, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let text = error.to_string();
    assert!(text.contains("the team is of `phalanx-processes 9.9.9`, this process of `"), "{text}");
    // By name: the greeting of another version.
    let name = name();
    let host = start(program("attach", &name, 0, 2));
    settle();
    let address = SocketAddr::from_abstract_name(format!("phalanx/{name}")).unwrap();
    let mut socket = UnixStream::connect_addr(&address).unwrap();
    let mut greeting = [0; 80];
    greeting[..8].copy_from_slice(b"PHALANX?");
    greeting[8..8 + other.len()].copy_from_slice(&other);
    greeting[72..].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
    socket.write_all(&greeting).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    let text = String::from_utf8_lossy(&answer).into_owned();
    assert!(text.contains("this process of `phalanx-processes 9.9.9`"), "{text}");
    drop(host);
}

#[test]
fn names_and_numbers_are_checked() {
    let wrong = |name: &str, rank, ranks| Team::join(name, rank, ranks).unwrap_err().to_string();
    assert!(wrong("", 0, 1).contains("1 to 80 visible characters"));
    assert!(wrong("a\nb", 0, 1).contains("1 to 80 visible characters"));
    assert!(wrong(&"x".repeat(81), 0, 1).contains("1 to 80 visible characters"));
    assert!(wrong("x", 2, 2).contains("rank 2 is none of a team of 2 ranks"));
    assert!(wrong("x", 0, 0).contains("one rank at least"));
    assert!(wrong("x", 0, 1000).contains("128 at most"));
}

/// Two ranks that are threads of one process.
#[test]
fn ranks_may_be_threads() {
    let name = name();
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let name = &name;
            scope.spawn(move || {
                let mut team = Team::join(name, rank, 2).unwrap();
                let mut x = [rank as f64 + 1.0];
                team.all_reduce(&mut x, op::Sum).unwrap();
                assert_eq!(x, [3.0]);
            });
        }
    });
}

#[test]
fn sixteen_teams_at_once() {
    let teams: Vec<Vec<Rank>> = (0..16).map(|_| team("small", 2)).collect();
    end_well(teams.into_iter().flatten());
}

/// Open files, mapped files and all mappings of this process.
fn resources() -> [usize; 3] {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    [files, maps.lines().filter(|line| line.contains('/')).count(), maps.lines().count()]
}

/// Attachments leave nothing behind: of so many teams of two ranks, eight at a time.
/// `.ci/processes` asks for many.
#[test]
fn nothing_is_left_of_many_attachments() {
    const AT_ONCE: usize = 8;
    let many = std::env::var("PHALANX_ATTACHMENTS").map_or(300, |text| text.parse().unwrap());
    let names: Vec<String> = (0..AT_ONCE).map(|_| name()).collect();
    let once = |name: &str, i: usize| {
        std::thread::scope(|scope| {
            for rank in 0..2 {
                scope.spawn(move || {
                    let mut team = Team::builder().memory(0).join(name, rank, 2).unwrap();
                    team.barrier().unwrap();
                    if i.is_multiple_of(10) {
                        let mut group = team.split(Some(0), 0).unwrap().unwrap();
                        group.barrier().unwrap();
                    }
                    // So that the next team's rank 0 finds the name free.
                    let _ = team.barrier();
                });
            }
        });
    };
    let all = |teams: usize| {
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(move || (0..teams.div_ceil(AT_ONCE)).for_each(|i| once(name, i)));
            }
        });
    };
    all(20);
    let before = resources();
    all(many);
    let after = resources();
    // Other tests run beside this one, if it is not alone. Mappings without a file are also those
    // of the allocator, which has some for each thread, up to eight times the cores.
    let slack = if std::env::var_os("PHALANX_ATTACHMENTS").is_some() { 4 } else { 200 };
    for (i, slack) in [slack, slack, slack + 100].into_iter().enumerate() {
        assert!(after[i] <= before[i] + slack, "files, mapped, mappings: {before:?} {after:?}");
    }
}
