//! Handing over a team's memory by name: a Unix socket in the abstract namespace, which ends with
//! the process of rank 0, whatever ends it.
//!
//! Rank 0 listens; each other rank greets it with its version, rank and number of ranks, and gets
//! the descriptor, or the reason why not, or nothing if it is to ask again. Both ask the system for
//! the user of the other side. When all are there, the socket is shut: nobody can connect, but the
//! name stays taken as long as rank 0 has its team.

use crate::error::{Error, ErrorKind, Result};
use crate::head::{Segment, VERSION, VERSION_BYTES, version_bytes, version_of};
use crate::kept::{Kept, above};
use crate::mapping::read_proc;
use crate::patience::Patience;
use crate::presence::no_proc;
use crate::seat::printable;
use std::cell::Cell;
use std::io::{self, ErrorKind as Io, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest name of a team.
const LONGEST: usize = 80;

const MAGIC: [u8; 8] = *b"PHALANX?";

/// Of a rank that cannot join; the reason follows, as in an answer.
const GONE: [u8; 8] = *b"PHALANX!";

/// Bytes of a greeting: magic, version, rank and number of ranks.
const GREETING: usize = 8 + VERSION_BYTES + 8;

/// Bytes of an answer: whether it is a descriptor, and else a text.
const ANSWER: usize = 512;

/// How long a rank waits for a name that is taken: the team before may be ending.
const SHUT: Duration = Duration::from_secs(1);

/// How long a rank waits while a team of the name is complete: its rank 0 may be about to leave it,
/// and to make the next one.
const COMPLETE: Duration = Duration::from_secs(3);

/// A system call on a socket that waits ends after this time.
const SLICE: Duration = Duration::from_millis(50);

/// How long a process that has connected may take to greet.
const SILENT: Duration = Duration::from_millis(500);

/// Connections that are looked at before rank 0 looks at its team again; and those that may be
/// silent at once: the oldest goes.
const AT_ONCE: usize = 128;

fn refused(text: String) -> Error {
    Error::new(ErrorKind::Refused, text)
}

fn socket_name(name: &str) -> String {
    format!("phalanx/{name}")
}

/// A new socket, and the address of a name.
fn socket(name: &str) -> Result<(OwnedFd, libc::sockaddr_un, libc::socklen_t)> {
    let is_good = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    if name.is_empty() || name.len() > LONGEST || !name.bytes().all(is_good) {
        let text =
            format!("a team's name has 1 to {LONGEST} visible characters of ASCII: {name:?}");
        return Err(Error::new(ErrorKind::Argument, text));
    }
    // SAFETY: all bits 0 are a value of the type.
    let mut address: libc::sockaddr_un = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sun_family = libc::AF_UNIX as _;
    let name = socket_name(name);
    // Behind a 0, which makes it a name of the abstract namespace.
    for (to, from) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *to = from as _;
    }
    let bytes = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    // SAFETY: numbers; the result is looked at.
    let file = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if file < 0 {
        return Err(Error::last("the team's socket"));
    }
    // SAFETY: the system has just made it.
    let file = above(unsafe { OwnedFd::from_raw_fd(file) });
    Ok((file.map_err(|e| Error::system("dup", &e))?, address, bytes as libc::socklen_t))
}

/// Connects to rank 0; not for longer than a [`SLICE`].
fn connect(name: &str) -> Result<io::Result<UnixStream>> {
    let (file, address, bytes) = socket(name)?;
    let socket = UnixStream::from(file);
    let outcome = [socket.set_write_timeout(Some(SLICE)), socket.set_read_timeout(Some(SLICE))];
    outcome.into_iter().collect::<io::Result<()>>().map_err(|e| Error::system("setsockopt", &e))?;
    // SAFETY: a descriptor, and an address of so many bytes.
    let done = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), bytes) };
    Ok(if done == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) })
}

/// The user and the process on the other side of a socket.
fn other_side(socket: &UnixStream) -> Result<libc::ucred> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the system writes no more than `bytes`.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut bytes,
        )
    };
    if done == 0 { Ok(found) } else { Err(Error::last("SO_PEERCRED")) }
}

