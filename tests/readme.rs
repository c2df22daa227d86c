//! Does what the README shows run? Its program is an example, word for word.

#[test]
fn the_program_is_an_example() {
    let readme = include_str!("../README.md");
    let example = include_str!("../examples/conjugate_gradient.rs");
    let programs: Vec<&str> =
        readme.split("```rust\n").skip(1).filter_map(|text| text.split("```").next()).collect();
    assert!(!programs.is_empty());
    for program in programs {
        assert!(example.contains(program.trim()), "not in examples/:\n{program}");
    }
}
