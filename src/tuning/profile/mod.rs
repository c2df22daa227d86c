//! Measurements of one machine, for the choices made on it.
//!
//! `phalanx calibrate` writes a profile; the library reads it when the first
//! team is built. It holds t_s and t_w for each level of the machine, and for
//! some numbers of ranks the sizes ([`Tuning`]) at which another way is faster.
//! Without a profile the sizes of `rules.rs` hold.
//!
//! | file | content |
//! |---|---|
//! | `machine_id.rs` | which machine a profile is of |
//! | `json.rs` | the file (feature `profile`) |
//! | `piece.rs` | rates by the length of a message; up to which length it travels in which way |
//! | `discover.rs` | from where, once a process, and when it is refused |
//! | `tuning_source.rs` | the sizes of a team's communicators |

mod discover;
#[cfg(feature = "profile")]
mod json;
mod machine_id;
mod piece;
mod tuning_source;

pub(crate) use discover::for_process;
pub use discover::{Origin, ProfileReport};
pub use machine_id::MachineId;
pub use piece::{LevelTimes, Payloads, Piece};
pub(crate) use tuning_source::TuningSource;

use crate::machine::Machine;
use crate::mailbox::MAX_RANKS;
use crate::schedule::{Algorithm, Operation};
use crate::tuning::Tuning;
use crate::tuning::rules::{Case, auto};
use std::fmt;
use std::path::{Path, PathBuf};

/// t_s and t_w between two cores, by the level that they share, each with the bounds
/// that have the true value between them with 95 % confidence.
///
/// # Examples
/// ```
/// use phalanx::tuning::LevelRates;
/// let near = LevelRates {
///     level: "l3".to_string(),
///     place: "ccx".to_string(),
///     t_s_ns: 90.0,
///     t_s_ci: [85.0, 95.0],
///     t_w_ns_per_byte: 0.05,
///     t_w_ci: [0.04, 0.06],
///     samples: 600,
///     pieces: Vec::new(),
/// };
/// // A message of 1000 bytes:
/// assert_eq!(near.t_s_ns + near.t_w_ns_per_byte * 1000.0, 140.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LevelRates {
    /// The innermost thing that the two cores share: a key of
    /// [`Level`](crate::machine::Level).
    pub level: String,
    /// Where a virtual machine's host had the two: `smt`, `ccx`, `far`, or
    /// `any` where that was not asked.
    pub place: String,
    /// Start-up time of a message, in ns.
    pub t_s_ns: f64,
    /// Bounds of it.
    pub t_s_ci: [f64; 2],
    /// Time per byte, in ns.
    pub t_w_ns_per_byte: f64,
    /// Bounds of it.
    pub t_w_ci: [f64; 2],
    /// Samples behind it.
    pub samples: usize,
    /// Start-up time and time per byte by the length of a message, the shortest first; none where
    /// that was not asked.
    pub pieces: Vec<Piece>,
}

impl LevelRates {
    /// The rates of a message of `bytes` bytes: those of its piece, or of the line through all.
    ///
    /// ```
    /// use phalanx::tuning::Profile;
    /// for rates in Profile::default().levels() {
    ///     let level = rates.level_at(8.0);
    ///     println!("8 bytes: {} ns", level.t_s + level.t_w * 8.0);
    /// }
    /// ```
    pub fn level_at(&self, bytes: f64) -> LevelTimes {
        let all = LevelTimes { t_s: self.t_s_ns, t_w: self.t_w_ns_per_byte };
        piece::at(&self.pieces, bytes).unwrap_or(all)
    }
}

/// The measurements of a machine: rates by level, and the sizes at which another way is faster.
///
/// The default profile has nothing in it: a team that is given it goes by the
/// library's own sizes, whatever files there are.
///
/// # Examples
/// ```
/// use phalanx::tuning::Profile;
/// use phalanx::{Team, op};
/// let team = Team::builder().ranks(2).profile(Profile::default()).build()?;
/// assert_eq!(team.profile().to_string(), "the library's sizes, as asked for");
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    machine: Option<MachineId>,
    created: String,
    levels: Vec<LevelRates>,
    copies: Vec<Piece>,
    tunings: Vec<(usize, Tuning)>,
}

