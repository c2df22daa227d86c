//! The watchdog: it ends the process of a test that hangs, and names the case.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than any case takes, even where many other things run: a case of crowded teams has then
/// taken more than a minute. It finds hangs, and says nothing about speed.
const LONGEST: Duration = Duration::from_secs(240);

/// What a test is doing; see [`watched_cases`].
#[derive(Clone)]
pub(crate) struct Watch(Arc<Mutex<(String, Instant)>>);

impl Watch {
    /// A case begins, and has all the time again.
    pub(crate) fn case(&self, name: impl Into<String>) {
        *self.0.lock().unwrap() = (name.into(), Instant::now());
    }
}

/// Ends the process with a word. (Words of `eprintln` are kept until a test is over, and lost.)
pub(crate) fn abort(word: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{word}");
    std::process::abort();
}

/// Runs `body` on a thread of its own and aborts the process, naming the case,
/// if one of its cases hangs.
pub(crate) fn watched_cases<R: Send>(body: impl FnOnce(&Watch) -> R + Send) -> R {
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    let watch = Watch(Arc::new(Mutex::new(("its beginning".to_string(), Instant::now()))));
    let (done, over) = channel::<()>();
    std::thread::scope(|s| {
        let inner = watch.clone();
        let body = s.spawn(move || {
            let _done = done; // Dropped at the end, also in a panic.
            body(&inner)
        });
        while over.recv_timeout(Duration::from_millis(200)) == Err(RecvTimeoutError::Timeout) {
            let (case, since) = &*watch.0.lock().unwrap();
            if since.elapsed() > LONGEST {
                abort(&format!("{test} hangs in {case}: not over after {LONGEST:?}"));
            }
        }
        body.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })
}

/// The same for a test that is one case.
pub(crate) fn watched<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    watched_cases(|_| body())
}