/// This process's user; refused where others have the same number: in a user namespace all users
/// that it does not know have one.
fn own_user() -> Result<u32> {
    // SAFETY: has no arguments.
    let user = unsafe { libc::geteuid() };
    let unknown = read_proc("/proc/sys/kernel/overflowuid");
    if unknown.and_then(|it| it.trim().parse().ok()).unwrap_or(65534) == user {
        let map = read_proc("/proc/self/uid_map").unwrap_or_default();
        if !map.split_whitespace().eq(["0", "0", "4294967295"]) {
            return Err(refused(format!(
                "this process is user {user} of its user namespace, and so are all users that are \
                 not known there: it cannot tell who joins a team (map the user: /proc/PID/uid_map)"
            )));
        }
    }
    Ok(user)
}

/// Room for one descriptor beside a message, aligned for its head.
#[repr(C, align(8))]
struct Beside([u8; 64]);

/// Sends `bytes`, and a descriptor.
fn send_with(socket: &UnixStream, bytes: &[u8], file: RawFd) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut beside = Beside([0; 64]);
    // SAFETY: all bits 0 are a value of the type.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = beside.0.as_mut_ptr().cast();
    // SAFETY: the macros compute; the head they find is within `beside`, which is aligned.
    unsafe {
        let size = size_of::<RawFd>() as u32;
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(file);
    }
    loop {
        // SAFETY: all that it names lives.
        let sent =
            unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
        match (sent, io::Error::last_os_error()) {
            (sent, _) if sent as usize == bytes.len() => return Ok(()),
            (0.., _) => return Err(Io::WriteZero.into()),
            (_, e) if e.kind() == Io::Interrupted => {}
            (_, e) => return Err(e),
        }
    }
}

/// Receives up to `bytes`, and a descriptor if one comes.
fn receive_with(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut beside = Beside([0; 64]);
    // SAFETY: all bits 0 are a value of the type.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = beside.0.as_mut_ptr().cast();
    // Of one descriptor: the system closes more that may come.
    // SAFETY: computes.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
    // SAFETY: all that it names lives, and has the room that it says.
    let got =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system has written what the lengths say; a descriptor of this process.
    let file = unsafe {
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        let is_file = !head.is_null()
            && (*head).cmsg_level == libc::SOL_SOCKET
            && (*head).cmsg_type == libc::SCM_RIGHTS
            && (*head).cmsg_len as usize >= libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
        is_file
            .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<RawFd>().read_unaligned()))
    };
    Ok((got as usize, file.map(above).transpose()?))
}

/// Rank 0's side.
#[derive(Debug)]
pub(crate) struct Host {
    listener: Kept,
    name: String,
    ranks: usize,
    user: u32,
    /// Those that have connected, and not greeted yet.
    silent: Vec<(UnixStream, Instant)>,
}

/// What rank 0 does with a process that asks.
pub(crate) enum Reply {
    Welcome,
    /// Another process has its rank.
    Taken(u32),
    /// It is to ask again: the team is complete, or over.
    Again,
    /// Rank 0 has given up, for this reason.
    Over(String),
}

