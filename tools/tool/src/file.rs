//! Reads files named on the command line.

use std::io::Read;
use std::path::Path;

/// What this tool saves is far shorter.
const MOST: u64 = 1 << 30;

/// The text of the file at `path`, or in words why not. Devices may have no end, and pipes
/// have no beginning until somebody writes: neither is opened.
pub fn text(path: &Path) -> Result<String, String> {
    let said = |e: std::io::Error| e.to_string();
    if !std::fs::metadata(path).map_err(said)?.is_file() {
        return Err("it is no file".to_string());
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(said)?;
    file.take(MOST + 1).read_to_string(&mut text).map_err(said)?;
    if text.len() as u64 > MOST {
        return Err(format!("it is longer than {MOST} bytes"));
    }
    Ok(text)
}
