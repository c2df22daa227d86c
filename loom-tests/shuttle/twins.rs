// What is wrong in the twins: name, passage, and what stands in its place.

#[allow(dead_code)]
enum Wrong {
    /// Statements for statements.
    Instead(&'static str),
    /// An expression for an expression.
    Value(&'static str),
}

const TWINS: &[(&str, &str, Wrong)] = &[];
