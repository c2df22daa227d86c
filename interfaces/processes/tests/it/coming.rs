//! Coming and going: each ends with an error that names the cause, or works.

use crate::start::{Ended, Rank, end_well, forked, name, program, ranks_of, start, team};
use phalanx_processes::{Builder, Error, ErrorKind, Segment, Team, op};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

/// What a rank's program does before it attaches.
pub(crate) fn prepare(role: &str) {
    if role == "floods" {
        flood();
    }
    if let Ok(files) = std::env::var("PHALANX_FILES") {
        limit(libc::RLIMIT_NOFILE, files.parse().unwrap());
    }
    if std::env::var_os("PHALANX_FILE_SIZE").is_some() {
        limit(libc::RLIMIT_FSIZE, 1 << 20);
    }
    if std::env::var_os("PHALANX_CLOSED").is_some() {
        (0..3).for_each(|file| {
            // SAFETY: nothing reads or writes them any more.
            unsafe { libc::close(file) };
        });
    }
}

fn limit(resource: libc::__rlimit_resource_t, most: u64) {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: a limit of this process.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw const limit) }, 0);
}

/// The roles of ranks that go.
pub(crate) fn rank(role: &str, mut team: Team) {
    team.barrier().unwrap();
    match (role, team.rank()) {
        ("execs", 1) => {
            use std::os::unix::process::CommandExt;
            panic!("{}", Command::new("sleep").arg("60").exec());
        }
        ("forks and dies", 1) => {
            // SAFETY: the child only sleeps.
            if unsafe { libc::fork() } == 0 {
                std::thread::sleep(Duration::from_secs(20));
                // SAFETY: ends the child.
                unsafe { libc::_exit(0) }
            }
            std::process::abort();
        }
        ("ends", 1) => std::process::exit(4),
        ("late", 1) => {
            eprintln!("ready");
            (0..10).for_each(|_| std::thread::sleep(Duration::from_millis(100)));
        }
        _ => {}
    }
    match team.barrier() {
        Ok(()) => {}
        Err(error) => {
            eprintln!("{:?}: {error}", error.kind());
            std::process::exit(3);
        }
    }
}

/// Connects to the team's name and goes, again and again; as the user who has started it.
fn flood() -> ! {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};
    let name = format!("phalanx/{}", std::env::var("PHALANX_TEAM").unwrap());
    let address = SocketAddr::from_abstract_name(name).unwrap();
    eprintln!("ready");
    loop {
        drop(UnixStream::connect_addr(&address));
    }
}

fn builder(attach: f64) -> Builder {
    let builder = Team::builder().timeout(Some(Duration::from_secs(60))).memory(0);
    builder.attach_timeout(Duration::from_secs_f64(attach))
}

/// The ranks as threads, each with its time for attaching; all at once, but each of `later` a while
/// after the others.
fn together(
    times: &[f64],
    later: &[usize],
    attach: impl Fn(Builder, usize) -> Result<Team, Error> + Sync,
) -> Vec<Result<(), Error>> {
    let attach = &attach;
    std::thread::scope(|scope| {
        let start = |(rank, time): (usize, &f64)| {
            let (builder, is_late) = (builder(*time), later.contains(&rank));
            scope.spawn(move || {
                if is_late {
                    std::thread::sleep(Duration::from_millis(300));
                }
                attach(builder, rank).and_then(|mut team| team.barrier())
            })
        };
        let all: Vec<_> = times.iter().enumerate().map(start).collect();
        all.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn ranks_join_and_leave_without_a_call() {
    let name = name();
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let name = &name;
            scope.spawn(move || {
                for round in 0..100 {
                    let team = builder(60.0).join(name, rank, 2);
                    drop(team.unwrap_or_else(|e| panic!("rank {rank}, round {round}: {e}")));
                }
            });
        }
    });
}

/// Of three ranks the last does not come, and rank 1 does not wait for it as long as rank 0.
fn one_gives_up(attach: impl Fn(Builder, usize) -> Result<Team, Error> + Sync) {
    let outcome = together(&[60.0, 0.5], &[], &attach);
    let pid = std::process::id();
    let [first, second] = [0, 1].map(|rank| outcome[rank].clone().unwrap_err());
    assert_eq!((second.kind(), second.rank()), (ErrorKind::Deadline, Some(2)));
    assert_eq!(
        second.to_string(),
        "rank 1 has waited 0.5 s for all ranks to attach: rank 2 is missing"
    );
    assert_eq!((first.kind(), first.rank()), (ErrorKind::Deadline, Some(1)));
    let text = first.to_string();
    assert!(text.starts_with(&format!("rank 1 (process {pid}, `")), "{text}");
    assert!(text.ends_with(&format!(") has given up: {second}")), "{text}");
    // Its place is free, and those of the others.
    assert_eq!(together(&[60.0; 3], &[2], &attach), [Ok(()), Ok(()), Ok(())]);
}

#[test]
fn an_attachment_that_timed_out_is_told_and_made_again() {
    let name = name();
    one_gives_up(|builder, rank| builder.join(&name, rank, 3));
    let segment = Segment::create(3, 0).unwrap();
    one_gives_up(|builder, rank| {
        builder.attach(Segment::from_fd(segment.inheritable().unwrap()), rank, 3)
    });
}

