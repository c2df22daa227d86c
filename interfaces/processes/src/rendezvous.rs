//! Handing over a team's memory by name: a Unix socket in the abstract namespace, which ends with
//! the process of rank 0, whatever ends it.
//!
//! Rank 0 listens; each other rank greets it with its version, rank and number of ranks, and gets
//! the descriptor, or the reason why not. Both ask the system for the user of the other side. When
//! all are there, the socket is shut: nobody can connect, but the name stays taken as long as rank
//! 0 lives.

use crate::error::{Error, ErrorKind};
use crate::head::{Segment, VERSION, VERSION_BYTES, version_bytes, version_of};
use crate::mapping::read_proc;
use crate::seat::printable;
use std::io::{self, ErrorKind as Io, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// The longest name of a team.
const LONGEST: usize = 80;

const MAGIC: [u8; 8] = *b"PHALANX?";

/// Bytes of a greeting: magic, version, rank and number of ranks.
const GREETING: usize = 8 + VERSION_BYTES + 8;

/// Bytes of an answer: whether it is a descriptor, and else a text.
const ANSWER: usize = 512;

/// How long a rank waits for a name that is taken: the team before may be ending, or a child of a
/// process of it may be about to start another program, which closes what it has inherited.
const SHUT: Duration = Duration::from_secs(1);

fn refused(text: String) -> Error {
    Error::new(ErrorKind::Refused, text)
}

fn socket_name(name: &str) -> String {
    format!("phalanx/{name}")
}

fn address(name: &str) -> Result<SocketAddr, Error> {
    let is_good = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    if name.is_empty() || name.len() > LONGEST || !name.bytes().all(is_good) {
        let text =
            format!("a team's name has 1 to {LONGEST} visible characters of ASCII: {name:?}");
        return Err(Error::new(ErrorKind::Argument, text));
    }
    SocketAddr::from_abstract_name(socket_name(name))
        .map_err(|e| Error::system("the team's name", &e))
}

/// The user and the process on the other side of a socket.
fn other_side(socket: &UnixStream) -> Result<libc::ucred, Error> {
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

fn own_user() -> u32 {
    // SAFETY: has no arguments.
    unsafe { libc::geteuid() }
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
    // SAFETY: all that it names lives.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    match sent {
        sent if sent as usize == bytes.len() => Ok(()),
        sent if sent >= 0 => Err(Io::WriteZero.into()),
        _ => Err(io::Error::last_os_error()),
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
    Ok((got as usize, file))
}

/// Rank 0's side.
#[derive(Debug)]
pub(crate) struct Host {
    listener: UnixListener,
    name: String,
    ranks: usize,
}

impl Host {
    /// Takes the name; waits a moment if another team has it.
    pub(crate) fn new(name: &str, ranks: usize) -> Result<Host, Error> {
        let (address, since) = (address(name)?, Instant::now());
        let bound = loop {
            match UnixListener::bind_addr(&address) {
                Err(e) if e.kind() == Io::AddrInUse && since.elapsed() < SHUT => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                bound => break bound,
            }
        };
        let listener = bound.map_err(|e| match e.kind() {
            Io::AddrInUse => refused(format!(
                "a team named `{name}` is there already: a name is free again when the process of \
                 its rank 0 has ended"
            )),
            _ => Error::system("the team's socket", &e),
        })?;
        listener.set_nonblocking(true).map_err(|e| Error::system("the team's socket", &e))?;
        Ok(Host { listener, name: name.to_string(), ranks })
    }

    /// Answers those that have come, or come within `patience`. `taken` says which process has a
    /// rank already.
    pub(crate) fn serve(
        &self,
        file: BorrowedFd<'_>,
        patience: Duration,
        taken: &dyn Fn(usize) -> Option<u32>,
    ) {
        let mut poll =
            libc::pollfd { fd: self.listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one element.
        unsafe { libc::poll(&raw mut poll, 1, patience.as_millis().max(1) as i32) };
        while let Ok((socket, _)) = self.listener.accept() {
            // One that goes away meanwhile has no answer.
            let _ = self.answer(&socket, file, taken);
        }
    }

    fn answer(
        &self,
        mut socket: &UnixStream,
        file: BorrowedFd<'_>,
        taken: &dyn Fn(usize) -> Option<u32>,
    ) -> io::Result<()> {
        let (user, own) = (other_side(socket).map_or(u32::MAX, |it| it.uid), own_user());
        let mut greeting = [0; GREETING];
        // Nobody may keep the others waiting.
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(Duration::from_millis(500)))?;
        socket.set_write_timeout(Some(Duration::from_millis(500)))?;
        let reason = if user != own {
            Some(format!("team `{}` belongs to user {own}, this process to user {user}", self.name))
        } else {
            socket.read_exact(&mut greeting)?;
            self.objection(&greeting, taken)
        };
        let mut answer = [0; ANSWER];
        let Some(reason) = reason else {
            answer[0] = 1;
            return send_with(socket, &answer, file.as_raw_fd());
        };
        for (to, from) in answer[1..ANSWER - 1].iter_mut().zip(reason.bytes()) {
            *to = from;
        }
        socket.write_all(&answer)
    }

    /// Why the process that greets so may not join.
    fn objection(
        &self,
        greeting: &[u8; GREETING],
        taken: &dyn Fn(usize) -> Option<u32>,
    ) -> Option<String> {
        let name = &self.name;
        let (magic, rest) = greeting.split_at(8);
        let (version, numbers) = rest.split_at(VERSION_BYTES);
        let number = |at: usize| {
            u32::from_le_bytes(numbers[at..at + 4].try_into().unwrap_or_default()) as usize
        };
        if magic != MAGIC || version != version_bytes(VERSION) {
            let other = version_of(version);
            return Some(format!("team `{name}` is of `{VERSION}`, this process of `{other}`"));
        }
        let (rank, ranks) = (number(0), number(4));
        if ranks != self.ranks {
            let own = self.ranks;
            return Some(format!("team `{name}` has {own} ranks, this process expects {ranks}"));
        }
        let pid = taken(rank)?;
        Some(format!("rank {rank} of team `{name}` is process {pid} already"))
    }

    /// All are there: nobody can connect any more.
    pub(crate) fn shut(&self) {
        // SAFETY: a descriptor.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

/// Asks rank 0 of the team for its memory, until `deadline`.
pub(crate) fn ask(
    name: &str,
    (rank, ranks): (usize, usize),
    version: &str,
    deadline: Instant,
) -> Result<Segment, Error> {
    let address = address(name)?;
    let mut shut_since = None;
    loop {
        match UnixStream::connect_addr(&address) {
            Ok(socket) => {
                if let Some(segment) = greet(socket, name, (rank, ranks), version, deadline)? {
                    return Ok(segment);
                }
            }
            Err(e) if matches!(e.kind(), Io::ConnectionRefused | Io::WouldBlock) => {
                if !is_bound(name) {
                    shut_since = None;
                } else if shut_since.get_or_insert_with(Instant::now).elapsed() >= SHUT {
                    let text = format!("team `{name}` is complete: it takes no more ranks");
                    return Err(refused(text));
                }
            }
            Err(e) => return Err(Error::system("the team's socket", &e)),
        }
        if Instant::now() >= deadline {
            let text = format!("rank {rank} has found no rank 0 of a team named `{name}`");
            return Err(Error::of(ErrorKind::Deadline, 0, text));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether somebody has the name.
fn is_bound(name: &str) -> bool {
    let socket = format!("@{}", socket_name(name));
    let all = read_proc("/proc/net/unix").unwrap_or_default();
    all.lines().any(|line| line.ends_with(&socket))
}

/// The segment; none if rank 0 went away before it answered.
fn greet(
    mut socket: UnixStream,
    name: &str,
    (rank, ranks): (usize, usize),
    version: &str,
    deadline: Instant,
) -> Result<Option<Segment>, Error> {
    let (other, own) = (other_side(&socket)?, own_user());
    if other.uid != own {
        return Err(refused(format!(
            "the name `{name}` belongs to process {} of user {}, this process to user {own}",
            other.pid, other.uid
        )));
    }
    let mut greeting = [0; GREETING];
    greeting[..8].copy_from_slice(&MAGIC);
    greeting[8..8 + VERSION_BYTES].copy_from_slice(&version_bytes(version));
    let numbers = [(rank as u32).to_le_bytes(), (ranks as u32).to_le_bytes()].concat();
    greeting[8 + VERSION_BYTES..].copy_from_slice(&numbers);
    let patience = deadline.saturating_duration_since(Instant::now());
    let patience = patience.max(Duration::from_millis(10));
    let failed = |e: io::Error| Error::system("the team's socket", &e);
    socket.set_read_timeout(Some(patience)).map_err(failed)?;
    if socket.write_all(&greeting).is_err() {
        return Ok(None);
    }
    let mut answer = [0; ANSWER];
    let (mut got, file) = match receive_with(&socket, &mut answer) {
        Ok((got, file)) if got > 0 => (got, file),
        Err(e) if matches!(e.kind(), Io::WouldBlock | Io::TimedOut) => {
            let text = format!(
                "rank 0 of team `{name}`, process {}, has not answered rank {rank}",
                other.pid
            );
            return Err(Error::of(ErrorKind::Deadline, 0, text));
        }
        _ => return Ok(None),
    };
    while got < ANSWER {
        match socket.read(&mut answer[got..]) {
            Ok(more) if more > 0 => got += more,
            _ => return Ok(None),
        }
    }
    match (answer[0], file) {
        (1, Some(file)) => Ok(Some(Segment::from_fd(file))),
        _ => {
            let text = answer[1..].split(|byte| *byte == 0).next().unwrap_or_default();
            Err(refused(printable(text)))
        }
    }
}
