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
    let file = std::fs::File::open(path).map_err(said)?;
    let bytes = whole(file.take(most + 1)).map_err(said)?;
    if bytes.len() as u64 > most {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// All bytes, asked for in pieces of a page or more. Of its maps of processors (`package_cpus`,
/// `cpumap`) Linux gives a byte less than it is asked for (seen in 6.1 and 6.18), so where
/// `read_to_end` asks for one byte, the file seems to end: after 62 characters, which tell of 224
/// processors.
fn whole(mut from: impl Read) -> std::io::Result<Vec<u8>> {
    const PIECE: usize = 1 << 13;
    let mut bytes = Vec::new();
    loop {
        let len = bytes.len();
        bytes.resize(len + PIECE, 0);
        let count = from.read(&mut bytes[len..]);
        bytes.truncate(len + count.as_ref().copied().unwrap_or(0));
        match count {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
}

/// Reads as [`read`] does, and returns the content as text.
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    String::from_utf8(read(path, most)?).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::{read, whole};
    use std::io::Read;
    use std::path::Path;

    /// Gives a byte less than it is asked for, as the system's maps of processors may.
    struct OneLess<'a>(&'a [u8]);

    impl Read for OneLess<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let most = into.len().saturating_sub(1);
            self.0.read(&mut into[..most])
        }
    }

    #[test]
    fn a_file_that_gives_less_than_asked_is_read_to_its_end() {
        for len in [0, 1, 62, 63, 72, 4095, 8191, 8192, 100_000] {
            let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            assert_eq!(whole(OneLess(&bytes)).unwrap(), bytes, "{len} bytes");
        }
    }

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
