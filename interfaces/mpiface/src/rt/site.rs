//! A call's place: its function, and its line in the program's source.

use super::calls::CALLS;
use crate::home::whereabouts;
use addr2line::Loader;
use phalanx::engine::ForeignCall;
use std::ffi::CStr;
use std::path::Path;

/// The place in [`CALLS`] of no function, and of `exit`.
pub const NO_CALL: usize = 0;
/// See [`NO_CALL`].
pub const EXIT: usize = 1;

/// A call of MPI: its function, and its return address. One number, so that it goes from function
/// to function in a register, and to other ranks as one store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site(u64);

/// Bits of an address. (Linux gives a program larger ones only where it asks for them.)
const ADDRESS: u32 = 48;

impl Site {
    /// A call of this function of [`CALLS`] that returns to `address`.
    #[inline(always)]
    pub const fn new(function: usize, address: usize) -> Site {
        Site((function as u64) << ADDRESS | address as u64 & ((1 << ADDRESS) - 1))
    }

    /// Of its number.
    pub fn of(number: u64) -> Site {
        Site(number)
    }

    /// Itself as a number.
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The function. (Its line is looked up by the address, where it is asked for.)
    #[inline]
    pub fn call(self) -> &'static ForeignCall {
        CALLS.get(self.function()).unwrap_or(&CALLS[NO_CALL])
    }

    /// The function's place in [`CALLS`].
    #[inline]
    pub fn function(self) -> usize {
        (self.0 >> ADDRESS) as usize
    }

    /// The address after the call.
    #[inline]
    pub fn address(self) -> usize {
        (self.0 & ((1 << ADDRESS) - 1)) as usize
    }

    /// `MPI_Send at ring.c:12 (main)`, as far as debug information says; slow.
    pub fn describe(&self) -> String {
        let function = self.call().function;
        match place(self.address()) {
            Some(place) => format!("{function} at {place}"),
            None => function.to_owned(),
        }
    }
}

/// The debug information of a file, if it can be read.
pub fn debug_information(file: impl AsRef<Path>) -> Option<Loader> {
    Loader::new(file).ok()
}

/// The file's name and the line of an offset in a file with this debug information, and the
/// function, if both are known.
pub fn line(information: &Loader, offset: usize) -> Option<(String, Option<String>)> {
    let frame = information.find_frames(offset as u64).ok()?.next().ok()??;
    let place = frame.location?;
    let file = place.file?.rsplit('/').next()?;
    let function = frame.function.and_then(|it| Some(it.demangle().ok()?.into_owned()));
    Some((format!("{file}:{}", place.line.filter(|&line| line > 0)?), function))
}

/// The source's file and line, and the function, of the instruction before an address; without
/// debug information the function's name and an offset.
pub fn place(address: usize) -> Option<String> {
    let (info, file) = whereabouts(address)?;
    let offset = address.wrapping_sub(info.dli_fbase as usize).wrapping_sub(1);
    if let Some((line, function)) = debug_information(&file).and_then(|it| line(&it, offset)) {
        return Some(format!("{line} ({})", function.as_deref().unwrap_or("??")));
    }
    if let Some(name) = named(&info, address) {
        return Some(format!("{name} (no debug information: compile with -g)"));
    }
    Some(format!("{offset:#x} of the program (no debug information: compile with -g)"))
}

/// The function of an address, and how far in it that lies: of code without debug information.
pub fn place_in_file(address: usize) -> String {
    whereabouts(address).and_then(|it| named(&it.0, address)).unwrap_or_default()
}

fn named(info: &libc::Dl_info, address: usize) -> Option<String> {
    if info.dli_sname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a text that ends in a zero, which lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_sname) }.to_string_lossy();
    Some(format!("{name}+{:#x}", address.wrapping_sub(info.dli_saddr as usize)))
}