impl Host {
    /// Takes the name; waits a moment if another team has it.
    pub(crate) fn new(name: &str, ranks: usize, attach: &mut Patience) -> Result<Host> {
        let (file, address, bytes) = socket(name)?;
        let user = if ranks > 1 { own_user()? } else { u32::MAX };
        let failed = |e: io::Error| Error::system("the team's socket", &e);
        let listener = Kept::new(file).map_err(failed)?;
        let mut patience = Patience::new(Some(SHUT));
        // SAFETY: a descriptor, and an address of so many bytes.
        while unsafe { libc::bind(listener.fd(), (&raw const address).cast(), bytes) } != 0 {
            let error = io::Error::last_os_error();
            if error.kind() != Io::AddrInUse {
                return Err(failed(error));
            }
            if patience.is_over() {
                let owner = connect(name)?.map(|socket| other_side(&socket).ok());
                let owner = owner.ok().flatten().map_or(String::new(), |it| {
                    format!(", of process {}, user {}", it.pid, it.uid)
                });
                return Err(refused(format!(
                    "a team named `{name}` is there already{owner}: a name is free again when its \
                     rank 0 has left the team"
                )));
            }
            attach.heed(0)?;
            std::thread::sleep(Duration::from_millis(2));
        }
        // SAFETY: a descriptor and numbers.
        let done = unsafe {
            libc::listen(listener.fd(), AT_ONCE as i32) == 0
                && libc::fcntl(listener.fd(), libc::F_SETFL, libc::O_NONBLOCK) == 0
        };
        if !done {
            return Err(Error::last("the team's socket"));
        }
        Ok(Host { listener, name: name.to_string(), ranks, user, silent: Vec::new() })
    }

    /// Answers those that have come, or come within `patience`: some at a time. `reply` says what
    /// it thinks of a process that would be rank so and so.
    pub(crate) fn serve(
        &mut self,
        file: Option<BorrowedFd<'_>>,
        patience: Duration,
        reply: &dyn Fn(usize) -> Reply,
    ) -> Result<()> {
        let listener = self.listener.fd();
        let all = self.silent.iter().map(|it| it.0.as_raw_fd()).chain([listener]);
        let mut polls: Vec<libc::pollfd> =
            all.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
        let (count, ms) = (polls.len() as libc::nfds_t, patience.as_millis().clamp(1, 50) as i32);
        // SAFETY: so many elements.
        unsafe { libc::poll(polls.as_mut_ptr(), count, ms) };
        for _ in 0..AT_ONCE {
            // SAFETY: a descriptor; no address is asked for.
            let file = unsafe {
                let nobody = std::ptr::null_mut();
                libc::accept4(listener, nobody, nobody.cast(), libc::SOCK_CLOEXEC)
            };
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                _ if file >= 0 => {}
                // Those that have come have the descriptors: they are answered, or go, first.
                Some(libc::EMFILE) if !self.silent.is_empty() => break,
                Some(libc::EMFILE | libc::ENFILE) => {
                    return Err(Error::system("accepting a rank", &error));
                }
                _ => break,
            }
            // SAFETY: the system has just made it.
            let socket = above(unsafe { OwnedFd::from_raw_fd(file) });
            let socket = UnixStream::from(socket.map_err(|e| Error::system("dup", &e))?);
            let other = other_side(&socket).map_or(u32::MAX, |it| it.uid);
            if other == self.user {
                self.silent.push((socket, Instant::now()));
            } else {
                let (name, own) = (&self.name, self.user);
                let text =
                    format!("team `{name}` belongs to user {own}, this process to user {other}");
                tell(&socket, &text);
            }
        }
        let excess = self.silent.len().saturating_sub(AT_ONCE);
        self.silent.drain(..excess);
        let (name, ranks, mut gone) = (&self.name, self.ranks, None);
        self.silent.retain(|(socket, since)| {
            let mut bytes = [0; GREETING + ANSWER];
            let got = peek(socket, &mut bytes);
            let (greeting, reason) = bytes.split_at(GREETING);
            let is_gone = greeting.starts_with(&GONE);
            match got {
                Ok(got) if got >= GREETING && (!is_gone || got == GREETING + ANSWER) => {}
                Ok(1..) => return since.elapsed() < SILENT,
                Err(e) if matches!(e.kind(), Io::WouldBlock | Io::Interrupted) => {
                    return since.elapsed() < SILENT;
                }
                _ => return false,
            }
            // What is not read would break the connection.
            let _ = (&*socket).read(&mut [0; GREETING + ANSWER]);
            // One that goes away meanwhile has no answer.
            let rank = rank_of(name, ranks, greeting);
            match rank.map(|rank| (rank, reply(rank))) {
                Ok((rank, Reply::Welcome)) if is_gone => {
                    gone = Some(Error::of(ErrorKind::Left, rank, reason_in(reason)));
                }
                Err(reason) => tell(socket, &reason),
                Ok((_, Reply::Over(reason))) => tell(socket, &reason),
                Ok((_, Reply::Again)) => {}
                Ok((rank, Reply::Taken(pid))) => {
                    tell(socket, &format!("rank {rank} of team `{name}` is process {pid} already"));
                }
                Ok((_, Reply::Welcome)) => {
                    let mut answer = [0; ANSWER];
                    answer[0] = 1;
                    let _ = file.map(|file| send_with(socket, &answer, file.as_raw_fd()));
                }
            }
            false
        });
        gone.map_or(Ok(()), Err)
    }

    /// Rank 0 gives up before there is a team: those that ask within a moment hear why.
    fn refuse(&mut self, reason: &str) {
        let (told, mut patience) = (Cell::new(1), Patience::new(Some(SHUT)));
        let reply = |_| {
            told.set(told.get() + 1);
            Reply::Over(reason.to_string())
        };
        while told.get() < self.ranks && !patience.is_over() {
            if self.serve(None, SLICE, &reply).is_err() {
                return;
            }
        }
    }

    /// All are there: nobody can connect any more.
    pub(crate) fn shut(&mut self) {
        self.silent.clear();
        // SAFETY: a descriptor.
        unsafe { libc::shutdown(self.listener.fd(), libc::SHUT_RDWR) };
    }
}

