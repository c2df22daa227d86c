//! The cost of a schedule, counted from its messages.
//!
//! The model is the book's: a message of m words costs t_s + t_w m, a step as
//! much as its most loaded rank, a schedule the sum of its steps. Start-ups and
//! words are counted apart and exactly; a machine's t_s and t_w come in at the
//! end, in [`Cost::time`].

use super::rational::to_f64;
use super::{Ratio, ratio};
use phalanx::schedule::{Load, Schedule};

/// Steps, start-ups and words of a schedule: t_s * `ts` + t_w * `tw` * m.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx_model::{Cost, Ratio};
/// // Eq. 4.4: t_s log p + t_w m (p - 1).
/// let schedule = Algorithm::AG_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
/// let cost = Cost::of(&schedule);
/// assert_eq!((cost.steps, cost.ts, cost.tw), (3, 3, Ratio::from(7)));
/// assert_eq!(cost.time(10.0, 2.0, 100.0), 3.0 * 10.0 + 7.0 * 2.0 * 100.0);
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cost {
    /// The number of steps.
    pub steps: usize,
    /// How often t_s is paid.
    pub ts: usize,
    /// How often t_w is paid, in units of m: of the vector where the operation
    /// has one vector per rank, of one block where it has p.
    pub tw: Ratio,
}

impl Cost {
    /// The cost where every rank has as many ports as the schedule asks for,
    /// on a network without congestion.
    ///
    /// A step costs t_s, and t_w for the words of the most loaded port: the
    /// largest message of the step, since only messages of one pair of ranks
    /// share a port.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::Cost;
    /// // All ports of a cube at once: t_w m (p - 1) / log p.
    /// let schedule = Algorithm::AG_AP_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
    /// assert_eq!(Cost::of(&schedule).tw.to_string(), "7/3");
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn of(schedule: &Schedule) -> Cost {
        Cost::with_ports(schedule, schedule.ports())
    }

    /// The cost where a rank has only `ports` ports: more messages than that go
    /// one after the other, and words are shared out evenly.
    ///
    /// A rank with n messages in one direction, W words in all and L words for
    /// one peer takes ceil(n / ports) start-ups and max(L, W / ports) words.
    /// `ports` 0 counts as 1.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::{Cost, Ratio};
    /// let schedule = Algorithm::AG_AP_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
    /// let one = Cost::with_ports(&schedule, 1);
    /// assert_eq!((one.steps, one.ts, one.tw), (3, 9, Ratio::from(7)));
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn with_ports(schedule: &Schedule, ports: usize) -> Cost {
        let ports = ports.max(1);
        let (mut ts, mut blocks) = (0, 0);
        let mut load = Load::default();
        for step in 0..schedule.steps() {
            if step == 0 || !schedule.repeats(step) {
                load = schedule.load(step, ports);
            }
            ts += load.startups;
            blocks += load.blocks;
        }
        let tw = ratio(blocks, ports * schedule.contract().split);
        Cost { steps: schedule.steps(), ts, tw }
    }

    /// The predicted time: t_s * ts + t_w * tw * m, for `m` words.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::{Cost, Ratio};
    /// let cost = Cost { steps: 3, ts: 3, tw: Ratio::from(7) };
    /// assert_eq!(cost.time(1.0, 0.5, 4.0), 17.0);
    /// ```
    pub fn time(&self, t_s: f64, t_w: f64, m: f64) -> f64 {
        self.ts as f64 * t_s + to_f64(self.tw) * t_w * m
    }

    /// The length m, in units of t_s / t_w, from which `other` is cheaper than
    /// this one: it starts up more often and carries fewer words. None if one
    /// of the two is never worse than the other.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::{Ratio, closed_form};
    /// let call = Request::new(Operation::AllToAll, 16);
    /// let combining = closed_form(Algorithm::TX_HCUBE, &call)?.cost();
    /// let pairwise = closed_form(Algorithm::TX_HCUBE_XOR, &call)?.cost();
    /// assert_eq!(combining.crossover(&pairwise), Some(Ratio::new(11, 17))); // 0.647
    /// assert_eq!(pairwise.crossover(&combining), None);
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn crossover(&self, other: &Cost) -> Option<Ratio> {
        let is_later = other.ts > self.ts && other.tw < self.tw;
        is_later.then(|| ratio(other.ts - self.ts, 1) / (self.tw - other.tw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::schedule::{Algorithm, Operation, Request};

    #[test]
    fn the_fused_paths_on_one_port_send_to_everybody_in_turn() {
        let schedule =
            Algorithm::AR_FUSED.schedule(&Request::new(Operation::AllReduce, 8)).unwrap();
        let all = Cost::of(&schedule);
        assert_eq!((all.steps, all.ts, all.tw), (2, 2, ratio(2, 8)));
        let one = Cost::with_ports(&schedule, 1);
        assert_eq!((one.ts, one.tw), (14, ratio(14, 8)));
    }

    /// Issue point 5: counted without lists of p times p.
    #[test]
    fn a_large_all_gather_is_counted_quickly() {
        let schedule =
            Algorithm::AG_HCUBE.schedule(&Request::new(Operation::AllGather, 4096)).unwrap();
        let cost = Cost::of(&schedule);
        assert_eq!((cost.ts, cost.tw), (12, Ratio::from(4095)));
    }
}
