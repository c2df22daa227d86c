//! Input files: read whole, if they are regular files of a sensible size. The tools compile this
//! file as well.

#![allow(unreachable_pub, reason = "it is public where the tools compile it")]
#![allow(dead_code, reason = "the library reads text only with the feature `profile`")]

use std::io::Read;
use std::path::Path;

/// The bytes of the file at `path`, at most `most`; or in words why not. A device may
/// have no end, and the opening of a pipe waits for a writer: both are refused unopened. What
/// grows meanwhile is read no further than one byte beyond the limit.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let said = |e: std::io::Error| e.to_string();
    let about = std::fs::metadata(path).map_err(said)?;
    if !about.is_file() {
        return Err("it is no file".to_string());
    }
    let too_long =
        |bytes: u64| format!("{bytes} bytes are more than {most}, the most that is read");
    if about.len() > most {
        return Err(too_long(about.len()));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(said)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(said)?;
    if bytes.len() as u64 > most {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// The same, as text.
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    String::from_utf8(read(path, most)?).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::path::Path;

    #[test]
    fn what_has_no_end_is_not_read() {
        let this = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let len = std::fs::metadata(this).unwrap().len();
        assert_eq!(read(this, len).unwrap().len() as u64, len);
        let refused = |path: &Path, most| read(path, most).unwrap_err();
        assert!(refused(this, len - 1).contains("more than"));
        assert!(refused(this.parent().unwrap(), 10).contains("no file"));
        // Says that it is a file of 0 bytes; has more.
        let listed = Path::new("/proc/self/status");
        if listed.exists() {
            assert!(refused(listed, 10).contains("more than 10"));
        }
        let endless = Path::new("/dev/zero");
        if endless.exists() {
            assert!(refused(endless, 10).contains("no file"));
        }
    }
}
