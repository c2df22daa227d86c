//! The watchdog: it ends the process of a test that hangs, and names the case.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than any case takes, even where many other things run: a case of crowded teams has then
/// taken more than a minute. It finds hangs, and says nothing about speed.
const LONGEST: Duration = Duration::from_secs(240);

/// A test under the watchdog, and what it is doing; see [`watch`].
pub(crate) struct Watch {
    case: Arc<Mutex<(String, Instant)>>,
    /// Dropped with the rest, which ends the watchdog.
    _test: Sender<()>,
}

impl Watch {
    /// A case begins, and has all the time again.
    pub(crate) fn case(&self, name: impl Into<String>) {
        *self.case.lock().unwrap() = (name.into(), Instant::now());
    }
}

/// Ends the process with a word. (Words of `eprintln` are kept until a test is over, and lost.)
pub(crate) fn abort(word: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{word}");
    std::process::abort();
}

/// Watches this thread's test until the result is dropped: aborts the process, naming the case, if
/// one of its cases hangs.
#[must_use]
pub(crate) fn watch() -> Watch {
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    let case = Arc::new(Mutex::new(("its beginning".to_string(), Instant::now())));
    let (of_test, over) = channel();
    let watch = Watch { case: case.clone(), _test: of_test };
    std::thread::spawn(move || {
        while over.recv_timeout(Duration::from_millis(200)) == Err(RecvTimeoutError::Timeout) {
            let (case, since) = &*case.lock().unwrap();
            if since.elapsed() > LONGEST {
                abort(&format!("{test} hangs in {case}: not over after {LONGEST:?}"));
            }
        }
    });
    watch
}
