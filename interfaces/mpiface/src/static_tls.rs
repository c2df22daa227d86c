//! Room for thread-local variables of the initial-exec model, of which the dynamic linker sets
//! aside a little when a process begins: each rank's copy of a program takes its own share. So the
//! launcher, which knows the program and the number of ranks, begins again with as much as they
//! need.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The variable of glibc's tunables, and the one that counts.
const TUNABLES: &str = "GLIBC_TUNABLES";
const ROOM: &str = "glibc.rtld.optional_static_tls";

/// Has the tunables as they were, in a launcher that has begun again.
const BEFORE: &str = "PHALANX_MPI_TUNABLES";

/// The bytes that the dynamic linker sets aside by itself, for all other libraries.
const USUAL: usize = 512;

/// The advice to a user with `bytes` of such variables, in words.
pub(crate) fn advice(bytes: usize) -> String {
    format!(
        "its thread-local variables are of the initial-exec model, and each copy takes {bytes} \
         bytes of room that is set aside when the process begins: start it with \
         {TUNABLES}={ROOM}=N, where N is {USUAL} and {bytes} for each rank"
    )
}

/// Starts the process again with room for `bytes`, if it may not have it. Returns if it has, or
/// cannot be started.
pub(crate) fn reserve(bytes: usize) {
    let tunables = env::var(TUNABLES).unwrap_or_default();
    // The libraries of the system need less than half of the room.
    if bytes <= USUAL / 2 || env::var_os(BEFORE).is_some() || given(&tunables) >= bytes + USUAL {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("phalanx-mpirun"));
    let room = format!("{ROOM}={}", bytes + USUAL);
    let with = if tunables.is_empty() { room } else { format!("{tunables}:{room}") };
    let mut again = Command::new(program);
    // It does not come back if it succeeds; else the dynamic linker says why.
    drop(again.arg0(name).args(arguments).env(TUNABLES, with).env(BEFORE, tunables).exec());
}

/// The room that tunables ask for.
fn given(tunables: &str) -> usize {
    let values = tunables.split(':').filter_map(|it| it.strip_prefix(ROOM)?.strip_prefix('='));
    let number = |it: &str| match it.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => it.parse().ok(),
    };
    values.filter_map(number).next_back().unwrap_or(0)
}

/// How many bytes are set aside of each thread's stack: as many as the launcher, or the user, has
/// asked for.
pub(crate) fn set_aside() -> usize {
    env::var(TUNABLES).map_or(0, |it| given(&it))
}

/// Says how many bytes are [set aside](set_aside), and in a process that has begun again gives the
/// environment that the program is to see back. While there is one thread.
pub(crate) fn restore() -> usize {
    let bytes = set_aside();
    let Some(before) = env::var_os(BEFORE) else { return bytes };
    // SAFETY: no other thread runs that might read the environment.
    unsafe {
        env::remove_var(BEFORE);
        match before.is_empty() {
            true => env::remove_var(TUNABLES),
            false => env::set_var(TUNABLES, before),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{ROOM, given};

    #[test]
    fn the_last_value_counts() {
        assert_eq!(given(""), 0);
        assert_eq!(given(&format!("glibc.malloc.check=1:{ROOM}=700")), 700);
        assert_eq!(given(&format!("{ROOM}=0x10:{ROOM}=x")), 16);
        assert_eq!(given(&format!("{ROOM}=5:{ROOM}=6:a=7")), 6);
    }
}
