//! The C interface of `phalanx-processes`: the functions are described in
//! `include/phalanx_processes.h`.
//!
//! All of them go through `guarded`: no panic reaches C, and the text of an error is kept for the
//! thread.
#![cfg(target_os = "linux")]

mod handles;
mod typed;

#[allow(dead_code, reason = "made for the other C interface")]
#[path = "../../../capi/src/handle.rs"]
mod handle;

/// What the table of handles says when it is full.
mod error {
    pub(crate) fn fail(code: i32, _: String) -> i32 {
        code
    }
}

#[expect(non_camel_case_types, reason = "a name of C's")]
mod names {
    pub(crate) type phx_err = i32;
    pub(crate) const PHX_ERR_OTHER: phx_err = 1;
}

pub use handles::TeamHandle;
use handles::with;

use phalanx_processes::foreign;
use phalanx_processes::{Error, ErrorKind, Place, Segment, Team};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::IntoRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

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

/// A line of the caller's program.
fn place(file: *const c_char, line: c_int) -> Place {
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
    let kept = foreign::kept(&text.to_string_lossy());
    LAST.set((file.addr(), kept));
    Place::of(kept, line)
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
    let handle = handles::hand_out(team)?;
    // SAFETY: a place for a pointer, as the header asks for.
    unsafe { to.write(handle) };
    Ok(())
}

/// Functions of the header, which says what they do and what they ask for.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $body:block)*) => {$(
        /// See the header.
        ///
        /// # Safety
        /// As the header says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            guarded(|| $body)
        }
    )*};
}

functions! {
    phx_proc_join(name: *const c_char, rank: c_int, ranks: c_int, timeout: f64, attach_timeout: f64,
        memory: usize, to: *mut *mut TeamHandle)
    {
        if name.is_null() {
            return Err(argument("the name is null"));
        }
        // SAFETY: a string of C's.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let builder = builder(timeout, attach_timeout)?.memory(memory);
        hand_out(builder.join(&name, index(rank, "rank")?, index(ranks, "ranks")?)?, to)
    }

    phx_proc_attach(fd: c_int, rank: c_int, ranks: c_int, timeout: f64, attach_timeout: f64,
        to: *mut *mut TeamHandle)
    {
        // SAFETY: the caller gives it away.
        let segment = unsafe { foreign::segment(fd) }?;
        let builder = builder(timeout, attach_timeout)?;
        hand_out(builder.attach(segment, index(rank, "rank")?, index(ranks, "ranks")?)?, to)
    }

    phx_proc_segment(ranks: c_int, memory: usize, fd: *mut c_int) {
        if fd.is_null() {
            return Err(argument("there is no place for the descriptor"));
        }
        let segment = Segment::create(index(ranks, "ranks")?, memory)?;
        // SAFETY: a place for a number.
        unsafe { fd.write(segment.inheritable()?.into_raw_fd()) };
        Ok(())
    }

    phx_proc_leave(handle: *mut TeamHandle) {
        if handle.is_null() { Ok(()) } else { handles::leave(handle) }
    }

    phx_proc_barrier(handle: *mut TeamHandle, file: *const c_char, line: c_int) {
        with(handle, |team| Ok(team.at(place(file, line)).barrier()?))
    }

    phx_proc_split(handle: *mut TeamHandle, color: c_int, key: i64, to: *mut *mut TeamHandle,
        file: *const c_char, line: c_int)
    {
        let at = place(file, line);
        let group = with(handle, |team| {
            if to.is_null() {
                let text = "there is no place for the group";
                return Err(foreign::refuse(team, at, "split", text).into());
            }
            Ok(foreign::split(team, at, color.into(), key)?)
        })?;
        match group {
            Some(group) => hand_out(group, to),
            None => {
                // SAFETY: a place for a pointer.
                unsafe { to.write(std::ptr::null_mut()) };
                Ok(())
            }
        }
    }

    phx_proc_allocate(handle: *mut TeamHandle, bytes: usize, to: *mut *mut c_void,
        file: *const c_char, line: c_int)
    {
        with(handle, |team| {
            let at = place(file, line);
            if to.is_null() {
                let text = "there is no place for the address";
                return Err(foreign::refuse(team, at, "allocate", text).into());
            }
            let buffer = team.at(at).symmetric::<u8>(bytes)?;
            // SAFETY: a place for a pointer.
            unsafe { to.write(buffer.as_mut_ptr().cast()) };
            Ok(())
        })
    }

    phx_proc_free(handle: *mut TeamHandle, memory: *mut c_void, file: *const c_char, line: c_int) {
        let memory = memory.cast_const().cast();
        with(handle, |team| Ok(foreign::free(team, place(file, line), memory)?))
    }
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_rank(handle: *const TeamHandle) -> c_int {
    handles::numbers(handle).0
}

/// See the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_proc_size(handle: *const TeamHandle) -> c_int {
    handles::numbers(handle).1
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn phx_proc_message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}
