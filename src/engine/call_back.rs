//! A function of another language, while a rank runs it.

/// There while the function runs; dropped by whatever leaves it otherwise than by a return.
struct CallBackGuard;

impl Drop for CallBackGuard {
    fn drop(&mut self) {
        if !crate::sync::panicking() {
            crate::error::say(
                "a function that ranks run was left by pthread_exit or an exception, and no frame \
                 of Rust survives that: the process ends. (So an interpreter ends its threads: end \
                 runs before it ends.)",
            );
            std::process::abort();
        }
    }
}

/// Calls a function of another language, or one that calls such. If a thread's end
/// (`pthread_exit`, by which Python's interpreter ends threads when it ends first) or another
/// language's exception leaves it, the process ends, and the standard error says why; a panic goes
/// on.
///
/// ```
/// unsafe extern "C-unwind" fn twice(x: i32) -> i32 {
///     2 * x
/// }
/// // SAFETY: it takes any number.
/// let of_rank = |rank: usize| phalanx::engine::call_back(|| unsafe { twice(rank as i32) });
/// assert_eq!(phalanx::run(2, |comm| of_rank(comm.rank()))?, [0, 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline]
pub fn call_back<R>(function: impl FnOnce() -> R) -> R {
    let running = CallBackGuard;
    let result = function();
    std::mem::forget(running);
    result
}
