//! The time after which a team's rank says that it waits.

use super::builder::Builder;
use crate::decimal;
use crate::error::Error;
use std::time::Duration;

/// Longer than a rank waits for others that read a file or work on uneven parts, as a rule.
const USUAL: Duration = Duration::from_secs(30);

/// What names the time, if no builder does.
const VARIABLE: &str = "PHALANX_STALL_WARNING";

/// The time of the builder, else that of the variable; else 30 s, or none where a deadline speaks.
/// None is never.
pub(super) fn after(builder: &Builder) -> Result<Option<Duration>, Error> {
    let named = match builder.stall_warning {
        Some(after) => Some(after),
        None => of_variable()?,
    };
    let usual = || if builder.deadline.is_some() { Duration::ZERO } else { USUAL };
    Ok(Some(named.unwrap_or_else(usual)).filter(|after| !after.is_zero()))
}

/// Set to nothing it is not set.
fn of_variable() -> Result<Option<Duration>, Error> {
    let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let seconds = text.to_str().and_then(|text| decimal::parse(text.trim()));
    match seconds.map(Duration::try_from_secs_f64) {
        Some(Ok(after)) => Ok(Some(after)),
        _ => {
            let what = format!("'{}' is no number of seconds (0 is never)", text.display());
            Err(Error::Variable { name: VARIABLE, what })
        }
    }
}