#[test]
fn for_ever_is_a_time() {
    let name = name();
    let builder = || Team::builder().attach_timeout(Duration::MAX).timeout(Some(Duration::MAX));
    let outcome = together(&[0.0; 2], &[1], |_, rank| builder().join(&name, rank, 2));
    assert_eq!(outcome, [Ok(()), Ok(())]);
}

/// A name's end is another name, which nobody has: also when a team that is complete would be told.
#[test]
fn a_name_is_the_whole_name() {
    let (name, other) = (name(), name());
    let mut team = Team::join(&format!("{name}@phalanx/{other}"), 0, 1).unwrap();
    let text = builder(3.5).join(&other, 1, 2).map(drop).unwrap_err().to_string();
    assert!(text.contains("has found no rank 0 of a team named"), "{text}");
    team.barrier().unwrap();
}

fn ended(ranks: Vec<Rank>) -> Vec<Ended> {
    ranks.into_iter().map(Rank::end).collect()
}

#[test]
fn a_rank_that_starts_another_program_is_told() {
    let mut ranks = team("execs", 2);
    let first = ranks.remove(0).end();
    assert!(first.text.contains("Left: rank 1 (process "), "{}", first.text);
    assert!(first.text.contains("runs another program now (`sleep`)"), "{}", first.text);
}

/// The child has copies of the descriptors of its parent.
#[test]
fn a_rank_whose_child_lives_is_dead() {
    let mut ranks = ranks_of("forks and dies", 2, |program| program.env("PHALANX_TIMEOUT", "15"));
    let first = ranks.remove(0).end();
    assert!(first.text.contains("Died: rank 1 (process "), "{}", first.text);
}

/// A program whose standard streams are closed does not write into the team's memory.
#[test]
fn descriptors_of_the_standard_streams_stay_free() {
    let ranks = ranks_of("calls", 2, |program| program.env("PHALANX_CLOSED", "1"));
    end_well(ranks);
    // The child says by its code which descriptor is taken.
    let code = forked(|| {
        // SAFETY: nothing reads or writes them any more.
        (0..3).for_each(|file| unsafe { _ = libc::close(file) });
        let team = Team::join(&name(), 0, 1);
        // SAFETY: numbers.
        let is_open = |file: &i32| unsafe { libc::fcntl(*file, libc::F_GETFD) } >= 0;
        if team.is_ok() { (0..3).filter(is_open).count() as i32 } else { 9 }
    });
    assert_eq!(code, Some(0), "so many of the three are taken");
}

/// Long before the time to attach is over.
#[test]
fn a_rank_that_cannot_attach_is_heard_of() {
    let name = name();
    let mut second = program("attach", &name, 1, 2);
    second.env("PHALANX_FILES", "4");
    let [first, second] = [program("attach", &name, 0, 2), second].map(start).map(Rank::end);
    assert!(second.text.contains("no descriptor is left (limit 4,"), "{}", second.text);
    assert!(first.text.contains("Left: rank 1 (process "), "{}", first.text);
    assert!(first.text.contains(") has given up: receiving the team's memory"), "{}", first.text);
}

#[test]
fn limits_are_named() {
    let ranks = ranks_of("attach", 2, |program| {
        program.env("PHALANX_FILE_SIZE", "1").env("PHALANX_ATTACH", "1")
    });
    for (text, says) in ended(ranks).iter().zip(["Memory: the team's", "has given up: the team's"])
    {
        assert!(text.text.contains(says), "{}", text.text);
        assert!(text.text.contains("(`ulimit -f`) is 1048576 bytes"), "{}", text.text);
    }
    let mut good = 0;
    for files in 3..16 {
        let ranks = ranks_of("attach", 2, |program| {
            program.env("PHALANX_FILES", files.to_string()).env("PHALANX_ATTACH", "1")
        });
        let ended = ended(ranks);
        let texts = ended.iter().map(|it| it.text.as_str()).collect::<String>();
        let is_good = ended.iter().all(|it| it.status.success());
        assert!(is_good || texts.contains(&format!("left (limit {files},")), "{files}: {texts}");
        good += usize::from(is_good);
    }
    assert!(good >= 8, "{good}: enough descriptors are enough");
}

/// Whether the system lets this process do so; the reason why not is said.
fn may(command: &[&str]) -> bool {
    let done = Command::new(command[0]).args(&command[1..]).arg("true").output();
    let is_done = done.is_ok_and(|it| it.status.success());
    if !is_done {
        eprintln!("SKIPPED: the system refuses `{}`", command.join(" "));
    }
    is_done
}

/// The program, run by another one.
fn within(words: &[&str], inner: &Command) -> Command {
    let mut outer = Command::new(words[0]);
    outer.args(&words[1..]).arg(inner.get_program()).args(inner.get_args());
    inner.get_envs().for_each(|(key, value)| {
        outer.env(key, value.unwrap());
    });
    outer
}