impl Profile {
    /// An empty profile of a machine; `created` is a date, for eyes.
    ///
    /// # Examples
    /// ```
    /// use phalanx::machine::Machine;
    /// use phalanx::tuning::Profile;
    /// let machine = Machine::this()?;
    /// let profile = Profile::of(&machine, "2026-01-02");
    /// assert!(profile.describes(&machine).is_ok());
    /// let other = Machine::from_synthetic("pack:2 core:77 pu:1")?;
    /// assert!(profile.describes(&other).unwrap_err().to_string().contains("core:154"));
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    pub fn of(machine: &Machine, created: &str) -> Self {
        Profile {
            machine: Some(MachineId::of(machine)),
            created: created.to_string(),
            ..Profile::default()
        }
    }

    /// The machine that it is of; none for a profile that was made by hand for
    /// any machine.
    ///
    /// ```
    /// assert!(phalanx::tuning::Profile::default().machine().is_none());
    /// ```
    pub fn machine(&self) -> Option<&MachineId> {
        self.machine.as_ref()
    }

    /// When it was made.
    ///
    /// ```
    /// use phalanx::{machine::Machine, tuning::Profile};
    /// assert_eq!(Profile::of(&Machine::this()?, "today").created(), "today");
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    pub fn created(&self) -> &str {
        &self.created
    }

    /// The rates by level and place, innermost levels first.
    ///
    /// ```
    /// let profile = phalanx::tuning::Profile::default();
    /// for rates in profile.levels() {
    ///     println!("{}: {} ns + {} ns/byte", rates.level, rates.t_s_ns, rates.t_w_ns_per_byte);
    /// }
    /// ```
    pub fn levels(&self) -> &[LevelRates] {
        &self.levels
    }

    /// This profile with rates added.
    ///
    /// # Errors
    /// If a number is negative or is none, or the level is unknown.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::{LevelRates, Profile};
    /// let rates = LevelRates {
    ///     level: "l3".to_string(),
    ///     place: "any".to_string(),
    ///     t_s_ns: f64::NAN,
    ///     t_s_ci: [0.0; 2],
    ///     t_w_ns_per_byte: 1.0,
    ///     t_w_ci: [0.0; 2],
    ///     samples: 0,
    ///     pieces: Vec::new(),
    /// };
    /// assert!(Profile::default().with_level(rates).is_err());
    /// ```
    pub fn with_level(mut self, rates: LevelRates) -> Result<Self, ProfileError> {
        let level = &rates.level;
        if let Err(unknown) = level.parse::<crate::machine::Level>() {
            return Err(ProfileError::new(unknown.to_string()));
        }
        let all = [rates.t_s_ci[0], rates.t_s_ci[1], rates.t_w_ci[0], rates.t_w_ci[1]];
        let times = [rates.t_s_ns, rates.t_w_ns_per_byte];
        if times.iter().any(|x| !x.is_finite() || *x < 0.0) || all.iter().any(|x| !x.is_finite()) {
            return Err(ProfileError::new(format!("level {level}: t_s and t_w must be times")));
        }
        if let Some(what) = piece::problem(&rates.pieces) {
            return Err(ProfileError::new(format!("level {level}: {what}")));
        }
        self.levels.push(rates);
        Ok(self)
    }

    /// The time that a core takes to copy its own memory, by the length; empty where that was not
    /// measured.
    ///
    /// ```
    /// assert!(phalanx::tuning::Profile::default().copies().is_empty());
    /// ```
    pub fn copies(&self) -> &[Piece] {
        &self.copies
    }

