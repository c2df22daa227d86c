//! Tests of the schedules: every id on paper, the textbook's figures, the
//! counted cost against the closed forms, and rules broken on purpose.

mod broken;
mod every;
mod figures;
mod formulas;