/// The answer with a reason.
fn answer(reason: &str) -> [u8; ANSWER] {
    let mut answer = [0; ANSWER];
    for (to, from) in answer[1..ANSWER - 1].iter_mut().zip(reason.bytes()) {
        *to = from;
    }
    answer
}

/// The reason in one.
fn reason_in(answer: &[u8]) -> String {
    printable(answer[1..].split(|byte| *byte == 0).next().unwrap_or_default())
}

/// Says why not; a new socket takes so much at once.
fn tell(mut socket: &UnixStream, reason: &str) {
    let _ = socket.set_nonblocking(true);
    let _ = socket.write_all(&answer(reason));
}

/// A rank gives up before it is attached, as the system refuses something: the others hear why.
pub(crate) fn give_up(
    name: &str,
    (rank, ranks): (usize, usize),
    host: Option<&mut Host>,
    error: &Error,
) {
    if !matches!(error.kind(), ErrorKind::System | ErrorKind::Memory) {
        return;
    }
    let process = std::process::id();
    let reason = format!("rank {rank} (process {process}) has given up: {}", error.text());
    if let Some(host) = host {
        host.refuse(&reason);
    } else if rank > 0
        && let Ok(Ok(mut socket)) = connect(name)
        && other_side(&socket).is_ok_and(|it| own_user().is_ok_and(|own| own == it.uid))
    {
        let greeting = greeting(GONE, (rank, ranks), VERSION);
        let _ = socket.write_all(&[&greeting[..], &answer(&reason)].concat());
    }
}

fn greeting(magic: [u8; 8], (rank, ranks): (usize, usize), version: &str) -> [u8; GREETING] {
    let mut greeting = [0; GREETING];
    greeting[..8].copy_from_slice(&magic);
    greeting[8..8 + VERSION_BYTES].copy_from_slice(&version_bytes(version));
    let numbers = [(rank as u32).to_le_bytes(), (ranks as u32).to_le_bytes()].concat();
    greeting[8 + VERSION_BYTES..].copy_from_slice(&numbers);
    greeting
}

