//! Checks that the README's program is an example (and a doctest: `src/lib.rs`), and that the page
//! is short.

const README: &str = include_str!("../../README.md");

#[test]
fn the_program_is_an_example() {
    let example = include_str!("../../examples/pi.rs");
    let programs: Vec<&str> =
        README.split("```rust\n").skip(1).filter_map(|text| text.split("```").next()).collect();
    assert!(!programs.is_empty());
    for program in programs {
        assert!(example.contains(program), "not in examples/pi.rs:\n{program}");
    }
}

#[test]
fn it_is_short() {
    let lines = README.lines().count();
    assert!(lines <= 120, "{lines} lines: numbers, rationale and reference belong in docs/");
}
