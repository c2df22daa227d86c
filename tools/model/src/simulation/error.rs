//! The errors of a simulation.

use std::fmt;

use super::messages::MOST_AT_ONCE;
use phalanx::tuning::CostsError;

/// A schedule or costs that cannot be simulated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SimulationError {
    /// The costs, the transport or the length of the call cannot be.
    Costs(CostsError),
    /// The schedule is for another number of ranks than the layout.
    Ranks {
        /// Of the schedule.
        schedule: usize,
        /// Of the layout.
        layout: usize,
    },
    /// More messages than are simulated.
    Messages {
        /// Of the schedule, or of one of its steps; estimated from those seen.
        messages: usize,
        /// The most that are simulated.
        most: usize,
    },
}

impl From<CostsError> for SimulationError {
    fn from(error: CostsError) -> Self {
        SimulationError::Costs(error)
    }
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulationError::Costs(error) => error.fmt(f),
            SimulationError::Ranks { schedule, layout } => {
                write!(f, "a schedule for {schedule} ranks on a layout of {layout}")
            }
            SimulationError::Messages { messages, most } => {
                let at_once = if *most == MOST_AT_ONCE { " in one step" } else { "" };
                let millions = |n: &usize| *n as f64 / 1e6;
                write!(
                    f,
                    "about {:.0} million messages{at_once}: at most {:.0} million are simulated",
                    millions(messages),
                    millions(most)
                )
            }
        }
    }
}

impl std::error::Error for SimulationError {}