/// The bytes that have come, which stay there.
fn peek(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<usize> {
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: a descriptor, and so many bytes.
    let got =
        unsafe { libc::recv(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), flags) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// The rank of a process that greets so, or why it may not join.
fn rank_of(name: &str, own: usize, greeting: &[u8]) -> Result<usize, String> {
    let (magic, rest) = greeting.split_at(8);
    let (version, numbers) = rest.split_at(VERSION_BYTES);
    let number =
        |at: usize| u32::from_le_bytes(numbers[at..at + 4].try_into().unwrap_or_default()) as usize;
    if ![MAGIC, GONE].iter().any(|it| it == magic) || version != version_bytes(VERSION) {
        let other = version_of(version);
        return Err(format!("team `{name}` is of `{VERSION}`, this process of `{other}`"));
    }
    let (rank, ranks) = (number(0), number(4));
    if ranks != own {
        return Err(format!("team `{name}` has {own} ranks, this process expects {ranks}"));
    }
    Ok(rank)
}

/// Asks rank 0 of the team for its memory.
pub(crate) fn ask(
    name: &str,
    (rank, ranks): (usize, usize),
    version: &str,
    patience: &mut Patience,
) -> Result<Segment> {
    let mut complete: Option<Patience> = None;
    if !Path::new("/proc/self/stat").exists() {
        return Err(no_proc());
    }
    loop {
        match connect(name)? {
            Ok(socket) => {
                if let Some(segment) = greet(socket, name, (rank, ranks), version, patience)? {
                    return Ok(segment);
                }
            }
            Err(e) => match e.kind() {
                // Too many ask at once.
                Io::WouldBlock | Io::Interrupted => {}
                Io::ConnectionRefused if !is_bound(name) => complete = None,
                Io::ConnectionRefused => {
                    if complete.get_or_insert_with(|| Patience::new(Some(COMPLETE))).is_over() {
                        let text = format!("team `{name}` is complete: it takes no more ranks");
                        return Err(refused(text));
                    }
                }
                _ => return Err(Error::system("the team's socket", &e)),
            },
        }
        if patience.is_over() {
            let text = format!(
                "rank {rank} has found no rank 0 of a team named `{name}` within {}",
                patience.told()
            );
            return Err(Error::of(ErrorKind::Deadline, 0, text));
        }
        patience.heed(rank)?;
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether somebody has the name.
fn is_bound(name: &str) -> bool {
    let socket = format!("@{}", socket_name(name));
    let all = read_proc("/proc/net/unix").unwrap_or_default();
    // Six words, the inode, and the name, which may have spaces.
    let name_of =
        |line: &'_ str| Some(line.splitn(7, ' ').nth(6)?.trim_start().split_once(' ')?.1 == socket);
    all.lines().any(|line| name_of(line) == Some(true))
}

/// The segment; none if rank 0 went away before it answered.
fn greet(
    mut socket: UnixStream,
    name: &str,
    (rank, ranks): (usize, usize),
    version: &str,
    patience: &mut Patience,
) -> Result<Option<Segment>> {
    let (other, own) = (other_side(&socket)?, own_user()?);
    if other.uid != own {
        return Err(refused(format!(
            "the name `{name}` belongs to process {} of user {}, this process to user {own}",
            other.pid, other.uid
        )));
    }
    // Who is refused has an answer without it.
    let _ = socket.write_all(&greeting(MAGIC, (rank, ranks), version));
    let mut answer = [0; ANSWER];
    let (mut got, file) = loop {
        match receive_with(&socket, &mut answer) {
            Ok((got, file)) if got > 0 => break (got, file),
            Err(e) if matches!(e.kind(), Io::WouldBlock | Io::TimedOut | Io::Interrupted) => {
                patience.heed(rank)?;
                if patience.is_over() {
                    let text = format!(
                        "rank 0 of team `{name}`, process {}, has not answered rank {rank} within \
                         {}",
                        other.pid,
                        patience.told()
                    );
                    return Err(Error::of(ErrorKind::Deadline, 0, text));
                }
            }
            _ => return Ok(None),
        }
    };
    while got < ANSWER {
        match socket.read(&mut answer[got..]) {
            Ok(more) if more > 0 => got += more,
            _ => return Ok(None),
        }
    }
    match (answer[0], file) {
        (1, Some(file)) => Ok(Some(Segment::from_fd(file))),
        // The system drops a descriptor for which there is no number.
        (1, None) => {
            let error = io::Error::from_raw_os_error(libc::EMFILE);
            Err(Error::system("receiving the team's memory", &error))
        }
        _ => Err(refused(reason_in(&answer))),
    }
}
