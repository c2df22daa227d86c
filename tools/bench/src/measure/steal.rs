//! The time that the host gave to other machines while this process could run.

use std::fs;

/// A reading of the system's counter.
#[derive(Clone, Copy, Debug)]
pub struct Steal(Option<u64>);

/// The unit of the counter: `USER_HZ`, which is 100 on every Linux that user space can see.
const MS_PER_TICK: f64 = 10.0;

impl Steal {
    /// Now.
    pub fn now() -> Self {
        Steal(fs::read_to_string("/proc/stat").ok().and_then(|stat| ticks(&stat)))
    }

    /// Milliseconds stolen from all cores since then, in steps of 10; none
    /// where the system does not say.
    pub fn ms_since(self) -> Option<f64> {
        let now = Steal::now();
        Some(now.0?.saturating_sub(self.0?) as f64 * MS_PER_TICK)
    }
}

/// The eighth number of the line that sums all cores.
fn ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    line.split_whitespace().nth(8)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read() {
        let stat =
            "cpu  772535 30781 226745 1299046 8867 0 712 1346 0 0\ncpu0 1 2 3 4 5 6 7 8 9 9\n";
        assert_eq!(ticks(stat), Some(1346));
        assert_eq!(ticks("intr 5\n"), None);
        assert_eq!(ticks("cpu 1 2\n"), None);
    }
}
