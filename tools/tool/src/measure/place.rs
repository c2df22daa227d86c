//! Where two virtual cores are, as far as the exchange of two flags can tell.
//!
//! The limits were found on AMD EPYC virtual machines (two cores), where an
//! exchange costs 22 to 35, 58 to 100, or 220 to 320 ns, and nothing in
//! between. Others are given with `--places`.

use std::fmt;
use std::str::FromStr;

/// Where two cores are. The order is that of the distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Two threads of one core.
    Smt,
    /// Two cores with a cache in common (a core complex).
    Ccx,
    /// Two cores without one.
    Far,
    /// Not known: one rank, more ranks than cores, or no agreement.
    Any,
}

impl Place {
    /// All, by distance.
    pub const ALL: [Place; 4] = [Place::Smt, Place::Ccx, Place::Far, Place::Any];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Place::Smt => "smt",
            Place::Ccx => "ccx",
            Place::Far => "far",
            Place::Any => "any",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = crate::names::plain(text);
        let found = Place::ALL.into_iter().find(|place| place.name() == name);
        found.ok_or_else(|| crate::names::unknown("place", text, &Place::ALL.map(Place::name)))
    }
}

/// Up to which exchange, in ns, a place is near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Below: one core.
    pub smt: f64,
    /// From there and below this: one cache. From here on: far.
    pub ccx: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { smt: 40.0, ccx: 130.0 }
    }
}

impl Limits {
    /// The place at which an exchange costs `ns`; [`Place::Any`] for what is
    /// no time.
    pub fn place(&self, ns: f64) -> Place {
        match ns {
            ns if !(ns > 0.0 && ns.is_finite()) => Place::Any,
            ns if ns < self.smt => Place::Smt,
            ns if ns < self.ccx => Place::Ccx,
            _ => Place::Far,
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.smt, self.ccx)
    }
}

impl FromStr for Limits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| *x >= 0.0);
        let limits = text
            .split_once(',')
            .and_then(|(smt, ccx)| Some(Limits { smt: number(smt)?, ccx: number(ccx)? }));
        limits.filter(|limits| limits.smt <= limits.ccx && limits.ccx.is_finite()).ok_or_else(|| {
            format!(
                "'{text}' are no limits of places; accepted are two times in ns, such as {}: smt \
                 below the first, far from the second on",
                Limits::default()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_filed() {
        let limits = Limits::default();
        for (ns, place) in [
            (22.0, Place::Smt),
            (39.9, Place::Smt),
            (40.0, Place::Ccx),
            (64.0, Place::Ccx),
            (129.9, Place::Ccx),
            (130.0, Place::Far),
            (1e6, Place::Far),
            (0.0, Place::Any),
            (f64::NAN, Place::Any),
            (f64::INFINITY, Place::Any),
        ] {
            assert_eq!(limits.place(ns), place, "{ns}");
        }
    }

    #[test]
    fn limits_and_places_are_read() {
        assert_eq!("25, 90.5".parse(), Ok(Limits { smt: 25.0, ccx: 90.5 }));
        for wrong in ["", "40", "130,40", "a,b", "-1,5", "1,inf", "1,NaN"] {
            assert!(wrong.parse::<Limits>().is_err(), "{wrong}");
        }
        assert_eq!(Limits::default().to_string().parse(), Ok(Limits::default()));
        assert_eq!("CCX".parse(), Ok(Place::Ccx));
        assert!("fra".parse::<Place>().unwrap_err().contains("did you mean far?"));
    }
}
