//! The C interface of `phalanx-processes`: the functions are described in
//! `include/phalanx_processes.h`.
//!
//! All of them go through `guarded`: no panic reaches C, and the text of an error is kept for the
//! thread.
#![cfg(target_os = "linux")]

mod typed;

use phalanx_processes::{Error, ErrorKind, Place, Segment, Symmetric, Team};
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

/// A team, and the buffers that were allocated in its memory.
#[derive(Debug)]
pub struct TeamHandle {
    team: Team,
    buffers: Vec<Symmetric<u8>>,
}

/// An error as a number and a text.
enum Wrong {
    Team(Error),
    Here(ErrorKind, String),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Wrong::Team(error)
    }
}

fn argument(text: &str) -> Wrong {
    Wrong::Here(ErrorKind::Argument, text.to_string())
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

fn tell(kind: ErrorKind, text: &str) -> c_int {
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    let _ = MESSAGE.try_with(|message| message.replace(text));
    kind.number() as c_int
}

/// Runs the body of a function.
fn guarded(body: impl FnOnce() -> Result<(), Wrong>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(Wrong::Team(error))) => tell(error.kind(), &error.to_string()),
        Ok(Err(Wrong::Here(kind, text))) => tell(kind, &text),
        Err(_) => tell(ErrorKind::System, "a fault within phalanx-processes"),
    }
}