/// Each rank is the first process of its namespace, or the second one.
#[test]
fn ranks_of_other_process_namespaces() {
    let alone = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let shell = [&alone[..], &["sh", "-c", "\"$@\"; exit $?", "sh"]].concat();
    if !may(&alone) {
        return;
    }
    for wraps in [[&alone[..], &alone], [&alone, &shell]] {
        let name = name();
        let ranks = wraps.iter().enumerate().map(|(rank, words)| {
            let mut program = program("ends", &name, rank, 2);
            program.env("PHALANX_TIMEOUT", "20");
            start(within(words, &program))
        });
        let text = ended(ranks.collect()).remove(0).text;
        assert!(text.contains("Died: rank 1 (process ") && text.contains("has died"), "{text}");
    }
}

#[test]
fn a_missing_proc_is_named() {
    let words = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && \"$@\"", "sh"];
    if !may(&words) {
        return;
    }
    // This program finds its own file by /proc, so it does not run there.
    let name = name();
    let ranks = [0, 1].map(|rank| start(within(&words, &program("attach", &name, rank, 2))));
    for rank in ranks.map(Rank::end) {
        assert!(rank.text.contains("System: /proc is not mounted"), "{}", rank.text);
    }
}

/// In a user namespace without a map all users have one number.
#[test]
fn users_without_a_number_are_refused() {
    let words = ["unshare", "--user"];
    if !may(&words) {
        return;
    }
    let name = name();
    let text = start(within(&words, &program("attach", &name, 0, 2))).end().text;
    assert!(text.contains("Refused: ") && text.contains("cannot tell who joins"), "{text}");
    let host = start(program("attach", &name, 0, 2));
    std::thread::sleep(Duration::from_millis(500));
    let text = start(within(&words, &program("attach", &name, 1, 2))).end().text;
    assert!(text.contains("Refused: ") && text.contains("cannot tell who joins"), "{text}");
    drop(host);
}

#[test]
fn a_crowd_of_another_user_holds_nobody() {
    use std::os::unix::process::CommandExt;
    // SAFETY: has no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("SKIPPED: only root can be another user");
    }
    let name = name();
    let crowd: Vec<_> = (0..3)
        .map(|_| {
            let mut program = program("floods", &name, 0, 2);
            program.uid(65534);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| start(program)))
        })
        .collect();
    if crowd.iter().any(Result::is_err) {
        return eprintln!("SKIPPED: the user cannot run this program");
    }
    crowd.iter().flatten().for_each(|rank| rank.await_word("ready"));
    let mut alone = program("attach", &name, 0, 2);
    alone.env("PHALANX_ATTACH", "1");
    let text = start(alone).end().text;
    assert!(text.contains("Deadline: ") && text.contains("rank 1 is missing"), "{text}");
    end_well([0, 1].map(|rank| start(program("attach", &name, rank, 2))));
}

/// Both ranks are stopped for longer than the timeout, as by Ctrl-Z, and go on.
#[test]
fn the_stop_of_a_process_does_not_count() {
    let ranks = ranks_of("late", 2, |program| program.env("PHALANX_TIMEOUT", "3"));
    ranks[1].await_word("ready");
    let signal = |number| {
        for rank in &ranks {
            // SAFETY: a child of this process that has not been waited for.
            unsafe { libc::kill(rank.process.id() as i32, number) };
        }
    };
    signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(4500));
    signal(libc::SIGCONT);
    end_well(ranks);
}

extern "C" fn nothing(_: i32) {}

/// A timer ends system calls all the time, as that of a profiler.
#[test]
fn ranks_join_under_a_timer() {
    let code = forked(|| {
        let every = libc::timeval { tv_sec: 0, tv_usec: 200 };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        // SAFETY: the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
            libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
            libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
        }
        let name = name();
        let good = (0..30).all(|_| {
            let all = together(&[60.0; 3], &[], |builder, rank| builder.join(&name, rank, 3));
            all.iter().all(|it| it.as_ref().inspect_err(|e| eprintln!("{e}")).is_ok())
        });
        i32::from(!good)
    });
    assert_eq!(code, Some(0));
}

/// The whole of it: sums are right afterwards, too.
#[test]
fn a_host_that_ends_in_between_is_followed_by_another() {
    let name = name();
    let first = start(program("attach", &name, 0, 3));
    let second = start(program("attach", &name, 1, 3));
    std::thread::sleep(Duration::from_millis(500));
    let pid = first.process.id();
    drop(first);
    let text = second.end().text;
    assert!(text.contains(&format!("Died: rank 0 (process {pid}, `")), "{text}");
    let outcome = together(&[60.0; 3], &[0], |builder, rank| {
        let mut team = builder.join(&name, rank, 3)?;
        let mut x = [1];
        team.all_reduce(&mut x, op::Sum)?;
        assert_eq!(x, [3]);
        Ok(team)
    });
    assert_eq!(outcome, [Ok(()), Ok(()), Ok(())]);
    // The descriptor of a name's memory is nobody's but the ranks'.
    let segment = Segment::create(1, 0).unwrap();
    assert!(segment.inheritable().unwrap().as_raw_fd() > 2);
}