    /// This profile with these copies.
    ///
    /// # Errors
    /// If a number is no time, or the lengths do not rise.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::{Piece, Profile};
    /// let copies = vec![Piece { from_bytes: 0, t_s_ns: 10.0, t_w_ns_per_byte: 0.02 }];
    /// let profile = Profile::default().with_copies(copies)?;
    /// assert_eq!(profile.copy_ns(1000.0), 30.0);
    /// # Ok::<(), phalanx::tuning::ProfileError>(())
    /// ```
    pub fn with_copies(mut self, copies: Vec<Piece>) -> Result<Self, ProfileError> {
        if let Some(what) = piece::problem(&copies) {
            return Err(ProfileError::new(format!("copies: {what}")));
        }
        self.copies = copies;
        Ok(self)
    }

    /// The time in which a core copies `bytes` bytes of its own, in ns; 0 where that was not
    /// measured.
    ///
    /// ```
    /// assert_eq!(phalanx::tuning::Profile::default().copy_ns(1e6), 0.0);
    /// ```
    pub fn copy_ns(&self, bytes: f64) -> f64 {
        piece::at(&self.copies, bytes).map_or(0.0, |level| level.t_s + level.t_w * bytes)
    }

    /// This profile with the sizes that were measured for `ranks` ranks, in
    /// place of those that it had for them.
    ///
    /// # Errors
    /// If a team cannot have so many ranks.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::{Profile, Tuning};
    /// let mut tuning = Tuning::default();
    /// tuning.shift_fused = usize::MAX; // never
    /// let profile = Profile::default().with_tuning(4, tuning)?;
    /// assert_eq!(profile.tuning(4), Some(tuning));
    /// assert!(profile.with_tuning(0, tuning).is_err());
    /// # Ok::<(), phalanx::tuning::ProfileError>(())
    /// ```
    pub fn with_tuning(mut self, ranks: usize, tuning: Tuning) -> Result<Self, ProfileError> {
        if !(1..=MAX_RANKS).contains(&ranks) {
            let what = format!("sizes for {ranks} ranks: a team has 1 to {MAX_RANKS}");
            return Err(ProfileError::new(what));
        }
        self.tunings.retain(|(own, _)| *own != ranks);
        self.tunings.push((ranks, tuning));
        Ok(self)
    }

    /// The sizes for `ranks` ranks: those that were measured with this number,
    /// else with the nearest one within a factor of 2, else none.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::{Profile, Tuning};
    /// let profile = Profile::default().with_tuning(4, Tuning::default())?;
    /// let found = |ranks| profile.tuning(ranks).is_some();
    /// assert_eq!([1, 2, 4, 8, 9].map(found), [false, true, true, true, false]);
    /// # Ok::<(), phalanx::tuning::ProfileError>(())
    /// ```
    pub fn tuning(&self, ranks: usize) -> Option<Tuning> {
        let apart = |own: usize| own.max(ranks) as f64 / own.min(ranks).max(1) as f64;
        let near = self.tunings.iter().filter(|(own, _)| apart(*own) <= 2.0);
        // The smaller of two that are equally near.
        let nearest =
            near.min_by(|(a, _), (b, _)| apart(*a).total_cmp(&apart(*b)).then(a.cmp(b)))?;
        Some(nearest.1)
    }

    /// The numbers of ranks that there are sizes for.
    ///
    /// ```
    /// use phalanx::tuning::{Profile, Tuning};
    /// let profile = Profile::default().with_tuning(4, Tuning::default())?;
    /// assert_eq!(profile.ranks(), [4]);
    /// # Ok::<(), phalanx::tuning::ProfileError>(())
    /// ```
    pub fn ranks(&self) -> Vec<usize> {
        self.tunings.iter().map(|(ranks, _)| *ranks).collect()
    }

    /// The algorithm that an automatic choice takes on `ranks` ranks and
    /// `bytes` bytes (of the vector, or of a block), for a commutative operator
    /// and equal lengths.
    ///
    /// # Examples
    /// ```
    /// use phalanx::Algorithm;
    /// use phalanx::tuning::Profile;
    /// use phalanx::schedule::Operation;
    /// let own = Profile::default();
    /// assert_eq!(own.algorithm(Operation::AllReduce, 4, 8), Algorithm::AR_ANY);
    /// assert_eq!(own.algorithm(Operation::AllReduce, 4, 1 << 20), Algorithm::AR_FUSED);
    /// ```
    pub fn algorithm(&self, operation: Operation, ranks: usize, bytes: usize) -> Algorithm {
        let tuning = self.tuning(ranks).unwrap_or_default();
        let (commutative, varied, idle) = (true, false, false);
        auto(&tuning, &Case { operation, ranks, bytes, commutative, varied, idle })
    }

