//! Whether and where a team's runs are recorded.

use crate::error::Error;
use crate::schedule::Algorithm;
use crate::shared::Recorder;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Events that are kept of each rank: 4 MiB.
const EVENTS: usize = 1 << 16;

/// The most that may be asked for: 1 GiB of each rank. `phalanx waits` reads no more of a file.
const MOST_EVENTS: usize = 1 << 24;

/// What records a team of `ranks` ranks: to the file that its builder names, else to that of the
/// variable `PHALANX_RECORD`. None if there is neither.
pub(super) fn recorder(
    path: Option<&Path>,
    events: Option<usize>,
    ranks: usize,
    at_drop: bool,
) -> Result<Option<Box<Recorder>>, Error> {
    let named = || std::env::var_os("PHALANX_RECORD").filter(|v| !v.is_empty()).map(PathBuf::from);
    let Some(path) = path.map(Path::to_path_buf).or_else(named) else {
        return Ok(unwritten(ranks));
    };
    let wrong = |what: String| Error::Record { path: path.clone(), what };
    let events = match (events, std::env::var_os("PHALANX_RECORD_EVENTS")) {
        (Some(events), _) => events,
        (None, None) => EVENTS,
        (None, Some(text)) => {
            text.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
                wrong(format!("PHALANX_RECORD_EVENTS is {}, no number", text.display()))
            })?
        }
    };
    if events > MOST_EVENTS {
        return Err(wrong(format!("{events} events of each rank are more than {MOST_EVENTS}")));
    }
    let file = File::options().append(true).create(true).open(&path);
    let file = file.map_err(|e| wrong(e.to_string()))?;
    let to = Some((file, path.display().to_string()));
    Ok(Some(Box::new(Recorder::new(ranks, events.max(1), to, name, at_drop, WAITED))))
}

fn name(index: u16) -> String {
    match index {
        // What has no algorithm says 0; so does one that has nothing to choose.
        0 => String::new(),
        _ => Algorithm::from_index(index).map_or_else(String::new, |it| it.to_string()),
    }
}

/// Hears of waits.
#[cfg(feature = "tracing")]
const WAITED: Option<fn(usize, usize, Duration)> = Some(crate::comm::spans::waited);
#[cfg(not(feature = "tracing"))]
const WAITED: Option<fn(usize, usize, Duration)> = None;

/// What hears the calls of a team that no file is named for: a subscriber of `tracing`, if it wants
/// to.
#[cfg(feature = "tracing")]
fn unwritten(ranks: usize) -> Option<Box<Recorder>> {
    // Enough for what is looked up again: nested calls.
    const FEW: usize = 256;
    let recorder = || Box::new(Recorder::new(ranks, FEW, None, name, false, WAITED));
    crate::comm::spans::are_calls_wanted().then(recorder)
}

#[cfg(not(feature = "tracing"))]
fn unwritten(_: usize) -> Option<Box<Recorder>> {
    None
}
