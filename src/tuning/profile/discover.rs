//! The search for a profile, once a process, and the reasons to refuse one.

use super::{MachineId, Profile, ProfileError};
use crate::machine::{Machine, MachineError};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The variable that names a file; set to nothing, no file is read.
const VARIABLE: &str = "PHALANX_PROFILE";

/// Where a team's profile came from.
///
/// # Examples
/// ```
/// use phalanx::{Team, tuning::{Origin, Profile}};
/// let team = Team::builder().ranks(2).profile(Profile::default()).build()?;
/// assert_eq!(team.profile().origin, Origin::Given);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// There is none.
    Nowhere,
    /// [`Builder::profile`](crate::Builder::profile).
    Given,
    /// The file that `PHALANX_PROFILE` names.
    Environment(PathBuf),
    /// The file in the user's cache directory.
    Cache(PathBuf),
}

/// Which profile a team follows, or why none.
///
/// # Examples
/// ```
/// let team = phalanx::Team::builder().ranks(2).build()?;
/// let report = team.profile();
/// if let Some(why) = &report.refused {
///     eprintln!("{report}: {why}");
/// }
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProfileReport {
    /// Where it came from.
    pub origin: Origin,
    /// The profile, if it is followed.
    pub profile: Option<Arc<Profile>>,
    /// Why there is one and it is not followed.
    pub refused: Option<ProfileError>,
}

impl ProfileReport {
    fn nowhere() -> Self {
        ProfileReport { origin: Origin::Nowhere, profile: None, refused: None }
    }

    /// Of a profile that was handed in.
    pub(crate) fn given(profile: Profile, machine: &Machine) -> Result<Self, ProfileError> {
        profile.describes(machine)?;
        let profile = Some(Arc::new(profile));
        Ok(ProfileReport { origin: Origin::Given, profile, refused: None })
    }
}

impl fmt::Display for ProfileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match &self.origin {
            Origin::Nowhere => return f.write_str("the library's sizes, without a profile"),
            Origin::Given => match &self.profile {
                Some(profile) if **profile != Profile::default() => {
                    return f.write_str("the profile that was handed in");
                }
                _ => return f.write_str("the library's sizes, as asked for"),
            },
            Origin::Environment(path) | Origin::Cache(path) => path.display(),
        };
        match &self.refused {
            Some(_) => write!(f, "the library's sizes, as profile '{path}' is refused"),
            None => write!(f, "profile '{path}'"),
        }
    }
}

/// The process's profile: looked for once, whatever is changed afterwards, so
/// that all teams and all ranks choose alike.
///
/// # Errors
/// If `PHALANX_PROFILE` names a file that cannot be read. One that is of
/// another machine is refused, and so is a damaged one in the cache directory:
/// nobody named it.
pub(crate) fn for_process(
    machine: impl FnOnce() -> Result<MachineId, MachineError>,
) -> Result<ProfileReport, ProfileError> {
    static FOUND: OnceLock<Result<ProfileReport, ProfileError>> = OnceLock::new(); // A fact.
    let _inside = crate::fork::inside();
    FOUND.get_or_init(|| look(machine)).clone()
}

fn look(
    machine: impl FnOnce() -> Result<MachineId, MachineError>,
) -> Result<ProfileReport, ProfileError> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        if named.is_empty() {
            return Ok(ProfileReport::nowhere());
        }
        let path = PathBuf::from(named);
        let profile = read(&path)
            .map_err(|e| ProfileError { what: format!("{} (named by {VARIABLE})", e.what), ..e })?;
        return Ok(checked(Origin::Environment(path), profile, machine()));
    }
    let path = match cache_path() {
        Some(path) if cfg!(feature = "profile") && path.exists() => path,
        _ => return Ok(ProfileReport::nowhere()),
    };
    Ok(match read(&path) {
        Ok(profile) => checked(Origin::Cache(path), profile, machine()),
        Err(e) => ProfileReport { origin: Origin::Cache(path), profile: None, refused: Some(e) },
    })
}

/// Files must say which machine they are of.
fn checked(
    origin: Origin,
    profile: Profile,
    machine: Result<MachineId, MachineError>,
) -> ProfileReport {
    let describes = match (profile.machine(), machine) {
        (Some(_), Ok(here)) => profile.is_of(&here),
        (Some(_), Err(e)) => Err(ProfileError::new(format!("this machine cannot be read: {e}"))),
        (None, _) => Err(ProfileError::new("it does not say which machine it is of")),
    };
    match (describes, &origin) {
        (Ok(()), _) => ProfileReport { origin, profile: Some(Arc::new(profile)), refused: None },
        (Err(e), Origin::Environment(path) | Origin::Cache(path)) => {
            let refused = Some(e.of(path));
            ProfileReport { origin, profile: None, refused }
        }
        (Err(e), _) => ProfileReport { origin, profile: None, refused: Some(e) },
    }
}

#[cfg(feature = "profile")]
fn read(path: &std::path::Path) -> Result<Profile, ProfileError> {
    Profile::read(path)
}

#[cfg(not(feature = "profile"))]
fn read(path: &std::path::Path) -> Result<Profile, ProfileError> {
    let what = "it cannot be read: phalanx was built without its feature 'profile'";
    Err(ProfileError::new(what).of(path))
}

pub(super) fn cache_path() -> Option<PathBuf> {
    // The XDG specification: a path that is not absolute is to be ignored.
    let dir = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = dir("XDG_CACHE_HOME").or_else(|| Some(dir("HOME")?.join(".cache")))?;
    Some(cache.join("phalanx").join("profile.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_other_machines_are_refused() {
        let here = Machine::from_synthetic("core:2 pu:1").unwrap();
        let other = Machine::from_synthetic("core:4 pu:1").unwrap();
        let path = || Origin::Cache("/x/profile.json".into());
        let here_is = || Ok(MachineId::of(&here));
        let good = checked(path(), Profile::of(&here, ""), here_is());
        assert!(good.profile.is_some() && good.refused.is_none());
        assert_eq!(good.to_string(), "profile '/x/profile.json'");
        let bad = checked(path(), Profile::of(&other, ""), here_is());
        assert!(bad.profile.is_none());
        let why = bad.refused.as_ref().unwrap().to_string();
        assert!(why.starts_with("profile '/x/profile.json': it is of another machine"), "{why}");
        assert!(bad.to_string().contains("refused"));
        assert!(checked(path(), Profile::default(), here_is()).refused.is_some());
        assert!(ProfileReport::given(Profile::of(&other, ""), &here).is_err());
        assert!(ProfileReport::given(Profile::default(), &here).is_ok());
    }
}