    /// Whether it is of this machine.
    ///
    /// # Errors
    /// If it is of another one: the difference.
    pub fn describes(&self, machine: &Machine) -> Result<(), ProfileError> {
        self.is_of(&MachineId::of(machine))
    }

    fn is_of(&self, machine: &MachineId) -> Result<(), ProfileError> {
        match self.machine.as_ref().and_then(|own| own.difference(machine)) {
            None => Ok(()),
            Some(what) => Err(ProfileError::new(format!("it is of another machine: {what}"))),
        }
    }

    /// Reads a profile from a file.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, of another version, or has numbers that cannot be; the
    /// error names the file.
    ///
    /// # Examples
    /// ```
    /// let error = phalanx::tuning::Profile::read("/no/such/profile.json").unwrap_err();
    /// assert!(error.to_string().starts_with("profile '/no/such/profile.json': "));
    /// ```
    #[cfg(feature = "profile")]
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ProfileError> {
        json::read(path.as_ref())
    }

    /// Reads a profile from its text.
    ///
    /// # Errors
    /// As for [`Profile::read`].
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::Profile;
    /// let profile = Profile::default();
    /// assert_eq!(Profile::from_json(&profile.to_json())?, profile);
    /// let error = Profile::from_json(r#"{"phalanx_profile": 99}"#).unwrap_err();
    /// assert!(error.to_string().contains("version 99"));
    /// # Ok::<(), phalanx::tuning::ProfileError>(())
    /// ```
    #[cfg(feature = "profile")]
    pub fn from_json(text: &str) -> Result<Self, ProfileError> {
        json::parse(text)
    }

    /// The profile as text, which [`Profile::from_json`] reads back. A program
    /// may add a member `evidence` of any kind to the object.
    ///
    /// ```
    /// assert!(phalanx::tuning::Profile::default().to_json().contains("\"phalanx_profile\": 2"));
    /// ```
    #[cfg(feature = "profile")]
    pub fn to_json(&self) -> String {
        json::text(self)
    }

    /// The file that is read where `PHALANX_PROFILE` is not set:
    /// `phalanx/profile.json` in `XDG_CACHE_HOME`, else in `.cache` of `HOME`;
    /// none without either.
    ///
    /// # Examples
    /// ```
    /// if let Some(path) = phalanx::tuning::Profile::cache_path() {
    ///     assert!(path.ends_with("phalanx/profile.json"));
    /// }
    /// ```
    pub fn cache_path() -> Option<PathBuf> {
        discover::cache_path()
    }
}

/// Why a profile cannot be used.
///
/// # Examples
/// ```
/// # #[cfg(feature = "profile")] {
/// let error = phalanx::tuning::Profile::from_json("{").unwrap_err();
/// assert!(error.to_string().starts_with("the profile: "), "{error}");
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ProfileError {
    path: Option<PathBuf>,
    what: String,
}

impl ProfileError {
    fn new(what: impl Into<String>) -> Self {
        ProfileError { path: None, what: what.into() }
    }

    fn of(mut self, path: &Path) -> Self {
        self.path = Some(path.to_path_buf());
        self
    }

    /// The file, if it is one's.
    ///
    /// ```
    /// # #[cfg(feature = "profile")] {
    /// let error = phalanx::tuning::Profile::read("/no/such/file").unwrap_err();
    /// assert_eq!(error.path().unwrap().to_str(), Some("/no/such/file"));
    /// # }
    /// ```
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "profile '{}': {}", path.display(), self.what),
            None => write!(f, "the profile: {}", self.what),
        }
    }
}

crate::error_type!(ProfileError: Self { path, what });