/// A line of the caller's program. Names of files are kept for good, each once.
fn place(file: *const c_char, line: c_int) -> Place {
    static FILES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    thread_local! {
        /// The last one: its address, and the kept text.
        static LAST: RefCell<(usize, &'static str)> = const { RefCell::new((0, "")) };
    }
    let line = u32::try_from(line).unwrap_or(0);
    if file.is_null() {
        return Place::of("C", line);
    }
    // SAFETY: a string of C's, as the header asks for.
    let text = unsafe { CStr::from_ptr(file) };
    let (at, last) = LAST.with_borrow(|last| *last);
    if at == file.addr() && last.as_bytes() == text.to_bytes() {
        return Place::of(last, line);
    }
    let text = text.to_string_lossy();
    let mut files = FILES.lock().unwrap_or_else(|e| e.into_inner());
    let files = files.get_or_insert_default();
    let kept = match files.get(&*text) {
        Some(kept) => kept,
        None => {
            let kept: &'static str = text.into_owned().leak();
            files.insert(kept);
            kept
        }
    };
    LAST.set((file.addr(), kept));
    Place::of(kept, line)
}

/// The team behind a handle.
fn team<'a>(handle: *mut TeamHandle) -> Result<&'a mut TeamHandle, Wrong> {
    // SAFETY: null, or a handle of this library that one thread uses, as the header asks for.
    unsafe { handle.as_mut() }.ok_or_else(|| argument("the team is null"))
}

fn index(number: c_int, name: &str) -> Result<usize, Wrong> {
    usize::try_from(number).map_err(|_| argument(&format!("{name} is {number}")))
}

fn seconds(seconds: f64) -> Result<Option<Duration>, Wrong> {
    match seconds {
        s if s < 0.0 => Ok(None),
        s => match Duration::try_from_secs_f64(s) {
            Ok(time) => Ok(Some(time)),
            Err(_) => Err(argument(&format!("{s} is no time in seconds"))),
        },
    }
}

fn builder(timeout: f64, attach_timeout: f64) -> Result<phalanx_processes::Builder, Wrong> {
    let attach = seconds(attach_timeout)?.unwrap_or(Duration::from_secs(60));
    Ok(Team::builder().timeout(seconds(timeout)?).attach_timeout(attach))
}

/// Gives a team to C.
fn hand_out(team: Team, to: *mut *mut TeamHandle) -> Result<(), Wrong> {
    if to.is_null() {
        return Err(argument("there is no place for the team"));
    }
    let handle = Box::into_raw(Box::new(TeamHandle { team, buffers: Vec::new() }));
    // SAFETY: a place for a pointer, as the header asks for.
    unsafe { to.write(handle) };
    Ok(())
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_join(
    name: *const c_char,
    rank: c_int,
    ranks: c_int,
    timeout: f64,
    attach_timeout: f64,
    memory: usize,
    to: *mut *mut TeamHandle,
) -> c_int {
    guarded(|| {
        if name.is_null() {
            return Err(argument("the name is null"));
        }
        // SAFETY: a string of C's.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let builder = builder(timeout, attach_timeout)?.memory(memory);
        hand_out(builder.join(&name, index(rank, "rank")?, index(ranks, "ranks")?)?, to)
    })
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_attach(
    fd: c_int,
    rank: c_int,
    ranks: c_int,
    timeout: f64,
    attach_timeout: f64,
    to: *mut *mut TeamHandle,
) -> c_int {
    guarded(|| {
        index(fd, "fd")?;
        // SAFETY: a descriptor that the caller gives away.
        let segment = Segment::from_fd(unsafe { OwnedFd::from_raw_fd(fd) });
        let builder = builder(timeout, attach_timeout)?;
        hand_out(builder.attach(segment, index(rank, "rank")?, index(ranks, "ranks")?)?, to)
    })
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_segment(ranks: c_int, memory: usize, fd: *mut c_int) -> c_int {
    guarded(|| {
        if fd.is_null() {
            return Err(argument("there is no place for the descriptor"));
        }
        let segment = Segment::create(index(ranks, "ranks")?, memory)?;
        // SAFETY: a place for a number.
        unsafe { fd.write(segment.inheritable()?.into_raw_fd()) };
        Ok(())
    })
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_leave(handle: *mut TeamHandle) {
    if !handle.is_null() {
        // SAFETY: made by `hand_out`, and not used any more.
        let handle = unsafe { Box::from_raw(handle) };
        guarded(|| {
            drop(handle);
            Ok(())
        });
    }
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_rank(handle: *const TeamHandle) -> c_int {
    // SAFETY: null or a handle.
    unsafe { handle.as_ref() }.map_or(-1, |handle| handle.team.rank() as c_int)
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_size(handle: *const TeamHandle) -> c_int {
    // SAFETY: null or a handle.
    unsafe { handle.as_ref() }.map_or(-1, |handle| handle.team.size() as c_int)
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn phx_proc_message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_barrier(
    handle: *mut TeamHandle,
    file: *const c_char,
    line: c_int,
) -> c_int {
    guarded(|| Ok(team(handle)?.team.at(place(file, line)).barrier()?))
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_split(
    handle: *mut TeamHandle,
    color: c_int,
    key: u64,
    to: *mut *mut TeamHandle,
    file: *const c_char,
    line: c_int,
) -> c_int {
    guarded(|| {
        if to.is_null() {
            return Err(argument("there is no place for the group"));
        }
        let color = u32::try_from(color).ok();
        match team(handle)?.team.at(place(file, line)).split(color, key)? {
            Some(group) => hand_out(group, to),
            None => {
                // SAFETY: a place for a pointer.
                unsafe { to.write(std::ptr::null_mut()) };
                Ok(())
            }
        }
    })
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_allocate(
    handle: *mut TeamHandle,
    bytes: usize,
    to: *mut *mut c_void,
    file: *const c_char,
    line: c_int,
) -> c_int {
    guarded(|| {
        if to.is_null() {
            return Err(argument("there is no place for the address"));
        }
        let handle = team(handle)?;
        let buffer = handle.team.at(place(file, line)).symmetric::<u8>(bytes)?;
        // SAFETY: a place for a pointer.
        unsafe { to.write(buffer.as_mut_ptr().cast()) };
        handle.buffers.push(buffer);
        Ok(())
    })
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_free(
    handle: *mut TeamHandle,
    memory: *mut c_void,
    file: *const c_char,
    line: c_int,
) -> c_int {
    guarded(|| {
        let handle = team(handle)?;
        let is_this = |buffer: &Symmetric<u8>| buffer.as_mut_ptr().addr() == memory.addr();
        let Some(place_of) = handle.buffers.iter().position(is_this) else {
            return Err(argument("the address is none that phx_proc_allocate has given"));
        };
        let buffer = handle.buffers.swap_remove(place_of);
        Ok(handle.team.at(place(file, line)).free(buffer)?)
    })
}
