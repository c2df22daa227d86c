//! Checks that the programs of the README and of the tutorial are examples (the README's is a
//! doctest, too: `src/lib.rs`), and that the README is short.

const README: &str = include_str!("../../README.md");

/// Pages, and the examples that have their programs.
const PAGES: [(&str, &[&str]); 2] = [
    (README, &[include_str!("../../examples/pi.rs")]),
    (
        include_str!("../../docs/tutorial.md"),
        &[
            include_str!("../../examples/heat/main.rs"),
            include_str!("../../examples/heat/serial.rs"),
            include_str!("../../examples/heat/regions.rs"),
            include_str!("../../examples/heat/ranks.rs"),
        ],
    ),
];

#[test]
fn the_programs_are_examples() {
    for (page, examples) in PAGES {
        let programs: Vec<&str> =
            page.split("```rust\n").skip(1).filter_map(|text| text.split("```").next()).collect();
        assert_eq!(programs.len(), examples.len());
        for program in programs {
            let is_there = examples.iter().any(|example| example.contains(program));
            assert!(is_there, "in no example:\n{program}");
        }
    }
}

#[test]
fn it_is_short() {
    let lines = README.lines().count();
    assert!(lines <= 120, "{lines} lines: numbers, rationale and reference belong in docs/");
}
