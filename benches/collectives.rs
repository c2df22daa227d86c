//! Criterion: every collective at a few sizes, one group a question.
fn main() {}
