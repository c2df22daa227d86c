//! The distance of two virtual cores, as seen by the exchange of two flags.
//!
//! The limits were found on AMD EPYC virtual machines (two cores), where an
//! exchange costs 22 to 35, 58 to 100, or 220 to 320 ns, and nothing in
//! between. Others are given with `--places`.

use std::fmt;
use std::str::FromStr;

/// Where two cores are. The order is that of the distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Proximity {
    /// Two threads of one core.
    Smt,
    /// Two cores with a cache in common (a core complex).
    Ccx,
    /// Two cores without one.
    Far,
    /// Not known: one rank, more ranks than cores, or no agreement.
    Any,
}

impl Proximity {
    /// All, by distance.
    pub const ALL: [Proximity; 4] =
        [Proximity::Smt, Proximity::Ccx, Proximity::Far, Proximity::Any];
}

phalanx_cli::named! { Proximity "place": Smt "smt" Ccx "ccx" Far "far" Any "any" }

/// Up to which exchange, in ns, a place is near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProximityLimits {
    /// Below: one core.
    pub smt: f64,
    /// From there and below this: one cache. From here on: far.
    pub ccx: f64,
}

impl Default for ProximityLimits {
    fn default() -> Self {
        ProximityLimits { smt: 40.0, ccx: 130.0 }
    }
}

impl ProximityLimits {
    /// The place at which an exchange costs `ns`; [`Proximity::Any`] for what is
    /// no time.
    pub fn place(&self, ns: f64) -> Proximity {
        match ns {
            ns if !(ns > 0.0 && ns.is_finite()) => Proximity::Any,
            ns if ns < self.smt => Proximity::Smt,
            ns if ns < self.ccx => Proximity::Ccx,
            _ => Proximity::Far,
        }
    }
}

impl fmt::Display for ProximityLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.smt, self.ccx)
    }
}

impl FromStr for ProximityLimits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| *x >= 0.0);
        let limits = text
            .split_once(',')
            .and_then(|(smt, ccx)| Some(ProximityLimits { smt: number(smt)?, ccx: number(ccx)? }));
        limits.filter(|limits| limits.smt <= limits.ccx && limits.ccx.is_finite()).ok_or_else(|| {
            format!(
                "'{text}' are no limits of places; accepted are two times in ns, such as {}: smt \
                 below the first, far from the second on",
                ProximityLimits::default()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_filed() {
        let limits = ProximityLimits::default();
        for (ns, place) in [
            (22.0, Proximity::Smt),
            (39.9, Proximity::Smt),
            (40.0, Proximity::Ccx),
            (64.0, Proximity::Ccx),
            (129.9, Proximity::Ccx),
            (130.0, Proximity::Far),
            (1e6, Proximity::Far),
            (0.0, Proximity::Any),
            (f64::NAN, Proximity::Any),
            (f64::INFINITY, Proximity::Any),
        ] {
            assert_eq!(limits.place(ns), place, "{ns}");
        }
    }

    #[test]
    fn limits_and_places_are_read() {
        assert_eq!("25, 90.5".parse(), Ok(ProximityLimits { smt: 25.0, ccx: 90.5 }));
        for wrong in ["", "40", "130,40", "a,b", "-1,5", "1,inf", "1,NaN"] {
            assert!(wrong.parse::<ProximityLimits>().is_err(), "{wrong}");
        }
        assert_eq!(ProximityLimits::default().to_string().parse(), Ok(ProximityLimits::default()));
        assert_eq!("CCX".parse(), Ok(Proximity::Ccx));
        assert!("fra".parse::<Proximity>().unwrap_err().contains("did you mean far?"));
    }
}
